//! `--debug` tells how merges and updates are decided, file by file.

use super::Twin;
use std::os::unix::fs::symlink;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::{commit, write};

const SEVEN: &[u8] = b"1\n2\n3\n4\n5\n6\n7\n";

/// The output of both programs must be the same, but for the names of temporary directories and the order of files that
/// stay as they are, which depends on Python's hashes.
#[track_caller]
fn same_trace(twin: &Twin, arguments: &[&str]) {
    let both = twin.run(arguments);
    let normal = |text: &str, root: &Path| {
        let mut text = text.to_owned();
        for root in [root, twin.theirs()] {
            text = text.replace(&root.to_string_lossy()[..], "ROOT");
        }
        let mut lines: Vec<String> = text.lines().map(without_scratch).collect();
        let keeps = |line: &String| {
            [" -> k", " -> kn", " -> ka"]
                .iter()
                .any(|end| line.ends_with(end))
        };
        let places: Vec<usize> = (0..lines.len()).filter(|at| keeps(&lines[*at])).collect();
        let mut kept: Vec<String> = places.iter().map(|at| lines[*at].clone()).collect();
        kept.sort();
        for (at, line) in places.into_iter().zip(kept) {
            lines[at] = line;
        }
        lines
    };
    let sides = [(&both.theirs, twin.theirs()), (&both.ours, twin.ours())];
    let [theirs, ours] = sides.map(|(outcome, root)| {
        let texts = [&outcome.stdout, &outcome.stderr].map(|text| normal(text, root));
        (outcome.code, texts)
    });
    assert_eq!(theirs, ours, "{arguments:?}");
}

fn without_scratch(line: &str) -> String {
    let mut words = line
        .split('/')
        .map(|part| match part.starts_with("hgmerge-") {
            true => "SCRATCH",
            false => part,
        });
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |line, part| line + "/" + part)
}

/// Two heads that differ in every way that a merge tells apart.
fn two_heads(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    for name in "rem getm keep ex m cd dc d/1 d/2 e/1 e/2 gone ren twice del2 both x1 a both2 mode"
        .split(' ')
    {
        write(path, name, &[name.as_bytes(), b"\n", SEVEN].concat());
    }
    commit(hg, path, "base");
    hg.ok(path, &["remove", "-q", "rem", "cd"]);
    for name in ["getm", "m", "dc", "mode"] {
        write(
            path,
            name,
            &[name.as_bytes(), b"\n", SEVEN, b"other\n"].concat(),
        );
    }
    executable(path, "ex");
    for (name, text) in [
        ("onew", "new\n"),
        ("e/new", "2\n"),
        ("samenew", "both\n"),
        ("bothnew", "there\n"),
    ] {
        write(path, name, text.as_bytes());
    }
    symlink("there", path.join("link")).unwrap();
    write(path, "binary", b"\0there");
    for (old, new) in [
        ("d", "dd"),
        ("ren", "ren2"),
        ("twice", "t1"),
        ("del2", "del3"),
        ("x1", "aa"),
    ] {
        hg.ok(path, &["rename", "-q", old, new]);
    }
    hg.ok(path, &["copy", "-q", "both", "bothc"]);
    hg.ok(path, &["copy", "-q", "a", "zz"]);
    commit(hg, path, "other");
    hg.ok(path, &["update", "-q", "0"]);
    for name in ["m", "ren", "a", "x1"] {
        write(path, name, &[b"here\n", SEVEN].concat());
    }
    for (name, text) in [
        ("keep", "k\n"),
        ("cd", "c\n"),
        ("lnew", "l\n"),
        ("d/new", "3\n"),
        ("samenew", "both\n"),
        ("bothnew", "here\n"),
    ] {
        write(path, name, text.as_bytes());
    }
    symlink("here", path.join("link")).unwrap();
    write(path, "binary", b"\0here");
    executable(path, "mode");
    hg.ok(path, &["remove", "-q", "dc", "gone", "del2"]);
    for (old, new) in [("e", "ee"), ("twice", "t2")] {
        hg.ok(path, &["rename", "-q", old, new]);
    }
    hg.ok(path, &["copy", "-q", "both", "bothc"]);
    commit(hg, path, "local");
}

fn executable(path: &Path, file: &str) {
    use std::os::unix::fs::PermissionsExt;
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(path.join(file), mode).unwrap();
}

#[test]
fn merges_tell_copies_reasons_and_tools() {
    let twin = Twin::writing(two_heads);
    for tool in [
        ":merge", ":union", ":other", ":fail", ":dump", "true", "false",
    ] {
        same_trace(&twin, &["merge", "--debug", "-t", tool, "1"]);
        same_trace(&twin, &["resolve", "--debug", "-a", "-t", "true"]);
        same_trace(&twin, &["merge", "--abort", "--debug"]);
        twin.same(&["purge", "-q", "--config", "extensions.purge="]);
    }
    for setting in [
        "ui.merge=internal:merge",
        "ui.merge=:union",
        "merge-patterns.**=true",
        "merge-tools.true.args=$output $other",
    ] {
        same_trace(&twin, &["merge", "-v", "1", "--config", setting]);
        same_trace(&twin, &["update", "--debug", "-C", "2"]);
        twin.same(&["purge", "-q", "--config", "extensions.purge="]);
    }
    let twin = twin.with("HGMERGE", "true");
    same_trace(&twin, &["merge", "--debug", "1"]);
}

#[test]
fn updates_tell_what_they_do_with_local_changes() {
    let twin = Twin::writing(|hg, path| {
        two_heads(hg, path);
        hg.ok(path, &["update", "-q", "0"]);
    });
    let change = |path: &Path| {
        for name in ["m", "keep", "cd", "ren"] {
            write(path, name, &[b"here\n", SEVEN].concat());
        }
        for name in ["lnew", "bothnew", "onew"] {
            write(path, name, b"here\n");
        }
        std::fs::remove_file(path.join("del2")).unwrap();
        std::fs::remove_file(path.join("twice")).unwrap();
    };
    let tracked = || {
        twin.each(change);
        twin.same(&["add", "-q", "lnew", "bothnew"]);
        twin.same(&["remove", "-q", "dc", "gone", "rem"]);
        twin.same(&["copy", "-q", "both", "copied"]);
    };
    for line in [
        "update --debug -t :merge 1 --config merge.checkunknown=warn",
        "update --debug -C 1",
        "update --debug -C .",
    ] {
        tracked();
        let words: Vec<&str> = line.split(' ').collect();
        same_trace(&twin, &words);
        twin.same(&["update", "-q", "-C", "0"]);
        twin.same(&["purge", "-q", "--config", "extensions.purge="]);
    }
    for to in ["null", "2", "1", "1", "0"] {
        same_trace(&twin, &["update", "--debug", to]);
    }
}

#[test]
fn grafts_and_several_ancestors_tell_it_too() {
    let twin = Twin::writing(|hg, path| {
        two_heads(hg, path);
        hg.ok(path, &["update", "-q", "1"]);
        hg.run(path, &["merge", "-q", "-t", ":local", "2"]);
        hg.ok(path, &["resolve", "-q", "-a", "-m"]);
        commit(hg, path, "one way");
        hg.ok(path, &["update", "-q", "-C", "2"]);
        hg.run(path, &["merge", "-q", "-t", ":other", "1"]);
        hg.ok(path, &["resolve", "-q", "-a", "-m"]);
        write(path, "keep", b"another\n");
        commit(hg, path, "the other");
    });
    for preferred in ["*", "!", "0", "nothing 2 *"] {
        let setting = format!("merge.preferancestor={preferred}");
        same_trace(
            &twin,
            &[
                "merge", "--debug", "-t", ":merge", "3", "--config", &setting,
            ],
        );
        twin.same(&["update", "-q", "-C", "."]);
        twin.same(&["purge", "-q", "--config", "extensions.purge="]);
    }
    twin.same(&["update", "-q", "-C", "1"]);
    same_trace(&twin, &["graft", "--debug", "-t", ":merge", "2", "3", "0"]);
    twin.same(&["status", "--rev", "0:.", "-C"]);
    twin.same(&["status", "--rev", "0::2"]);
    twin.same(&["status", "--rev", "none()"]);
    twin.same(&["status", "--rev", "2:2"]);
}
