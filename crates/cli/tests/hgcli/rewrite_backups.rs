//! Bundles of what a rewrite removes, which `rewrite.backup-bundle` forbids.

use super::Twin;
use super::state::{backups, same_state};
use varve_testkit::peers::hg;
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
    // Lines that need a clean working copy, and those that take a change along.
    for (is_changed, line) in [
        (true, "amend -d 1_0"),
        (true, "commit --amend -m amended -d 2_0"),
        (false, "rebase -s 3 -d 1"),
        (false, "rebase -s 2 -d 1 --collapse -m collapsed"),
        (true, "uncommit -d 3_0 c"),
        (true, "commit -m again -d 4_0"),
        (true, "fix -r . --working-dir"),
        (false, "histedit tip --commands ../plan"),
        (true, "absorb -a"),
        (false, "strip tip"),
    ] {
        if is_changed {
            twin.each(|path| write(path, "a", format!("{line}\n").as_bytes()));
        }
        let tip = hg().ok(twin.theirs(), &["log", "-r", "tip", "-T", "drop {node}\n"]);
        twin.each(|path| write(path, "../plan", tip.as_bytes()));
        let words: Vec<String> = line.split(' ').map(|word| word.replace('_', " ")).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        twin.same_answering(&words, "y\ny\ny\ny\n");
        same_state(&twin);
        assert_eq!(backups(twin.theirs()), backups(twin.ours()), "{line}");
        twin.all_same(&["update -q -C ."]);
    }
    // `amend` and `rebase` kept nothing, as others do.
    let kept = backups(twin.ours());
    let names: Vec<_> = kept.iter().map(|name| name.to_string_lossy()).collect();
    let purpose = |name: &str| {
        names
            .iter()
            .any(|kept| kept.ends_with(&format!("-{name}.hg")))
    };
    assert!(
        !purpose("amend") && !purpose("rebase") && purpose("fix") && purpose("backup"),
        "{names:?}"
    );
}
