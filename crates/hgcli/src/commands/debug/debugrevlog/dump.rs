//! One line per revision.

use std::collections::BTreeSet;
use std::fmt::Write;
use varve_repo::{Rev, Revlog};

/// All lines below their titles.
pub(super) fn text(revlog: &Revlog) -> String {
    let mut out = "# rev p1rev p2rev start   end deltastart base   p1   p2 rawsize totalsize \
                   compression heads chainlen\n"
        .to_owned();
    let mut heads: BTreeSet<Rev> = BTreeSet::new();
    let mut total = 0_u64;
    let start = |rev: Option<Rev>| rev.map_or(0, |rev| revlog.entry(rev).offset);
    // First revision and length of each chain.
    let mut chains: Vec<(Rev, u32)> = Vec::with_capacity(revlog.len());
    for rev in revlog.revs() {
        let entry = revlog.entry(rev);
        let base = revlog.delta_parent(rev);
        let chain = match base {
            None => (rev, 0),
            Some(base) => (chains[base.index()].0, chains[base.index()].1 + 1),
        };
        chains.push(chain);
        let raw = entry.raw_len.unwrap_or(0);
        total += u64::from(raw);
        for parent in [entry.p1, entry.p2].into_iter().flatten() {
            heads.remove(&parent);
        }
        heads.insert(rev);
        let number = |rev: Option<Rev>| rev.map_or(-1, |rev| i64::from(rev.0));
        let ratio = total.checked_div(entry.end()).unwrap_or(0);
        // Writing to memory does not fail.
        let _ = writeln!(
            out,
            "{:5} {:5} {:5} {:5} {:5} {:10} {:4} {:4} {:4} {raw:7} {total:9} {ratio:11} {:5} {:8}",
            rev.0,
            number(entry.p1),
            number(entry.p2),
            entry.offset,
            entry.end(),
            start(base.or(Some(rev))),
            start(Some(chain.0)),
            start(entry.p1),
            start(entry.p2),
            heads.len(),
            chain.1,
        );
    }
    out
}
