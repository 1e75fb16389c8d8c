//! A run begins and goes on without a terminal, a command line or an environment.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use adjutant_core::inbox::reply::Reply;
use adjutant_core::trace::{AskEvent, Body, RunEvent};
use adjutant_core::words::id::RunId;
use adjutant_core::words::{Choice, Mode, Outcome, QuestionKind};
use adjutant_ports::{CancellationToken, Progress};
use adjutant_runtime::assembly::{
    self, BeginRun, Environment, Keeping, Overrides, Remark, ResumeChanges, RunExtent, Sitting, Surroundings, TakeOver,
    TakenOver, Unready,
};
use adjutant_runtime::waiting::{GivenAnswer, Waiting};
use adjutant_runtime::{DisplayItem, Ended, Unattended};
use adjutant_store::{Damage, Home, Mailbox, Owner, journal, runs};
use jiff::Timestamp;
use tempfile::TempDir;

const BRIEF: &str = "---\nproject: orchard\nbrief_id: 2026-01-01-A\n---\n# Objective\nx\n# Deliverables\ny\n";

/// An agent that says what it understood, then reports.
const SCRIPT: &str = "- |\n  ## Confirmation Summary\n\n  **Objective**: x.\n  **Deliverables**: y.\n  \
                      **Constraints**: none.\n  **Tools required**: none.\n  **Unknowns**: none.\n\
                      - {repeat: forever, text: \"## Phase 4\\n\\nDone.\"}\n";

struct World {
    folder: TempDir,
    /// The remarks that the operator heard.
    told: Mutex<Vec<Remark>>,
    /// True once the end of a run was shown.
    has_shown_end: Arc<AtomicBool>,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("work")).expect("a folder");
        std::fs::write(folder.path().join("script.yaml"), SCRIPT).expect("written");
        Self { folder, told: Mutex::default(), has_shown_end: Arc::default() }
    }

    fn home(&self) -> Home {
        Home::new(self.folder.path().join("home"), None)
    }

    fn surroundings(&self) -> Surroundings {
        Surroundings { environment: Environment::default(), folder: self.folder.path().into(), home_folder: None }
    }

    fn tell(&self, remark: Remark) {
        self.told.lock().expect("no panic").push(remark);
    }

    async fn begin(&self, overrides: Overrides) -> Result<Sitting, Unready> {
        let (home, surroundings) = (self.home(), self.surroundings());
        // Without commands there is no sandbox to try, which takes the program itself.
        let workdir = Some(PathBuf::from("work"));
        let script = overrides.script.clone().or_else(|| Some(PathBuf::from("script.yaml")));
        let overrides = Overrides { workdir, no_shell: true, mode: Some(Mode::Auto), script, ..overrides };
        let brief = adjutant_core::brief::read(BRIEF).brief.expect("a valid brief");
        let settings = assembly::resolve(&home, &surroundings, &overrides, None)?;
        let run = BeginRun {
            home: &home,
            keeping: Keeping::InHome,
            surroundings: &surroundings,
            brief_id: assembly::brief_id(&brief).expect("an id"),
            brief,
            text: BRIEF.to_owned(),
            brief_path: None,
            settings,
            extent: RunExtent::Whole,
            copy: None,
            folder: None,
            is_attended: false,
            recording: None,
        };
        assembly::begin(run, &|remark| self.tell(remark)).await
    }

    async fn take_over(&self, run_id: &RunId) -> Result<TakenOver, Unready> {
        self.take_over_with(run_id, ResumeChanges::default()).await
    }

    async fn take_over_with(&self, run_id: &RunId, changes: ResumeChanges) -> Result<TakenOver, Unready> {
        let (home, surroundings) = (self.home(), self.surroundings());
        let run = TakeOver {
            home: &home,
            surroundings: &surroundings,
            run_id,
            damage: Damage::Refuse,
            changes,
            folder: None,
            is_attended: false,
            recording: None,
            beginnings: runs::beginnings(&home, run_id).unwrap_or_default().events,
        };
        assembly::take_over(run, &|remark| self.tell(remark)).await
    }

    async fn drive(&self, mut sitting: Sitting, stop: CancellationToken) -> Ended {
        let has_shown_end = Arc::clone(&self.has_shown_end);
        let show = Arc::new(move |shown: DisplayItem<'_>| {
            if let DisplayItem::Progress(Progress::Event(event)) = shown
                && matches!(event.body, Body::Run(RunEvent::RunEnd { .. }))
            {
                has_shown_end.store(true, Ordering::Relaxed);
            }
        });
        let mailbox = Mailbox::of(&self.home(), sitting.run_id());
        let operator = Arc::new(Unattended::new(mailbox, stop, Timestamp::UNIX_EPOCH, show));
        let (mut driver, opening) = sitting.driver(operator.clone(), &|remark| self.tell(remark));
        let letters = operator.correspondence().waiting_letters();
        opening.record(&mut driver, letters, Vec::new()).expect("recorded");
        driver.recover().await.expect("recovered");
        let ended = driver.run().await.expect("driven");
        drop(driver);
        sitting.close().expect("closed");
        ended
    }

    async fn go_on(&self, run_id: &RunId) -> Ended {
        match self.take_over(run_id).await.expect("taken over") {
            TakenOver::GoesOn(sitting) => self.drive(*sitting, CancellationToken::new()).await,
            TakenOver::Over(outcome) => panic!("over already: {outcome:?}"),
        }
    }

    /// Answers the one question that waits.
    fn answer(&self, choice: Choice) {
        let home = self.home();
        let waiting = Waiting::read(&home, &Owner::current(), Timestamp::now()).expect("read");
        let [row] = waiting.rows.as_slice() else { panic!("{} questions wait", waiting.rows.len()) };
        let given = GivenAnswer::Chosen(Reply { choice, text: None });
        assert!(waiting.give(&home, row, given, "test").expect("answered").is_ours);
    }

    fn journal(&self, run_id: &RunId) -> Vec<Body> {
        let reading = journal::read_only(&self.home(), run_id).expect("a journal");
        reading.events.into_iter().map(|event| event.body).collect()
    }
}

fn kinds(ended: &Ended) -> Vec<QuestionKind> {
    match ended {
        Ended::Waiting(open) => open.iter().map(|(_, question)| question.kind).collect(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_run_begins_waits_for_its_operator_and_goes_on_to_its_end() {
    let world = World::new();
    let sitting = world.begin(Overrides::default()).await.expect("begun");
    let run_id = sitting.run_id().clone();
    assert_eq!(run_id.as_str(), "2026-01-01-A");
    let ended = world.drive(sitting, CancellationToken::new()).await;
    assert_eq!(kinds(&ended), [QuestionKind::Confirmation]);

    world.answer(Choice::Accept);
    assert_eq!(world.go_on(&run_id).await, Ended::Finished(Outcome::Completed));

    let journal = world.journal(&run_id);
    let is_of = |body: &Body| match body {
        Body::Run(RunEvent::RunStart(start)) => start.options.unattended && start.options.no_shell,
        _ => false,
    };
    assert!(journal.iter().any(is_of), "what holds is on record");
    let answered = journal.iter().find_map(|body| match body {
        Body::Ask(AskEvent::Answer { whence, .. }) => Some(whence.as_str()),
        _ => None,
    });
    assert_eq!(answered, Some("test"));
    assert!(world.has_shown_end.load(Ordering::Relaxed));
    assert!(matches!(world.take_over(&run_id).await, Ok(TakenOver::Over(Outcome::Completed))));
    assert_eq!(*world.told.lock().expect("no panic"), []);
}

#[tokio::test]
async fn options_that_were_changed_hold_also_where_the_change_lacks_its_line_feed() {
    for ending in ["\n", ""] {
        let world = World::new();
        let sitting = world.begin(Overrides::default()).await.expect("begun");
        let run_id = sitting.run_id().clone();
        assert_eq!(kinds(&world.drive(sitting, CancellationToken::new()).await), [QuestionKind::Confirmation]);
        let changes = ResumeChanges { patience_minutes: Some(7), ..ResumeChanges::default() };
        let Ok(TakenOver::GoesOn(sitting)) = world.take_over_with(&run_id, changes).await else { panic!("not over") };
        assert_eq!(kinds(&world.drive(*sitting, CancellationToken::new()).await), [QuestionKind::Confirmation]);

        // The machine went down just behind the change.
        let path = world.home().journal(&run_id);
        let text = std::fs::read_to_string(&path).expect("a journal");
        let changed = text.find(r#","type":"run_resume""#).expect("a change");
        let end = changed + text[changed..].find('\n').expect("a whole line");
        std::fs::write(&path, text[..end].to_owned() + ending).expect("written");
        std::fs::remove_file(world.home().lease(&run_id)).expect("removed");

        let Ok(TakenOver::GoesOn(sitting)) = world.take_over(&run_id).await else { panic!("not over") };
        assert_eq!(sitting.options().patience_ms, Some(7 * 60_000), "{ending:?}");
        assert_eq!(kinds(&world.drive(*sitting, CancellationToken::new()).await), [QuestionKind::Confirmation]);
    }
}

#[tokio::test]
async fn a_run_that_was_interrupted_is_taken_over() {
    let world = World::new();
    let sitting = world.begin(Overrides::default()).await.expect("begun");
    let run_id = sitting.run_id().clone();
    let stop = CancellationToken::new();
    stop.cancel();
    assert_eq!(world.drive(sitting, stop).await, Ended::Interrupted);
    assert_eq!(kinds(&world.go_on(&run_id).await), [QuestionKind::Confirmation]);
}

#[tokio::test]
async fn what_is_missing_is_told_before_there_is_a_journal() {
    let world = World::new();
    let overrides = Overrides { adapter: Some("anthropic".to_owned()), ..Overrides::default() };
    let Err(unready) = world.begin(overrides).await else { panic!("there is no key") };
    assert!(unready.is_usage());
    assert_eq!(unready.to_string(), "the adapter `anthropic` needs a key, and `ANTHROPIC_API_KEY` is not set");
    assert!(unready.hint().is_some_and(|hint| hint.contains("set ANTHROPIC_API_KEY")));
    assert!(!world.home().sessions().exists());
}
