//! Tools over files in memory, which write down every effect that they have.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use adjutant_core::gate::custody::FolderChange;
use adjutant_core::trace::{Body, CallEvent, Event};
use adjutant_core::words::Look;
use adjutant_core::words::id::WorkspaceId;
use adjutant_core::words::tool::{FileChange, ToolCall, ToolOutput, ToolSpecs};
use adjutant_ports::{CancellationToken, Pending, Prepared, RescueName, Rescued, Settled, Tools, Workspaces};

use crate::backdrop::{HadEffect, Life};
use crate::fate::PlantedFault;
use crate::scene::staged_panic;
use crate::sessions::tools;

pub(crate) struct StagedTools {
    pub(crate) life: Arc<Life>,
    pub(crate) specs: ToolSpecs,
    /// The folder of the workspace; `None` for the run's own.
    pub(crate) folder: Option<WorkspaceId>,
}

/// The workspaces of a scene: a folder for each, in the same files.
pub(crate) struct StagedWorkspaces(pub(crate) Arc<Life>);

impl Workspaces for StagedWorkspaces {
    fn tools(&self, workspace: &WorkspaceId) -> Option<Arc<dyn Tools>> {
        let is_there = self.0.backdrop.scene.workspaces.contains(workspace.as_str());
        let folder = Some(workspace.clone());
        is_there.then(|| Arc::new(StagedTools { life: self.0.clone(), specs: tools(), folder }) as Arc<dyn Tools>)
    }
}

impl StagedTools {
    /// Returns the place of a path of the workspace among all files.
    fn place(&self, path: &str) -> String {
        self.folder.as_ref().map_or_else(|| path.to_owned(), |folder| format!("{folder}/{path}"))
    }

    async fn carry_out(&self, call: &ToolCall, prepared: &Prepared) -> ToolOutput {
        let life = &self.life;
        life.lives().await;
        life.begins(format!("call {}", call.call_id));
        let place = {
            let mut state = life.backdrop.state();
            let is_intent = |event: &Event| matches!(&event.body, Body::Call(CallEvent::ToolCall { call_id, .. }) if *call_id == call.call_id);
            let on_record = state.disk.on_record(is_intent);
            let (call_id, tool) = (call.call_id.clone(), call.name.clone());
            state.effects.push(HadEffect { call_id, tool, on_record, was_had: false, life: life.number });
            state.effects.len() - 1
        };
        life.step().await;
        panics_when(call, "before");
        match call.args["takes_ms"].as_u64() {
            Some(length_ms) => tokio::time::sleep(Duration::from_millis(length_ms)).await,
            None => life.takes(&format!("call {}", call.call_id), 100).await,
        }
        life.lives().await;
        let content = {
            let mut state = life.backdrop.state();
            let is_as_it_was =
                |change: &FileChange| state.files.get(&self.place(&change.path)) == change.before.as_ref();
            if !prepared.changes.iter().all(is_as_it_was) {
                return ToolOutput::failed("CHANGED_MEANWHILE", "somebody else changed the file");
            }
            state.effects[place].was_had = true;
            if life.backdrop.fate.planted == Some(PlantedFault::HasEffectsTwice) {
                let again = state.effects[place].clone();
                state.effects.push(again);
            }
            match call.name.as_str() {
                "write_file" => {
                    let (path, content) = path_and_content(call);
                    state.files.insert(self.place(&path), content);
                    format!("wrote {path}")
                }
                "read_file" => format!("{:?}", state.files),
                name => match call.args["prints_bytes"].as_u64() {
                    Some(bytes) => "much ".repeat(usize::try_from(bytes).expect("a small number") / 5),
                    None => format!("{name} worked"),
                },
            }
        };
        panics_when(call, "after");
        life.step().await;
        life.takes(&format!("end of {}", call.call_id), 20).await;
        ToolOutput::worked(content)
    }
}

fn panics_when(call: &ToolCall, when: &str) {
    if call.args["panics"] == when {
        staged_panic();
    }
}

fn path_and_content(call: &ToolCall) -> (String, String) {
    let text = |name: &str| call.args[name].as_str().unwrap_or_default().to_owned();
    (text("path"), text("content"))
}

impl Tools for StagedTools {
    fn specs(&self) -> ToolSpecs {
        self.specs.clone()
    }

    fn prepare<'a>(&'a self, call: &'a ToolCall) -> Pending<'a, Prepared> {
        Box::pin(async move {
            if call.name != "write_file" {
                return Prepared::default();
            }
            self.life.takes(&format!("preparing {}", call.call_id), 10).await;
            panics_when(call, "preparing");
            let (path, content) = path_and_content(call);
            let before = self.life.backdrop.state().files.get(&self.place(&path)).cloned();
            Prepared { changes: vec![FileChange { path, before, after: Some(content) }], ..Prepared::default() }
        })
    }

    fn rescue<'a>(
        &'a self,
        name: RescueName<'a>,
        call: &'a ToolCall,
        _: &'a Prepared,
    ) -> Pending<'a, Result<Option<Rescued>, String>> {
        Box::pin(async move {
            let (life, scene) = (&self.life, &self.life.backdrop.scene);
            if !scene.rescued.contains(call.name.as_str()) {
                return Ok(None);
            }
            match call.args["rescue_ms"].as_u64() {
                Some(length_ms) => tokio::time::sleep(Duration::from_millis(length_ms)).await,
                None => life.takes(&format!("rescuing {}", call.call_id), 40).await,
            }
            life.step().await;
            panics_when(call, "rescue");
            if let Some(fault) = &scene.rescue_fault {
                return Err(fault.clone());
            }
            *life.backdrop.state().rescues.entry(name.call.to_owned()).or_default() += 1;
            life.step().await;
            let folder = PathBuf::from("/rescues").join(name.call);
            Ok(Some(Rescued { reference: None, folder, files: 1, bytes: 1, left_out: 0 }))
        })
    }

    fn call<'a>(
        &'a self,
        call: &'a ToolCall,
        prepared: &'a Prepared,
        cancel: CancellationToken,
    ) -> Pending<'a, ToolOutput> {
        Box::pin(async move {
            tokio::select! {
                biased;
                output = self.carry_out(call, prepared) => output,
                () = cancel.cancelled() => ToolOutput::failed("CANCELLED", "cancelled"),
            }
        })
    }

    fn look<'a>(&'a self, _: &'a str, look: Look) -> Pending<'a, Result<Vec<String>, String>> {
        Box::pin(async move {
            self.life.lives().await;
            self.life.begins("look");
            self.life.takes(&format!("{look:?}"), 30).await;
            if self.life.backdrop.scene.look_panics {
                staged_panic();
            }
            Ok(Vec::new())
        })
    }

    fn go_on<'a>(&'a self, _: &'a str) -> Pending<'a, Option<FolderChange>> {
        Box::pin(std::future::ready(None))
    }

    fn settle<'a>(&'a self, changes: &'a [FileChange]) -> Pending<'a, Settled> {
        Box::pin(async move {
            self.life.takes("settling", 5).await;
            if self.life.backdrop.fate.planted == Some(PlantedFault::DeniesEffects) {
                return Settled::NotMade;
            }
            let state = self.life.backdrop.state();
            let are = |wanted: fn(&FileChange) -> &Option<String>| {
                changes.iter().all(|change| state.files.get(&self.place(&change.path)) == wanted(change).as_ref())
            };
            match (are(|change| &change.after), are(|change| &change.before)) {
                (true, _) => Settled::Made,
                (false, true) => Settled::NotMade,
                (false, false) => Settled::Unknown,
            }
        })
    }
}
