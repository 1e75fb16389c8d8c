//! The trace readers: total, and what ours reads as an event is written and read back as the same event.

use adjutant_core::trace::{Line, read, wire};
use adjutant_core::view;

pub(crate) fn check(bytes: &[u8]) {
    let trace = read::read_bytes(bytes);
    let lines = bytes.split(|byte| *byte == b'\n').count() as u64;
    assert!(trace.damaged.iter().all(|number| (1..=lines).contains(number)), "damage outside the file");
    assert!(trace.lines.len() + trace.damaged.len() <= lines as usize, "more lines than there are");

    // What is shown of a run comes from these lines, whoever wrote them.
    let summary = view::summary::of(&trace);
    drop(view::summary::text(&summary));
    drop(view::transcript::text(&summary, &view::transcript::of(&trace)));
    drop(view::tools::text(&view::tools::of(&trace)));
    drop(view::permissions::text(&view::permissions::of(&trace)));
    drop(view::timing::text(&view::timing::of(&trace)));
    drop(view::detectors::text(&view::detectors::of(&trace)));

    for line in bytes.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok()) {
        if let Ok(Line::Event(event)) = wire::decode(line) {
            let written = wire::encode(&event, Some("0123456789abcdef"));
            assert!(!written.contains('\n'), "an event on two lines");
            let again = wire::decode(&written).unwrap_or_else(|error| panic!("{error}: {written}"));
            // What is written holds milliseconds; so it is compared as it is written.
            let Line::Event(again) = again else { panic!("an event became unknown: {written}") };
            assert_eq!(wire::encode(&again, Some("0123456789abcdef")), written);
        }
    }
}
