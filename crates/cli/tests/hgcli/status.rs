//! `status` beside the real one.

use super::Twin;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use varve_testkit::peers::Hg;

/// A working copy in which every state, flag and kind of file occurs.
pub(super) fn rich(hg: &Hg, root: &Path) {
    hg.ok(root, &["init", "."]);
    let write = |path: &str, text: &str| {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    for (path, text) in [
        ("a", "a"),
        ("b", "b"),
        ("d/b", "c"),
        ("d/e/f", "f"),
        ("gone", ""),
        ("r", "r"),
        ("same.txt", "same"),
        ("x", "#!/bin/sh"),
        ("space name", ""),
        ("f\u{fc}r", "text"),
        (".hgignore", "syntax: glob\n*.o\nbuild\n"),
    ] {
        write(path, text);
    }
    std::os::unix::fs::symlink("d/b", root.join("link")).unwrap();
    fs::write(
        root.join(std::ffi::OsStr::from_bytes(b"raw\xff\xfe")),
        "raw",
    )
    .unwrap();
    let who = ["-u", "ada", "-d", "0 0"];
    hg.ok(root, &[&["commit", "-qAm", "one"][..], &who].concat());
    write("a", "aa");
    hg.ok(root, &["copy", "-q", "b", "d/b2"]);
    hg.ok(root, &[&["commit", "-qm", "two"][..], &who].concat());
    hg.ok(root, &["rename", "-q", "d/e/f", "moved"]);
    hg.ok(root, &[&["commit", "-qm", "three"][..], &who].concat());
    hg.ok(root, &["copy", "-q", "b", "d/b3"]);
    hg.ok(root, &["rename", "-q", "moved", "moved2"]);
    hg.ok(root, &["remove", "-q", "r"]);
    fs::remove_file(root.join("gone")).unwrap();
    write("same.txt", "SAME");
    write("d/new", "new");
    write("d/x.o", "");
    write("build/y", "");
    write("a", "changed");
    fs::remove_file(root.join("link")).unwrap();
    write("link", "d/b");
    let mut mode = fs::metadata(root.join("x")).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    fs::set_permissions(root.join("x"), mode).unwrap();
    hg.ok(root, &["init", "other"]);
    write("other/file", "");
}

#[test]
fn every_list_and_option_shows_the_same() {
    let twin = Twin::writing(rich);
    twin.all_same(&[
        "status",
        "st",
        "stat",
        "status -A",
        "status -C",
        "status -q",
        "status -v",
        "status -m",
        "status -a",
        "status -r",
        "status -d",
        "status -c",
        "status -u",
        "status -i",
        "status -mardu",
        "status -n",
        "status -nA",
        "status -nC",
        "status -0",
        "status -S",
        "status -AC0",
        "status -T json",
        "status -A -T json",
        "status -nA -T json",
        "status -C -T json",
        "status --no-unknown",
        "status --config ui.statuscopies=1",
        "status --config ui.relative-paths=1",
        "status --config commands.status.relative=1",
    ]);
}

#[test]
fn files_and_patterns_choose_the_same() {
    let twin = Twin::writing(rich);
    twin.all_same(&[
        "status -A a",
        "status -A d",
        "status -A d/e",
        "status -A nope a",
        "status -A a/nope",
        "status nope gone r path:nope2",
        "status -A glob:*.txt relglob:*.o",
        "status -A re:d/",
        "status -A re:(?!d/).*",
        "status -A -I d -X relglob:b?",
        "status -A -X d",
        "status -A -I *.txt",
        "status -A path:d rootfilesin:.",
        "status -A listfile:nope",
        "status -iu build",
        "status -u d/x.o",
        "status -iu d/x.o",
        "status other",
        "status other/file",
        "status .hg/x",
        "status d/.hg/x",
        "status ../x",
        "status re:[",
        "status re:*.o",
        "status glob:{a",
        "status -I re:(",
    ]);
    for words in [
        &["-A"][..],
        &["-A", "."],
        &["-A", "..", "-C"],
        &["-A", "glob:*"],
        &["nope"],
    ] {
        twin.same_in("d", &[&["status"], words].concat());
    }
    twin.same_in(
        "d",
        &[
            "status",
            "-A",
            "../link",
            "--config",
            "ui.relative-paths=no",
        ],
    );
    twin.each(|root| std::os::unix::fs::symlink("d", root.join("linked")).unwrap());
    twin.all_same(&["status linked/b", "status linked", "status"]);
}

#[test]
fn revisions_are_compared_the_same() {
    let twin = Twin::writing(rich);
    twin.all_same(&[
        "status --rev 0 -A",
        "status --rev 1 -A",
        "status --rev 2 -A",
        "status --rev . -A",
        "status --rev null -A",
        "status --rev 0 --rev 2 -A",
        "status --rev 2 --rev 0 -A",
        "status --rev 0 --rev 0",
        "status --rev null --rev 1",
        "status --rev 0 --rev 2 d",
        "status --rev 0 --rev 2 nope",
        "status --rev 0 --rev 2 -X d -T json -C",
        "status --change 0",
        "status --change 1 -C",
        "status --change 2 -A",
        "status --change . -C",
        "status --change null",
        "status --rev bogus",
        "status --rev 0 --change 0",
    ]);
}

#[test]
fn directories_stand_for_their_files() {
    let twin = Twin::writing(|hg, root| {
        rich(hg, root);
        for name in ["new/1", "new/deep/2", "new/deep/er/3"] {
            varve_testkit::repos::write(root, name, b"new\n");
        }
        // One file of the directory is as it was.
        for name in ["mixed/same", "mixed/other"] {
            varve_testkit::repos::write(root, name, b"old\n");
            hg.ok(root, &["add", name]);
        }
        hg.ok(root, &["commit", "-q", "-m", "mixed", "mixed"]);
        varve_testkit::repos::write(root, "mixed/other", b"changed\n");
    });
    twin.all_same(&[
        "status -t u",
        "status --terse mardui -A",
        "status -t m -C",
        "status -t r d",
        "status -t d -0",
        "status -t u -T json",
        "status -t u new/deep",
        "status -t x",
        "status -t u --rev 0",
        "status -t u --change 1",
        "status --config commands.status.terse=u",
        "status --config commands.status.terse=u --rev 0",
    ]);
    twin.same_in("new", &["status", "-t", "mu"]);
    twin.same_in("new", &["status", "-t", "mu", "."]);
}

#[test]
fn ignore_files_are_read_the_same() {
    let twin = Twin::writing(rich);
    for text in [
        "ign\n",
        "syntax: foo\nx\n",
        "*.o",
        "relre:x\nfoo:bar\nglob:*.o # o\n\\#x\n",
        "include:more\nsubinclude:d/sub\n",
        "include:missing\nsubinclude:missing\n",
        "syntax: regexp\n(\n",
        "syntax: regexp\n^(?!d/).*(?<!y)\\.o$\n(.)\\1\n",
        "rootglob:d/*\npath:a\n",
    ] {
        twin.each(|root| {
            fs::write(root.join(".hgignore"), text).unwrap();
            fs::write(root.join("more"), "syntax: glob\n*.o\n").unwrap();
            fs::write(root.join("d/sub"), "^n\n").unwrap();
        });
        twin.all_same(&[
            "status -A",
            "status -i",
            "status -u",
            "status -m",
            "status -A d/x.o build",
        ]);
    }
    twin.each(|root| fs::write(root.join(".hgignore"), "").unwrap());
    twin.all_same(&[
        "status -A --config ui.ignore=more",
        "status -A --config ui.ignore.a=more --config ui.ignore.b=d/sub",
        "status -A --config ui.ignore=missing",
    ]);
}

/// The stat of a clean file that looks unsure is stored, as the real program does.
#[test]
fn files_that_were_read_are_remembered() {
    let remembered = |root: &Path| {
        let state = varve_testkit::peers::hg().ok(root, &["debugstate"]);
        let line = state.lines().find(|line| line.ends_with(" b"));
        line.unwrap().to_owned()
    };
    for command in ["status", "commit -m more", "commit --amend -m most"] {
        let twin = Twin::writing(rich);
        twin.each(|root| {
            let old = fs::File::options()
                .write(true)
                .open(root.join("b"))
                .unwrap();
            let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
            old.set_modified(time).unwrap();
        });
        twin.all_same(&[command]);
        let [theirs, ours] = [twin.theirs(), twin.ours()].map(remembered);
        assert_eq!(theirs, ours, "{command}");
        assert!(ours.contains("2001-09-09"), "{command}");
    }
}
