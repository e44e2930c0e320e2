//! Rebases and other rewriting in histories as chance has them.

use super::{EXTENSION, MARKERS, same_rewrite};
use crate::hgcli::Twin;
use crate::hgcli::merging::random::Random;
use crate::hgcli::random_history::{change, fill, one, seeds};
use varve_testkit::repos::write;

/// Changesets of a history.
const CHANGESETS: usize = 9;
/// Tools that leave nothing to settle.
const TOOLS: &[&str] = &[":local", ":other", ":merge", ":union"];

fn history(random: &mut Random, merges: bool) -> Twin {
    let settings = one(random, &[MARKERS, ""]);
    let twin = Twin::writing_with(|hg, path| fill(random, hg, path, CHANGESETS, merges));
    let hgrc = [EXTENSION, settings].concat();
    twin.each(|path| write(path, ".hg/hgrc", hgrc.as_bytes()));
    twin
}

fn rebase(random: &mut Random) -> Vec<String> {
    let [from, other, to] = [(); 3].map(|()| random.below(CHANGESETS).to_string());
    let mut line = match random.below(5) {
        0 => vec!["rebase", "-s", &from, "-d", &to],
        1 => vec!["rebase", "-b", &from, "-d", &to],
        2 => vec!["rebase", "-s", &from, "-s", &other, "-d", &to, "--keep"],
        3 => vec!["rebase", "-r", &from, "-r", &other, "-d", &to, "--keep"],
        _ => vec!["rebase", "-r", &from, "-r", &other, "-d", &to],
    };
    if random.below(3) == 0 {
        line.extend(["--collapse", "-m", "all in one"]);
    }
    // Without a tool named, changesets may be rebased in memory.
    if random.below(2) == 0 {
        line.extend(["-t", one(random, TOOLS)]);
    }
    line.into_iter().map(str::to_owned).collect()
}

fn same(twin: &Twin, seed: u64, line: &[String]) {
    // Shown if the test fails.
    println!("seed {seed}: {line:?}");
    let line: Vec<&str> = line.iter().map(String::as_str).collect();
    twin.same(&line);
    same_rewrite(twin);
}

fn rebases_the_same(seed: u64) {
    let random = &mut Random(seed);
    let merges = random.below(2) == 0;
    let twin = history(random, merges);
    for _ in 0..2 {
        let line = rebase(random);
        same(&twin, seed, &line);
        twin.same(&["rebase", "--abort"]);
        same_rewrite(&twin);
    }
}

#[test]
fn rebases_end_with_the_same_hashes() {
    for seed in seeds(6) {
        rebases_the_same(seed);
    }
}

/// Takes files out of changesets, amends, and takes that back.
fn rewrites_the_same(seed: u64) {
    let random = &mut Random(seed);
    let twin = history(random, false);
    let words = |line: &[&str]| {
        line.iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    for _ in 0..3 {
        let to = random.below(CHANGESETS).to_string();
        same(&twin, seed, &words(&["update", "-q", "-C", &to]));
        for _ in 0..random.below(3) {
            let start = random.0;
            twin.each(|path| change(&mut Random(start), path));
            random.below(1);
        }
        let file = one(random, &["a", "b", "d", "e/a", "n"]);
        let line = match random.below(6) {
            0 => words(&["uncommit", "--allow-dirty-working-copy"]),
            1 => words(&["uncommit", "--allow-dirty-working-copy", "--keep"]),
            2 => words(&["uncommit", "--allow-dirty-working-copy", file]),
            3 => words(&["uncommit", file]),
            _ => words(&["amend", "-m", "amended"]),
        };
        same(&twin, seed, &line);
        same(&twin, seed, &words(&["unamend"]));
    }
}

#[test]
fn uncommitted_and_amended_changesets_have_the_same_hashes() {
    for seed in seeds(4) {
        rewrites_the_same(seed);
    }
}
