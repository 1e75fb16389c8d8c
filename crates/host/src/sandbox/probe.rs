//! Makes a self-test's attempts from inside: each is a real one, and its traces are looked for outside.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::{TcpStream, UdpSocket};
use std::path::Path;
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::orders::Probe;

/// The longest wait for a connection. On loopback it is there at once or never.
const CONNECT: Duration = Duration::from_millis(500);
/// The interval at which a survivor checks for its parent, which ends at once.
const LOSING_PARENT: Duration = Duration::from_millis(1);
/// Lifetime of a survivor, in seconds, should it not be found.
const SURVIVOR_SECONDS: u32 = 30;

impl Probe {
    /// Tries everything, says on stdout what was read of the secret, and ends.
    pub(super) fn run(&self) -> ! {
        // Whatever fails here is a wall that held: the answer is in what is found outside.
        fs::write(self.outside.join("written"), "from inside").ok();
        if let Ok(secret) = fs::read(&self.secret) {
            io::stdout().write_all(&secret).ok();
        }
        if let Ok(mut stream) = TcpStream::connect_timeout(&self.tcp, CONNECT) {
            stream.write_all(b"from inside").ok();
        }
        if let Ok(socket) = UdpSocket::bind("127.0.0.1:0") {
            socket.send_to(b"from inside", self.udp).ok();
        }
        self.change_repository();
        self.survive();
        io::stdout().flush().ok();
        std::process::exit(0)
    }

    fn change_repository(&self) {
        fs::write(self.repository.join("hooks/pre-commit"), "#!/bin/sh\n").ok();
        if let Ok(mut config) = OpenOptions::new().append(true).open(self.repository.join("config")) {
            config.write_all(b"[core]\n").ok();
        }
        let aside = self.repository.with_extension("aside");
        if fs::rename(&self.repository, aside).is_ok() {
            fs::create_dir_all(self.repository.join("hooks")).ok();
            fs::write(self.repository.join("hooks/pre-commit"), "#!/bin/sh\n").ok();
        }
    }

    /// Leaves a process behind that has left the session, lost its parent and cleaned its environment.
    fn survive(&self) {
        let Ok(lock) = File::create(&self.survivor) else { return };
        let Ok((ready, is_ready)) = rustix::pipe::pipe() else { return };
        if !in_child() {
            // Until the grandchild has its lock.
            drop(is_ready);
            rustix::io::read(&ready, &mut [0_u8; 1]).ok();
            return;
        }
        rustix::process::setsid().ok();
        let parent = rustix::process::getpid();
        if !in_child() {
            std::process::exit(0);
        }
        clean_environment();
        // As long as it has a parent that is marked, it is found by descent.
        while rustix::process::getppid() == Some(parent) {
            std::thread::sleep(LOSING_PARENT);
        }
        drop(ready);
        let is_locked = flock(&lock, FlockOperation::LockExclusive).is_ok();
        let own = rustix::process::getpid().as_raw_pid().to_string();
        if is_locked && write_whole(&self.survivor, &own).is_ok() {
            rustix::io::write(&is_ready, b"1").ok();
            drop(is_ready);
            let null = OpenOptions::new().write(true).open("/dev/null");
            if let Ok(null) = null {
                rustix::stdio::dup2_stdout(&null).ok();
                rustix::stdio::dup2_stderr(&null).ok();
            }
            live_on();
        }
        std::process::exit(0)
    }
}

fn write_whole(path: &Path, text: &str) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes())
}

/// Returns true in the copy of the process, false in the process that asked for it.
fn in_child() -> bool {
    #[expect(unsafe_code, reason = "no crate of ours copies a process")]
    // SAFETY: a copy has only the thread that asked for it, which is trouble where another held a lock. This
    // process has one thread.
    unsafe {
        libc::fork() == 0
    }
}

/// Overwrites the environment that the system shows of this process.
fn clean_environment() {
    #[expect(unsafe_code, reason = "no crate of ours has the environment as the system shows it")]
    // SAFETY: every C library on Linux has a variable of this name and type.
    unsafe extern "C" {
        static environ: *const *mut libc::c_char;
    }
    #[expect(unsafe_code, reason = "what the system shows is the memory itself")]
    // SAFETY: `environ` is an array of C strings that ends with a null pointer. They lie in memory that is ours
    // to change, only bytes before each string's end are written, there is one thread, and nothing here reads
    // the environment afterwards.
    unsafe {
        let mut entry = environ;
        while !entry.is_null() && !(*entry).is_null() {
            let mut byte = *entry;
            while *byte != 0 {
                *byte = b'x'.cast_signed();
                byte = byte.add(1);
            }
            entry = entry.add(1);
        }
    }
}

fn live_on() {
    #[expect(unsafe_code, reason = "no crate of ours sets an alarm")]
    // SAFETY: neither call takes memory of ours; the alarm ends the process.
    unsafe {
        libc::alarm(SURVIVOR_SECONDS);
        libc::pause();
    }
}
