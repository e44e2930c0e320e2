//! Obsolete changesets and their descendants, as the real program shows them.

use super::Twin;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::{commit, write};

const SETTING: &str = "[experimental]\nevolution = all\n";

fn add(hg: &Hg, path: &Path, name: &str) {
    write(path, name, name.as_bytes());
    hg.ok(path, &["add", name]);
    commit(hg, path, name);
}

fn node(hg: &Hg, path: &Path, rev: &str) -> String {
    hg.ok(path, &["log", "--hidden", "-r", rev, "-T", "{node}"])
}

/// Says that `old` was rewritten as the others.
fn mark(path: &Path, old: &str, new: &[&str], more: &[&str]) {
    let hg = hg();
    let nodes: Vec<String> = new.iter().map(|rev| node(&hg, path, rev)).collect();
    let mut words = vec!["debugobsolete".to_owned(), node(&hg, path, old)];
    words.extend(nodes);
    words.extend(more.iter().map(|word| (*word).to_owned()));
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    hg.ok(path, &words);
}

/// One amended changeset with two above it.
fn orphans(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", SETTING.as_bytes());
    for name in ["zero", "one", "two", "three"] {
        add(hg, path, name);
    }
    hg.ok(path, &["update", "-q", "1"]);
    let clock = "--config=devel.default-date=9 0";
    hg.ok(path, &["commit", "--amend", "-m", "again", clock]);
    hg.ok(path, &["update", "-q", "3"]);
}

const LOOKS: &[&str] = &[
    "log -G",
    "log -G --hidden -v",
    "log -r all() -v",
    "log -T {rev}|{obsolete}|{instabilities}|{graphnode}\\n",
    "log -T {rev}:{instabilities%'<{instability}>'}\\n",
    "log -T show -r 2",
    "log -T phases -r 2",
    "log -T status -r 2",
    "log -T bisect -r 2",
    "log -T json -r 2",
    "log -T compact -r 2",
    "summary",
    "summary -q",
    "summary -v",
    "parents",
    "heads",
    "identify",
    "tip",
];

const SETS: &[&str] = &[
    "obsolete()",
    "orphan()",
    "unstable()",
    "contentdivergent()",
    "phasedivergent()",
    "extinct()",
    "hidden()",
    "successors(1)",
    "successors(all())",
    "obsolete() and not extinct()",
    "first(reverse(unstable()))",
    "orphan(1)",
    "obsolete(x)",
    "successors()",
    "bumped()",
    "divergent()",
];

fn look(twin: &Twin) {
    twin.all_same(LOOKS);
    for set in SETS {
        twin.same(&["log", "-T", "{rev} ", "-r", set]);
        twin.same(&["log", "-T", "{rev} ", "--hidden", "-r", set]);
    }
}

#[test]
fn orphans_are_shown() {
    let twin = Twin::writing(orphans);
    look(&twin);
    twin.all_same(&[
        "log -r 1+2 --debug",
        "update 1",
        "summary",
        "log -r .",
        "update -q 0",
        "update 3",
    ]);
    // Even where no markers may be made.
    let off = "--config=experimental.evolution=";
    twin.same(&["log", "-G", off]);
}

#[test]
fn what_diverges_is_shown() {
    let twin = Twin::writing(|hg, path| {
        orphans(hg, path);
        mark(path, "3", &[], &["-d", "0 0"]);
        hg.ok(path, &["update", "-q", "2"]);
        add(hg, path, "five");
        add(hg, path, "six");
        mark(path, "5", &["6"], &["-d", "0 0"]);
        for name in ["seven", "eight", "nine"] {
            hg.ok(path, &["update", "-q", "0"]);
            add(hg, path, name);
        }
        mark(path, "6", &["7", "8", "9"], &["-d", "60 -3600"]);
        mark(path, "2", &["9"], &["-d", "0 0"]);
        mark(path, "2", &["4"], &["-d", "1 0", "-u", "bob"]);
    });
    look(&twin);
    twin.each(|path| {
        let hg = hg();
        hg.ok(path, &["phase", "-p", "9"]);
        hg.ok(path, &["update", "-q", "0"]);
        add(&hg, path, "ten");
        mark(path, "9", &["10"], &["-d", "0 0"]);
    });
    look(&twin);
    twin.all_same(&[
        "log -r 2",
        "log -r 3",
        "log -r 5",
        "log -r 1:4",
        "update 1",
        "bookmark --hidden -r 3 rewritten",
        "bookmark --hidden -r 6 other",
        "bookmark --hidden -r 2 third fourth",
        "bookmark -d rewritten other third fourth",
        "update --hidden 3",
        "update --hidden 6",
        "update --hidden 2",
        "update 8",
        "log -r 10",
        "log -r 3 --hidden",
        "log -r 5 --hidden -v",
    ]);
}

/// The working copy keeps them in view; their parents are heads in their place.
#[test]
fn obsolete_changesets_are_on_no_branch() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, ".hg/hgrc", SETTING.as_bytes());
        for name in ["zero", "one"] {
            add(hg, path, name);
        }
        hg.ok(path, &["branch", "-q", "other"]);
        for name in ["two", "three"] {
            add(hg, path, name);
        }
        mark(path, "3", &[], &[]);
    });
    let looks = [
        "heads",
        "heads .",
        "branches",
        "summary",
        "branches --hidden",
    ];
    twin.all_same(&looks);
    twin.each(|root| mark(root, "2", &[], &[]));
    twin.all_same(&looks);
}

/// Names of changesets do not mean extinct ones that a bookmark keeps in view; a push of everything does.
#[test]
fn extinct_changesets_are_not_outgoing_by_name() {
    let twin = Twin::writing_with(|hg, path| {
        let source = path.join("source");
        hg.ok(path, &["init", "source"]);
        write(&source, ".hg/hgrc", SETTING.as_bytes());
        for name in ["zero", "one"] {
            add(hg, &source, name);
        }
        hg.ok(&source, &["bookmark", "-r", "1", "kept"]);
        hg.ok(&source, &["update", "-q", "0"]);
        add(hg, &source, "two");
        mark(&source, "1", &["2"], &[]);
        hg.ok(path, &["clone", "-q", "-r", "0", "source", "target"]);
    });
    let target = "../target";
    for words in [
        &["outgoing", "-r", "1", target, "-T", "{rev}\n"][..],
        &["outgoing", target, "-T", "{rev}\n"],
        &["bundle", "-r", "1", "x.hg", target],
        &["push", "-r", "1", target],
        &["push", "-f", "-r", "1", target],
        &["push", target],
        &["push", "-f", "-r", "1", "-r", "2", target],
    ] {
        twin.same_in("source", words);
    }
}

/// The working copy is at a changeset that was amended, and knows another to graft.
fn at_an_obsolete_changeset(hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", SETTING.as_bytes());
    for name in ["zero", "one"] {
        add(hg, path, name);
    }
    let clock = "--config=devel.default-date=9 0";
    hg.ok(path, &["commit", "--amend", "-m", "again", clock]);
    add(hg, path, "two");
    hg.ok(path, &["update", "-q", "--hidden", "1"]);
    write(path, "three", b"3\n");
    let patch = b"# HG changeset patch\ndiff --git a/four b/four\nnew file mode 100644\n--- /dev/null\n\
        +++ b/four\n@@ -0,0 +1,1 @@\n+4\ndiff --git a/zero b/zero\n--- a/zero\n+++ b/zero\n@@ -1,1 +1,1 @@\n\
        -zero\n\\ No newline at end of file\n+0\n";
    write(path, ".hg/patch", patch);
}

#[test]
fn new_orphans_are_told_of() {
    let twin = Twin::writing(at_an_obsolete_changeset).with("HGEDITOR", "cat");
    let date = "--config=devel.default-date=9 0";
    twin.all_same(&[
        "commit -A -m three",
        "tag t",
        "graft 3",
        "graft -f 3 4 --config ui.allowemptycommit=yes",
        "backout -m back .",
        "import .hg/patch -m imported",
        "import .hg/patch -m imported --config experimental.evolution.report-instabilities=no",
        "log -G -T {rev}:{desc}:{instabilities}\n",
    ]);
    twin.same(&["import", "--bypass", "-e", ".hg/patch", date]);
    twin.same(&["update", "-q", "-r", "0"]);
    twin.same(&["import", "--bypass", "-e", ".hg/patch", "-d", "1 0"]);
    twin.same(&["log", "-T", "{rev}:{desc}:{node|short}\n"]);
}

#[test]
fn the_state_of_a_merge_ends_with_an_amendment() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, ".hg/hgrc", SETTING.as_bytes());
        for name in ["a", "b"] {
            write(path, "f", name.as_bytes());
            commit(hg, path, name);
        }
        write(path, "f", b"c");
    });
    twin.same(&["update", "-m", ".^"]);
    twin.each(|path| write(path, "f", b"d"));
    twin.all_same(&[
        "resolve -m f",
        "commit --amend -m x",
        "resolve -l",
        "log -T {rev}{instabilities}\n",
    ]);
}

#[test]
fn hidden_changesets_may_be_committed_again() {
    let twin = Twin::writing(at_an_obsolete_changeset);
    twin.each(|path| write(path, "new", b"new"));
    twin.all_same(&["add new", "commit -m new"]);
    twin.each(|path| {
        let made = node(&hg(), path, "tip");
        hg().ok(path, &["debugobsolete", &made]);
        hg().ok(path, &["update", "-q", "-r", ".^", "--hidden"]);
        write(path, "new", b"new");
        write(path, "gone", b"gone");
        hg().ok(path, &["add", "new", "gone"]);
        std::fs::remove_file(path.join("gone")).unwrap();
    });
    twin.same(&["commit", "-A", "-m", "new"]);
    twin.same(&["log", "-T", "{rev}:{node|short}\n"]);
}

/// Seven heads on one changeset. The first was split in two, of which one has two successors, and the sixth in two, of which one
/// was dropped.
#[test]
fn parts_of_splits_compete_only_where_they_differ() {
    let twin = Twin::writing(|hg, path| {
        hg.ok(path, &["init"]);
        write(path, ".hg/hgrc", SETTING.as_bytes());
        add(hg, path, "base");
        for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
            hg.ok(path, &["update", "-q", "0"]);
            add(hg, path, name);
        }
        hg.ok(path, &["update", "-q", "0"]);
        for (old, new) in [
            ("1", &["2", "3"][..]),
            ("2", &["4"]),
            ("3", &["5"]),
            ("3", &["6"]),
            ("7", &["8", "9"]),
            ("9", &[]),
        ] {
            mark(path, old, new, &[]);
        }
    });
    twin.all_same(&[
        "log -T {rev}:{instabilities}\\n",
        "log --hidden -r 1+7 -T {rev}:{successorssets}\\n",
        "debugsuccessorssets --hidden all()",
        "log -r successors(7) -T {rev}\\n --hidden",
        "log -T {rev}:{whyunstable}\\n",
        "log -T {rev}:{whyunstable%'{instability}:{divergentnodes%\"<{node|short}{phase}>\"}{node|short};'}\\n",
        "debugwhyunstable 5",
        "debugwhyunstable 4",
        "debugwhyunstable nosuch",
    ]);
}
