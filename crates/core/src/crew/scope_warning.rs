//! Warns the operator of categories that a plan seems to need and that nothing authorizes. A warning never blocks a
//! plan (the peer's warnings).
//!
//! Only words are looked at, so a warning may be wrong either way: each call meets the gate all the same.

use serde::Serialize;

use crate::gate::authorization::covers;
use crate::handoff::WorkPlan;
use crate::words::Category;
use crate::words::category::{
    DEPLOY, FILESYSTEM_DELETE, FILESYSTEM_WRITE, GIT_PUSH, GIT_WRITE, HTTP_FETCH, SHELL_EXEC,
};

/// The words that speak of a category; several words stand one after another.
const WORDS: [(&str, &[&str]); 7] = [
    (SHELL_EXEC, &["shell", "bash", "terminal", "command line", "npm", "run the tests", "run tests"]),
    (FILESYSTEM_WRITE, &["write", "writes", "writing", "overwrite", "overwrites"]),
    (
        FILESYSTEM_DELETE,
        &["delete", "deletes", "deleting", "erase", "erases", "remove", "removes", "removing", "rm", "wipe", "unlink"],
    ),
    (
        HTTP_FETCH,
        &["http", "https", "curl", "wget", "fetch", "fetches", "fetching", "download", "downloads", "downloading"],
    ),
    (DEPLOY, &["deploy", "deploys", "deploying", "deployment", "publish", "publishes", "publishing"]),
    (GIT_PUSH, &["git push", "push to", "push it", "pushing to"]),
    (
        GIT_WRITE,
        &[
            "git commit", "git add", "git merge", "git rebase", "git tag", "git stash", "git checkout", "commit it",
            "committing",
        ],
    ),
];

/// A sub-task that speaks of what nothing authorizes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScopeWarning {
    /// The sub-task's id.
    pub subtask: String,
    /// Category that it seems to need.
    pub category: Category,
    /// The word of ours that its title or instruction has.
    pub word: String,
}

/// Returns the unauthorized categories that the sub-tasks of a plan speak of: each category once for each sub-task, in
/// the order of the plan.
#[must_use]
pub fn scope_warnings(plan: &WorkPlan, authorized: &[Category]) -> Vec<ScopeWarning> {
    let mut warnings = Vec::new();
    for task in &plan.subtasks {
        let spoken = spoken(&format!("{} {}", task.title, task.instruction));
        for (category, words) in WORDS {
            let category = Category::new(category);
            if authorized.iter().any(|entry| covers(entry, &category)) {
                continue;
            }
            if let Some(word) = words.iter().find(|word| spoken.contains(&format!(" {word} "))) {
                warnings.push(ScopeWarning { subtask: task.id.clone(), category, word: (*word).to_owned() });
            }
        }
    }
    warnings
}

/// Returns the words of a text in small letters, each between two spaces.
fn spoken(text: &str) -> String {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty());
    words.fold(" ".to_owned(), |spoken, word| spoken + &word.to_lowercase() + " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handoff::SubTask;

    fn plan(texts: &[(&str, &str)]) -> WorkPlan {
        let subtasks = texts.iter().enumerate().map(|(index, (title, instruction))| SubTask {
            id: format!("s{index}"),
            title: (*title).to_owned(),
            instruction: (*instruction).to_owned(),
            acceptance_criteria: vec!["ok".to_owned()],
            order: None,
            depends_on: Vec::new(),
        });
        WorkPlan { subtasks: subtasks.collect(), rationale: String::new() }
    }

    #[test]
    fn words_of_what_nothing_authorizes_are_told() {
        for (title, instruction, authorized, expected) in [
            ("Release", "Run `git push` to origin.", &[][..], &["git_push git push"][..]),
            ("Release", "Run GIT\nPUSH.", &[], &["git_push git push"]),
            ("Release", "Push it with git.", &[], &["git_push push it"]),
            ("Release", "Push to origin.", &[], &["git_push push to"]),
            ("Clean", "Remove src, fetching nothing.", &[], &["filesystem_delete remove", "http_fetch fetching"]),
            ("Test", "Run npm test", &[], &["shell_exec npm"]),
            ("Release", "git push", &["*"], &[]),
            ("Release", "git push", &["git_push"], &[]),
            ("Write the page", "Then deploy it.", &["filesystem_write"], &["deploy deploy"]),
            ("Write the page", "Then deploy it.", &[], &["filesystem_write write", "deploy deploy"]),
            ("Rewrite the page", "Underwriters read it.", &[], &[]),
            ("Clean", "Delete tmp/; commit nothing.", &["shell_exec"], &["filesystem_delete delete"]),
            ("Call", "See https://example.org", &[], &["http_fetch https"]),
            ("Type", "the type httpx_client and shellfish", &[], &[]),
            ("Commit", "In a shell: git commit, git commit.", &[], &["shell_exec shell", "git_write git commit"]),
        ] {
            let authorized: Vec<Category> = authorized.iter().copied().map(Category::new).collect();
            let found = scope_warnings(&plan(&[(title, instruction)]), &authorized);
            let found: Vec<String> = found.iter().map(|found| format!("{} {}", found.category, found.word)).collect();
            assert_eq!(found, expected, "{title}: {instruction}");
        }
    }

    #[test]
    fn each_subtask_is_told_of_by_itself() {
        let found = scope_warnings(&plan(&[("a", "deploy"), ("b", "nothing"), ("c", "deploy, then deploy")]), &[]);
        let found: Vec<&str> = found.iter().map(|found| found.subtask.as_str()).collect();
        assert_eq!(found, ["s0", "s2"]);
    }
}
