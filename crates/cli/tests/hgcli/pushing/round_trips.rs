//! How often both programs ask the same server, for histories that have grown apart in many ways:
//! the program under test asks no more often.

use super::Pair;
use std::fmt::Write;
use std::path::Path;
use tempfile::TempDir;
use varve_testkit::peers::{Hg, hg};
use varve_testkit::scratch;

/// Two repositories with parts of one history, and the log of requests.
struct Apart {
    pair: Pair,
    log: tempfile::NamedTempFile,
}

/// A history of which sides take parts.
struct Whole(TempDir);

impl Whole {
    /// `dag` is in the language of `debugbuilddag`.
    fn new(dag: &str) -> Whole {
        let directory = tempfile::tempdir_in(scratch()).unwrap();
        hg().ok(directory.path(), &["init"]);
        hg().ok(directory.path(), &["debugbuilddag", dag]);
        Whole(directory)
    }
}

impl Apart {
    /// `here` and `there` are sets of changesets, of which each side gets the ancestors as well.
    fn new(whole: &Whole, here: &str, there: &str) -> Apart {
        let log = tempfile::NamedTempFile::new().unwrap();
        let options = ["-A", log.path().to_str().unwrap()];
        let mut pair = Pair::of(&options, |hg, root, origin| {
            take(hg, whole.0.path(), here, root);
            take(hg, whole.0.path(), there, origin);
        });
        // Otherwise stock hg asks about other changesets each time, and may be lucky.
        pair.usual = "[devel]\ndiscovery.randomize = no\n".to_owned();
        pair.each_clone(|root| pair.configure(root, ""));
        Apart { pair, log }
    }

    /// Requests so far, to the repository of stock hg and to the other one.
    fn requests(&self) -> [usize; 2] {
        let log = std::fs::read_to_string(self.log.path()).unwrap();
        ["a", "b"].map(|side| log.matches(&format!("/{side}/origin?cmd=")).count())
    }

    /// Runs a line of both programs, which say the same.
    #[track_caller]
    fn compare(&self, line: &str) {
        let before = self.requests();
        let words: Vec<&str> = line.split(' ').collect();
        self.pair.run(&words).same(&words);
        let after = self.requests();
        let [theirs, ours] = [0, 1].map(|side| after[side] - before[side]);
        assert!(theirs > 0 && ours > 0, "{line}: the log has nothing");
        assert!(
            ours <= theirs,
            "{line}: {ours} requests instead of {theirs}"
        );
    }

    /// All commands with a discovery, before and after both sides are equal.
    #[track_caller]
    fn compare_all(&self) {
        for line in [
            "incoming -q -T {node}\\n -f",
            "outgoing -q -T {node}\\n -f",
            "push -q -f",
            "pull -q -f",
            "pull -q",
            "push -q",
        ] {
            self.compare(line);
        }
        self.pair.same_state();
    }
}

/// Makes a repository of some changesets of another.
fn take(hg: &Hg, whole: &Path, revs: &str, to: &Path) {
    hg.ok(to, &["init"]);
    if revs != "none()" {
        let line = [
            "bundle", "-q", "--base", "null", "-t", "none-v2", "part.hg", "-r",
        ];
        hg.ok(whole, &[&line[..], &[revs]].concat());
        let bundle = whole.join("part.hg");
        hg.ok(to, &["unbundle", "-q", bundle.to_str().unwrap()]);
    }
}

#[test]
fn one_side_is_ahead() {
    let whole = Whole::new("+600");
    for behind in ["0:598", "0:99", "0", "none()"] {
        Apart::new(&whole, "all()", behind).compare_all();
        Apart::new(&whole, behind, "all()").compare_all();
    }
}

#[test]
fn both_sides_have_something_of_their_own() {
    // Two lines that part from one, of so many changesets.
    for (common, here, there) in [(50, 1, 1), (50, 30, 700), (300, 400, 400), (700, 250, 3)] {
        let whole = Whole::new(&format!("+{common} :base +{here} <base +{there}"));
        let split = common + here;
        let (here, there) = (
            format!("0:{}", split - 1),
            format!("all() - {common}:{}", split - 1),
        );
        Apart::new(&whole, &here, &there).compare_all();
    }
}

#[test]
fn there_are_many_heads() {
    // So many branches of three changesets, on one line.
    let mut whole = "+100 :base".to_owned();
    for _ in 0..240 {
        whole += " <base +3";
    }
    let whole = Whole::new(&whole);
    let first = |count: usize| 100 + 3 * count;
    let below = |count: usize| format!("0:{}", first(count) - 1);
    let behind = |count: usize| format!("0:99 + {}:{}", first(count), first(240) - 1);
    Apart::new(&whole, &below(160), &behind(80)).compare_all();
    Apart::new(&whole, &below(60), &behind(60)).compare_all();
    Apart::new(&whole, &below(240), &below(30)).compare_all();
    Apart::new(&whole, &below(30), &below(240)).compare_all();
    // Of each branch this side has two changesets, and the other one or all.
    let without = |from: usize, count: usize| {
        let mut set = "all()".to_owned();
        for branch in from..from + count {
            write!(set, " - {}", first(branch) + 2).unwrap();
        }
        set
    };
    Apart::new(&whole, &without(0, 160), &without(80, 160)).compare_all();
}

#[test]
fn nothing_is_common() {
    let whole = Whole::new("+300 $ +200");
    Apart::new(&whole, "0:299", "300:499").compare_all();
    Apart::new(&whole, "0:299", "300").compare_all();
}

#[test]
fn branches_part_anywhere() {
    for seed in 1..=2 {
        let mut state = seed;
        let mut next = |below: u32| {
            state = u32::wrapping_mul(state, 1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) % below
        };
        let mut whole = "+20".to_owned();
        let mut count = 20;
        for _ in 0..120 {
            let (back, on) = (1 + next(19), 1 + next(8));
            write!(whole, " <{back} +{on}").unwrap();
            count += on;
        }
        let whole = Whole::new(&whole);
        let mut heads = || {
            let heads: Vec<_> = (0..40).map(|_| next(count).to_string()).collect();
            format!("::({})", heads.join(" + "))
        };
        Apart::new(&whole, &heads(), &heads()).compare_all();
    }
}
