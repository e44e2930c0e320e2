//! The commands of the extension `uncommit`.

use super::Twin;
use super::state::{backups, same_state};
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

const EXTENSIONS: &str = "[extensions]\namend =\nuncommit =\n";
const MARKERS: &str = "[experimental]\nevolution = createmarkers, allowunstable\n";

/// Two changesets; the second one changes, renames, copies, adds and removes files.
fn begin(hg: &Hg, path: &Path, settings: &str) {
    hg.ok(path, &["init"]);
    let hgrc = [EXTENSIONS, settings].concat();
    write(path, ".hg/hgrc", hgrc.as_bytes());
    for file in ["a", "b", "gone", "e/below"] {
        write(path, file, format!("{file}\n").as_bytes());
    }
    commit(hg, path, "zero");
    write(path, "a", b"changed\n");
    write(path, "e/below", b"changed\n");
    write(path, "new", b"new\n");
    hg.ok(path, &["rename", "b", "c"]);
    hg.ok(path, &["copy", "a", "d"]);
    hg.ok(path, &["remove", "gone"]);
    commit(hg, path, "one");
    hg.ok(path, &["bookmark", "mark"]);
}

fn both_ways() -> [Twin; 2] {
    [MARKERS, ""].map(|settings| Twin::writing_with(|hg, path| begin(hg, path, settings)))
}

#[track_caller]
fn after_each(twin: &Twin, lines: &[&str]) {
    for line in lines {
        twin.all_same(&[line]);
        same_state(twin);
        let read = |path: &Path| {
            let date = [
                "debugobsolete",
                "--config",
                "devel.default-date=1700000000 0",
            ];
            (hg().run(path, &date).stdout, backups(path))
        };
        assert_eq!(read(twin.theirs()), read(twin.ours()), "{line}");
    }
}

#[test]
fn files_leave_the_changeset() {
    for line in [
        "uncommit",
        "uncommit --keep",
        "uncommit --no-keep --config experimental.uncommit.keep=yes",
        "uncommit --no-keep a --config experimental.uncommit.keep=no",
        "uncommit a",
        "uncommit b",
        "uncommit c -v",
        "uncommit b c d",
        "uncommit e new gone --note why",
        "uncommit .",
        "uncommit glob:[a-c] -m other -u Grace",
        "uncommit -I a --keep",
        "uncommit -X a -X c --keep -m other",
        "uncommit a -l .hg/hgrc",
        "uncommit a --config experimental.uncommit.keep=0",
        "uncommit --config experimental.uncommit.keep=1",
        "uncommit set:added()",
        "--cwd e uncommit below",
    ] {
        for twin in both_ways() {
            after_each(&twin, &[line, "commit -m again"]);
        }
    }
}

#[test]
fn changes_in_the_working_copy_stay() {
    for line in [
        "uncommit",
        "uncommit a",
        "uncommit c",
        "uncommit more",
        "uncommit --allow-dirty-working-copy",
        "uncommit a c --allow-dirty-working-copy",
        "uncommit c --config experimental.uncommitondirtywdir=1",
    ] {
        for twin in both_ways() {
            twin.each(|path| {
                write(path, "a", b"dirty\n");
                write(path, "more", b"more\n");
                hg().ok(path, &["add", "-q", "more"]);
                hg().ok(path, &["rename", "-q", "c", "cc"]);
            });
            after_each(&twin, &[line]);
        }
    }
}

#[test]
fn phases_and_descendants_count() {
    for line in ["uncommit a", "uncommit"] {
        for twin in both_ways() {
            let lines = ["phase --force --secret .", line, "update -q -C 0", line];
            after_each(&twin, &lines);
            // In an empty repository, Mercurial falls over an exception of Python here.
            if !hg().ok(twin.theirs(), &["log", "--hidden"]).is_empty() {
                after_each(&twin, &["phase --public 0", line]);
            }
            after_each(&twin, &["update -q null", line]);
        }
    }
}

#[test]
fn amendments_are_undone() {
    let twin = Twin::writing(|hg, path| begin(hg, path, MARKERS));
    after_each(&twin, &["unamend"]);
    for number in 0..2 {
        twin.each(|path| {
            write(path, "a", format!("{number}\n").as_bytes());
            hg().run(path, &["rename", "-q", "new", "newer"]);
        });
        after_each(&twin, &["amend -m amended"]);
    }
    twin.each(|path| write(path, "d", b"dirty\n"));
    after_each(
        &twin,
        &["unamend -v", "unamend", "phase --public .", "unamend"],
    );
}

#[test]
fn an_amendment_without_a_marker_cannot_be_undone() {
    let twin = Twin::writing(|hg, path| begin(hg, path, ""));
    twin.each(|path| write(path, "a", b"amended\n"));
    after_each(&twin, &["amend", "unamend"]);
}

/// Markers of a changeset go with it, into the backup.
#[test]
fn changesets_with_markers_are_stripped() {
    for evolution in ["", "allowunstable", "exchange", "createmarkers", "all"] {
        for lines in [&["unamend"][..], &["uncommit a", "uncommit"]] {
            let twin = Twin::writing(|hg, path| begin(hg, path, MARKERS));
            twin.each(|path| write(path, "a", b"amended\n"));
            twin.all_same(&["amend -m amended"]);
            let settings = format!("{EXTENSIONS}[experimental]\nevolution = {evolution}\n");
            twin.each(|path| write(path, ".hg/hgrc", settings.as_bytes()));
            after_each(&twin, lines);
            let read = |path: &Path| {
                let bundles = backups(path).into_iter();
                let bundles = bundles.map(|name| path.join(".hg/strip-backup").join(name));
                let show = |name: std::path::PathBuf| {
                    hg().ok(path, &["debugbundle", name.to_str().unwrap()])
                };
                bundles.map(show).collect::<Vec<_>>()
            };
            assert_eq!(
                read(twin.theirs()),
                read(twin.ours()),
                "{evolution} {lines:?}"
            );
        }
    }
}

#[test]
fn merges_and_refusals() {
    let twin = Twin::writing(|hg, path| begin(hg, path, ""));
    let long = "n".repeat(256);
    twin.same(&["uncommit", "-n", &long]);
    // Mercurial's uncommit has no such option. The help that is shown then is our own.
    twin.same_but_output(&["uncommit", "--interactive"]);
    after_each(
        &twin,
        &[
            "uncommit nothere",
            "uncommit a nothere",
            "uncommit e/nothere",
            "uncommit glob:z*",
            "uncommit re:nothing",
            "uncommit -I nothing",
            "uncommit set:modified() -I nothing",
            "uncommit a -m x -l y",
            "uncommit a -l nothere",
            "uncommit a -d nonsense",
            "uncommit a -D -d 0",
            "uncommit a -U -u x",
            "unamend a",
            "update -q 0",
            "commit -q -m child --config ui.allowemptycommit=1",
            "uncommit",
            "uncommit a",
            "merge -q 1",
            "uncommit",
            "uncommit --allow-dirty-working-copy",
            "unamend",
            "commit -m merged",
            "uncommit",
            "unamend",
        ],
    );
}

#[test]
fn the_extension_is_asked_for() {
    let twin = Twin::writing(|hg, path| begin(hg, path, ""));
    twin.each(|path| write(path, ".hg/hgrc", b""));
    for command in ["uncommit", "unamend"] {
        let both = twin.run(&[command]);
        let words = format!("hg: unknown command '{command}'\n");
        assert!(both.ours.stderr.starts_with(&words));
        assert_eq!(both.ours.code, both.theirs.code);
    }
    after_each(&twin, &["--config extensions.uncommit= uncommit a"]);
}
