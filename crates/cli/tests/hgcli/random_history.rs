//! Histories as chance has them, for tests of commands that rewrite history.

use super::merging::random::Random;
use std::ops::Range;
use std::path::Path;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::repos::write;

/// Changes how many histories each test tries.
const COUNT: &str = "VARVE_HISTORIES";
/// Number of the first of them.
const FIRST: &str = "VARVE_FIRST_HISTORY";

const FILES: &[&str] = &["a", "b", "d/a", "d/b"];
const NEW: &[&str] = &["n", "m", "d/n", "e/a", "e/b"];
const LINES: &[&str] = &["p\n", "q\n", "r\n", "s\n"];

/// The histories that a test tries: `usual` of them, which is few, as all commands run in two programs, unless the
/// environment says how many.
pub(crate) fn seeds(usual: u64) -> Range<u64> {
    let number = |name| std::env::var(name).ok()?.parse().ok();
    let first = number(FIRST).unwrap_or(0);
    first..first + number(COUNT).unwrap_or(usual)
}

pub(crate) fn one<'t>(random: &mut Random, of: &[&'t str]) -> &'t str {
    of[random.below(of.len())]
}

/// Changes, adds, copies, renames or removes a file.
pub(crate) fn change(random: &mut Random, path: &Path) {
    let tracked = hg().ok(path, &["files"]);
    let tracked: Vec<&str> = tracked.lines().collect();
    let (file, new) = (one(random, &tracked), one(random, NEW));
    match random.below(10) {
        0..6 => {
            let text = std::fs::read_to_string(path.join(file)).unwrap();
            let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
            let place = random.below(lines.len() + 1);
            let gone = random.below(2).min(lines.len() - place);
            lines.splice(place..place + gone, [one(random, LINES)]);
            std::fs::write(path.join(file), lines.concat()).unwrap();
        }
        6 if tracked.len() > 2 => drop(hg().run(path, &["remove", "-f", file])),
        7 => drop(hg().run(path, &["copy", file, new])),
        8 if path.join(new).symlink_metadata().is_err() => {
            write(path, new, format!("new {new}\n").as_bytes());
            hg().run(path, &["add", new]);
        }
        _ => drop(hg().run(path, &["rename", file, new])),
    }
}

/// So many changesets on several lines of development; `merges` allows merges among them.
pub(crate) fn fill(random: &mut Random, hg: &Hg, path: &Path, count: usize, merges: bool) {
    hg.ok(path, &["init"]);
    for file in FILES {
        let lines = (0..6 + random.below(4)).map(|_| one(random, LINES));
        write(path, file, lines.collect::<String>().as_bytes());
    }
    hg.ok(path, &["commit", "-q", "-A", "-d", "0 0", "-m", "0"]);
    for number in 1..count {
        if random.below(3) == 0 {
            hg.ok(path, &["update", "-q", &random.below(number).to_string()]);
        }
        if merges && random.below(4) == 0 {
            let other = random.below(number).to_string();
            hg.run(path, &["merge", "-q", "-t", ":other", &other]);
            hg.run(path, &["resolve", "-q", "-a", "-t", ":local"]);
        } else {
            for _ in 0..1 + random.below(2) {
                change(random, path);
            }
        }
        let number = number.to_string();
        let made = hg.run(path, &["commit", "-q", "-d", "0 0", "-m", &number]);
        if made.code != Some(0) {
            write(path, &format!("only in {number}"), b"\n");
            hg.ok(path, &["commit", "-q", "-A", "-d", "0 0", "-m", &number]);
        }
    }
}
