//! Changes as chance has them, shelved and unshelved over other changes and changesets.

use super::{DATES, Deltas, same_as};
use crate::hgcli::Twin;
use crate::hgcli::merging::random::Random;
use crate::hgcli::random_history::{one, seeds};
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::write;

const FILES: &[&str] = &["a", "b", "d/a", "d/b"];
const NEW: &[&str] = &["n", "m", "d/n", "e/a"];
const LINES: &[&str] = &["p\n", "q\n", "r\n", "s\n"];

/// The same change for both copies.
fn change(random: &mut Random, twin: &Twin) {
    let tracked = hg().ok(twin.theirs(), &["files"]);
    let tracked: Vec<&str> = tracked.lines().collect();
    if tracked.is_empty() {
        return;
    }
    let (file, new) = (one(random, &tracked), one(random, NEW));
    let (kind, line) = (random.below(10), one(random, LINES));
    let place = random.below(100);
    twin.each(|path| match kind {
        0..6 => {
            let text = std::fs::read_to_string(path.join(file)).unwrap_or_default();
            let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
            let place = place % (lines.len() + 1);
            lines.splice(place..place, [line]);
            write(path, file, lines.concat().as_bytes());
        }
        6 => drop(hg().run(path, &["remove", "-f", file])),
        7 => drop(hg().run(path, &["copy", file, new])),
        8 => drop(hg().run(path, &["rename", file, new])),
        _ => {
            write(path, new, line.as_bytes());
            hg().run(path, &["add", "-q", new]);
        }
    });
}

fn fill(random: &mut Random, hg: &Hg, path: &Path) {
    hg.ok(path, &["init"]);
    write(path, ".hg/hgrc", DATES.as_bytes());
    for file in FILES {
        let lines = (0..8).map(|_| one(random, LINES));
        write(path, file, lines.collect::<String>().as_bytes());
    }
    hg.ok(path, &["commit", "-q", "-A", "-d", "0 0", "-m", "0"]);
}

fn shelves_the_same(seed: u64) {
    let random = &mut Random(seed);
    let twin = Twin::writing_with(|hg, path| fill(random, hg, path));
    let mut number = 0;
    for _ in 0..6 {
        for _ in 0..1 + random.below(2) {
            change(random, &twin);
        }
        let line: Vec<&str> = match random.below(6) {
            0 => {
                number += 1;
                twin.each(|path| {
                    let number = number.to_string();
                    hg().run(path, &["commit", "-q", "-d", "0 0", "-m", &number]);
                });
                continue;
            }
            1 => vec!["shelve", "-q"],
            2 => vec!["shelve", "-q", "-I", "d/**"],
            3 => vec!["shelve", "-q", "-u", "-k"],
            _ => vec![
                "unshelve",
                "-t",
                one(random, &[":local", ":other", ":union"]),
            ],
        };
        // Shown if the test fails.
        println!("seed {seed}: {line:?}");
        let both = twin.run(&line);
        if !both.theirs.stderr.contains("possible conflict") {
            both.same(&line);
        }
        // Which parents are merged is chosen by the same rules; files kept aside differ only by when.
        // Whether a revision is sent as a delta depends on what the store had before.
        same_as(&twin, Deltas::Passed);
    }
}

#[test]
fn shelves_are_the_same_in_both_programs() {
    for seed in seeds(6) {
        shelves_the_same(seed);
    }
}
