//! Tests that ordinary work is still possible in a sandbox.

use adjutant_host::sandbox::{Mode, Network};

use crate::world::{World, settings};

#[track_caller]
fn works(line: &str, said: &str) {
    let world = World::new();
    let ended = world.run(settings(Mode::Best), Network::Off, &format!("set -e; {line}"));
    World::expect_whole(&ended);
    assert!(ended.stdout.text().contains(said), "{line}\n{}\n{}", ended.stdout.text(), ended.stderr.text());
    assert_eq!(world.damage(&ended), [""; 0], "{line}");
}

#[test]
fn git_commits_branches_and_merges() {
    works(
        "git() { command git -c user.name=a -c user.email=a@b \"$@\"; }
         echo 1 > a; git add a; git commit -qm one; git checkout -qb side; echo 2 > b; git add b; git commit -qm two
         git checkout -q -; echo 3 > c; git add c; git commit -qm three; git merge -qm four side; git stash list
         git tag t; git gc -q; git worktree add -q w side; git log --oneline | wc -l",
        "4",
    );
}

#[test]
fn scripts_and_programs_run() {
    works("sh -c 'echo $((40+2))'", "42");
    works("mkdir -p a/b; echo x > a/b/c; cp -r a d; mv d e; rm -r a; cat e/b/c; ls | wc -l", "1");
    works("t=$(mktemp); echo here > $t; cat $t; [ $(dirname $t) = /tmp ] && echo private", "private");
    works("cat $HOME/notes 2>/dev/null || echo hidden", "hidden");
    works("echo a | tee /dev/stderr | cat > /dev/null; echo ok > /dev/stdout", "ok");
    works("sleep 0 & wait $!; (exit 3) || echo $?", "3");
    works("[ $$ -lt 100 ] && ls /proc/self/fd | wc -l", "4");
}

#[test]
fn without_the_network_a_command_can_talk_to_itself() {
    works(
        "python3 -c '
import socket
for family, host in ((socket.AF_INET, \"127.0.0.1\"), (socket.AF_INET6, \"::1\")):
    server = socket.create_server((host, 0), family=family)
    client = socket.create_connection(server.getsockname()[:2])
    server.accept()[0].sendall(b\"heard\")
    print(client.recv(9).decode(), end=\" \")
'",
        "heard heard",
    );
}

#[test]
fn the_network_is_there_where_it_was_authorized() {
    let world = World::new();
    let ended = world.run(settings(Mode::Best), Network::On, "echo x > /dev/tcp/127.0.0.1/$TCP");
    World::expect_whole(&ended);
    assert_eq!(world.damage(&ended), ["a connection"]);
}

#[test]
fn a_command_ends_by_its_own_signal_and_says_what_it_left() {
    let world = World::new();
    let ended = world.run(settings(Mode::Best), Network::Off, "sleep 1000 & sleep 1000 & kill -USR1 $$");
    assert_eq!((ended.exit_code, ended.signal.as_deref(), ended.left_behind), (None, Some("signal 10"), 2));
}
