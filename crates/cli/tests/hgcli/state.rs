//! The two copies of a [`Twin`], looked at with the real program.

use super::Twin;
use std::ffi::OsString;
use std::path::Path;
use varve_testkit::peers::hg;

/// A repository and its working directory as the real program shows them.
fn described(root: &Path) -> String {
    let hg = hg();
    let mut all = String::new();
    for arguments in [
        &["log", "--debug"][..],
        &["status", "-A"],
        // The branch of the next commit and the active bookmark; phases and bookmarks are in the log.
        &["summary"],
        &["verify", "-q"],
    ] {
        let said = hg.run(root, arguments);
        all.push_str(&format!("{arguments:?}\n{}{}", said.stdout, said.stderr));
    }
    // The stat of a clean file depends on when it was written.
    // Copies come in no order that means anything.
    let listed = hg.ok(root, &["debugstate", "--no-dates"]);
    let mut lines: Vec<&str> = listed.lines().collect();
    lines.sort_by_key(|line| line.strip_prefix("copy: "));
    for line in lines {
        let name = line
            .find("set ")
            .map_or(line, |at| line[at + 4..].trim_start());
        all.push_str(&format!("{:?} {name}\n", line.chars().next()));
    }
    all
}

/// Both copies are in the same state.
#[track_caller]
pub fn same_state(twin: &Twin) {
    let (theirs, ours) = (described(twin.theirs()), described(twin.ours()));
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
