//! The complete help is one file, so that a change to it shows in review.

use std::path::Path;
use std::process::{Command, Output};

/// Every command with a help of its own.
const COMMANDS: &[&[&str]] = &[
    &[],
    &["verify"],
    &["recompress"],
    &["clonebundle"],
    &["import"],
    &["export"],
    &["load"],
    &["dump"],
    &["serve"],
    &["advise"],
    &["bench"],
    &["bench", "all"],
    &["bench", "bundle"],
    &["bench", "codec"],
    &["bench", "db"],
    &["bench", "hg"],
    &["bench", "load"],
    &["bench", "repo"],
    &["bench", "revlog"],
    &["bench", "stream"],
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

fn varve(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_varve"));
    command.args(words).env("HGRCPATH", "").output().unwrap()
}

fn printed(words: &[&str]) -> String {
    let run = varve(words);
    assert!(run.status.success(), "{words:?}");
    String::from_utf8(run.stdout).unwrap()
}

#[test]
fn every_way_of_asking_prints_the_same() {
    let list = printed(&["help"]);
    for words in [&[][..], &["--help"], &["-h"]] {
        assert_eq!(printed(words), list, "{words:?}");
    }
    for name in [
        "bench",
        "clonebundle",
        "recompress",
        "serve",
        "verify",
        "commit",
    ] {
        assert!(
            list.contains(&format!("\n {name} ")),
            "{name} is not listed:\n{list}"
        );
        assert_eq!(
            printed(&["help", name]),
            printed(&[name, "--help"]),
            "{name}"
        );
    }
    assert_eq!(
        printed(&["help", "bench", "codec"]),
        printed(&["bench", "codec", "--help"])
    );
    let version = printed(&["version"]);
    assert!(
        version.starts_with(concat!("varve ", env!("CARGO_PKG_VERSION"), "\n")),
        "{version}"
    );
    for words in [&["--version"], &["-V"]] {
        assert_eq!(printed(words), version);
    }
}

#[test]
fn unknown_commands_say_what_may_be_meant() {
    for (word, said) in [
        (
            "frob",
            "varve: unknown command 'frob'\n(use 'varve help' for a list of commands)\n",
        ),
        (
            "recompess",
            "varve: unknown command 'recompess'\n(did you mean one of recompress, recover?)\n",
        ),
        (
            "debugshell",
            "varve: hg has debugshell, Varve does not (yet)\n(hg can be used in the same repository)\n",
        ),
        (
            "debugdag",
            "varve: hg has debugdag, Varve does not (yet)\n(hg can be used in the same repository)\n",
        ),
    ] {
        let run = varve(&[word]);
        assert_eq!(run.status.code(), Some(255));
        assert_eq!(String::from_utf8_lossy(&run.stderr), said);
    }
    let help = varve(&["help", "debugshell"]);
    let said = String::from_utf8_lossy(&help.stderr);
    assert!(
        said.starts_with("varve: hg has debugshell, Varve does not (yet)\n"),
        "{said}"
    );
}
