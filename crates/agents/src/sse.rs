//! Reads server-sent events, the form in which model APIs stream.
//!
//! In: bytes, in whatever pieces the network brings. Out: events, the same ones however the bytes were cut. It follows
//! the HTML standard, section 9.2.6, as a browser does; of the fields only `retry` is of no use here, since nothing
//! here connects again by itself. The adapter knows the meaning of an event.
//!
//! Begin with [`SseReader::push`].

use thiserror::Error;

/// The most bytes that one event may have, its unfinished line included.
///
/// The longest events repeat a whole reply; at 128 000 tokens of output, the most that a model of today
/// offers, that is about 1 MiB as JSON. Sixteen times that is no reply any more, but a server that never ends
/// its line.
pub const EVENT_BYTES_MAX: usize = 16 << 20;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// Its type; `message` where the server names none.
    pub event: String,
    /// Its data: the `data` lines, joined with line feeds.
    pub data: String,
    /// The last id that the server gave, with this event or before it.
    pub id: Option<String>,
}

/// An event is longer than [`EVENT_BYTES_MAX`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the server sent an event of more than {0} bytes")]
pub struct TooLarge(usize);

/// Reads one stream. An event that the stream's end leaves unfinished is never given out.
#[derive(Debug)]
pub struct SseReader {
    bytes_max: usize,
    /// The bytes of the line that has not ended. Decoded only as a whole, so no character is cut.
    line: Vec<u8>,
    /// True if the last line ended with CR, so that an LF right behind it belongs to that end.
    after_cr: bool,
    /// True if no line has ended yet: only the first can begin with a byte order mark.
    is_first: bool,
    event: String,
    data: String,
    id: Option<String>,
}

impl Default for SseReader {
    fn default() -> Self {
        Self::with_limit(EVENT_BYTES_MAX)
    }
}

impl SseReader {
    fn with_limit(bytes_max: usize) -> Self {
        Self {
            bytes_max,
            line: Vec::new(),
            after_cr: false,
            is_first: true,
            event: String::new(),
            data: String::new(),
            id: None,
        }
    }

    /// Reads what comes next and appends the events that it completes to `events`. Bytes that are not UTF-8
    /// become replacement characters.
    ///
    /// # Errors
    ///
    /// [`TooLarge`], behind the events that were whole before; the reader is of no use from then on.
    pub fn push(&mut self, mut bytes: &[u8], events: &mut Vec<SseEvent>) -> Result<(), TooLarge> {
        while let Some(first) = bytes.first() {
            if std::mem::take(&mut self.after_cr) && *first == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
            let (piece, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
            if self.line.len() + self.data.len() + piece.len() > self.bytes_max {
                return Err(TooLarge(self.bytes_max));
            }
            self.line.extend_from_slice(piece);
            bytes = rest;
            if let Some((ending, rest)) = rest.split_first() {
                self.after_cr = *ending == b'\r';
                bytes = rest;
                events.extend(self.end_line());
            }
        }
        Ok(())
    }

    /// Takes in the line that has just ended, which completes an event if it is empty.
    fn end_line(&mut self) -> Option<SseEvent> {
        let line = std::mem::take(&mut self.line);
        let is_first = std::mem::take(&mut self.is_first);
        let line = String::from_utf8_lossy(&line);
        let line = if is_first { line.strip_prefix('\u{feff}').unwrap_or(&line) } else { &line };
        if line.is_empty() {
            return self.dispatch();
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.event),
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
            }
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()).filter(|id| !id.is_empty()),
            // A comment, which has no name and keeps the connection open, or a field of no use here.
            _ => {}
        }
        None
    }

    /// Returns the event that an empty line completes; there is none without data.
    fn dispatch(&mut self) -> Option<SseEvent> {
        let event = std::mem::take(&mut self.event);
        let mut data = std::mem::take(&mut self.data);
        data.pop()?;
        let event = if event.is_empty() { "message".to_owned() } else { event };
        Some(SseEvent { event, data, id: self.id.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads the stream in pieces that end at `cuts`.
    fn read(stream: &[u8], cuts: &[usize]) -> Vec<SseEvent> {
        let mut reader = SseReader::default();
        let mut events = Vec::new();
        let mut from = 0;
        for to in cuts.iter().copied().chain([stream.len()]) {
            reader.push(&stream[from..to], &mut events).unwrap();
            from = to;
        }
        events
    }

    /// The stream has these events as (type, data, id), cut at any byte and byte by byte.
    #[track_caller]
    fn check(stream: impl AsRef<[u8]>, expected: &[(&str, &str, Option<&str>)]) {
        let stream = stream.as_ref();
        let expected: Vec<SseEvent> = expected
            .iter()
            .map(|(event, data, id)| SseEvent {
                event: (*event).to_owned(),
                data: (*data).to_owned(),
                id: id.map(str::to_owned),
            })
            .collect();
        let shown = String::from_utf8_lossy(stream);
        for cut in 0..=stream.len() {
            assert_eq!(read(stream, &[cut]), expected, "{shown:?} cut at {cut}");
        }
        let everywhere: Vec<usize> = (0..stream.len()).collect();
        assert_eq!(read(stream, &everywhere), expected, "{shown:?} byte by byte");
    }

    #[test]
    fn the_examples_of_the_standard_read_as_it_says() {
        check(
            "data: This is the first message.\n\ndata: This is the second message, it\ndata: has two lines.\n\n\
             data: This is the third message.\n\n",
            &[
                ("message", "This is the first message.", None),
                ("message", "This is the second message, it\nhas two lines.", None),
                ("message", "This is the third message.", None),
            ],
        );
        check(
            "event: add\ndata: 73857293\n\nevent: remove\ndata: 2153\n\n",
            &[("add", "73857293", None), ("remove", "2153", None)],
        );
        check("data: YHOO\ndata: +2\ndata: 10\n\n", &[("message", "YHOO\n+2\n10", None)]);
        check(
            ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n",
            &[("message", "first event", Some("1")), ("message", "second event", None)],
        );
        check("data\n\ndata\ndata\n\ndata:", &[("message", "", None), ("message", "\n", None)]);
        check("data:test\n\ndata: test\n\n", &[("message", "test", None), ("message", "test", None)]);
    }

    #[test]
    fn every_line_ending_ends_a_line_once() {
        let expected = [("a", "1\n2", None), ("message", "3", None)];
        for ending in ["\n", "\r", "\r\n"] {
            let lines = ["event: a", "data: 1", "data: 2", "", "data: 3", "", ""];
            check(lines.join(ending), &expected);
        }
        check("data: 1\r\r\ndata: 2\n\r\n", &[("message", "1", None), ("message", "2", None)]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped_only_where_the_stream_begins() {
        check("\u{feff}data: 1\n\n", &[("message", "1", None)]);
        check("\u{feff}\u{feff}data: 1\n\ndata: 2\n\n", &[("message", "2", None)]);
        check("data: 1\n\u{feff}data: 2\n\n", &[("message", "1", None)]);
    }

    #[test]
    fn characters_of_several_bytes_survive_every_cut() {
        check("event: größe\ndata: 日本語 🦀 é\n\n", &[("größe", "日本語 🦀 é", None)]);
        check(b"data: a\xffb\n\n", &[("message", "a\u{fffd}b", None)]);
    }

    #[test]
    fn comments_and_unknown_fields_change_nothing() {
        check(": keep-alive\n\n:\n\ndata: 1\n: within\nretry: 10\nfoo: bar\nDATA: 2\n\n", &[("message", "1", None)]);
    }

    #[test]
    fn an_event_without_data_is_none_and_its_type_is_forgotten() {
        check("event: gone\n\ndata: 1\n\n", &[("message", "1", None)]);
    }

    #[test]
    fn an_id_stays_until_another_comes_and_one_with_nul_is_ignored() {
        check(
            "id: 7\ndata: 1\n\ndata: 2\n\nid: 8\0\ndata: 3\n\nid: 9\n\ndata: 4\n\n",
            &[
                ("message", "1", Some("7")),
                ("message", "2", Some("7")),
                ("message", "3", Some("7")),
                ("message", "4", Some("9")),
            ],
        );
    }

    #[test]
    fn an_unfinished_event_is_dropped() {
        check("data: 1\n\ndata: 2\n", &[("message", "1", None)]);
        check("data: 1\n\ndata: 2", &[("message", "1", None)]);
    }

    #[test]
    fn an_event_over_the_limit_ends_the_reading_behind_the_events_before() {
        for long in ["data: 12345678901234567", "data: 12345678\ndata: 12345678", ": 1234567890123456789"] {
            let stream = format!("data: 1\n\n{long}\n\n");
            for cut in 0..=stream.len() {
                let mut reader = SseReader::with_limit(20);
                let mut events = Vec::new();
                let (first, rest) = stream.as_bytes().split_at(cut);
                let pushed = reader.push(first, &mut events).and_then(|()| reader.push(rest, &mut events));
                assert_eq!((pushed, events.len()), (Err(TooLarge(20)), 1), "{long} cut at {cut}");
            }
        }
    }

    #[test]
    fn the_limit_is_for_one_event_and_not_for_the_stream() {
        let mut reader = SseReader::with_limit(20);
        let mut events = Vec::new();
        for _ in 0..100 {
            reader.push(b"data: 123456789\n\n: a comment\n\n", &mut events).unwrap();
        }
        assert_eq!(events.len(), 100);
    }
}
