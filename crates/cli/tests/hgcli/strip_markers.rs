//! Obsolescence markers when changesets are stripped: which go, and the bundles that keep them.

use super::Twin;
use super::merging::random::Random;
use super::random_history::{one, seeds};
use super::strip::same;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::write;

const SETTINGS: &str = "[extensions]\nstrip =\namend =\nrebase =\n\
    [experimental]\nevolution = createmarkers, allowunstable\n[devel]\ndefault-date = 1700000000 0\n";

/// Changesets 1 to `count` side by side over 0, where the working copy is.
fn fan(hg: &Hg, path: &Path, count: usize) {
    hg.ok(path, &["init"]);
    std::fs::write(path.join(".hg/hgrc"), SETTINGS).unwrap();
    for number in 0..=count {
        write(path, "file", format!("{number}\n").as_bytes());
        hg.ok(path, &["commit", "-qAm", &format!("c{number}")]);
        hg.ok(path, &["update", "-q", "0"]);
    }
}

/// Changeset 1 was amended twice and its child rebased.
fn amended(hg: &Hg, path: &Path) {
    fan(hg, path, 2);
    hg.ok(path, &["update", "-q", "1"]);
    for text in ["first", "second"] {
        write(path, "file", text.as_bytes());
        hg.ok(path, &["amend", "-m", text]);
    }
}

#[test]
fn predecessors_are_not_obsolete_any_more() {
    for lines in [
        &["strip tip", "log -G -T {rev}:{desc}", "debugobsolete"][..],
        &[
            "strip 3 --hidden",
            "log -G -T {rev}:{desc}",
            "debugobsolete",
        ],
        &["strip tip 3 --hidden --no-backup", "debugobsolete"],
        &[
            "strip tip --config devel.strip-obsmarkers=no",
            "log -T {rev}:{obsolete}",
            "debugobsolete",
        ],
        &[
            "strip tip --config experimental.evolution=",
            "debugobsolete",
        ],
        &["debugobsolete --delete 0", "strip tip", "debugobsolete"],
    ] {
        let twin = Twin::writing(amended);
        twin.all_same(lines);
        same(&twin);
    }
}

#[test]
fn bundles_bring_back_what_was_stripped() {
    let twin = Twin::writing(amended);
    twin.all_same(&["strip tip"]);
    let bundle = std::fs::read_dir(twin.ours().join(".hg/strip-backup"));
    let name = bundle.unwrap().next().unwrap().unwrap().file_name();
    let name = format!(".hg/strip-backup/{}", name.to_str().unwrap());
    twin.all_same(&[
        &format!("unbundle {name}"),
        "log -G -T {rev}:{desc}",
        "debugobsolete",
    ]);
    same(&twin);
}

#[test]
fn without_markers_nothing_of_other_amendments_goes() {
    let twin = Twin::writing(amended);
    let plain = "--config experimental.evolution.createmarkers=no --config experimental.evolution=";
    twin.each(|path| write(path, "file", b"third\n"));
    twin.all_same(&[
        &format!("amend -m third {plain}"),
        "debugobsolete",
        "log -G -T {rev}:{desc}",
    ]);
    same(&twin);
}

/// A changeset that is here, or one that never was.
fn any(random: &mut Random, nodes: &[String]) -> String {
    let strange = ["a".repeat(40), "b".repeat(40), "c".repeat(40)];
    let all: Vec<&str> = nodes.iter().chain(&strange).map(String::as_str).collect();
    one(random, &all).to_owned()
}

/// Any markers between changesets, those that are not here included, and drops with their parents.
fn random_markers(random: &mut Random, twin: &Twin, nodes: &[String]) {
    for _ in 0..2 + random.below(8) {
        let mut line = vec![
            "debugobsolete".to_owned(),
            "-d".to_owned(),
            "0 0".to_owned(),
        ];
        line.push(any(random, nodes));
        for _ in 0..random.below(3) {
            line.push(any(random, nodes));
        }
        if line.len() == 4 && nodes.contains(&line[3]) && random.below(2) == 0 {
            line.push("--record-parents".to_owned());
        }
        let words: Vec<&str> = line.iter().map(String::as_str).collect();
        // A changeset that replaces itself is refused, by both alike.
        twin.same(&words);
    }
}

#[test]
fn any_markers_go_with_any_changesets() {
    for seed in seeds(6) {
        let mut random = Random(seed);
        let twin = Twin::writing(|hg, path| fan(hg, path, 5));
        let nodes = hg().ok(twin.theirs(), &["log", "-r", "1:", "-T", "{node}\n"]);
        let nodes: Vec<String> = nodes.lines().map(str::to_owned).collect();
        random_markers(&mut random, &twin, &nodes);
        for _ in 0..2 {
            let chosen = any(&mut random, &nodes);
            println!("seed {seed} {chosen}");
            // Mercurial counts instabilities of changesets that were never here, ours does not: no words are compared.
            let stripped = twin.run(&["strip", "--hidden", &chosen]);
            assert_eq!(stripped.ours.code, stripped.theirs.code);
            twin.all_same(&["debugobsolete", "log --hidden -T {node}:{obsolete}"]);
        }
    }
}

#[test]
fn markers_that_cannot_be_are_refused_alike() {
    let twin = Twin::writing(|hg, path| fan(hg, path, 1));
    let (a, null) = ("a".repeat(40), "0".repeat(40));
    twin.all_same(&[
        &format!("debugobsolete {a} {a}"),
        &format!("debugobsolete {a} {null} {a}"),
        &format!("debugobsolete {a} {a} --config experimental.evolution="),
        &format!("debugobsolete {null} {a}"),
        &format!("debugobsolete {a} {null}"),
        "debugobsolete",
    ]);
}
