//! The attacks. Each is a command line; `$OUTSIDE` is a folder that nobody showed, `$HOME/.ssh/id` the secret.

use std::collections::BTreeSet;

use adjutant_host::sandbox::{Mode, Network};

use crate::world::{World, settings};

/// Outcome of an attack without a sandbox, where it must succeed if it is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bare {
    /// It does what it tries.
    Works,
    /// It would do harm to this machine, or needs rights that not everybody has.
    NotTried,
}

use Bare::{NotTried, Works};

/// A name, whether it works without a sandbox, and what is run.
const ATTACKS: &[(&str, Bare, &str)] = &[
    ("a write outside", Works, "echo x > $OUTSIDE/file"),
    ("a write into the home", Works, "echo x >> $HOME/notes"),
    ("a new file in the home", Works, "touch $HOME/new"),
    ("a write through a link", Works, "ln -s $OUTSIDE link; echo x > link/file"),
    ("a write through a link to a file", Works, "ln -s $HOME/notes link; echo x > link"),
    ("a write through a hard link", Works, "ln $HOME/notes hard && echo x > hard"),
    ("a write up and down", Works, "echo x > ../../${OUTSIDE#/*/}/file; cd ..; echo x > outside/file"),
    ("a rename out", Works, "echo x > a; mv -f a $OUTSIDE/b"),
    ("a deletion outside", Works, "rm -rf $OUTSIDE/file"),
    ("the workdir itself moved", NotTried, "mv $WORK $WORK.old && echo ESCAPED"),
    ("rights outside", Works, "chmod 777 $HOME/notes"),
    ("times outside", Works, "touch -d 2001-01-01 $HOME/notes"),
    ("truncation outside", Works, "truncate -s 0 $HOME/notes"),
    ("a secret read", Works, "cat $HOME/.ssh/id"),
    ("a secret read through a link", Works, "ln -s $HOME/.ssh s; cat s/id"),
    ("a secret read through a hard link", Works, "ln $HOME/.ssh/id hard; cat hard"),
    ("a secret copied", Works, "cp -r $HOME/.ssh copy; cat copy/id"),
    ("a secret in an archive", Works, "tar cf - -C $HOME .ssh | tar xOf -"),
    ("our own root by /proc", Works, "cat /proc/self/root$HOME/.ssh/id; echo x > /proc/self/root$OUTSIDE/file"),
    ("our own folder by /proc", Works, "cat /proc/self/cwd/../home/.ssh/id"),
    ("init's root by /proc", NotTried, "cat /proc/1/root$HOME/.ssh/id; cat /proc/1/cwd$HOME/.ssh/id"),
    ("every other root by /proc", NotTried, "for r in /proc/[0-9]*/root; do cat $r$HOME/.ssh/id; done"),
    ("the environment of init", NotTried, "cat /proc/1/environ | tr '\\0' '\\n' | grep = && echo ESCAPED"),
    ("the memory of init", NotTried, "head -c1 /proc/1/mem && echo ESCAPED; head -c1 /proc/1/maps && echo ESCAPED"),
    ("descriptors of init", NotTried, "readlink /proc/1/fd/* && echo ESCAPED; for f in /proc/1/fd/*; do echo x > $f && echo ESCAPED; done"),
    ("the sandbox's own folder", NotTried, "ls -d /tmp/../*/adjutant-*/nothing /proc/1/root/tmp/adjutant-* && echo ESCAPED"),
    (
        "a descriptor opened anew",
        Works,
        "exec 5< $HOME/notes && echo x > /proc/self/fd/5",
    ),
    ("a program in another language", Works, "python3 -c 'open(\"'$OUTSIDE'/file\",\"w\").write(\"x\")'"),
    (
        "a compiled program",
        Works,
        "printf '#include <stdio.h>\\nint main(int n,char**a){FILE*f=fopen(a[1],\"w\");return f?fputs(\"x\",f):1;}' > a.c
         cc -o a a.c && ./a $OUTSIDE/file",
    ),
    (
        "LD_PRELOAD",
        Works,
        "printf '#include <stdio.h>\\n#include <stdlib.h>\\n__attribute__((constructor)) void f(void){FILE*f=fopen(getenv(\"T\"),\"w\");if(f)fputs(\"x\",f);}' > p.c
         cc -shared -fPIC -o p.so p.c && T=$OUTSIDE/file LD_PRELOAD=./p.so /bin/true",
    ),
    ("a set-id program", Works, "cp /bin/sh s; chmod 6755 s; ./s -p -c 'echo x > $OUTSIDE/file'"),
    ("another user", NotTried, "su -c 'echo ESCAPED' </dev/null; sudo -n echo ESCAPED; setpriv --reuid 1 echo ESCAPED"),
    (
        "a daemon",
        Works,
        "setsid env -i bash -c 'exec 9>>held; flock 9; echo $$ >> held; exec sleep 60 >/dev/null 2>&1 </dev/null' &
         until [ -s held ]; do :; done",
    ),
    (
        "a daemon that forks twice and cleans up",
        Works,
        "python3 -c '
import os, fcntl, time
f = open(\"held\", \"a\")
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        fcntl.flock(f, fcntl.LOCK_EX); f.write(str(os.getpid())); f.flush()
        n = os.open(\"/dev/null\", os.O_RDWR)
        [os.dup2(n, i) for i in range(3)]
        os.set_inheritable(f.fileno(), True)
        os.execve(\"/bin/sleep\", [\"sleep\", \"60\"], {})
    os._exit(0)
'
         until [ -s held ]; do :; done",
    ),
    ("the parent killed", NotTried, "kill -KILL $PPID 1; kill -KILL -1; kill -KILL 0 & wait"),
    (
        "the parent traced",
        NotTried,
        "python3 -c '
import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
for p in {os.getppid(), 1}:
    for request in (16, 0x4206):
        if c.ptrace(request, p, 0, 0) == 0: print(\"ESCAPED\")
'",
    ),
    (
        "a socket outside by its path",
        Works,
        "python3 -c 'import socket,os; socket.socket(socket.AF_UNIX).connect(os.environ[\"OUTSIDE\"]+\"/socket\")'",
    ),
    (
        "a socket outside by an abstract name",
        Works,
        "python3 -c 'import socket,os; socket.socket(socket.AF_UNIX).connect(\"\\0\"+os.environ[\"NAME\"])'",
    ),
    ("TCP", Works, "echo x > /dev/tcp/127.0.0.1/$TCP"),
    ("UDP", Works, "echo x > /dev/udp/127.0.0.1/$UDP"),
    (
        "sockets of every other family",
        NotTried,
        "python3 -c '
import socket
for family in range(2, 46):
    for kind in (1, 2, 3, 5):
        for protocol in range(0, 24) if family == 16 else (0, 1, 58):
            # The network has none but its own loopback: streams, datagrams, and the list of interfaces.
            if family in (2, 10) and kind < 3 or family == 16 and protocol == 0: continue
            try: socket.socket(family, kind, protocol); print(\"ESCAPED\", family, kind, protocol)
            except OSError: pass
'",
    ),
    ("a file in everybody's /tmp", Works, "touch /tmp/$NAME.tmp"),
    ("a file in everybody's /var/tmp", NotTried, "ls -A /var/tmp | grep -v \"^${NAME}\\|^adjutant-escape\" && echo ESCAPED"),
    ("a link for somebody else's temporary file", Works, "ln -s $OUTSIDE/file /tmp/$NAME.tmp"),
    ("a git hook", Works, "echo '#!/bin/sh' > .git/hooks/pre-commit"),
    ("a git hook by moving the hooks", Works, "mv .git/hooks .git/h; mkdir .git/hooks; touch .git/hooks/pre-commit"),
    (
        "a git hook by moving the repository",
        Works,
        "cp -r .git copy; mv .git old; mv copy .git; touch .git/hooks/pre-commit",
    ),
    ("a git hook by removing the repository", Works, "rm -rf .git; git init -q .; touch .git/hooks/pre-commit"),
    ("a git hook through a link", Works, "ln -s .git/hooks h; touch h/pre-commit"),
    ("git settings", Works, "git config core.hooksPath /tmp"),
    ("git settings by a rename", Works, "echo '[core]' > c; mv -f c .git/config"),
    ("git settings by a link", Works, "ln -f .git/config c; echo '[alias]' >> c"),
    ("a mount", NotTried, "mount -t tmpfs none $WORK && echo ESCAPED; mount --bind / $WORK && echo ESCAPED"),
    ("what is covered uncovered", NotTried, "umount -l $HOME/.ssh && echo ESCAPED; umount -l .git/hooks; umount -l /"),
    ("what is read-only made writable", NotTried, "mount -o remount,rw,bind $HOME && echo ESCAPED"),
    ("a namespace of its own", NotTried, "unshare -Urm sh -c 'echo ESCAPED'; unshare -n echo ESCAPED"),
    ("the namespaces of init", NotTried, "nsenter -t 1 -a echo ESCAPED; nsenter -t 1 -m cat $HOME/.ssh/id"),
    ("another root", NotTried, "chroot /proc/1/root /bin/sh -c 'echo ESCAPED'"),
    ("a device", NotTried, "mknod d b 254 0 && head -c1 d && echo ESCAPED; mknod m c 1 1 && head -c1 m && echo ESCAPED"),
    ("the machine's memory", NotTried, "head -c1 /dev/mem && echo ESCAPED; head -c1 /dev/kmem && echo ESCAPED; head -c1 /dev/vda && echo ESCAPED"),
    ("the kernel's settings", NotTried, "v=$(cat /proc/sys/vm/swappiness) && echo $v > /proc/sys/vm/swappiness && echo ESCAPED"),
    ("a control group", NotTried, "mkdir /sys/fs/cgroup/a /sys/fs/cgroup/*/a && echo ESCAPED"),
    ("the kernel's log", NotTried, "dmesg && echo ESCAPED"),
    ("the machine's name", NotTried, "hostname other && echo ESCAPED"),
    ("a limit raised", NotTried, "ulimit -c unlimited && echo ESCAPED; ulimit -n 1000000 && echo ESCAPED"),
    ("a terminal's input", NotTried, "python3 -c 'import fcntl; fcntl.ioctl(0, 0x5412, b\"x\"); print(\"ESCAPED\")'"),
    ("a file of the system", NotTried, "echo x > /etc/adjutant-escape && echo ESCAPED; touch /usr/bin/adjutant-escape && echo ESCAPED"),
    ("sockets of the system", NotTried, "ls /run/docker.sock /run/dbus /run/user /var/run/docker.sock && echo ESCAPED"),
    ("system calls of x86-64", NotTried, SYSTEM_CALLS),
];

/// Calls by their numbers, with arguments by which they work where nothing keeps one from them: io_uring_setup,
/// bpf, userfaultfd, perf_event_open, keyctl, add_key, open_by_handle_at, clone with a user namespace, unshare,
/// setns, process_vm_readv, kcmp; and socket by its number of x32.
const SYSTEM_CALLS: &str = "[ $(uname -m) = x86_64 ] && python3 -c '
import ctypes, os
c = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(4096)
for call in ((425, 1, buffer), (321, 0, buffer, 128), (323, 0), (298, buffer, 0, -1, -1, 0), (250, 0, -3, 1),
             (248, b\"user\", b\"a\", b\"b\", 1, -3), (304, -100, buffer, 0), (56, 0x10000011, 0, 0, 0, 0), (272, 0x10000000),
             (308, 0, 0), (310, 1, buffer, 1, buffer, 1, 0), (312, 1, os.getpid(), 0, 0, 0), (435, buffer, 88),
             (0x40000000 | 41, 2, 1, 0)):
    ctypes.set_errno(0)
    if c.syscall(*call) >= 0: print(\"ESCAPED\", call)
    elif call[0] != 435 and call[0] < 0x40000000 and ctypes.get_errno() != 1: print(\"ESCAPED\", call, ctypes.get_errno())
'";

fn has(program: &str) -> bool {
    std::process::Command::new("sh")
        .args(["-c", &format!("PATH=/usr/local/bin:/usr/bin:/bin command -v {program}")])
        .output()
        .is_ok_and(|found| found.status.success())
}

/// Returns true if the machine has the programs that an attack is made with.
fn can_be_made(line: &str) -> bool {
    ["python3", "cc"].iter().all(|program| !line.contains(&format!("{program} -")) || has(program))
}

#[test]
fn no_attack_gets_out() {
    let mut failed = Vec::new();
    let mut left_out = BTreeSet::new();
    for (name, _, line) in ATTACKS {
        if !can_be_made(line) {
            left_out.insert(name);
            continue;
        }
        let world = World::new();
        let ended = world.run(settings(Mode::Best), Network::Off, line);
        if ended.signal.is_none() {
            World::expect_whole(&ended);
        }
        let damage = world.damage(&ended);
        if !damage.is_empty() {
            failed.push(format!("{name}: {damage:?}\n{}\n{}", ended.stdout.text(), ended.stderr.text()));
        }
    }
    eprintln!("{} attacks, of which this machine has no programs for {left_out:?}", ATTACKS.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn the_same_attacks_work_without_a_sandbox() {
    let mut harmless = Vec::new();
    for (name, _, line) in ATTACKS.iter().filter(|(_, bare, line)| *bare == Works && can_be_made(line)) {
        let world = World::new();
        let ended = world.run(settings(Mode::Off), Network::Off, line);
        if world.damage(&ended).is_empty() {
            harmless.push(format!("{name}\n{}\n{}", ended.stdout.text(), ended.stderr.text()));
        }
    }
    // What starts a daemon with all its marks is found by the sweep of custody, without any sandbox.
    harmless.retain(|name| !name.starts_with("a daemon\n"));
    assert!(harmless.is_empty(), "{}", harmless.join("\n"));
}

#[test]
fn a_descriptor_that_somebody_forgot_to_close_is_closed() {
    let world = World::new();
    let outside = std::fs::OpenOptions::new().append(true).open(world.at("outside/file")).unwrap();
    // A copy without the mark that closes it.
    let forgotten = rustix::io::dup(&outside).unwrap();
    let line = "for n in $(seq 3 99); do echo x >&$n; done 2>/dev/null";
    let ended = world.run(settings(Mode::Best), Network::Off, line);
    World::expect_whole(&ended);
    assert_eq!(world.damage(&ended), [""; 0]);
    let ended = world.run(settings(Mode::Off), Network::Off, line);
    assert_eq!(world.damage(&ended), ["something changed outside"]);
    drop(forgotten);
}
