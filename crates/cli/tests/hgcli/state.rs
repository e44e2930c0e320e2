//! The two copies of a [`Twin`], looked at with the real program.

use super::Twin;
use std::ffi::OsString;
use std::path::Path;
use varve_testkit::peers::hg;

/// The stat of a clean file depends on when it was written, and copies come in no order that means anything.
const DIRSTATE: &[&str] = &["debugstate", "--no-dates"];

/// Lines that show unfinished merges, markers, and changesets that are hidden.
pub const REWRITTEN: &[&[&str]] = &[
    &["debugmergestate"],
    &["debugobsolete"],
    &["log", "--hidden", "-T", "{node} {phase}\n"],
];

/// A repository and its working directory as the real program shows them, and what it says to more lines.
fn described(root: &Path, more: &[&[&str]]) -> String {
    let lines = [
        &["log", "--debug"][..],
        &["status", "-A"],
        // The branch of the next commit and the active bookmark; phases and bookmarks are in the log.
        &["summary"],
        &["verify", "-q"],
    ];
    let lines = [&lines, more, &[DIRSTATE]].concat();
    let mut said = hg().run_all(root, &lines);
    let listed = said.pop().unwrap().success();
    let mut all = String::new();
    for (arguments, said) in lines.iter().zip(said) {
        all.push_str(&format!("{arguments:?}\n{}{}", said.stdout, said.stderr));
    }
    let mut entries: Vec<&str> = listed.lines().collect();
    entries.sort_by_key(|line| line.strip_prefix("copy: "));
    for entry in entries {
        let name = entry
            .find("set ")
            .map_or(entry, |at| entry[at + 4..].trim_start());
        all.push_str(&format!("{:?} {name}\n", entry.chars().next()));
    }
    all
}

/// Both copies are in the same state.
#[track_caller]
pub fn same_state(twin: &Twin) {
    same_state_and(twin, &[]);
}

/// Both copies are in the same state, of which these lines show more.
#[track_caller]
pub fn same_state_and(twin: &Twin, lines: &[&[&str]]) {
    let (theirs, ours) = (
        described(twin.theirs(), lines),
        described(twin.ours(), lines),
    );
    assert!(theirs == ours, "--- theirs\n{theirs}--- ours\n{ours}");
}

/// Names of the bundles that a repository keeps of removed changesets.
pub fn backups(root: &Path) -> Vec<OsString> {
    let found = std::fs::read_dir(root.join(".hg/strip-backup"));
    let found = found.into_iter().flatten().flatten();
    let mut names: Vec<_> = found.map(|entry| entry.file_name()).collect();
    names.sort();
    names
}
