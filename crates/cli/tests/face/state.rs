//! The two copies of a [`Twin`], looked at with the real program.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::hg;

/// What the real program says of a repository and its working folder.
fn described(root: &Path) -> String {
    let hg = hg();
    let mut all = String::new();
    for arguments in [
        &["log", "--debug"][..],
        &["status", "-A"],
        &["bookmarks"],
        &["branch"],
        &["phase", "-r", "all()"],
        &["identify"],
        &["verify", "-q"],
    ] {
        let said = hg.run(root, arguments);
        all.push_str(&format!("{arguments:?}\n{}{}", said.stdout, said.stderr));
    }
    // Whether a time counts depends on when the file was written.
    for line in hg.ok(root, &["debugstate", "--no-dates"]).lines() {
        let (before, after) = line.split_at(line.find("set ").map_or(0, |at| at + 4));
        all.push_str(before.trim_end_matches("set ").trim_end_matches("un"));
        all.push_str(after.trim_start());
        all.push('\n');
    }
    all
}

/// Both copies are in the same state.
#[track_caller]
pub fn same_state(twin: &Twin) {
    let (theirs, ours) = (described(twin.theirs()), described(twin.ours()));
    assert!(theirs == ours, "--- theirs\n{theirs}--- ours\n{ours}");
}
