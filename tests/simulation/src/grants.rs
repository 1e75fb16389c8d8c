//! What a project keeps of grants, and what its operator revokes of them at another terminal.

use std::sync::Arc;

use adjutant_core::gate::Grant;
use adjutant_ports::GrantStore;

use crate::backdrop::{Backdrop, Life};
use crate::fate::PlantedFault;
use crate::scene::SceneMoment;

pub(crate) struct StagedGrants(pub(crate) Arc<Life>);

impl Backdrop {
    /// Returns the grants that were revoked so far.
    fn revoked(&self) -> Vec<String> {
        let (elapsed, events) = (self.elapsed(), self.state().disk.events.len());
        let has_come = |moment: SceneMoment| match moment {
            SceneMoment::AfterMs(length_ms) => elapsed.as_millis() >= u128::from(length_ms),
            SceneMoment::AfterEvents(length) => events >= length,
        };
        let revoked = self.scene.revoked.iter().filter(|(moment, _)| has_come(*moment));
        revoked.map(|(_, grant_id)| grant_id.clone()).collect()
    }

    /// Returns what a driver that takes the run up finds of the project's grants.
    pub(crate) fn loaded_grants(&self) -> Vec<Grant> {
        let revoked = self.revoked();
        let kept = self.state().grants.clone();
        kept.into_iter().filter(|grant| !revoked.contains(&grant.grant_id)).collect()
    }
}

impl GrantStore for StagedGrants {
    fn revoked(&self, grants: &[&str]) -> Vec<String> {
        let backdrop = &self.0.backdrop;
        if backdrop.fate.planted == Some(PlantedFault::HidesRevocations) {
            return Vec::new();
        }
        backdrop.revoked().into_iter().filter(|grant_id| grants.contains(&grant_id.as_str())).collect()
    }

    fn keep(&self, grant: &Grant) -> Result<(), String> {
        let kept = &mut self.0.backdrop.state().grants;
        if kept.iter().all(|known| known.grant_id != grant.grant_id) {
            kept.push(grant.clone());
        }
        Ok(())
    }
}
