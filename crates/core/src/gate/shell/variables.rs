//! Variables of the shell: the values that can be proven, and what may be set.

use super::clues::Clue;
use super::expand::ShellWord;
use super::tree::ShellNode;
use super::walk::ShellWalk;
use super::word;

impl ShellWalk<'_> {
    /// From now on programs get the variable `name`, or don't.
    pub(super) fn export(&mut self, name: &str, is_exported: bool) {
        if is_exported {
            self.state.exported.insert(name.to_owned());
        } else {
            self.state.exported.remove(name);
        }
    }

    /// Forgets what variables hold that programs may not get; says whether there was one.
    pub(super) fn forget_values(&mut self) -> bool {
        let mut is_forgotten = !self.state.plain.is_empty();
        self.state.plain.clear();
        for (name, value) in &mut self.state.variables {
            if value.is_some() && !self.state.exported.contains(name) {
                *value = None;
                is_forgotten = true;
            }
        }
        is_forgotten
    }

    /// Sets a variable, and says what it may run that way. `raw` is the value as typed; `program` is the one that it
    /// is set for, if it is set for one only.
    pub(super) fn assign(&mut self, name: &str, raw: &str, value: Option<&ShellWord>, program: Option<&str>) {
        self.clues.note(Clue::Expression, name.contains('[') || NUMBERS.contains(&name));
        let known = value.and_then(ShellWord::known).map(str::to_owned);
        self.runner(name, raw, known.as_deref(), program);
        let (name, is_element) = name.split_once('[').map_or((name, false), |(name, _)| (name, true));
        // An element alone is changed, or the old value is left.
        let is_partial = is_element || self.state.fixed.contains(name);
        self.state.lists.remove(name);
        self.state.plain.remove(name);
        if value.is_some_and(ShellWord::is_name) && !is_partial {
            self.state.plain.insert(name.to_owned());
        }
        self.state.variables.insert(name.to_owned(), known.filter(|_| !is_partial));
    }

    /// From now on a variable may take no other value.
    pub(super) fn fix(&mut self, name: &str) {
        self.state.fixed.insert(name.to_owned());
    }

    pub(super) fn forget(&mut self, name: &str) {
        // `a[0]` changes `a`.
        self.clues.note(Clue::Expression, name.contains('[') || NUMBERS.contains(&name));
        let name = name.split('[').next().unwrap_or_default();
        self.state.lists.remove(name);
        self.state.plain.remove(name);
        self.state.variables.insert(name.to_owned(), None);
    }

    /// Every variable that the line gave a value may have another one.
    pub(super) fn forget_all(&mut self) {
        self.state.lists.clear();
        self.state.plain.clear();
        self.state.variables.values_mut().for_each(|value| *value = None);
    }

    /// The value of a variable, if it can be proven.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        if let Ok(place) = name.parse::<usize>() {
            let word = self.state.positional.as_ref()?.get(place.checked_sub(1)?)?;
            return word.known().filter(|_| !word.is_pattern()).map(str::to_owned);
        }
        match (self.state.variables.get(name), name) {
            // The shell sets these itself, whatever the line says.
            (_, "_" | "REPLY" | "OPTARG" | "OPTIND" | "MAPFILE" | "OLDPWD" | "RANDOM" | "SECONDS" | "LINENO") => None,
            (_, shells) if shells.starts_with("BASH") => None,
            (Some(value), _) => value.clone(),
            (None, "HOME") => Some("~".to_owned()),
            (None, "PWD") => {
                let folder = self.state.folder.as_deref()?;
                let is_whole = folder.starts_with(['/', '~']);
                Some(if is_whole { folder.to_owned() } else { format!("{}/{folder}", self.places.workdir) })
            }
            // As good as known where it is put before or after something else; it names no program.
            (None, "PATH") => Some("$PATH".to_owned()),
            (None, "IFS") => Some(" \t\n".to_owned()),
            (None, _) => None,
        }
    }

    /// The words of `$@`, or of the list `name`, if they are known.
    pub(super) fn list(&self, name: &str) -> Option<&Vec<ShellWord>> {
        if name == "@" { self.state.positional.as_ref() } else { self.state.lists.get(name) }
    }

    /// The words that `$1`, `$2` and so on are once `count` of them are gone.
    pub(super) fn shifted(&self, count: usize) -> Option<Vec<ShellWord>> {
        self.state.positional.as_ref().and_then(|words| words.get(count..)).map(<[ShellWord]>::to_vec)
    }

    /// Sets `$1`, `$2` and so on; `None` if they can't be known.
    pub(super) fn set_positional(&mut self, words: Option<Vec<ShellWord>>) {
        self.state.positional = words;
    }

    /// True if the line sets the variable `name`.
    pub(super) fn is_set(&self, name: &str) -> bool {
        self.state.variables.contains_key(name)
    }

    /// True if the line sets the variable `name`, or gives it to the program that is being read.
    pub(super) fn is_set_or_given(&self, name: &str) -> bool {
        self.is_set(name) || self.given.iter().any(|given| given == name)
    }

    /// True if a variable holds one plain word, whichever it is.
    pub(super) fn is_plain(&self, name: &str) -> bool {
        self.state.plain.contains(name) && self.splits_as_usual()
    }

    /// True if words are split at spaces, tabs and line feeds.
    pub(super) fn splits_as_usual(&self) -> bool {
        !self.state.variables.contains_key("IFS")
    }

    /// True if a variable that the line sets may hold code.
    pub(super) fn holds_code(&self) -> bool {
        self.state.variables.values().flatten().any(|value| value.contains("$(") || value.contains('`'))
    }
}

/// The variables that `node` sets anywhere.
pub(super) fn variables_set(node: &ShellNode, set: &mut Vec<String>) {
    match node {
        ShellNode::Simple(simple) => {
            set.extend(simple.assignments.iter().map(|given| given.name.clone()));
            // `read x`, `export x=1`, `printf -v x`: any word may be a variable's name.
            for raw in simple.words.iter().skip(1) {
                let name = raw.split('=').next().unwrap_or_default();
                if word::is_plain(name) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
                    set.push(name.to_owned());
                }
            }
        }
        ShellNode::Pipeline(nodes)
        | ShellNode::Sequence(nodes)
        | ShellNode::Choice(nodes)
        | ShellNode::Case(_, nodes) => {
            nodes.iter().for_each(|node| variables_set(node, set));
        }
        ShellNode::AndOr(first, rest) => {
            variables_set(first, set);
            rest.iter().for_each(|(_, node)| variables_set(node, set));
        }
        ShellNode::Subshell(inner) | ShellNode::Redirected(inner, _) => variables_set(inner, set),
        ShellNode::Function(_, body) => variables_set(body, set),
        ShellNode::Loop(given) => {
            set.extend(given.variable.clone());
            given.condition.iter().chain(&given.body).for_each(|node| variables_set(node, set));
        }
        ShellNode::Test(_) | ShellNode::Arithmetic(_) => {}
    }
}

/// The variables that are numbers to bash: what they are given is evaluated.
const NUMBERS: [&str; 8] = ["RANDOM", "SRANDOM", "SECONDS", "EPOCHSECONDS", "LINENO", "OPTIND", "HISTCMD", "BASHPID"];

/// True if a word stays one word, and no option, when a variable that holds it is expanded outside of quotes.
pub(super) fn is_one_operand(word: &ShellWord) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._/+-".contains(&byte);
    let text = word.known().filter(|text| !text.is_empty() && !text.starts_with('-'));
    !word.is_pattern() && text.is_some_and(|text| text.bytes().all(is_plain))
}
