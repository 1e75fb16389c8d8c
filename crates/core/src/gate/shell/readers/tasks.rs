//! Runners of a project's tasks: `make`, `gradle`, `rake`, `npm run`. What a task does is the project's own; what its
//! name says it does to others counts.
//!
//! Every task on the line is looked at, wherever it stands: `make V=1 deploy`, `gradle build publish`.

use super::ProgramCall;
use crate::gate::effect::{Act, Verdict};
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::paths::PathChange;
use crate::gate::shell::walk::ShellWalk;
use crate::words::category::{DATABASE_WRITE, DEPLOY, FILESYSTEM_DELETE, OPAQUE_EXEC, PACKAGE_CHANGE};

/// The effect of a task, by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TaskEffect {
    /// Nothing but the project's own work.
    Own,
    Publishes,
    Cleans,
    Installs,
    Drops,
    ChangesDatabase,
}

/// Words of names that reach others.
const PUBLISHING: [&str; 6] = ["deploy", "publish", "release", "push", "upload", "unpublish"];

/// Words of names that take something away.
const DROPPING: [&str; 12] = [
    "drop", "reset", "purge", "destroy", "nuke", "wipe", "rollback", "truncate", "undeploy", "teardown", "replant",
    "flushdb",
];

/// Properties that name a file or folder to write.
const WRITTEN: [&str; 9] = [
    "maven.repo.local",
    "buildDir",
    "buildDirectory",
    "project.build.directory",
    "outputDirectory",
    "jacoco.destFile",
    "surefire.reportsDirectory",
    "failsafe.reportsDirectory",
    "outputFile",
];

impl ShellWalk<'_> {
    /// A runner with its tasks.
    pub(super) fn tasks(&mut self, call: ProgramCall<'_>) {
        self.commands_in_options(call);
        let shows: Vec<&str> = call.args.options.iter().map(|(option, _)| option.as_str()).collect();
        let shows: Vec<&str> = shows.into_iter().filter(|option| only_shows(call.name, option)).collect();
        if call.args.only_tries(&shows) {
            return;
        }
        for word in call.args.operands.iter().filter(|word| !is_number_of_jobs(call.words, word)) {
            self.task(word);
        }
    }

    /// One task that is run.
    pub(in crate::gate::shell) fn task(&mut self, word: &ShellWord) {
        let Some(name) = word.known() else {
            // `make VERSION="$V"` sets a variable, whatever its value.
            if !word.text().contains('=') {
                self.opaque("", "runs a task that can't be known");
            }
            return;
        };
        let name = name.trim_end_matches(',');
        let (verdict, category, reason) = match named(name) {
            TaskEffect::Own => return,
            TaskEffect::Publishes => (Verdict::External, DEPLOY, "publishes or deploys"),
            TaskEffect::Cleans => (Verdict::Ask, FILESYSTEM_DELETE, "deletes what was built"),
            TaskEffect::Installs => (Verdict::Ask, PACKAGE_CHANGE, "installs or removes what was built"),
            TaskEffect::Drops => (Verdict::Destructive, DATABASE_WRITE, "deletes a database or what others use"),
            TaskEffect::ChangesDatabase => (Verdict::Ask, DATABASE_WRITE, "changes a database"),
        };
        self.effect(verdict, category, Act::Other, None, reason);
    }

    /// `just -c command`, `rake -e code`, `mvn -Dexec.executable=x`.
    fn commands_in_options(&mut self, call: ProgramCall<'_>) {
        let is_jvm =
            matches!(call.name, "mvn" | "mvnw" | "mvnd" | "mvnw.cmd" | "gradle" | "gradlew" | "gradlew.bat" | "ant");
        if is_jvm {
            call.words.iter().for_each(|word| self.property(word));
        }
        if call.name == "just" {
            let is_command = |word: &ShellWord| matches!(word.text(), "-c" | "--command");
            if let Some(at) = call.words.iter().position(is_command) {
                self.inner(call.words.get(at + 1..).unwrap_or_default(), call.input);
            }
        }
    }

    /// A property that names a program, or code that is loaded.
    fn property(&mut self, word: &ShellWord) {
        let set = word.text().strip_prefix("-D").or_else(|| word.text().strip_prefix("-P"));
        let Some((name, value)) = set.and_then(|set| set.split_once('=')) else { return };
        if WRITTEN.contains(&name.strip_prefix("org.gradle.project.").unwrap_or(name)) {
            self.change(&word.after(word.text().len() - value.len()), PathChange::Make, None);
            return;
        }
        let loads = ["argLine", "jvm", "exec.args", "exec.mainClass", "maven.ext.class.path", "java.home", "jvmArgs"];
        if name == "exec.executable" {
            match word.known() {
                Some(_) => drop(self.hidden_code(value, super::StandardInput::Unknown)),
                None => self.opaque("", "runs a program that can't be known"),
            }
            self.opaque("", "names a program to run");
        } else if loads.contains(&name) && value != "-Xmx" {
            let is_memory =
                value.split_whitespace().all(|option| option.starts_with("-Xm") || option.starts_with("-ea"));
            if word.known().is_none() || !is_memory {
                self.effect(Verdict::Opaque, OPAQUE_EXEC, Act::Other, None, "names code that is loaded or run");
            }
        }
    }
}

/// `make -j $(nproc)`: a number that stands apart from its option.
fn is_number_of_jobs(words: &[ShellWord], operand: &ShellWord) -> bool {
    let is_it = |pair: &[ShellWord]| {
        std::ptr::eq(&pair[1], operand) && matches!(pair[0].known(), Some("-j" | "-l" | "--jobs" | "--parallel"))
    };
    operand.known().is_none() && words.windows(2).any(is_it)
}

/// True if the runner `name` with `option` only shows what it would do.
fn only_shows(name: &str, option: &str) -> bool {
    match option {
        "--dry-run" | "--dry" | "--just-print" | "--recon" => true,
        "-n" => matches!(
            name,
            "make" | "gmake" | "bmake" | "remake" | "ninja" | "samu" | "just" | "rake" | "task" | "go-task" | "scons"
        ),
        "-m" => matches!(name, "gradle" | "gradlew" | "gradlew.bat"),
        "-l" | "--list" | "--tasks" | "--summary" | "-T" | "-P" | "--show" | "-s" | "--evaluate" => match name {
            "just" => matches!(option, "-l" | "--list" | "--summary" | "-s" | "--show" | "--evaluate"),
            "task" | "go-task" => matches!(option, "-l" | "--list" | "--summary"),
            "rake" => matches!(option, "-T" | "--tasks" | "-P"),
            "invoke" | "inv" | "fab" => matches!(option, "-l" | "--list"),
            _ => false,
        },
        _ => false,
    }
}

/// Returns the effect of a task of this name.
fn named(name: &str) -> TaskEffect {
    // A variable, or a file that a rule makes.
    if name.contains('=') || is_file(name) {
        return TaskEffect::Own;
    }
    let parts: Vec<&str> = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()).collect();
    let of_database = of_database(name, &parts);
    if of_database == TaskEffect::Drops {
        return TaskEffect::Drops;
    }
    let mut found = of_database;
    for (index, part) in parts.iter().enumerate() {
        let begins = index == 0 && ["deploy", "publish", "release", "upload"].iter().any(|verb| part.starts_with(verb));
        let words = camel_words(part);
        let says = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
        // `assembleRelease` builds one, `releaseNotes` is taken for one.
        let is_release_kind =
            words.len() > 1 && words.last().is_some_and(|last| last == "release") && words[0] != "release";
        let only_builds = is_release_kind && !says(&["deploy", "publish", "push", "upload"]);
        let publishes = begins || (says(&PUBLISHING) && !only_builds);
        if says(&DROPPING) || (index == 0 && (part.starts_with("drop") || part.starts_with("destroy"))) {
            return TaskEffect::Drops;
        }
        if publishes {
            found = TaskEffect::Publishes;
        } else if found == TaskEffect::Own && cleans(&words) {
            found = TaskEffect::Cleans;
        } else if found == TaskEffect::Own && index == 0 && parts.len() == 1 && matches!(*part, "install" | "uninstall")
        {
            found = TaskEffect::Installs;
        }
    }
    found
}

fn cleans(words: &[String]) -> bool {
    words
        .first()
        .is_some_and(|word| matches!(word.as_str(), "clean" | "distclean" | "mrproper" | "clobber" | "realclean"))
}

/// Tasks of Rails, Laravel, Django and Ecto that work on a database.
fn of_database(name: &str, parts: &[&str]) -> TaskEffect {
    let is_about = parts.first().is_some_and(|first| matches!(*first, "db" | "migrate" | "migration" | "ecto"));
    let destroys = [
        "db:schema:load", "db:structure:load", "db:setup", "db:fixtures:load", "db:migrate:down", "db:migrate:redo",
        "migrate:fresh", "migrate:refresh", "ecto.load", "db:seed:replant", "reset_db",
    ];
    if destroys.iter().any(|task| name == *task || name.strip_suffix(task).is_some_and(|above| above.ends_with(':')))
        || parts.iter().skip(1).any(|part| matches!(*part, "fresh" | "truncate_all"))
    {
        return TaskEffect::Drops;
    }
    let looks = ["status", "version", "show", "dump", "abort_if_pending_migrations", "migrations"];
    let is_look = parts.last().is_some_and(|last| looks.contains(last)) || matches!(parts, ["db"]);
    if is_about && parts.len() > 1 && !is_look { TaskEffect::ChangesDatabase } else { TaskEffect::Own }
}

/// `src/deploy.o`: a name with an ending, in a folder.
fn is_file(name: &str) -> bool {
    let Some((_, base)) = name.rsplit_once('/') else { return false };
    base.rsplit_once('.').is_some_and(|(stem, ending)| {
        !stem.is_empty() && (1..=5).contains(&ending.len()) && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
    })
}

/// `publishToLocal` as `publish`, `to`, `local`.
fn camel_words(part: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut was_lower = false;
    for c in part.chars() {
        if words.is_empty() || (c.is_ascii_uppercase() && was_lower) {
            words.push(String::new());
        }
        if let Some(last) = words.last_mut() {
            last.push(c.to_ascii_lowercase());
        }
        was_lower = c.is_ascii_lowercase();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_what_a_task_does() {
        for (name, expected) in [
            ("deploy", TaskEffect::Publishes),
            ("deploy:prod", TaskEffect::Publishes),
            ("app:deploy", TaskEffect::Publishes),
            (":app:publish", TaskEffect::Publishes),
            ("prod-deploy", TaskEffect::Publishes),
            ("publishToMavenCentral", TaskEffect::Publishes),
            ("dockerPush", TaskEffect::Publishes),
            ("docker-push", TaskEffect::Publishes),
            ("release", TaskEffect::Publishes),
            ("build:release", TaskEffect::Publishes),
            ("hex.publish", TaskEffect::Publishes),
            (";clean;publish", TaskEffect::Publishes),
            ("uploadArchives", TaskEffect::Publishes),
            ("assembleRelease", TaskEffect::Own),
            ("bundleRelease", TaskEffect::Own),
            ("test", TaskEffect::Own),
            ("build", TaskEffect::Own),
            ("src/deploy.o", TaskEffect::Own),
            ("test/deploy_test.exs", TaskEffect::Own),
            ("V=deploy", TaskEffect::Own),
            ("clean", TaskEffect::Cleans),
            ("cleanTest", TaskEffect::Cleans),
            ("distclean", TaskEffect::Cleans),
            ("clean:cache", TaskEffect::Cleans),
            ("install", TaskEffect::Installs),
            ("db:drop", TaskEffect::Drops),
            ("db:schema:load", TaskEffect::Drops),
            ("db:seed:replant", TaskEffect::Drops),
            ("app:db:schema:load", TaskEffect::Drops),
            ("ecto.drop", TaskEffect::Drops),
            ("migrate:fresh", TaskEffect::Drops),
            ("db-reset", TaskEffect::Drops),
            ("nuke", TaskEffect::Drops),
            ("db:migrate", TaskEffect::ChangesDatabase),
            ("db:seed", TaskEffect::ChangesDatabase),
            ("ecto.migrate", TaskEffect::ChangesDatabase),
            ("db:migrate:status", TaskEffect::Own),
            ("db:version", TaskEffect::Own),
        ] {
            assert_eq!(named(name), expected, "{name}");
        }
    }
}
