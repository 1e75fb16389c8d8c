//! Separates a model's thinking from its text, where a server leaves both in the content of a reply.
//!
//! In: the content, in whatever pieces it came. Out: the text and the thinking, the same however the content was cut.
//! Thinking stands between two marks, of which every family of models has its own ([`THINKING_MARKS`]). An opening
//! counts only where the reply begins, behind white space, or right behind other thinking: anywhere else it is text
//! that somebody wrote about it. Text without marks is never changed.
//!
//! Begin with [`Splitter::push`] and [`Splitter::finish`].

/// Marks of thinking.
#[derive(Debug, PartialEq, Eq)]
struct ThinkingMarks {
    opening: &'static str,
    /// The first that comes ends it.
    closings: &'static [&'static str],
    /// True if templates of models put the opening into the prompt, so that a reply may have the closing alone.
    may_be_open: bool,
}

/// The marks that the reasoning parsers of vLLM, SGLang and llama.cpp and the defaults of Open WebUI know. Templates
/// open the thinking of `<think>` (DeepSeek R1, Qwen 3 Thinking, `MiniMax` M2), Seed-OSS, `LongCat`, Kimi, Command A
/// and Apertus themselves.
const THINKING_MARKS: &[ThinkingMarks] = &[
    ThinkingMarks { opening: "<think>", closings: &["</think>"], may_be_open: true },
    ThinkingMarks { opening: "<thinking>", closings: &["</thinking>"], may_be_open: false },
    // EXAONE Deep.
    ThinkingMarks { opening: "<thought>", closings: &["</thought>"], may_be_open: false },
    ThinkingMarks { opening: "<reasoning>", closings: &["</reasoning>"], may_be_open: false },
    ThinkingMarks { opening: "<reason>", closings: &["</reason>"], may_be_open: false },
    // Seed-OSS.
    ThinkingMarks { opening: "<seed:think>", closings: &["</seed:think>"], may_be_open: true },
    // LongCat Flash Thinking.
    ThinkingMarks { opening: "<longcat_think>", closings: &["</longcat_think>"], may_be_open: true },
    // Magistral.
    ThinkingMarks { opening: "[THINK]", closings: &["[/THINK]"], may_be_open: false },
    // Kimi.
    ThinkingMarks { opening: "◁think▷", closings: &["◁/think▷"], may_be_open: true },
    // OpenThinker, Sky-T1.
    ThinkingMarks { opening: "<|begin_of_thought|>", closings: &["<|end_of_thought|>"], may_be_open: false },
    // Command R7B, Command A Reasoning.
    ThinkingMarks { opening: "<|START_THINKING|>", closings: &["<|END_THINKING|>"], may_be_open: true },
    // Apertus.
    ThinkingMarks { opening: "<|inner_prefix|>", closings: &["<|inner_suffix|>"], may_be_open: true },
    // Gemma 4.
    ThinkingMarks { opening: "<|channel>thought", closings: &["<channel|>"], may_be_open: false },
    // The harmony format of gpt-oss, in which every message names its channel. Some replies lack the end of it.
    ThinkingMarks {
        opening: "<|channel|>analysis<|message|>",
        closings: &["<|end|>", "<|return|>", "<|start|>assistant", "<|channel|>final<|message|>"],
        may_be_open: false,
    },
];

/// Marks around an answer, in formats that mark it too; they are no part of it.
const ANSWER_MARKS: &[AnswerMarks] = &[
    AnswerMarks { opening: "<|start|>assistant", closings: &[] },
    AnswerMarks { opening: "<|channel|>final<|message|>", closings: &["<|end|>", "<|return|>"] },
    // What gpt-oss says to its user before it calls a tool.
    AnswerMarks { opening: "<|channel|>commentary<|message|>", closings: &["<|end|>", "<|return|>"] },
    AnswerMarks { opening: "<|START_RESPONSE|>", closings: &["<|END_RESPONSE|>"] },
    AnswerMarks { opening: "<|begin_of_solution|>", closings: &["<|end_of_solution|>"] },
];

/// Marks of an answer.
#[derive(Debug, PartialEq, Eq)]
struct AnswerMarks {
    opening: &'static str,
    /// The first that comes ends the answer. Without any, the frame is a mark that stands before another.
    closings: &'static [&'static str],
}

/// Separator of two pieces of text, or of thinking, that a mark parts.
const BETWEEN: &str = "\n\n";

/// Most white space before a mark, and longest part of a run of backticks that is read as one, in bytes: undecided text
/// is read again with each piece.
const HELD_BYTES_MAX: usize = 4096;

/// Splits the content of one reply. Each byte is looked at once, apart from those of marks.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    place: SplitState,
    /// Text that can't be judged yet: it may be white space before a mark, or a part of one.
    held: String,
    /// True if a mark was taken out, so that white space behind it belongs to nothing.
    is_marked: bool,
    /// True if the reply's own text may still turn out to be thinking whose opening the prompt had.
    may_be_open: bool,
    code: CodeState,
    parts: SplitContent,
    shown: SplitContent,
}

/// Text and thinking of a piece of content, or of all of it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct SplitContent {
    /// The text.
    pub(super) said: String,
    /// The thinking.
    pub(super) thought: String,
}

#[derive(Debug, Default, Clone, Copy)]
enum SplitState {
    /// At a place that an opening counts in, before anything else has come.
    #[default]
    Opening,
    /// In thinking that one of these ends.
    Thinking { closings: &'static [&'static str], passed: PassedClosings },
    /// In text, which one of these ends.
    Saying { closings: &'static [&'static str] },
}

/// Closings that were passed over because they stood in code, each as its place in the thinking and its length.
#[derive(Debug, Default, Clone, Copy)]
struct PassedClosings {
    /// In code that is still open.
    open: Option<(usize, usize)>,
    /// In a line that ended within code: what looked like code was a quote that is none.
    unended: Option<(usize, usize)>,
}

/// Result of a search for a mark.
enum MarkMatch<T> {
    /// Nothing here.
    No,
    /// Perhaps one, of which more must come.
    Perhaps,
    /// This one, of so many bytes.
    Yes(T, usize),
}

impl Splitter {
    /// Creates a splitter to which nothing has come yet.
    pub(super) fn new() -> Self {
        Self { may_be_open: true, ..Self::default() }
    }

    /// Returns true if nothing has come.
    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty() && self.parts == SplitContent::default() && !self.is_marked
    }

    /// Takes in the next piece. Returns what can be shown of all that came, which is for display only: text that is
    /// known as thinking by its closing alone has been shown as text by then.
    pub(super) fn push(&mut self, piece: &str) -> SplitContent {
        self.held.push_str(piece);
        self.read(false);
        std::mem::take(&mut self.shown)
    }

    /// Takes note that no more is expected. Returns what was held back and can be shown now.
    pub(super) fn flush(&mut self) -> SplitContent {
        self.read(true);
        std::mem::take(&mut self.shown)
    }

    /// Returns the whole text and the whole thinking.
    pub(super) fn finish(mut self) -> SplitContent {
        self.read(true);
        // If nothing else ended the thinking, a closing in code that itself never ended did.
        if let SplitState::Thinking { passed, .. } = self.place
            && let Some((from, length)) = passed.unended.or(passed.open)
        {
            let rest = self.parts.thought.split_off(from);
            say(&mut self.parts.said, rest[length..].trim_start(), true);
        }
        self.parts
    }

    /// Judges what is held, all of it if nothing follows.
    fn read(&mut self, is_end: bool) {
        let held = std::mem::take(&mut self.held);
        let mut rest = held.as_str();
        while !rest.is_empty() {
            let taken = match self.place {
                SplitState::Opening => self.open(rest, is_end),
                SplitState::Thinking { closings, passed } => self.think(rest, is_end, closings, passed),
                SplitState::Saying { closings } => self.say(rest, is_end, closings),
            };
            let Some(taken) = taken else { break };
            rest = &rest[taken..];
        }
        rest.clone_into(&mut self.held);
    }

    /// Takes a mark that opens something, with the white space before it, or goes on to text. Returns how many bytes
    /// were taken; `None` if more must come.
    fn open(&mut self, rest: &str, is_end: bool) -> Option<usize> {
        let begun = rest.trim_start();
        let blank = rest.len() - begun.len();
        let blocks = THINKING_MARKS.iter().map(|block| (block.opening, Ok(block)));
        let frames = ANSWER_MARKS.iter().map(|frame| (frame.opening, Err(frame)));
        let found = if blank < HELD_BYTES_MAX { find(begun, blocks.chain(frames), is_end) } else { MarkMatch::No };
        self.code = CodeState::default();
        match found {
            MarkMatch::Perhaps => None,
            MarkMatch::No if begun.is_empty() && !is_end && blank < HELD_BYTES_MAX => None,
            MarkMatch::Yes(mark, length) => {
                (self.is_marked, self.may_be_open) = (true, false);
                self.place = match mark {
                    Ok(block) => SplitState::Thinking { closings: block.closings, passed: PassedClosings::default() },
                    Err(AnswerMarks { closings: [], .. }) => SplitState::Opening,
                    Err(frame) => SplitState::Saying { closings: frame.closings },
                };
                Some(blank + length)
            }
            MarkMatch::No => {
                self.place = SplitState::Saying { closings: &[] };
                // White space is text only where nothing was taken out before it.
                Some(if self.is_marked { blank } else { self.text(&rest[..blank]) })
            }
        }
    }

    /// Takes thinking up to the next place where it may end, or the mark that ends it.
    fn think(
        &mut self,
        rest: &str,
        is_end: bool,
        closings: &'static [&'static str],
        mut passed: PassedClosings,
    ) -> Option<usize> {
        let length = match find(rest, closings.iter().map(|closing| (*closing, *closing)), is_end) {
            MarkMatch::Perhaps => return None,
            MarkMatch::Yes(closing, length) if !self.code.is_open() => {
                self.place = SplitState::Opening;
                // A mark that also opens an answer is read again as such.
                return Some(if ANSWER_MARKS.iter().any(|frame| frame.opening == closing) { 0 } else { length });
            }
            MarkMatch::Yes(_, length) => {
                passed.open = passed.open.or(Some((self.parts.thought.len(), length)));
                self.code.is_line_start = false;
                length
            }
            MarkMatch::No => {
                let length = self.code.step(rest, is_end)?;
                if !self.code.is_open() {
                    let passed_last = passed.open.take();
                    if rest.starts_with('\n') {
                        passed.unended = passed.unended.or(passed_last);
                    }
                }
                length
            }
        };
        self.place = SplitState::Thinking { closings, passed };
        Some(self.thinking(&rest[..length]))
    }

    /// Takes text up to the next place where it may end, or a mark that ends it.
    fn say(&mut self, rest: &str, is_end: bool, closings: &'static [&'static str]) -> Option<usize> {
        match find(rest, closings.iter().map(|closing| (*closing, ())), is_end) {
            MarkMatch::Perhaps => return None,
            MarkMatch::Yes((), length) if !self.code.is_open() => {
                self.place = SplitState::Opening;
                return Some(length);
            }
            MarkMatch::Yes(..) | MarkMatch::No => {}
        }
        if self.may_be_open && !self.code.is_open() {
            let open = || THINKING_MARKS.iter().filter(|block| block.may_be_open);
            let openings = open().map(|block| (block.opening, false));
            let closings = open().flat_map(|block| block.closings).map(|closing| (*closing, true));
            match find(rest, openings.chain(closings), is_end) {
                MarkMatch::Perhaps => return None,
                // Who writes an opening behind other text writes about it, and about the closing too.
                MarkMatch::Yes(false, _) => self.may_be_open = false,
                MarkMatch::Yes(true, length) if rest.len() == length && !is_end => return None,
                MarkMatch::Yes(true, length) if !is_word(&self.parts.said, &rest[length..]) => {
                    (self.is_marked, self.may_be_open) = (true, false);
                    self.parts.thought = std::mem::take(&mut self.parts.said);
                    self.place = SplitState::Opening;
                    return Some(length);
                }
                MarkMatch::Yes(..) | MarkMatch::No => {}
            }
        }
        self.code.step(rest, is_end).map(|length| self.text(&rest[..length]))
    }

    /// Adds text. Returns its length.
    fn text(&mut self, text: &str) -> usize {
        say(&mut self.parts.said, text, self.code.is_first);
        self.code.is_first &= text.is_empty();
        self.shown.said.push_str(text);
        text.len()
    }

    /// Adds thinking. Returns its length.
    fn thinking(&mut self, text: &str) -> usize {
        say(&mut self.parts.thought, text, self.code.is_first);
        self.code.is_first &= text.is_empty();
        self.shown.thought.push_str(text);
        text.len()
    }
}

/// Adds to a text, apart from what it has if the addition begins something.
fn say(text: &mut String, more: &str, begins: bool) {
    if begins && !text.is_empty() && !more.is_empty() {
        text.push_str(BETWEEN);
    }
    text.push_str(more);
}

/// Returns the mark with which a text begins. Letters may have either case, as some templates have `<Thought>`.
fn find<T>(rest: &str, marks: impl Iterator<Item = (&'static str, T)>, is_end: bool) -> MarkMatch<T> {
    let mut found = MarkMatch::No;
    for (mark, which) in marks {
        let common = mark.len().min(rest.len());
        if !rest.as_bytes()[..common].eq_ignore_ascii_case(&mark.as_bytes()[..common]) {
            continue;
        }
        if common == mark.len() {
            return MarkMatch::Yes(which, common);
        }
        if !is_end && common > 0 {
            found = MarkMatch::Perhaps;
        }
    }
    found
}

/// Returns true if a closing mark between these two is a word of a sentence, or is quoted: then the text is about it.
fn is_word(before: &str, behind: &str) -> bool {
    let (before, behind) = (before.chars().next_back(), behind.chars().next());
    let is_quote = |c: Option<char>| c.is_some_and(|c| "'\"`“”‘’«»„".contains(c));
    let ends_line = behind.is_none_or(|c| matches!(c, '\n' | '\r'));
    is_quote(before) || is_quote(behind) || (matches!(before, Some(' ' | '\t')) && !ends_line)
}

/// Tells if a text, as far as it was read, ends in code.
#[derive(Debug, Clone, Copy)]
struct CodeState {
    /// True if nothing was read yet.
    is_first: bool,
    /// True if the line has had only white space so far.
    is_line_start: bool,
    /// The open fence.
    fence: Option<ReplyFence>,
    /// The fence that ends with this line, unless something else stands in it.
    ending: Option<ReplyFence>,
    /// Number of backticks that opened code within the line.
    inline: Option<usize>,
}

/// Opening of a fence.
#[derive(Debug, Clone, Copy)]
struct ReplyFence {
    mark: u8,
    length: usize,
    /// True if the line that opened it goes on: more backticks there mean that it is code within the line.
    is_new: bool,
}

impl Default for CodeState {
    fn default() -> Self {
        Self { is_first: true, is_line_start: true, fence: None, ending: None, inline: None }
    }
}

impl CodeState {
    fn is_open(&self) -> bool {
        self.fence.is_some() || self.inline.is_some()
    }

    /// Reads up to the next place where a mark or code may begin or end. Returns how many bytes that were; `None` if
    /// more must come.
    fn step(&mut self, rest: &str, is_end: bool) -> Option<usize> {
        let first = *rest.as_bytes().first()?;
        if matches!(first, b'`' | b'~') {
            let run = rest.bytes().take(HELD_BYTES_MAX).take_while(|byte| *byte == first).count();
            // The run may go on in the next piece.
            if run == rest.len() && run < HELD_BYTES_MAX && !is_end {
                return None;
            }
            self.run(first, run);
            return Some(run);
        }
        if first == b'\n' {
            // Code within a line ends with it: a quote that nothing closes must not hide the rest of a reply.
            (self.is_line_start, self.ending, self.inline) = (true, None, None);
            if let Some(fence) = &mut self.fence {
                fence.is_new = false;
            }
            return Some(1);
        }
        // Each mark begins with one of the last three; what stands here was looked at before.
        let is_stop = |c: char| matches!(c, '\n' | '`' | '~' | '<' | '[' | '◁');
        let stop = rest.char_indices().skip(1).find(|(_, c)| is_stop(*c));
        let length = stop.map_or(rest.len(), |(at, _)| at);
        if rest[..length].contains(|c: char| !c.is_whitespace()) {
            self.is_line_start = false;
            self.fence = self.fence.or(self.ending.take());
        }
        Some(length)
    }

    /// Reads a whole run of backticks or tildes.
    fn run(&mut self, mark: u8, length: usize) {
        let heads_line = std::mem::take(&mut self.is_line_start);
        match (self.fence, self.inline) {
            (Some(open), _) if heads_line && mark == open.mark && length >= open.length => {
                self.ending = self.fence.take();
            }
            (Some(open), _) if open.is_new && mark == b'`' && open.mark == b'`' => {
                self.fence = None;
                self.inline = Some(open.length).filter(|opened| *opened != length);
            }
            (None, Some(opened)) if mark == b'`' && length == opened => self.inline = None,
            (Some(_), _) | (None, Some(_)) => {}
            (None, None) if heads_line && length >= 3 => self.fence = Some(ReplyFence { mark, length, is_new: true }),
            (None, None) if mark == b'`' => self.inline = Some(length),
            (None, None) => {}
        }
    }
}

#[cfg(test)]
mod tests;
