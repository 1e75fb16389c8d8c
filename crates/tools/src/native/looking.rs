//! Looks at the working tree as a whole: for scope custody, and for changes by others while a run stands still.

use std::io;
use std::path::PathBuf;
use std::sync::PoisonError;

use adjutant_core::gate::custody::FolderChange;
use adjutant_core::words::Look;
use adjutant_host::standstill::{self, Standstill};
use adjutant_host::working_tree::{self, Tree};

use super::NativeTools;

impl NativeTools {
    /// See [`Tools::look`](adjutant_ports::Tools::look). How the tree was is kept in the home; of a run of which
    /// nothing stays, in this process.
    pub(super) async fn look_at_tree(&self, run: &str, look: Look) -> Result<Vec<String>, String> {
        let tools = self.clone();
        let kept =
            self.rescue_in.as_ref().map(|(places, _)| PathBuf::from(&places.runtime_home).join(working_tree::KEPT_IN));
        let kept = kept.map(|folder| folder.join(run));
        let looked = tokio::task::spawn_blocking(move || {
            let workdir = tools.inner.workdir.root();
            let mut passing = tools.passing.lock().unwrap_or_else(PoisonError::into_inner);
            match (look, kept) {
                (Look::Before, Some(kept)) => Tree::now(workdir)?.save(&kept).map(|()| Vec::new()),
                (Look::Before, None) => {
                    *passing = Some(Tree::now(workdir)?);
                    Ok(Vec::new())
                }
                (Look::After, Some(kept)) => Tree::load(&kept)?.changed(workdir),
                (Look::After, None) => match passing.as_ref() {
                    Some(before) => before.changed(workdir),
                    None => Err(io::Error::other("how it was before the first call is not known")),
                },
            }
        });
        match looked.await {
            Ok(looked) => looked.map_err(|error| error.to_string()),
            Err(failure) => Err(format!("the look itself failed: {failure}")),
        }
    }

    /// See [`Tools::stand_still`](adjutant_ports::Tools::stand_still).
    pub(super) async fn keep_standstill(&self, run: &str) {
        let (tools, kept) = (self.clone(), self.standstill_file(run));
        let looked = tokio::task::spawn_blocking(move || {
            let now = Standstill::of(tools.inner.workdir.root())?;
            match kept {
                Some(kept) => now.save(&kept),
                None => {
                    *tools.standstill.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
                    Ok(())
                }
            }
        });
        // What can't be kept is not compared: no run is held up by it.
        drop(looked.await);
    }

    /// See [`Tools::go_on`](adjutant_ports::Tools::go_on).
    pub(super) async fn end_standstill(&self, run: &str) -> Option<FolderChange> {
        let (tools, kept) = (self.clone(), self.standstill_file(run));
        let looked = tokio::task::spawn_blocking(move || {
            let before = match kept {
                Some(kept) => Standstill::take(&kept).ok(),
                None => tools.standstill.lock().unwrap_or_else(PoisonError::into_inner).take(),
            };
            before?.changed(tools.inner.workdir.root()).ok().flatten()
        });
        looked.await.ok().flatten()
    }

    /// Returns the file that keeps the state of the folder while `run` stands still; `None` for a run that leaves
    /// nothing behind.
    fn standstill_file(&self, run: &str) -> Option<PathBuf> {
        let (places, _) = self.rescue_in.as_ref()?;
        Some(PathBuf::from(&places.runtime_home).join(standstill::KEPT_IN).join(run))
    }
}
