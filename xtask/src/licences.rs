//! Compares the licence of every crate that is built from with the allow list in `deny.toml`.
//!
//! The same rule as cargo-deny's, without having to build cargo-deny first: an expression is allowed if
//! the choices that it leaves can be made among allowed licences. It reads what crates declare, not their
//! licence files, and looks at the platform it runs on.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::check::{cargo, repo_root};

/// Checks every crate in the lock file that this platform builds.
///
/// # Errors
///
/// A crate without an allowed licence, or nothing to compare with.
pub fn check() -> Result<()> {
    let deny = fs::read_to_string(repo_root().join("deny.toml")).context("can't read deny.toml")?;
    let allowed = allow_list(&deny)?;
    let refused = refused(&metadata()?, &allowed)?;
    if !refused.is_empty() {
        bail!("licences that deny.toml does not allow:\n  {}", refused.join("\n  "));
    }
    Ok(())
}

fn allow_list(deny: &str) -> Result<BTreeSet<String>> {
    let deny: toml::Table = deny.parse().context("deny.toml is no TOML")?;
    let list = deny.get("licenses").and_then(|licences| licences.get("allow")).and_then(toml::Value::as_array);
    let list = list.context("deny.toml has no list `allow` under `[licenses]`")?;
    Ok(list.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect())
}

fn metadata() -> Result<Value> {
    let host = target()?;
    let output = cargo()
        .args(["metadata", "--locked", "--format-version", "1", "--filter-platform", &host])
        .current_dir(repo_root())
        .output()
        .context("can't start cargo")?;
    if !output.status.success() {
        bail!("`cargo metadata` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    serde_json::from_slice(&output.stdout).context("`cargo metadata` printed no JSON")
}

/// The platform's name as rustc has it.
fn target() -> Result<String> {
    let output = std::process::Command::new("rustc").arg("-vV").output().context("can't start rustc")?;
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("`rustc -vV` does not name its host")
}

/// The crates whose licence is not allowed, with that licence.
fn refused(metadata: &Value, allowed: &BTreeSet<String>) -> Result<Vec<String>> {
    let packages = metadata["packages"].as_array().context("`cargo metadata` lists no packages")?;
    let is_refused =
        |package: &&Value| !package["license"].as_str().is_some_and(|licence| is_allowed(licence, allowed));
    let told = |package: &Value| {
        let licence = package["license"].as_str().unwrap_or("no licence declared");
        format!("{} {}: {licence}", package["name"].as_str().unwrap_or("?"), package["version"].as_str().unwrap_or("?"))
    };
    Ok(packages.iter().filter(is_refused).map(told).collect())
}

/// Returns true if `expression` (SPDX, or the old `A/B`) can be satisfied from `allowed`. An expression that can't be
/// read is not allowed.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    any_of(&mut rest, allowed) == Some(true) && rest.is_empty()
}

/// `all-of OR all-of ...`; `None` if it can't be read.
fn any_of(rest: &mut &[&str], allowed: &BTreeSet<String>) -> Option<bool> {
    let mut is_any = all_of(rest, allowed)?;
    while let ["OR", after @ ..] = *rest {
        *rest = after;
        is_any |= all_of(rest, allowed)?;
    }
    Some(is_any)
}

/// `licence AND licence ...`
fn all_of(rest: &mut &[&str], allowed: &BTreeSet<String>) -> Option<bool> {
    let mut are_all = licence(rest, allowed)?;
    while let ["AND", after @ ..] = *rest {
        *rest = after;
        are_all &= licence(rest, allowed)?;
    }
    Some(are_all)
}

/// `NAME`, `NAME WITH EXCEPTION`, or an expression in parentheses.
fn licence(rest: &mut &[&str], allowed: &BTreeSet<String>) -> Option<bool> {
    match *rest {
        ["(", after @ ..] => {
            *rest = after;
            let inside = any_of(rest, allowed)?;
            *rest = rest.strip_prefix(&[")"])?;
            Some(inside)
        }
        ["OR" | "AND" | "WITH" | ")", ..] | [] => None,
        [name, "WITH", exception, after @ ..] => {
            *rest = after;
            Some(allowed.contains(&format!("{name} WITH {exception}")))
        }
        [name, after @ ..] => {
            *rest = after;
            Some(allowed.contains(*name))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expression_is_allowed_if_its_choices_can_be_made() {
        #[track_caller]
        fn check(expression: &str, expected: bool) {
            let allowed = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).into();
            assert_eq!(is_allowed(expression, &allowed), expected, "{expression}");
        }
        check("MIT", true);
        check("GPL-3.0", false);
        check("GPL-3.0 OR MIT", true);
        check("MIT/GPL-3.0", true);
        check("MIT AND GPL-3.0", false);
        check("(MIT OR GPL-3.0) AND ISC", true);
        check("(MIT OR ISC) AND GPL-3.0", false);
        check("GPL-3.0 AND MIT OR ISC", true);
        check("Apache-2.0 WITH LLVM-exception", true);
        check("Apache-2.0", false);
        check("MIT WITH some-exception", false);
        check("", false);
        check("MIT OR", false);
        check("(MIT", false);
        check("MIT ISC", false);
    }

    #[test]
    fn a_crate_that_declares_nothing_is_refused_by_name() {
        let metadata = serde_json::json!({"packages": [
            {"name": "good", "version": "1.0.0", "license": "MIT"},
            {"name": "bare", "version": "0.1.0", "license": null},
        ]});
        let allowed = ["MIT".to_owned()].into();
        assert_eq!(refused(&metadata, &allowed).unwrap(), ["bare 0.1.0: no licence declared"]);
    }
}
