//! Grafts and backouts in histories as chance has them.

use super::same_merge;
use crate::hgcli::Twin;
use crate::hgcli::merging::random::Random;
use crate::hgcli::random_history::{fill, one, seeds};
use varve_testkit::peers::hg;

/// Changesets of a history.
const CHANGESETS: usize = 7;

fn grafts_the_same(seed: u64) {
    let random = &mut Random(seed);
    let twin = Twin::writing_with(|hg, path| fill(random, hg, path, CHANGESETS, false));
    let tool = one(random, &[":local", ":other", ":merge", ":union"]);
    for _ in 0..4 {
        let [from, to] = [(); 2].map(|()| random.below(CHANGESETS).to_string());
        let base = random.below(CHANGESETS).to_string();
        let line = match random.below(6) {
            0 => vec!["backout", &from, "-m", "backout", "-t", tool],
            1 => vec!["graft", &from, "--base", &base, "-t", tool],
            2 => vec!["graft", "-f", &from, "-t", tool],
            _ => vec!["graft", &from, &base, "-t", tool],
        };
        // Shown if the test fails.
        println!("seed {seed}: {line:?} onto {to}");
        twin.same(&["update", "-q", "-C", &to]);
        twin.each(|path| drop(hg().run(path, &["--config", "extensions.purge=", "purge"])));
        let both = twin.run(&line);
        // Mercurial falls over directories that were renamed to the root: it looks for "/NAME".
        if both.theirs.stderr.contains("illegal component: /") {
            return;
        }
        both.same(&line);
        same_merge(&twin);
    }
}

#[test]
fn grafts_end_with_the_same_hashes() {
    for seed in seeds(6) {
        grafts_the_same(seed);
    }
}
