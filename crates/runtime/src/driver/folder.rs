//! The folder while the run stands still, and what others change in it meanwhile.

use adjutant_core::gate::custody::FolderChange;
use adjutant_core::procedure::{Begun, Procedure};
use adjutant_core::trace::{Body, Entry, HostEvent};
use adjutant_core::words::Part;

use super::{DriveError, Driver, Standing};

impl<P: Procedure> Driver<'_, P> {
    /// Keeps how the folder is, if nothing of the run is at work from now on: all that is open waits for an operator.
    pub(super) async fn stand_still(&mut self) {
        // A short wait of its own is no time in which anybody else comes.
        let is_let_go = self.lets_sleep && self.is_idle();
        let waits = |begun: &Begun| matches!(begun, Begun::Question(_)) || is_let_go;
        if self.standing == Standing::AtWork
            && self.preparing.is_none()
            && let Some(run) = &self.facts.run_id
            && self.drive.ledger().open().all(|(_, open)| waits(&open.begun))
        {
            self.ports.tools.stand_still(run).await;
            self.standing = Standing::Still;
        }
    }

    /// Puts on record what others changed in the folder while the run stood still, before anything of it begins.
    pub(super) async fn go_on(&mut self) -> Result<(), DriveError> {
        self.standing = Standing::AtWork;
        let Some(run) = &self.facts.run_id else { return Ok(()) };
        match self.ports.tools.go_on(run).await {
            Some(change) => {
                self.checked_out = None;
                self.folder_changed(change)
            }
            None => Ok(()),
        }
    }

    pub(super) fn folder_changed(&mut self, change: FolderChange) -> Result<(), DriveError> {
        let FolderChange { paths, more, head_before, head_now } = change;
        let body = Body::Host(HostEvent::FolderChanged { paths, more, head_before, head_now });
        self.write(Entry { part: Part::root(), body })
    }

    /// Puts on record that somebody checked out something else while an agent was asked; says whether somebody did.
    pub(super) fn is_elsewhere(&mut self) -> Result<bool, DriveError> {
        let Some(before) = self.checked_out.take() else { return Ok(false) };
        match FolderChange::of(Vec::new(), before, self.ports.tools.checked_out()) {
            Some(change) => self.folder_changed(change).map(|()| true),
            None => Ok(false),
        }
    }

    /// A run that is over goes on no more: how the folder was is of no use to anybody.
    pub(super) async fn forget_standstill(&mut self) {
        if self.standing == Standing::Still
            && let Some(run) = &self.facts.run_id
        {
            drop(self.ports.tools.go_on(run).await);
        }
    }
}
