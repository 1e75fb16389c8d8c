//! The protected places, which no wildcard reaches: the root, system folders, home, the workdir itself and the folders
//! above it, `.git`, our own home, other people's homes.
//!
//! In: one effect and the places. Out: which protected place it would delete or overwrite, if any. Compared by
//! text; a pattern counts as reaching whatever it could match, so that a doubt is asked about. A working folder
//! that lies in a system folder is still the agent's own.
//!
//! Begin with [`protected`].

use super::effect::{Act, Effect, Target, UNKNOWN};
use super::effects::is_git_name;
use super::places::Places;

/// A protected place that an effect would destroy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Protected {
    /// Its path: that of the place, or of the target if all that lies in the place is protected.
    pub path: String,
    /// Name of the place: `the workdir itself`.
    pub what: &'static str,
}

/// The protected part of a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProtectedExtent {
    /// The place as a whole; single files in it are not.
    Whole,
    /// Whatever lies in it too.
    Tree,
}

/// The folder of the workdir in which a run says how it stands, and what it is called.
const STATE_FOLDER: &str = ".adjutant";
const STATE: &str = "Adjutant's folder in the workdir";

/// Folders of the system that are protected as a whole.
const SYSTEM_WHOLE: [&str; 24] = [
    "/home", "/Users", "/opt", "/srv", "/var", "/var/lib", "/var/log", "/usr", "/usr/local", "/usr/share", "/tmp",
    "/run", "/mnt", "/media", "/snap", "/nix", "/private", "/private/var", "/Library", "/Applications", "/Volumes",
    "/cores", "/lost+found", "/var/tmp",
];

/// Folders of the system of which each file is protected: what is lost there is the machine.
const SYSTEM_TREES: [&str; 16] = [
    "/etc", "/boot", "/dev", "/proc", "/sys", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr/bin", "/usr/sbin",
    "/usr/lib", "/usr/lib64", "/System", "/private/etc",
];

/// Devices that can be written to without losing anything.
const HARMLESS_DEVICES: [&str; 8] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/stdout", "/dev/stderr", "/dev/fd/*", "/dev/shm/**"];

/// The most `**` that a pattern may have. One with more is taken to reach everything, since each multiplies the ways
/// in which it can match.
const DEEP_WILDCARDS_MAX: usize = 3;

/// The protected place that `effect` would delete or overwrite; `None` if there is none.
///
/// Something recursive whose target can't be known may be any of them.
#[must_use]
pub fn protected(effect: &Effect, places: &Places) -> Option<Protected> {
    let (target, destroys) = match &effect.act {
        Act::Delete(target) | Act::Overwrite(target) => (target, true),
        // What is changed for a whole tree at once counts as overwritten.
        Act::Write(target) => (target, target.is_recursive),
        Act::Contact { .. } | Act::Denied { .. } | Act::Unreadable | Act::Other => return None,
    };
    if target.path == UNKNOWN {
        let may_be_any = destroys && target.is_recursive;
        return may_be_any.then(|| Protected { path: UNKNOWN.to_owned(), what: "something that can't be known" });
    }
    let found = |what: &'static str| Protected { path: target.path.clone(), what };
    if let Some(of_others) = target.path.strip_prefix('~') {
        return match of_others.strip_prefix('/') {
            // A home that is not known: only as a whole.
            Some(below) => (destroys && covers_everything(below)).then(|| found("the home folder")),
            None if of_others.is_empty() => destroys.then(|| found("the home folder")),
            None => Some(found("another user's home")),
        };
    }
    let aim = Aim::new(target, places);
    if aim.is_gits_own() {
        return Some(found("git's own folder"));
    }
    let workdir = segments(&places.workdir);
    let home = segments(&places.home);
    let runtime_home = segments(&places.runtime_home);
    let mut roots: Vec<(Vec<&str>, &'static str, ProtectedExtent)> = vec![
        (workdir.clone(), "the workdir itself", ProtectedExtent::Whole),
        ([workdir.as_slice(), &[".git"]].concat(), "git's own folder", ProtectedExtent::Tree),
        ([workdir.as_slice(), &[STATE_FOLDER]].concat(), STATE, ProtectedExtent::Tree),
    ];
    if !home.is_empty() {
        roots.push((home.clone(), "the home folder", ProtectedExtent::Whole));
    }
    let is_own = |root: &[&str]| {
        [&workdir, &home].iter().any(|own| !own.is_empty() && own.starts_with(root) && aim.lies_in(own))
    };
    // A copy of the workdir lies in our home, and is the agent's all the same.
    let is_copy = !workdir.is_empty() && workdir.starts_with(&runtime_home) && aim.lies_in(&workdir);
    if !runtime_home.is_empty() && !is_copy {
        roots.push((runtime_home, "Adjutant's own home", ProtectedExtent::Tree));
    }
    roots.push((Vec::new(), "the root of the file system", ProtectedExtent::Whole));
    let parents = (1..workdir.len()).rev().map(|length| workdir[..length].to_vec());
    roots.extend(parents.map(|parent| (parent, "a folder that the workdir lies in", ProtectedExtent::Whole)));
    if let Some(root) = aim.in_home_of_others(&[&workdir, &home]) {
        roots.push((root, "another user's home", ProtectedExtent::Tree));
    }
    // A workdir or a home may lie in `/dev/shm` too, and is protected there as anywhere.
    if !aim.is_harmless_device() {
        let system = SYSTEM_WHOLE.iter().map(|path| (path, ProtectedExtent::Whole));
        let system = system.chain(SYSTEM_TREES.iter().map(|path| (path, ProtectedExtent::Tree)));
        let system = system.map(|(path, extent)| (segments(path), "a folder of the system", extent));
        roots.extend(system.filter(|(root, _, extent)| *extent == ProtectedExtent::Whole || !is_own(root)));
    }

    // The place that is named speaks before one that merely lies below.
    let hit = roots.into_iter().rev().filter_map(|(root, what, extent)| {
        let reach = match aim.reaches(&root) {
            // Like what git keeps, it is reached by name: `**/*.o` means the files of the work.
            TargetPosition::Within if what == STATE && target.is_pattern && !aim.names_state() => {
                TargetPosition::Misses
            }
            reach => reach,
        };
        let is_hit = match reach {
            TargetPosition::Misses => false,
            TargetPosition::Above | TargetPosition::Whole => destroys || extent == ProtectedExtent::Tree,
            TargetPosition::Within => extent == ProtectedExtent::Tree,
        };
        is_hit.then_some((reach, root, what, extent))
    });
    let (_, root, what, extent) = hit.max_by_key(|(reach, ..)| *reach)?;
    let names_root = extent == ProtectedExtent::Whole && target.is_pattern;
    let path = if names_root { places.plain(".", &format!("/{}", root.join("/"))) } else { target.path.clone() };
    Some(Protected { path, what })
}

/// The position of a target relative to a root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum TargetPosition {
    /// It lies elsewhere, or only somewhere above without what is below.
    Misses,
    /// It lies in the root.
    Within,
    /// It is a folder above, with all that is below.
    Above,
    /// It is the root, or all that is directly in it.
    Whole,
}

/// A target as an absolute path in segments, each of which may have wildcards.
struct Aim {
    segments: Vec<String>,
    is_recursive: bool,
    is_pattern: bool,
}

impl Aim {
    fn new(target: &Target, places: &Places) -> Self {
        let path = target.path.as_str();
        let absolute = if path.starts_with('/') { path.to_owned() } else { format!("{}/{path}", places.workdir) };
        let mut segments: Vec<String> = segments(&absolute).into_iter().map(str::to_owned).collect();
        segments.dedup_by(|later, earlier| later == "**" && earlier == "**");
        Self { segments, is_recursive: target.is_recursive, is_pattern: target.is_pattern }
    }

    /// True if a segment is `.git`, or a pattern of hidden names that could match it. Case does not count, because some
    /// file systems ignore it.
    fn is_gits_own(&self) -> bool {
        self.segments.iter().any(|segment| {
            is_git_name(segment)
                || (self.is_pattern && segment.starts_with('.') && is_wild(segment) && matches(segment, ".git"))
        })
    }

    /// True if a segment is the folder of state, or a pattern of hidden names that could match it.
    fn names_state(&self) -> bool {
        self.segments.iter().any(|segment| segment.starts_with('.') && matches(segment, STATE_FOLDER))
    }

    fn lies_in(&self, folder: &[&str]) -> bool {
        self.segments.len() >= folder.len() && self.segments.iter().zip(folder).all(|(own, other)| own == other)
    }

    /// The home of somebody else that the target lies in: not that of an operator known by one of `own`.
    fn in_home_of_others(&self, own: &[&Vec<&str>]) -> Option<Vec<&str>> {
        let mut names = self.segments.iter().map(String::as_str);
        let root: Vec<&str> = match names.next()? {
            "root" => vec!["root"],
            homes @ ("home" | "Users") => vec![homes, names.next()?],
            _ => return None,
        };
        let is_ours =
            own.iter().any(|own| own.len() >= root.len() && own.iter().zip(&root).all(|(a, b)| matches(b, a)));
        let is_shared = root.get(1).is_some_and(|name| *name == "Shared");
        (!is_ours && !is_shared).then_some(root)
    }

    fn is_harmless_device(&self) -> bool {
        HARMLESS_DEVICES.iter().any(|device| {
            let device = segments(device);
            let below = device.last() == Some(&"**");
            let fixed = if below { &device[..device.len() - 1] } else { &device[..] };
            let is_long_enough =
                if below { self.segments.len() > fixed.len() } else { self.segments.len() == fixed.len() };
            is_long_enough
                && !self.is_pattern
                && self.segments.iter().zip(fixed).all(|(own, known)| matches(known, own))
        })
    }

    fn reaches(&self, root: &[&str]) -> TargetPosition {
        if self.segments.iter().filter(|segment| *segment == "**").count() > DEEP_WILDCARDS_MAX {
            return TargetPosition::Whole;
        }
        self.walk(&self.segments, root)
    }

    /// Follows the target's segments along the root; `**` stands for any number of them.
    fn walk(&self, own: &[String], root: &[&str]) -> TargetPosition {
        match (own, root) {
            ([], []) => TargetPosition::Whole,
            ([], _) if self.is_recursive => TargetPosition::Above,
            ([], _) => TargetPosition::Misses,
            (rest, []) => {
                let is_everything = self.is_pattern && rest.iter().all(|segment| covers_everything(segment));
                // `*/*` leaves the files beside the folders, `**/*` and `*` leave nothing.
                let at_once = rest.iter().rev().skip(1).all(|segment| segment == "**");
                if is_everything && at_once { TargetPosition::Whole } else { TargetPosition::Within }
            }
            ([first, rest @ ..], [root_first, root_rest @ ..]) if self.is_pattern && first == "**" => {
                // What git keeps is reached by name only: `**/*.o` means the files of the work.
                let deeper = if *root_first == ".git" { TargetPosition::Misses } else { self.walk(own, root_rest) };
                self.walk(rest, root).max(deeper)
            }
            ([first, rest @ ..], [root_first, root_rest @ ..]) => {
                // A folder with a hidden name is only entered by a pattern that says so, as in any shell.
                let is_visible = rest.is_empty() || first.starts_with('.') || !root_first.starts_with('.');
                let could_be = self.is_pattern && is_visible && matches(first, root_first);
                let is_same = first == root_first || could_be;
                if is_same { self.walk(rest, root_rest) } else { TargetPosition::Misses }
            }
        }
    }
}

fn segments(path: &str) -> Vec<&str> {
    path.split('/').filter(|segment| !segment.is_empty() && *segment != ".").collect()
}

fn is_wild(segment: &str) -> bool {
    segment.contains(['*', '?', '['])
}

/// True if a pattern of names leaves out next to nothing: `*`, `.*`, `*.*`, `?*`, `[!.]*`.
fn covers_everything(pattern: &str) -> bool {
    let mut is_open = false;
    let mut has_star = false;
    for c in pattern.chars() {
        match c {
            '[' => is_open = true,
            ']' => is_open = false,
            _ if is_open => {}
            '*' => has_star = true,
            '?' | '.' => {}
            _ => return false,
        }
    }
    has_star
}

/// True if the pattern of a name could match `name`. A class in brackets counts as any character.
fn matches(pattern: &str, name: &str) -> bool {
    let (pattern, name): (Vec<char>, Vec<char>) = (without_classes(pattern), name.chars().collect());
    // Where the latest star stands, and how much of the name it has taken.
    let (mut at, mut in_name, mut star) = (0, 0, None);
    while in_name < name.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, in_name));
                at += 1;
            }
            Some('?') => {
                at += 1;
                in_name += 1;
            }
            Some(c) if *c == name[in_name] => {
                at += 1;
                in_name += 1;
            }
            _ => match star {
                Some((star_at, taken)) => {
                    at = star_at + 1;
                    in_name = taken + 1;
                    star = Some((star_at, taken + 1));
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

fn without_classes(pattern: &str) -> Vec<char> {
    let mut simple = Vec::new();
    let mut rest = pattern;
    while let Some(c) = rest.chars().next() {
        let class_end =
            if c == '[' { rest.get(2..).and_then(|inner| inner.find(']')).map(|end| end + 3) } else { None };
        simple.push(if class_end.is_some() { '?' } else { c });
        rest = &rest[class_end.unwrap_or(c.len_utf8())..];
    }
    simple
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Verdict;
    use crate::words::Category;

    fn effect(act: Act) -> Effect {
        let category = Category::new("filesystem_delete");
        Effect { verdict: Verdict::Destructive, category, act, matched: String::new(), reason: String::new() }
    }

    fn known() -> Places {
        Places {
            workdir: "/home/op/code/w".to_owned(),
            home: "/home/op".to_owned(),
            runtime_home: "/home/op/.adjutant".to_owned(),
            ..Places::default()
        }
    }

    fn of(path: &str, is_recursive: bool, act: fn(Target) -> Act, places: &Places) -> Option<&'static str> {
        let path = if path == UNKNOWN { path.to_owned() } else { places.plain(".", path) };
        let is_pattern = path != UNKNOWN && is_wild(&path);
        protected(&effect(act(Target { path, is_pattern, is_recursive })), places).map(|found| found.what)
    }

    const WORKDIR: Option<&str> = Some("the workdir itself");
    const GIT: Option<&str> = Some("git's own folder");
    const HOME: Option<&str> = Some("the home folder");
    const OWN: Option<&str> = Some("Adjutant's own home");
    const PARENT: Option<&str> = Some("a folder that the workdir lies in");
    const SYSTEM: Option<&str> = Some("a folder of the system");
    const OTHERS: Option<&str> = Some("another user's home");

    #[test]
    fn deleting_a_whole_place_is_known_however_it_is_written() {
        for (path, expected) in [
            (".", WORKDIR),
            ("./", WORKDIR),
            ("*", WORKDIR),
            ("./*", WORKDIR),
            ("**", WORKDIR),
            ("**/*", WORKDIR),
            ("[!.]*", WORKDIR),
            ("?*", WORKDIR),
            ("sub/..", WORKDIR),
            ("/home/op/code/w", WORKDIR),
            ("../w/*", WORKDIR),
            ("../?", WORKDIR),
            ("..", PARENT),
            ("../*", WORKDIR),
            ("/home/*/code", PARENT),
            (".git", GIT),
            (".GIT/config", GIT),
            (".g*", GIT),
            (".*", GIT),
            ("sub/.git/hooks/x", GIT),
            ("~", HOME),
            ("~/*", HOME),
            ("/home/o*", HOME),
            ("/", Some("the root of the file system")),
            ("~/.adjutant", OWN),
            ("~/.adjutant/keys.toml", OWN),
            ("~/.adj*", OWN),
            ("/usr", SYSTEM),
            ("/usr/*", SYSTEM),
            ("/e*", SYSTEM),
            ("/etc/passwd", SYSTEM),
            ("/dev/sda", SYSTEM),
            ("/root/x", OTHERS),
            ("/home/bob", OTHERS),
            ("/home/bob/x/y", OTHERS),
            ("~bob/x", OTHERS),
            ("/Users/bob/x", OTHERS),
            (UNKNOWN, Some("something that can't be known")),
            ("target", None),
            ("src/*", None),
            ("*/*", None),
            ("*.o", None),
            ("**/*.o", None),
            ("src/**", None),
            (".gitignore", None),
            (".cache*", None),
            ("..foo", None),
            ("/home/op/other", None),
            ("../other/*", None),
            ("/tmp/x", None),
            ("/usr/local/share/x", None),
            ("/opt/tool", None),
        ] {
            assert_eq!(of(path, true, Act::Delete, &known()), expected, "{path}");
        }
    }

    #[test]
    fn one_file_in_a_place_is_only_protected_where_each_is() {
        for (path, expected) in [
            ("*", WORKDIR),
            ("/home/op", HOME),
            ("/home", PARENT),
            ("a/b", None),
            (UNKNOWN, None),
            ("/dev/null", None),
            ("/dev/shm/x", None),
            ("/dev/fd/3", None),
            ("/dev/shm", SYSTEM),
        ] {
            assert_eq!(of(path, false, Act::Overwrite, &known()), expected, "{path}");
        }
        for (path, is_recursive, expected) in [
            (".", false, None),
            (".", true, WORKDIR),
            (".git/hooks/pre-commit", false, GIT),
            ("~/.adjutant/config.toml", false, OWN),
            ("/etc/hosts", false, SYSTEM),
            ("/home/bob/.ssh/authorized_keys", false, OTHERS),
            ("/usr", true, SYSTEM),
            ("a", true, None),
        ] {
            assert_eq!(of(path, is_recursive, Act::Write, &known()), expected, "{path}");
        }
    }

    #[test]
    fn a_workdir_anywhere_is_the_agents_own() {
        let at = |workdir: &str| Places { workdir: workdir.to_owned(), ..Places::default() };
        assert_eq!(of("a", true, Act::Delete, &at("/etc/nixos")), None);
        assert_eq!(of("..", true, Act::Delete, &at("/etc/nixos")), PARENT);
        assert_eq!(of("../passwd", true, Act::Delete, &at("/etc/nixos")), SYSTEM);
        assert_eq!(of("a/b", true, Act::Delete, &at("/home/bob/w")), None);
        assert_eq!(of("/home/bob/x", true, Act::Delete, &at("/home/bob/w")), None);
        assert_eq!(of("x", true, Act::Delete, &at("/root/w")), None);
        assert_eq!(of("etc", true, Act::Delete, &at("/")), SYSTEM);
        assert_eq!(of("~/x", true, Act::Delete, &at("/w")), None);
        assert_eq!(of("~/*", true, Act::Delete, &at("/w")), HOME);
        let inside = Places { runtime_home: "/w/.home".to_owned(), ..at("/w") };
        assert_eq!(of(".home/sessions/x", false, Act::Write, &inside), OWN);
        let copy = Places { runtime_home: "/h".to_owned(), ..at("/h/workdirs/a") };
        assert_eq!(of("x", true, Act::Delete, &copy), None);
        assert_eq!(of("../b/x", true, Act::Delete, &copy), OWN);
        assert_eq!(of("../../keys.toml", false, Act::Write, &copy), OWN);
        assert_eq!(of("../*", true, Act::Delete, &copy), WORKDIR);
        let in_memory = Places {
            home: "/dev/shm/h".to_owned(),
            runtime_home: "/dev/shm/h/.adjutant".to_owned(),
            ..at("/dev/shm/h/w")
        };
        assert_eq!(of(".", true, Act::Delete, &in_memory), WORKDIR);
        assert_eq!(of("..", true, Act::Delete, &in_memory), HOME);
        assert_eq!(of("../.adjutant/keys.toml", false, Act::Write, &in_memory), OWN);
        assert_eq!(of("/dev/shm", true, Act::Delete, &in_memory), PARENT);
        assert_eq!(of("a", true, Act::Delete, &in_memory), None);
        assert_eq!(of("/dev/shm/x", true, Act::Delete, &in_memory), None);
        let above = Places { runtime_home: "/srv/data/home".to_owned(), ..at("/w") };
        assert_eq!(of("/srv/data", true, Act::Delete, &above), OWN);
        assert_eq!(of("/srv/data", false, Act::Delete, &above), None);
    }

    #[test]
    fn a_pattern_of_names_matches_whatever_it_could() {
        for (pattern, name, could) in [
            ("*", "", true),
            ("a*c*", "abcd", true),
            ("a?c", "abc", true),
            ("[xyz]b", "ab", true),
            ("[]]b", "ab", true),
            ("[ab", "[ab", true),
            ("a*b", "ac", false),
            ("a", "ab", false),
            ("", "a", false),
            ("é*", "éa", true),
        ] {
            assert_eq!(matches(pattern, name), could, "{pattern} {name}");
        }
    }
}
