//! The screen of a sitting: what everybody who has something to show of a run writes to.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use adjutant_core::inbox::mailbox::Answer;
use adjutant_core::view::inbox::as_typed;
use adjutant_core::words::Question;
use adjutant_core::words::visible::visible_line;
use adjutant_core::work::Work;
use adjutant_runtime::assembly::Sitting;
use adjutant_runtime::{DisplayFn, DisplayItem, Driver};

use crate::render::{FolderView, Renderer};

/// A screen.
pub struct Screen {
    renderer: Mutex<Renderer>,
    /// True while something is asked here: the line for what is in flight would overwrite what is typed.
    is_asking: AtomicBool,
}

impl Screen {
    /// A screen that `renderer` writes to.
    pub fn new(renderer: Renderer) -> Arc<Self> {
        Arc::new(Self { renderer: Mutex::new(renderer), is_asking: AtomicBool::new(false) })
    }

    /// Lends the renderer.
    pub fn with_renderer<T>(&self, say: impl FnOnce(&mut Renderer) -> T) -> T {
        say(&mut self.renderer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Shows what calls of a run change in its folder from here on.
    pub fn attend(&self, sitting: &Sitting) {
        let folder = FolderView::new(sitting.options().workdir.clone().into(), sitting.secrets().clone());
        self.with_renderer(|renderer| renderer.attend(sitting.run_id().clone(), folder));
    }

    /// Takes note of the last replies in a run that was taken up, each to be shown before a question about it: it may have
    /// been said long ago, and to another terminal.
    pub fn recall(&self, driver: &Driver<'_, Work>) {
        self.with_renderer(|renderer| {
            for (part, reply) in driver.last_replies() {
                renderer.recall(part, &reply);
            }
        });
    }

    /// Says something about the run that is no event.
    pub fn note(&self, text: &str) {
        self.with_renderer(|renderer| renderer.note(text));
    }

    /// Shows what comes by way of the runtime.
    pub fn show(self: &Arc<Self>) -> DisplayFn {
        let screen = Arc::clone(self);
        Arc::new(move |shown| match shown {
            DisplayItem::Progress(progress) => screen.with_renderer(|renderer| renderer.show(progress)),
            DisplayItem::Note(text) => screen.note(text),
            DisplayItem::Answer(answer, question) => screen.answered_elsewhere(answer, question),
            DisplayItem::Said(said) => {
                let text = format!("{} says ({}): {}", said.by, said.whence, said.message.said());
                screen.note(&visible_line(&text));
            }
        })
    }

    fn answered_elsewhere(&self, answer: &Answer, question: &Question) {
        let from = format!(
            "answered by {}, {}, at {}",
            answer.by,
            answer.whence,
            adjutant_core::words::moment::timestamp(answer.at)
        );
        let typed = as_typed(answer.choice, answer.text.as_deref(), &question.options);
        self.with_renderer(|renderer| renderer.echo(&typed, &from));
    }

    /// True if something is asked here.
    pub fn is_asking(&self) -> bool {
        self.is_asking.load(Ordering::Relaxed)
    }

    /// Says whether something is asked here from now on.
    pub fn set_asking(&self, is_asking: bool) {
        self.is_asking.store(is_asking, Ordering::Relaxed);
    }

    /// Keeps the line that says what is in flight up to date, for ever.
    pub async fn keep_status(&self) -> Infallible {
        let mut every_second = tokio::time::interval(Duration::from_secs(1));
        loop {
            every_second.tick().await;
            if !self.is_asking() {
                self.with_renderer(Renderer::tick);
            }
        }
    }
}
