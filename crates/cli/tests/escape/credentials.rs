//! Tests that commands can't read the places in a home where programs keep credentials, planted here under the names
//! that they have, and can read what tools need.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;

use adjutant_host::sandbox::{Layer, Mode, Network, Settings};

use crate::world::{World, settings, without};

/// Well-known places of credentials, histories and private data, relative to a home.
const STORES: &str = include_str!("stores.txt");

/// Returns the text planted in each place: a shape that no detector of secrets knows.
fn planted(number: usize) -> String {
    format!("planted-{number}-planted")
}

/// The content of a store, in the form in which its program reads it where that matters.
fn content(path: &str, number: usize) -> String {
    let secret = planted(number);
    match path {
        ".gitconfig" => format!(
            "[user]\n\tname = Ann\n\temail = ann@a.example\n[github]\n\ttoken = {secret}\n[http]\n\textraheader = X: {secret}\n"
        ),
        ".config/git/config" => format!(
            "[credential]\n\thelper = \"store {secret}\"\n[url \"https://x:{secret}@host/\"]\n\tinsteadOf = h:\n"
        ),
        ".npmrc" => {
            format!("registry=https://registry.example/\n//registry.example/:_authToken={secret}\n_password={secret}\n")
        }
        ".config/pip/pip.conf" | ".pip/pip.conf" => format!("[global]\nindex-url = https://u:{secret}@host/simple\n"),
        ".cargo/config.toml" | ".cargo/config" => format!("[registry]\ntoken = \"{secret}\"\n"),
        ".config/go/env" => format!("GOPROXY=https://u:{secret}@host\n"),
        _ => format!("{secret}\n"),
    }
}

fn plant(world: &World) -> Vec<&'static str> {
    let stores: Vec<&str> = STORES.lines().collect();
    for (number, path) in stores.iter().enumerate() {
        let place = world.at("home").join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        if !place.is_dir() {
            fs::write(place, content(path, number)).unwrap();
        }
    }
    stores
}

/// The stores of which something was said when each was read, and the home was searched.
fn read_of(world: &World, settings: Settings) -> BTreeSet<&'static str> {
    let stores = plant(world);
    let mut line = String::from("cd $HOME; exec 2>/dev/null\n");
    for path in &stores {
        writeln!(line, "cat '{path}'").unwrap();
    }
    line.push_str("grep -rh planted . ; git config --list; cat /proc/self/root$HOME/.ssh/id_rsa");
    let ended = world.run(settings, Network::Off, &line);
    let said = ended.stdout.text();
    let is_read = |(number, _): &(usize, &&str)| said.contains(&planted(*number));
    stores.iter().enumerate().filter(is_read).map(|(_, path)| *path).collect()
}

#[test]
fn none_of_hundreds_of_stores_of_credentials_can_be_read() {
    let none = BTreeSet::<&str>::new();
    assert_eq!(read_of(&World::new(), settings(Mode::Best)), none);
    assert_eq!(read_of(&World::new(), without(&[Layer::Mounts])), none, "by Landlock alone");
    assert_eq!(read_of(&World::new(), without(&[Layer::Landlock])), none, "by the mounts alone");
}

#[test]
fn without_a_sandbox_all_of_them_are_read() {
    let read = read_of(&World::new(), settings(Mode::Off));
    let missed: Vec<&str> = STORES.lines().filter(|path| !read.contains(path)).collect();
    assert!(STORES.lines().count() > 400 && missed.is_empty(), "{missed:?}");
}

#[test]
fn what_tools_need_of_a_home_can_be_read() {
    for layers in [&[][..], &[Layer::Mounts]] {
        let world = World::new();
        plant(&world);
        for path in [".cargo/registry/a", ".nvm/a", "go/pkg/a", ".m2/repository/a", ".local/bin/a", ".npm/_cacache/a"] {
            let place = world.at("home").join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, "#!/bin/sh\necho a tool\n").unwrap();
        }
        let ended = world.run(
            without(layers),
            Network::Off,
            "cd $HOME; cat .cargo/registry/a .nvm/a go/pkg/a .m2/repository/a .local/bin/a .npm/_cacache/a | grep -c tool
             cd $WORK; git config user.name; git config user.email; grep registry ${NPM_CONFIG_USERCONFIG:-$HOME/.npmrc}
             touch f && git add f && git commit -qm one && git log --format=%an",
        );
        let said = ended.stdout.text();
        assert!(
            said.starts_with("6\nAnn\nann@a.example\nregistry=https://registry.example/\nAnn\n"),
            "{said}{}",
            ended.stderr.text()
        );
    }
}
