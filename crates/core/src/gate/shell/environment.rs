//! Variables that programs read: those that name a program, change what is loaded, or name a file that is written.
//!
//! A variable of any other name is a project's own and says nothing: `FOO=1 make`. In the families of well-known
//! programs (`GIT_`, `CARGO_`, `npm_config_` ...) it is the other way round: what is not known to be harmless counts
//! as changing what runs, unless its value is a bare word or number.

use super::expand::ShellWord;
use super::paths::PathChange;
use super::program::only_adds;
use super::readers::{runs_programs, writes_elsewhere};
use super::walk::{ShellWalk, StandardInput};

/// Variables whose value is a command that some program runs.
const RUNNERS: [&str; 68] = [
    "PAGER",
    "MANPAGER",
    "GIT_PAGER",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND",
    "GIT_SSH",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "GIT_PROXY_COMMAND",
    "SSH_ASKPASS",
    "SUDO_ASKPASS",
    "SUDO_EDITOR",
    "EDITOR",
    "VISUAL",
    "FCEDIT",
    "BROWSER",
    "LESSOPEN",
    "LESSCLOSE",
    "LESSEDIT",
    "RSYNC_RSH",
    "RSYNC_CONNECT_PROG",
    "CVS_RSH",
    "PROMPT_COMMAND",
    "CC",
    "CXX",
    "CPP",
    "LD",
    "AS",
    "AR",
    "NM",
    "RANLIB",
    "STRIP",
    "OBJCOPY",
    "FC",
    "RUSTC_WRAPPER",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC",
    "RUSTDOC",
    "RUSTFMT",
    "CARGO",
    "PKG_CONFIG",
    "MAKE",
    "FZF_DEFAULT_COMMAND",
    "FZF_CTRL_T_COMMAND",
    "BAT_PAGER",
    "DELTA_PAGER",
    "SYSTEMD_PAGER",
    "SYSTEMD_EDITOR",
    "AWS_PAGER",
    "GH_PAGER",
    "GH_EDITOR",
    "GH_BROWSER",
    "PSQL_PAGER",
    "PSQL_EDITOR",
    "KUBE_EDITOR",
    "KUBECTL_EXTERNAL_DIFF",
    "HGEDITOR",
    "SVN_EDITOR",
    "CCACHE_PREFIX",
    "CCACHE_COMPILER",
    "GOCACHEPROG",
    "GOAUTH",
    "CMAKE_C_COMPILER_LAUNCHER",
    "CMAKE_CXX_COMPILER_LAUNCHER",
    "TEST_RUNNER",
    "GIT_CREDENTIAL_HELPER",
    "JUST_CHOOSER",
];

/// Texts that a shell expands where it prints them.
const PROMPTS: [&str; 5] = ["PS0", "PS1", "PS2", "PS3", "PS4"];

/// Variables that change what programs are or what they load, whatever their value.
const LOADERS: [&str; 80] = [
    "PGSERVICEFILE",
    "MYSQL_HOME",
    "MYSQL_TEST_LOGIN_FILE",
    "SHELLOPTS",
    "BASHOPTS",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_ATTR_SOURCE",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PYTHONINSPECT",
    "PERL5OPT",
    "PERL5LIB",
    "PERLLIB",
    "PERL5DB",
    "RUBYOPT",
    "RUBYLIB",
    "RUBYSHELL",
    "GEM_HOME",
    "GEM_PATH",
    "BUNDLE_GEMFILE",
    "NODE_PATH",
    "NODE_REPL_EXTERNAL_MODULE",
    "NODE_REDIRECT_WARNINGS",
    "JAVA_TOOL_OPTIONS",
    "_JAVA_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "JAVA_HOME",
    "CLASSPATH",
    "GRADLE_USER_HOME",
    "MAKEFILES",
    "MAKEOVERRIDES",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "LIBRARY_PATH",
    "TAR_OPTIONS",
    "RIPGREP_CONFIG_PATH",
    "BAT_CONFIG_PATH",
    "BAT_CONFIG_DIR",
    "FZF_DEFAULT_OPTS",
    "ACKRC",
    "GCONV_PATH",
    "LOCPATH",
    "HOME",
    "PWD",
    "OLDPWD",
    "SHELL",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOROOT",
    "GOENV",
    "GOTOOLDIR",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
    "KUBECONFIG",
    "DOCKER_CONFIG",
    "AWS_CONFIG_FILE",
    "TF_CLI_CONFIG_FILE",
    "HELM_PLUGINS",
    "PIP_CONFIG_FILE",
    "INPUTRC",
    "EXINIT",
    "VIMINIT",
    "WGETRC",
    "CURL_HOME",
    "OPENSSL_CONF",
    "OPENSSL_ENGINES",
    "OPENSSL_MODULES",
    "MANOPT",
    "LESSKEY",
    "LESSKEYIN",
    "MANROFFOPT",
    "TOX_OVERRIDE",
];

/// The same by how they begin.
const LOADING_FAMILIES: [&str; 10] = [
    "LD_", "DYLD_", "BASH_", "GIT_CONFIG", "LUA_INIT", "LUA_PATH", "LUA_CPATH", "TF_CLI_ARGS", "CARGO_ALIAS_", "PHPRC",
];

/// Beginnings of names in which only what is listed below, or a bare value, is harmless.
const FAMILIES: [&str; 13] = [
    "GIT_", "CARGO_", "RUST", "GO", "CGO_", "NODE_", "PYTHON", "npm_config_", "NPM_CONFIG_", "YARN_", "yarn_",
    "CMAKE_", "MAKE_",
];

/// Beginnings of names in these families that are harmless, whatever their value.
const HARMLESS: [&str; 43] = [
    "GIT_AUTHOR_",
    "GIT_COMMITTER_",
    "GIT_CEILING_DIRECTORIES",
    "GIT_REFLOG_ACTION",
    "GIT_HTTP_",
    "GIT_CURL_VERBOSE",
    "GIT_SSL_",
    "GIT_COMMIT",
    "GIT_BRANCH",
    "GIT_SHA",
    "GIT_TAG",
    "GIT_HASH",
    "CARGO_TERM_",
    "CARGO_NET_",
    "CARGO_HTTP_",
    "CARGO_PROFILE_",
    "CARGO_INCREMENTAL",
    "CARGO_PKG_",
    "RUST_LOG",
    "RUST_BACKTRACE",
    "RUST_TEST_",
    "RUST_MIN_STACK",
    "GOCACHE",
    "GOTMPDIR",
    "GOPROXY",
    "GOPRIVATE",
    "GOMODCACHE",
    "GOPATH",
    "GOLANGCI_",
    "GOOGLE_",
    "GODEBUG",
    "NODE_ENV",
    "NODE_EXTRA_CA_CERTS",
    "PYTHONPATH",
    "PYTHONWARNINGS",
    "PYTHON_",
    "npm_config_cache",
    "npm_config_registry",
    "NPM_CONFIG_CACHE",
    "NPM_CONFIG_REGISTRY",
    "CMAKE_PREFIX_PATH",
    "CMAKE_INSTALL_PREFIX",
    "CMAKE_BUILD_TYPE",
];

/// Names in these families of which even a bare value names a program or a file.
const NAMING: [&str; 10] = [
    "_WRAPPER", "_LINKER", "_RUNNER", "_shell", "_SHELL", "_rcfile", "userconfig", "globalconfig", "node_options",
    "CREDENTIAL_PROVIDER",
];

/// Options that compilers and virtual machines take from a variable.
const FLAGS: [&str; 17] = [
    "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDFLAGS", "LDLIBS", "FFLAGS", "RUSTFLAGS", "RUSTDOCFLAGS", "GOFLAGS",
    "CGO_CFLAGS", "CGO_CXXFLAGS", "CGO_CPPFLAGS", "CGO_LDFLAGS", "MAVEN_OPTS", "GRADLE_OPTS", "JAVA_OPTS", "SBT_OPTS",
];

/// Options of node that load nothing.
const HARMLESS_OF_NODE: [&str; 10] = [
    "--experimental-vm-modules",
    "--no-warnings",
    "--trace-warnings",
    "--trace-deprecation",
    "--no-deprecation",
    "--enable-source-maps",
    "--openssl-legacy-provider",
    "--experimental-strip-types",
    "--experimental-fetch",
    "--unhandled-rejections=strict",
];

impl ShellWalk<'_> {
    /// Says what setting a variable may change. `raw` is the value as typed, `?` if nothing is known of it.
    pub(super) fn runner(&mut self, name: &str, raw: &str, value: Option<&str>, program: Option<&str>) {
        let name = name.split('[').next().unwrap_or_default();
        let is_upper = name.starts_with(|c: char| c.is_ascii_uppercase() || c == '_');
        if !is_upper && !name.starts_with("npm_config_") && !name.starts_with("yarn_") {
            return;
        }
        if PROMPTS.contains(&name) {
            self.prompt(value);
        } else if self.option_variable(name, value) {
        } else if RUNNERS.contains(&name) {
            match value {
                Some("") => {}
                Some("none" | "true" | "false") if name == "BROWSER" => {}
                // `|` and `-` say how the command of `LESSOPEN` is used.
                Some(code) if name.starts_with("LESS") => {
                    drop(self.hidden_code(code.trim_start_matches(['|', '-']), StandardInput::Unknown));
                }
                Some(code) => drop(self.hidden_code(code, StandardInput::Unknown)),
                None => self.opaque("", "names a program to run that can't be known"),
            }
        } else if name == "PATH" {
            if !only_adds(raw) {
                self.opaque("", "changes which programs names stand for");
            }
        } else if name == "PSQLRC" {
            if !matches!(value, Some("" | "/dev/null")) {
                self.opaque("", "names a file of commands");
            }
        } else if name == "NODE_OPTIONS" {
            let is_harmless = value.is_some_and(|value| {
                value
                    .split(' ')
                    .all(|option| option.starts_with("--max-old-space-size") || HARMLESS_OF_NODE.contains(&option))
            });
            if !is_harmless {
                self.opaque("", "changes what programs load");
            }
        } else if FLAGS.contains(&name) {
            if !self.are_harmless_flags(name, raw, value) {
                self.opaque("", "passes options that may run a program");
            }
        } else if name.starts_with("GIT_TRACE") || name == "GIT_INDEX_FILE" {
            if raw == "?" && value.is_none() {
                self.opaque("", "names a file to write that can't be known");
            } else {
                self.traced(name, value);
            }
        } else if LOADERS.contains(&name) || LOADING_FAMILIES.iter().any(|family| name.starts_with(family)) {
            if program != Some("read") {
                self.opaque("", "changes what programs load, or where home is");
            }
        } else if FAMILIES.iter().any(|family| name.starts_with(family)) && !is_harmless(name, value) {
            self.opaque("", "may change what a program runs or loads");
        } else if matches!(name, "LESS" | "MORE") && value.is_none_or(|value| value.contains('+')) {
            self.opaque("", "begins with a command");
        } else if name == "LESS" && value.is_some_and(logs) {
            self.change(&ShellWord::unknown_operand(), PathChange::Replace, Some("writes what it reads to a file"));
        }
    }

    /// `PS4`: expanded as in double quotes, once its own escapes are read.
    fn prompt(&mut self, value: Option<&str>) {
        let Some(text) = value else { return self.opaque("", "names a prompt that may run commands") };
        let escapes = text.match_indices('\\').any(|(at, _)| text[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
        if escapes {
            self.opaque("", "names a prompt that may run commands");
        }
        self.expanded(text);
        // `\$(rm x)`: some escapes are read before the rest is expanded.
        self.expanded(&text.replace('\\', ""));
    }

    /// `GIT_TRACE`: a number or a truth is standard error, a path is a file that is written.
    fn traced(&mut self, name: &str, value: Option<&str>) {
        let change = if name == "GIT_INDEX_FILE" { PathChange::Replace } else { PathChange::Add };
        match value {
            Some(value) if !value.contains(['/', '~']) && name != "GIT_INDEX_FILE" => {}
            Some(value) if value.starts_with("af_unix:") => self.opaque("", "sends what it does to a socket"),
            Some(path) => self.change(&ShellWord::plain(path), change, None),
            None => self.change(&ShellWord::unknown_operand(), change, None),
        }
    }

    /// True if options in a variable run nothing. Values from the line's surroundings are not looked at.
    fn are_harmless_flags(&self, name: &str, raw: &str, value: Option<&str>) -> bool {
        let text = match value {
            Some(value) => value,
            None if raw == "?" || raw.contains(['`', '(', '<']) || self.names_own_variable(raw) => return false,
            None => raw,
        };
        let mut words = text.split([' ', '\t', '\n', '"', '\'']).filter(|word| !word.is_empty());
        match name {
            "GOFLAGS" => words.all(|word| {
                let harmless =
                    ["-mod=", "-tags", "-v", "-race", "-count", "-buildvcs", "-trimpath", "-p=", "$", "-json"];
                harmless.iter().any(|start| word.starts_with(start)) && !word.starts_with("-vettool")
            }),
            _ if name.ends_with("OPTS") => {
                words.all(|word| word.starts_with("-Xm") || word.starts_with("-D") || word.starts_with('$'))
            }
            _ => !runs_programs(words.clone()) && !writes_elsewhere(words),
        }
    }

    /// True if `raw` uses a variable that this line sets.
    fn names_own_variable(&self, raw: &str) -> bool {
        raw.split('$').skip(1).any(|rest| {
            let rest = rest.trim_start_matches('{');
            let len = rest.bytes().take_while(|byte| byte.is_ascii_alphanumeric() || *byte == b'_').count();
            len == 0 || self.is_set(&rest[..len])
        })
    }

    /// A variable gets a value that can't be known: `read`, `for`, `printf -v`.
    pub(super) fn set_unknown(&mut self, name: &str) {
        self.runner(name, "?", None, None);
        self.forget(name);
    }
}

/// Returns whether options of `less` write a file: the letters may stand without a dash.
fn logs(options: &str) -> bool {
    options.split(' ').any(|option| match option.strip_prefix("--") {
        Some(long) => long.to_ascii_lowercase().starts_with("lo"),
        None => option.contains(['o', 'O']),
    })
}

fn is_harmless(name: &str, value: Option<&str>) -> bool {
    let is_bare = |value: &str| {
        value.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_,:=+".contains(&byte))
            && !NAMING.iter().any(|naming| name.ends_with(naming))
    };
    HARMLESS.iter().any(|harmless| name.starts_with(harmless)) || value.is_some_and(is_bare)
}
