//! Tests which wall stands on which layer: kernels that lack one, simulated by leaving it out.

use std::path::Path;

use adjutant_host::sandbox::{Layer, Mode, Network, Places, Sandbox, SelfTest, Settings, self_test};

use crate::world::{World, settings, without};

fn found(settings: Settings) -> SelfTest {
    let places = Places::default();
    let sandbox = Sandbox::new(settings, places, Path::new(env!("CARGO_BIN_EXE_adjutant"))).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(self_test(&sandbox)).unwrap()
}

/// The walls that fall if these layers are left out.
fn fallen(layers: &[Layer]) -> Vec<&'static str> {
    found(without(layers)).missing.into_iter().map(|wall| wall.as_str()).collect()
}

#[test]
fn every_wall_holds_and_a_wall_stands_on_the_layers_that_make_it() {
    use Layer::{Landlock, Limits, Mounts, Network, Privileges, Processes, Seccomp};
    let all = found(settings(Mode::Best));
    assert!(all.is_whole(), "{all:?}");
    let table: &[(&[Layer], &[&str])] = &[
        (&[Limits], &[]),
        (&[Processes], &["survivor"]),
        (&[Network], &[]),
        (&[Mounts], &["git_hooks"]),
        (&[Privileges], &[]),
        (&[Landlock], &[]),
        (&[Seccomp], &[]),
        (&[Mounts, Landlock], &["outside_write", "secret_read", "git_hooks"]),
        (&[Network, Seccomp], &["udp"]),
        (&[Network, Landlock], &[]),
        (&[Network, Landlock, Seccomp], &["tcp", "udp"]),
        // A kernel without user namespaces.
        (&[Processes, Network, Mounts], &["survivor", "git_hooks"]),
        // One without Landlock and filters.
        (&[Landlock, Seccomp], &[]),
        (
            &[Limits, Processes, Network, Mounts, Privileges, Landlock, Seccomp],
            &["outside_write", "secret_read", "tcp", "udp", "survivor", "git_hooks"],
        ),
    ];
    for (layers, walls) in table {
        assert_eq!(fallen(layers), *walls, "without {layers:?}");
    }
}

#[test]
fn without_a_sandbox_no_wall_is_claimed() {
    let found = found(settings(Mode::Off));
    assert_eq!((found.held.len(), found.missing.len()), (0, 6));
}

#[test]
fn a_layer_that_is_required_and_missing_stops_the_command() {
    let world = World::new();
    let settings = Settings { mode: Mode::Required, ..without(&[Layer::Seccomp]) };
    let refused = std::panic::catch_unwind(|| world.run(settings, Network::Off, "touch ran"));
    let said = refused.err().and_then(|said| said.downcast::<String>().ok()).expect("a refusal");
    assert!(said.contains("seccomp"), "{said}");
    assert!(!world.at("work/ran").exists());
}
