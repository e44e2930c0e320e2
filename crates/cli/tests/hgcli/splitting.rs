//! The command of the extension `split`: the same questions, and the same changesets.

use super::Twin;
use super::state::{backups, same_state};
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

const SETTINGS: &str = "[ui]\ninteractive = yes\neditor = cat\n[devel]\ndefault-date = 9 0\n[extensions]\nsplit =\nrebase =\n";
const MARKERS: &str = "[experimental]\nevolution = createmarkers, allowunstable\n";

/// Three changesets; the second one changes several files in several places.
fn begin(hg: &Hg, path: &Path, settings: &str) {
    hg.ok(path, &["init"]);
    let hgrc = [SETTINGS, settings].concat();
    write(path, ".hg/hgrc", hgrc.as_bytes());
    let lines = |two: &str, twelve: &str| -> String {
        let line = |number| match number {
            2 => format!("{two}\n"),
            12 => format!("{twelve}\n"),
            other => format!("{other}\n"),
        };
        (1..=20).map(line).collect()
    };
    write(path, "a", lines("2", "12").as_bytes());
    for name in ["b", "gone", "moved"] {
        write(path, name, format!("{name}\n").as_bytes());
    }
    commit(hg, path, "zero");
    write(path, "a", lines("two", "twelve").as_bytes());
    write(path, "b", b"b\nbb\n");
    write(path, "new", b"new\n");
    hg.ok(path, &["add", "new"]);
    hg.ok(path, &["remove", "gone"]);
    hg.ok(path, &["rename", "moved", "place"]);
    commit(hg, path, "one\n\nin detail");
    write(path, "c", b"c\n");
    hg.ok(path, &["add", "c"]);
    commit(hg, path, "two");
}

fn both_ways() -> [Twin; 2] {
    [MARKERS, ""].map(|settings| Twin::writing_with(|hg, path| begin(hg, path, settings)))
}

/// Answers to the questions of one command, one a letter.
#[track_caller]
fn answering(twin: &Twin, line: &str, answers: &str) {
    println!("{line}: {answers}");
    let words: Vec<&str> = line.split(' ').collect();
    let typed: String = answers
        .chars()
        .map(|letter| format!("{letter}\n"))
        .collect();
    twin.same_answering(&words, &typed);
    same_state(twin);
    let read = |path: &Path| (hg().run(path, &["debugobsolete"]).stdout, backups(path));
    assert_eq!(read(twin.theirs()), read(twin.ours()), "{line}");
}

#[test]
fn answers_divide_a_changeset() {
    for answers in [
        "yynnnnnya",
        "ynydynda",
        "nnnnnyyyyyyyyyyyyyyyy",
        "dddnya",
        "a",
        "yyyyyyyyyyyyyyyyyyyyyyyyyyyyy",
    ] {
        for twin in both_ways() {
            answering(&twin, "split 1", answers);
        }
    }
}

#[test]
fn users_and_dates_are_those_of_the_call() {
    for line in [
        "split 1 -d 7.0",
        "split -r 1 -u bob",
        "split -r 1 -u ",
        "split 1 -d nope",
        "split 1 2 -d nope",
    ] {
        let twin = both_ways().into_iter().next().unwrap();
        answering(&twin, line, "yynnnda");
    }
}

#[test]
fn what_is_given_up_is_taken_back() {
    for before in ["update -q 1", "update -q 0", "update -q 2"] {
        for answers in ["q", "yq", "yyda", "yydq", "yydynq", "yyd"] {
            for (number, twin) in both_ways().into_iter().enumerate() {
                twin.each(|path| {
                    let words: Vec<&str> = before.split(' ').collect();
                    hg().ok(path, &words);
                    if number == 0 {
                        hg().ok(path, &["bookmark", "active"]);
                    }
                });
                answering(&twin, "split 1", answers);
            }
        }
    }
}

#[test]
fn a_failing_editor_takes_all_back() {
    for editor in ["false", "echo > "] {
        for twin in both_ways() {
            let line = ["split", "1", "--config", &format!("ui.editor={editor}")];
            twin.same_answering(&line, "a\n");
            same_state(&twin);
        }
    }
}

#[test]
fn bookmarks_and_the_working_copy_follow() {
    for place in ["0", "1", "2"] {
        for answers in ["yynnda", "a"] {
            for twin in both_ways() {
                twin.each(|path| {
                    hg().ok(path, &["update", "-q", place]);
                    hg().ok(path, &["bookmark", "-r", "1", "at"]);
                    hg().ok(path, &["bookmark", "-r", "2", "tip-mark"]);
                    hg().ok(path, &["bookmark", "active"]);
                });
                answering(&twin, "split 1", answers);
            }
        }
    }
}

#[test]
fn descendants_of_all_kinds_are_rebased() {
    for twin in both_ways() {
        twin.each(|path| {
            let hg = hg();
            hg.ok(path, &["update", "-q", "1"]);
            hg.ok(path, &["branch", "-q", "other"]);
            write(path, "d", b"d\n");
            hg.ok(path, &["add", "d"]);
            commit(&hg, path, "on a branch");
            hg.ok(path, &["phase", "-f", "--secret", "."]);
            hg.ok(path, &["update", "-q", "2"]);
            hg.ok(path, &["merge", "-q", "3"]);
            commit(&hg, path, "merged");
        });
        answering(&twin, "split 1", "yynnda");
        answering(&twin, "split 0", "ya");
    }
}

#[test]
fn without_a_rebase_descendants_become_orphans() {
    for twin in both_ways() {
        answering(&twin, "split 1 --no-rebase", "yynnda");
        answering(&twin, "split 2 --no-rebase", "a");
    }
}

#[test]
fn branches_phases_and_grafts_are_split() {
    for twin in both_ways() {
        twin.each(|path| {
            let hg = hg();
            hg.ok(path, &["update", "-q", "0"]);
            hg.ok(path, &["branch", "-q", "other"]);
            write(path, "more", b"more\n");
            write(path, "most", b"most\n");
            hg.ok(path, &["add", "-q"]);
            hg.ok(path, &["commit", "-q", "-m", "secret", "-s", "-u", "eve"]);
            hg.ok(path, &["graft", "-q", "1"]);
        });
        answering(&twin, "split", "yynnda");
        answering(&twin, "split 3", "yna");
        twin.each(|path| drop(hg().ok(path, &["branch", "-q", "third"])));
        answering(&twin, "split", "ya");
    }
}

#[test]
fn parts_have_the_phase_of_the_whole() {
    for (phase, setting) in [
        ("--draft", "secret"),
        ("--secret", "draft"),
        ("--draft", "public"),
    ] {
        let twin = Twin::writing(|hg, path| begin(hg, path, MARKERS));
        twin.each(|path| drop(hg().run(path, &["phase", "-q", "-f", phase, "1"])));
        let line = format!("split 1 --config phases.new-commit={setting}");
        answering(&twin, &line, "yynnda");
    }
}

#[test]
fn hidden_changesets_are_split() {
    let twin = Twin::writing(|hg, path| {
        begin(hg, path, MARKERS);
        let node = |rev| hg.ok(path, &["log", "--hidden", "-r", rev, "-T", "{node}"]);
        hg.ok(path, &["update", "-q", "0"]);
        write(path, "side", b"side\n");
        hg.ok(path, &["add", "-q", "side"]);
        commit(hg, path, "side");
        hg.ok(path, &["debugobsolete", "-d", "0 0", &node("2")]);
        hg.ok(
            path,
            &["debugobsolete", "-d", "0 0", &node("1"), &node("3")],
        );
    });
    answering(&twin, "split --hidden 1", "a");
    let setting = "experimental.evolution.allowdivergence=yes";
    let line = format!("split --hidden 1 --config {setting}");
    answering(&twin, &line, "yynnda");
}

/// Parts may be there already; they are not removed if the user quits.
#[test]
fn parts_that_are_there_already_are_taken() {
    let user = "Ada Lovelace <ada@example.org>";
    let twin = Twin::writing_with(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, ".hg/hgrc", [SETTINGS, MARKERS].concat().as_bytes());
        let commit = |files: &[&str], message| {
            for file in files {
                write(path, file, b"content\n");
            }
            hg.ok(
                path,
                &["commit", "-q", "-A", "-d", "0 0", "-u", user, "-m", message],
            );
        };
        commit(&["a"], "zero");
        commit(&["b", "c"], "one");
        commit(&["d"], "two");
        hg.ok(path, &["update", "-q", "0"]);
        commit(&["b"], "one");
        hg.ok(path, &["update", "-q", "2"]);
    });
    let twin = twin.with("HGEDITOR", "true");
    twin.same_answering(&["split", "2", "-d", "0 0"], "a\n");
    twin.same_answering(&["split", "1", "-d", "0 0"], "y\ny\nn\nq\n");
    same_state(&twin);
    twin.same_answering(&["split", "1", "-d", "0 0"], "a\n");
    twin.same_answering(&["split", "1", "-d", "0 0"], "y\ny\nn\na\n");
    same_state(&twin);
    // A commit of one that is there, too.
    twin.all_same(&["update -q 0"]);
    twin.each(|path| write(path, "b", b"content\n"));
    twin.all_same(&["add b"]);
    twin.same(&["commit", "-d", "0 0", "-u", user, "-m", "one"]);
    same_state(&twin);
}

#[test]
fn what_cannot_be_split_is_refused() {
    let lines = [
        "split null",
        "split none()",
        "split 1 2",
        "split 1 -r 2",
        "split all()",
        "split nope",
        "split 1 --config ui.interactive=no",
        "split 1 -y",
        "split 1 --config ui.interactive=no -d nope",
    ];
    for twin in both_ways() {
        for line in lines {
            answering(&twin, line, "");
        }
        twin.each(|path| write(path, "a", b"dirty\n"));
        for line in lines.iter().chain(&["split 1", "split"]) {
            answering(&twin, line, "a");
        }
        twin.each(|path| drop(hg().ok(path, &["update", "-q", "-C", "."])));
        twin.each(|path| {
            let hg = hg();
            hg.ok(path, &["branch", "-q", "empty"]);
            commit(&hg, path, "empty");
            hg.ok(path, &["update", "-q", "0"]);
            write(path, "side", b"side\n");
            hg.ok(path, &["add", "-q", "side"]);
            commit(&hg, path, "side");
        });
        answering(&twin, "split 3", "a");
        twin.each(|path| drop(hg().ok(path, &["merge", "-q", "2"])));
        answering(&twin, "split 1", "a");
        twin.each(|path| commit(&hg(), path, "merged"));
        answering(&twin, "split", "a");
        answering(&twin, "split 0 --no-rebase", "q");
        twin.each(|path| drop(hg().ok(path, &["phase", "--public", "1"])));
        answering(&twin, "split 1", "a");
        twin.each(|path| write(path, "a", b"dirty\n"));
        answering(&twin, "split 1", "a");
    }
}

#[test]
fn an_obsolete_changeset_must_not_diverge() {
    let twin = both_ways().into_iter().next().unwrap();
    twin.each(|path| {
        let hg = hg();
        let node = |rev| hg.ok(path, &["log", "-r", rev, "-T", "{node}"]);
        hg.ok(path, &["debugobsolete", &node("2")]);
        hg.ok(path, &["debugobsolete", &node("1"), &node("0")]);
    });
    answering(&twin, "split 1", "a");
    answering(&twin, "split 1 --hidden", "a");
    answering(&twin, "split 1 --hidden -v", "a");
}

#[test]
fn what_was_pruned_must_not_come_back_beside_another_successor() {
    let twin = both_ways().into_iter().next().unwrap();
    twin.each(|path| {
        let hg = hg();
        hg.ok(path, &["update", "-q", "tip"]);
        let old = hg.ok(path, &["log", "-r", ".", "-T", "{node}"]);
        hg.ok(
            path,
            &["commit", "--amend", "-q", "-m", "pruned", "-d", "1 0"],
        );
        let pruned = hg.ok(path, &["log", "-r", ".", "-T", "{node}"]);
        hg.ok(path, &["update", "-q", "--hidden", &old]);
        let divergence = "experimental.evolution.allowdivergence=yes";
        let again = [
            "commit", "--amend", "-q", "-m", "kept", "-d", "2 0", "--config", divergence,
        ];
        hg.ok(path, &again);
        hg.ok(path, &["debugobsolete", &pruned]);
        hg.ok(path, &["update", "-q", "--hidden", &pruned]);
    });
    let divergence = "--config=experimental.evolution.allowdivergence=yes";
    twin.all_same(&[
        "commit --amend -m revived",
        "commit --amend -v -m revived",
        "split",
        "uncommit",
    ]);
    twin.same(&[
        "commit", "--amend", "-m", "revived", "-d", "3 0", divergence,
    ]);
    twin.all_same(&["log -G --hidden"]);
}

/// Those that no rebase takes along.
#[test]
fn obsolete_descendants_are_not_left_behind() {
    let twin = Twin::writing(|hg, path| {
        begin(hg, path, "[experimental]\nevolution = createmarkers\n");
        let allowed = ["--config", "experimental.evolution=all"];
        hg.ok(path, &["update", "-q", "1"]);
        for name in ["x", "y"] {
            write(path, name, b"");
            commit(hg, path, name);
        }
        hg.ok(path, &["update", "-q", "3"]);
        let amend = ["commit", "-q", "--amend", "-m", "X", "-d", "9 0"];
        hg.ok(path, &[&amend[..], &allowed].concat());
    });
    answering(&twin, "split 1", "");
}

#[test]
fn labels_stay_out_of_the_editor() {
    let twin = Twin::writing_with(|hg, path| begin(hg, path, MARKERS)).with("HGPLAIN", "");
    answering(
        &twin,
        "split 1 --color debug --config command-templates.oneline-summary={label(\"x\",rev)}",
        "ynynnnnnnnyyyyyyyyyyyy",
    );
}
