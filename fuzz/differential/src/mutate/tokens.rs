//! Cuts a line into pieces that can be moved: blanks, operators, and words with their quotes and substitutions.
//!
//! It is no parser: put together again, the pieces are the line, whatever it is.

/// The pieces of `line`, in order.
pub fn tokens(line: &str) -> Vec<String> {
    let chars: Vec<char> = line.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < chars.len() {
        let end = end_of_token(&chars, at);
        tokens.push(chars[at..end].iter().collect());
        at = end;
    }
    tokens
}

/// Returns true if a piece is a word, not a blank or an operator.
pub fn is_word(token: &str) -> bool {
    token.chars().next().is_some_and(|first| !is_blank(first) && !is_operator(first))
}

fn is_blank(c: char) -> bool {
    c == ' ' || c == '\t' || c == '\n'
}

fn is_operator(c: char) -> bool {
    matches!(c, ';' | '&' | '|' | '<' | '>' | '(' | ')')
}

fn end_of_token(chars: &[char], start: usize) -> usize {
    let first = chars[start];
    if first == '\n' || matches!(first, '(' | ')') {
        return start + 1;
    }
    if is_blank(first) {
        return run(chars, start, |c| c == ' ' || c == '\t');
    }
    if is_operator(first) {
        return run(chars, start, |c| matches!(c, ';' | '&' | '|' | '<' | '>'));
    }
    end_of_word(chars, start)
}

fn run(chars: &[char], start: usize, belongs: impl Fn(char) -> bool) -> usize {
    chars[start..].iter().position(|c| !belongs(*c)).map_or(chars.len(), |count| start + count)
}

fn end_of_word(chars: &[char], start: usize) -> usize {
    let mut at = start;
    while at < chars.len() {
        let c = chars[at];
        if is_blank(c) || is_operator(c) {
            break;
        }
        at = match (c, chars.get(at + 1)) {
            ('\\', _) => at + 2,
            ('\'' | '`', _) => behind(chars, at + 1, c),
            ('"', _) => behind(chars, at + 1, '"'),
            ('$', Some('(')) => balanced(chars, at + 1, '(', ')'),
            ('$', Some('{')) => balanced(chars, at + 1, '{', '}'),
            _ => at + 1,
        };
    }
    at.min(chars.len())
}

/// Behind the next `quote` that no backslash stands before.
fn behind(chars: &[char], start: usize, quote: char) -> usize {
    let mut at = start;
    while at < chars.len() && chars[at] != quote {
        at += if chars[at] == '\\' && quote != '\'' { 2 } else { 1 };
    }
    (at + 1).min(chars.len())
}

fn balanced(chars: &[char], start: usize, open: char, close: char) -> usize {
    let mut depth = 0_usize;
    for (at, c) in chars.iter().enumerate().skip(start) {
        if *c == open {
            depth += 1;
        } else if *c == close {
            depth -= 1;
            if depth == 0 {
                return at + 1;
            }
        }
    }
    chars.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pieces_are_the_line() {
        #[track_caller]
        fn check(line: &str, expected: &[&str]) {
            let pieces = tokens(line);
            assert_eq!(pieces.concat(), line);
            assert_eq!(pieces, expected);
        }
        check("a  b;c", &["a", "  ", "b", ";", "c"]);
        check("a 'b c' \"d $(e f)\" $(g h)i", &["a", " ", "'b c'", " ", "\"d $(e f)\"", " ", "$(g h)i"]);
        check("(a)&&b >c\n", &["(", "a", ")", "&&", "b", " ", ">", "c", "\n"]);
        check("a\\ b 'open", &["a\\ b", " ", "'open"]);
        check("${a:-$(b c)} $((", &["${a:-$(b c)}", " ", "$(("]);
        check("", &[]);
    }
}
