//! Archives: where they are unpacked and which file they are written to.

use super::Call;
use crate::gate::shell::args::Value;
use crate::gate::shell::expand::Word;
use crate::gate::shell::paths::Change;
use crate::gate::shell::program::word_of;
use crate::gate::shell::walk::Walk;

/// Letters of an old-style `tar xf` whose value is a word of its own, in the order of the letters.
const TAR_VALUED: &str = "fbCTXgNVLFIKH";

impl Walk<'_> {
    /// `tar`, `cpio`: the folders that they unpack into, and the archive that they write.
    pub(super) fn archive(&mut self, call: Call<'_>) {
        let args = call.args;
        let (mut archives, mut folders): (Vec<Word>, Vec<Word>) = (Vec::new(), Vec::new());
        let mut letters = String::new();
        if call.name != "cpio"
            && let Some((first, rest)) = call.words.split_first()
            && !first.text().starts_with('-')
        {
            if first.known().is_none() {
                self.opaque("", "its options can't be known");
            }
            first.text().clone_into(&mut letters);
            let mut rest = rest.iter();
            for letter in letters.chars().filter(|letter| TAR_VALUED.contains(*letter)) {
                match (letter, rest.next()) {
                    ('f', Some(file)) => archives.push(file.clone()),
                    ('C', Some(folder)) => folders.push(folder.clone()),
                    // A program that packs, and one that is run where a volume ends.
                    ('I' | 'F', Some(code)) => self.code_of(Value::Word(code)),
                    _ => {}
                }
            }
        }
        let has = |letter: char, names: &[&str]| letters.contains(letter) || args.any(names);
        if call.name == "cpio" {
            folders.extend(args.values(&["-D", "--directory"]).map(word_of));
            if args.any(&["-p", "--pass-through"]) {
                folders.extend(args.operands.first().map(|word| (*word).clone()));
            }
            archives.extend(args.values(&["-O"]).map(word_of));
            if args.any(&["-o", "--create"]) {
                archives.extend(args.values(&["-F", "--file"]).map(word_of));
            } else if !args.any(&["-t", "--list"]) || args.any(&["-p", "--pass-through"]) {
                self.unpacked(&folders);
            }
        } else {
            folders.extend(args.values(&["-C", "--directory", "--cd", "--one-top-level"]).map(word_of));
            archives.extend(args.values(&["-f", "--file"]).map(word_of));
            if has('x', &["-x", "--extract", "--get"]) {
                self.unpacked(&folders);
                // Names in the archive are taken as they are, be they those of the system.
                if has('P', &["-P", "--absolute-names", "--absolute-paths"]) {
                    self.change(&Word::plain("/"), Change::Into, None);
                }
                self.renamed(call);
            }
            if !has('c', &["-c", "--create"]) && !has('r', &["-r", "--append"]) && !has('u', &["-u", "--update"]) {
                archives.clear();
            }
        }
        for archive in archives.iter().filter(|archive| !archive.text().split('/').next().unwrap_or("").contains(':')) {
            self.change(archive, Change::Replace, Some("writes an archive"));
        }
    }

    fn unpacked(&mut self, folders: &[Word]) {
        for folder in folders {
            self.change(folder, Change::Into, Some("writes what an archive holds"));
        }
    }

    /// `--transform`: what is unpacked may be called anything that its expression says.
    fn renamed(&mut self, call: Call<'_>) {
        for value in call.args.values(&["--transform", "--xform"]) {
            match value.text() {
                Some(text) if text.to_ascii_lowercase().contains(".git") => {
                    self.change(&Word::plain(".git"), Change::Into, None);
                }
                Some(_) => {}
                None => self.change(&Word::unknown_operand(), Change::Into, None),
            }
        }
    }

    /// Programs that open an address like a file: `ffprobe https://host/x`, `helm template x oci://host/c`.
    pub(super) fn opens(&mut self, call: Call<'_>) {
        for word in call.words.iter().filter(|word| word.text().contains("://") || is_source(word)) {
            match word.known() {
                Some(text) if text.contains("://") => {
                    let address =
                        text.split_once('=').filter(|(name, _)| name.starts_with('-')).map_or(text, |(_, v)| v);
                    self.asks_address(address);
                }
                Some(_) => {}
                None => self.sends_unknown(),
            }
        }
    }
}

/// `terraform init -from-module=..`
fn is_source(word: &Word) -> bool {
    word.text().trim_start_matches('-').starts_with("from-module=")
}
