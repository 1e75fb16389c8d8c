//! Lines that the grammar's own code can't get through: it would run out of stack, or never end. They are told before
//! it begins, by a look at the text that errs on the safe side; nobody writes them in earnest.

/// How many substitutions a line may hold: the tokenizer calls itself for each that lies in another.
pub(super) const SUBSTITUTIONS_MAX: usize = 200;
/// How deep substitutions may lie in one another.
const SUBSTITUTION_NESTING_MAX: usize = 12;
/// How many things may open in an array's index: each doubles the parser's time.
const INDEX_DOUBLES_MAX: usize = 10;

/// Whether substitutions lie deeper in one another than the tokenizer should follow. Whether one is closed before
/// the next begins can't be told before the line is read, so closing counts only outside of what may be quotes.
pub(super) fn is_too_nested(line: &str) -> bool {
    let bytes = line.as_bytes();
    let all = (0..bytes.len()).filter(|at| opens(bytes, *at) || bytes[*at] == b'`').count();
    if all <= SUBSTITUTION_NESTING_MAX {
        return false;
    }
    let mut open = 0_usize;
    let mut deepest = 0_usize;
    for (at, byte) in bytes.iter().enumerate() {
        if opens(bytes, at) {
            open += 1;
            deepest = deepest.max(open);
        } else if matches!(byte, b')' | b'}' | b']') {
            open = open.saturating_sub(1);
        }
    }
    all > SUBSTITUTIONS_MAX || deepest > SUBSTITUTION_NESTING_MAX
}

/// Whether a substitution that the tokenizer follows begins at `at`.
fn opens(bytes: &[u8], at: usize) -> bool {
    bytes[at] == b'$' && matches!(bytes.get(at + 1), Some(b'(' | b'{' | b'['))
}

/// Whether a number stands before `<` or `>` that is no descriptor of anybody.
pub(super) fn has_long_number(line: &str) -> bool {
    let mut digits = 0_usize;
    line.bytes().any(|byte| {
        let is_long = matches!(byte, b'<' | b'>') && digits > 4;
        digits = if byte.is_ascii_digit() { digits + 1 } else { 0 };
        is_long
    })
}

/// Whether a here-document may begin in a substitution, or share its line with one, otherwise than in the way that
/// people write it: a plain word, nothing that closes anything behind it, and a line with that word further down. Of
/// others the tokenizer gathers parts for ever.
pub(super) fn has_entangled_here_document(line: &str) -> bool {
    let bytes = line.as_bytes();
    let mut is_open = false;
    let mut at = 0;
    while at < bytes.len() {
        if opens(bytes, at) {
            if let Some(end) = arithmetic_end(line, at) {
                at = end;
                continue;
            }
            is_open = true;
        }
        if !bytes[at..].starts_with(b"<<") {
            at += 1;
            continue;
        }
        let is_string = bytes.get(at + 2) == Some(&b'<');
        if is_string && bytes.get(at + 3) != Some(&b'<') {
            at += 3;
            continue;
        }
        let after = line.get(at + 2..).unwrap_or_default();
        let rest_of_line = after.split('\n').next().unwrap_or_default();
        let holds = |marks: &[&str]| marks.iter().any(|mark| rest_of_line.contains(mark));
        let is_apart = !is_open && !holds(&["$(", "${", "$["]);
        match end_of_here_document(after) {
            Some(end) if is_apart || !holds(&[")", "}", "]", "<<"]) => at += 2 + end,
            _ if is_apart => at += 2,
            _ => return true,
        }
    }
    false
}

/// The end of `$(( .. ))` without parentheses inside, or of `$[ .. ]` without brackets: `<<` is a shift in there.
fn arithmetic_end(line: &str, at: usize) -> Option<usize> {
    let text = line.get(at..)?;
    let (inner, close, inside) = match (text.strip_prefix("$(("), text.strip_prefix("$[")) {
        (Some(inner), _) => (inner, "))", ['(', ')']),
        (None, Some(inner)) => (inner, "]", ['[', ']']),
        (None, None) => return None,
    };
    let end = inner.find(close)?;
    let is_plain = !inner[..end].contains(['\n', '$', '`', '\'', '"', '\\']) && !inner[..end].contains(inside);
    is_plain.then_some(at + (text.len() - inner.len()) + end + close.len())
}

/// Where a here-document ends whose `<<` stands before `after`, if it has a plain word and a line that is the word.
fn end_of_here_document(after: &str) -> Option<usize> {
    let (text, strips_tabs) = after.strip_prefix('-').map_or((after, false), |text| (text, true));
    let text = text.trim_start_matches([' ', '\t']);
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"' | '\\'));
    let text = &text[quote.map_or(0, char::len_utf8)..];
    let len = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(text.len());
    let (word, rest) = text.split_at(len);
    let is_closed = match quote {
        Some(quote @ ('\'' | '"')) => rest.starts_with(quote),
        Some(_) | None => !rest.starts_with(['\'', '"', '\\', '$', '`']),
    };
    if word.is_empty() || !is_closed {
        return None;
    }
    let mut end = after.find('\n')? + 1;
    for line in after[end..].split_inclusive('\n') {
        let begun = if strips_tabs { line.trim_start_matches('\t') } else { line };
        if begun.strip_suffix('\n').unwrap_or(begun) == word {
            return Some(end + line.len());
        }
        end += line.len();
    }
    None
}

/// Whether a word looks like an array's element, `a[..]=`, with so much in its index that the parser would take for ever:
/// whatever opens something there is read in two ways, one within the other.
pub(super) fn is_tangled_element(word: &str) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let Some((name, rest)) = word.split_once('[') else { return false };
    if name.is_empty() || !name.chars().all(is_name) {
        return false;
    }
    // Without an end it may all be the index.
    let index = rest.rsplit_once(']').map_or(rest, |(index, _)| index);
    let mut before = '[';
    let (mut doubles, mut deepens) = (0_usize, 0_usize);
    for c in index.chars() {
        doubles += usize::from(matches!(c, '$' | '`' | '"') || c == '[' && is_name(before));
        deepens += usize::from(c == '(');
        before = c;
    }
    doubles > INDEX_DOUBLES_MAX || deepens > SUBSTITUTIONS_MAX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn here_documents_as_people_write_them_are_read() {
        for line in [
            "cat <<EOF\nx\nEOF",
            "git commit -m \"$(cat <<'EOF'\nshift: a << b (all)\n\n- `x`\nEOF\n)\"",
            "x=$(cat <<-EOF | tr a b\n\tx\n\tEOF\n)",
            "echo $((1 << 3)) $[1<<2]; ((x <<= 1))",
            "x=$(date); cat > f <<'EOF'\n$(y) << z\nEOF\necho done",
            "grep x <<< \"$(date)\"",
            "python3 - <<\"PY\"\nprint(1 << 3, f\"${x}\")\nPY",
            "cat <<EOF | sh\nrm x\nEOF",
            "echo a <<EOF",
        ] {
            assert!(!has_entangled_here_document(line), "{line}");
        }
    }

    #[test]
    fn others_in_a_substitution_are_not() {
        for line in [
            "x=$(cat <<EOF)\nx\nEOF",
            "x=$(cat <<EOF\nx",
            "x=$(cat <<$y\nx\n$y\n)",
            "cat <<EOF > $(pwd)/x\ny\nEOF",
            "$(<<<< (",
            "x=$(cat <<A <<B\nA\nB\n)",
            "${x:-$(cat <<A}\nA\n)",
            "$(( $(cat <<A\n) )) ",
        ] {
            assert!(has_entangled_here_document(line), "{line}");
        }
    }

    #[test]
    fn an_index_may_hold_what_people_write() {
        for (word, is_tangled) in [
            ("a[$((i+1))]=x".to_owned(), false),
            ("IMG_[0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9][0-9].jpg".to_owned(), false),
            ("a[0]=".to_owned() + &"$x".repeat(50), false),
            ("a[".repeat(20), true),
            ("a[".to_owned() + &"(".repeat(30_000), true),
        ] {
            assert_eq!(is_tangled_element(&word), is_tangled, "{word}");
        }
    }
}
