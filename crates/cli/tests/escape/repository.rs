//! Attacks by the operator's own git: what a command leaves in a repository so that the next `git status` runs it.
//!
//! Each attack is made without a sandbox as well, where the operator's git must run it. After each that was held, git
//! works as before.

use std::fs;

use adjutant_host::sandbox::{Mode, Network};

use crate::world::{World, settings};

/// Setups of a world: by the operator, in the folder that the workdir is in.
const PLAIN: &str = "rm -rf work; git init -q work; cd work; echo 1 > f; git add f; git commit -qm one";
const EXTENDED: &str = "rm -rf work; git init -q work; cd work; echo 1 > f; git add f; git commit -qm one; git config extensions.worktreeConfig true";
const SUBMODULE: &str = "rm -rf work; git init -q lib; cd lib; echo 1 > g; git add g; git commit -qm lib; cd ..
    git init -q work; cd work; git -c protocol.file.allow=always submodule --quiet add ../lib sub; git commit -qm one";
const UNPOPULATED: &str = "rm -rf work; git init -q lib; cd lib; echo 1 > g; git add g; git commit -qm lib; cd ..
    git init -q work; cd work; git -c protocol.file.allow=always submodule --quiet add ../lib sub; git commit -qm one
    git submodule --quiet deinit -f sub; rm -rf .git/modules";
const OLD_SUBMODULE: &str = "rm -rf work; git init -q work; cd work; git init -q sub; cd sub; echo 1 > g; git add g
    git commit -qm lib; cd ..; git add sub 2>/dev/null; git commit -qm one";
const LINKED: &str = "rm -rf work; git init -q main; cd main; echo 1 > f; git add f; git commit -qm one
    git config extensions.worktreeConfig true; git worktree add -q ../work";
const BESIDE: &str = "rm -rf work; git init -q work; cd work; echo 1 > f; git add f; git commit -qm one
    git config extensions.worktreeConfig true; git worktree add -q ../beside";
const LINK: &str =
    "rm -rf work; git init -q work; cd work; echo 1 > f; git add f; git commit -qm one; mv .git g; ln -s g .git
    printf 'g\\n.git\\n' > g/info/exclude";

const SEPARATE: &str =
    "rm -rf work; git init -q --separate-git-dir kept work; cd work; echo 1 > f; git add f; git commit -qm one";
const AWAY: &str = "rm -rf work; git init -q work; cd work; echo 1 > f; git add f; git commit -qm one; mv .git ../kept; ln -s ../kept .git";

const SUBFOLDER: &str =
    "rm -rf work; git init -q mono; cd mono; mkdir sub; echo 1 > sub/f; echo 1 > g; git add .; git commit -qm one
    ln -s mono/sub ../work";
const IN_SUBMODULE: &str = "rm -rf work; git init -q lib; cd lib; echo 1 > f; git add f; git commit -qm one; cd ..; git init -q super; cd super
    git -c protocol.file.allow=always submodule --quiet add ../lib sub; git commit -qm two; ln -s super/sub ../work";
const NESTED: &str = "rm -rf work; git init -q work; cd work; echo 1 > f; echo vendor > .git/info/exclude; git add f; git commit -qm one
    git init -q vendor/sub; cd vendor/sub; echo 1 > f; git add f; git commit -qm one; git config core.hooksPath .git/hooks";
const NO_REPOSITORY: &str = "rm -rf work; git init -q kept; mkdir work";

/// A name, how the world is set up, what is run, and where the operator's git is run.
const ATTACKS: &[(&str, &str, &str, &str)] = &[
    (
        "commondir",
        PLAIN,
        "cp -r .git /tmp/e; chmod -R u+w /tmp/e; evil /tmp/e/config; mv /tmp/e .git/e; echo e > .git/commondir",
        "work",
    ),
    (
        "commondir, unwieldy",
        PLAIN,
        "cp -r .git e; chmod -R u+w e; evil e/config; mv e .git/e; echo e > c; ln -s ../c .git/commondir",
        "work",
    ),
    ("config.worktree", EXTENDED, "evil .git/config.worktree", "work"),
    ("config.worktree by a link", EXTENDED, "evil c; ln -s ../c .git/config.worktree", "work"),
    ("another repository by a HEAD that is none", PLAIN, "mv .git/HEAD .git/h; bare .", "work"),
    ("another repository by an empty HEAD", PLAIN, ": > .git/HEAD; bare .", "work"),
    ("another repository by no objects", PLAIN, "bare .; mv .git/objects .git/o", "work"),
    ("another repository by no refs", PLAIN, "bare .; mv .git/refs .git/r; touch .git/refs", "work"),
    (
        "a repository that .git leads to, moved",
        LINK,
        "mv .git h; cp -r g e; chmod -R u+w e; evil e/config; ln -s e .git",
        "work",
    ),
    ("the folder that .git leads to, swapped", LINK, "mv g h; cp -r h g; chmod -R u+w g; evil g/config", "work"),
    (
        "the file that names the repository",
        SEPARATE,
        "rm -f .git; git init -q ev; evil ev/.git/config; echo 'gitdir: ev/.git' > .git",
        "work",
    ),
    ("the link that leads to the repository", AWAY, "rm -f .git; git init -q .; evil .git/config", "work"),
    (
        "a repository in a folder that nobody can read",
        PLAIN,
        "git init -q new; cd new; echo 1 > g; git add g; git commit -qm x; evil .git/config; cd ..; git add new; chmod 0 new",
        "work",
    ),
    (
        "all in a folder that nobody can read",
        PLAIN,
        "cp -r .git e; chmod -R u+w e; evil e/config; mv e .git/e; echo e > .git/commondir; chmod 0 .git; chmod 0 .",
        "work",
    ),
    (
        "modules swapped",
        SUBMODULE,
        "mv .git/modules .git/m; cp -r .git/m .git/modules; chmod -R u+w .git/modules; evil .git/modules/sub/config",
        "work",
    ),
    (
        "a submodule's pointer",
        SUBMODULE,
        "cp -r .git/modules/sub ev; chmod -R u+w ev; evil ev/config; git config -f ev/config core.worktree ../sub; rm sub/.git; echo 'gitdir: ../ev' > sub/.git",
        "work",
    ),
    (
        "a submodule's folder swapped",
        SUBMODULE,
        "cp -r .git/modules/sub ev; chmod -R u+w ev; evil ev/config; git config -f ev/config core.worktree ../sub; mv sub s; mkdir sub; echo 'gitdir: ../ev' > sub/.git",
        "work",
    ),
    (
        "a submodule's commondir",
        SUBMODULE,
        "m=.git/modules/sub; cp -r $m ev; chmod -R u+w ev; evil ev/config; mv ev $m/ev; echo ev > $m/commondir",
        "work",
    ),
    (
        "a submodule that was not there",
        UNPOPULATED,
        "rm -rf sub; git init -q sub; evil sub/.git/config; cd sub; echo 1 > g; git add g; git commit -qm x",
        "work",
    ),
    (
        "a repository in the index",
        PLAIN,
        "git init -q new; cd new; echo 1 > g; git add g; git commit -qm x; evil .git/config; cd ..; git add new",
        "work",
    ),
    (
        "a repository in the index, deeper",
        PLAIN,
        "git init -q new; cd new; git init -q in; cd in; echo 1 > g; git add g; git commit -qm x; evil .git/config; cd ..; git add in; git commit -qm y; cd ..; git add new",
        "work",
    ),
    (
        "an old submodule's settings",
        OLD_SUBMODULE,
        "cp -r sub/.git e; chmod -R u+w e; evil e/config; rm -rf sub/.git; mv e sub/.git; evil sub/.git/config",
        "work",
    ),
    (
        "an old submodule's commondir",
        OLD_SUBMODULE,
        "cp -r sub/.git e; chmod -R u+w e; evil e/config; mv e sub/.git/e; echo e > sub/.git/commondir",
        "work",
    ),
    ("a worktree's config.worktree", LINKED, "evil $(git rev-parse --git-dir)/config.worktree", "work"),
    (
        "a worktree's commondir",
        LINKED,
        "d=$(git rev-parse --git-dir); cp -r $d/../.. e; chmod -R u+w e; evil e/config; mv e $d/e; rm -f $d/commondir; echo e > $d/commondir",
        "work",
    ),
    (
        "the commondir of a worktree's repository",
        LINKED,
        "d=$(git rev-parse --git-common-dir); cp -r $d e; chmod -R u+w e; evil e/config; mv e $d/e; echo e > $d/commondir",
        "main",
    ),
    (
        "all worktrees swapped",
        LINKED,
        "d=$(git rev-parse --git-common-dir); mv $d/worktrees $d/w; cp -r $d/w $d/worktrees; evil $d/worktrees/work/config.worktree",
        "work",
    ),
    ("the config.worktree of another worktree", BESIDE, "evil .git/worktrees/beside/config.worktree", "beside"),
    (
        "another worktree's folder by a link",
        BESIDE,
        "cp -r .git/worktrees/beside e; evil e/config.worktree; echo $PWD/.git > e/commondir; mv .git/worktrees/beside old; ln -s $PWD/e .git/worktrees/beside",
        "beside",
    ),
    ("settings of the repository above", SUBFOLDER, "evil ../.git/config", "work"),
    ("a hook of the repository above", SUBFOLDER, "hook ../.git/hooks/pre-commit", "work"),
    (
        "a commondir in the repository above",
        SUBFOLDER,
        "cp -r ../.git e; chmod -R u+w e; evil e/config; mv e ../.git/e; echo e > ../.git/commondir",
        "mono",
    ),
    ("a repository of its own in a subfolder", SUBFOLDER, "git init -q .; evil .git/config", "work"),
    ("settings of the submodule that the workdir is", IN_SUBMODULE, "evil $(git rev-parse --git-dir)/config", "work"),
    (
        "the pointer of the submodule that the workdir is",
        IN_SUBMODULE,
        "rm -f .git; git init -q e; evil e/.git/config; echo gitdir: e/.git > .git",
        "super",
    ),
    ("settings of a repository in another place", SEPARATE, "evil $(git rev-parse --git-dir)/config", "work"),
    ("a hook of a repository that a link leads to", AWAY, "hook .git/hooks/pre-commit", "work"),
    ("a hook in a nested repository", NESTED, "hook vendor/sub/.git/hooks/pre-commit", "work/vendor/sub"),
    ("settings of a nested repository", NESTED, "evil vendor/sub/.git/config", "work/vendor/sub"),
    (
        "hooks of a nested repository in another place",
        NESTED,
        "hook vendor/sub/own/pre-commit; git -C vendor/sub config core.hooksPath own",
        "work/vendor/sub",
    ),
    (
        "a commondir in a nested repository",
        NESTED,
        "cd vendor/sub; cp -r .git e; evil e/config; mv e .git/e; echo e > .git/commondir",
        "work/vendor/sub",
    ),
    (
        "a nested repository swapped",
        NESTED,
        "cd vendor/sub; mv .git ../old; cp -r ../old .git; evil .git/config",
        "work/vendor/sub",
    ),
    ("a repository that came", NESTED, "git init -q vendor/new; evil vendor/new/.git/config", "work/vendor/new"),
    (
        "a hook in a repository that came",
        PLAIN,
        "git init -q a/b/new; hook a/b/new/.git/hooks/pre-commit",
        "work/a/b/new",
    ),
    ("a repository without a tree that came", PLAIN, "mkdir vendor; cd vendor; bare", "work/vendor"),
    (
        "a link to a repository that came",
        PLAIN,
        "mkdir -p e/in vendor; cd e/in; bare; cd ../..; ln -s ../e/in vendor/.git",
        "work/vendor",
    ),
    (
        "a repository in a folder that nobody can read, not in the index",
        PLAIN,
        "git init -q new/sub; evil new/sub/.git/config; chmod 0 new",
        "work/new/sub",
    ),
    ("a repository where there was none", NO_REPOSITORY, "git init -q .; evil .git/config", "work"),
    ("a hook where there was none", NO_REPOSITORY, "git init -q .; hook .git/hooks/pre-commit", "work"),
];

/// Shell functions that the attacks are made with.
const WORDS: &str = r#"
git() { command git -c user.name=a -c user.email=a@b "$@"; }
evil() { printf '[core]\n\tfsmonitor = "touch %s/pwned; false"\n' $OUTSIDE >> $1; }
hook() { mkdir -p ${1%/*}; printf '#!/bin/sh\ntouch %s/pwned\n' $OUTSIDE > $1; chmod +x $1; }
bare() { cp .git/h HEAD 2>/dev/null || echo ref: refs/heads/x > HEAD; mkdir -p objects refs; printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n' > config; evil config; }
"#;

fn set_up(by: &str) -> World {
    let world = World::new();
    world.operator("", &format!("git config --global user.name a; git config --global user.email a@b; {by}"));
    world
}

fn is_run_by_git(world: &World, folder: &str) -> bool {
    world.operator("", "chmod u+rwx work work/.git work/new 2>/dev/null || true");
    world.operator(
        folder,
        "git status || true; git commit -q --allow-empty -m status || true; (cd sub 2>/dev/null && git status) || true",
    );
    fs::remove_file(world.at("outside/pwned")).is_ok()
}

#[test]
fn the_operators_git_runs_nothing_that_a_command_left() {
    let mut failed = Vec::new();
    for (name, by, line, folder) in ATTACKS {
        let world = set_up(by);
        let ended = world.run(settings(Mode::Best), Network::Off, &format!("{WORDS}{line}"));
        World::expect_whole(&ended);
        if is_run_by_git(&world, folder) {
            failed.push(format!("{name}: it was run\n{}{}", ended.stdout.text(), ended.stderr.text()));
        }
        let init = if *by == NO_REPOSITORY { "git init -q; " } else { "" };
        let log = world.operator(
            "work",
            &format!(
                "{init}git log --oneline || true; touch by-operator; git add by-operator; git commit -qm two; git fsck"
            ),
        );
        // One that came stays, if it runs nothing.
        let is_new = *by == NO_REPOSITORY || (*by == SUBFOLDER && line.starts_with("git init"));
        if !is_new && !log.contains("one") {
            failed.push(format!("{name}: git does not work any more: {log}"));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn without_a_sandbox_it_runs_all_of_them() {
    for (name, by, line, folder) in ATTACKS {
        let world = set_up(by);
        let ended = world.run(settings(Mode::Off), Network::Off, &format!("{WORDS}{line}"));
        let said = format!("{}{}", ended.stdout.text(), ended.stderr.text());
        assert!(is_run_by_git(&world, folder), "{name}: {said}");
    }
}

#[test]
fn what_was_put_aside_is_said_and_kept() {
    let world = set_up(EXTENDED);
    let line = format!("{WORDS}evil .git/config.worktree; echo e > .git/commondir; rm .git/HEAD");
    let ended = world.run(settings(Mode::Best), Network::Off, &line);
    let found: Vec<_> = ended.findings.iter().map(|finding| finding.path.clone()).collect();
    let places = ["work/.git/commondir", "work/.git/config.worktree", "work/.git/HEAD"];
    assert_eq!(found, places.map(|path| world.at(path)));
    assert!(ended.findings[2].to_string().ends_with("was gone and was put back"), "{}", ended.findings[2]);
    let aside = ended.findings[0].aside.clone().expect("put aside");
    assert!(aside.starts_with(world.at("runtime/aside")), "{}", aside.display());
    assert_eq!(fs::read_to_string(aside).expect("kept"), "e\n");
    assert_eq!(world.operator("work", "git log --oneline | wc -l").trim(), "1");
}

#[test]
fn what_a_command_took_of_the_repository_is_said() {
    for (line, place) in
        [("rm .git/refs/heads/side", "work/.git/refs/heads/side"), ("rm -rf .git/objects/??", "work/.git/objects")]
    {
        let world = set_up(PLAIN);
        world.operator("work", "git branch side");
        let ended = world.run(settings(Mode::Best), Network::Off, &format!("{WORDS}{line}"));
        let found: Vec<_> = ended.findings.iter().map(|finding| finding.path.clone()).collect();
        assert_eq!(found, [world.at(place)], "{line}");
    }
}

#[test]
fn ordinary_work_with_git_leaves_nothing_to_put_aside() {
    for (by, line) in [
        (PLAIN, "echo 2 > f; git commit -qam two; git checkout -qb side; git stash list; echo 3 > f; git stash -q; git stash pop -q
                 git commit -qam three; git checkout -q -; git merge -q side; git gc -q; git pack-refs --all; git repack -qad
                 git worktree add -q w side~1; git worktree remove w; git worktree add -q w side~1; git checkout -q --detach; git rebase -q HEAD~1; git reset -q --hard"),
        (BESIDE, "git worktree remove --force $(git worktree list --porcelain | sed -n 's/worktree //p' | sed -n 2p) 2>/dev/null; git worktree prune; echo 2 > f; git commit -qam two"),
        (SUBMODULE, "git submodule status; echo 2 > sub/g; git -C sub checkout -qb b; git -C sub commit -qam two; git add sub; git commit -qm three
                     git checkout -q HEAD~1; git rm -qf --cached sub; git reset -q --hard"),
        (UNPOPULATED, "git -c protocol.file.allow=always clone -q . copy; git init -q --bare up; git init -q l; git -C l commit -q --allow-empty -m l
                       git -c protocol.file.allow=always submodule --quiet add ./l added 2>/dev/null || git -c protocol.file.allow=always clone -q l added; git add added; git commit -qm two; git status"),
        (LINKED, "echo 2 > f; git commit -qam two; git checkout -qb side; git stash list; git log"),
        (LINK, "echo 2 > f; git commit -qam two; git log"),
        (SUBFOLDER, "[ -z \"$(git status --short)\" ]; echo 2 > f; git commit -qam two; git log; git checkout -qb side; git tag t; git gc -q"),
        (IN_SUBMODULE, "echo 2 > f; git commit -qam two; git log; git checkout -qb side; git gc -q"),
        (SEPARATE, "echo 2 > f; git commit -qam two; git log; git checkout -qb side; git stash list; git gc -q"),
        (AWAY, "echo 2 > f; git commit -qam two; git log; git checkout -qb side; git gc -q"),
        (NESTED, "cd vendor/sub; echo 2 > f; git commit -qam two; git checkout -qb side; git gc -q; git config user.name b; git worktree add -q ../w; cd ../..
                  rm -rf vendor; git init -q vendor/sub; git -C vendor/sub config user.email a@b; git init -q --bare x.git; git clone -q . y 2>/dev/null"),
        (NO_REPOSITORY, "git init -q .; git config user.name a; echo 1 > f; git add f; git commit -qm one; git init -q in"),
    ] {
        let world = set_up(by);
        let ended = world.run(settings(Mode::Best), Network::Off, &format!("{WORDS}set -e\n{line}"));
        World::expect_whole(&ended);
        assert_eq!(ended.findings, [], "{line}");
    }
}

#[test]
fn a_link_to_a_repository_of_somebody_else_is_put_aside() {
    let world = set_up(NO_REPOSITORY);
    let ended = world.run(
        settings(Mode::Best),
        Network::Off,
        "ln -s $OUTSIDE/../kept/.git .git; echo gitdir: $OUTSIDE/../kept/.git > n; mkdir in; mv n in/.git",
    );
    let mut found: Vec<_> = ended.findings.iter().map(|finding| finding.path.clone()).collect();
    found.sort();
    assert_eq!(found, [world.at("work/.git"), world.at("work/in/.git")]);
}

#[test]
fn a_home_that_is_a_repository_is_not_shown_for_that() {
    let world = World::new();
    world.operator("", "rm -rf work; git init -q home; mkdir home/project; ln -s home/project work");
    let ended = world.run(settings(Mode::Best), Network::Off, "cat ../notes; git status; touch ../.git/x; ls -a ..");
    let said = ended.stdout.text();
    assert!(!said.contains("as it was") && !said.contains(".git"), "{said}");
}
