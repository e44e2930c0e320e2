//! The commands and options of `hg` that Varve lacks: `docs/commands.md` lists them as both programs report them.

use super::our_hg;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use varve_testkit::peers::hg;

/// Set to write the recorded commands and the list anew instead of comparing with them.
const UPDATE: &str = "VARVE_UPDATE_GOLDEN";
/// Marks around the list.
const BEGIN: &str = "<!-- The test hgcli::absent writes this list. -->\n";
const END: &str = "<!-- End of the list. -->\n";
/// Columns of a line of the list.
const WIDTH: usize = 120;

fn is_updating() -> bool {
    std::env::var_os(UPDATE).is_some()
}

fn path_of(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Compares a file with the text that it should have.
#[track_caller]
fn same_text(path: &Path, wanted: &str) {
    if is_updating() {
        std::fs::write(path, wanted).unwrap();
    }
    let text = std::fs::read_to_string(path).unwrap();
    assert!(
        text == wanted,
        "{} should be as follows; {UPDATE}=1 writes it\n{wanted}",
        path.display()
    );
}

/// The recorded commands of `hg`, each with its long options, as `hg debugcommands` prints them.
fn recorded() -> String {
    std::fs::read_to_string(path_of("tests/hgcli/absent/commands_of_hg.txt")).unwrap()
}

#[test]
fn the_recorded_commands_are_those_of_the_peer() {
    let directory = tempfile::tempdir().unwrap();
    let said = hg().ok(directory.path(), &["debugcommands"]);
    same_text(&path_of("tests/hgcli/absent/commands_of_hg.txt"), &said);
}

/// Outputs of one call of our program, both together.
fn said(arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(our_hg());
    let output = command
        .args(arguments)
        .env("HGRCPATH", "")
        .output()
        .unwrap();
    let both = [output.stdout, output.stderr].concat();
    (
        output.status.success(),
        String::from_utf8_lossy(&both).into_owned(),
    )
}

/// Options of `command` that are not here; `None` if the command is not here itself.
fn absent_options(command: &str, options: &[&str]) -> Option<Vec<String>> {
    let (is_there, help) = said(&["help", "-c", command]);
    let begins = format!("hg {command}");
    if !is_there || help.split([' ', '\n']).nth(1) != begins.split(' ').nth(1) {
        return None;
    }
    let is_absent = |option: &&&str| {
        let long = format!("--{option}");
        let line = help
            .lines()
            .find(|line| line.split(' ').any(|word| word == long));
        match line {
            Some(line) => line.contains("(not supported)"),
            // Help passes over old options; nothing is run, since the help is asked for.
            None => said(&[command, &format!("{long}=x"), "--help"])
                .1
                .contains("not recognized"),
        }
    };
    let absent = options.iter().filter(is_absent);
    Some(absent.map(|option| format!("`--{option}`")).collect())
}

/// Words in lines of limited width, with commas between them and `end` behind the last one.
fn wrapped(begin: &str, words: impl IntoIterator<Item = String>, end: &str) -> String {
    let words: Vec<String> = words.into_iter().collect();
    let last = words.len().saturating_sub(1);
    let (mut out, mut column) = (begin.to_owned(), begin.len());
    for (at, word) in words.iter().enumerate() {
        let word = format!("{word}{}", if at == last { end } else { "," });
        if column + 1 + word.len() > WIDTH {
            out.push_str("\n ");
            column = 1;
        }
        out.push_str(&format!(" {word}"));
        column += 1 + word.len();
    }
    out.push('\n');
    out
}

fn list() -> String {
    let recorded = recorded();
    let mut commands: BTreeMap<bool, BTreeSet<String>> = BTreeMap::new();
    let mut options = String::new();
    for line in recorded.lines() {
        let (command, listed) = line.split_once(':').map_or((line, ""), |_| {
            // Names may have colons themselves.
            let at = line.rfind(": ").unwrap_or(line.len() - 1);
            (&line[..at], line[at + 1..].trim())
        });
        let command = command.trim_end_matches(':');
        let listed: Vec<&str> = listed.split(", ").filter(|word| !word.is_empty()).collect();
        match absent_options(command, &listed) {
            None => {
                let is_inner = command.starts_with("debug") || command.contains("::");
                let of_kind = commands.entry(is_inner).or_default();
                of_kind.insert(format!("`{command}`"));
            }
            Some(absent) if absent.is_empty() => {}
            Some(absent) => options += &wrapped(&format!("- Of `{command}`:"), absent, "."),
        }
    }
    let of_kind = |is_inner| commands.get(&is_inner).cloned().unwrap_or_default();
    let users = wrapped("- Commands:", of_kind(false), ".");
    let inner = wrapped(
        "- Commands for developers and administrators:",
        of_kind(true),
        ".",
    );
    format!("{BEGIN}\n{users}{inner}{options}\n{END}")
}

#[test]
fn the_documentation_lists_what_is_absent() {
    let path = path_of("../../docs/commands.md");
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).expect("a list in docs/commands.md");
    let (_, after) = rest.split_once(END).expect("an end of the list");
    same_text(&path, &format!("{before}{}{after}", list()));
}
