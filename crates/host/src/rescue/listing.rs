//! Lists the files of an extent of the workdir, and where each is to be kept.

use std::collections::BTreeSet;
use std::io;

use adjutant_core::gate::rescue::Extent;

use super::git::Git;
use crate::workdir::{Kind, WorkPath, Workdir, kept_path};

/// The most entries of folders that are looked at: what lies beyond is neither kept nor named.
const LOOKED_AT_MAX: usize = 200_000;

/// The paths of an extent.
#[derive(Debug, Default)]
pub(super) struct ExtentListing {
    /// Files and links for git.
    pub(super) for_git: Vec<String>,
    /// Files, links and empty folders to be copied.
    pub(super) to_copy: Vec<String>,
    /// Paths that are not kept at all; folders end with `/`.
    pub(super) left_out: Vec<String>,
    /// True if everything that is there is in one of these lists.
    pub(super) is_complete: bool,
}

/// Lists what `extent` is about.
///
/// `git` is the repository around the workdir; without one all is copied. In a repository a folder that git
/// ignores is kept only if it is named: it is what a build can make again. `except` is left alone.
///
/// # Errors
///
/// If git fails.
pub(super) fn list(
    workdir: &Workdir,
    git: Option<&Git>,
    extent: &Extent,
    except: Option<&str>,
) -> io::Result<ExtentListing> {
    let all = [".".to_owned()];
    let paths: &[String] = match extent {
        Extent::Whole => &all,
        Extent::Paths(paths) => paths,
    };
    let mut listing = ExtentListing { is_complete: true, ..ExtentListing::default() };
    let mut walk = ExtentWalk { workdir, except, left: LOOKED_AT_MAX };
    let Some(git) = git else {
        for path in paths {
            walk.below(path, &mut listing);
        }
        return Ok(listing);
    };
    // Git says nothing of its own folder, and would refuse a path outside.
    let is_gits_own = |path: &String| path.split('/').any(|segment| segment.eq_ignore_ascii_case(".git"));
    let (own, others): (Vec<String>, Vec<String>) = paths.iter().cloned().partition(is_gits_own);
    for path in &own {
        walk.below(path, &mut listing);
    }
    if others.is_empty() {
        return Ok(listing);
    }
    let known = git.known(&others)?;
    let ignored = git.ignored(&others, *extent != Extent::Whole)?;
    if *extent != Extent::Whole {
        // Git knows no empty folders and no pipes.
        for path in &others {
            walk.unknown_to_git(path, &mut listing);
        }
    }
    for path in known {
        // A repository within the repository, or a submodule: git would keep its name alone.
        let is_folder = path.ends_with('/') || kind(workdir, &path) == Some(Kind::Folder);
        if is_folder {
            walk.below(path.trim_end_matches('/'), &mut listing);
        } else if !walk.is_excepted(&path) && kind(workdir, &path).is_some() {
            // A line feed would end the name in what git is asked for later.
            if path.contains('\n') { listing.to_copy.push(path) } else { listing.for_git.push(path) }
        }
    }
    for path in ignored.into_iter().filter(|path| !walk.is_excepted(path)) {
        if path.ends_with('/') { listing.left_out.push(path) } else { listing.to_copy.push(path) }
    }
    for paths in [&mut listing.to_copy, &mut listing.left_out] {
        let mut once = BTreeSet::new();
        paths.retain(|path| once.insert(path.clone()));
    }
    Ok(listing)
}

fn kind(workdir: &Workdir, path: &str) -> Option<Kind> {
    workdir.kind(&kept_path(path)?).ok().flatten()
}

/// Walks through folders, not through links.
struct ExtentWalk<'a> {
    workdir: &'a Workdir,
    except: Option<&'a str>,
    left: usize,
}

impl ExtentWalk<'_> {
    fn is_excepted(&self, path: &str) -> bool {
        let below =
            |except: &str| path.strip_prefix(except).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        self.except.is_some_and(below)
    }

    /// Lists `path` and what lies below it, in order.
    fn below(&mut self, path: &str, listing: &mut ExtentListing) {
        let Some(from) = kept_path(path) else {
            listing.is_complete = false;
            return;
        };
        let mut open: Vec<WorkPath> = vec![from];
        while let Some(path) = open.pop() {
            if self.is_excepted(path.as_str()) {
                continue;
            }
            match self.workdir.kind(&path) {
                Ok(Some(Kind::File { .. } | Kind::Link)) => listing.to_copy.push(path.to_string()),
                Ok(Some(Kind::Special)) if self.workdir.is_pipe(&path) => listing.to_copy.push(path.to_string()),
                Ok(Some(Kind::Special)) => listing.left_out.push(path.to_string()),
                Ok(Some(Kind::Folder)) => self.enter(&path, &mut open, listing),
                Ok(None) => {}
                Err(_) => listing.is_complete = false,
            }
        }
    }

    /// Lists the empty folders, pipes and sockets below `path`.
    fn unknown_to_git(&mut self, path: &str, listing: &mut ExtentListing) {
        let left = self.left;
        let mut all = ExtentListing::default();
        self.below(path, &mut all);
        self.left = left;
        let kind = |path: &String| kept_path(path).and_then(|path| self.workdir.kind(&path).ok().flatten());
        let is_unknown = |path: &String| matches!(kind(path), Some(Kind::Folder | Kind::Special));
        listing.to_copy.extend(all.to_copy.into_iter().filter(|path| is_unknown(path)));
        listing.left_out.extend(all.left_out.into_iter().filter(|path| !path.ends_with('/')));
    }

    fn enter(&mut self, folder: &WorkPath, open: &mut Vec<WorkPath>, listing: &mut ExtentListing) {
        let entries = match self.workdir.entries(folder) {
            Ok(entries) if entries.len() <= self.left => entries,
            Ok(_) | Err(_) => {
                listing.left_out.push(format!("{folder}/"));
                return;
            }
        };
        self.left -= entries.len();
        if entries.is_empty() && folder.as_str() != "." {
            listing.to_copy.push(folder.to_string());
        }
        open.extend(entries.iter().rev().filter_map(|entry| folder.join(&entry.name)));
    }
}
