//! The screens in `docs/running.md` are those that the program prints.
//!
//! A block marked `text screen=NAME` is a part of the snapshot of that name, from a line to a later one; times and tokens may
//! be any. With `INSTA_UPDATE=always`, as for snapshots, what stands between these two lines is written anew.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use crate::home::{ROOT, TestHome};

const MARK: &str = "```text screen=";

/// Returns the lines of a snapshot.
#[track_caller]
fn snapshot_lines(name: &str) -> Vec<String> {
    let path = Path::new(ROOT).join(format!("crates/cli/tests/e2e/snapshots/e2e__screens__{name}.snap"));
    let file = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let (_, content) = file.trim_start_matches("---\n").split_once("\n---\n").expect("a head");
    content.lines().map(str::to_owned).collect()
}

/// Returns the lines of a screen from the first of a block to its last; `None` if they are not there.
fn part<'s>(screen: &'s [String], block: &[String]) -> Option<&'s [String]> {
    let begin = screen.iter().position(|line| Some(line) == block.first())?;
    let length = screen[begin..].iter().rposition(|line| Some(line) == block.last())?;
    Some(&screen[begin..=begin + length])
}

#[test]
fn the_screens_of_the_page_are_those_that_are_printed() {
    let path = Path::new(ROOT).join("docs/running.md");
    let page = fs::read_to_string(&path).expect("a page");
    let is_update = std::env::var("INSTA_UPDATE").is_ok_and(|how| how == "always");
    // Each line, and how it is in a snapshot.
    let settled = TestHome::new().settled(&page);
    let mut lines = page.lines().zip(settled.lines());
    let (mut names, mut anew) = (Vec::new(), String::new());
    while let Some((line, _)) = lines.next() {
        writeln!(anew, "{line}").expect("memory");
        let Some(name) = line.strip_prefix(MARK) else { continue };
        let shown: Vec<(&str, &str)> = lines.by_ref().take_while(|(line, _)| *line != "```").collect();
        let block: Vec<String> = shown.iter().map(|(_, settled)| (*settled).to_owned()).collect();
        let screen = snapshot_lines(name);
        let part = part(&screen, &block).unwrap_or_else(|| {
            panic!("no line is {:?} with {:?} behind it in {name}:\n{}", block.first(), block.last(), screen.join("\n"))
        });
        assert!(
            is_update || block == part,
            "`{name}` is on the page:\n{}\nand is:\n{}",
            block.join("\n"),
            part.join("\n")
        );
        // A line that only has other times stays as the page has it.
        for line in part {
            let known = shown.iter().find(|(_, settled)| settled == line).map(|(line, _)| (*line).to_owned());
            writeln!(anew, "{}", known.unwrap_or_else(|| line.replace("[N]", "12"))).expect("memory");
        }
        anew.push_str("```\n");
        names.push(name.to_owned());
    }
    assert!(is_update || anew == page, "the page is read whole");
    if anew != page {
        fs::write(&path, anew).expect("written");
    }
    for name in ["patch", "several_acts", "status", "end_of_a_copy", "list", "show"] {
        assert!(names.iter().any(|shown| shown.starts_with(name)), "{name} is not on the page");
    }
}
