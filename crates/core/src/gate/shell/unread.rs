//! Guesses at the commands in a text that can't be read: its pieces between possible separators, without quotes. They
//! can only make a line stricter.

/// The most pieces that are looked at.
const PIECES_MAX: usize = 64;
/// The longest piece that is looked at, in bytes.
const PIECE_BYTES_MAX: usize = 2 * 1024;
/// The most bytes of a text that are looked at.
const BYTES_MAX: usize = 64 * 1024;

/// Words before which a command may begin.
const BEFORE_COMMANDS: [&str; 13] =
    ["if", "then", "else", "elif", "while", "until", "do", "time", "coproc", "!", "{", "in", "exec"];

/// The commands that may stand in `text`, each once.
pub(super) fn commands(text: &str) -> Vec<String> {
    let end = (0..=text.len().min(BYTES_MAX)).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let mut found: Vec<String> = Vec::new();
    // With what quotes hold as words of their command, and with what they hold as commands of their own.
    for separators in [";&|()`\n", ";&|()`\n'\"{}"] {
        for piece in text[..end].split(|c| separators.contains(c)) {
            let bare: String = piece.chars().filter(|c| !"'\"\\".contains(*c)).collect();
            let command = without_reserved(bare.trim_matches([' ', '\t', '$', '{', '}']));
            if !command.is_empty()
                && command.len() <= PIECE_BYTES_MAX
                && !command.starts_with('#')
                && !found.iter().any(|known| known == command)
            {
                found.push(command.to_owned());
            }
            if found.len() >= PIECES_MAX {
                return found;
            }
        }
    }
    found
}

fn without_reserved(mut command: &str) -> &str {
    loop {
        let rest = BEFORE_COMMANDS.iter().find_map(|word| command.strip_prefix(word)?.strip_prefix([' ', '\t']));
        match rest {
            Some(rest) => command = rest.trim_start(),
            None => return command,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_run_is_found_without_its_quotes() {
        for (text, wanted) in [
            ("rm -r build; fi", "rm -r build"),
            ("git push \"x", "git push x"),
            ("if true; then rm a", "rm a"),
            ("echo \"$(rm -rf src", "rm -rf src"),
            ("bash -c 'rm x", "rm x"),
            ("a && { rm x", "rm x"),
        ] {
            assert!(commands(text).iter().any(|found| found == wanted), "{text}: {:?}", commands(text));
        }
        assert!(commands(&"a;b;".repeat(100_000)).len() <= PIECES_MAX);
        assert!(commands(&(0..1_000).map(|n| format!("c{n};")).collect::<String>()).len() <= PIECES_MAX);
    }
}
