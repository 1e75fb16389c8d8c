//! Drivers as processes of their own: stopped, killed, racing. Each is this very test program, told over
//! its standard input what to do.

use std::io::{BufRead as _, BufReader, Lines, Write as _, stdin};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use adjutant_core::trace::{Body, Entry, HostEvent};
use adjutant_core::words::Part;
use adjutant_core::words::id::RunId;
use adjutant_ports::{AppendError, Durability, Journal as _};
use adjutant_store::lease::LeaseError;
use adjutant_store::{Damage, FileJournal, Home, OpenError, Owner, Recovered};
use jiff::Timestamp;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

const HOME: &str = "ADJUTANT_TEST_DRIVER_HOME";

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

fn run_id() -> RunId {
    "b".parse().expect("a name")
}

fn said(text: &str) -> Entry {
    Entry { part: Part::root(), body: Body::Host(HostEvent::Warning { text: text.to_owned() }) }
}

fn take_over(home: &Home, second: i64) -> Result<(FileJournal, Recovered), OpenError> {
    FileJournal::take_over(home, &run_id(), &Owner::current(), at(second), Damage::Refuse)
}

/// Runs as the other process: takes the run over, then obeys.
#[test]
#[ignore = "is started by the other tests as a process of its own"]
fn driver() {
    let Some(root) = std::env::var_os(HOME) else { return };
    let home = Home::new(root, None);
    let mut orders = stdin().lines();
    let mut order = || orders.next().and_then(Result::ok).unwrap_or_default();
    let reply = |word: &str| println!("\nreply {word}");
    reply("ready");
    order();
    let mut journal = match take_over(&home, 0) {
        Ok((journal, _)) => journal,
        Err(OpenError::Lease(LeaseError::Held { .. })) => return reply("held"),
        Err(error) => return reply(&format!("{error:?}")),
    };
    reply("driving");
    let mut append = |text: &str| match journal.append(said(text), at(0), Durability::Written) {
        Ok(_) => "appended",
        Err(AppendError::Fenced { .. }) => "fenced",
        Err(_) => "failed",
    };
    loop {
        match order().as_str() {
            "append" => reply(append("theirs")),
            "run" => {
                reply("running");
                // What is done between two appends takes longer than an append, as in life.
                while append("theirs") == "appended" {
                    std::hint::black_box((0..20_000u64).fold(0, |sum: u64, n| sum.wrapping_mul(31).wrapping_add(n)));
                }
                return reply(append("theirs"));
            }
            _ => return,
        }
    }
}

struct Driver {
    child: Child,
    orders: ChildStdin,
    replies: Lines<BufReader<ChildStdout>>,
}

impl Driver {
    fn start(root: &Path) -> Self {
        let program = std::env::current_exe().expect("this program");
        let mut child = Command::new(program)
            .args(["--ignored", "--exact", "drivers::driver", "--nocapture"])
            .env(HOME, root)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("started");
        let orders = child.stdin.take().expect("piped");
        let replies = BufReader::new(child.stdout.take().expect("piped")).lines();
        let mut driver = Self { child, orders, replies };
        assert_eq!(driver.reply(), "ready");
        driver
    }

    fn order(&mut self, order: &str) {
        writeln!(self.orders, "{order}").expect("it listens");
    }

    fn reply(&mut self) -> String {
        let replies = self.replies.by_ref().map_while(Result::ok);
        replies.filter_map(|line| line.strip_prefix("reply ").map(str::to_owned)).next().unwrap_or_default()
    }

    fn ask(&mut self, order: &str) -> String {
        self.order(order);
        self.reply()
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Stops it, and returns when it stands still.
    fn stop(&self) {
        kill_process(self.pid(), Signal::STOP).expect("it lives");
        let (_, status) = waitpid(Some(self.pid()), WaitOptions::UNTRACED).expect("our child").expect("waited for");
        assert!(status.stopped(), "{status:?}");
    }

    fn go_on(&self) {
        kill_process(self.pid(), Signal::CONT).expect("it lives");
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A home with an empty run, whose driver is gone.
fn home() -> (tempfile::TempDir, Home) {
    let temp = tempfile::tempdir().expect("a folder");
    let home = Home::new(temp.path(), None);
    let mut journal = FileJournal::create(&home, &run_id(), &Owner::current(), at(0)).expect("created");
    journal.append(said("first"), at(0), Durability::Written).expect("appended");
    (temp, home)
}

/// Waits until the journal has grown by `bytes`: the moment at which its driver is then hit is anyone's guess.
fn wait_for_growth(home: &Home, bytes: u64) {
    let path = home.journal(&run_id());
    let length = || path.metadata().expect("there").len();
    let begin = length();
    while length() < begin + bytes {
        std::thread::yield_now();
    }
}

fn texts(recovered: &Recovered) -> Vec<&str> {
    let texts = recovered.events.iter().map(|event| match &event.body {
        Body::Host(HostEvent::Warning { text }) => text.as_str(),
        other => panic!("{other:?}"),
    });
    texts.collect()
}

#[test]
fn a_driver_that_was_stopped_and_taken_over_is_fenced_when_it_wakes() {
    let (temp, home) = home();
    let mut theirs = Driver::start(temp.path());
    assert_eq!(theirs.ask("go"), "driving");
    assert_eq!(theirs.ask("append"), "appended");
    theirs.stop();
    // Asleep is not gone: until the lease expires the run is theirs.
    assert!(matches!(take_over(&home, 29), Err(OpenError::Lease(LeaseError::Held { .. }))));
    let (mut ours, _) = take_over(&home, 30).expect("taken over");
    ours.append(said("ours"), at(30), Durability::Written).expect("appended");
    theirs.go_on();
    for _ in 0..3 {
        assert_eq!(theirs.ask("append"), "fenced");
    }
    ours.append(said("ours"), at(31), Durability::Written).expect("appended");
    drop(ours);
    drop(theirs);
    let recovered = take_over(&home, 32).expect("whole").1;
    assert_eq!(texts(&recovered), ["first", "theirs", "ours", "ours"]);
}

#[test]
fn a_driver_stopped_in_the_middle_of_its_work_writes_nothing_after_it_was_taken_over() {
    for round in 0..8 {
        let (temp, home) = home();
        let mut theirs = Driver::start(temp.path());
        assert_eq!(theirs.ask("go"), "driving");
        assert_eq!(theirs.ask("run"), "running");
        wait_for_growth(&home, 500 + round * 333);
        theirs.stop();
        let (mut ours, recovered) = loop {
            match take_over(&home, 31) {
                Ok(taken) => break taken,
                // It stands still between taking the lock and giving it back: nobody may go past it.
                Err(OpenError::Busy { .. }) => {
                    theirs.go_on();
                    theirs.stop();
                }
                Err(error) => panic!("{error:?}"),
            }
        };
        let theirs_before = texts(&recovered).len();
        theirs.go_on();
        ours.append(said("ours"), at(31), Durability::Written).expect("appended");
        assert_eq!(theirs.reply(), "fenced");
        ours.append(said("ours"), at(31), Durability::Written).expect("appended");
        drop(ours);
        let recovered = take_over(&home, 32).expect("whole").1;
        assert_eq!(texts(&recovered)[theirs_before..], ["ours", "ours"]);
    }
}

#[test]
fn a_driver_that_is_killed_leaves_whole_lines_and_a_run_that_is_free_at_once() {
    for round in 0..8 {
        let (temp, home) = home();
        let mut theirs = Driver::start(temp.path());
        assert_eq!(theirs.ask("go"), "driving");
        assert_eq!(theirs.ask("run"), "running");
        wait_for_growth(&home, 500 + round * 333);
        theirs.child.kill().expect("killed");
        theirs.child.wait().expect("gone");
        let (mut ours, recovered) = take_over(&home, 1).expect("free and whole");
        assert_eq!(recovered.torn_bytes, 0);
        let event = ours.append(said("ours"), at(1), Durability::Written).expect("appended");
        assert_eq!(event.seq, recovered.events.len() as u64);
    }
}

#[test]
fn of_twenty_processes_that_race_exactly_one_drives() {
    let (temp, _home) = home();
    let mut racers: Vec<Driver> = (0..20).map(|_| Driver::start(temp.path())).collect();
    for racer in &mut racers {
        racer.order("go");
    }
    let mut replies: Vec<String> = racers.iter_mut().map(Driver::reply).collect();
    replies.sort();
    assert_eq!((replies[0].as_str(), replies[1].as_str(), replies[19].as_str()), ("driving", "held", "held"));
}
