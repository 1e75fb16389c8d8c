//! Interpreters of other languages, and the short programs that are given to them on a line.
//!
//! Nothing here parses a language. Code is harmless if every name in it is on a list of names that do no harm;
//! names that are known to delete, run or send say so; everything else is opaque.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::ProgramCall;
use super::editors::section;
use super::foreign::names;
use crate::gate::effect::{Act, UNKNOWN, Verdict};
use crate::gate::shell::clues::{Clue, is_pipe};
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::paths::PathChange;
use crate::gate::shell::programs::Reader;
use crate::gate::shell::walk::{ShellWalk, StandardInput};
use crate::words::category::{EXTERNAL_MESSAGE, FILESYSTEM_DELETE, FILESYSTEM_WRITE, OPAQUE_EXEC};

/// Names that delete, in any of the languages.
const DELETING: &str = "unlink unlinkSync remove rmtree rmdir rmdirSync removedirs rmSync rm rm_r rm_f rm_rf remove_dir \
    remove_entry remove_entry_secure remove_file remove_tree delete_file deleteFile truncate truncateSync ftruncate \
    kill killpg emptyDirSync removeSync rimraf safe_unlink rmtree_f";

/// Names that write files.
const WRITING: &str = "write_text write_bytes writeFile writeFileSync appendFile appendFileSync createWriteStream \
    rename renameSync copyfile copy copy2 copytree copyFileSync cpSync move mkdir makedirs mkdirSync symlink link \
    chmod chmodSync chown touch file_put_contents fwrite fputs mkdir_p cp cp_r mv";

/// Names that reach the network.
const SENDING: &str = "requests urllib urllib2 urllib3 httpx aiohttp http https socket smtplib ftplib telnetlib paramiko \
    fetch axios net dgram dns tls http2 XMLHttpRequest WebSocket LWP HTTP Net TCPSocket UDPSocket curl_exec curl_init fsockopen \
    mail urlopen boto3 webbrowser URI IO_Socket";

/// Names that do no harm: built-in functions, methods, modules and words of the languages.
const HARMLESS: &str = "print puts p pp say echo printf sprintf console log error warn info debug dir table len range str int float \
    list dict set tuple sorted reversed enumerate zip map filter sum min max abs round any all isinstance type repr \
    input bool bytes bytearray ord chr hex bin oct divmod pow next iter super hash id format sys json re math \
    collections itertools functools textwrap string random statistics decimal fractions hashlib base64 binascii \
    platform pprint typing dataclasses enum time datetime csv argparse unicodedata struct operator uuid difflib zlib \
    tomllib pathlib Path os path sysconfig calendar locale copyright import from as if else elif for in while not and \
    or is None True False return def lambda try except finally with pass break continue class raise global nonlocal \
    assert yield exists getcwd listdir isfile isdir islink getsize getmtime basename dirname abspath realpath \
    splitext expanduser argv version version_info implementation environ get loads load dumps stdin stdout stderr read \
    readlines readline write flush split rsplit splitlines strip rstrip lstrip replace format append items keys values lower upper \
    title capitalize startswith endswith find rfind index match fullmatch search findall finditer sub subn group groups \
    groupdict now today utcnow strftime strptime isoformat fromtimestamp timestamp timedelta date timezone utc perf_counter monotonic sqrt pi e \
    floor ceil trunc randint choice shuffle sample seed uniform hexdigest digest sha256 sha1 md5 sha512 encode decode b64decode \
    b64encode urlsafe_b64encode hexlify unhexlify Counter defaultdict OrderedDict namedtuple deque most_common sort count pop add update \
    extend insert read_text read_bytes glob rglob iterdir name suffix stem parent parents parts exit quit executable \
    maxsize getenv cpu_count sep linesep log2 log10 exp gcd factorial comb perm sin cos tan mean median stdev Decimal Fraction \
    reader DictReader indent sort_keys ensure_ascii end file key default separators join uuid4 machine system_alias release \
    python_version node processor JSON stringify parse Math Object entries Array isArray Number String Boolean Date \
    toISOString getTime process env cwd versions arch require fs util assert url os parseInt parseFloat isNaN readFileSync existsSync \
    readdirSync statSync resolve extname slice splice push shift unshift forEach reduce some every flat flatMap includes \
    indexOf lastIndexOf toString toFixed trim padStart padEnd length concat repeat const let var function new this typeof \
    instanceof of null undefined true false NaN Infinity then catch throw switch case default do Map Set has size floor hypot sign \
    random BigInt Symbol RegExp _ test exec_ charCodeAt fromCharCode codePointAt split utf8 utf-8 encoding inspect depth \
    freemem totalmem cpus hostname homedir tmpdir EOL my our local use strict warnings foreach unless until last \
    scalar defined ref die lc uc lcfirst ucfirst substr chomp chop wantarray STDIN STDOUT STDERR ARGV ENV grep each exists \
    undef qw q BEGIN END eq ne lt gt le ge cmp x y tr ucwords puts to_s to_i to_f to_a to_h to_sym each_with_index each_line inject \
    select reject first last compact flatten uniq nil elsif then unless module attr_accessor self new gsub sub chars bytes \
    lines upcase downcase RUBY_VERSION JSON pretty_generate Time var_dump print_r count array strlen str_replace explode \
    implode array_map phpversion PHP_VERSION json_encode json_decode echo strtoupper strtolower function local ipairs pairs tostring tonumber \
    table concat math gmatch nil io stdin_ _VERSION not __name__ __main__ __version__ __file__ open i j k n s a b c d f g h l m o r t u v w z line text data result value \
    row word obj item foo bar acc cur el err res key val msg idx";

static LISTS: LazyLock<[HashSet<&'static str>; 4]> =
    LazyLock::new(|| [DELETING, WRITING, SENDING, HARMLESS].map(|list| list.split_whitespace().collect()));

impl ShellWalk<'_> {
    /// An interpreter: code on the line, a script file, or what it is fed.
    pub(super) fn interpreter(&mut self, reader: Reader, call: ProgramCall<'_>) {
        let (code_options, module_options): (&[&str], &[&str]) = match reader {
            Reader::Python => (&["-c"], &["-m"]),
            Reader::Node => (&["-e", "--eval", "-p", "--print", "-pe"], &["-r", "--require", "--import", "--loader"]),
            Reader::Perl => (&["-e", "-E"], &["-M", "-m"]),
            Reader::Ruby => (&["-e"], &["-r"]),
            Reader::Php => (&["-r", "-B", "-R", "-E"], &["-d", "-c"]),
            _ => (&["-e"], &["-l"]),
        };
        if reader == Reader::Node && self.node_subcommand(call) {
            return;
        }
        let mut words = call.words.iter();
        let mut codes: Vec<Option<String>> = Vec::new();
        let mut script = None;
        let mut edits = false;
        let mut module = None;
        let mut loops = false;
        let mut goes_on = false;
        while let Some(word) = words.next() {
            let Some(text) = word.known() else {
                script = Some(word);
                break;
            };
            if !text.starts_with('-') || text == "-" {
                script = Some(word).filter(|_| text != "-" && text != "/dev/stdin");
                break;
            }
            if text == "--" {
                script = words.next();
                break;
            }
            let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
            loops |= letters.contains(['n', 'p']);
            // Behind the code of the line it takes what it is fed.
            goes_on |= match reader {
                Reader::Python => letters.split('c').next().is_some_and(|flags| flags.contains('i')),
                Reader::Node => matches!(text, "-i" | "--interactive"),
                _ => false,
            };
            let is_whole = code_options.contains(&text) || module_options.contains(&text);
            let cluster = || {
                // `-ne`, `-lane`, `-uc`: the letter that takes code ends the cluster.
                let mut letters_here = letters.char_indices();
                let is_code = |letter: char| code_options.contains(&format!("-{letter}").as_str());
                let at = letters_here.find(|(_, letter)| is_code(*letter) || takes_rest(reader).contains(*letter));
                at.filter(|(_, letter)| is_code(*letter)).map(|(at, letter)| &letters[at + letter.len_utf8()..])
            };
            if is_whole && module_options.contains(&text) {
                module = words.next();
                if reader == Reader::Python {
                    break;
                }
                self.opaque("", "loads code that is not known");
            } else if reader == Reader::Node
                && text.starts_with("--")
                && !code_options.contains(&text)
                && !text.starts_with("--eval=")
                && !text.starts_with("--print=")
            {
                self.node_option(text);
            } else if let Some((name, value)) = text.split_once('=').filter(|(name, _)| code_options.contains(name)) {
                codes.push(Some(value.to_owned()).filter(|_| !name.is_empty()));
            } else if module_options.iter().any(|option| text.starts_with(option) && text.len() > option.len())
                && reader != Reader::Node
            {
                if !matches!(
                    text,
                    "-Mstrict"
                        | "-Mwarnings"
                        | "-MJSON::PP"
                        | "-MList::Util"
                        | "-MPOSIX"
                        | "-MData::Dumper"
                        | "-rjson"
                        | "-rset"
                        | "-rdate"
                        | "-rtime"
                ) {
                    self.opaque("", "loads code that is not known");
                }
            } else if let Some(rest) = if is_whole { Some("") } else { cluster() } {
                edits |= edits_in_place(letters);
                if rest.is_empty() {
                    codes.push(words.next().and_then(|word| word.as_code().map(str::to_owned)));
                } else {
                    codes.push(Some(rest.to_owned()));
                }
                if reader == Reader::Python {
                    break;
                }
            } else {
                edits |= edits_in_place(letters);
                if reader == Reader::Perl && letters.starts_with('F') && !is_plain_separator(&letters[1..]) {
                    self.opaque("", "splits by a pattern that may be code");
                }
                if reader == Reader::Perl && letters.starts_with('d') {
                    self.opaque("", "loads code that is not known");
                }
                if matches!(text, "-W" | "-X") && reader == Reader::Python {
                    words.next();
                }
            }
        }
        edits &= matches!(reader, Reader::Perl | Reader::Ruby);
        // Code that is fed is like code on the line: what follows it are files.
        if let (true, None, None, StandardInput::Text(code)) = (codes.is_empty(), module, script, call.input) {
            codes.push(Some(code.clone()));
        }
        match (codes.is_empty(), module, script) {
            (false, ..) => {
                for code in &codes {
                    match code {
                        Some(code) => self.foreign_program(reader, code),
                        None => self.opaque("", "runs code that can't be known"),
                    }
                }
                let files: Vec<&ShellWord> = script.into_iter().chain(words).collect();
                let all = codes.iter().flatten().fold(String::new(), |all, code| all + code + "\n");
                if reader == Reader::Perl && sets_files(&all, loops) {
                    self.opaque("", "opens files whose names the code sets, which may be commands");
                    self.literals_as_code(&all.replace('|', " "));
                }
                // `$^I` has it edit the files that it reads.
                if matches!(reader, Reader::Perl | Reader::Ruby)
                    && ["$^I", "${^", "$-i"].iter().any(|name| all.contains(name))
                {
                    self.opaque("", "may edit the files that it reads");
                    edits = true;
                }
                if matches!(reader, Reader::Perl | Reader::Ruby) {
                    let opens = ["<>", "ARGV", "open", "shift", "readline", "eof", "read"];
                    let opens = |code: &String| opens.iter().any(|name| code.contains(name));
                    self.opened_by_perl(&files, loops || codes.iter().flatten().any(opens));
                }
                if reader == Reader::Python {
                    self.imports();
                }
                if goes_on {
                    match call.input {
                        StandardInput::Text(code) => self.foreign_program(reader, code),
                        StandardInput::None => {}
                        StandardInput::Unknown => {
                            self.unseen_code("an interpreter runs what it is fed, which can't be known")
                        }
                    }
                }
                if edits {
                    for file in files {
                        self.change(file, PathChange::Replace, Some("edits files in place"));
                    }
                }
            }
            (true, Some(module), _) => self.python_module(module, words.as_slice(), call.input),
            (true, None, script) if reader == Reader::Node && self.node_tests(script, words.as_slice(), call) => {}
            (true, None, Some(script)) if self.own_script(script, words.as_slice(), call.input) => {}
            (true, None, Some(_)) => self.opaque("", "runs a file whose content is not known"),
            (true, None, None) => match call.input {
                StandardInput::Text(_) => {}
                StandardInput::None
                    if call.words.iter().any(|word| matches!(word.known(), Some("-V" | "-v" | "-VV" | "-h"))) => {}
                StandardInput::None => self.opaque("", "an interpreter runs what it is fed, which can't be known"),
                StandardInput::Unknown => self.unseen_code("an interpreter runs what it is fed, which can't be known"),
            },
        }
    }

    /// `bun test`, `deno fmt`: what the table says of them is all; whether it is one of them.
    fn node_subcommand(&mut self, call: ProgramCall<'_>) -> bool {
        const KNOWN: [&str; 16] = [
            "test", "lint", "fmt", "check", "build", "add", "install", "i", "remove", "update", "init", "cache", "doc",
            "info", "outdated", "pm",
        ];
        let first = call.words.first().and_then(ShellWord::known);
        match (call.name, first) {
            ("deno" | "bun", Some(verb)) if KNOWN.contains(&verb) => true,
            ("deno", Some("eval")) => {
                for word in call.words.iter().skip(1).filter(|word| !word.text().starts_with('-')) {
                    match word.known() {
                        Some(code) => self.foreign_program(Reader::Node, code),
                        None => self.opaque("", "runs code that can't be known"),
                    }
                }
                true
            }
            _ => false,
        }
    }

    /// An option of node that is no code: some load code, some name a file that is written.
    fn node_option(&mut self, option: &str) {
        const WRITING: [&str; 14] = [
            "--redirect-warnings", "--cpu-prof", "--heap-prof", "--report-", "--diagnostic-dir", "--trace-event",
            "--logfile", "--prof", "--heapsnapshot", "--build-snapshot", "--snapshot-blob", "--experimental-sea",
            "--perf-prof", "--tls-keylog",
        ];
        const HARMLESS: [&str; 24] = [
            "--max-", "--stack-", "--no-", "--input-type", "--harmony", "--enable-source-maps", "--check", "--version",
            "--help", "--interactive", "--expose-gc", "--conditions", "--unhandled-rejections", "--dns-result-order",
            "--preserve-symlinks", "--throw-deprecation", "--title", "--trace-warnings", "--trace-deprecation",
            "--trace-uncaught", "--pending-deprecation", "--test", "--watch", "--experimental-test",
        ];
        let (name, value) = option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
        if WRITING.iter().any(|start| name.starts_with(start)) {
            let file = value.map_or_else(ShellWord::unknown_operand, ShellWord::plain);
            self.change(&file, PathChange::Replace, None);
        } else if !HARMLESS.iter().any(|start| name.starts_with(start)) {
            self.opaque("", "loads code that is not known, or may write files");
        }
    }

    /// Files that perl opens by their names alone: `rm x|` is a command to it, and `>x` a file to be emptied.
    fn opened_by_perl(&mut self, files: &[&ShellWord], opens: bool) {
        for file in files {
            let Some(name) = file.known().filter(|_| !file.is_pattern()) else {
                self.clues.note(Clue::UnknownFile, opens);
                continue;
            };
            if !is_pipe(name) {
                continue;
            }
            let name = name.trim();
            match name.trim_start_matches('+').strip_prefix(['>', '<']) {
                Some(path) => {
                    self.change(&ShellWord::plain(path.trim_start_matches('>').trim()), PathChange::Empty, None)
                }
                None => drop(self.hidden_code(name.trim_matches('|'), StandardInput::Unknown)),
            }
            self.opaque("", "opens a command instead of a file");
        }
    }

    /// Python looks for modules in the working folder and in `PYTHONPATH` first.
    fn imports(&mut self) {
        self.clues.note(Clue::Import, true);
        if self.is_set_or_given("PYTHONPATH") {
            self.opaque("", "may load code from the folders of `PYTHONPATH`");
        }
    }

    /// `python -m module`: the table knows it as a program of that name.
    fn python_module(&mut self, module: &ShellWord, rest: &[ShellWord], input: &StandardInput) {
        let program = match module.known() {
            Some("pytest" | "py.test") => "pytest",
            Some(known @ ("unittest" | "pip" | "twine" | "build")) => known,
            Some("json.tool") => {
                self.imports();
                let mut words = rest.iter();
                let mut operands = Vec::new();
                while let Some(word) = words.next() {
                    match word.text() {
                        "--indent" => drop(words.next()),
                        text if text.starts_with("--") => {}
                        _ => operands.push(word),
                    }
                }
                if let Some(target) = operands.get(1) {
                    self.change(target, PathChange::Replace, None);
                }
                if rest.iter().any(|word| word.splits() || word.is_pattern()) {
                    self.change(&ShellWord::unknown_operand(), PathChange::Replace, None);
                }
                return;
            }
            Some("venv") => {
                self.imports();
                let clears = rest.iter().any(|word| word.text().starts_with("--c"));
                for word in rest.iter().filter(|word| !word.text().starts_with('-')) {
                    let change = if clears { PathChange::DeleteAll } else { PathChange::Add };
                    self.change(word, change, None);
                }
                if rest.iter().any(ShellWord::splits) {
                    self.opaque("", "its options can't be known");
                }
                return;
            }
            Some(
                known @ ("mypy" | "ruff" | "black" | "flake8" | "pylint" | "isort" | "tox" | "coverage" | "pyright"),
            ) => known,
            Some(
                "py_compile" | "compileall" | "timeit" | "tokenize" | "ast" | "dis" | "calendar" | "site" | "sysconfig"
                | "platform",
            ) if module.known() != Some("timeit") => {
                self.imports();
                return;
            }
            _ => {
                self.opaque("", "runs a module whose content is not known");
                return;
            }
        };
        self.program(program, rest, input);
    }

    fn foreign_program(&mut self, reader: Reader, code: &str) {
        if reader == Reader::Perl && is_perl_editing(code) {
            return;
        }
        let [deleting, writing, sending, harmless] = &*LISTS;
        if opens_unseen(code, reader) {
            self.opaque("", "opens a file in a way that the code doesn't show");
        }
        let Some(mut names) = names(code, reader).filter(|_| !calls_computed_names(code, reader)) else {
            self.opaque("", "runs code that can't be read");
            self.literals_as_code(code);
            return;
        };
        if matches!(reader, Reader::Php | Reader::Node | Reader::Ruby) {
            // There a text may stand for the function or the module of that name.
            let texts = literals(code).into_iter();
            let texts = texts.map(|text| text.strip_prefix("node:").map_or(text.clone(), str::to_owned));
            names.extend(texts.filter(|text| is_harmful(text)));
        }
        let found = |list: &HashSet<&str>| names.iter().find(|name| list.contains(name.as_str()));
        let opens_for_writing = literals(code).iter().any(|text| is_mode_for_writing(text));
        let unknown = Act::Overwrite(crate::gate::effect::Target {
            path: UNKNOWN.to_owned(),
            is_pattern: false,
            is_recursive: false,
        });
        if let Some(name) = found(deleting) {
            let reason = format!("code that calls `{name}`");
            self.effect(Verdict::Destructive, FILESYSTEM_DELETE, unknown.clone(), None, &reason);
        }
        if reader == Reader::Python && replaces_files(code) {
            let reason = "code that puts a file over another";
            self.effect(Verdict::Ask, FILESYSTEM_WRITE, unknown.clone(), None, reason);
        }
        if opens_for_writing {
            let reason = "code that opens a file to write it anew";
            self.effect(Verdict::Destructive, FILESYSTEM_DELETE, unknown.clone(), None, reason);
        }
        if let Some(name) = found(writing) {
            self.effect(Verdict::Ask, FILESYSTEM_WRITE, unknown, None, &format!("code that calls `{name}`"));
        }
        if let Some(name) = found(sending) {
            let act = Act::Contact { host: UNKNOWN.to_owned() };
            self.effect(Verdict::External, EXTERNAL_MESSAGE, act, None, &format!("code that uses `{name}`"));
        }
        let is_known =
            |name: &&String| [deleting, writing, sending, harmless].iter().any(|list| list.contains(name.as_str()));
        if let Some(name) = names.iter().find(|name| !is_known(name)) {
            let reason = format!("code with `{name}`, of which nothing is known");
            self.effect(Verdict::Opaque, OPAQUE_EXEC, Act::Other, None, &reason);
            self.literals_as_code(code);
        }
    }
}

/// True if a text is a mode that opens a file to be written anew, in upper or lower case.
fn is_mode_for_writing(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    matches!(text.as_str(), ">" | "+>" | "r+" | "rb+" | "r+b" | "w:utf-8")
        || (text.len() <= 3 && text.starts_with('w') && text[1..].bytes().all(|byte| b"bt+x".contains(&byte)))
}

/// Modules whose names are harmless words too; any other word may be a file beside the code.
const MODULES: &str = "sys json re math collections itertools functools textwrap string random statistics decimal \
    fractions hashlib base64 binascii platform pprint typing dataclasses enum time datetime csv argparse unicodedata \
    struct operator uuid difflib zlib tomllib pathlib os sysconfig calendar locale copy __future__";

/// True if Python code imports a module that has only the name of something harmless.
fn imports_a_stranger(code: &str) -> bool {
    let harmless = &LISTS[3];
    let is_stranger = |name: &str| {
        let module = name.trim().split(['.', ' ']).next().unwrap_or_default();
        harmless.contains(module) && !MODULES.split_whitespace().any(|known| known == module)
    };
    code.split([';', '\n', ':']).map(str::trim).any(|statement| {
        let names = statement.strip_prefix("import ").map(|names| names.split(',').any(is_stranger));
        names.or_else(|| statement.strip_prefix("from ").map(is_stranger)).unwrap_or(false)
    })
}

/// Returns whether perl's separator is a text, or one pattern between slashes: it becomes a part of the program.
fn is_plain_separator(pattern: &str) -> bool {
    let inside = pattern.strip_prefix('/').and_then(|rest| rest.strip_suffix('/')).unwrap_or(pattern);
    !inside.contains(['/', '"', '\'', '(', '{', '@', '$', '`', ';'])
}

/// The letters among an interpreter's options behind which the rest of the word is a value, beside those for code.
fn takes_rest(reader: Reader) -> &'static str {
    match reader {
        Reader::Python => "WXmQ",
        Reader::Perl => "IMmFxiDCd",
        Reader::Ruby => "ICxFEKri",
        Reader::Php => "dcfFtzS",
        _ => "",
    }
}

/// True if a cluster of perl's or ruby's options has `-i` in it, before a letter that takes the rest.
fn edits_in_place(letters: &str) -> bool {
    let flags = letters.find(|c: char| !"acflnpsStTuUvwWXx0123456789".contains(c)).unwrap_or(letters.len());
    letters[flags..].starts_with('i')
}

/// True if Perl code itself sets the files that `<>` opens, or opens a file by a name that may be a command.
fn sets_files(code: &str, loops: bool) -> bool {
    let reads = loops || ["<>", "<ARGV>", "readline", "eof"].iter().any(|name| code.contains(name));
    let is_whole = |at: usize| {
        let before = code[..at].chars().next_back();
        let after = code[at + "ARGV".len()..].trim_start().chars().next();
        // `$ARGV` is the name of the file that is being read.
        !(before == Some('$') && after != Some('[')) && before != Some('<')
    };
    let sets = code.match_indices("ARGV").any(|(at, _)| is_whole(at));
    let opens =
        code.match_indices("open").any(|(at, _)| !code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_'));
    let opens_by_name = opens && !literals(code).iter().any(|text| text.starts_with('<') && text.len() <= 12);
    (reads && sets) || opens_by_name || (opens && literals(code).iter().any(|text| is_pipe(text)))
}

/// True if a file may be opened in a way that the code doesn't show: a mode that is computed, a number.
fn opens_unseen(code: &str, reader: Reader) -> bool {
    let dense: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let has_escapes = code
        .match_indices('\\')
        .any(|(at, _)| code[at + 1..].starts_with(|c: char| c.is_ascii_digit() || matches!(c, 'x' | 'u' | 'U' | 'N')));
    let is_whole = |at: usize| !dense[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let mut calls = dense.match_indices("open(").filter(|(at, _)| is_whole(*at));
    match reader {
        Reader::Python => {
            dense.contains("os.open")
                || (dense.contains("fromos") && dense.contains("open"))
                || calls.any(|(at, call)| {
                    let inside = dense[at + call.len()..].split(')').next().unwrap_or_default();
                    // Of a path's own `open` the first argument is the mode.
                    let file = usize::from(!dense[..at].ends_with('.'));
                    let mut others = inside.split(',').skip(file).filter(|argument| !argument.is_empty());
                    has_escapes || others.any(|argument| !is_plain_argument(argument))
                })
        }
        // `open "f", 513`
        Reader::Ruby => code.match_indices("open").any(|(at, call)| {
            let line = code[at + call.len()..].split(['\n', ';']).next().unwrap_or_default();
            let mode = line.split(',').nth(1).map(str::trim_start);
            mode.is_some_and(|mode| !mode.starts_with(['"', '\'']))
        }),
        Reader::Node => calls.next().is_some(),
        _ => false,
    }
}

/// True if an argument is one literal text, or a number, by name or not.
fn is_plain_argument(argument: &str) -> bool {
    let value = ["mode=", "encoding=", "errors=", "newline=", "buffering="]
        .iter()
        .find_map(|name| argument.strip_prefix(name))
        .unwrap_or(argument);
    let text = ["'", "\""].iter().find_map(|quote| value.strip_prefix(quote)?.strip_suffix(quote));
    match text {
        Some(text) => !text.contains(['\'', '"', '+']),
        None => {
            matches!(value, "None" | "True" | "False")
                || (!value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()))
        }
    }
}

/// True if code calls something by a name that it puts together.
fn calls_computed_names(code: &str, reader: Reader) -> bool {
    let dense: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let is_address = |text: &str| text.contains(':') && !text.starts_with("node:");
    let is_path = |text: &String| {
        (text.starts_with(['.', '/']) || text.contains("/..") || is_address(text)) && !text.ends_with(".json")
    };
    let loads = ["require", "import", "load"].iter().any(|name| dense.contains(name));
    match reader {
        Reader::Node if dense.contains("import(") || (loads && literals(code).iter().any(is_path)) => true,
        // `open("|rm x")`
        Reader::Ruby => literals(code).iter().any(|text| text.starts_with('|') || (loads && is_path(text))),
        Reader::Python if imports_a_stranger(code) || changes_where_modules_are(&dense) => true,
        Reader::Php if maps_by_a_name(&dense) => true,
        // `$f('x')`
        Reader::Php => dense.match_indices('$').any(|(at, _)| {
            let rest = dense[at + 1..].trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
            rest.starts_with('(') || rest.starts_with("[") && rest.contains("](")
        }),
        // `Object.values(require('fs'))[6]`, `const {['unlink' + 'Sync']: f} = require('fs')`
        Reader::Node if loads && ["Object.", "Reflect", "]:"].iter().any(|mark| dense.contains(mark)) => true,
        // `fs['unlink' + 'Sync']`
        Reader::Node if ["require", "import", "process"].iter().any(|name| dense.contains(name)) => {
            dense.match_indices('[').any(|(at, _)| {
                let before = &dense[..at];
                let inside = dense[at + 1..].split(']').next().unwrap_or_default();
                let is_member = before.ends_with(|c: char| c.is_ascii_alphanumeric() || "_)].".contains(c));
                let is_data = ["env", "argv", "versions"].iter().any(|name| before.ends_with(name));
                is_member && !is_data && !inside.bytes().all(|byte| byte.is_ascii_digit())
            })
        }
        // `open('x', chr(119))`
        Reader::Python => dense.contains("open(") && dense.contains("chr("),
        _ => false,
    }
}

/// Returns whether Python code puts a folder among those that modules come from.
fn changes_where_modules_are(dense: &str) -> bool {
    dense.match_indices("sys.path").any(|(at, name)| {
        let rest = &dense[at + name.len()..];
        let is_list = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        is_list && [".insert", ".append", ".extend", "+=", "=", "["].iter().any(|change| rest.starts_with(change))
    }) || dense.contains("fromsysimport")
}

/// Returns whether PHP code calls functions on a list by a name that is not the text of a harmless one.
fn maps_by_a_name(dense: &str) -> bool {
    dense.match_indices("array_map(").any(|(at, call)| {
        let rest = &dense[at + call.len()..];
        let is_own = ["fn(", "function(", "staticfn(", "null"].iter().any(|own| rest.starts_with(own));
        let name = ["'", "\""].iter().find_map(|quote| rest.strip_prefix(quote)?.split_once(&format!("{quote},")));
        !is_own && !name.is_some_and(|(name, _)| LISTS[3].contains(name))
    })
}

/// Returns whether Python code puts a file over another by `replace`, which is harmless on a text.
fn replaces_files(code: &str) -> bool {
    let dense: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let is_on_paths = dense.contains("Path") || dense.contains("fromos") || code.contains("os as ");
    dense.contains("os.replace") || (is_on_paths && dense.contains("replace("))
}

/// `s/a/b/g` and nothing else.
fn is_perl_editing(code: &str) -> bool {
    code.split(';').map(str::trim).filter(|part| !part.is_empty()).all(|part| {
        let rest = ["s/", "s|", "s#", "s{}", "tr/", "y/"].iter().find_map(|start| part.strip_prefix(start));
        let delimiter = part.trim_start_matches(['s', 't', 'r', 'y']).chars().next().unwrap_or('/');
        let flags = rest.and_then(|rest| section(rest, delimiter)).and_then(|rest| section(rest, delimiter));
        flags.is_some_and(|flags| flags.chars().all(|flag| "gimsxd".contains(flag)))
            && !part.contains("(?{")
            && !part.contains("(??{")
            && !part.contains("@{")
            && !part.contains("${")
    })
}

/// Returns whether a name deletes, writes, sends or runs something, in one of the languages.
pub(super) fn is_harmful(name: &str) -> bool {
    is_running(name) || LISTS[..3].iter().any(|list| list.contains(name))
}

fn is_running(name: &str) -> bool {
    matches!(
        name,
        "system"
            | "exec"
            | "eval"
            | "popen"
            | "spawn"
            | "subprocess"
            | "child_process"
            | "import"
            | "compile"
            | "passthru"
            | "shell_exec"
            | "proc_open"
    )
}

/// The strings of code in any language, as far as quotes tell.
pub(super) fn literals(code: &str) -> Vec<String> {
    let mut literals = Vec::new();
    let mut chars = code.chars();
    while let Some(c) = chars.next() {
        if !matches!(c, '"' | '\'' | '`') {
            continue;
        }
        let mut text = String::new();
        loop {
            match chars.next() {
                None => return literals,
                Some('\\') => text.extend(chars.next()),
                Some(end) if end == c => break,
                Some(other) => text.push(other),
            }
        }
        literals.push(text);
    }
    literals
}
