//! The chain of a journal: each line carries the hash of the line before.
//!
//! In: lines as they are written. Out: how many don't fit. That is enough to warn of; what it proves, and where it is
//! broken, `trace verify` says.

use adjutant_core::trace::wire;

/// Returns the number of lines that don't carry the hash of the line before them.
#[must_use]
pub fn breaks<'a>(lines: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut lines = lines.into_iter();
    let Some(mut before) = lines.next() else { return 0 };
    let mut breaks = 0;
    for line in lines {
        breaks += u64::from(prev(line).is_none_or(|prev| prev != wire::line_hash(before).as_bytes()));
        before = line;
    }
    breaks
}

/// The hash that a line carries of the line before: always its last field, in this very form.
pub(crate) fn prev(line: &[u8]) -> Option<&[u8]> {
    const BEFORE: &[u8] = br#","prev":""#;
    let rest = line.strip_suffix(br#""}"#)?;
    let (rest, prev) = rest.split_at_checked(rest.len().checked_sub(wire::PREV_CHARS)?)?;
    rest.ends_with(BEFORE).then_some(prev)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_changed_taken_out_or_put_in_is_a_break() {
        let mut lines = vec![r#"{"seq":0}"#.to_owned()];
        for seq in 1..5 {
            let prev = wire::line_hash(lines[seq - 1].as_bytes());
            lines.push(format!(r#"{{"seq":{seq},"text":"words","prev":"{prev}"}}"#));
        }
        let breaks = |lines: &[String]| breaks(lines.iter().map(String::as_bytes));
        assert_eq!((breaks(&[]), breaks(&lines)), (0, 0));
        let mut changed = lines.clone();
        changed[2] = changed[2].replace("words", "other");
        assert_eq!(breaks(&changed), 1);
        let mut without = lines.clone();
        without.remove(2);
        assert_eq!(breaks(&without), 1);
        let mut more = lines.clone();
        more.insert(3, r#"{"seq":9}"#.to_owned());
        assert_eq!(breaks(&more), 2);
    }
}
