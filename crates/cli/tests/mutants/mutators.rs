//! Ways to write a command line otherwise, so that it does the same.

/// Expected verdict on a harmless command that is written this way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twin {
    /// It must count as safe: what it does can be read.
    Passes,
    /// It may be stopped: what it does can't be read beforehand, whatever it is.
    MayStop,
}

type Write = dyn Fn(&str) -> Option<String> + Sync;

/// One way to write a command line otherwise.
pub struct Mutator {
    pub name: &'static str,
    pub twin: Twin,
    write: Box<Write>,
}

impl Mutator {
    /// The line written this way; none where this way needs a line of another form.
    pub fn apply(&self, line: &str) -> Option<String> {
        (self.write)(line)
    }
}

/// `text` as one word of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// `text` as a string of C, Python, Perl and JavaScript.
fn c_string(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// `text` as a string of Perl in which nothing is replaced.
fn perl_string(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("\\x{byte:02x}")).collect()
}

fn octal(text: &str) -> String {
    text.bytes().map(|byte| format!("\\{byte:03o}")).collect()
}

fn plain_hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn base64(text: &str) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for piece in text.as_bytes().chunks(3) {
        let bits = piece.iter().fold(0_u32, |bits, byte| (bits << 8) | u32::from(*byte)) << (8 * (3 - piece.len()));
        for place in 0..4 {
            let digit = DIGITS[(bits >> (18 - 6 * place)) as usize & 63] as char;
            encoded.push(if place <= piece.len() { digit } else { '=' });
        }
    }
    encoded
}

fn rot13(text: &str) -> String {
    let turn = |letter: u8, first: u8| char::from((letter - first + 13) % 26 + first);
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' => turn(byte, b'a'),
            b'A'..=b'Z' => turn(byte, b'A'),
            other => char::from(other),
        })
        .collect()
}

/// The program's name and the rest of the line, if the line begins with a plain name.
fn split_program(line: &str) -> Option<(&str, &str)> {
    let end = line.find(|c: char| !c.is_ascii_alphanumeric() && !"_-./".contains(c))?;
    let (program, rest) = line.split_at(end);
    (program.len() > 1 && rest.starts_with(' ')).then_some((program, rest))
}

/// The words of a line that has no quotes and no operators.
fn plain_words(line: &str) -> Option<Vec<&str>> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=+, ".contains(c);
    line.chars().all(plain).then(|| line.split(' ').collect())
}

/// Every mutator.
#[expect(clippy::too_many_lines, reason = "a table")]
pub fn all() -> Vec<Mutator> {
    use Twin::{MayStop, Passes};
    let mut all: Vec<Mutator> = Vec::new();
    let mut whole = |name, twin, write: fn(&str) -> String| {
        all.push(Mutator { name, twin, write: Box::new(move |line| Some(write(line))) });
    };
    // Space and operators around it.
    whole("leading space", Passes, |line| format!("  \t{line}"));
    whole("trailing space", Passes, |line| format!("{line}   "));
    whole("a comment first", Passes, |line| format!("# nothing to see\n{line}"));
    whole("after newlines", Passes, |line| format!("\n\n{line}\n"));
    whole("after true", Passes, |line| format!("true && {line}"));
    whole("after false", Passes, |line| format!("false || {line}"));
    whole("after a harmless command", Passes, |line| format!("echo start; {line}"));
    whole("before a harmless command", Passes, |line| format!("{line}\necho done"));
    whole("in the background", Passes, |line| format!("{{ {line}\n}} & wait"));
    whole("its success turned", Passes, |line| format!("! {line}"));
    whole("timed", Passes, |line| format!("time {{ {line}\n}}"));
    whole("into a pipe", Passes, |line| format!("{{ {line}\n}} | cat"));
    whole("from a pipe", Passes, |line| format!("true | {{ {line}\n}}"));
    whole("errors into nothing", Passes, |line| format!("{{ {line}\n}} 2>/dev/null"));
    // Groups and control flow.
    whole("subshell", Passes, |line| format!("({line}\n)"));
    whole("nested subshells", Passes, |line| format!("( ( ({line}\n) ) )"));
    whole("group", Passes, |line| format!("{{ {line}\n}}"));
    whole("if", Passes, |line| format!("if true; then {line}\nfi"));
    whole("condition of an if", Passes, |line| format!("if {line}\nthen :; fi"));
    whole("else", Passes, |line| format!("if false; then :; else {line}\nfi"));
    whole("for", Passes, |line| format!("for once in 1; do {line}\ndone"));
    whole("for, by arithmetic", Passes, |line| format!("for ((i=0; i<1; i++)); do {line}\ndone"));
    whole("while", Passes, |line| format!("while :; do {line}\nbreak; done"));
    whole("condition of a while", Passes, |line| format!("while {line}\nfalse; do :; done"));
    whole("until", Passes, |line| format!("until false; do {line}\nbreak; done"));
    whole("case", Passes, |line| format!("case x in x) {line}\n;; esac"));
    whole("function", Passes, |line| format!("f() {{ {line}\n}}; f"));
    whole("function with a keyword", Passes, |line| format!("function run-it {{ {line}\n}}\nrun-it"));
    whole("function of a function", Passes, |line| format!("g() {{ {line}\n}}; f() {{ g; }}; f"));
    whole("function called as echo", Passes, |line| format!("list() {{ {line}\n}}; true; list -la"));
    whole("coproc", Passes, |line| format!("coproc {{ {line}\n}}; wait"));
    whole("trap", Passes, |line| format!("trap {} EXIT; true", quoted(line)));
    // Substitutions.
    whole("substitution", Passes, |line| format!(": \"$({line}\n)\""));
    whole("substitution in echo", Passes, |line| format!("echo \"output: $({line}\n)\""));
    whole("substitution assigned", Passes, |line| format!("out=$({line}\n)"));
    whole("substitution in a test", Passes, |line| format!("[[ -n $({line}\n) ]] || true"));
    whole("substitution in an array", Passes, |line| format!("list=($({line}\n))"));
    whole("substitution in a default", Passes, |line| format!("echo \"${{unset_name:-$({line}\n)}}\""));
    whole("substitution in an assignment before", Passes, |line| format!("X=\"$({line}\n)\" true"));
    whole("substitution in a here-document", Passes, |line| format!("cat <<EOF\n$({line}\n)\nEOF"));
    whole("substitution in a here-string", Passes, |line| format!("cat <<< \"$({line}\n)\""));
    whole("substitution in a for", Passes, |line| format!("for word in $({line}\n); do :; done"));
    whole("substitution in a case", Passes, |line| format!("case $({line}\n) in *) ;; esac"));
    whole("process substitution", Passes, |line| format!("cat <({line}\n)"));
    whole("process substitution out", Passes, |line| format!("true > >({line}\n); wait; sleep 0.2"));
    // Shells and evaluation.
    whole("bash -c", Passes, |line| format!("bash -c {}", quoted(line)));
    whole("sh -c with options", Passes, |line| format!("bash -e -c {}", quoted(line)));
    whole("bash -ec", Passes, |line| format!("bash -ec {}", quoted(line)));
    whole("bash --norc -c", Passes, |line| format!("/bin/bash --norc -c {} name", quoted(line)));
    whole("two shells", Passes, |line| format!("bash -c {}", quoted(&format!("bash -c {}", quoted(line)))));
    whole("eval", Passes, |line| format!("eval {}", quoted(line)));
    whole("eval of eval", Passes, |line| format!("eval {}", quoted(&format!("eval {}", quoted(line)))));
    whole("builtin eval", Passes, |line| format!("builtin eval {}", quoted(line)));
    whole("command eval", Passes, |line| format!("command eval {}", quoted(line)));
    whole("exec", Passes, |line| format!("exec bash -c {}", quoted(line)));
    whole("variable evaluated", Passes, |line| format!("line={}; eval \"$line\"", quoted(line)));
    whole("variable in bash -c", Passes, |line| format!("line={}; bash -c \"$line\"", quoted(line)));
    whole("exported to a shell", Passes, |line| format!("export LINE={}; bash -c 'eval \"$LINE\"'", quoted(line)));
    whole("positional to a shell", Passes, |line| format!("bash -c 'eval \"$1\"' name {}", quoted(line)));
    whole("here-document to bash", Passes, |line| format!("bash <<'END_OF_IT'\n{line}\nEND_OF_IT"));
    whole("here-document to bash -s", Passes, |line| format!("bash -s <<-'END_OF_IT'\n{line}\nEND_OF_IT"));
    whole("here-string to bash", Passes, |line| format!("bash <<< {}", quoted(line)));
    whole("echo to bash", Passes, |line| format!("echo {} | bash", quoted(line)));
    whole("printf to bash", Passes, |line| format!("printf '%s\\n' {} | bash", quoted(line)));
    whole("echo through cat to bash", Passes, |line| format!("echo {} | cat | bash", quoted(line)));
    whole("cat to bash", Passes, |line| format!("cat <<'END_OF_IT' | bash\n{line}\nEND_OF_IT"));
    whole("source of a process", MayStop, |line| format!("source <(echo {})", quoted(line)));
    whole("source of standard input", MayStop, |line| format!(". /dev/stdin <<< {}", quoted(line)));
    whole("bash of a process", MayStop, |line| format!("bash <(echo {})", quoted(line)));
    whole("mapfile", MayStop, |line| format!("mapfile -t lines <<< {}; eval \"${{lines[*]}}\"", quoted(line)));
    whole("read and evaluated", MayStop, |line| format!("IFS= read -r line <<< {}; eval \"$line\"", quoted(line)));
    whole("written and run", MayStop, |line| format!("echo {} > run-me.sh; bash run-me.sh", quoted(line)));
    whole("alias", MayStop, |line| format!("shopt -s expand_aliases; alias it={}\nit", quoted(line)));
    // Wrapping programs.
    whole("env", Passes, |line| format!("env FOO=bar bash -c {}", quoted(line)));
    whole("env -i", Passes, |line| format!("env -u FOO PATH=\"$PATH\" bash -c {}", quoted(line)));
    whole("timeout", Passes, |line| format!("timeout -k 5 20 bash -c {}", quoted(line)));
    whole("nice", Passes, |line| format!("nice -n 5 bash -c {}", quoted(line)));
    whole("nohup", Passes, |line| format!("nohup bash -c {}", quoted(line)));
    whole("stdbuf", Passes, |line| format!("stdbuf -oL bash -c {}", quoted(line)));
    whole("setsid", Passes, |line| format!("setsid -w bash -c {}", quoted(line)));
    whole("command", Passes, |line| format!("command bash -c {}", quoted(line)));
    whole("many wrappers", Passes, |line| format!("A=1 nice -n 1 env B=2 timeout 20 bash -c {}", quoted(line)));
    whole("xargs", Passes, |line| format!("echo once | xargs -I{{}} bash -c {}", quoted(line)));
    whole("find -exec", Passes, |line| format!("find . -maxdepth 0 -exec bash -c {} \\;", quoted(line)));
    // Other languages.
    whole("python", MayStop, |line| {
        format!("python3 -c {}", quoted(&format!("import os; os.system({})", c_string(line))))
    });
    whole("perl", MayStop, |line| format!("perl -e {}", quoted(&format!("system({})", perl_string(line)))));
    whole("awk", MayStop, |line| format!("awk {}", quoted(&format!("BEGIN {{ system({}) }}", c_string(line)))));
    whole("sed", MayStop, |line| format!("echo | sed {}", quoted(&format!("1e {line}"))));
    whole("make", MayStop, |line| {
        format!("printf 'all:\\n\\t%s\\n' {} | make -s -f -", quoted(&line.replace('$', "$$")))
    });
    // Encodings.
    whole("base64", Passes, |line| format!("echo {} | base64 -d | bash", base64(line)));
    whole("base64 in a substitution", Passes, |line| format!("eval \"$(echo {} | base64 --decode)\"", base64(line)));
    whole("base64 as a here-string", Passes, |line| format!("bash -c \"$(base64 -d <<< {})\"", base64(line)));
    whole("hex", Passes, |line| format!("printf '{}' | bash", hex(line)));
    whole("hex by echo", Passes, |line| format!("echo -e '{}' | bash", hex(line)));
    whole("octal", Passes, |line| format!("printf '{}' | bash", octal(line)));
    whole("ANSI-C", Passes, |line| format!("eval $'{}'", hex(line)));
    whole("ANSI-C, octal", Passes, |line| format!("bash -c $'{}'", octal(line)));
    whole("plain hex", MayStop, |line| format!("echo {} | xxd -r -p | bash", plain_hex(line)));
    whole("reversed", MayStop, |line| format!("echo {} | rev | bash", quoted(&line.chars().rev().collect::<String>())));
    whole("rot13", MayStop, |line| format!("echo {} | tr 'A-Za-z' 'N-ZA-Mn-za-m' | bash", quoted(&rot13(line))));

    // The name of the program.
    let mut program = |name, twin, write: fn(&str) -> String| {
        let write = move |line: &str| split_program(line).map(|(program, rest)| format!("{}{rest}", write(program)));
        all.push(Mutator { name, twin, write: Box::new(write) });
    };
    program("name in single quotes", Passes, quoted);
    program("name in double quotes", Passes, |name| format!("\"{name}\""));
    program("name behind a backslash", Passes, |name| format!("\\{name}"));
    program("every letter escaped", Passes, |name| name.chars().map(|c| format!("\\{c}")).collect());
    program("empty quotes inside", Passes, |name| format!("{}\"\"{}", &name[..1], &name[1..]));
    program("half in quotes", Passes, |name| format!("'{}'{}", &name[..1], &name[1..]));
    program("name in ANSI-C", Passes, |name| format!("$'{}'", hex(name)));
    program("name over two lines", Passes, |name| format!("{}\\\n{}", &name[..1], &name[1..]));
    program("name of a variable", Passes, |name| format!("run={name}; $run"));
    program("name of two variables", Passes, |name| format!("a={} b={}; $a$b", &name[..1], &name[1..]));
    // The environment may have a variable of that name.
    program("name of a default", MayStop, |name| format!("${{unset_name:-{name}}}"));
    program("name from echo", Passes, |name| format!("$(echo {name})"));
    program("name from printf", Passes, |name| format!("$(printf %s {name})"));
    program("name from backticks", Passes, |name| format!("`echo {name}`"));
    program("nothing inside the name", MayStop, |name| format!("{}${{unset_name}}{}", &name[..1], &name[1..]));
    program("by command", Passes, |name| format!("command {name}"));
    program("by exec", Passes, |name| format!("exec {name}"));
    program("by env", Passes, |name| format!("env {name}"));
    program("by its path", MayStop, |name| format!("\"$(type -P {name})\""));

    // All words.
    let mut words = |name, twin, write: fn(&[&str]) -> String| {
        all.push(Mutator { name, twin, write: Box::new(move |line| plain_words(line).map(|words| write(&words))) });
    };
    words("brace expansion", Passes, |words| format!("{{{}}}", words.join(",")));
    words("positional words", Passes, |words| format!("set -- {}; \"$@\"", words.join(" ")));
    words("an array", Passes, |words| format!("list=({}); \"${{list[@]}}\"", words.join(" ")));
    words("split by a variable", Passes, |words| format!("line='{}'; $line", words.join(" ")));
    words("wide space", Passes, |words| words.join(" \t  "));
    words("space of a variable", MayStop, |words| words.join("${IFS}"));
    words("continued lines", Passes, |words| words.join(" \\\n  "));
    words("each in quotes", Passes, |words| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "));
    words("by xargs", Passes, |words| format!("echo {} | xargs {}", words[1..].join(" "), words[0]));
    words("by xargs alone", Passes, |words| format!("echo {} | xargs env", words.join(" ")));
    all
}
