//! `find`: which of its actions delete, write or run.

use super::ProgramCall;
use crate::gate::effect::{Act, Effect, Target, UNKNOWN, Verdict};
use crate::gate::effects::is_gits_own;
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::paths::PathChange;
use crate::gate::shell::walk::{ShellWalk, StandardInput};
use crate::words::category::FILESYSTEM_DELETE;

impl ShellWalk<'_> {
    /// `find`.
    pub(super) fn find(&mut self, call: ProgramCall<'_>) {
        let roots: Vec<&ShellWord> =
            call.words.iter().take_while(|word| !word.text().starts_with(['-', '(', '!'])).collect();
        self.found.extend(roots.iter().map(|root| (*root).clone()));
        let mut words = call.words.iter();
        while let Some(word) = words.next() {
            if word.splits() || word.is_half_an_option() {
                self.opaque("", "its options can't be known");
            }
            match word.text() {
                "-delete" => self.found_deleted(&roots),
                "-exec" | "-execdir" | "-ok" | "-okdir" => {
                    let command = command_of(words.as_slice());
                    let are_many = words.as_slice().get(command.len()).and_then(ShellWord::known) == Some("+");
                    words = words.as_slice().get(command.len() + 1..).unwrap_or_default().iter();
                    let command: Vec<ShellWord> = command.iter().map(found).collect();
                    // Behind a `+` it is several paths.
                    let more = are_many.then(ShellWord::unknown_operand);
                    let command: Vec<ShellWord> = command.into_iter().chain(more).collect();
                    let before = self.effects().len();
                    self.inner(&command, &StandardInput::Unknown);
                    self.reaches(&roots, before);
                }
                "-fprint" | "-fprint0" | "-fls" | "-fprintf" => {
                    if let Some(file) = words.next() {
                        self.change(file, PathChange::Empty, None);
                    }
                }
                _ => {}
            }
        }
    }

    /// Says of all below `roots` what the effects since `before` say of paths that can't be known.
    /// Below the working folder that is its own files, except for git's.
    pub(super) fn reaches(&mut self, roots: &[&ShellWord], before: usize) {
        let places: Vec<Target> = roots
            .iter()
            .filter_map(|root| Some((root.known()?, root.is_pattern())))
            .map(|(root, is_pattern)| Target { path: self.plain(root), is_pattern, is_recursive: true })
            .filter(|target| target.path.starts_with(['/', '~']) || is_gits_own(&target.path))
            .filter(|target| !["/tmp", "/var/tmp"].contains(&target.path.as_str()) && !target.path.starts_with("/tmp/"))
            .collect();
        let told: Vec<Effect> = self.effects().get(before..).unwrap_or_default().to_vec();
        for (effect, place) in told.iter().flat_map(|effect| places.iter().map(move |place| (effect, place))) {
            let act = match &effect.act {
                Act::Write(target) if target.path == UNKNOWN => Act::Write(place.clone()),
                Act::Overwrite(target) if target.path == UNKNOWN => Act::Overwrite(place.clone()),
                Act::Delete(target) if target.path == UNKNOWN => Act::Delete(place.clone()),
                Act::Write(_)
                | Act::Overwrite(_)
                | Act::Delete(_)
                | Act::Contact { .. }
                | Act::Denied { .. }
                | Act::Unreadable
                | Act::Other => continue,
            };
            self.effect_of(effect.verdict, &effect.category, act, None, &effect.reason);
        }
    }

    fn found_deleted(&mut self, roots: &[&ShellWord]) {
        let here = ShellWord::plain(".");
        let roots = if roots.is_empty() { vec![&here] } else { roots.to_vec() };
        for root in roots {
            let path = root.known().map_or_else(|| UNKNOWN.to_owned(), |path| self.plain(path));
            let target = Target { path, is_pattern: root.is_pattern(), is_recursive: true };
            let act = Act::Delete(target);
            self.effect(Verdict::Destructive, FILESYSTEM_DELETE, act, None, "deletes what it finds");
        }
    }
}

/// The words of an action up to its `;`, or to a `+` behind `{}`; elsewhere `+` is an argument.
fn command_of(words: &[ShellWord]) -> &[ShellWord] {
    let ends = |at: usize| match words[at].known() {
        Some(";") => true,
        Some("+") => at > 0 && words[at - 1].known() == Some("{}"),
        _ => false,
    };
    let end = (0..words.len()).find(|at| ends(*at)).unwrap_or(words.len());
    &words[..end]
}

/// `{}` is a path that can't be known.
fn found(word: &ShellWord) -> ShellWord {
    if word.text().contains("{}") { ShellWord::unknown_operand() } else { word.clone() }
}
