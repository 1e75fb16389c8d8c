//! Archives: where they are unpacked and which file they are written to.

use super::ProgramCall;
use crate::gate::shell::expand::ShellWord;
use crate::gate::shell::paths::PathChange;
use crate::gate::shell::program::word_of;
use crate::gate::shell::walk::ShellWalk;

/// Letters of an old-style `tar xf` whose value is a word of its own, in the order of the letters.
const TAR_VALUED: &str = "fbCTXgNVLFIKH";

impl ShellWalk<'_> {
    /// `tar`, `cpio`: the folders that they unpack into, and the archive that they write.
    pub(super) fn archive(&mut self, call: ProgramCall<'_>) {
        let args = call.args;
        let (mut archives, mut folders): (Vec<ShellWord>, Vec<ShellWord>) = (Vec::new(), Vec::new());
        if call.name != "cpio"
            && let Some((first, rest)) = call.words.split_first()
            && !first.text().starts_with('-')
        {
            if first.known().is_none() {
                self.opaque("", "its options can't be known");
            }
            drop(self.program(call.name, &with_dashes(first.text(), rest), call.input));
            return;
        }
        if call.name == "cpio" {
            folders.extend(args.values(&["-D", "--directory"]).map(word_of));
            if args.any(&["-p", "--pass-through"]) {
                folders.extend(args.operands.first().map(|word| (*word).clone()));
            }
            archives.extend(args.values(&["-O"]).map(word_of));
            if args.any(&["-o", "--create"]) {
                archives.extend(args.values(&["-F", "--file"]).map(word_of));
            } else if !args.any(&["-t", "--list"]) || args.any(&["-p", "--pass-through"]) {
                self.unpacked(&folders);
            }
        } else {
            folders.extend(args.values(&["-C", "--directory", "--cd", "--one-top-level"]).map(word_of));
            archives.extend(args.values(&["-f", "--file"]).map(word_of));
            if args.any(&["-x", "--extract", "--get"]) {
                self.unpacked(&folders);
                // Names in the archive are taken as they are, be they those of the system.
                if args.any(&["-P", "--absolute-names", "--absolute-paths"]) {
                    self.change(&ShellWord::plain("/"), PathChange::Into, None);
                }
                self.renamed(call);
            }
            if !args.any(&["-c", "--create"]) && !args.any(&["-r", "--append"]) && !args.any(&["-u", "--update"]) {
                archives.clear();
            }
        }
        for archive in archives.iter().filter(|archive| !archive.text().split('/').next().unwrap_or("").contains(':')) {
            self.change(archive, PathChange::Replace, Some("writes an archive"));
        }
    }

    fn unpacked(&mut self, folders: &[ShellWord]) {
        for folder in folders {
            self.change(folder, PathChange::Into, Some("writes what an archive holds"));
        }
    }

    /// `--transform`: what is unpacked may be called anything that its expression says.
    fn renamed(&mut self, call: ProgramCall<'_>) {
        for value in call.args.values(&["--transform", "--xform"]) {
            match value.text() {
                Some(text) if text.to_ascii_lowercase().contains(".git") => {
                    self.change(&ShellWord::plain(".git"), PathChange::Into, None);
                }
                Some(_) => {}
                None => self.change(&ShellWord::unknown_operand(), PathChange::Into, None),
            }
        }
    }

    /// Programs that open an address like a file: `ffprobe https://host/x`, `helm template x oci://host/c`.
    pub(super) fn opens(&mut self, call: ProgramCall<'_>) {
        for word in call.words.iter().filter(|word| word.text().contains("://") || is_source(word)) {
            match word.known() {
                Some(text) if text.contains("://") => {
                    let address =
                        text.split_once('=').filter(|(name, _)| name.starts_with('-')).map_or(text, |(_, v)| v);
                    self.asks_address(address);
                }
                Some(_) => {}
                None => self.sends_unknown(),
            }
        }
    }
}

/// The words of an old-style `tar xf a` with a dash before each letter, and behind it its value: the values follow in
/// the order of the letters, whatever they look like.
fn with_dashes(letters: &str, rest: &[ShellWord]) -> Vec<ShellWord> {
    let mut rest = rest.iter();
    let mut words = Vec::new();
    for letter in letters.chars() {
        words.push(ShellWord::plain(format!("-{letter}")));
        if TAR_VALUED.contains(letter) {
            words.extend(rest.next().cloned());
        }
    }
    words.extend(rest.cloned());
    words
}

/// `terraform init -from-module=..`
fn is_source(word: &ShellWord) -> bool {
    word.text().trim_start_matches('-').starts_with("from-module=")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::gate::shell::decide;

    #[test]
    fn letters_without_a_dash_take_the_words_that_follow() {
        for (command, expected) in [
            ("tar g -tf --index-file=f x", "ask"),
            ("tar I 'rm x' -tf a", "destructive"),
            ("tar xf a.tar", "ask"),
            ("tar czf a.tgz src", "ask"),
            ("tar tf a.tar", "safe"),
            ("tar tvfz a.tgz", "safe"),
        ] {
            let decided = decide(&json!({ "command": command })).unwrap();
            assert_eq!(decided["verdict"], expected, "{command}: {decided}");
        }
    }
}
