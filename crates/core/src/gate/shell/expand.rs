//! Words as they become when the shell runs them, as far as that can be proven.
//!
//! The commands in a word (`$( .. )`, `${x:-$( .. )}`, `<( .. )`) are walked like any other.

use super::Dialect;
use super::clues::{Clue, is_pipe, may_be_index};
use super::lexer;
use super::names::prints_names;
use super::paths::PROCESS;
use super::walk::{ShellWalk, StandardInput};
use super::word::{self, Quoted, WordPiece};

/// A word as a program would get it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ShellWord {
    /// The text; up to the first part that is not known, if there is one.
    text: String,
    /// True if a part of it is not known.
    is_unknown: bool,
    /// True if it may be several words, or none.
    splits: bool,
    /// True if it stands for the files that it matches.
    is_pattern: bool,
    /// True if any part was put in by the shell.
    is_computed: bool,
    /// True if it is the output of a command that names commits or branches.
    names_revision: bool,
    /// True if it is the whole output of a command that prints names only.
    is_name: bool,
    /// True if a dash follows its beginning, of which nothing is known.
    goes_on_with_dash: bool,
}

impl ShellWord {
    /// A word whose text is known.
    pub(super) fn plain(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// A word of which nothing is known, not even whether it is one.
    pub(super) fn unknown() -> Self {
        Self { is_unknown: true, splits: true, is_computed: true, ..Self::default() }
    }

    /// An operand that comes from elsewhere: one word of which nothing is known.
    pub(super) fn unknown_operand() -> Self {
        Self { is_unknown: true, is_computed: true, ..Self::default() }
    }

    /// The whole text, if it is known. A pattern's is the pattern.
    pub(super) fn known(&self) -> Option<&str> {
        (!self.is_unknown).then_some(self.text.as_str())
    }

    /// The text, if it is known and no pattern: one stands for names of files, which may say anything.
    pub(super) fn as_code(&self) -> Option<&str> {
        self.known().filter(|_| !self.is_pattern)
    }

    /// The text as far as it is known.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// True if more words, which may be options, may follow from it. A word of which nothing is known may be no word.
    pub(super) fn splits(&self) -> bool {
        self.is_unknown && self.splits
    }

    /// Returns whether it is an option, or one of which a part isn't known, or may be if its beginning is empty.
    pub(super) fn is_half_an_option(&self) -> bool {
        self.is_unknown && (self.text.starts_with('-') || self.goes_on_with_dash)
    }

    /// True if it stands for the files that it matches.
    pub(super) fn is_pattern(&self) -> bool {
        self.is_pattern
    }

    /// True if the shell computes it, or a part.
    pub(super) fn is_computed(&self) -> bool {
        self.is_computed
    }

    /// True if it is a commit's or a branch's name, as git printed it.
    pub(super) fn names_revision(&self) -> bool {
        self.names_revision
    }

    /// True if it is one word, and no option, wherever it is put.
    pub(super) fn is_name(&self) -> bool {
        self.is_name
    }

    /// This word without the first `len` bytes of its text.
    pub(super) fn after(&self, len: usize) -> Self {
        Self { text: self.text.get(len..).unwrap_or_default().to_owned(), ..self.clone() }
    }
}

/// Words that are being put together.
#[derive(Default)]
struct Builder {
    done: Vec<ShellWord>,
    word: ShellWord,
    begun: bool,
    /// The text of the word after its first part that is not known.
    rest: String,
    /// True if a word may be an index with a command in it.
    holds_index: bool,
    /// True if a word may be a command where perl opens it.
    holds_pipe: bool,
}

impl Builder {
    fn add(&mut self, text: &str) {
        self.begun = true;
        if self.word.is_unknown {
            self.rest.push_str(text);
        } else {
            self.word.text.push_str(text);
        }
    }

    /// Adds what a variable or a command gave, outside of quotes: it is split, and may be a pattern.
    fn add_split(&mut self, text: &str) {
        let mut parts = text.split([' ', '\t', '\n']).peekable();
        while let Some(part) = parts.next() {
            if !part.is_empty() {
                self.add(part);
                self.word.is_pattern |= part.contains(['*', '?', '[']);
                self.word.is_computed = true;
            }
            if parts.peek().is_some() {
                self.end();
            }
        }
    }

    /// True if an option has begun that limits the work done at once. Its number doesn't matter.
    fn takes_number(&self) -> bool {
        const OPTIONS: [&str; 7] = ["-j", "-P", "-l", "--jobs=", "--parallel=", "--threads=", "--max-procs="];
        !self.word.is_unknown && OPTIONS.contains(&self.word.text.as_str())
    }

    fn unknown(&mut self, quoted: Quoted, may_split: bool) {
        self.begun = true;
        self.word.is_unknown = true;
        self.word.is_computed = true;
        self.word.splits |= quoted == Quoted::No || may_split;
    }

    /// Adds the words of a list: the first to what stands before it, what follows to the last.
    fn add_list(&mut self, list: &[ShellWord], quoted: Quoted) {
        for (index, word) in list.iter().enumerate() {
            if index > 0 {
                self.end();
            }
            let Some(text) = word.known() else {
                self.unknown(quoted, word.splits());
                // What is known of its beginning is lost, but not that it may be an option.
                if word.is_half_an_option() && self.word.text.is_empty() && self.rest.is_empty() {
                    self.rest.push('-');
                }
                continue;
            };
            match quoted {
                Quoted::Yes => self.add(text),
                Quoted::No => self.add_split(text),
            }
            self.word.is_pattern |= word.is_pattern();
            self.word.is_computed = true;
        }
    }

    fn end(&mut self) {
        // The bracket may stand before the part that is not known, or in it.
        self.holds_index |= may_be_index(&self.word.text) || may_run(&self.rest);
        // It may stand in what isn't known, too, and be put together with this.
        self.holds_index |= self.word.is_unknown && may_run(&self.word.text);
        self.holds_pipe |= is_pipe(&self.word.text) || is_pipe(&self.rest);
        self.word.goes_on_with_dash = self.word.text.is_empty() && self.rest.starts_with('-');
        self.rest.clear();
        // `[` alone is a program.
        self.word.is_pattern &= self.word.is_unknown || self.word.text != "[";
        if self.begun {
            self.done.push(std::mem::take(&mut self.word));
        }
        self.word = ShellWord::default();
        self.begun = false;
    }
}

/// Number of bytes that a word of a list counts beyond its text.
const LIST_WORD_BYTES: usize = 32;

impl ShellWalk<'_> {
    /// The words that one raw word becomes.
    pub(super) fn words(&mut self, raw: &str) -> Vec<ShellWord> {
        if word::is_plain(raw) {
            return vec![ShellWord::plain(raw)];
        }
        let parts = word::braces(raw).filter(|parts| parts.len() == 1 || self.dialect != Dialect::Sh);
        let Some(parts) = parts else {
            // Whatever its words are: what it runs on the way, it runs.
            self.value(raw);
            return vec![ShellWord::unknown()];
        };
        let is_computed = parts.len() > 1;
        let mut words = Vec::new();
        for part in parts {
            let begins = words.len();
            match word::pieces(&part, self.dialect) {
                Some(pieces) => words.extend(self.assemble(pieces, false)),
                None => {
                    self.unreadable(raw, "a word that can't be read");
                    words.push(ShellWord::unknown());
                }
            }
            for word in words.iter_mut().skip(begins).filter(|_| is_computed) {
                word.is_computed = true;
            }
        }
        words
    }

    /// The one word that a raw word becomes where it is neither split nor matched against files: a value.
    pub(super) fn value(&mut self, raw: &str) -> ShellWord {
        if word::is_plain(raw) {
            return ShellWord::plain(raw);
        }
        match word::pieces(raw, self.dialect) {
            Some(pieces) => self.assemble(pieces, true).pop().unwrap_or_default(),
            None => {
                self.unreadable(raw, "a word that can't be read");
                ShellWord::unknown()
            }
        }
    }

    /// The text of a here-document that is expanded.
    pub(super) fn here_document(&mut self, raw: &str) -> ShellWord {
        match word::here_pieces(raw, self.dialect) {
            Some(pieces) => self.assemble(pieces, true).pop().unwrap_or_default(),
            None => {
                self.unreadable(raw, "a here-document that can't be read");
                ShellWord::unknown()
            }
        }
    }

    fn assemble(&mut self, pieces: Vec<WordPiece>, is_value: bool) -> Vec<ShellWord> {
        let mut words = Builder { begun: is_value, ..Builder::default() };
        let is_single = pieces.len() == 1;
        for piece in pieces {
            match piece {
                WordPiece::Text(text, Quoted::Yes) => words.add(&text),
                WordPiece::Text(text, Quoted::No) => words.add(&text),
                WordPiece::Glob(c) => {
                    words.add(c.encode_utf8(&mut [0; 4]));
                    words.word.is_pattern = true;
                }
                WordPiece::Tilde(user) if user == "+" => self.put(&mut words, "PWD", Quoted::Yes),
                WordPiece::Tilde(user) if user == "-" => words.unknown(Quoted::Yes, false),
                WordPiece::Tilde(user) => words.add(&format!("~{user}")),
                WordPiece::Parameter { name, rest, quoted } => {
                    self.walk_rest(&name, &rest);
                    // `${a[k]}`, `${s:k}` and `${!x}` read expressions.
                    let is_default = rest.starts_with([':', '-', '=', '+', '?'])
                        && !rest.starts_with(": ")
                        && (!rest.starts_with(':') || rest[1..].starts_with(['-', '=', '+', '?']));
                    self.clues.note(Clue::Expression, (name.is_empty() || rest.starts_with(['[', ':'])) && !is_default);
                    self.clues.note(Clue::Index, holds_quoted_command(&rest));
                    let default = rest.trim_start_matches(':').strip_prefix(['-', '=', '+']);
                    let is_pipe = default.is_some_and(|text| is_pipe(text.trim_matches(['"', '\''])));
                    self.clues.note(Clue::Pipe, is_pipe);
                    self.assigned_default(&name, &rest);
                    let quoted = if is_value { Quoted::Yes } else { quoted };
                    let list_of = rest == "[@]" || (name == "@" && rest.is_empty());
                    let list = self.list(&name).filter(|_| list_of && !is_value && self.splits_as_usual()).cloned();
                    if let Some(list) = list {
                        let size = list.iter().map(|word| word.text.len() + LIST_WORD_BYTES).sum();
                        match self.may_hold(size) {
                            true => words.add_list(&list, quoted),
                            false => words.unknown(quoted, true),
                        }
                    } else if rest.is_empty() {
                        self.put(&mut words, &name, quoted)
                    } else {
                        words.unknown(quoted, name == "@")
                    }
                }
                WordPiece::Command(text, quoted) => {
                    let output = self.code(&text, StandardInput::None);
                    let quoted = if is_value { Quoted::Yes } else { quoted };
                    match output {
                        None if words.takes_number() && self.prints_number(&text) => words.add("1"),
                        Some(text) => self.put_text(&mut words, text.trim_end_matches('\n'), quoted),
                        None if self.prints_names(&text) => {
                            words.unknown(Quoted::Yes, false);
                            words.word.is_name = is_single;
                            words.word.names_revision |= text.trim_start().starts_with("git ");
                        }
                        None => words.unknown(quoted, false),
                    }
                }
                WordPiece::Arithmetic(text) => {
                    self.arithmetic(&text);
                    if words.takes_number() {
                        words.add("1");
                        words.word.is_computed = true;
                    } else {
                        words.unknown(Quoted::Yes, false);
                    }
                }
                // bash makes nothing of an empty one.
                WordPiece::Process(text) if runs_nothing(&text) => words.unknown(Quoted::Yes, false),
                WordPiece::Process(text) => {
                    self.code(&text, StandardInput::Unknown);
                    words.add(PROCESS);
                }
            }
        }
        words.end();
        self.clues.note(Clue::Index, words.holds_index);
        self.clues.note(Clue::Pipe, words.holds_pipe);
        words.done
    }

    /// True if a command prints only names, numbers or places.
    fn prints_names(&self, command: &str) -> bool {
        command.split_whitespace().next().is_some_and(|name| self.function(name).is_none()) && prints_names(command)
    }

    /// True if a command prints a number and nothing else.
    fn prints_number(&self, command: &str) -> bool {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words.as_slice() {
            ["nproc", options @ ..] => {
                self.function("nproc").is_none()
                    && options.iter().all(|option| *option == "--all" || option.starts_with("--ignore="))
            }
            ["getconf", "_NPROCESSORS_ONLN"] => self.function("getconf").is_none(),
            _ => false,
        }
    }

    fn put(&mut self, words: &mut Builder, name: &str, quoted: Quoted) {
        match self.variable(name) {
            Some(value) => self.put_text(words, &value, quoted),
            None if self.is_plain(name) => words.unknown(Quoted::Yes, false),
            None => words.unknown(quoted, name == "@"),
        }
        words.word.is_computed = true;
    }

    fn put_text(&mut self, words: &mut Builder, text: &str, quoted: Quoted) {
        match quoted {
            _ if !self.may_hold(text.len()) => words.unknown(quoted, false),
            Quoted::Yes => words.add(text),
            Quoted::No if self.splits_as_usual() => words.add_split(text),
            Quoted::No => words.unknown(quoted, false),
        }
        words.word.is_computed = true;
    }

    /// `${name:=word}` sets a variable that has no value.
    fn assigned_default(&mut self, name: &str, rest: &str) {
        if !rest.contains('=') {
            return;
        }
        let after = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
        let after = if name.is_empty() { after } else { rest };
        let sets_element = after.starts_with('[') && after.contains('=');
        if !(sets_element || after.starts_with(":=") || after.starts_with('=')) {
            return;
        }
        match name {
            "" => self.opaque("", "sets a variable that can't be known"),
            name if self.variable(name).is_some_and(|value| !value.is_empty()) => {}
            name => self.set_unknown(name),
        }
    }

    /// Walks what may run in `${name...}` after the name.
    fn walk_rest(&mut self, name: &str, rest: &str) {
        if rest.ends_with("@P") {
            // A value may name itself, once or several times.
            if let Some(value) = self.variable(name).filter(|value| self.may_hold(value.len() + LIST_WORD_BYTES)) {
                self.embedded(&value, false);
            }
            self.opaque("", "runs what a variable holds");
        }
        // `${a[k]}` and `${s:k}` evaluate expressions.
        let is_expression = rest.starts_with('[')
            || (name.is_empty() && rest.contains('['))
            || (rest.starts_with(':') && !rest[1..].starts_with(['-', '=', '+', '?']));
        if rest.contains(['$', '`', '<', '>', '\\']) {
            self.embedded(rest, is_expression);
        }
        // In a here-document `$""` is nothing, and what stands around it comes together: `${x-$""(rm x)}`.
        if starts(&rest.replace(['"', '\''], "")) > starts(rest) {
            self.opaque(rest, "a value that is put together from quoted parts");
        }
        // In quotes these run nothing, but which quotes count here depends on the shell.
        for (at, _) in rest.match_indices(['<', '>']) {
            let Some(inside) = rest[at + 1..].strip_prefix('(') else { continue };
            match lexer::commands_end(inside, 0, self.dialect) {
                Some(end) => drop(self.code(&inside[..end], StandardInput::Unknown)),
                None => self.unreadable(rest, "a substitution that can't be read"),
            }
        }
    }

    /// Walks what runs in an arithmetic expression.
    pub(super) fn arithmetic(&mut self, text: &str) {
        self.clues.note(Clue::Expression, true);
        if text.contains("$'") {
            // bash reads its escapes, and then what they stand for: `\x24` is a `$` by then.
            self.hidden_code(text, StandardInput::Unknown);
            self.opaque(text, "arithmetic whose text is written in escapes");
        } else if text.contains(['$', '`', '\\']) {
            self.embedded(text, true);
        } else if holds_commands(text) {
            // `((rm x))` is arithmetic to one shell and a command to another.
            self.hidden_code(text, StandardInput::Unknown);
            self.opaque(text, "arithmetic that may be commands");
        }
        // Quotes go before it is evaluated: of `"a[$"(rm x)]` an index with a command is left.
        // What an expansion between them leaves may be nothing: `"a[$"$x(rm f)]`.
        if starts(&text.replace(['"', '\'', '\\'], "")) > starts(text) || holds_bare_dollar(text) {
            self.opaque(text, "arithmetic that is put together from quoted parts");
        }
        // It may set one to a number, and a folder may be called so.
        if ["PATH", "LD_", "ENV"].iter().any(|name| text.contains(name)) && text.contains(['=', '+', '-']) {
            self.opaque(text, "changes which programs names stand for");
        }
        // A variable's value is read as an expression again, and an index in it may hold a command.
        if self.holds_code() {
            self.opaque(text, "an arithmetic expression over values that may hold commands");
        }
    }

    /// Walks a word that is read as an expression when its quotes are gone: an index of a list.
    pub(super) fn evaluated(&mut self, word: &ShellWord) {
        self.clues.note(Clue::Expression, true);
        if may_run(word.text()) {
            self.embedded(word.text(), false);
            self.opaque(word.text(), "an index that runs commands");
        }
        if self.holds_code() {
            self.opaque(word.text(), "an index over values that may hold commands");
        }
    }

    /// The same for the index in a word that names a variable or an element: `a[k]`.
    pub(super) fn evaluated_index(&mut self, word: &ShellWord) {
        if let Some((_, index)) = word.text().split_once('[') {
            let index = ShellWord::plain(index);
            self.evaluated(&index);
        } else if word.known().is_none() {
            self.clues.note(Clue::Expression, true);
        }
    }

    /// A word of `[[ .. ]]`, which may be compared as a number or name an element.
    pub(super) fn tested(&mut self, word: &ShellWord) {
        if word.text().contains('[') && may_run(word.text()) {
            self.evaluated_index(word);
        }
    }

    /// Walks what runs when a text is expanded as if it stood in double quotes.
    pub(super) fn expanded(&mut self, text: &str) {
        self.embedded(text, false);
    }

    fn embedded(&mut self, text: &str, is_expression: bool) {
        self.deeper(|walk| {
            walk.embedded_now(text, is_expression);
            None
        });
    }

    fn embedded_now(&mut self, text: &str, is_expression: bool) {
        let Some(pieces) = word::here_pieces(text, self.dialect) else {
            return self.unreadable(text, "a substitution that can't be read");
        };
        // What is text now is expanded once more where it is evaluated.
        let again: Vec<String> = pieces
            .iter()
            .filter_map(|piece| match piece {
                WordPiece::Text(text, _) if is_expression && may_run(text) => Some(text.clone()),
                _ => None,
            })
            .collect();
        self.assemble(pieces, true);
        for text in again {
            self.embedded(&text, false);
            self.opaque(&text, "an index that runs commands");
        }
    }
}

/// True if a text holds a command that runs only if the text is read once more.
fn holds_quoted_command(text: &str) -> bool {
    let is_escaped = text.contains("\\$") || text.contains("\\`");
    is_escaped || (text.contains('\'') && may_run(text))
}

/// The beginnings of the expansions that run something.
const STARTS: [&str; 6] = ["`", "$(", "${", "$[", "<(", ">("];

/// True if a text runs something when it is expanded.
fn may_run(text: &str) -> bool {
    STARTS.iter().any(|start| text.contains(start))
}

/// Returns true if a text has a dollar sign that begins nothing, or one that is escaped, as a back quote may be.
fn holds_bare_dollar(text: &str) -> bool {
    let begins = |next: Option<char>| next.is_some_and(|c| c.is_ascii_alphanumeric() || "_({[@*#?-$!'".contains(c));
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.next().is_some_and(|escaped| matches!(escaped, '$' | '`')) => return true,
            '$' if !begins(chars.peek().copied()) => return true,
            // `$$` is a number.
            '$' => drop(chars.next_if_eq(&'$')),
            _ => {}
        }
    }
    false
}

/// Returns the number of things that may run in a text.
fn starts(text: &str) -> usize {
    STARTS.iter().map(|start| text.matches(start).count()).sum()
}

/// Returns true if code has no command at all.
fn runs_nothing(code: &str) -> bool {
    code.replace("\\\n", "").lines().map(str::trim).all(|line| line.is_empty() || line.starts_with('#'))
}

/// True if a text has two words in a row, which arithmetic never has.
fn holds_commands(text: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || "_.\\/~".contains(c);
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let next_begins_word = words.peek().is_some_and(|next| next.starts_with(|c| is_word(c) || "-'\"".contains(c)));
        if word.ends_with(is_word) && next_begins_word && words.peek().is_some_and(|next| !matches!(*next, "-" | "--"))
        {
            let operator =
                words.peek().is_some_and(|next| next.starts_with('-') && word.ends_with(|c: char| c.is_ascii_digit()));
            if !operator {
                return true;
            }
        }
    }
    false
}
