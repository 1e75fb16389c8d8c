//! Several questions open at once at a terminal or a pipe: each line answers the one it names. The console needs a
//! terminal of its own, so each test starts [`asks_questions`] in one, as a process.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use adjutant_core::inbox::mailbox::{First, Said};
use adjutant_core::inbox::reply::Reply;
use adjutant_core::trace::{AskEvent, Body, Event};
use adjutant_core::words::id::RunId;
use adjutant_core::words::{Choice, Key, Message, Mode, Offer, Part, Question, QuestionKind, Slot, What};
use adjutant_ports::{CancellationToken, Operator as _, Progress};
use adjutant_runtime::mail;
use adjutant_store::{Home, Mailbox};
use jiff::Timestamp;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::answers::Answers;
use crate::console::Console;
use crate::render::Renderer;
use crate::screen::Screen;

/// Longest wait for output that must come before a test gives up.
const GIVE_UP: Duration = Duration::from_secs(60);

/// The environment of the process: its folder, and the number of questions that are open from the beginning.
const FOLDER: &str = "TEST_QUESTIONS_FOLDER";
const COUNT: &str = "TEST_QUESTIONS_COUNT";

const CTRL_C: &str = "\u{3}";
const CTRL_D: &str = "\u{4}";
const FORMS: &str = "Answer with the number: `1 y`, `2 n` > ";

fn key(number: u32) -> Key {
    Key { part: Part::root().child("council").child(&number.to_string()), slot: Slot::first(What::Ask, 1) }
}

/// The first is about a deletion, the others are about summaries.
fn question(number: u32) -> Question {
    let (kind, options) = match number {
        1 => {
            (QuestionKind::Destructive, vec![Offer::new(Choice::Once, "y", "yes"), Offer::new(Choice::Deny, "n", "no")])
        }
        _ => (QuestionKind::Confirmation, vec![Offer::new(Choice::Accept, "go", "it begins")]),
    };
    Question { kind, text: format!("Question {number}?"), options, default: Choice::Deny, deadline_ms: None, acts: 0 }
}

fn run_id() -> RunId {
    "2026-01-15-COUNCIL".parse().expect("a name")
}

fn mailbox(folder: &Path) -> Mailbox {
    Mailbox::of(&Home::new(folder, None), &run_id())
}

/// Asks questions as a driver does. A message `auto` has one more asked, `stop` takes the first one back.
#[tokio::test]
#[ignore = "a process that the tests here start in a terminal of its own"]
async fn asks_questions() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = Path::new(&folder);
    let count = std::env::var(COUNT).ok().and_then(|count| count.parse().ok()).expect("a number");
    let file = folder.join("answers.yaml");
    let answers = file.exists().then(|| Answers::read(&file).expect("answers"));
    let screen = Screen::new(Renderer::on_stdout(false));
    let console = Arc::new(Console::new(screen.clone(), answers, Some(mailbox(folder))).expect("a console"));
    let withdrawn = CancellationToken::new();
    let mut asked = JoinSet::new();
    let mut numbers = 1_u32..;
    let mut ask = |asked: &mut JoinSet<String>| {
        let number = numbers.next().expect("few");
        let cancel = if number == 1 { withdrawn.clone() } else { CancellationToken::new() };
        let (key, question) = (key(number), question(number));
        let body = Body::Ask(AskEvent::Question { slot: key.slot, question: question.clone() });
        let event = Event { seq: 0, at: Timestamp::now(), part: key.part.clone(), body };
        console.show(Progress::Event(&event));
        let console = Arc::clone(&console);
        asked.spawn(async move {
            match console.ask(&key, &question, cancel).await {
                Some(answered) => format!("{key}: {:?} {:?}", answered.choice, answered.text.unwrap_or_default()),
                None => format!("{key}: left open"),
            }
        });
    };
    for _ in 0..count {
        ask(&mut asked);
    }
    loop {
        tokio::select! {
            said = asked.join_next() => match said {
                Some(said) => screen.note(&said.expect("no panic")),
                None => return,
            },
            heard = console.message() => match heard.message {
                Message::Mode(_) => ask(&mut asked),
                Message::Stop => withdrawn.cancel(),
                _ => return,
            }
        }
    }
}

/// The process, at the other end of a terminal or a pipe.
struct Sitting {
    folder: TempDir,
    child: Child,
    input: Box<dyn Write>,
    shown: Receiver<Vec<u8>>,
    seen: String,
    read_to: usize,
}

impl Sitting {
    fn at_terminal(questions: u32) -> Self {
        Self::with_answers(questions, None)
    }

    fn with_answers(questions: u32, answers: Option<&str>) -> Self {
        let folder = folder();
        if let Some(answers) = answers {
            std::fs::write(folder.path().join("answers.yaml"), answers).expect("written");
        }
        let (pty, pts) = pty_process::blocking::open().expect("a terminal");
        pty.resize(pty_process::Size::new(40, 120)).expect("resized");
        let command = pty_process::blocking::Command::new(std::env::current_exe().expect("a path")).args(ARGS);
        let command = command.env_clear().envs(environment(folder.path(), questions)).env("TERM", "xterm-256color");
        let child = command.spawn(pts).expect("it starts");
        let shown = File::from(rustix::io::dup(&pty).expect("another handle"));
        Self::of(folder, child, Box::new(pty), shown)
    }

    fn behind_pipe(questions: u32) -> Self {
        let folder = folder();
        let mut command = std::process::Command::new(std::env::current_exe().expect("a path"));
        command.args(ARGS).env_clear().envs(environment(folder.path(), questions));
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let (input, shown) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        Self::of(folder, child, Box::new(input), shown)
    }

    fn of(folder: TempDir, child: Child, input: Box<dyn Write>, mut output: impl Read + Send + 'static) -> Self {
        let (send, shown) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            // A terminal whose last user is gone reads as an error.
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                if send.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { folder, child, input, shown, seen: String::new(), read_to: 0 }
    }

    /// Waits until `texts` are shown, one after the other, after what was waited for before.
    #[track_caller]
    fn expect(&mut self, texts: &[&str]) {
        for text in texts {
            while !self.seen[self.read_to..].contains(text) {
                match self.shown.recv_timeout(GIVE_UP) {
                    Ok(bytes) => self.seen.push_str(&String::from_utf8_lossy(&bytes)),
                    Err(_) => panic!("`{text}` never came after {:?} in:\n{}", &self.seen[..self.read_to], self.seen),
                }
            }
            self.read_to += self.seen[self.read_to..].find(text).expect("it is there") + text.len();
        }
    }

    fn type_text(&mut self, text: &str) {
        self.input.write_all(text.as_bytes()).and_then(|()| self.input.flush()).expect("it can be typed");
    }

    /// Says something to the run from elsewhere.
    fn say(&self, message: Message) {
        let (by, whence, id) = ("operator".to_owned(), "inbox".to_owned(), format!("{message:?}"));
        let said = Said { id, by, whence, at: Timestamp::now(), to: Part::root(), message };
        mailbox(self.folder.path()).say(&said).expect("said");
    }

    /// Answers a question from elsewhere.
    fn answer(&self, number: u32, choice: Choice) {
        let answer = mail::answer(&key(number), question(number).kind, Reply { choice, text: None }, "inbox");
        drop(mailbox(self.folder.path()).claim(&First::Answer(answer)).expect("claimed"));
    }

    /// Waits for the end, and gives what was shown.
    fn finish(mut self) -> String {
        assert!(self.child.wait().expect("it ends").success(), "{}", self.seen);
        while let Ok(bytes) = self.shown.recv_timeout(GIVE_UP) {
            self.seen.push_str(&String::from_utf8_lossy(&bytes));
        }
        self.seen
    }
}

const ARGS: [&str; 4] = ["--exact", "console::tests::asks_questions", "--ignored", "--nocapture"];

/// A home with a place for the mailbox.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::new(folder.path(), None);
    let sessions = home.sessions();
    std::fs::create_dir_all(sessions).expect("made");
    std::fs::set_permissions(sessions, std::fs::Permissions::from_mode(0o700)).expect("set");
    folder
}

fn environment(folder: &Path, questions: u32) -> [(&'static str, String); 3] {
    [(FOLDER, folder.display().to_string()), (COUNT, questions.to_string()), ("NO_COLOR", "1".to_owned())]
}

/// Two questions at a terminal, numbered.
fn two() -> Sitting {
    let mut sitting = Sitting::at_terminal(2);
    sitting.expect(&["? Question 1?", "> "]);
    sitting.expect(&["? question 1 (council/1): Question 1?", "y  yes"]);
    sitting.expect(&["? question 2 (council/2): Question 2?", "go  it begins", FORMS]);
    sitting
}

#[test]
fn answers_name_their_question_while_two_are_open_and_need_not_for_the_last() {
    let mut sitting = two();
    sitting.type_text("y\n");
    sitting.expect(&["Begin with the number of the question: `1 y`, `2 n`.", FORMS]);
    sitting.type_text("3 y\n");
    sitting.expect(&["Question 3 is not open. Open: 1, 2.", FORMS]);
    sitting.type_text("2 \n");
    sitting.expect(&["Begin with the number of the question: ", FORMS]);
    sitting.type_text("2 go\n");
    sitting.expect(&["? Question 1?", "> ", "council/2:ask/1.1: Accept"]);
    sitting.type_text("y\n");
    sitting.expect(&["council/1:ask/1.1: Once"]);
    sitting.finish();
}

#[test]
fn the_first_may_be_answered_first_and_a_third_gets_the_next_number() {
    let mut sitting = two();
    sitting.say(Message::Mode(Mode::Auto));
    sitting.expect(&["? question 3 (council/3): Question 3?", "`1 y`, `2 n`, `3 y` > "]);
    sitting.type_text("1: n: keep it\n");
    sitting.expect(&["`2 y`, `3 n` > ", "council/1:ask/1.1: Deny \"keep it\""]);
    sitting.type_text("3. go\n");
    sitting.expect(&["? Question 2?", "> ", "council/3:ask/1.1: Accept"]);
    // With its number the last one is answered, too.
    sitting.type_text("2 no\n");
    sitting.expect(&["council/2:ask/1.1: Decline"]);
    let seen = sitting.finish();
    assert!(!seen.contains("ignored, typed"), "{seen}");
}

#[test]
fn a_line_begun_before_the_second_question_was_shown_answers_neither() {
    let mut sitting = Sitting::at_terminal(1);
    sitting.expect(&["? Question 1?", "> "]);
    sitting.type_text("2 g");
    sitting.say(Message::Mode(Mode::Auto));
    sitting.expect(&["ignored, typed before the question: \"2 g\"", "question 2 (council/2): ", FORMS]);
    sitting.type_text("o\n");
    sitting.expect(&["Begin with the number of the question: ", FORMS]);
    sitting.type_text("1 n\n2 go\n");
    sitting.expect(&["council/2:ask/1.1: Accept"]);
    let seen = sitting.finish();
    assert!(seen.contains("council/1:ask/1.1: Deny"), "{seen}");
}

#[test]
fn lines_sent_together_answer_the_questions_that_they_name() {
    let mut sitting = two();
    sitting.type_text("1 y\n2 go\n");
    let seen = sitting.finish();
    assert!(seen.contains("council/1:ask/1.1: Once") && seen.contains("council/2:ask/1.1: Accept"), "{seen}");
    let mut sitting = two();
    // The second line was typed before question 2 stood there alone.
    sitting.type_text("1 y\ngo\n");
    sitting.expect(&["Begin with the number of the question: ", "? Question 2?", "> "]);
    sitting.type_text("go\n");
    sitting.finish();
}

#[test]
fn a_question_answered_elsewhere_takes_no_other_answer_and_gives_its_line_to_no_other() {
    let mut sitting = two();
    sitting.type_text("2 g");
    sitting.answer(2, Choice::Accept);
    sitting.expect(&["(answered by operator, inbox, at ", "ignored, typed before the question: \"2 g\""]);
    sitting.expect(&["? Question 1?", "> "]);
    sitting.type_text("2 go\n");
    sitting.expect(&["Question 2 is not open. Open: 1.", "> "]);
    sitting.type_text("y\n");
    sitting.expect(&["council/1:ask/1.1: Once"]);
    assert!(sitting.finish().contains("council/2:ask/1.1: Accept"));
}

#[test]
fn a_question_that_is_taken_back_leaves_the_other() {
    let mut sitting = two();
    sitting.say(Message::Stop);
    sitting.expect(&["? Question 2?", "> "]);
    sitting.type_text("1 y\n");
    sitting.expect(&["Question 1 is not open. Open: 2.", "> "]);
    sitting.type_text("go\n");
    sitting.expect(&["council/2:ask/1.1: Accept"]);
    assert!(sitting.finish().contains("council/1:ask/1.1: left open"));
}

#[test]
fn a_paste_names_its_question_too() {
    let paste = |text: &str| format!("\u{1b}[200~{text}\u{1b}[201~\n");
    let mut sitting = two();
    sitting.type_text(&paste("1. y\n2. go"));
    sitting.expect(&["Begin with the number of the question: `1 y`, `2 n`. Pasted: \"1. y\\n2. go\"", FORMS]);
    sitting.type_text(&paste("1 what\never"));
    sitting.expect(&["Pasted, and not one of the options of question 1: \"what\\never\"", FORMS]);
    sitting.type_text(&format!("2 {}", paste("use\ntabs")));
    sitting.expect(&["? Question 1?", "> ", "council/2:ask/1.1: Correct \"use\\ntabs\""]);
    sitting.type_text("y\n");
    sitting.finish();
}

#[test]
fn the_end_of_the_input_leaves_all_open_and_ctrl_c_stops_all() {
    let mut sitting = two();
    sitting.type_text(CTRL_D);
    let seen = sitting.finish();
    assert_eq!(seen.matches("end of input").count(), 1, "{seen}");
    for number in [1, 2] {
        assert!(seen.contains(&format!("{}: left open", key(number))), "{seen}");
    }
    let mut sitting = two();
    sitting.type_text(CTRL_C);
    sitting.expect(&["stopping; the run can be resumed"]);
    sitting.finish();
}

#[test]
fn a_piped_line_answers_the_question_it_names_or_the_oldest() {
    for (lines, second) in [("2 no\ny\n", "Decline"), ("y\ngo\n", "Accept"), ("1 y\n2 go\n", "Accept")] {
        let mut sitting = Sitting::behind_pipe(2);
        sitting.expect(&["? question 1 (council/1): ", "? question 2 (council/2): "]);
        sitting.type_text(lines);
        let seen = sitting.finish();
        assert!(seen.contains("council/1:ask/1.1: Once"), "{lines:?}: {seen}");
        assert!(seen.contains(&format!("council/2:ask/1.1: {second}")), "{lines:?}: {seen}");
    }
}

#[test]
fn a_question_with_a_prepared_answer_numbers_no_other() {
    let mut sitting = Sitting::with_answers(2, Some("- {kind: confirmation, answer: go}\n"));
    sitting.expect(&["? Question 1?", "> ", "? Question 2?", "> go  (from the answers)", "council/2:ask/1.1: Accept"]);
    sitting.type_text("y\n");
    sitting.expect(&["council/1:ask/1.1: Once"]);
    let seen = sitting.finish();
    assert!(!seen.contains("question 1"), "{seen}");
}
