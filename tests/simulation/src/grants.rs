//! The grants that a project keeps, and those that its operator revokes at another terminal.

use std::sync::Arc;

use adjutant_core::gate::Grant;
use adjutant_core::trace::{Body, Event, GateEvent};
use adjutant_ports::GrantStore;

use crate::backdrop::{Backdrop, Life};
use crate::fate::PlantedFault;
use crate::scene::SceneMoment;

pub(crate) struct StagedGrants(pub(crate) Arc<Life>);

impl Backdrop {
    /// Takes note of what is revoked by now, of what the project keeps.
    pub(crate) fn revoke_what_is_due(&self) {
        let elapsed = self.elapsed();
        let mut state = self.state();
        let events = state.disk.events.len();
        let has_come = |moment: SceneMoment| match moment {
            SceneMoment::AfterMs(length_ms) => elapsed.as_millis() >= u128::from(length_ms),
            SceneMoment::AfterEvents(length) => events >= length,
        };
        for (_, grant_id) in self.scene.revoked.iter().filter(|(moment, _)| has_come(*moment)) {
            if state.grants.iter().any(|grant| grant.grant_id == *grant_id) {
                state.revoked.entry(grant_id.clone()).or_insert(events as u64);
            }
        }
    }

    /// Returns the grants of the project that a driver finds when it takes the run up.
    pub(crate) fn loaded_grants(&self) -> Vec<Grant> {
        self.revoke_what_is_due();
        let state = self.state();
        state.grants.iter().filter(|grant| !state.revoked.contains_key(&grant.grant_id)).cloned().collect()
    }
}

impl GrantStore for StagedGrants {
    fn revoked(&self, grants: &[&str]) -> Vec<String> {
        let backdrop = &self.0.backdrop;
        if backdrop.fate.planted == Some(PlantedFault::HidesRevocations) {
            return Vec::new();
        }
        backdrop.revoke_what_is_due();
        let revoked = &backdrop.state().revoked;
        grants.iter().filter(|grant| revoked.contains_key(**grant)).map(|grant| (*grant).to_owned()).collect()
    }

    fn keep(&self, grant: &Grant) -> Result<(), String> {
        let Self(life) = self;
        let backdrop = &life.backdrop;
        life.begins(format!("keeping {}", grant.grant_id));
        if let Some(fault) = &backdrop.scene.grants_fault {
            return Err(fault.clone());
        }
        let mut state = backdrop.state();
        let is_its = |event: &Event| matches!(&event.body, Body::Gate(GateEvent::GrantKeep { grant_id, .. }) if *grant_id == grant.grant_id);
        let on_record = state.disk.on_record(is_its);
        state.kept_grants.push((grant.grant_id.clone(), on_record));
        let is_lost = backdrop.fate.planted == Some(PlantedFault::LosesGrants);
        if !is_lost && state.grants.iter().all(|known| known.grant_id != grant.grant_id) {
            state.grants.push(grant.clone());
        }
        drop(state);
        life.tick();
        Ok(())
    }
}
