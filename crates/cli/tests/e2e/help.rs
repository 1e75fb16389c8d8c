//! Tests the output of `--help`, for the program and for each command.

use crate::home::TestHome;

#[test]
fn every_command_explains_itself() {
    let home = TestHome::new();
    let top = home.run(&["--help"]).expect_code(0);
    insta::assert_snapshot!("adjutant", home.settled(&top.stdout));
    let commands = top.stdout.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names: Vec<&str> = commands
        .take_while(|line| !line.is_empty())
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .collect();
    assert!(names.len() >= 13, "{names:?}");
    for name in names {
        let said = home.run(&[name, "--help"]).expect_code(0);
        assert_eq!(said.stderr, "", "{name}");
        insta::assert_snapshot!(format!("adjutant_{name}"), home.settled(&said.stdout));
    }
}
