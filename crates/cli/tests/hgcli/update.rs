//! `update`.

use super::Twin;
use super::state::same_state;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos::{commit, write};

#[test]
fn clean_directories_go_anywhere() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        for name in ["a", "b", "d/f", "d/g/h", "k"] {
            write(path, name, format!("{name}\n").as_bytes());
        }
        std::os::unix::fs::symlink("a", path.join("link")).unwrap();
        commit(hg, path, "zero");
        write(path, "a", b"a\nmore\n");
        hg.ok(path, &["remove", "d/g/h", "k", "link"]);
        write(path, "k/now a directory", b"x");
        write(path, "link", b"now a file");
        commit(hg, path, "one");
        hg.ok(path, &["update", "0"]);
        hg.ok(path, &["rename", "d/f", "moved"]);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(path.join("moved"), mode).unwrap();
        commit(hg, path, "two");
        hg.ok(path, &["branch", "side"]);
        write(path, "side", b"side\n");
        commit(hg, path, "three");
        hg.ok(path, &["commit", "--close-branch", "-m", "four"]);
        hg.ok(path, &["bookmark", "-r", "1", "mark"]);
        hg.ok(path, &["update", "null"]);
    });
    twin.all_same(&["update 1", "up -v 0", "checkout -q 2"]);
    same_state(&twin);
    for line in [
        "co 1",
        "up side",
        "up",
        "up mark",
        "up mark",
        "up -C .",
        "up -r tip",
        "up null",
        "up",
        "up -c 0",
        "up",
        "up 99",
        "up -r 0 1",
        "up -C -c 1",
        "up -m -c 1",
        "up --rev 3",
    ] {
        twin.all_same(&[line]);
    }
    same_state(&twin);
}

#[test]
fn local_changes_stay_are_given_up_or_refused() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        for name in ["a", "b", "c", "d"] {
            write(path, name, name.as_bytes());
        }
        commit(hg, path, "zero");
        write(path, "a", b"a more");
        write(path, "new/file", b"new");
        hg.ok(path, &["remove", "c"]);
        commit(hg, path, "one");
        hg.ok(path, &["update", "0"]);
        write(path, "x", b"x");
        commit(hg, path, "two");
        hg.ok(path, &["update", "0"]);
    });
    twin.each(|path| write(path, "new/file", b"not tracked"));
    twin.all_same(&["up 1", "up -c 1", "up -m 1"]);
    same_state(&twin);
    twin.each(|path| write(path, "new/file", b"new"));
    twin.all_same(&["up 1", "up 0"]);
    twin.each(|path| write(path, "b", b"changed"));
    twin.each(|path| std::fs::remove_file(path.join("d")).unwrap());
    twin.all_same(&["up -c 1", "up 1", "up 2"]);
    same_state(&twin);
    twin.all_same(&["up 0"]);
    twin.each(|path| write(path, "a", b"a more"));
    twin.all_same(&["up 1"]);
    same_state(&twin);
    twin.all_same(&["up -C 2"]);
    same_state(&twin);
    twin.all_same(&["up 0"]);
    twin.each(|path| write(path, "a", b"mine"));
    twin.all_same(&["up 1"]);
    same_state(&twin);
}

#[test]
fn nothing_is_written_through_links_or_over_what_is_in_the_way() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "a", b"a");
        commit(hg, path, "zero");
        write(path, "d/f", b"f");
        commit(hg, path, "one");
        hg.ok(path, &["update", "0"]);
    });
    twin.each(|path| write(path, "outside/keep", b"keep"));
    twin.each(|path| std::os::unix::fs::symlink("outside", path.join("d")).unwrap());
    twin.all_same(&["up 1", "up -C 1"]);
    assert!(!twin.ours().join("outside/f").exists());
    twin.each(|path| std::fs::remove_file(path.join("d")).unwrap());
    twin.each(|path| write(path, "d", b"a file"));
    let refused = twin.run(&["up", "1"]).ours;
    assert!(
        refused.stderr.starts_with("abort: Not a directory: "),
        "{}",
        refused.stderr
    );
    assert_eq!(std::fs::read(twin.ours().join("d")).unwrap(), b"a file");
}

#[test]
fn a_link_to_a_directory_becomes_a_directory_of_its_name() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "real/f", b"real\n");
        std::os::unix::fs::symlink("real", path.join("d")).unwrap();
        commit(hg, path, "link");
        std::fs::remove_file(path.join("d")).unwrap();
        write(path, "d/f", b"other\n");
        commit(hg, path, "directory");
    });
    twin.all_same(&["update 0", "update 1", "status", "update 0", "status"]);
    same_state(&twin);
}

#[test]
fn subrepositories_are_said_to_be_left_out() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "a", b"a\n");
        commit(hg, path, "zero");
        hg.ok(path, &["init", "vendor/lib"]);
        write(&path.join("vendor/lib"), "x", b"x\n");
        commit(hg, &path.join("vendor/lib"), "lib");
        write(
            path,
            ".hgsub",
            b"# those of others\nvendor/lib = vendor/lib\n",
        );
        commit(hg, path, "one");
    });
    let words = "subrepositories are not supported and were left out: vendor/lib\n";
    for line in [
        &["update", "tip"][..],
        &["clone", ".", "../local"],
        &["clone", "--pull", ".", "../pulled"],
    ] {
        let ours = twin.run(line).ours;
        assert_eq!(
            (ours.code, ours.stderr.as_str()),
            (Some(1), words),
            "{line:?}"
        );
    }
    let before = twin.run(&["update", "0"]).ours;
    assert_eq!((before.code, before.stderr.as_str()), (Some(0), ""));
}

#[test]
fn untracked_files_make_place_where_settings_say_so() {
    let make = |hg: &Hg, path: &Path| {
        hg.ok(path, &["init"]);
        write(path, ".hgignore", b"[.]x$\n");
        write(path, ".hg/hgrc", b"[extensions]\nrebase =\n");
        write(path, "a", b"a\n");
        commit(hg, path, "zero");
        write(path, "u", b"u\n");
        write(path, "v", b"v\n");
        write(path, "i.x", b"i\n");
        hg.ok(path, &["add", "i.x"]);
        commit(hg, path, "one");
        hg.ok(path, &["update", "-q", "0"]);
        write(path, "b", b"b\n");
        commit(hg, path, "two");
    };
    for line in ["up 1", "merge 1", "graft 1"] {
        for [unknown, ignored] in [
            ["abort", "abort"],
            ["abort", "warn"],
            ["warn", "abort"],
            ["warn", "warn"],
            ["warn", "ignore"],
            ["ignore", "warn"],
            ["ignore", "ignore"],
            ["gone", "abort"],
        ] {
            // A graft says first what it does.
            if unknown == "gone" && !["up 1", "merge 1"].contains(&line) {
                continue;
            }
            let twin = Twin::writing(make);
            twin.each(|path| write(path, "u", b"U\n"));
            twin.each(|path| write(path, "v", b"v\n"));
            twin.each(|path| write(path, "i.x", b"I\n"));
            let settings = [
                format!("merge.checkunknown={unknown}"),
                format!("merge.checkignored={ignored}"),
                "ui.merge=:merge3".to_owned(),
            ];
            let mut words: Vec<&str> = line.split(' ').collect();
            for setting in &settings {
                words.extend(["--config", setting]);
            }
            twin.same(&words);
            twin.all_same(&["status", "log -T {rev}{desc}{files}\n"]);
            for name in ["u", "u.orig", "v.orig", "i.x", "i.x.orig"] {
                let read = |root: &Path| std::fs::read_to_string(root.join(name)).ok();
                assert_eq!(read(twin.ours()), read(twin.theirs()), "{name} {words:?}");
            }
        }
    }
}

#[test]
fn a_changed_mode_becomes_that_of_the_target() {
    let set = |path: &Path, mode: u32| {
        std::fs::set_permissions(path.join("a"), PermissionsExt::from_mode(mode)).unwrap();
    };
    let twin = Twin::writing_with(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, "a", b"a\n");
        commit(hg, path, "zero");
        set(path, 0o755);
        commit(hg, path, "one");
    });
    let mode = |path: &Path| {
        let found = path.join("a").metadata();
        found.ok().map(|found| found.permissions().mode())
    };
    let same = |line: &str| {
        twin.all_same(&[line, "status"]);
        assert_eq!(mode(twin.ours()), mode(twin.theirs()), "{line}");
    };
    twin.each(|path| set(path, 0o644));
    same("up 0");
    twin.each(|path| set(path, 0o755));
    same("up 1");
    same("rm a");
    same("revert -r 0 a");
    same("up 0");
    twin.each(|path| set(path, 0o755));
    twin.each(|path| write(path, "a", b"b\n"));
    same("up 1");
}
