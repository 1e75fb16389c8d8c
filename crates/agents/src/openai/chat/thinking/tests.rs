use proptest::prelude::*;

use super::*;

/// Splits content that comes in these pieces: all of it, and what was shown of it.
fn split<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (SplitContent, SplitContent) {
    let mut splitter = Splitter::new();
    let mut shown = SplitContent::default();
    let mut show = |more: SplitContent| {
        shown.said.push_str(&more.said);
        shown.thought.push_str(&more.thought);
    };
    for piece in pieces {
        show(splitter.push(piece));
    }
    show(splitter.flush());
    (splitter.finish(), shown)
}

/// The pieces of a text that end at each of its characters, and those in two that end at each.
fn cuts(content: &str) -> Vec<Vec<&str>> {
    let places = || content.char_indices().map(|(at, _)| at).chain([content.len()]);
    let mut cuts: Vec<Vec<&str>> = places().map(|at| [content.split_at(at).0, content.split_at(at).1].into()).collect();
    cuts.push(places().zip(places().skip(1)).map(|(from, to)| &content[from..to]).collect());
    cuts
}

/// The content splits like this, however it is cut.
#[track_caller]
fn check(content: &str, said: &str, thought: &str) {
    let expected = SplitContent { said: said.to_owned(), thought: thought.to_owned() };
    assert_eq!(split([content]).0, expected, "{content:?}");
    for pieces in cuts(content) {
        assert_eq!(split(pieces.iter().copied()).0, expected, "{pieces:?}");
    }
}

/// The content is text and nothing else, and is shown as such.
#[track_caller]
fn check_text(content: &str) {
    check(content, content, "");
    for pieces in cuts(content) {
        assert_eq!(split(pieces).1, SplitContent { said: content.to_owned(), thought: String::new() }, "{content:?}");
    }
}

#[test]
fn thinking_between_the_marks_of_any_family_is_not_said() {
    for block in THINKING_MARKS {
        for closing in block.closings {
            let content = format!("{}\nBLOCKER: none yet\n{closing}Done.", block.opening);
            check(&content, "Done.", "\nBLOCKER: none yet\n");
        }
        check(&format!("\n {}It is", block.opening), "", "It is");
    }
    check("<Thought>a</THOUGHT>b", "b", "a");
    check("<think>a</think>\r\n\n  b", "b", "a");
    check("<think></think>", "", "");
    check("<think>\n\n</think>\n\nHello", "Hello", "\n\n");
}

#[test]
fn thinking_behind_other_thinking_counts_and_behind_text_it_does_not() {
    check("<think>a</think>\n<think>b</think>\nc", "c", "a\n\nb");
    check("<think>a</think>[THINK]b[/THINK]c", "c", "a\n\nb");
    check("<think>a</think>b <think>c</think> d", "b <think>c</think> d", "a");
    check("<think>a</think>b</think>c", "b</think>c", "a");
    check("<think>a<think>b</think>c", "c", "a<think>b");
}

#[test]
fn a_closing_alone_makes_thinking_of_what_came_before_it() {
    check("The user wants x.\n</think>\n\nDone.", "Done.", "The user wants x.\n");
    check("So it is.</think>Done.", "Done.", "So it is.");
    check("</think>\n\nDone.", "Done.", "");
    check("a\n</think>\n<think>b</think>c", "c", "a\n\n\nb");
    check("hm</seed:think>Done.", "Done.", "hm");
    check("hm◁/think▷Done.", "Done.", "hm");
    check("hm<|END_THINKING|><|START_RESPONSE|>Done.<|END_RESPONSE|>", "Done.", "hm");
    check("hm </think>\nDone.", "Done.", "hm ");
    check("hm</think>", "", "hm");
    // Only the first, and only where a template is known to open the thinking.
    check("a</think>b</think>c", "b</think>c", "a");
    check_text("hm</reasoning>Done.");
}

#[test]
fn marks_that_are_written_about_are_text() {
    check_text("`<think>` opens it.");
    check_text("```\n<think>a</think>\n```\nDone.");
    check_text("~~~~xml\n</think>\n~~~\n</think>\n~~~~\nDone.");
    check_text("The parser looks for <think> and </think>\nand that is all.");
    check_text("It ends at `</think>`, or at ``a`b</think>``.");
    check_text("It strips the </think> tag.");
    check_text("It strips \"</think>\" and '</think>'.");
    check_text("I changed it:\n```html\n<p>\n</think>\n```\nDone.");
    check_text("<thinker>a</thinker>");
    check_text("<think");
    check_text("a < b and [x] ◁ y");
    check_text("  \n");
    check_text("");
    check_text("<|channel|>commentary to=functions.read<|message|>{}<|call|>");
    // Code in one line, which no fence is.
    check("```a``` b\nhm</think>Done.", "Done.", "```a``` b\nhm");
    // A quote that nothing closes hides nothing behind its line.
    check("It`s so.\n</think>Done.", "Done.", "It`s so.\n");
}

#[test]
fn a_closing_in_code_does_not_end_thinking() {
    check("<think>It ends at `</think>`, so.</think>Done.", "Done.", "It ends at `</think>`, so.");
    check("<think>\n```\n</think>\n```\nso\n</think>Done.", "Done.", "\n```\n</think>\n```\nso\n");
    check("<think>\n```\n```x\n</think>\n```\nso</think>Done.", "Done.", "\n```\n```x\n</think>\n```\nso");
    // Cut within the thinking.
    check("<think>It ends at `</think>`, so", "", "It ends at `</think>`, so");
    // Code that never ends is none.
    check("<think>\n```\nx\n</think>\nDone.", "Done.", "\n```\nx\n");
    check("<think>It`s so.</think>Done.\nAll of it.", "Done.\nAll of it.", "It`s so.");
    check("<think>It`s so.</think>Done `x`\n`y`", "", "It`s so.</think>Done `x`\n`y`");
}

#[test]
fn messages_of_harmony_are_told_apart_by_their_channel() {
    check(
        "<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>Done.<|return|>",
        "Done.",
        "hm",
    );
    check("<|channel|>analysis<|message|>hm<|start|>assistant<|channel|>final<|message|>Done.", "Done.", "hm");
    check("<|channel|>analysis<|message|>hm<|channel|>final<|message|>Done.<|end|>", "Done.", "hm");
    check(
        "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary<|message|>I look.<|end|>\
         <|start|>assistant<|channel|>analysis<|message|>b<|end|><|start|>assistant<|channel|>final<|message|>Done.",
        "I look.\n\nDone.",
        "a\n\nb",
    );
    check("<|channel|>final<|message|>It ends at `<|end|>`.<|return|>", "It ends at `<|end|>`.", "");
    check("<|begin_of_thought|>a<|end_of_thought|>\n\n<|begin_of_solution|>\nb\n<|end_of_solution|>", "\nb\n", "a");
}

#[test]
fn what_is_shown_is_what_was_split_unless_the_opening_was_in_the_prompt() {
    let (split_whole, shown) = split(["<thi", "nk>a", "b</th", "ink>", "\n", "c <"]);
    assert_eq!((&split_whole, &shown), (&SplitContent { said: "c <".to_owned(), thought: "ab".to_owned() }, &shown));
    assert_eq!(split_whole, shown);
    let (split_whole, shown) = split(["a\n", "</think>", "b"]);
    assert_eq!((split_whole.said.as_str(), shown.said.as_str()), ("b", "a\nb"));
}

#[test]
fn marks_begin_where_they_are_looked_for_and_none_begins_another() {
    let openings =
        THINKING_MARKS.iter().map(|block| block.opening).chain(ANSWER_MARKS.iter().map(|frame| frame.opening));
    let closings = THINKING_MARKS
        .iter()
        .flat_map(|block| block.closings)
        .chain(ANSWER_MARKS.iter().flat_map(|frame| frame.closings));
    let mut marks: Vec<&str> = openings.chain(closings.copied()).collect();
    marks.sort_unstable();
    marks.dedup();
    for mark in &marks {
        assert!(mark.starts_with(['<', '[', '◁']), "{mark}");
        assert!(marks.iter().all(|other| other == mark || !other.starts_with(mark)), "{mark}");
    }
}

#[test]
fn white_space_without_end_is_not_read_again_and_again() {
    let blank = " ".repeat(HELD_BYTES_MAX);
    let content = format!("{blank}<think>a</think>");
    assert_eq!(split([content.as_str()]).0.said, content);
    assert_eq!(split(content.split_inclusive(' ')).0.said, content);
    let run = "`".repeat(2 * HELD_BYTES_MAX + 1);
    assert_eq!(split(run.split_inclusive('`')).0.said, run);
}

/// Text of marks, code and words.
fn content() -> impl Strategy<Value = String> {
    let marks = THINKING_MARKS.iter().flat_map(|block| block.closings.iter().chain([&block.opening]));
    let marks: Vec<&str> = marks.chain(ANSWER_MARKS.iter().map(|frame| &frame.opening)).copied().collect();
    let piece = prop_oneof![
        3 => proptest::sample::select(marks).prop_map(str::to_owned),
        3 => proptest::sample::select(vec!["`", "```", "\n", "\n```\n", " ", "~~~", "<", "ok", "größe", "\"", "<think>", "</think>"])
            .prop_map(str::to_owned),
        1 => any::<String>(),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn a_reply_is_split_the_same_however_it_is_cut(content in content()) {
        let whole = split([content.as_str()]).0;
        for pieces in cuts(&content) {
            prop_assert_eq!(&split(pieces.iter().copied()).0, &whole, "{:?}", pieces);
        }
    }

    #[test]
    fn text_without_marks_is_unchanged(content in "[^<\\[◁]{0,60}") {
        prop_assert_eq!(split([content.as_str()]), (
            SplitContent { said: content.clone(), thought: String::new() },
            SplitContent { said: content.clone(), thought: String::new() },
        ));
    }

    #[test]
    fn nothing_is_lost_but_marks_and_white_space(content in content()) {
        let SplitContent { said, thought } = split([content.as_str()]).0;
        let count = |text: &str| text.matches("größe").count() + text.matches("ok").count();
        prop_assert_eq!(count(&said) + count(&thought), count(&content));
    }
}
