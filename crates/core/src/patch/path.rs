//! The names in a patch's headers: quoting, prefixes, and which of them no patch may touch.

use super::reject::{RejectCode, Rejected};

/// The longest path and the longest segment of one, in bytes: what Linux allows.
const PATH_BYTES_MAX: usize = 4096;
const SEGMENT_BYTES_MAX: usize = 255;

/// One side of a file header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Side {
    /// `/dev/null`: the file is not there on this side.
    Nothing,
    /// A name as written, unquoted, with its prefix.
    Name(String),
}

/// Reads the name after `--- ` or `+++ `: C-style quotes are undone, a time stamp after a tab is cut.
pub(super) fn side(rest: &str, line: usize) -> Result<Side, Rejected> {
    let name = if rest.starts_with('"') {
        unquote(rest, line)?.0
    } else {
        rest.split('\t').next().unwrap_or(rest).trim_end().to_owned()
    };
    match name.as_str() {
        "/dev/null" => Ok(Side::Nothing),
        "" => Err(Rejected::parse(line, "a file header without a name")),
        _ => Ok(Side::Name(name)),
    }
}

/// Undoes git's C-style quoting; returns the name and what follows the closing quote.
pub(super) fn unquote(quoted: &str, line: usize) -> Result<(String, &str), Rejected> {
    let broken = || Rejected::parse(line, "a quoted name that doesn't end or has an unknown escape");
    let mut bytes = Vec::new();
    let mut rest = quoted.bytes().enumerate().skip(1);
    while let Some((at, byte)) = rest.next() {
        match byte {
            b'"' => {
                let name = String::from_utf8(bytes).map_err(|_| Rejected::parse(line, "a name that is not UTF-8"))?;
                return Ok((name, &quoted[at + 1..]));
            }
            b'\\' => {
                let (_, escape) = rest.next().ok_or_else(broken)?;
                bytes.push(match escape {
                    b'a' => 7,
                    b'b' => 8,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 11,
                    b'f' => 12,
                    b'r' => b'\r',
                    b'"' | b'\\' => escape,
                    b'0'..=b'3' => {
                        let mut value = escape - b'0';
                        for _ in 0..2 {
                            match rest.next() {
                                Some((_, digit @ b'0'..=b'7')) => value = value * 8 + (digit - b'0'),
                                _ => return Err(broken()),
                            }
                        }
                        value
                    }
                    _ => return Err(broken()),
                });
            }
            other => bytes.push(other),
        }
    }
    Err(broken())
}

/// The names on a `diff --git` line, which are needed only if no other header says them.
///
/// Unquoted names with spaces can be told apart only if both are the same file, which is the only case in
/// which git relies on this line.
pub(super) fn git_pair(rest: &str, line: usize) -> Result<Option<(String, String)>, Rejected> {
    if rest.starts_with('"') {
        let (old, after) = unquote(rest, line)?;
        let after = after.trim_start();
        let new = if after.starts_with('"') { unquote(after, line)?.0 } else { after.to_owned() };
        return Ok(Some((old, new)));
    }
    let mut pairs = rest.match_indices(' ').map(|(at, _)| (&rest[..at], &rest[at + 1..]));
    let pair = pairs.find(|(old, new)| {
        old == new || matches!((old.split_once('/'), new.split_once('/')), (Some((a, x)), Some((b, y))) if x == y && a.len() == 1 && b.len() == 1)
    });
    if let Some((old, new)) = pair {
        return Ok(Some((old.to_owned(), new.to_owned())));
    }
    Ok(match rest.split_once(' ') {
        Some((old, new)) if !new.contains(' ') => Some((old.to_owned(), new.to_owned())),
        _ => None,
    })
}

/// The paths a header's name may mean, likeliest first: without git's prefix, then as written.
pub(super) fn meanings(name: &str, git: bool) -> Vec<String> {
    let prefixes: &[&str] = if git { &["a/", "b/", "c/", "i/", "o/", "w/"] } else { &["a/", "b/"] };
    let bare = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).filter(|bare| !bare.is_empty());
    match bare {
        Some(bare) => vec![bare.to_owned(), name.to_owned()],
        None => vec![name.to_owned()],
    }
}

/// The path in its plain form: relative, `/` between segments, no `.` and no empty segment.
///
/// # Errors
///
/// `PATH_ESCAPE` for absolute paths, `..`, NUL, anything in a `.git` folder (in any case, since some file
/// systems ignore it) and names longer than the system takes.
pub(super) fn checked(path: &str) -> Result<String, Rejected> {
    let refuse = |why: &str| {
        Err(Rejected::new(RejectCode::PathEscape, why)
            .in_file(path)
            .hint("a patch names files by their path relative to the working directory, and never git's own"))
    };
    if path.contains('\0') {
        return refuse("the path holds a NUL");
    }
    if path.starts_with('/') {
        return refuse("the path is absolute");
    }
    if path.ends_with('/') {
        return refuse("the path names a folder");
    }
    if path.len() > PATH_BYTES_MAX {
        return refuse("the path is too long");
    }
    let segments: Vec<&str> = path.split('/').filter(|segment| !matches!(*segment, "" | ".")).collect();
    if segments.is_empty() {
        return refuse("the path names no file");
    }
    for segment in &segments {
        if *segment == ".." {
            return refuse("the path has a `..` segment");
        }
        if segment.eq_ignore_ascii_case(".git") {
            return refuse("the path lies in a `.git` folder");
        }
        if segment.len() > SEGMENT_BYTES_MAX {
            return refuse("a name in the path is too long");
        }
    }
    Ok(segments.join("/"))
}
