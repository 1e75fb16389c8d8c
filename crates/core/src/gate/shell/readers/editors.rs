//! `sed` and `awk`: whether their scripts write or run anything.

use super::ProgramCall;
use super::interpreters::literals;
use crate::gate::shell::args::{ArgValue, Leader, is_short_for, leading};
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::paths::PathChange;
use crate::gate::shell::program::word_of;
use crate::gate::shell::walk::{ShellWalk, StandardInput};

impl ShellWalk<'_> {
    /// `sed`.
    pub(super) fn sed(&mut self, call: ProgramCall<'_>) {
        let scripts = ["-e", "--expression"];
        if call.args.any(&["-f", "--file"]) {
            self.opaque("", "runs an editing script whose content is not known");
        }
        let mut files = call.args.operands.as_slice();
        let mut given: Vec<ShellWord> = call.args.values(&scripts).map(word_of).collect();
        if given.is_empty()
            && !call.args.any(&["-f", "--file"])
            && let Some((first, rest)) = files.split_first()
        {
            given.push((*first).clone());
            files = rest;
        }
        for script in given {
            // `s/.*/x/` matches no file that anybody has, `*` any.
            match script.known().filter(|text| !script.is_pattern() || !text.starts_with(['*', '?', '['])) {
                Some(script) => self.sed_script(script),
                None => self.opaque("", "runs an editing script that can't be known"),
            }
        }
        if call.args.any(&["-i", "--in-place"]) || call.args.options.iter().any(|(name, _)| name == "-i") {
            for file in files {
                self.change(file, PathChange::Replace, Some("edits files in place"));
            }
            // The ending of a copy may name another folder: `.git/*`.
            for copy in call.args.values(&["--in-place"]).map(word_of) {
                self.copied(copy.text());
            }
            for word in call.words.iter().filter(|word| word.text().starts_with("-i")) {
                self.copied(&word.text()[2..]);
            }
        }
    }

    fn copied(&mut self, name: &str) {
        if let Some((folder, _)) = name.rsplit_once('/') {
            self.change(&ShellWord::plain(folder), PathChange::Into, Some("writes copies of what it edits"));
        }
    }

    fn sed_script(&mut self, script: &str) {
        match sed_effects(script) {
            None => self.opaque("", "runs an editing script that can't be read"),
            Some(effects) => {
                for effect in effects {
                    match effect {
                        SedEffect::Writes(file) => self.change(&ShellWord::plain(file), PathChange::Empty, None),
                        SedEffect::Runs(code) if !code.is_empty() => {
                            drop(self.hidden_code(&code, StandardInput::Unknown))
                        }
                        SedEffect::Runs(_) => self.opaque("", "an editing script that runs what it reads"),
                    }
                }
            }
        }
    }

    /// `awk`.
    pub(super) fn awk(&mut self, call: ProgramCall<'_>) {
        const VALUED: [&str; 15] = [
            "-F", "-v", "-f", "-e", "-i", "-l", "-E", "-W", "--field-separator", "--assign", "--file", "--source",
            "--include", "--load", "--exec",
        ];
        let options = leading(call.words, &VALUED, &["-o", "-d", "-p", "-D", "-L"]);
        let mut operands = call.words.get(options.at..).unwrap_or_default();
        let mut programs: Vec<ShellWord> = Vec::new();
        let mut loads = options.is_unsure;
        let mut edits = false;
        for option in &options.options {
            let (name, value) = long_option(option);
            let is = |wanted: &[&str]| wanted.iter().any(|wanted| is_short_for(&name, wanted));
            let text = value.and_then(ArgValue::text);
            if is(&["-e", "--source"]) {
                programs.push(value.map_or_else(ShellWord::unknown_operand, word_of));
            } else if is(&["-i", "--include"]) && text.is_some_and(|name| name.starts_with("inplace")) {
                edits = true;
                self.opaque("", "may load a script of the working folder");
            } else if is(&["-f", "--file", "-i", "--include", "-l", "--load", "-E", "--exec"]) {
                loads = true;
            } else if is(&["-o", "--pretty-print", "-p", "--profile", "-d", "--dump-variables"]) {
                let usual =
                    if name.starts_with("-d") || name.starts_with("--du") { "awkvars.out" } else { "awkprof.out" };
                let file = value.map_or_else(|| ShellWord::plain(usual), word_of);
                self.change(&file, PathChange::Replace, None);
            }
        }
        if loads {
            self.opaque("", "runs a script whose content is not known");
            return;
        }
        if programs.is_empty()
            && let Some((first, rest)) = operands.split_first()
        {
            programs.push(first.clone());
            operands = rest;
        }
        for program in programs {
            match program.as_code() {
                None => self.opaque("", "runs a script that can't be known"),
                Some(text) => self.awk_program(text),
            }
        }
        if edits {
            for file in operands.iter().filter(|word| !word.text().contains('=')) {
                self.change(file, PathChange::Replace, Some("edits files in place"));
            }
        }
    }

    fn awk_program(&mut self, text: &str) {
        // A line that is continued goes on within a word or behind it, depending on who reads it.
        let readings = [text.replace("\\\n", " "), text.replace("\\\n", "")];
        let found: Option<Vec<_>> = readings.iter().map(|text| awk_effects(text)).collect();
        match found {
            None => {
                self.opaque("", "a script that runs commands, or can't be read");
                self.literals_as_code(text);
            }
            Some(files) => {
                for file in files.into_iter().flatten() {
                    let word = file.map_or_else(ShellWord::unknown_operand, ShellWord::plain);
                    self.change(&word, PathChange::Replace, None);
                }
            }
        }
    }

    /// `vim`, `ed`: commands of the editor on the line, and those that it is fed.
    pub(super) fn editor(&mut self, call: ProgramCall<'_>) {
        let is_vi = matches!(call.name, "vi" | "vim" | "nvim" | "ex");
        for word in call.words.iter().filter(|word| is_vi && word.text().starts_with('+')) {
            match word.known().map(|text| text[1..].trim_start_matches(':')) {
                // A line of the file, or a text in it.
                Some(place) if place.starts_with(['/', '$']) || place.bytes().all(|byte| byte.is_ascii_digit()) => {}
                Some("q" | "qa" | "q!" | "qa!" | "wq" | "x" | "set nu" | "set number" | "syntax on") => {}
                Some(command) => self.editor_command(command),
                None => self.opaque("", "an editor that runs commands that can't be known"),
            }
        }
        for log in call.words.iter().filter_map(|word| word.text().strip_prefix("-V").filter(|_| is_vi)) {
            let file = log.trim_start_matches(|c: char| c.is_ascii_digit());
            if !file.is_empty() {
                self.change(&ShellWord::plain(file), PathChange::Add, None);
            }
        }
        if matches!(call.name, "ed" | "ex") {
            match call.input {
                StandardInput::Text(text) => {
                    for line in text.lines().filter(|line| line.contains('!')) {
                        self.editor_command(line);
                    }
                }
                StandardInput::None => {}
                StandardInput::Unknown => self.opaque("", "an editor that runs commands that can't be known"),
            }
        }
    }

    /// Reads a command of an editor: a shell runs the text behind `!`.
    fn editor_command(&mut self, command: &str) {
        self.opaque("", "an editor that runs commands");
        if let Some((_, code)) = command.split_once('!') {
            self.guess(|walk| drop(walk.code(code, StandardInput::Unknown)));
        }
    }

    /// The strings of code that is opaque anyway, read as commands: what they say can only make it stricter.
    pub(super) fn literals_as_code(&mut self, code: &str) {
        let literals: Vec<String> = literals(code).into_iter().take(16).collect();
        self.guess(|walk| {
            for literal in &literals {
                walk.code(literal, StandardInput::Unknown);
            }
            if literals.len() > 1 {
                let words: Vec<ShellWord> = literals.iter().map(ShellWord::plain).collect();
                walk.inner(&words, &StandardInput::Unknown);
            }
        });
    }
}

/// An option's name and value; `-W source=..` is `--source=..`.
fn long_option<'a>(option: &Leader<'a>) -> (String, Option<ArgValue<'a>>) {
    match option.value {
        Some(value) if option.name == "-W" => match value.text() {
            Some(text) => {
                let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
                (format!("--{name}"), value.map(ArgValue::Attached))
            }
            // It may be any of them.
            None => ("--file".to_owned(), Some(value)),
        },
        value => (option.name.clone(), value),
    }
}

enum SedEffect {
    Writes(String),
    Runs(String),
}

/// Returns the effects of a script beyond editing; `None` if it can't be read.
fn sed_effects(script: &str) -> Option<Vec<SedEffect>> {
    let mut effects = Vec::new();
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || ";{}".contains(c));
        if rest.is_empty() {
            return Some(effects);
        }
        rest = after_address(rest)?;
        let Some(command) = rest.chars().next() else { return Some(effects) };
        rest = &rest[command.len_utf8()..];
        let line_end = rest.find('\n').unwrap_or(rest.len());
        match command {
            's' => {
                let delimiter = rest.chars().next()?;
                rest = section(&rest[delimiter.len_utf8()..], delimiter)?;
                rest = section(rest, delimiter)?;
                let flags_len = rest.find([';', '}', '\n', 'w']).unwrap_or(rest.len());
                if rest[..flags_len].contains('e') {
                    effects.push(SedEffect::Runs(String::new()));
                }
                if rest[..flags_len].chars().any(|c| !"gpiImMe0123456789 \t".contains(c)) {
                    return None;
                }
                rest = &rest[flags_len..];
                if let Some(file) = rest.strip_prefix('w') {
                    let end = file.find('\n').unwrap_or(file.len());
                    effects.push(SedEffect::Writes(file[..end].trim().to_owned()));
                    rest = &file[end..];
                }
            }
            'y' => {
                let delimiter = rest.chars().next()?;
                rest = section(&rest[delimiter.len_utf8()..], delimiter)?;
                rest = section(rest, delimiter)?;
            }
            'w' | 'W' => {
                effects.push(SedEffect::Writes(rest[..line_end].trim().to_owned()));
                rest = &rest[line_end..];
            }
            'e' => {
                effects.push(SedEffect::Runs(rest[..line_end].trim().to_owned()));
                rest = &rest[line_end..];
            }
            'a' | 'i' | 'c' => {
                let mut end = line_end;
                while rest[..end].ends_with('\\') && end < rest.len() {
                    end += 1 + rest[end + 1..].find('\n').unwrap_or(rest.len() - end - 1);
                }
                rest = &rest[end..];
            }
            'r' | 'R' | '#' => rest = &rest[line_end..],
            'b' | 't' | 'T' | ':' => rest = &rest[rest.find([';', '\n', '}']).unwrap_or(rest.len())..],
            'q' | 'Q' | 'l' | 'L' => rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' '),
            'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | '=' | 'F' => {}
            '}' | '{' => {}
            _ => return None,
        }
    }
}

fn after_address(mut rest: &str) -> Option<&str> {
    loop {
        let first = rest.chars().next()?;
        rest = match first {
            '/' => section(&rest[1..], '/')?,
            '\\' => {
                let delimiter = rest[1..].chars().next()?;
                section(&rest[1 + delimiter.len_utf8()..], delimiter)?
            }
            '0'..='9' | '$' | ',' | '+' | '~' | '!' | ' ' | '\t' => &rest[1..],
            'I' | 'M' if rest.len() > 1 => &rest[1..],
            _ => return Some(rest),
        };
        if rest.is_empty() {
            return Some(rest);
        }
    }
}

/// Returns whether one of `marks` stands before the next slash of the line: the two readings differ about it.
fn hides_code(rest: &str, marks: &str) -> bool {
    let line = rest.split('\n').next().unwrap_or_default();
    line.split_once('/').is_some_and(|(inside, _)| inside.contains(|c: char| marks.contains(c)))
}

/// Returns the text after the next `delimiter` that is not escaped.
pub(super) fn section(text: &str, delimiter: char) -> Option<&str> {
    let mut chars = text.char_indices();
    let mut in_set = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' if !in_set => in_set = text[at + 1..].contains(']'),
            ']' => in_set = false,
            // Within a set a delimiter is text to some and an end to others.
            _ if c == delimiter && in_set => return None,
            _ if c == delimiter => return Some(&text[at + c.len_utf8()..]),
            _ => {}
        }
    }
    None
}

/// The files that a script writes (nothing for one that can't be known); nothing at all if it runs commands or can't
/// be read.
fn awk_effects(program: &str) -> Option<Vec<Option<String>>> {
    let mut files = Vec::new();
    let mut chars = program.char_indices().peekable();
    let mut before = '\n';
    // Whether a `/` would divide: a value stands before it.
    let mut divides = false;
    let mut may_divide = false;
    let mut prints = false;
    let mut open = 0_i32;
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => loop {
                match chars.next()?.1 {
                    '\\' => drop(chars.next()?),
                    '"' => break,
                    _ => {}
                }
            },
            '#' => while chars.next_if(|(_, c)| *c != '\n').is_some() {},
            '/' if divides && before == ')' && hides_code(&program[at + 1..], "#\"") => return None,
            // Behind `i++` and `getline` it may divide as well.
            '/' if !divides && may_divide && hides_code(&program[at + 1..], "#\"|>(") => return None,
            '/' if !divides => {
                let mut in_set = false;
                loop {
                    let (at, c) = chars.next()?;
                    match c {
                        '\\' => drop(chars.next()?),
                        // What the set begins with may be what it ends with.
                        '[' if program[at + 1..].trim_start_matches('^').starts_with(']') => return None,
                        // `[:alpha:]` within a set doesn't end it.
                        '[' if in_set && program[at + 1..].starts_with([':', '.', '=']) => {
                            let kind = chars.next()?.1;
                            while !(chars.next()?.1 == kind && chars.peek()?.1 == ']') {}
                            chars.next()?;
                        }
                        '[' => in_set = true,
                        ']' => in_set = false,
                        // To some it ends the expression, to others it is one of the set.
                        '/' if in_set => return None,
                        '/' => break,
                        '\n' => return None,
                        _ => {}
                    }
                }
            }
            '|' if chars.next_if(|(_, c)| *c == '|').is_some() => {}
            '|' | '@' => return None,
            '(' => open += 1,
            ')' => open -= 1,
            '>' if prints && open <= 0 && !program[at + 1..].starts_with('=') => {
                while chars.next_if(|(_, c)| *c == '>').is_some() {}
                files.push(awk_file(program[at..].trim_start_matches('>')));
            }
            // Behind these the line feed ends nothing.
            '\n' if matches!(before, ',' | '&' | '|') => continue,
            ';' | '{' | '}' | '\n' => (prints, open) = (false, 0),
            c if c.is_ascii_alphabetic() || c == '_' => {
                let rest = &program[at..];
                let len = rest.bytes().take_while(|b| b.is_ascii_alphanumeric() || *b == b'_').count();
                let word = &rest[..len];
                if word == "system" {
                    return None;
                }
                prints |= matches!(word, "print" | "printf");
                for _ in 1..len {
                    chars.next();
                }
                divides =
                    !matches!(word, "print" | "printf" | "return" | "in" | "else" | "do" | "getline" | "exit" | "case");
                may_divide = word == "getline";
                before = c;
                continue;
            }
            _ => {}
        }
        if !c.is_whitespace() || c == '\n' {
            may_divide = matches!(c, '+' | '-') && program[..at].ends_with(c);
            divides = c.is_ascii_digit() || matches!(c, ')' | ']' | '"' | '/' | '$' | '.');
            before = c;
        }
    }
    Some(files)
}

fn awk_file(rest: &str) -> Option<String> {
    let rest = rest.trim_start().strip_prefix('"')?;
    let end = rest.find('"')?;
    let after = rest[end + 1..].trim_start();
    let is_whole = after.is_empty() || after.starts_with(['}', ';', '\n']);
    (is_whole && !rest[..end].contains('\\')).then(|| rest[..end].to_owned())
}
