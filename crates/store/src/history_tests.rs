use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use adjutant_core::learn::history::HistoryFold;
use adjutant_core::learn::sorted_json;
use proptest::prelude::*;

use super::*;
use crate::home::JOURNAL_ENDING;

const PROJECT: &str = "orchard";

fn home(temp: &Path) -> Home {
    fs::create_dir_all(temp.join("sessions")).expect("a folder");
    Home::new(temp, None)
}

fn put_session(home: &Home, name: &str, project: &str) {
    let text = format!(r#"{{"schema_version":3,"meta":{{"brief_id":"{name}","project":"{project}"}}}}"#);
    fs::write(home.sessions().join(format!("{name}.json")), text).expect("written");
}

fn put_trace(home: &Home, name: &str, text: &str) {
    fs::write(home.sessions().join(format!("{name}{JOURNAL_ENDING}")), text).expect("written");
}

fn line(second: usize, rest: &str) -> String {
    format!("{{{rest},\"at\":\"2026-02-01T10:00:{:02}.000Z\"}}\n", second % 60)
}

fn calls(count: usize) -> String {
    let call = r#""type":"tool_call","call_id":"c","name":"tool_one","auth_decision":"allow""#;
    let enter = line(0, r#""type":"phase_enter","phase":"execute""#);
    std::iter::once(enter).chain((1..=count).map(|second| line(second, call))).collect()
}

/// The report on everything, and how many bytes were read for it.
fn report(home: &Home) -> (String, u64) {
    let mut fold = HistoryFold::default();
    let coverage = read(home, PROJECT, Counting::Once, |trace| {
        fold.add_damage(trace.damaged);
        trace.runs.iter().for_each(|run| fold.add(&trace.name, run));
    })
    .expect("readable");
    assert!(coverage.unreadable.is_empty(), "{coverage:?}");
    (sorted_json(&fold.report(PROJECT, "now", 3)), coverage.bytes)
}

/// The same by a full scan.
fn report_anew(home: &Home) -> String {
    let _ = fs::remove_file(home.rollups());
    report(home).0
}

#[test]
fn a_second_look_reads_only_what_was_appended() {
    let temp = tempfile::tempdir().expect("a folder");
    let home = home(temp.path());
    for name in ["a", "b"] {
        put_session(&home, name, PROJECT);
        put_trace(&home, name, &calls(3));
    }
    let (first, bytes) = report(&home);
    assert_eq!(bytes, 2 * calls(3).len() as u64);
    assert_eq!(report(&home), (first.clone(), 0), "nothing was appended");

    let longer = calls(5);
    put_trace(&home, "b", &longer);
    let (second, bytes) = report(&home);
    assert_ne!(second, first);
    assert_eq!(bytes, (longer.len() - calls(3).len()) as u64);
    assert_eq!(second, report_anew(&home));
}

#[test]
fn a_line_that_is_being_written_counts_and_is_read_again() {
    let temp = tempfile::tempdir().expect("a folder");
    let home = home(temp.path());
    put_session(&home, "a", PROJECT);
    let whole = calls(2);
    let (torn, rest) = whole.split_at(whole.len() - 5);
    put_trace(&home, "a", torn);
    assert!(report(&home).0.contains("\"corrupted_lines_total\": 1"), "half a line is no line");
    put_trace(&home, "a", &format!("{torn}{rest}"));
    let (report, _) = report(&home);
    assert!(report.contains("\"corrupted_lines_total\": 0"), "{report}");
    assert_eq!(report, report_anew(&home));
}

#[test]
fn what_was_rewritten_is_read_anew() {
    let temp = tempfile::tempdir().expect("a folder");
    let home = home(temp.path());
    put_session(&home, "a", PROJECT);
    put_trace(&home, "a", &calls(3));
    report(&home);
    // Longer than before, and another beginning.
    put_trace(&home, "a", &calls(6).replace("tool_one", "tool_two"));
    let (report_now, _) = report(&home);
    assert!(report_now.contains("tool_two") && !report_now.contains("tool_one"));
    // As long as before, in the same place, far from its beginning and its end.
    let path = home.sessions().join(format!("a{JOURNAL_ENDING}"));
    let mut text = calls(40);
    put_trace(&home, "a", &text);
    report(&home);
    let middle = text[..text.len() / 2].rfind("tool_one").expect("it is there");
    text.replace_range(middle..middle + 8, "tool_six");
    let file = fs::File::options().write(true).open(&path).expect("opened");
    let modified = file.metadata().and_then(|found| found.modified()).expect("a time");
    std::os::unix::fs::FileExt::write_all_at(&file, text.as_bytes(), 0).expect("written");
    file.set_modified(modified).expect("set back");
    assert!(report(&home).0.contains("tool_six"));
    // Shorter than before.
    put_trace(&home, "a", &calls(1));
    assert_eq!(report(&home).0, report_anew(&home));
    // Gone.
    fs::remove_file(home.sessions().join(format!("a{JOURNAL_ENDING}"))).expect("removed");
    assert_eq!(report(&home).0, report_anew(&home));
}

#[test]
fn what_is_remembered_is_never_trusted_when_it_is_damaged() {
    let temp = tempfile::tempdir().expect("a folder");
    let home = home(temp.path());
    for name in ["a", "b", "c"] {
        put_session(&home, name, PROJECT);
        put_trace(&home, name, &calls(4));
    }
    let (expected, _) = report(&home);
    let kept = fs::read_to_string(home.rollups()).expect("remembered");
    for damaged in [
        String::new(),
        "null\n".to_owned(),
        kept.replacen("0.1.0", "0.0.9", 1),
        kept.replace("\"read_to\"", "\"read_too\""),
        kept[..kept.len() / 2].to_owned(),
        kept.replace("\"proof\":\"", "\"proof\":\"x"),
        kept.replace("\"tool_one\":4", "\"tool_one\":9"),
    ] {
        fs::write(home.rollups(), damaged).expect("written");
        assert_eq!(report(&home).0, expected);
    }
    // Somebody else could have written it.
    use std::os::unix::fs::PermissionsExt as _;
    fs::write(home.rollups(), kept.replace("\"tool_one\":4", "\"tool_one\":9")).expect("written");
    fs::set_permissions(home.rollups(), fs::Permissions::from_mode(0o666)).expect("changed");
    assert_eq!(report(&home).0, expected);
    // A folder in its place is in nobody's way.
    fs::remove_file(home.rollups()).expect("removed");
    fs::create_dir(home.rollups()).expect("a folder");
    assert_eq!(report(&home).0, expected);
}

#[test]
fn a_copy_of_a_journal_and_one_without_its_beginning_are_named_and_not_counted() {
    let temp = tempfile::tempdir().expect("a folder");
    let home = home(temp.path());
    let of_ours = |seq: usize, rest: &str| {
        format!("{{\"seq\":{seq},\"at\":\"2026-02-01T10:00:{seq:02}.000Z\",\"part\":\"\",{rest}}}\n")
    };
    let start = format!(
        r#""type":"run_start","run_id":"r","brief_id":"r","project":"{PROJECT}","brief":"b","options":{{"adapter":"scripted"}}"#
    );
    let enter = of_ours(2, r#""type":"phase_enter","phase":"execute""#);
    let header = of_ours(0, r#""type":"trace_version","version":6,"adjutant_version":"0.1.0","brief_id":"r""#);
    let journal = [header.clone(), of_ours(1, &start), enter.clone()].concat();
    put_trace(&home, "r", &journal);
    let (alone, _) = report(&home);
    assert!(alone.contains("\"sample_size\": 1") || alone.contains("\"sample_size\":1"), "{alone}");

    put_trace(&home, "copy", &journal);
    put_trace(&home, "torn", &[header, of_ours(1, &start).replace("run_start", "run_star\\"), enter].concat());
    for _ in 0..2 {
        let mut names = Vec::new();
        let coverage = read(&home, PROJECT, Counting::Once, |trace| names.push(trace.name)).expect("readable");
        assert_eq!(names, ["r"]);
        let said: Vec<String> = coverage.unreadable.iter().map(|(_, error)| error.to_string()).collect();
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("the run `r`") && said[1].contains("nobody knows whose"), "{said:?}");
    }
}

#[test]
fn a_trace_counts_for_its_project_once() {
    let temp = tempfile::tempdir().expect("a folder");
    let home = home(temp.path());
    put_session(&home, "a", PROJECT);
    put_trace(&home, "a", &calls(1));
    // A copy of the session file names the same trace.
    fs::copy(home.sessions().join("a.json"), home.sessions().join("copy.json")).expect("copied");
    put_session(&home, "foreign", "elsewhere");
    put_trace(&home, "foreign", &calls(7));
    fs::write(home.sessions().join("broken.json"), "{").expect("written");
    put_trace(&home, "nobodys", &calls(7));
    let counted = |counting| {
        let mut names = Vec::new();
        read(&home, PROJECT, counting, |trace| names.push(trace.name)).expect("readable");
        names
    };
    assert_eq!(counted(Counting::Once), ["a"]);
    assert_eq!(counted(Counting::ByFile), ["a", "a"], "as the peer does");
}

#[test]
fn a_file_that_can_not_be_read_is_named_and_the_rest_counted() {
    let temp = tempfile::tempdir().expect("a folder");
    let home = home(temp.path());
    for name in ["a", "b"] {
        put_session(&home, name, PROJECT);
    }
    put_trace(&home, "a", &calls(1));
    let loops = home.sessions().join(format!("b{JOURNAL_ENDING}"));
    std::os::unix::fs::symlink(&loops, &loops).expect("a link to itself");
    let mut names = Vec::new();
    let coverage = read(&home, PROJECT, Counting::Once, |trace| names.push(trace.name)).expect("readable");
    assert_eq!(names, ["a"]);
    assert_eq!(coverage.unreadable.iter().map(|(path, _)| path.clone()).collect::<Vec<_>>(), [loops]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// However many threads read, and in however many looks what is there came to be: the same bytes out.
    #[test]
    fn threads_and_looks_do_not_matter(traces in proptest::collection::btree_map("[a-d]{1,3}", 0usize..40, 1..8), looks in 1usize..4, threads in 1usize..5) {
        let temp = tempfile::tempdir().expect("a folder");
        let home = home(temp.path());
        let texts: BTreeMap<&String, String> = traces.iter().map(|(name, count)| (name, calls(*count))).collect();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
        let mut last = String::new();
        for look in 1..=looks {
            for (name, text) in &texts {
                put_session(&home, name, PROJECT);
                // A look in between may find half a line.
                put_trace(&home, name, &text[..text.len() * look / looks]);
            }
            last = pool.install(|| report(&home)).0;
        }
        prop_assert_eq!(last, report_anew(&home));
    }
}
