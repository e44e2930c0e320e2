//! `debugmergestate`.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::{commit, write};

/// Two heads that changed one file both, and removed one that the other has changed.
fn heads(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    for name in ["both", "one", "other", "gone"] {
        write(path, name, b"x\n");
    }
    commit(hg, path, "base");
    write(path, "both", b"a\n");
    write(path, "one", b"a\n");
    write(path, "gone", b"a\n");
    commit(hg, path, "first");
    hg.ok(path, &["update", "0"]);
    write(path, "both", b"b\n");
    write(path, "other", b"b\n");
    hg.ok(path, &["remove", "gone"]);
    commit(hg, path, "second");
}

#[test]
fn a_merge_is_described_alike() {
    let twin = Twin::writing(heads);
    let template =
        "{commits % '{name} {label} {node|short}\\n'}{files % '{path} {state} {local_key}\\n'}";
    twin.all_same(&["debugmergestate", "debugmergestate -T json"]);
    twin.same(&["merge", "1", "--tool", ":fail"]);
    twin.all_same(&[
        "debugmergestate",
        "debugmergestate -v",
        "debugmergestate -T json",
    ]);
    twin.same(&["debugmergestate", "-T", template]);
    twin.all_same(&[
        "resolve -m both",
        "debugmergestate",
        "merge --abort",
        "debugmergestate",
    ]);
    twin.same(&["merge", "1", "--tool", ":fail"]);
    let lines = [
        "debugmergestate -v",
        "debugmergestate",
        "debugmergestate -T json",
    ];
    twin.each(|path| {
        let state = path.join(".hg/merge");
        std::fs::rename(state.join("state2"), state.join("kept")).unwrap();
    });
    twin.all_same(&lines);
    // Another program has written the older list only.
    twin.each(|path| {
        let state = path.join(".hg/merge");
        std::fs::rename(state.join("kept"), state.join("state2")).unwrap();
        std::fs::write(state.join("state"), format!("{}\n", "1".repeat(40))).unwrap();
    });
    twin.all_same(&lines);
    twin.each(|path| std::fs::remove_file(path.join(".hg/merge/state")).unwrap());
    twin.all_same(&["debugmergestate -v", "merge --abort"]);
    twin.all_same(&["backout -r 0 --tool :fail", "debugmergestate"]);
}
