//! The patch reader: all or nothing, within its bounds, and nothing is written that the gate did not see.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use adjutant_core::gate::shell::Programs;
use adjutant_core::gate::{Act, Places, effects_of};
use adjutant_core::patch::{Lookup, RESULT_BYTES_MAX, plan};
use adjutant_core::words::category::FILESYSTEM_DELETE;
use serde_json::json;

/// Separator between the existing file and the patch.
const BETWEEN: &str = "\n=====\n";

/// The input is a file, [`BETWEEN`], and a patch; each path whose length is even has that file.
pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (file, patch) = text.split_once(BETWEEN).unwrap_or(("", &text));
    let file: Arc<[u8]> = file.as_bytes().into();
    let asked = RefCell::new(BTreeSet::new());
    let look = |path: &str| {
        assert!(asked.borrow_mut().insert(path.to_owned()), "looked up twice: {path}");
        if path.len().is_multiple_of(2) { Lookup::File(file.clone()) } else { Lookup::Absent }
    };
    let Ok(plan) = plan(patch, &look) else { return };

    let mut paths = BTreeSet::new();
    let effects = effects_of("apply_patch", &json!({ "diff": patch }), &Places::default(), Programs::builtin());
    for planned in &plan.files {
        let path = &planned.path;
        assert!(paths.insert(path), "planned twice: {path}");
        assert!(!path.is_empty() && !path.starts_with('/'), "leaves the workdir: {path}");
        assert!(path.split('/').all(|segment| !matches!(segment, "" | "." | "..")), "leaves the workdir: {path}");
        let is_seen = effects.iter().any(|effect| match &effect.act {
            Act::Write(target) | Act::Overwrite(target) | Act::Delete(target) => target.path == *path,
            Act::Contact { .. } | Act::Unreadable | Act::Denied { .. } | Act::Other => false,
        });
        assert!(is_seen, "the gate does not see that `{path}` changes");
        // Where files are renamed, content that is gone from one path may have gone on to another, even twice.
        let deletes = planned.after.is_none() && !patch.contains("rename from ");
        let is_known = effects.iter().any(|effect| effect.category.as_str() == FILESYSTEM_DELETE);
        assert!(!deletes || is_known, "the gate does not see that `{path}` is deleted");
    }
    let bytes: usize = plan.files.iter().filter_map(|file| file.after.as_ref()).map(|after| after.len()).sum();
    assert!(bytes <= RESULT_BYTES_MAX, "{bytes} bytes are too many");
}
