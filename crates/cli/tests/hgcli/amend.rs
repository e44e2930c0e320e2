//! `commit --amend`: the same changesets as the real program makes, and as little left of the old.

use super::Twin;
use super::state::{same_state, same_state_and};
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

const MARKERS: &str = "--config=experimental.evolution=createmarkers";
const ALL: &str = "--config=experimental.evolution=all";

fn begin(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    for name in ["a", "b", "c", "d/e", "d/f"] {
        write(path, name, format!("{name}\n").as_bytes());
    }
    commit(hg, path, "zero");
    write(path, "a", b"one\n");
    commit(hg, path, "one");
}

fn each_hg(twin: &Twin, arguments: &[&str]) {
    twin.each(|path| drop(hg().ok(path, arguments)));
}

fn files(path: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort_unstable();
    names
}

/// Same history, same list of files, same names of backups with the same bundles in them, and
/// nothing for `verify` to find.
#[track_caller]
fn same(twin: &Twin) {
    same_state_and(
        twin,
        &[&["phase", "-r", "all()", "--hidden"], &["debugobsolete"]],
    );
    let hg = hg();
    let described = |root: &Path| {
        let mut all = std::fs::read_to_string(root.join(".hg/store/fncache")).unwrap_or_default();
        let backups = root.join(".hg/strip-backup");
        for name in files(&backups) {
            let bundle = backups.join(&name);
            let bundle = bundle.to_str().unwrap();
            all.push_str(&format!(
                "{name}\n{}",
                hg.ok(root, &["debugbundle", bundle])
            ));
        }
        all
    };
    let (theirs, ours) = (described(twin.theirs()), described(twin.ours()));
    let sorted = |text: &str| {
        let mut lines: Vec<_> = text.lines().map(str::to_owned).collect();
        lines.sort_unstable();
        lines
    };
    assert_eq!(sorted(&theirs), sorted(&ours));
    let verified = hg.run(twin.ours(), &["verify", ALL]);
    assert!(
        verified.code == Some(0) && verified.stderr.is_empty(),
        "{verified}"
    );
}

#[test]
fn words_and_files_are_amended_as_hg_does() {
    let twin = Twin::writing(begin);
    twin.all_same(&[
        "ci --amend -m one",
        "ci --amend -m x",
        "ci --amend -v -m y",
        "ci --amend -q -m z",
    ]);
    same(&twin);
    twin.each(|path| write(path, "b", b"two\n"));
    twin.each(|path| write(path, "new", b"new\n"));
    twin.all_same(&[
        "ci --amend -v -m more",
        "ci --amend -A -m added",
        "ci --amend -u bob -m added",
        "ci --amend -u bob -m added",
        "ci --amend -m added -d bad",
        "ci --amend -m added -l new",
        "ci --amend -l new",
    ]);
    twin.same(&["ci", "--amend", "-m", "dated", "-d", "5 -60"]);
    same(&twin);
    twin.each(|path| write(path, "c", b"three\n"));
    twin.each(|path| write(path, "d/e", b"four\n"));
    twin.all_same(&[
        "ci --amend -m part c",
        "ci --amend -m dated nowhere",
        "ci --amend -m none nowhere",
        "ci --amend -m all -X d/e",
        "status",
    ]);
    same(&twin);
    each_hg(&twin, &["revert", "--all", "--no-backup", "-r", "0"]);
    twin.all_same(&["ci --amend -m back", "log -r . --debug", "verify -q"]);
    same(&twin);
}

#[test]
fn additions_removals_and_copies_are_seen_from_the_parent() {
    let twin = Twin::writing(begin);
    twin.each(|path| write(path, "n", b"n\n"));
    each_hg(&twin, &["add", "n"]);
    each_hg(&twin, &["rename", "b", "moved"]);
    each_hg(&twin, &["copy", "d/e", "copied"]);
    twin.all_same(&["ci -m two", "ci --amend -m again"]);
    each_hg(&twin, &["remove", "n"]);
    each_hg(&twin, &["rename", "moved", "further"]);
    twin.each(|path| write(path, "copied", b"and changed\n"));
    twin.all_same(&["ci --amend -v -m three", "log -r . -p --git"]);
    same(&twin);
    each_hg(&twin, &["rename", "further", "b"]);
    each_hg(&twin, &["copy", "--force", "c", "a"]);
    twin.all_same(&["ci --amend -m four", "log -r . -p --git"]);
    twin.all_same(&["ci --amend -m five", "log -r . -p --git"]);
    same(&twin);
    twin.each(|path| {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path.join("c"), mode).unwrap();
        std::fs::remove_file(path.join("d/f")).unwrap();
    });
    twin.all_same(&[
        "ci --amend -m missing",
        "ci --amend -A -m removed",
        "status -A",
    ]);
    same(&twin);
    twin.each(|path| write(path, "big", &varve_testkit::repos::noise(300_000, 7)));
    twin.all_same(&["ci -A -m big", "ci --amend -m still", "forget big"]);
    twin.all_same(&["ci --amend -m gone", "status"]);
    same(&twin);
}

#[test]
fn branches_bookmarks_and_phases_go_along() {
    let twin = Twin::writing(|hg, path| {
        begin(hg, path);
        hg.ok(path, &["bookmark", "active"]);
        hg.ok(path, &["bookmark", "-i", "other"]);
        hg.ok(path, &["bookmark", "-i", "-r", "0", "below"]);
    });
    twin.all_same(&[
        "ci --amend -m marked",
        "ci --amend -m secret --secret",
        "ci --amend -m still",
        "ci --amend -m draft --draft",
        "ci --amend -m x --draft --secret",
    ]);
    same(&twin);
    twin.all_same(&[
        "branch side",
        "ci --amend -m branch",
        "ci --amend --close-branch -m x",
        "ci --amend --force-close-branch -m closed",
        "ci --amend --close-branch -m x",
        "ci --amend -m words",
        "ci --force-close-branch -m x",
        "up -q 0",
        "ci --close-branch -m x",
        "ci --force-close-branch -m forced",
        "branch -q other",
        "ci --force-close-branch -m x",
    ]);
    same(&twin);
}

#[test]
fn what_may_not_be_amended_is_refused() {
    let twin = Twin::writing(|hg, path| hg.ok(path, &["init"]).clear());
    twin.all_same(&["ci --amend -m x"]);
    let twin = Twin::writing(|hg, path| {
        begin(hg, path);
        hg.ok(path, &["update", "0"]);
        write(path, "b", b"two\n");
        commit(hg, path, "two");
    });
    twin.all_same(&[
        "up -q 0",
        "ci --amend -m x",
        "ci --amend -S -m x",
        "ci -i -m x",
    ]);
    twin.same(&["ci", "--amend", "-m", "x", MARKERS]);
    each_hg(&twin, &["update", "1"]);
    each_hg(&twin, &["merge"]);
    twin.all_same(&["ci --amend -m x", "ci -m merge", "ci --amend -m merged"]);
    twin.each(|path| write(path, "a", b"in the merge\n"));
    twin.all_same(&["ci --amend -m again", "log -r . --debug"]);
    same(&twin);
    each_hg(&twin, &["phase", "-p", "."]);
    twin.all_same(&["ci --amend -m x -l y", "ci --amend -m x -d bad"]);
    each_hg(&twin, &["branch", "closed"]);
    twin.all_same(&["ci --amend --close-branch -m x"]);
}

/// Changesets above the one that goes, which share revisions with it.
#[test]
fn changesets_above_the_old_one_stay() {
    let twin = Twin::writing(|hg, path| {
        begin(hg, path);
        hg.ok(path, &["update", "0"]);
        write(path, "a", b"one\n");
        write(path, "b", b"two\n");
        commit(hg, path, "beside");
        write(path, "big", &varve_testkit::repos::noise(200_000, 3));
        commit(hg, path, "above");
        hg.ok(path, &["phase", "--force", "--secret", "."]);
        hg.ok(path, &["bookmark", "-r", ".", "mark"]);
        hg.ok(path, &["update", "0"]);
        write(path, "b", b"two\n");
        commit(hg, path, "same file");
        hg.ok(path, &["update", "1"]);
    });
    twin.each(|path| write(path, "c", b"amended\n"));
    twin.all_same(&["ci --amend -m amended", "log -v", "manifest --debug -r 3"]);
    same(&twin);
    twin.all_same(&["up -q 3", "ci --amend -m last", "heads"]);
    same(&twin);
}

#[test]
fn backups_bring_the_old_changeset_back() {
    let twin = Twin::writing(|hg, path| {
        begin(hg, path);
        hg.ok(path, &["phase", "--force", "--secret", "."]);
    });
    let before = hg().ok(twin.ours(), &["log", "-r", "1", "--debug"]);
    twin.all_same(&["ci --amend -m two"]);
    twin.each(|path| {
        let name = files(&path.join(".hg/strip-backup")).remove(0);
        let bundle = format!(".hg/strip-backup/{name}");
        hg().ok(path, &["unbundle", &bundle]);
    });
    let after = hg().ok(twin.ours(), &["log", "-r", "2", "--debug"]);
    let of = |text: &str| text.replace("2:", "1:").replace("tag:         tip\n", "");
    assert_eq!(of(&after), of(&before));
    same(&twin);
}

#[test]
fn markers_are_left_where_evolution_is_allowed() {
    let twin = Twin::writing(begin);
    twin.each(|path| write(path, "b", b"two\n"));
    for more in [
        &["-m", "two"][..],
        &["-m", "three", "-v"],
        &["-m", "three", "-u", "bob"],
        &["-m", "three", "-d", "7 0"],
        &["-m", "secret", "--secret"],
        &["-m", "three"],
        &["-m", "three"],
    ] {
        twin.same(&[&["ci", "--amend", MARKERS], more].concat());
    }
    each_hg(&twin, &["branch", "side"]);
    twin.same(&["ci", "--amend", "-m", "three", ALL]);
    twin.same(&["ci", "--amend", "-m", "x", "--force-close-branch", ALL]);
    same(&twin);
    twin.same(&["up", "-q", "0", ALL]);
    twin.same(&["ci", "--amend", "-m", "orphaned", MARKERS]);
    twin.same(&["ci", "--amend", "-m", "orphaned", ALL]);
    twin.same(&["log", "-T", "{rev} {desc}\n", ALL]);
    same(&twin);
    each_hg(&twin, &["update", "-q", "--hidden", "-r", "0", ALL]);
    twin.same(&["ci", "--amend", "-m", "x", ALL]);
    twin.same(&["ci", "--amend", "-m", "x", "-v", MARKERS]);
}

#[test]
fn users_are_guessed_and_asked_for() {
    let twin = Twin::writing(begin).with("HGUSER", "");
    for (at, more) in [
        &["-m", "guessed"][..],
        &["-m", "asked", "--config=ui.askusername=1"],
        &["-m", "named", "--config=ui.username=some one"],
        &["-m", "empty", "--config=ui.username="],
    ]
    .iter()
    .enumerate()
    {
        twin.each(|path| write(path, "a", format!("{at}\n").as_bytes()));
        twin.same(&[&["ci", "-d", "0 0"], *more].concat());
    }
    twin.same(&["log", "-T", "{author}\n"]);
    let twin = twin.with("LOGNAME", "eve");
    twin.each(|path| write(path, "a", b"by eve\n"));
    twin.same(&["ci", "-d", "0 0", "-m", "logged in"]);
    twin.same(&["tag", "-d", "0 0", "mark"]);
    let twin = twin.with("EMAIL", "adam@example.org");
    twin.each(|path| write(path, "a", b"by adam\n"));
    twin.same(&["ci", "-d", "0 0", "-m", "mailed"]);
    same_state(&twin);
    let twin = twin.with("EMAIL", "").with("LOGNAME", "");
    twin.same(&["ci", "--amend", "-m", "amended", MARKERS]);
}

#[test]
fn the_editor_is_given_the_old_description() {
    let editor = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        editor.path(),
        "#!/bin/sh\ngrep -v '^HG: [DWEL]' \"$1\"\n{ echo edited; cat \"$1\"; } > \"$1.x\"; mv \"$1.x\" \"$1\"\n",
    )
    .unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(editor.path(), mode).unwrap();
    let editor = editor.into_temp_path();
    let twin = Twin::writing(begin).with("HGEDITOR", "true");
    twin.all_same(&["ci --amend"]);
    let twin = twin.with("HGEDITOR", editor.to_str().unwrap());
    twin.each(|path| write(path, "n", b"n\n"));
    each_hg(&twin, &["add", "n"]);
    each_hg(&twin, &["remove", "b"]);
    twin.all_same(&[
        "ci --amend",
        "ci --amend -e -m typed -u bob",
        "log -r . --debug",
    ]);
    same(&twin);
}

/// Prints the variables of a hook, but for the name of the transaction.
const TELL: &str = "env | grep ^HG_ | grep -v ^HG_TXNID | sort";

fn listening(twin: &Twin, kinds: &[&str], line: &str) {
    let lines = kinds.iter().map(|kind| format!("{kind} = {line}\n"));
    let text = format!("[hooks]\n{}", lines.collect::<String>());
    twin.each(|path| write(path, ".hg/hgrc", text.as_bytes()));
}

#[test]
fn hooks_are_asked_and_told_as_by_hg() {
    let twin = Twin::writing(begin).with("HGEDITOR", "echo edits; echo edited >");
    each_hg(&twin, &["bookmark", "main"]);
    // Mercurial falls over txnclose-phase, which is told of a number that is no longer there.
    let kinds = [
        "precommit",
        "pretxncommit",
        "commit",
        "pretxnopen",
        "pretxnclose-bookmark",
        "pretxnclose-phase",
        "pretxnclose",
        "txnclose-bookmark",
        "txnclose",
        "txnabort",
    ];
    listening(&twin, &kinds, TELL);
    twin.each(|path| write(path, "b", b"two\n"));
    twin.all_same(&[
        "ci --amend -m two",
        "ci --amend -m two",
        "ci --amend",
        "ci --amend -m x -l y",
        "ci --amend -m x -d bad",
        "ci --amend -l nowhere",
    ]);
    same(&twin);
    // With a changeset above.
    each_hg(&twin, &["update", "-q", "-r", "0"]);
    twin.each(|path| write(path, "c", b"beside\n"));
    each_hg(&twin, &["commit", "-m", "beside", "-d", "0 0"]);
    let at = ["update", "-q", "-r", "desc(edited)"];
    each_hg(&twin, &at);
    listening(&twin, &kinds, TELL);
    twin.all_same(&["ci --amend -m four", "log --debug"]);
    twin.same(&["ci", "--amend", "-m", "three", MARKERS]);
    same(&twin);
}

#[test]
fn a_hook_that_refuses_leaves_everything_as_it_was() {
    let twin = Twin::writing(begin);
    twin.each(|path| write(path, "b", b"two\n"));
    let kinds = [
        "pretxnopen",
        "pretxncommit",
        "pretxnclose-phase",
        "pretxnclose",
    ];
    for kind in kinds {
        let refuses = format!("hooks.{kind}=echo no; false");
        let abort = "hooks.txnabort=echo aborted";
        twin.same(&[
            "ci", "--amend", "-m", "x", "--config", &refuses, "--config", abort,
        ]);
        twin.all_same(&["status", "log --debug"]);
        same(&twin);
    }
    let twin = twin.with("HGEDITOR", "false");
    twin.same(&["ci", "--amend", "--config", "hooks.txnabort=echo aborted"]);
    for kind in ["outgoing", "changegroup"] {
        let both = twin.run(&[
            "ci",
            "--amend",
            "-m",
            "x",
            "--config",
            &format!("hooks.{kind}=x"),
        ]);
        let words = format!("abort: commit --amend does not run the hook {kind}\n");
        assert_eq!((both.ours.code, &both.ours.stderr), (Some(255), &words));
    }
}

/// Where Mercurial would have lost both changesets, both stay.
#[test]
fn a_refused_strip_keeps_the_old_changeset() {
    let twin = Twin::writing(begin);
    for name in ["strip", "repair"] {
        for kind in ["pretxnopen", "pretxnclose"] {
            let hook = format!("hooks.{kind}=test $HG_TXNNAME != {name}");
            let message = format!("{kind} {name}");
            let ours = twin
                .run(&["ci", "--amend", "-m", &message, "--config", &hook])
                .ours;
            let last = format!("abort: {kind} hook exited with status 1\n");
            assert_eq!(ours.code, Some(40));
            assert!(
                ours.stderr
                    .starts_with("strip failed, backup bundle stored in '")
            );
            assert!(ours.stderr.ends_with(&last), "{}", ours.stderr);
            let hg = hg();
            let left = hg.ok(twin.ours(), &["log", "-r", "children(0)", "-T", "{desc}\n"]);
            assert_eq!(left.lines().last(), Some(&message[..]));
            hg.ok(twin.ours(), &["verify", "-q"]);
            hg.ok(
                twin.ours(),
                &[
                    "--config=extensions.strip=",
                    "strip",
                    "-q",
                    "-r",
                    "1",
                    "--keep",
                ],
            );
            assert_eq!(hg.ok(twin.ours(), &["status"]), "");
        }
    }
}

#[test]
fn what_is_no_text_is_not_amended() {
    let twin = Twin::writing(begin);
    twin.each(|path| write(path, "words", b"x\xffy"));
    for mode in ["strict", "replace", "ignore"] {
        twin.same(&["ci", "--amend", "-l", "words", "--encodingmode", mode]);
        twin.all_same(&["log -r . --debug"]);
    }
}

#[test]
fn caches_are_right_when_changesets_have_gone() {
    let twin = Twin::writing(|hg, path| {
        begin(hg, path);
        hg.ok(path, &["branch", "side"]);
        write(path, "s", b"s\n");
        commit(hg, path, "side");
        hg.ok(path, &["tag", "-d", "0 0", "-r", "1", "mark"]);
        hg.ok(path, &["update", "-q", "1"]);
        write(path, "b", b"two\n");
        commit(hg, path, "beside");
        hg.ok(path, &["update", "-q", "side"]);
    });
    let looks = [
        "branches -c",
        "tags --debug",
        "heads",
        "log -T {branch}:{tags},",
    ];
    twin.all_same(&looks);
    for amend in ["ci --amend -m one", "ci --amend --close-branch -m two"] {
        twin.all_same(&[amend]);
        twin.all_same(&looks);
        // Each program reads the caches that the other one has left.
        for look in looks {
            let words: Vec<&str> = look.split(' ').collect();
            let [theirs, ours] = [twin.theirs(), twin.ours()].map(|path| hg().ok(path, &words));
            assert_eq!(theirs, ours, "{look}");
        }
    }
    same_state(&twin);
}

#[test]
fn markers_are_told_of_where_evolution_is_not_allowed() {
    let twin = Twin::writing(|hg, path| {
        begin(hg, path);
        hg.ok(path, &["commit", "--amend", "-m", "two", MARKERS]);
    });
    for command in [
        "status",
        "files",
        "cat a",
        "annotate a",
        "branch",
        "branch -C",
        "phase",
        "diff",
        "bookmarks",
    ] {
        twin.all_same(&[command]);
    }
    twin.all_same(&[
        "status --rev .",
        "status --rev 0",
        "diff -r .",
        "diff -r 0 -r .",
        "cat -r 0 a",
        "files -r .",
        "annotate -r 0 a",
        "phase -r .",
        "phase 0",
        "revert -r . a",
        "log -r . -T x",
        "log -r null -T x",
        "log -r null",
        "log -r .",
        "log -q -r .",
        "log -r . -T json",
        "log -G -r . -T x",
        "log -T x",
        "log -r tip -T x",
        "log -r tip --hidden -T x",
        "log --hidden",
        "parents",
        "id",
        "id -r .",
        "summary",
        "heads",
        "branches",
        "tags",
        "tip",
        "verify -q",
        "ci -m nothing",
        "ci --amend -m two",
        "tag -l local",
        "tag --remove -l local",
        "branch side",
        "bookmark mark",
        "bookmark -m mark moved",
        "bookmark -d moved",
        "update 0",
        "update null",
        "parents",
        "log -r . -T x",
    ]);
    twin.same(&["log", "-T", "x", MARKERS]);
    twin.same(&["log", "-T", "x", "--config=experimental.evolution=exchange"]);
    twin.same(&[
        "log",
        "-T",
        "x",
        "--config=experimental.evolution.createmarkers=1",
    ]);
}
