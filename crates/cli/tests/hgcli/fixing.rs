//! The command of the extension `fix`: the same words, the same changesets, the same files.

use super::state::{backups, same_state_and};
use super::{Twin, made_once};
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

/// One tool is told the changed lines of texts, and another gets whole files.
const SETTINGS: &str = "[devel]\ndefault-date = 9 0\n[worker]\nenabled = no\n[extensions]\nfix =\n[fix]\n\
    lines:command = sed -e ''\n\
    lines:linerange = -e '{first},{last}y/abcdefghijklmnopqrstuvwxyz/ABCDEFGHIJKLMNOPQRSTUVWXYZ/'\n\
    lines:pattern = glob:**.txt\n\
    whole:command = tr a-z A-Z\n\
    whole:pattern = set:**.up\n";
const MARKERS: &str = "[experimental]\nevolution = createmarkers\n";
const UNSTABLE: &str = "[experimental]\nevolution = createmarkers, allowunstable\n";
const ALL_SETTINGS: [&str; 3] = [UNSTABLE, MARKERS, ""];

/// Four drafts in a line, one of which names another, and a branch beside them with a renamed file.
fn begin(hg: &Hg, path: &Path, settings: &str) {
    let key = format!("fixing {settings}");
    made_once::copy_of(&key, path, |path| make(hg, path, settings));
}

fn make(hg: &Hg, path: &Path, settings: &str) {
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", [SETTINGS, settings].concat().as_bytes());
    write(path, "a.txt", b"one\ntwo\nthree\n");
    write(path, "b.up", b"b\n");
    write(path, "other", b"other\n");
    commit(hg, path, "zero");
    write(path, "a.txt", b"one\ntwo\nthree\nfour\n");
    write(path, "run.up", b"run\n");
    executable(path, "run.up");
    hg.ok(path, &["add", "run.up"]);
    commit(hg, path, "one");
    let below = hg.ok(path, &["log", "-r", ".", "-T", "{node|short}"]);
    write(path, "a.txt", b"ONE\ntwo\nthree\nfour\nfive\n");
    commit(hg, path, &format!("two follows {below}"));
    hg.ok(path, &["bookmark", "top"]);
    write(path, "b.up", b"B\n");
    commit(hg, path, "three");
    hg.ok(path, &["bookmark", "-r", "1", "lower"]);
    hg.ok(path, &["update", "-q", "0"]);
    hg.ok(path, &["rename", "-q", "a.txt", "moved.txt"]);
    write(path, "moved.txt", b"one\nTWO\nthree\nside\n");
    commit(hg, path, "side");
}

fn executable(path: &Path, file: &str) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path.join(file), mode).unwrap();
}

/// Both copies have the same changesets, markers, bundles and files.
#[track_caller]
fn same_end(twin: &Twin, about: &str) {
    same_state_and(
        twin,
        &[&["debugobsolete"], &["diff", "--git", "-r", "null"]],
    );
    let read = |path: &Path| {
        let untracked = hg().ok(path, &["status", "-n", "-u", "-i"]);
        let untracked = untracked.lines();
        let untracked = untracked.map(|name| std::fs::read(path.join(name)).unwrap());
        (untracked.collect::<Vec<_>>(), backups(path))
    };
    assert_eq!(read(twin.theirs()), read(twin.ours()), "{about}");
}

/// Runs one line in both programs after `change`, in the working directory of changeset 3.
#[track_caller]
fn fixing_after(change: impl Fn(&Hg, &Path), settings: &str, line: &str) {
    let twin = Twin::writing_with(|hg, path| {
        begin(hg, path, settings);
        hg.ok(path, &["update", "-q", "3"]);
        change(hg, path);
    });
    println!("{line}");
    let words: Vec<&str> = line.split(' ').collect();
    twin.same(&words);
    same_end(&twin, line);
}

#[track_caller]
fn fixing(settings: &str, line: &str) {
    fixing_after(|_, _| {}, settings, line);
}

/// Changes in all states, of which only some are fixed.
fn dirty(hg: &Hg, path: &Path) {
    write(path, "a.txt", b"ONE\ntwo changed\nthree\nfour\nfive\n");
    write(path, "new.up", b"new\n");
    write(path, "unknown.up", b"unknown\n");
    write(path, "ignored.up", b"ignored\n");
    write(path, ".hgignore", b"ignored\n");
    hg.ok(path, &["add", "new.up"]);
    hg.ok(path, &["remove", "run.up"]);
    std::os::unix::fs::symlink("a.txt", path.join("link.txt")).unwrap();
    hg.ok(path, &["add", "link.txt"]);
    hg.ok(path, &["copy", "-q", "other", "copied.txt"]);
}

#[test]
fn a_stack_is_fixed_and_the_working_directory_moves_along() {
    fixing_after(dirty, UNSTABLE, "fix -s 0 -v");
    for settings in ALL_SETTINGS {
        for line in [
            "fix -s 0",
            "fix -s 1",
            "fix -s 2 -s 4",
            "fix --all",
            "fix -s 3",
        ] {
            fixing(settings, line);
            fixing_after(dirty, settings, line);
        }
    }
}

#[test]
fn the_working_directory_is_fixed_alone() {
    for line in [
        "fix -w",
        "fix -w --whole",
        "fix -w --base 0",
        "fix -w --base null",
        "fix -w .",
        "fix -w a.txt unknown.up nowhere",
        "fix -w b.up",
        "fix -w glob:*.up",
        "fix -r wdir()",
        "fix -w a.txt --debug --config fix.whole:enabled=no",
    ] {
        fixing_after(dirty, UNSTABLE, line);
    }
}

#[test]
fn single_changesets_are_fixed_where_they_may() {
    for settings in [UNSTABLE, MARKERS] {
        for line in [
            "fix -r 1",
            "fix -r 1 -r 2",
            "fix -r 4",
            "fix -r 1:3 --base 0",
            "fix -r 2 --base 0+1",
            "fix -r 2 -w",
            "fix -s 0 a.txt",
            "fix -s 0 other nowhere",
            "fix -r 2 --whole",
        ] {
            fixing(settings, line);
        }
    }
}

#[test]
fn merges_keep_both_sides() {
    let merged = |hg: &Hg, path: &Path| {
        hg.ok(path, &["update", "-q", "4"]);
        hg.ok(path, &["merge", "-q", "-t", ":other", "3"]);
        write(path, "moved.txt", b"ONE\nTWO\nthree\nmerged\nside\nfive\n");
    };
    fixing_after(merged, UNSTABLE, "fix -w");
    fixing_after(merged, UNSTABLE, "fix -s 0");
    let committed = |hg: &Hg, path: &Path| {
        merged(hg, path);
        commit(hg, path, "merged");
    };
    for line in [
        "fix -s 0",
        "fix -s 4",
        "fix -s 1",
        "fix -r .",
        "fix -r . --base 3",
    ] {
        fixing_after(committed, UNSTABLE, line);
    }
}

#[test]
fn what_must_stay_is_refused() {
    for line in [
        "fix",
        "fix -s none()",
        "fix -r none() -w",
        "fix -s null",
        "fix -r nosuch",
        "fix -s 0 -r 0",
        "fix --all -s 0",
        "fix --all -r 0",
        "fix --all -w",
        "fix -w -s 0",
        "fix -w --base nosuch",
    ] {
        for more in ["", " --config ui.detailed-exit-code=yes"] {
            fixing(UNSTABLE, &format!("{line}{more}"));
        }
    }
    let public = |hg: &Hg, path: &Path| drop(hg.ok(path, &["phase", "-p", "2"]));
    for line in ["fix -s 0", "fix -r 1", "fix --all", "fix -s 3"] {
        fixing_after(public, UNSTABLE, line);
    }
    let conflict = |hg: &Hg, path: &Path| {
        write(path, "b.up", b"local\n");
        hg.run(path, &["update", "-t", ":fail", "2"]);
    };
    fixing_after(conflict, UNSTABLE, "fix -w");
    fixing_after(conflict, UNSTABLE, "fix -s 0");
    let twin = Twin::writing(|hg, path| begin(hg, path, UNSTABLE));
    twin.all_same(&["fix -r 1", "fix -r 1 --hidden", "fix -r 1 --hidden -v"]);
    const ALLOWED: &str = "--config experimental.evolution.allowdivergence=yes";
    twin.all_same(&[&format!("fix -r 1 --hidden --whole {ALLOWED}")]);
    same_end(&twin, "diverging");
}

#[test]
fn tools_fail_and_are_wrong() {
    const TOOLS: &str = "[fix]\nlines:enabled = no\nwhole:enabled = no\n\
        bad:command = cat > /dev/null; echo half; echo first >&2; printf second >&2; exit 3\nbad:pattern = bad*\n\
        silent:command = false\nsilent:pattern = silent*\n\
        warned:command = tr a-z A-Z; echo warned >&2\nwarned:pattern = warned*\n\
        first:command = sed -e 's/^/1/'\nfirst:pattern = ordered\nfirst:priority = -1\n\
        last:command = sed -e 's/^/2/'\nlast:pattern = ordered\nlast:priority = 7\n\
        path:command = echo {rootpath} '{basename|upper}' {nothing} \"a\\tb\" {'\\{'}\npath:pattern = path:named\n\
        clean:command = cat; echo\nclean:linerange = {first}\nclean:skipclean = no\nclean:pattern = emptied\n";
    let changed = |hg: &Hg, path: &Path| {
        write(
            path,
            ".hg/hgrc",
            [SETTINGS, UNSTABLE, TOOLS].concat().as_bytes(),
        );
        for file in [
            "bad",
            "silent",
            "warned",
            "ordered",
            "named/file",
            "emptied",
        ] {
            write(path, file, b"text\n");
        }
        hg.ok(path, &["add", "-q"]);
        commit(hg, path, "files");
        write(path, "emptied", b"");
        write(path, "bin/mytool", b"#!/bin/sh\necho mine\n");
        executable(path, "bin/mytool");
    };
    for line in [
        "fix -w",
        "fix -s .",
        "fix -s . --config fix.failure=abort",
        "fix -w bad --config fix.failure=abort",
        "fix -w bad --config fix.failure=nonsense",
        "fix -s . --config fix.failure=continue",
        "fix -w --config fix.maxfilesize=4",
        "fix -s . ordered --config fix.maxfilesize=4",
        "fix -s . ordered --config fix.maxfilesize=5",
        "fix -w --config fix.maxfilesize=large",
        "fix -w --config fix.bad:priority=high",
        "fix -w --config fix.bad:enabled=maybe",
        "fix -w bad --config fix.bad:command={rootpath",
        "fix -w bad --config fix.bad:command={nofunction(1)}",
        "fix -w --config fix.bad:pattern=set:(",
        "fix -w named",
        "fix -w named --config fix.path:command=mytool",
        "fix -w named --config fix.path:command=mytool --config fix.extra-bin-paths=nowhere,bin",
        // Of several that lack something, Mercurial warns in any order.
        "fix -w --config fix.nothing:priority=3",
        "fix -w --config fix.none:command=cat",
        "fix -w --config fix.lost:pattern=lost",
    ] {
        fixing_after(changed, UNSTABLE, line);
    }
}

#[test]
fn hooks_learn_what_was_fixed() {
    const HOOKS: &str = "[hooks]\npostfixfile = echo file $HG_REV $HG_PATH \"$HG_METADATA\"\n\
        postfix = echo end $HG_WDIRWRITTEN \"$HG_REPLACEMENTS\" \"$HG_METADATA\"\n[fix]\nlines:metadata = yes\n\
        lines:command = printf '{\"\\{\"}\"a\": [1, null, true, 1.5, \"x\"]}\\000'; tr a-z A-Z; :\n";
    let hooked = |_: &Hg, path: &Path| {
        write(
            path,
            ".hg/hgrc",
            [SETTINGS, UNSTABLE, HOOKS].concat().as_bytes(),
        );
        write(path, "a.txt", b"ONE\ntwo changed\n");
    };
    for line in [
        "fix -w",
        "fix -s 0",
        "fix -s 1 --whole",
        "fix -w b.up",
        "fix -s 0 --config hooks.postfixfile=false",
        "fix -s 0 --config fix.lines:command=cat",
    ] {
        fixing_after(hooked, UNSTABLE, line);
    }
    // Mercurial has written the working directory by the time that the last hook refuses.
    let twin = Twin::writing_with(|hg, path| {
        begin(hg, path, UNSTABLE);
        hooked(hg, path);
    });
    let before = hg().ok(twin.ours(), &["log", "-p", "-r", "all()+wdir()"]);
    twin.same(&["fix", "-s", "0", "--config", "hooks.postfix=false"]);
    let after = hg().ok(twin.ours(), &["log", "-p", "-r", "all()+wdir()"]);
    assert_eq!(after, before);
}
