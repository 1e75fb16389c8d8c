//! The change of one file between two states: told as a unified diff, and merged into a third state.
//!
//! In: what the file was and is. Out: text as `git diff` has it, with counts; or what the file becomes where it was
//! changed in two places since, if both changes fit together. What is no text is never merged.
//!
//! Begin with [`shown`] and [`merged`].

use similar::{ChangeTag, TextDiff, merge::TextMerge};

use crate::words::visible::visible_line;

/// The longest file of which lines are compared, in bytes: two of them that have nothing in common would take minutes.
const COMPARED_BYTES_MAX: usize = 4 << 20;

/// A file in one state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    /// Its bytes; of a link, where it leads.
    pub content: Vec<u8>,
    /// Git's word for it.
    pub kind: FileKind,
}

/// The kinds of files that git tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A file that is not executable.
    Plain,
    /// A file that is executable.
    Executable,
    /// A symbolic link.
    Link,
}

impl FileKind {
    /// Returns the mode that git writes for it.
    const fn mode(self) -> &'static str {
        match self {
            Self::Plain => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
        }
    }
}

/// The change of a file, told.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShownChange {
    /// The diff, with a header; every line ends with a line feed.
    pub text: String,
    /// Number of lines that were added.
    pub added: u64,
    /// Number of lines that were removed.
    pub removed: u64,
    /// Reason why its lines are not shown.
    pub hidden: Option<&'static str>,
}

/// Returns the diff of the file at `path` from `before` to `after`, of which at least one is there.
#[must_use]
pub fn shown(path: &str, before: Option<&FileState>, after: Option<&FileState>) -> ShownChange {
    let name = visible_line(path);
    let (old_name, new_name) = (format!("a/{name}"), format!("b/{name}"));
    let mut text = format!("diff --git {old_name} {new_name}\n");
    match (before, after) {
        (None, Some(after)) => text.push_str(&format!("new file mode {}\n", after.kind.mode())),
        (Some(before), None) => text.push_str(&format!("deleted file mode {}\n", before.kind.mode())),
        (Some(before), Some(after)) if before.kind != after.kind => {
            text.push_str(&format!("old mode {}\nnew mode {}\n", before.kind.mode(), after.kind.mode()));
        }
        (Some(_) | None, _) => {}
    }
    let content = |state: Option<&'_ FileState>| state.map_or(Vec::new(), |state| state.content.clone());
    let (old, new) = (content(before), content(after));
    if old == new {
        return ShownChange { text, ..ShownChange::default() };
    }
    let names = [
        before.map_or_else(|| "/dev/null".to_owned(), |_| old_name.clone()),
        after.map_or_else(|| "/dev/null".to_owned(), |_| new_name.clone()),
    ];
    let hidden = match (as_text(&old), as_text(&new)) {
        (Some(_), Some(_)) if old.len().max(new.len()) > COMPARED_BYTES_MAX => "too large to compare",
        (Some(old), Some(new)) => {
            let diff = TextDiff::from_lines(old, new);
            let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count() as u64;
            let (added, removed) = (count(ChangeTag::Insert), count(ChangeTag::Delete));
            text.push_str(&diff.unified_diff().context_radius(3).header(&names[0], &names[1]).to_string());
            return ShownChange { text, added, removed, hidden: None };
        }
        (Some(_) | None, _) => "no text",
    };
    text.push_str(&format!("Binary files {} and {} differ\n", names[0], names[1]));
    ShownChange { text, added: 0, removed: 0, hidden: Some(hidden) }
}

/// A file that was changed in two places since `base`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Merged {
    /// What is there stays: the other side changed nothing, or the same.
    Ours,
    /// The other side's state takes its place.
    Theirs,
    /// Both changes fit together: this is the file with both.
    Both(FileState),
    /// They don't, for this reason.
    Conflict(&'static str),
}

/// Merges the change from `base` to `theirs` into `ours`. An absent state is a file that is not there.
#[must_use]
pub fn merged(base: Option<&FileState>, ours: Option<&FileState>, theirs: Option<&FileState>) -> Merged {
    if ours == theirs || base == theirs {
        return Merged::Ours;
    }
    if base == ours {
        return Merged::Theirs;
    }
    let (Some(base), Some(ours), Some(theirs)) = (base, ours, theirs) else {
        return Merged::Conflict(match (base, ours, theirs) {
            (None, ..) => "another file of this name came meanwhile",
            (_, None, _) => "it was deleted meanwhile",
            (_, _, None) => "it was changed meanwhile, and the run deletes it",
            (Some(_), Some(_), Some(_)) => "it was changed meanwhile",
        });
    };
    let kind = match (base.kind == ours.kind, base.kind == theirs.kind) {
        (_, true) => ours.kind,
        (true, false) => theirs.kind,
        (false, false) if ours.kind == theirs.kind => ours.kind,
        (false, false) => return Merged::Conflict("its kind was changed meanwhile"),
    };
    let content = if base.content == theirs.content || ours.content == theirs.content {
        ours.content.clone()
    } else if base.content == ours.content {
        theirs.content.clone()
    } else {
        let is_link = [base, ours, theirs].iter().any(|state| state.kind == FileKind::Link);
        let texts = (as_text(&base.content), as_text(&ours.content), as_text(&theirs.content));
        let (Some(base), Some(ours), Some(theirs)) = texts else {
            return Merged::Conflict("it is no text, and was changed meanwhile");
        };
        if is_link || base.len().max(ours.len()).max(theirs.len()) > COMPARED_BYTES_MAX {
            return Merged::Conflict("it was changed meanwhile, and can't be merged line by line");
        }
        let merge = TextMerge::from_lines(base, ours, theirs);
        if merge.is_conflicted() {
            return Merged::Conflict("the same lines were changed meanwhile");
        }
        merge.to_string().into_bytes()
    };
    // What was brought in before is not brought in again.
    if content == ours.content && kind == ours.kind { Merged::Ours } else { Merged::Both(FileState { content, kind }) }
}

/// `content` as text, if it is some: UTF-8 without a NUL byte, as git has it.
fn as_text(content: &[u8]) -> Option<&str> {
    std::str::from_utf8(content).ok().filter(|text| !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(content: &str) -> FileState {
        FileState { content: content.as_bytes().to_vec(), kind: FileKind::Plain }
    }

    #[test]
    fn a_change_is_told_as_git_tells_it() {
        let (old, new) = (file("a\nb\nc\n"), file("a\nB\nc"));
        let change = shown("src/x", Some(&old), Some(&new));
        assert_eq!((change.added, change.removed, change.hidden), (2, 2, None));
        assert_eq!(
            change.text,
            "diff --git a/src/x b/src/x\n--- a/src/x\n+++ b/src/x\n@@ -1,3 +1,3 @@\n a\n-b\n-c\n+B\n+c\n\
             \\ No newline at end of file\n"
        );
        let made = shown("y", None, Some(&file("one\n")));
        assert_eq!(
            made.text,
            "diff --git a/y b/y\nnew file mode 100644\n--- /dev/null\n+++ b/y\n@@ -0,0 +1 @@\n+one\n"
        );
        let gone = shown("y", Some(&file("one\n")), None);
        assert!(gone.text.contains("deleted file mode 100644\n--- a/y\n+++ /dev/null\n"), "{}", gone.text);
        let executable = FileState { kind: FileKind::Executable, ..file("one\n") };
        let mode = shown("y", Some(&file("one\n")), Some(&executable));
        assert_eq!(mode.text, "diff --git a/y b/y\nold mode 100644\nnew mode 100755\n");
    }

    #[test]
    fn what_is_no_text_is_said_to_differ_and_a_name_drives_no_terminal() {
        let binary = FileState { content: vec![0, 159], kind: FileKind::Plain };
        let change = shown("a\u{1b}[2J", Some(&file("x\n")), Some(&binary));
        assert_eq!(change.hidden, Some("no text"));
        assert!(change.text.ends_with(" differ\n") && !change.text.contains('\u{1b}'), "{}", change.text);
    }

    #[test]
    fn two_changes_that_fit_together_are_merged_and_others_are_a_conflict() {
        #[track_caller]
        fn check(base: Option<&str>, ours: Option<&str>, theirs: Option<&str>, expected: Merged) {
            let [base_state, ours_state, theirs_state] = [base, ours, theirs].map(|text| text.map(file));
            let found = merged(base_state.as_ref(), ours_state.as_ref(), theirs_state.as_ref());
            assert_eq!(found, expected, "{base:?} {ours:?} {theirs:?}");
        }
        let lines = "1\n2\n3\n4\n5\n6\n7\n";
        check(Some("a"), Some("a"), Some("b"), Merged::Theirs);
        check(Some("a"), Some("a"), None, Merged::Theirs);
        check(None, None, Some("b"), Merged::Theirs);
        check(Some("a"), Some("b"), Some("b"), Merged::Ours);
        check(Some("a"), None, None, Merged::Ours);
        check(Some("a"), Some("b"), Some("a"), Merged::Ours);
        let both = lines.replace("1\n", "one\n").replace("7\n", "seven\n");
        let (ours, theirs) = (lines.replace("1\n", "one\n"), lines.replace("7\n", "seven\n"));
        check(Some(lines), Some(&ours), Some(&theirs), Merged::Both(file(&both)));
        check(Some(lines), Some(&both), Some(&theirs), Merged::Ours);
        let other = lines.replace("1\n", "uno\n");
        check(Some(lines), Some(&ours), Some(&other), Merged::Conflict("the same lines were changed meanwhile"));
        check(None, Some("a"), Some("b"), Merged::Conflict("another file of this name came meanwhile"));
        check(Some("a"), None, Some("b"), Merged::Conflict("it was deleted meanwhile"));
        let deleted = Merged::Conflict("it was changed meanwhile, and the run deletes it");
        check(Some("a"), Some("b"), None, deleted);
    }

    #[test]
    fn what_is_no_text_is_never_merged_and_permissions_are() {
        let binary = |byte| FileState { content: vec![0, byte], kind: FileKind::Plain };
        let found = merged(Some(&binary(1)), Some(&binary(2)), Some(&binary(3)));
        assert_eq!(found, Merged::Conflict("it is no text, and was changed meanwhile"));
        let executable = FileState { kind: FileKind::Executable, ..file("a\n") };
        let found = merged(Some(&file("a\n")), Some(&file("b\n")), Some(&executable));
        assert_eq!(found, Merged::Both(FileState { kind: FileKind::Executable, ..file("b\n") }));
    }
}
