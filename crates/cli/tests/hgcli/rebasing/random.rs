//! Rebases in histories as chance has them.

use super::{EXTENSION, MARKERS, same_rewrite};
use crate::hgcli::Twin;
use crate::hgcli::merging::random::Random;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::write;

const FILES: &[&str] = &["a", "b", "d/a", "d/b"];
const NEW: &[&str] = &["n", "m", "d/n", "e/a", "e/b"];
const LINES: &[&str] = &["p\n", "q\n", "r\n", "s\n"];
/// Changesets of a history.
const CHANGESETS: usize = 9;

fn one<'t>(random: &mut Random, of: &[&'t str]) -> &'t str {
    of[random.below(of.len())]
}

fn change(random: &mut Random, path: &Path) {
    let tracked = hg().ok(path, &["files"]);
    let tracked: Vec<&str> = tracked.lines().collect();
    let (file, new) = (one(random, &tracked), one(random, NEW));
    match random.below(10) {
        0..7 => {
            let text = std::fs::read_to_string(path.join(file)).unwrap();
            let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
            let place = random.below(lines.len() + 1);
            let gone = random.below(2).min(lines.len() - place);
            lines.splice(place..place + gone, [one(random, LINES)]);
            std::fs::write(path.join(file), lines.concat()).unwrap();
        }
        7 if tracked.len() > 2 => drop(hg().run(path, &["remove", "-f", file])),
        8 => drop(hg().run(path, &["copy", file, new])),
        _ => drop(hg().run(path, &["rename", file, new])),
    }
}

fn fill(random: &mut Random, hg: &Hg, path: &Path, settings: &str) {
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", [EXTENSION, settings].concat().as_bytes());
    for file in FILES {
        let lines = (0..6 + random.below(4)).map(|_| one(random, LINES));
        write(path, file, lines.collect::<String>().as_bytes());
    }
    hg.ok(path, &["commit", "-q", "-A", "-d", "0 0", "-m", "0"]);
    for number in 1..CHANGESETS {
        if random.below(3) == 0 {
            hg.ok(path, &["update", "-q", &random.below(number).to_string()]);
        }
        for _ in 0..1 + random.below(2) {
            change(random, path);
        }
        let number = number.to_string();
        let made = hg.run(path, &["commit", "-q", "-d", "0 0", "-m", &number]);
        if made.code != Some(0) {
            write(path, &format!("only in {number}"), b"\n");
            hg.ok(path, &["commit", "-q", "-A", "-d", "0 0", "-m", &number]);
        }
    }
}

fn rebases_the_same(seed: u64) {
    let random = &mut Random(seed);
    let settings = one(random, &[MARKERS, ""]);
    let twin = Twin::writing(|hg, path| fill(random, hg, path, settings));
    for _ in 0..2 {
        let [from, other, to] = [(); 3].map(|()| random.below(CHANGESETS).to_string());
        let line = match random.below(4) {
            0 => vec!["rebase", "-s", &from, "-d", &to],
            1 => vec!["rebase", "-b", &from, "-d", &to],
            2 => vec!["rebase", "-s", &from, "-s", &other, "-d", &to, "--keep"],
            _ => vec!["rebase", "-r", &from, "-r", &other, "-d", &to],
        };
        let tool = one(random, &[":local", ":other", ":merge", ":union"]);
        // Without a tool named, changesets may be rebased in memory.
        let tool = match random.below(2) {
            0 => vec![],
            _ => vec!["-t", tool],
        };
        let line = [line, tool].concat();
        // Shown if the test fails.
        println!("seed {seed}: {line:?}");
        twin.same(&line);
        same_rewrite(&twin);
        twin.same(&["rebase", "--abort"]);
        same_rewrite(&twin);
    }
}

#[test]
fn rebases_end_with_the_same_hashes() {
    for seed in 0..16 {
        rebases_the_same(seed);
    }
}
