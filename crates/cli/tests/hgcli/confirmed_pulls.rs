//! `pull --confirm`: nothing counts before the user has said yes.

use super::Twin;
use super::state::same_state;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

fn add(hg: &Hg, path: &Path, name: &str) {
    write(path, name, name.as_bytes());
    hg.ok(path, &["add", name]);
    commit(hg, path, name);
}

fn begin(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    add(hg, path, "zero");
    write(path, ".hg/hgrc", b"[ui]\ninteractive = yes\n");
}

#[test]
fn declined_changes_leave_nothing() {
    let twin = Twin::writing(begin);
    let hg = hg();
    let source = tempfile::tempdir().unwrap();
    let source = source.path().join("source");
    hg.ok(
        twin.theirs(),
        &["clone", "-q", ".", source.to_str().unwrap()],
    );
    add(&hg, &source, "one");
    hg.ok(&source, &["update", "-q", "0"]);
    add(&hg, &source, "two");
    hg.ok(&source, &["bookmark", "mark"]);
    let from = source.to_str().unwrap();
    let asked = |words: &[&str], answers: &str| {
        twin.same_answering(&[&["pull", from][..], words].concat(), answers);
        same_state(&twin);
    };
    asked(&["--confirm"], "n\n");
    asked(&["--confirm"], "");
    asked(&["--confirm", "-q"], "what\nn\n");
    asked(&["--confirm", "-r", "1", "-u"], "\n");
    // Plain output is for scripts, which the setting does not ask.
    asked(&["--config", "pull.confirm=yes", "-r", "1"], "n\n");
    asked(&["--confirm"], "Y\n");
    add(&hg, &source, "three");
    // With -y all questions are answered.
    twin.same(&["pull", from, "--confirm", "-y"]);
    same_state(&twin);
}
