//! `diff` in git's form, below a directory, and with blanks that do not count.

use super::Twin;
use super::log::history;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use varve_testkit::peers::Hg;
use varve_testkit::repos;

fn commit(hg: &Hg, path: &Path, message: &str) {
    hg.ok(path, &["commit", "-A", "-m", message, "-d", "0 0"]);
}

fn make_executable(path: &Path) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// Binary files of all kinds, links, modes, copies and renames; more of each in the working directory.
fn mixed(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    let noise = |len: u32| -> Vec<u8> {
        let mut state = 1_u32;
        let mut next = |_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        (0..len).map(&mut next).collect()
    };
    repos::write(path, "b", b"a\0");
    repos::write(path, "d/b", b"ab\0");
    repos::write(path, "d/c", b"abc\0");
    repos::write(path, "d/gone", b"gone\0");
    repos::write(path, "d/mode", b"mode\0");
    repos::write(path, "d/text", &b"line\nLine\n".repeat(9));
    repos::write(path, "empty", b"");
    repos::write(path, "noise", &noise(40_000));
    repos::write(path, "script", b"#!/bin/sh\n");
    repos::write(path, "words", &b"some words\0 ".repeat(3000));
    std::os::unix::fs::symlink("b", path.join("link")).unwrap();
    commit(hg, path, "0");
    repos::write(path, "b", b"a\0z");
    repos::write(path, "d/b", b"ab\0z");
    repos::write(path, "d/c", b"abc\0z");
    make_executable(&path.join("d/c"));
    make_executable(&path.join("d/mode"));
    hg.ok(path, &["remove", "d/gone"]);
    hg.ok(path, &["copy", "d/b", "d/copied"]);
    repos::write(path, "d/copied", b"other\0");
    hg.ok(path, &["rename", "script", "d/script 2"]);
    make_executable(&path.join("d/script 2"));
    repos::write(path, "noise", &noise(40_001));
    repos::write(path, "words", &b"some words\0, ".repeat(3000));
    repos::write(path, "empty", b"\0");
    commit(hg, path, "1");
    hg.ok(path, &["copy", "d/text", "text"]);
    hg.ok(path, &["rename", "d/text", "d/e/text"]);
    repos::write(path, "d/e/text", b"line\n++ x\n-- y\n");
    repos::write(path, "new", b"new");
    std::fs::remove_file(path.join("link")).unwrap();
    std::os::unix::fs::symlink("d", path.join("link")).unwrap();
    hg.ok(path, &["add", "new"]);
    hg.ok(path, &["remove", "empty"]);
}

#[test]
fn patches_in_gits_form_are_the_same() {
    let twin = Twin::writing(mixed);
    for line in [
        "-c 0",
        "-c 1",
        "-c 1 --stat",
        "-c 1 --text",
        "-c 1 --no-binary",
        "-c 1 --reverse",
        "-r 1 -r 0",
        "-c 1 d/copied",
        "-c 1 script",
        "-c 1 glob:d/s*",
        "-r 1 -r 0 script",
        "-c null",
        "",
        "--reverse",
        "--to .",
        "--to 0",
        "--from 0",
        "--stat",
        "text",
        "-X d/text",
        "--config diff.nobinary=yes",
        "--config experimental.extendedheader.index=short",
        "-c 1 --config experimental.extendedheader.index=full",
        "-c 1 --config experimental.extendedheader.index=7",
        "-c 1 --config experimental.extendedheader.index=none",
        "-c 1 --stat --config experimental.extendedheader.index=many",
        "--config experimental.extendedheader.index=41 new",
        "--config experimental.extendedheader.index=-1 new",
        "-S",
    ] {
        let words = ["diff", "--git"].into_iter();
        let words: Vec<&str> = words.chain(line.split_whitespace()).collect();
        twin.same(&words);
    }
    twin.all_same(&["log -p --git", "log -g -p -r null", "log --stat -p -r null"]);
    let plain = Twin::writing(mixed)
        .with("HGPLAIN", "")
        .with("COLUMNS", "50");
    plain.all_same(&[
        "diff --git --config diff.nobinary=yes -c 1",
        "diff --git --config diff.nobinary=yes --binary -c 1 b",
        "diff --config diff.noprefix=yes -c 1 --nodates",
        "diff --stat -c 0 --text",
    ]);
}

#[test]
fn differences_below_a_directory_are_the_same() {
    let twin = Twin::writing(mixed);
    for line in [
        "--root d",
        "--root d --git",
        "--root d --git -c 1",
        "--root d --git -c 1 --noprefix",
        "--root d --git --stat -c 0",
        "--root d/ --git --config experimental.extendedheader.index=8",
        "--root d/e",
        "--root d/text",
        "--root nosuch",
        "--root d b d/b nosuch",
        "--root d -c 1 b nosuch",
        "--root d/e d",
        "--root .",
        "--root ..",
    ] {
        let words = ["diff", "--nodates"].into_iter();
        let words: Vec<&str> = words.chain(line.split_whitespace()).collect();
        twin.same(&words);
    }
    twin.same_in("d", &["diff", "--root", ".", "--git"]);
    twin.same_in("d", &["diff", "--root", "d"]);
    twin.same_in("d", &["diff", "--root", "e", "../b", "e/text", "--stat"]);
}

/// Lines of few different words and many different blanks, some changed in blanks only.
fn blanks(seed: u64) -> (String, String) {
    let mut state = seed;
    let mut random = move |below: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    const WORDS: [&str; 16] = [
        "foo", " x", "\ty", " ", "  ", "", "a b", "a  b", "a\tb ", "b\r", "int f()", "}", "_u",
        "\x0c", " \x0b", "$d",
    ];
    let line = |random: &mut dyn FnMut(usize) -> usize| {
        let count = random(4);
        (0..count).map(|_| WORDS[random(WORDS.len())]).collect()
    };
    let count = [0, 1, 5, 20, 60][random(5)];
    let old: Vec<String> = (0..count).map(|_| line(&mut random)).collect();
    let mut new = Vec::new();
    for text in &old {
        match random(16) {
            0 => new.push(format!("{text} ")),
            1 => new.push(text.replace(' ', "  ")),
            2 => new.push(text.replace(' ', "")),
            3 => new.push(text.replace('\t', " ")),
            4 => new.push(line(&mut random)),
            5 => new.extend([text.clone(), String::new()]),
            6 => new.extend([text.clone(), line(&mut random)]),
            7 => {}
            _ => new.push(text.clone()),
        }
    }
    let mut joined = |lines: &[String]| {
        let end = if random(5) == 0 { "" } else { "\n" };
        lines.join("\n") + end
    };
    (joined(&old), joined(&new))
}

#[test]
fn blanks_that_do_not_count_are_the_same() {
    let texts: Vec<(String, String)> = (0..120).map(blanks).collect();
    let twin = Twin::writing_with(|hg, path| {
        hg.ok(path, &["init"]);
        let write = |text: fn(&(String, String)) -> &String| {
            for (number, both) in texts.iter().enumerate() {
                repos::write(path, &format!("f{number:03}"), text(both).as_bytes());
            }
        };
        write(|both| &both.0);
        commit(hg, path, "old");
        write(|both| &both.1);
        commit(hg, path, "new");
    });
    for blanks in [
        "", "-w", "-b", "-B", "-Z", "-w -B", "-b -B", "-Z -B", "-b -Z",
    ] {
        for other in ["-p", "-U 0 --git"] {
            let line = format!("diff -c 1 {blanks} {other}");
            let words: Vec<&str> = line.split_whitespace().collect();
            twin.same(&words);
        }
    }
    twin.all_same(&[
        "diff -c 1 -B --reverse -U 1",
        "diff -c 1 -w -B --stat --git",
    ]);
}

#[test]
fn revisions_are_named_in_all_ways() {
    let twin = Twin::writing(history);
    twin.all_same(&[
        "diff --stat --to 1",
        "diff --stat --from 1 --to 0",
        "diff --stat --from 1",
        "diff -r 0 -r 1 -r 2",
        "diff -c 1 --to 0",
        "diff -r 0 --to 0",
        "diff -r 0 --from 0",
        "diff -c . -r 0",
        "diff -U foo -c 1",
        "diff --git -r 4 -r 0 -X binary",
        "diff --git -r 5 -r 3",
        "diff --git --reverse -c 5 -X binary",
    ]);
}

/// More than all threads compare at a time, so that the order of their output matters.
#[test]
fn many_files_are_shown_in_their_order() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        for round in ["one\n", "two\n"] {
            for number in 0..700 {
                let text = format!("{number}\n{round}");
                repos::write(path, &format!("f{number}"), text.as_bytes());
            }
            commit(hg, path, round);
        }
        repos::write(path, "f333", b"changed\n");
        std::fs::remove_file(path.join("f334")).unwrap();
    });
    twin.all_same(&["diff -c tip", "diff --git -r 0", "log -p -r 1"]);
}

#[test]
fn statistics_name_files_from_the_directory_if_a_setting_says_so() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        repos::write(path, "d/a", b"a\n");
        repos::write(path, "e/b", b"b\n");
        commit(hg, path, "zero");
        hg.ok(path, &["rename", "d/a", "d/c"]);
        repos::write(path, "e/b", b"b\nb\n");
    });
    for line in [
        "diff --stat",
        "diff --stat .",
        "diff --git --stat",
        "diff --stat --root ../e",
        "diff --stat --root .. ../e",
        "diff",
    ] {
        for value in ["yes", "no", "legacy"] {
            let setting = format!("ui.relative-paths={value}");
            let words: Vec<&str> = line.split(' ').chain(["--config", &setting]).collect();
            twin.same_in("d", &words);
        }
    }
}

#[test]
fn what_parents_merge_to_is_refused_by_name() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        hg.ok(path, &["debugbuilddag", "-n", "+2 <1 +1 /2"]);
    });
    let setting = "--config=diff.merge=yes";
    for line in [
        "diff -c 3",
        "log -p -r 3",
        "log --stat -r 3",
        "log -r 3 -T {diffstat}",
    ] {
        let words: Vec<&str> = line.split(' ').chain([setting]).collect();
        let refused = twin.run(&words).ours;
        assert_eq!(refused.code, Some(10), "{line}");
        assert!(
            refused
                .stderr
                .contains("diff.merge is not supported for merges"),
            "{line}"
        );
    }
    for line in [
        "diff -c 2",
        "log -p -r 2",
        "export 3",
        "log -r 3 -T {diff}",
        "diff -r 2 -r 3",
    ] {
        let words: Vec<&str> = line.split(' ').chain([setting]).collect();
        twin.same(&words);
    }
}
