//! `bisect`, its queries and its keyword, in one state file with Mercurial.

use super::{Twin, our_hg};
use std::path::Path;
use std::process::Command;
use varve_testkit::peers::{self, hg_program};
use varve_testkit::repos;

/// Twelve changesets in a line, three more on the fifth of them, their merge with the ninth, and one on that.
fn make(hg: &peers::Hg, path: &Path) {
    std::fs::create_dir_all(path).unwrap();
    hg.ok(path, &["init"]);
    let commit = |file: &str, number: usize| {
        repos::write(path, file, format!("{number}\n").as_bytes());
        repos::commit(hg, path, &format!("c{number}"));
    };
    (0..12).for_each(|number| commit("a", number));
    hg.ok(path, &["up", "4"]);
    (12..15).for_each(|number| commit("b", number));
    hg.ok(path, &["merge", "8"]);
    repos::commit(hg, path, "merge");
    commit("c", 16);
}

/// Runs the lines in both programs, and compares their words, the state and the place of the working copy after each.
#[track_caller]
fn same_bisection(lines: &[&[&str]]) {
    let twin = Twin::writing(make);
    for arguments in lines {
        twin.same(arguments);
        let state = |root: &Path| std::fs::read_to_string(root.join(".hg/bisect.state")).ok();
        assert_eq!(state(twin.theirs()), state(twin.ours()), "{arguments:?}");
        twin.same(&["parents", "-T", "{rev}\n"]);
    }
}

#[test]
fn calls_without_enough_marks_or_with_too_many_options_are_refused() {
    same_bisection(&[
        &["bisect"],
        &["bisect", "-b"],
        &["bisect"],
        &["bisect", "-r"],
        &["bisect", "-g"],
        &["bisect"],
        &["bisect", "-b", "-g"],
        &["bisect", "-c", "x", "-e"],
        &["bisect", "-s", "-r"],
        &["bisect", "1", "2"],
        &["bisect", "good", "1"],
        &["bisect", "-b", "none()"],
        &["bisect", "nope"],
        &["bisect", "init"],
        &["bisect", "bad", "3"],
        &["bisect", "reset"],
        &["bisect", "-U"],
        &["bisect", "-e"],
        &["bisect", "-c", "true"],
        &["bisect", "-b", "11"],
        &["bisect", "-c", "true", "0"],
    ]);
}

#[test]
fn the_first_bad_changeset_is_found() {
    same_bisection(&[
        &["bisect", "-g", "0"],
        &["bisect", "-b", "11", "-v"],
        &["status", "-v"],
        &["summary"],
        &["bisect", "-g"],
        &["bisect", "-b", "-q"],
        &["bisect", "-s"],
        &["bisect", "-g", "-v"],
        &["bisect"],
        &["bisect", "-b"],
        &["bisect", "-r"],
        &["status", "-v"],
        &["bisect", "-b", "0"],
        &["bisect", "-g", "11"],
        &["bisect", "-b", "5"],
        &["bisect", "-g", "6"],
    ]);
}

#[test]
fn skipped_changesets_leave_several() {
    same_bisection(&[
        &["bisect", "-g", "2"],
        &["bisect", "-b", "5"],
        &["bisect", "-s", "3:4"],
        &["bisect"],
        &["bisect", "-r"],
        &["bisect", "-U", "-g", "0"],
        &["bisect", "-U", "-b", "11"],
        &["bisect", "-U", "-s", "desc(c5)"],
        &["bisect", "-U", "-g", "3"],
    ]);
}

#[test]
fn merges_may_be_gone_beyond() {
    same_bisection(&[
        &["bisect", "-g", "3"],
        &["bisect", "-b", "16"],
        &["bisect", "-g"],
        &["bisect", "-b", "15"],
        &["bisect", "-g", "14"],
        &["bisect", "-e"],
        &["bisect", "-r"],
        &["bisect", "-b", "15"],
        &["bisect", "-g", "14"],
        &["bisect", "-s", "5:7"],
        &["bisect", "-b", "8"],
        &["bisect", "-e"],
        &["bisect"],
        &["bisect", "-r"],
        &["bisect", "-b", "11"],
        &["bisect", "-g", "13"],
        &["bisect", "-r"],
        &["bisect", "-b", "11"],
        &["bisect", "-g", "11"],
    ]);
}

#[test]
fn commands_test_by_themselves() {
    let skips = "echo $HG_NODE; test $(cat a) -eq 5 && exit 125; test $(cat a) -lt 7";
    for line in [
        "test $(cat a) -lt 7",
        skips,
        "exit 127",
        "kill -9 $$",
        "true",
    ] {
        same_bisection(&[
            &["bisect", "-g", "0"],
            &["bisect", "-b", "11"],
            &["bisect", "-c", line],
            &["bisect", "-U", "-c", line, "7"],
        ]);
    }
}

#[test]
fn changes_in_the_way_are_refused() {
    let twin = Twin::writing(make);
    twin.each(|root| std::fs::write(root.join("a"), "dirty\n").unwrap());
    twin.all_same(&["bisect -g 0", "bisect -b 11", "bisect", "bisect -U"]);
}

#[test]
fn queries_and_templates_know_the_state() {
    let twin = Twin::writing(make);
    let look = |twin: &Twin| {
        for set in [
            "good", "bad", "skip", "goods", "BADS", "range", "pruned", "untested", "ignored",
            "current", "foo",
        ] {
            twin.same(&["log", "-r", &format!("bisect({set})"), "-T", "{rev} "]);
        }
        twin.same(&["log", "-T", "{rev} {bisect}|{bisect|shortbisect}\n"]);
        twin.all_same(&[
            "log -r bisected(good)",
            "log -r bisect()",
            "log --style bisect -r 3:",
            "log -q --style bisect",
            "log -G -T {rev}{bisect} -r bisect(range)",
        ]);
    };
    look(&twin);
    twin.all_same(&["bisect -g 0", "bisect -b 11", "bisect -g", "bisect -s 7"]);
    look(&twin);
    twin.all_same(&["bisect -r", "bisect -b 14", "bisect -g 16"]);
    look(&twin);
}

/// Either program goes on with what the other began.
#[test]
fn both_programs_take_turns() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("repository");
    make(&peers::hg(), &path);
    let run = |program: &Path, arguments: &[&str]| {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(&path)
            .env("HGRCPATH", "")
            .env("HGPLAIN", "1")
            .env("LC_ALL", "C.UTF-8");
        peers::run(&mut command).success()
    };
    let programs = [hg_program(), our_hg()];
    for first_bad in 1..12 {
        run(&programs[0], &["bisect", "-g", "0"]);
        let mut said = run(&programs[1], &["bisect", "-b", "11"]);
        for turn in 0.. {
            if said.starts_with("The first bad") {
                break;
            }
            let at: usize = run(&programs[0], &["log", "-r", ".", "-T", "{rev}"])
                .parse()
                .unwrap();
            let mark = if at < first_bad { "-g" } else { "-b" };
            said = run(&programs[turn % 2], &["bisect", mark]);
        }
        assert!(
            said.contains(&format!("summary:     c{first_bad}\n")),
            "{said}"
        );
        run(&programs[first_bad % 2], &["bisect", "-r"]);
    }
}

#[test]
fn the_null_revision_may_be_marked() {
    same_bisection(&[
        &["bisect", "-b", "null"],
        &["bisect", "-g", "11"],
        &["bisect", "-g"],
        &["bisect", "-s"],
        &["bisect", "-b"],
        &["bisect", "-r"],
        &["bisect", "-g", "null"],
        &["bisect", "-b", "3"],
        &[
            "log",
            "-r",
            "0: and (bisect(range)+bisect(goods)+bisect(untested))",
        ],
        &["bisect", "-r"],
        &["bisect", "-g", "null"],
        &["bisect", "-b", "null"],
        &["bisect", "-r"],
        &["update", "-q", "null"],
        &["bisect", "-g"],
        &["bisect", "-U", "-b", "16"],
        &["bisect", "-r"],
        &["bisect", "-b", "4"],
        &["bisect", "-g", "null"],
        &["bisect", "-c", "true"],
    ]);
}

#[test]
fn marks_on_hidden_changesets_do_not_count_in_queries() {
    let twin = Twin::writing(make);
    twin.all_same(&["bisect -g 3", "bisect -b 16", "bisect -r"]);
    twin.all_same(&["bisect -g 3", "bisect -b tip", "up -q 0"]);
    let tip = peers::hg().ok(twin.ours(), &["log", "-r", "tip", "-T", "{node}"]);
    twin.same(&[
        "debugobsolete",
        &tip,
        "-d",
        "0 0",
        "--config",
        "experimental.evolution=createmarkers",
    ]);
    for set in ["bad", "bads", "goods", "range", "pruned", "ignored"] {
        twin.same(&["log", "-r", &format!("bisect({set})"), "-T", "{rev} "]);
    }
    twin.same(&["log", "-T", "{rev} {bisect}\n"]);
}
