//! Bundles of what a rewrite removes, which `rewrite.backup-bundle` forbids.

use super::Twin;
use super::state::{backups, same_state};
use varve_testkit::repos::{commit, write};

const SETTINGS: &str = "[extensions]\namend =\nrebase =\nuncommit =\nhistedit =\nabsorb =\nfix =\nsplit =\nstrip =\n\
    [rewrite]\nbackup-bundle = no\n[fix]\nx:command = tr a-z A-Z\nx:pattern = **\n";

#[test]
fn no_bundles_are_kept_where_none_are_wanted() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, ".hg/hgrc", SETTINGS.as_bytes());
        for name in ["a", "b", "c", "d"] {
            write(path, name, format!("{name}\n").as_bytes());
            commit(hg, path, name);
        }
    });
    let answers = "y\ny\ny\ny\n";
    for line in [
        "amend -d 1_0",
        "commit --amend -m amended -d 2_0",
        "rebase -s 3 -d 1",
        "uncommit -d 3_0 c",
        "commit -m again -d 4_0",
        "fix -r . --working-dir",
        "unamend",
        "histedit 2 --commands ../plan",
        "absorb -a",
        "strip tip",
    ] {
        twin.each(|path| {
            write(path, "a", format!("{line}\n").as_bytes());
            write(path, "../plan", b"drop 2\n");
        });
        let words: Vec<String> = line.split(' ').map(|word| word.replace('_', " ")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        twin.same_answering(&words, answers);
        same_state(&twin);
        assert_eq!(backups(twin.theirs()), backups(twin.ours()), "{line}");
        twin.all_same(&["update -q -C ."]);
    }
}
