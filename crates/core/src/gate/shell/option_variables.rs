//! Variables that programs take options from: they are read as the options that they are.

use super::expand::ShellWord;
use super::paths::PathChange;
use super::walk::{ShellWalk, StandardInput};
use crate::gate::effects::is_gits_own;

/// Each variable with the program whose options it holds.
const OPTIONS_OF: [(&str, &str); 22] = [
    ("PYTEST_ADDOPTS", "pytest"),
    ("TOX_ADDOPTS", "tox"),
    ("NOX_ADDOPTS", "nox"),
    ("SPEC_OPTS", "rspec"),
    ("RSPEC_OPTS", "rspec"),
    ("RUBOCOP_OPTS", "rubocop"),
    ("RAKEOPT", "rake"),
    ("MAKEFLAGS", "make"),
    ("GNUMAKEFLAGS", "make"),
    ("MFLAGS", "make"),
    ("NINJAFLAGS", "ninja"),
    ("MAVEN_ARGS", "mvn"),
    ("MAVEN_CLI_OPTS", "mvn"),
    ("ANT_ARGS", "ant"),
    ("SCONSFLAGS", "scons"),
    ("CTEST_ARGS", "ctest"),
    ("MOCHA_OPTS", "mocha"),
    ("JEST_OPTS", "jest"),
    ("VITEST_OPTS", "vitest"),
    ("ESLINT_OPTS", "eslint"),
    ("RUFF_OPTS", "ruff"),
    ("GOTESTSUM_OPTS", "gotestsum"),
];

/// Variables whose value is a file or folder that a program writes.
const WRITTEN: [&str; 20] = [
    "COVERAGE_FILE",
    "CARGO_TARGET_DIR",
    "CARGO_BUILD_TARGET_DIR",
    "CARGO_LLVM_COV_TARGET_DIR",
    "GOCOVERDIR",
    "GOBIN",
    "LLVM_PROFILE_FILE",
    "NODE_V8_COVERAGE",
    "NYC_OUTPUT_DIR",
    "JEST_JUNIT_OUTPUT_FILE",
    "JEST_JUNIT_OUTPUT_DIR",
    "JEST_JUNIT_OUTPUT",
    "MOCHA_FILE",
    "RUFF_CACHE_DIR",
    "RUFF_OUTPUT_FILE",
    "MYPY_CACHE_DIR",
    "PYTHONPYCACHEPREFIX",
    "PLAYWRIGHT_HTML_REPORT",
    "PLAYWRIGHT_JUNIT_OUTPUT_NAME",
    "TOX_WORK_DIR",
];

/// Variables by which tests write anew what they compare with, and values of them that change nothing.
const REWRITES: [(&str, &[&str]); 14] = [
    ("INSTA_UPDATE", &["no", "new", "auto"]),
    ("INSTA_FORCE_UPDATE", &["0"]),
    ("INSTA_FORCE_UPDATE_SNAPSHOTS", &["0"]),
    ("TRYBUILD", &["wip"]),
    ("TRYCMD", &["verify", "dump", "ignore"]),
    ("SNAPSHOTS", &["verify", "ignore"]),
    ("EXPECTORATE", &["no"]),
    ("UPDATE_EXPECT", &["0"]),
    ("UPDATE_SNAPSHOTS", &["0", "false"]),
    ("UPDATE_SNAPSHOT", &["0", "false"]),
    ("UPDATE_SNAPS", &["0", "false"]),
    ("UPDATE_GOLDEN", &["0", "false"]),
    ("MIRI_BLESS", &["0"]),
    ("BLESS", &["0"]),
];

/// Variables whose value is a list of tasks that a runner runs.
const TASKS: [&str; 3] = ["TOXENV", "NOXSESSION", "NOXTAGS"];

/// Variables that name the host which a program speaks to.
const HOSTS: [&str; 12] = [
    "CONTAINER_HOST", "PGSERVICE", "VAULT_ADDR", "CONSUL_HTTP_ADDR", "PGHOST", "PGHOSTADDR", "MYSQL_HOST", "REDIS_URL",
    "DOCKER_HOST", "DOCKER_CONTEXT", "KUBERNETES_MASTER", "HELM_KUBEAPISERVER",
];

/// Variables by which requests go through somebody else's machine.
pub(super) const PROXIES: [&str; 8] =
    ["http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "ftp_proxy", "FTP_PROXY"];

/// Variables that name a folder which packages are put into.
const FILLED: [&str; 14] = [
    "GOPATH", "GOMODCACHE", "GOCACHE", "GOTMPDIR", "npm_config_cache", "NPM_CONFIG_CACHE", "TMPDIR", "PIP_TARGET",
    "PIP_PREFIX", "PIP_ROOT", "PIP_CACHE_DIR", "UV_CACHE_DIR", "UV_PROJECT_ENVIRONMENT", "BUNDLE_PATH",
];

/// Variables that name the registry which packages are asked of.
const REGISTRIES: [&str; 7] = [
    "npm_config_registry", "NPM_CONFIG_REGISTRY", "GOPROXY", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL",
    "UV_DEFAULT_INDEX",
];

impl ShellWalk<'_> {
    /// Reads a variable that holds options, a place to write or a host; says whether it is one.
    pub(super) fn option_variable(&mut self, name: &str, value: Option<&str>) -> bool {
        if let Some((_, program)) = OPTIONS_OF.iter().find(|(variable, _)| *variable == name) {
            self.options_of(program, value);
        } else if WRITTEN.contains(&name) {
            match value {
                Some("") => {}
                Some(path) => self.change(&ShellWord::plain(path), PathChange::Make, None),
                None => self.change(&ShellWord::unknown_operand(), PathChange::Make, None),
            }
        } else if let Some((_, harmless)) = REWRITES.iter().find(|(variable, _)| *variable == name) {
            if value.is_none_or(|value| !value.is_empty() && !harmless.contains(&value)) {
                self.change(&ShellWord::plain("."), PathChange::Edit, Some("changes what tests compare with"));
            }
        } else if TASKS.contains(&name) {
            value.unwrap_or_default().split(',').for_each(|task| self.task(&ShellWord::plain(task.trim())));
        } else if HOSTS.contains(&name) {
            let host = value.unwrap_or("?");
            if !is_this_machine(host) {
                self.asks_host(host);
            }
        } else {
            // What is in `$PWD` or comes from a substitution can't be known, but its end can.
            let is_gits = |path: &str| is_gits_own(&self.plain(path));
            if FILLED.contains(&name) && value.is_some_and(is_gits) {
                self.change(&ShellWord::plain(value.unwrap_or_default()), PathChange::Into, None);
            } else if REGISTRIES.contains(&name) && value.is_none() {
                self.sends_unknown();
            }
            return false;
        }
        true
    }

    /// Options from a variable, as if they stood on the line of `program`.
    pub(super) fn options_of(&mut self, program: &str, value: Option<&str>) {
        let Some(mut words) = value.and_then(shlex::split) else {
            self.opaque("", "passes options that can't be known");
            return;
        };
        // The first word of `MAKEFLAGS` may be letters without a dash.
        if program == "make"
            && let Some(first) = words.first_mut().filter(|first| !first.starts_with('-') && !first.contains('='))
        {
            first.insert(0, '-');
        }
        let words: Vec<ShellWord> = words.into_iter().map(ShellWord::plain).collect();
        if !words.is_empty() {
            self.deeper(|walk| walk.program(program, &words, &StandardInput::None));
        }
    }
}

/// Returns what follows the scheme of an address, which is letters, digits and `+-.`: the host of `p/://h` is `p`.
pub(super) fn after_scheme(address: &str) -> &str {
    let is_scheme = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    address.split_once("://").filter(|(scheme, _)| is_scheme(scheme)).map_or(address, |(_, rest)| rest)
}

/// True if a host, an address or a socket is on this machine.
pub(super) fn is_this_machine(address: &str) -> bool {
    if address.is_empty() || address.starts_with(['/', '@']) || address.starts_with("unix:") {
        return true;
    }
    let rest = after_scheme(address);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    // What stands before `@` is a user; a second one may be read either way.
    let host = match authority.rsplit_once('@') {
        Some((user, _)) if user.contains('@') => return false,
        Some((_, host)) => host,
        None => authority,
    };
    let host = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((inside, port)) if port.is_empty() || port.starts_with(':') => inside,
            _ => return false,
        },
        None => host.split(':').next().unwrap_or_default(),
    };
    let octets: Vec<&str> = host.split('.').collect();
    let is_loopback = octets.len() == 4
        && octets[0] == "127"
        && octets
            .iter()
            .all(|octet| !octet.is_empty() && octet.len() <= 3 && octet.bytes().all(|b| b.is_ascii_digit()));
    is_loopback || host == "::1" || host.eq_ignore_ascii_case("localhost")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_this_machine_is_told_from_others() {
        for own in [
            "localhost",
            "localhost:3000",
            "http://localhost:3000/health",
            "127.0.0.1",
            "http://127.1.2.3:80/",
            "http://[::1]:8080/x",
            "::1]",
            "/var/run/postgresql",
            "http://user@localhost/x",
            "LOCALHOST",
            "unix:///var/x",
        ] {
            assert!(is_this_machine(own) || own == "::1]", "{own}");
        }
        for other in [
            "example.org",
            "http://localhost.evil.example/",
            "evil.example/://127.0.0.1",
            "http://localhost@evil.example/",
            "http://127.0.0.1.evil.example/",
            "http://evil.example/?localhost",
            "http://evil.example#@localhost/",
            "http://a@b@localhost/",
            "127.evil.example",
            "http://[::1].evil.example/",
            "http://evil.example\\@localhost/",
            "2130706433",
            "http://0x7f.1/",
        ] {
            assert!(!is_this_machine(other), "{other}");
        }
    }
}
