//! Debug commands that show what the program sees of a repository.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

/// Renames, a branch, a tag, a bookmark, and changes in the working copy.
fn renames(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, "a", b"a\n");
    write(path, "d/x", b"x\n");
    commit(hg, path, "0");
    hg.ok(path, &["rename", "a", "b"]);
    commit(hg, path, "1");
    hg.ok(path, &["copy", "b", "c"]);
    commit(hg, path, "2");
    hg.ok(path, &["update", "0"]);
    write(path, "z", b"z\n");
    commit(hg, path, "3");
    hg.ok(path, &["bookmark", "dog"]);
    hg.ok(path, &["tag", "--local", "lt", "-r", "0"]);
    hg.ok(path, &["copy", "z", "zz"]);
    hg.ok(path, &["remove", "a"]);
    write(path, "unknown", b"?");
}

#[test]
fn copies_are_listed() {
    let twin = Twin::writing(renames);
    twin.all_same(&[
        "debugrename",
        "debugrename a",
        "debugrename b",
        "debugrename -r 1",
        "debugrename -r 2 c b a",
        "debugpathcopies 0 2",
        "debugpathcopies 2 0",
        "debugpathcopies 0 2 c",
        "debugpathcopies 1 3",
    ]);
    twin.same_in("d", &["debugrename", "-r", "1"]);
    twin.same_but_output(&["debugpathcopies", "0"]);
}

#[test]
fn ancestors_queries_names_and_dates_are_read() {
    let twin = Twin::writing(renames);
    twin.all_same(&[
        "debugancestor 2 3",
        "debugancestor 1 2",
        "debugancestor 2 null",
        "debugancestor 2 nosuch",
        "debugancestor",
        "debugrevspec heads(all())",
        "debugrevspec 0:2",
        "debugrevspec null",
        "debugrevspec nosuch",
        "debugnamecomplete",
        "debugnamecomplete d",
        "debugnamecomplete d l t",
        "debugnamecomplete nosuch",
        "debuglabelcomplete d",
        "debugdate 2006-02-01",
        "debugdate foo",
    ]);
    twin.same(&["debugdate", "2006-02-01 13:00:30 +0200"]);
    twin.same(&["debugdate", "1 3600"]);
}

#[test]
fn the_working_copy_is_looked_at() {
    let twin = Twin::writing(renames);
    twin.all_same(&[
        "debugstate --no-dates",
        "debugdirstate --nodates",
        "debugstate --no-dates --datesort",
        "debugwalk",
        "debugwalk z d",
        "debugwalk -I z",
        "debugwalk nosuch",
    ]);
    twin.same_in("d", &["debugwalk"]);
    twin.same_in("d", &["debugwalk", "x", "../z"]);
}

#[test]
fn the_parents_are_set() {
    let twin = Twin::writing(renames);
    twin.each(|path| {
        hg().ok(path, &["revert", "-a", "--no-backup"]);
    });
    let shown = "parents -T {rev}\\n";
    twin.all_same(&[
        "debugsetparents 1",
        shown,
        "debugsetparents 1 2",
        shown,
        "debugsetparents nosuch",
        "debugsetparents null",
        shown,
    ]);
    twin.same_but_output(&["debugsetparents"]);
}

#[test]
fn graphs_keys_and_copies_are_printed() {
    let twin = Twin::writing(renames);
    twin.all_same(&[
        "debugindexdot -c",
        "debugindexdot a",
        "debugp1copies",
        "debugp1copies -r 1",
        "debugp2copies -r 2",
        "debugpushkey . namespaces",
        "debugpushkey . bookmarks",
        "debugpushkey . phases",
        "debugpushkey . nosuch",
        "debugsuccessorssets 0:1",
        "debugsuccessorssets --closest tip",
    ]);
}

#[test]
fn templates_are_shown_as_trees() {
    let twin = Twin::writing(renames);
    twin.all_same(&[
        "debugtemplate {x} -D x=1",
        "debugtemplate {x}{desc} -D x=1 -r 0:1",
        "debugtemplate {x} -D x",
        "debugtemplate -v a{rev}{files|json}{p1.node}\\n -r 1",
        "debugtemplate -v plain",
        "debugtemplate -v {files%'{file}q'}{1+-2}{'s'} -r 1",
        "debugtemplate -v {pad(rev,3,left=True)}{join(files,'')}{a|lower|upper} -r 1",
        "debugtemplate {",
    ]);
}

#[test]
fn the_dirstate_is_made_anew() {
    let twin = Twin::writing(renames);
    let shown = "debugstate --no-dates";
    twin.all_same(&["debugrebuilddirstate --minimal", shown, "status -A"]);
    twin.all_same(&["debugrebuilddirstate", shown, "status -A"]);
    twin.all_same(&[
        "debugrebuildstate -r 2",
        shown,
        "parents -q",
        "debugrebuildstate -r nosuch",
    ]);
}

#[test]
fn tracked_paths_are_completed() {
    let twin = Twin::writing(|hg, root| {
        hg.ok(root, &["init"]);
        for name in ["a", "ab", "d/e/f", "d/x", "other/1"] {
            write(root, name, b"x\n");
        }
        hg.ok(root, &["add", "-q"]);
        hg.ok(root, &["commit", "-m", "zero"]);
        write(root, "d/new", b"x\n");
        hg.ok(root, &["add", "d/new"]);
        hg.ok(root, &["remove", "ab"]);
        write(root, "d/unknown", b"x\n");
    });
    for arguments in [
        "", " a", " d", " d/", " ./d/e", " nothing", " a other", " ../x", " -n", " -a", " -r -f",
        " -f d",
    ] {
        let line = format!("debugpathcomplete{arguments}");
        let words: Vec<&str> = line.split(' ').collect();
        twin.same(&words);
        twin.same_in("d", &words);
    }
}

#[test]
fn other_repositories_answer_the_same() {
    let twin = Twin::reading();
    let server = hg().serve(twin.theirs());
    let node = hg().ok(twin.theirs(), &["log", "-r", "0", "-T", "{node}"]);
    for place in [".", server.url()] {
        twin.same(&["debugwireargs", place, "un", "deux"]);
        twin.same(&[
            "debugwireargs",
            place,
            "1 %",
            "",
            "--three",
            "&=",
            "--four",
            "4",
        ]);
        twin.same(&["debugknown", place, &node, &"0".repeat(40)]);
        twin.same(&["debugpeer", place]);
    }
    twin.same(&["debugpeer", "nothere"]);
    twin.same(&["debuguiprompt", "--prompt", "what"]);
}

/// Output with the ages of locks, which differ, made the same.
fn without_ages(text: &str) -> String {
    let lines = text.lines().map(|line| match line.rsplit_once(" (") {
        Some((line, age)) if age.ends_with("s)") => line,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn locks_are_shown_and_removed() {
    let twin = Twin::writing(|hg, root| drop(hg.ok(root, &["init"])));
    let links = [
        ("store/lock", "host.example:99999"),
        ("wlock", "other.example/f:1"),
    ];
    let same = |line: &[&str]| {
        let mut both = twin.run(line);
        both.theirs.stdout = without_ages(&both.theirs.stdout);
        both.ours.stdout = without_ages(&both.ours.stdout);
        both.same(line);
    };
    same(&["debuglocks"]);
    twin.each(|root| {
        for (name, owner) in links {
            std::os::unix::fs::symlink(owner, root.join(".hg").join(name)).unwrap();
        }
    });
    for options in ["", "-s", "-S", "-L", "", "-s -S", "-W", "", "-L -W"] {
        let words = options.split(' ').filter(|word| !word.is_empty());
        same(
            &std::iter::once("debuglocks")
                .chain(words)
                .collect::<Vec<_>>(),
        );
    }
    let asked = ["debuglocks", "-s", "-S", "--config", "ui.interactive=yes"];
    twin.same_answering(&asked, "y\n");
    same(&["debuglocks"]);
}

#[test]
fn rules_that_ignore_files_are_named() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        let rules =
            b"^b.*x$\nsyntax: glob\n*.o  # objects\nrootglob:top/*.c\nre:foo$\ninclude:more\n";
        write(path, ".hgignore", rules);
        write(path, "more", b"m\\.n\n");
        write(path, "d/.keep", b"");
    });
    twin.all_same(&[
        "debugignore a.o bax d/e.o top/y.c afoo nothing m.n",
        "debugignore d.o/deep/file d/top/y.c",
    ]);
    twin.same_in("d", &["debugignore", "e.o", "../a.o"]);
}

#[test]
fn the_dirstate_is_checked() {
    let twin = Twin::writing(renames);
    twin.same(&["debugcheckstate"]);
    twin.run(&["debugsetparents", "1"]);
    twin.same(&["debugcheckstate"]);
}

#[test]
fn extensions_and_capabilities_are_listed() {
    let twin = Twin::writing(renames);
    twin.all_same(&[
        "debugextensions",
        "debugextensions --config=extensions.rebase= --config=extensions.hgext.share=",
        "debugextensions -q --config=extensions.strip= --config=extensions.rebase=!",
        "debugcapabilities . --bundle2-cap=phases --bundle2-cap=changegroup",
        "debugcapabilities nosuch",
    ]);
}

#[test]
fn files_of_filesets_are_listed() {
    let twin = Twin::writing(renames);
    twin.all_same(&[
        "debugfileset all()",
        "debugfileset added()|removed()|unknown()",
        "debugfileset -r 1 b|a|z",
        "debugfileset -r 1 removed()",
        "debugfileset -r null a",
        "debugfileset --all-files not(z)",
        "debugfileset --all-files -r 2 added()",
        "debugfileset path:d",
        "debugfileset nosuch()",
    ]);
}
