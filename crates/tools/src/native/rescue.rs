//! Keeping what a call may destroy, before it is made.

use std::path::Path;

use adjutant_core::gate::{self, Places, shell::Programs};
use adjutant_core::tool::ToolCall;
use adjutant_host::rescue::{Occasion, Rescues};
use adjutant_ports::{Prepared, RescueName, Rescued};

use super::{Inner, Shell};

impl Inner {
    pub(super) fn rescue(
        &self,
        (places, programs): (&Places, &Programs),
        name: &RescueName<'_>,
        call: &ToolCall,
        prepared: &Prepared,
    ) -> Result<Option<Rescued>, String> {
        let runs_nothing = call.malformed.is_some() || (call.name == "shell_exec" && self.shell == Shell::Disabled);
        if runs_nothing {
            return Ok(None);
        }
        let effects = gate::effects_of(&call.name, &call.args, places, programs);
        let Some(extent) = gate::rescue::extent(&effects, &prepared.changes) else { return Ok(None) };
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
}
