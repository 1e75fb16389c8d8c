//! The table of programs: what each does, by its name, its subcommands and its options.
//!
//! The table is data (`programs.json`), with examples that are checked: those of the builtin table by a test, those
//! of an operator when they are added. An addition can make a program stricter, never milder: what it says is added
//! to what the builtin table says.
//!
//! Begin with [`ProgramEntry`]; [`Programs::with`] adds what an operator says, [`Programs::recorded`] what a journal
//! says.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use super::command_rule::{BadCommandRule, CommandRules, RuleTexts};
use super::{Dialect, ShellContext, ShellReading, read};
use crate::gate::deny_read::DenyRead;
use crate::gate::effect::Verdict;
use crate::gate::places::Places;
use crate::words::Category;
use crate::words::category::{MCP_TOOL, STATIC};

/// The names and the effects of programs.
///
/// A table entry speaks for all programs it names. In the builtin table and in configuration alike, lists are written
/// as words with spaces between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramEntry {
    /// The programs, by name without folder.
    pub names: WordList,
    /// The weight of their effect, if no rule below applies.
    pub verdict: Verdict,
    /// The categories that must be authorized; only that of running commands if absent.
    #[serde(
        default,
        rename = "category",
        deserialize_with = "categories",
        serialize_with = "category_words",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub categories: Vec<Category>,
    /// The effect, as half a sentence.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reason: String,
    /// The effect on operands.
    #[serde(default, skip_serializing_if = "is_default")]
    pub operands: Operands,
    /// Options that take a value as a word of its own: `-o --output`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub valued: WordList,
    /// Options without a value, which are no short form of others: `--test` beside `--test-reporter`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub flags: WordList,
    /// True if options are written with one dash and several letters: `-name`, `-auto-approve`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub single_dash: bool,
    /// True if the first operand ends the options, as in `env` and `timeout`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub operands_end_options: bool,
    /// Number of operands before the command that the program runs: `0` for `nice`, `1` for `timeout`. Absent if it
    /// runs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs_after: Option<usize>,
    /// Options whose value is shell code.
    #[serde(default, skip_serializing_if = "is_default")]
    pub code: WordList,
    /// Options whose value is a program or a command that is run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub runs: WordList,
    /// Options whose value is a file that is written.
    #[serde(default, skip_serializing_if = "is_default")]
    pub writes: WordList,
    /// Options whose value is a file that is made from others and easily made anew: what a compiler writes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub makes: WordList,
    /// Options whose value is a file or folder that is emptied before it is written.
    #[serde(default, skip_serializing_if = "is_default")]
    pub empties: WordList,
    /// Options whose value is a folder that files are written into. A build's own (category `shell_exec`) needs nothing
    /// more inside of the working folder.
    #[serde(default, skip_serializing_if = "is_default")]
    pub into: WordList,
    /// Options whose value says where the project, its settings or its code come from. Outside of the working folder
    /// that is code of somebody else's.
    #[serde(default, skip_serializing_if = "is_default")]
    pub from: WordList,
    /// Options whose value is a task, as `--target` of `cmake --build`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tasks: WordList,
    /// Options whose value is an address to listen on, which is open to others if it is every address.
    #[serde(default, skip_serializing_if = "is_default")]
    pub serves: WordList,
    /// True if its arguments leave the machine, so that a word which can't be known is sent to others.
    #[serde(default, skip_serializing_if = "is_default")]
    pub leaves: bool,
    /// The reader of its arguments, for what the rules can't describe.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reader: Reader,
    /// The rules for certain subcommands and options. All rules that apply count.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rules: Vec<ProgramRule>,
    /// Command lines, and what each must be.
    #[serde(default, skip_serializing_if = "is_default")]
    pub examples: BTreeMap<String, Verdict>,
}

/// One rule of an entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
// Error messages name the type: the name is pinned.
#[serde(rename = "Rule")]
pub struct ProgramRule {
    /// The first operands, in order; `a|b` for either, `a*` for all that begin so, `*a` for all that end so, `*a*`
    /// for all that hold it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub words: WordList,
    /// Applies only if one of the operands after these is one of these, written like `words`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub any: WordList,
    /// Applies only if one of these options is there.
    #[serde(default, skip_serializing_if = "is_default")]
    pub with: WordList,
    /// Applies only if one of these is there as well.
    #[serde(default, skip_serializing_if = "is_default")]
    pub and_with: WordList,
    /// Does not apply if one of these options is there.
    #[serde(default, skip_serializing_if = "is_default")]
    pub without: WordList,
    /// The weight of the effect.
    pub verdict: Verdict,
    /// The categories that must be authorized; only that of running commands if absent.
    #[serde(
        default,
        rename = "category",
        deserialize_with = "categories",
        serialize_with = "category_words",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub categories: Vec<Category>,
    /// The effect, as half a sentence.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reason: String,
    /// The effect on operands (those after the rule's `words`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub operands: Operands,
}

/// The effect of a program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Does<'a> {
    pub verdict: Verdict,
    pub categories: &'a [Category],
    pub reason: &'a str,
    pub operands: Operands,
}

impl ProgramEntry {
    /// An entry that says nothing, by which the words of an unknown program are split.
    pub(super) fn unknown() -> Self {
        Self {
            names: WordList::default(),
            verdict: Verdict::Opaque,
            categories: Vec::new(),
            reason: String::new(),
            operands: Operands::default(),
            valued: WordList::default(),
            flags: WordList::default(),
            single_dash: false,
            operands_end_options: false,
            runs_after: None,
            code: WordList::default(),
            runs: WordList::default(),
            writes: WordList::default(),
            makes: WordList::default(),
            empties: WordList::default(),
            into: WordList::default(),
            from: WordList::default(),
            tasks: WordList::default(),
            serves: WordList::default(),
            leaves: false,
            reader: Reader::default(),
            rules: Vec::new(),
            examples: BTreeMap::new(),
        }
    }

    /// Returns the effect if no rule applies.
    pub(super) fn does(&self) -> Does<'_> {
        let Self { verdict, categories, reason, operands, .. } = self;
        Does { verdict: *verdict, categories, reason, operands: *operands }
    }
}

impl ProgramRule {
    /// Returns the effect if the rule applies.
    pub(super) fn does(&self) -> Does<'_> {
        let Self { verdict, categories, reason, operands, .. } = self;
        Does { verdict: *verdict, categories, reason, operands: *operands }
    }
}

/// The effect on operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Operands {
    /// Nothing that matters.
    #[default]
    Read,
    /// Each is created or changed.
    Write,
    /// Each loses its content.
    Overwrite,
    /// Each is deleted.
    Delete,
    /// Each is deleted with all that lies below.
    DeleteAll,
    /// The last one is written.
    WriteLast,
    /// The first one is written.
    WriteFirst,
    /// The second one is written, if there is one: `uniq input output`.
    WriteSecond,
    /// Each is written, in place of what it held.
    Replace,
    /// The first one is a folder that files are written into, or is made.
    Into,
    /// Each is changed by a tool that is made for it: a formatter. Without any it is all that lies in the folder.
    Edit,
    /// The last one is made if there is nothing of its name: `cp -n`.
    MakeLast,
    /// The rights to each are changed. Modes and owners before them are no files.
    Rights,
    /// All but the last one are deleted, the last one is written.
    Move,
    /// Those that name hosts are contacted.
    Contact,
    /// They reach others: one that can't be known is sent to them.
    Send,
    /// They name tests: a file that is none by its name is code that runs like any other.
    Tests,
}

/// The readers of arguments that rules can't describe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is named after the program that it reads")]
pub enum Reader {
    /// By the rules alone.
    #[default]
    Rules,
    Shell,
    Eval,
    Source,
    Cd,
    Variables,
    Alias,
    Trap,
    Positional,
    Env,
    Xargs,
    Find,
    Sed,
    Awk,
    Git,
    GitConfig,
    GitPush,
    GitCheckout,
    GitRestore,
    GitRun,
    Python,
    Node,
    Perl,
    Ruby,
    Php,
    Lua,
    Compiler,
    Sql,
    Redis,
    Ssh,
    Dd,
    Busybox,
    Parallel,
    Joined,
    Http,
    Lookup,
    Rsync,
    Echo,
    Printf,
    Print,
    Decode,
    Crontab,
    Tee,
    Kill,
    Mongo,
    Inside,
    Project,
    Tasks,
    Scripts,
    Runtime,
    Workspace,
    GitRemote,
    Cmake,
    UvPip,
    Pytest,
    Editor,
    Build,
    GitLists,
    Archive,
    Opens,
}

/// Words with spaces between.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WordList(Vec<String>);

impl WordList {
    /// Each word.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// True if `word` is one of them.
    #[must_use]
    pub fn has(&self, word: &str) -> bool {
        self.0.iter().any(|own| own == word)
    }

    /// True if there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<'de> Deserialize<'de> for WordList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Ok(Self(text.split_whitespace().map(str::to_owned).collect()))
    }
}

impl Serialize for WordList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.join(" "))
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn category_words<S: Serializer>(categories: &[Category], serializer: S) -> Result<S::Ok, S::Error> {
    let words: Vec<&str> = categories.iter().map(Category::as_str).collect();
    serializer.serialize_str(&words.join(" "))
}

fn categories<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Category>, D::Error> {
    let words = WordList::deserialize(deserializer)?;
    let known = |word: &str| {
        let is_known = STATIC.iter().any(|(name, _)| *name == word) || word.starts_with(MCP_TOOL);
        is_known.then(|| Category::new(word)).ok_or_else(|| D::Error::custom(format!("`{word}` is no category")))
    };
    words.iter().map(known).collect()
}

/// The reason why an addition is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BadProgram {
    /// It names no program.
    #[error("an entry of `programs` has no `names`: give the programs that it is about")]
    NoName,
    /// It has no example.
    #[error("the entry for `{0}` has no `examples`: give at least one command line and its verdict")]
    NoExample(String),
    /// An example is not what it must be.
    #[error(
        "the example `{command}` of `{name}` must be {expected:?} but is {found:?}: change the rules or the example"
    )]
    Example {
        /// The first program of the entry.
        name: String,
        /// The example.
        command: String,
        /// The verdict that it must have.
        expected: Verdict,
        /// The verdict that it has.
        found: Verdict,
    },
}

/// The table.
#[derive(Debug, Clone, Default)]
pub struct Programs {
    entries: Vec<ProgramEntry>,
    by_name: HashMap<String, Vec<usize>>,
    rules: CommandRules,
}

static BUILTIN: LazyLock<Arc<Programs>> = LazyLock::new(|| {
    let entries: Vec<ProgramEntry> =
        serde_json::from_str(include_str!("programs.json")).expect("a test reads the builtin table");
    Arc::new(Programs::of(entries))
});

impl Programs {
    /// The table that comes with this version.
    #[must_use]
    pub fn builtin() -> &'static Arc<Self> {
        &BUILTIN
    }

    /// The builtin table with the `additions` and under the `rules` that a run has on record. Their examples were
    /// checked when the run began and are not checked again: what was decided by them must stay decidable by a later
    /// version.
    #[must_use]
    pub fn recorded(additions: &[ProgramEntry], rules: RuleTexts<'_>) -> Arc<Self> {
        let rules = rules.recorded();
        if additions.is_empty() && rules.is_empty() {
            return Arc::clone(&BUILTIN);
        }
        Arc::new(Self { rules, ..BUILTIN.and(additions) })
    }

    /// This table with `additions`, whose examples hold in it.
    ///
    /// # Errors
    ///
    /// The first entry without names or examples, or the first example that is not what it must be.
    pub fn with(&self, additions: &[ProgramEntry]) -> Result<Self, BadProgram> {
        let table = self.and(additions);
        for entry in additions {
            let name = entry.names.iter().next().ok_or(BadProgram::NoName)?;
            if entry.examples.is_empty() {
                return Err(BadProgram::NoExample(name.to_owned()));
            }
            table.check_examples(entry)?;
        }
        Ok(table)
    }

    /// This table under the rules of a run.
    ///
    /// # Errors
    ///
    /// The first rule that can't be used.
    pub fn under(self: Arc<Self>, texts: RuleTexts<'_>) -> Result<Arc<Self>, BadCommandRule> {
        let rules = texts.read()?;
        if rules.is_empty() {
            return Ok(self);
        }
        Ok(Arc::new(Self { rules, ..Arc::unwrap_or_clone(self) }))
    }

    /// Returns the files that no agent may read.
    pub(in crate::gate) fn deny_read(&self) -> &DenyRead {
        &self.rules.deny_read
    }

    /// The rules about single commands.
    pub(super) fn rules(&self) -> &CommandRules {
        &self.rules
    }

    /// The entries for the program `name`: one of the builtin table, and any additions.
    pub(super) fn get(&self, name: &str) -> impl Iterator<Item = &ProgramEntry> {
        self.by_name.get(name).into_iter().flatten().filter_map(|index| self.entries.get(*index))
    }

    /// True if the table knows `name`.
    pub(super) fn knows(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    fn and(&self, additions: &[ProgramEntry]) -> Self {
        let entries = self.entries.iter().chain(additions).cloned().collect();
        Self { rules: self.rules.clone(), ..Self::of(entries) }
    }

    fn of(entries: Vec<ProgramEntry>) -> Self {
        let mut by_name: HashMap<String, Vec<usize>> = HashMap::new();
        for (index, entry) in entries.iter().enumerate() {
            for name in entry.names.iter() {
                by_name.entry(name.to_owned()).or_default().push(index);
            }
        }
        Self { entries, by_name, rules: CommandRules::default() }
    }

    fn check_examples(&self, entry: &ProgramEntry) -> Result<(), BadProgram> {
        let places = Places::default();
        for (command, expected) in &entry.examples {
            let context = ShellContext { shell: Dialect::Bash, folder: ".", places: &places, programs: self };
            let found = read(command, &context).verdict();
            if found != *expected {
                return Err(BadProgram::Example {
                    name: entry.names.iter().next().unwrap_or_default().to_owned(),
                    command: command.clone(),
                    expected: *expected,
                    found,
                });
            }
        }
        Ok(())
    }

    #[cfg(test)]
    pub(super) fn broken_examples(&self) -> Vec<String> {
        let broken = self.entries.iter().filter_map(|entry| self.check_examples(entry).err());
        broken.map(|error| error.to_string()).collect()
    }

    #[cfg(test)]
    pub(super) fn entries(&self) -> &[ProgramEntry] {
        &self.entries
    }
}

impl ShellReading {
    /// The strictest verdict of all effects; safe if there are none.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        self.effects.iter().map(|effect| effect.verdict).max().unwrap_or(Verdict::Safe)
    }
}
