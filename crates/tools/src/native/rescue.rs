//! Keeps the files that a call may destroy, before it is made.

use std::path::Path;

use adjutant_core::gate::rescue::Extent;
use adjutant_core::gate::{self, Places, shell::Programs};
use adjutant_core::words::tool::ToolCall;
use adjutant_host::rescue::{Occasion, Rescues};
use adjutant_ports::{Prepared, RescueName, Rescued};

use super::{Inner, Shell};

impl Inner {
    pub(super) fn rescue(
        &self,
        (places, programs): (&Places, &Programs),
        name: RescueName<'_>,
        call: &ToolCall,
        prepared: &Prepared,
    ) -> Result<Option<Rescued>, String> {
        let runs_nothing = call.malformed.is_some() || (call.name == "shell_exec" && self.shell == Shell::Disabled);
        if runs_nothing {
            return Ok(None);
        }
        let effects = gate::effects_of_call(call, places, programs);
        let Some(extent) = gate::rescue::extent(&effects, &prepared.changes) else { return Ok(None) };
        let extent = self.through_links(extent);
        let rescues = Rescues::of(Path::new(&places.runtime_home), name.run);
        let occasion = Occasion { name: name.call, before: &call.name, even_if_empty: false };
        let kept = rescues.keep(&self.workdir, &extent, occasion).map_err(|error| error.to_string())?;
        Ok(kept.map(|kept| {
            let (files, bytes) = kept.manifest.size();
            // What can't be named counts as one more.
            let left_out = kept.manifest.left_out.len() as u64 + u64::from(!kept.manifest.is_complete);
            Rescued { reference: kept.manifest.reference, folder: kept.folder, files, bytes, left_out }
        }))
    }

    /// Returns the extent with what its paths lead to: a command that writes to a link changes the file behind it, one
    /// that deletes a link only the link.
    fn through_links(&self, extent: Extent) -> Extent {
        let Extent::Paths(paths) = extent else { return extent };
        let mut all = Vec::new();
        for path in &paths {
            let Ok(named) = self.workdir.resolve(path) else {
                all.push(path.clone());
                continue;
            };
            let folder = named.as_str().rsplit_once('/').map_or(".", |(folder, _)| folder);
            let folder = self.workdir.resolve(folder).and_then(|folder| self.workdir.real_place(&folder));
            let itself = folder.ok().and_then(|folder| folder.path.join(named.name()));
            all.push(itself.unwrap_or_else(|| named.clone()).to_string());
            all.extend(self.workdir.real_place(&named).ok().map(|place| place.path.to_string()));
        }
        if all.iter().any(|path| path == ".") {
            return Extent::Whole;
        }
        all.sort_unstable();
        all.dedup();
        Extent::Paths(all)
    }
}
