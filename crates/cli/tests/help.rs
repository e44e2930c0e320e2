//! The complete help is one file, so that a change to it shows in review.

use std::path::Path;
use std::process::Command;

/// Every command with a help of its own.
const COMMANDS: &[&[&str]] = &[
    &[],
    &["serve"],
    &["bench"],
    &["bench", "codec"],
    &["bench", "revlog"],
];

/// Set to write the file anew instead of comparing with it.
const UPDATE: &str = "VARVE_UPDATE_GOLDEN";

#[test]
fn the_help_is_the_golden_one() {
    let mut all = String::new();
    for command in COMMANDS {
        let mut words = vec!["varve"];
        words.extend_from_slice(command);
        let run = Command::new(env!("CARGO_BIN_EXE_varve"))
            .args(*command)
            .arg("--help")
            .output()
            .unwrap();
        assert!(run.status.success());
        let help = String::from_utf8(run.stdout).unwrap();
        all.push_str(&format!("$ {} --help\n{help}\n", words.join(" ")));
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/help.txt");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&golden, &all).unwrap();
    }
    let expected = std::fs::read_to_string(&golden).unwrap();
    assert_eq!(
        all, expected,
        "if the change is meant, run again with {UPDATE}=1"
    );
}
