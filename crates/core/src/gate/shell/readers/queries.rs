//! Databases, and programs that speak over the network: what they are told to do.

use super::ProgramCall;
use crate::gate::effect::{Act, UNKNOWN, Verdict};
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::option_variables::is_this_machine;
use crate::gate::shell::paths::PathChange;
use crate::gate::shell::program::{host, word_of};
use crate::gate::shell::walk::{ShellWalk, StandardInput};
use crate::words::category::{DATABASE_WRITE, EXTERNAL_MESSAGE, HTTP_FETCH};

impl ShellWalk<'_> {
    /// `psql`, `mysql`, `sqlite3`: the statements in options, operands and what they read.
    pub(super) fn sql(&mut self, call: ProgramCall<'_>) {
        let args = call.args;
        if !matches!(call.name, "sqlite3" | "duckdb") {
            self.database_host(call);
        }
        if args.any(&["-f", "--file", "-init"]) {
            self.opaque("", "runs statements from a file whose content is not known");
        }
        if call.name == "psql" && args.any(&["-l", "--list"]) {
            return;
        }
        let mut statements: Vec<ShellWord> =
            args.values(&["-c", "--command", "-e", "--execute", "-cmd", "--init-command"]).map(word_of).collect();
        if matches!(call.name, "sqlite3" | "duckdb") {
            statements.extend(args.operands.iter().skip(1).map(|word| (*word).clone()));
        }
        if statements.is_empty() {
            match call.input {
                StandardInput::Text(text) => statements.push(ShellWord::plain(text.clone())),
                StandardInput::None | StandardInput::Unknown if args.any(&["-f", "--file"]) => {}
                StandardInput::None | StandardInput::Unknown => self.opaque("", "runs statements that can't be known"),
            }
        }
        for statement in statements {
            if call.name == "duckdb" && statement.known().is_some_and(|text| text.contains("://")) {
                self.asks_host(UNKNOWN);
            }
            let verdict = statement.known().map(classify);
            match verdict {
                Some(Statement::Reads) => {}
                Some(Statement::Changes) => {
                    self.effect(Verdict::Ask, DATABASE_WRITE, Act::Other, None, "changes a database");
                }
                Some(Statement::Destroys) => {
                    self.effect(Verdict::Destructive, DATABASE_WRITE, Act::Other, None, "deletes from a database");
                }
                Some(Statement::Opaque) | None => self.opaque("", "runs statements that can't be read"),
            }
        }
    }

    /// `mongosh --eval`: what deletes is told apart, nothing else is read.
    pub(super) fn mongo(&mut self, call: ProgramCall<'_>) {
        let of_option = call.args.values(&["--host", "-host", "-a", "--address", "-address"]).map(word_of);
        let of_address = call.words.iter().filter(|word| word.text().contains("://")).cloned();
        for host in of_option.chain(of_address).collect::<Vec<_>>() {
            self.asks(&host);
        }
        let deletes = |text: &str| {
            let text = text.to_ascii_lowercase();
            ["drop", "delete", "remove", "truncate"].iter().any(|name| text.contains(name))
        };
        let fed = matches!(call.input, StandardInput::Text(text) if deletes(text));
        if fed || call.words.iter().any(|word| deletes(word.text())) {
            self.effect(Verdict::Destructive, DATABASE_WRITE, Act::Other, None, "deletes from a database");
        }
    }

    /// The host that a client of a database is told of: `-h db`, `postgres://db/x`, `host=db`.
    fn database_host(&mut self, call: ProgramCall<'_>) {
        let args = call.args;
        let options: &[&str] = match call.name {
            "sqlcmd" => &["-S"],
            "cockroach" => &["--url", "--host"],
            _ => &["-h", "--host", "-d", "--dbname", "--url", "-u", "--uri"],
        };
        let named = args.options.iter().filter(|(option, _)| options.contains(&option.as_str()));
        let mut hosts: Vec<ShellWord> = Vec::new();
        for (option, value) in named {
            let Some(value) = value else { continue };
            let word = word_of(*value);
            let is_host = matches!(option.as_str(), "-h" | "--host" | "-S" | "--url" | "--uri");
            if is_host || word.text().contains("://") || word.text().contains("host=") {
                hosts.push(word);
            }
        }
        let of_connection =
            |word: &&&ShellWord| ["://", "host=", "service="].iter().any(|mark| word.text().contains(mark));
        hosts.extend(args.operands.iter().filter(of_connection).map(|word| (*word).clone()));
        for word in hosts {
            self.asks(&word);
        }
    }

    /// The host in a word that names a connection.
    fn asks(&mut self, word: &ShellWord) {
        let Some(text) = word.known() else {
            self.sends_unknown();
            return;
        };
        let of_setting = text.split_whitespace().find_map(|part| part.split_once("host=").map(|(_, host)| host));
        let address = of_setting.unwrap_or(text);
        let in_query = text.split_once('?').and_then(|(_, query)| {
            query.split('&').find_map(|part| part.strip_prefix("host=").or(part.strip_prefix("hostaddr=")))
        });
        for address in [Some(address), in_query].into_iter().flatten() {
            if !is_this_machine(address) {
                self.asks_host(&host(&ShellWord::plain(address)).unwrap_or_else(|| UNKNOWN.to_owned()));
            }
        }
    }

    /// The host of an address, unless it is this machine.
    pub(super) fn asks_address(&mut self, address: &str) {
        if !is_this_machine(address) && !address.starts_with("file://") {
            self.asks_host(&host(&ShellWord::plain(address)).unwrap_or_else(|| UNKNOWN.to_owned()));
        }
    }

    /// Something is asked of a host, which needs the network.
    pub(in crate::gate::shell) fn asks_host(&mut self, host: &str) {
        let act = Act::Contact { host: host.to_owned() };
        self.effect(Verdict::Safe, HTTP_FETCH, act, None, "asks another machine");
    }

    /// `redis-cli`.
    pub(super) fn redis(&mut self, call: ProgramCall<'_>) {
        for host in call.args.values(&["-h", "-u"]).map(word_of) {
            self.asks(&host);
        }
        if ["--scan", "--bigkeys", "--memkeys", "--stat", "--latency", "--hotkeys"]
            .iter()
            .any(|asks| call.args.options.iter().any(|(option, _)| option == asks))
        {
            return;
        }
        let Some(word) = call.args.operands.first() else {
            self.opaque("", "runs commands that can't be known");
            return;
        };
        let destroys = [
            "flushall", "flushdb", "del", "unlink", "shutdown", "hdel", "lpop", "rpop", "spop", "ltrim", "srem",
            "zrem", "xdel", "xtrim", "getdel", "dropdatabase",
        ];
        let reads = [
            "get", "mget", "keys", "scan", "ttl", "pttl", "type", "exists", "info", "ping", "dbsize", "hget",
            "hgetall", "hkeys", "hvals", "hlen", "llen", "lrange", "lindex", "smembers", "scard", "sismember",
            "zrange", "zcard", "zscore", "strlen", "memory", "object", "time", "lastsave", "echo", "getrange",
            "randomkey", "hexists",
        ];
        match word.known().map(str::to_ascii_lowercase) {
            Some(name) if destroys.contains(&name.as_str()) => {
                self.effect(Verdict::Destructive, DATABASE_WRITE, Act::Other, None, "deletes from a database");
            }
            Some(name) if reads.contains(&name.as_str()) => {}
            Some(name) if matches!(name.as_str(), "eval" | "evalsha" | "fcall" | "script" | "module" | "config") => {
                self.opaque("", "runs code in a database");
            }
            Some(_) => self.effect(Verdict::Ask, DATABASE_WRITE, Act::Other, None, "changes a database"),
            None => self.opaque("", "runs commands that can't be known"),
        }
    }

    /// `dig`, `ping`: a name that is looked up reaches the server that answers for it, with all that was put into it.
    pub(super) fn lookup(&mut self, call: ProgramCall<'_>) {
        let is_about_hosts = call.name != "getent"
            || call.words.first().is_none_or(|word| word.known().is_none_or(|name| name.contains("host")));
        let is_fed = call.args.operands.is_empty() && matches!(call.input, StandardInput::Unknown);
        let from_file = call.name == "dig" && call.args.any(&["-f"]);
        let is_computed = call.words.iter().any(|word| word.known().is_none());
        if is_about_hosts && (is_computed || is_fed || from_file) {
            let act = Act::Contact { host: UNKNOWN.to_owned() };
            self.effect(Verdict::External, EXTERNAL_MESSAGE, act, None, "sends what it looks up to others");
            return;
        }
        let mut names = call.args.operands.iter().rev().filter_map(|word| word.known());
        let is_name =
            |name: &&str| name.contains(['.', ':']) && !name.starts_with(['+', '@']) && !is_this_machine(name);
        if call.name != "getent"
            && let Some(name) = names.find(is_name)
        {
            self.asks_host(name);
        }
    }

    /// `rsync`.
    pub(super) fn rsync(&mut self, call: ProgramCall<'_>) {
        let args = call.args;
        for shell in args.values(&["-e", "--rsh"]) {
            self.code_of(shell);
        }
        if args.any(&["--rsync-path"]) {
            self.opaque("", "names a program that runs on the other side");
        }
        if args.any(&["--daemon"]) {
            self.serves_others();
        }
        if args.only_tries(&["-n", "--dry-run"]) {
            return;
        }
        let Some((last, sources)) = args.operands.split_last() else { return };
        let is_remote = |word: &ShellWord| word.text().split('/').next().is_some_and(|first| first.contains(':'));
        if is_remote(last) {
            let host = host(last).unwrap_or_else(|| UNKNOWN.to_owned());
            let reason = "copies files away";
            self.effect(Verdict::External, EXTERNAL_MESSAGE, Act::Contact { host }, None, reason);
        } else if !sources.is_empty() || last.is_pattern() {
            self.change(last, PathChange::Replace, None);
        }
        for source in sources.iter().filter(|word| is_remote(word)) {
            let host = host(source).unwrap_or_else(|| UNKNOWN.to_owned());
            self.effect(Verdict::Ask, HTTP_FETCH, Act::Contact { host }, None, "fetches from the network");
        }
        let deletes = args.options.iter().any(|(name, _)| name.starts_with("--del"));
        if deletes && is_remote(last) {
            let host = host(last).unwrap_or_else(|| UNKNOWN.to_owned());
            let act = Act::Contact { host };
            self.effect(Verdict::Destructive, EXTERNAL_MESSAGE, act, None, "deletes files on another machine");
        } else if deletes {
            self.change(last, PathChange::DeleteAll, Some("deletes what is not in the source"));
        }
        if args.any(&["--remove-source-files"]) {
            for source in sources {
                self.change(source, PathChange::DeleteAll, None);
            }
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Statement {
    Reads,
    Changes,
    Opaque,
    Destroys,
}

/// Returns the strictest kind among the statements of `text`.
fn classify(text: &str) -> Statement {
    let Some(bare) = without_strings(text) else { return Statement::Opaque };
    if runs_by_backslash(&bare) {
        return Statement::Opaque;
    }
    let is_meta = bare.trim_start().starts_with(['.', '\\']);
    let parts = bare.split(|c| c == ';' || (is_meta && c == '\n'));
    parts.fold(Statement::Reads, |worst, part| {
        let words: Vec<String> = part
            .split(|c: char| !(c.is_ascii_alphanumeric() || "_\\.!".contains(c)))
            .filter(|word| !word.is_empty())
            .map(str::to_ascii_uppercase)
            .collect();
        words.first().map_or(worst, |first| worst.max(one(first, &words)))
    })
}

/// Returns whether a backslash command writes, reads or runs something: `\g |sh`, `\gexec`, `\T file`.
fn runs_by_backslash(bare: &str) -> bool {
    bare.split('\\').skip(1).any(|rest| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
        let given = rest[name.len()..].split('\n').next().unwrap_or_default();
        let is_given = given.chars().any(|c| !c.is_whitespace() && c != ';');
        match name {
            "gexec" | "gset" | "copy" | "e" | "edit" | "ef" | "ev" => true,
            "g" | "gx" | "o" | "out" | "w" | "write" | "i" | "ir" | "include" | "include_relative" | "s" | "T"
            | "tee" | "P" | "pager" => is_given,
            _ => name.starts_with("lo_"),
        }
    })
}

fn one(first: &str, words: &[String]) -> Statement {
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let runs = [
        "PROGRAM", "OUTFILE", "DUMPFILE", "LOAD_EXTENSION", "LO_EXPORT", "LO_IMPORT", "DBLINK", "DBLINK_EXEC",
        "SYS_EXEC", "SYS_EVAL", "XP_CMDSHELL", "WRITEFILE", "EDIT", "PG_READ_FILE", "PG_TERMINATE_BACKEND",
    ];
    let destroys = has("DROP") || has("TRUNCATE") || has("DELETE") || has("PURGE");
    let updates_all = has("UPDATE") && has("SET") && !has("WHERE");
    if runs.iter().any(|word| has(word)) || words.iter().any(|word| word.starts_with("\\!")) {
        return Statement::Opaque;
    }
    if destroys || updates_all {
        return Statement::Destroys;
    }
    let changes = [
        "INSERT", "UPDATE", "CREATE", "ALTER", "GRANT", "REVOKE", "MERGE", "REPLACE", "UPSERT", "COPY", "VACUUM",
        "REINDEX", "ANALYZE", "COMMENT", "LOAD", "RENAME", "INTO", "NEXTVAL", "SETVAL",
    ];
    if changes.contains(&first) || changes.iter().any(|word| has(word) && *word != "REPLACE" && *word != "ANALYZE") {
        return Statement::Changes;
    }
    let reads = [
        "SELECT", "SHOW", "EXPLAIN", "DESCRIBE", "DESC", "WITH", "VALUES", "TABLE", "PRAGMA", "USE", "SET", "BEGIN",
        "COMMIT", "ROLLBACK", "START", "SUMMARIZE", "HELP", "STATUS",
    ];
    let is_meta =
        [".TABLES", ".SCHEMA", ".DUMP", ".HEADERS", ".MODE", ".INDEXES", ".DATABASES", ".INDICES", ".FULLSCHEMA"]
            .contains(&first)
            || (first.starts_with('\\')
                && first[1..].starts_with(['D', 'L', 'C', 'T', 'X', 'Z', 'Q'])
                && !first.starts_with("\\COPY"));
    if reads.contains(&first) || is_meta { Statement::Reads } else { Statement::Opaque }
}

/// `text` without what lies in quotes and comments; nothing if it ends within.
fn without_strings(text: &str) -> Option<String> {
    let mut bare = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                loop {
                    let inner = chars.next()?;
                    // An escape means one thing to one database and another to the next.
                    if inner == '\\' {
                        return None;
                    }
                    if inner == c {
                        break;
                    }
                }
                bare.push_str(" x ");
            }
            '-' if chars.peek() == Some(&'-') => while chars.next_if(|c| *c != '\n').is_some() {},
            '/' if chars.peek() == Some(&'*') => {
                let mut before = ' ';
                chars.next();
                // `/*! .. */` runs in some databases.
                if chars.peek() == Some(&'!') {
                    return None;
                }
                loop {
                    let inner = chars.next()?;
                    if before == '*' && inner == '/' {
                        break;
                    }
                    before = inner;
                }
                bare.push(' ');
            }
            '$' => return None,
            c => bare.push(c),
        }
    }
    Some(bare)
}
