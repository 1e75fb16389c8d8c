//! Resumes one run for a worker, by what its mailbox says. The worker asks no operator, even if one is at the terminal.

use std::sync::Arc;

use adjutant_core::trace::{Body, Event, RunEvent};
use adjutant_core::words::id::RunId;
use adjutant_ports::CancellationToken;
use adjutant_runtime::Unattended;
use adjutant_runtime::assembly::{self, Remark, ResumeChanges, TakeOver, TakenOver};
use adjutant_store::{Damage, Mailbox, runs};
use jiff::Timestamp;

use crate::failure::Failure;
use crate::folder::{self, FolderArgs, FolderPrompt};
use crate::loop_hand::HandFiles;
use crate::render::Renderer;
use crate::screen::Screen;
use crate::settings::{self, Place};
use crate::sitting::{self, SittingPlace};

/// A run that a worker goes on with.
pub(super) struct GoingOn {
    /// The very run: its name alone might mean a later one of its brief.
    pub(super) run_id: RunId,
    /// Cancelled when the worker ends.
    pub(super) stop: CancellationToken,
    /// True if other runs are shown beside this one.
    pub(super) has_others: bool,
    /// True to print events as JSON.
    pub(super) json: bool,
}

impl GoingOn {
    /// Takes the run over, and drives it as far as it can go.
    pub(super) fn carry_out(&self, place: &Place) -> anyhow::Result<()> {
        let (home, run_id) = (place.home()?, &self.run_id);
        let surroundings = settings::surroundings()?;
        let nobody = FolderArgs::default();
        // A journal that can't be read is told of where it is taken over.
        let beginnings = runs::beginnings(&home, run_id).unwrap_or_default();
        let (recorded, asked) = (beginnings.workdir.as_deref(), FolderPrompt::Nobody);
        let run = TakeOver {
            home: &home,
            surroundings: &surroundings,
            run_id,
            damage: Damage::Refuse,
            changes: ResumeChanges::default(),
            folder: folder::enter_again(&home, &surroundings, run_id, recorded, None, &nobody, asked)?,
            beginnings: beginnings.events,
            is_attended: false,
            recording: None,
        };
        let tell = |remark| match remark {
            Remark::OfConfiguration(text) => tell!("warning: run {run_id}: {text}"),
            other => settings::remark(other),
        };
        let runtime = sitting::runtime()?;
        let taken_over = runtime.block_on(assembly::take_over(run, &tell)).map_err(Failure::unready)?;
        let mut renderer = Renderer::of_worker(self.json, run_id, self.has_others);
        let mut sitting = match taken_over {
            TakenOver::Over(outcome) => {
                renderer.note(&sitting::over_already(run_id, outcome));
                return Ok(());
            }
            TakenOver::GoesOn(sitting) => *sitting,
        };
        let hand = HandFiles::of_loop(&home, run_id, sitting.options());
        runtime.block_on(async {
            let screen = Screen::new(renderer);
            screen.attend(&sitting);
            let (mailbox, since) = (Mailbox::of(&home, run_id), last_sitting(sitting.events()));
            let operator = Arc::new(Unattended::new(mailbox, self.stop.clone(), since, screen.show()));
            screen.note(&sitting::first_line(&sitting, &format!("resuming {run_id}")));
            operator.correspondence().show_skipped();
            if let Some(torn) = sitting::torn(&sitting) {
                screen.note(&torn);
            }
            let at = SittingPlace::of(&sitting, &home, true);
            let (mut driver, opening) = sitting.driver(operator.clone(), &tell);
            opening.record(&mut driver, operator.correspondence().waiting_letters(), Vec::new())?;
            screen.recall(&driver);
            for (key, question) in driver.open_questions() {
                screen.with_renderer(|renderer| renderer.question(&key, &question));
            }
            if let Some(hand) = &hand {
                hand.answer_by_removal(&driver.open_questions());
            }
            driver.let_sleep();
            driver.recover().await?;
            sitting::drive(&mut driver, &screen, &at, hand.as_ref()).await
        })?;
        runtime.shutdown_background();
        sitting::close(sitting)
    }
}

/// Returns the time when the last sitting of a run began; the beginning of time if no sitting is on record.
fn last_sitting(events: &[Event]) -> Timestamp {
    let is_begin = |event: &&Event| matches!(event.body, Body::Run(RunEvent::RunStart(_) | RunEvent::RunResume { .. }));
    events.iter().rev().find(is_begin).map_or(Timestamp::UNIX_EPOCH, |event| event.at)
}
