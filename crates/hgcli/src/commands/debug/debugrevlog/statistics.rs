//! Counting.

use crate::commands::debug::revlogs;
use crate::ui::Abort;
use std::collections::BTreeMap;
use varve_repo::{Rev, Revlog};

/// How many there are of something, and their sizes in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SizeStats {
    pub(super) count: u64,
    pub(super) total: u64,
    least: u64,
    pub(super) most: u64,
}

impl SizeStats {
    pub(super) fn add(&mut self, size: u64) {
        self.least = if self.count == 0 {
            size
        } else {
            self.least.min(size)
        };
        self.most = self.most.max(size);
        self.count += 1;
        self.total += size;
    }

    /// [`SizeStats::range`] of several together.
    pub(super) fn range_of(all: &[SizeStats]) -> String {
        let filled = || all.iter().filter(|stats| stats.count > 0);
        let all = SizeStats {
            count: filled().map(|stats| stats.count).sum(),
            total: filled().map(|stats| stats.total).sum(),
            least: filled().map(|stats| stats.least).min().unwrap_or(0),
            most: filled().map(|stats| stats.most).max().unwrap_or(0),
        };
        all.range()
    }

    /// `least / most / average`.
    pub(super) fn range(&self) -> String {
        let average = self.total.checked_div(self.count).unwrap_or(0);
        format!("{} / {} / {average}", self.least, self.most)
    }
}

/// Numbers of the report.
#[derive(Debug, Default)]
pub(super) struct Statistics {
    pub(super) revisions: u64,
    pub(super) merges: u64,
    pub(super) empty_texts: u64,
    pub(super) empty_deltas: u64,
    /// By depth; the first are full texts.
    pub(super) snapshots: Vec<SizeStats>,
    pub(super) deltas: SizeStats,
    /// By the first byte; `None` for empty ones.
    pub(super) chunks: BTreeMap<Option<u8>, SizeStats>,
    pub(super) raw: SizeStats,
    pub(super) stored: u64,
    pub(super) chain_lengths: SizeStats,
    pub(super) longest_span: u64,
    pub(super) against: Against,
}

/// Number of ordinary deltas by their base.
#[derive(Debug, Default)]
pub(super) struct Against {
    /// The revision before, whatever else that is.
    pub(super) previous: u64,
    pub(super) previous_p1: u64,
    pub(super) previous_p2: u64,
    pub(super) previous_ancestor: u64,
    pub(super) previous_unrelated: u64,
    pub(super) p1: u64,
    pub(super) p2: u64,
    pub(super) ancestor: u64,
    pub(super) other: u64,
}

impl Statistics {
    /// Looks at every entry, and at the first byte of every chunk.
    pub(super) fn of(revlog: &Revlog, sparse: bool) -> Result<Statistics, Abort> {
        let depths = revlogs::snapshot_depths(revlog, sparse);
        let mut all = Statistics::default();
        let mut reader = revlog.reader();
        // Length of each revision's chain, and where that begins.
        let mut chains: Vec<(u64, u64)> = Vec::with_capacity(revlog.len());
        for rev in revlog.revs() {
            let entry = revlog.entry(rev);
            let size = u64::from(entry.stored_len);
            let base = revlog.delta_parent(rev);
            all.revisions += 1;
            all.merges += u64::from(entry.p2.is_some());
            all.stored += size;
            all.raw.add(u64::from(entry.raw_len.unwrap_or(0)));
            let chain = match base {
                None => (0, entry.offset),
                Some(base) => (chains[base.index()].0 + 1, chains[base.index()].1),
            };
            chains.push(chain);
            all.chain_lengths.add(chain.0);
            all.longest_span = all.longest_span.max(entry.end().saturating_sub(chain.1));
            let first = reader.stored_chunk(rev)?.first().copied();
            all.chunks.entry(first).or_default().add(size);
            match (depths[rev.index()], base) {
                (_, None) if size == 0 => all.empty_texts += 1,
                (_, Some(_)) if size == 0 => all.empty_deltas += 1,
                (Some(depth), _) => {
                    let depth = depth as usize;
                    if all.snapshots.len() <= depth {
                        all.snapshots.resize(depth + 1, SizeStats::default());
                    }
                    all.snapshots[depth].add(size);
                }
                (None, Some(base)) => {
                    all.deltas.add(size);
                    all.against.add(revlog, rev, base);
                }
                (None, None) => {}
            }
        }
        Ok(all)
    }
}

impl Against {
    fn add(&mut self, revlog: &Revlog, rev: Rev, base: Rev) {
        let [p1, p2] = revlog.parents(rev);
        let is = |parent: Option<Rev>| parent == Some(base);
        if base.0 + 1 == rev.0 {
            self.previous += 1;
            if is(p1) {
                self.previous_p1 += 1;
            } else if is(p2) {
                self.previous_p2 += 1;
            } else if is_ancestor(revlog, base, rev) {
                self.previous_ancestor += 1;
            } else {
                self.previous_unrelated += 1;
            }
        } else if is(p1) {
            self.p1 += 1;
        } else if is(p2) {
            self.p2 += 1;
        } else if is_ancestor(revlog, base, rev) {
            self.ancestor += 1;
        } else {
            self.other += 1;
        }
    }
}

/// Whether `rev` builds on `old`.
fn is_ancestor(revlog: &Revlog, old: Rev, rev: Rev) -> bool {
    let mut reached = vec![false; rev.index() - old.index() + 1];
    let mark = |reached: &mut [bool], rev: Rev| {
        for parent in revlog.parents(rev).into_iter().flatten() {
            if parent >= old {
                reached[parent.index() - old.index()] = true;
            }
        }
    };
    mark(&mut reached, rev);
    for index in (old.index() + 1..rev.index()).rev() {
        if reached[index - old.index()] {
            mark(&mut reached, Rev(index as u32));
        }
    }
    reached[0]
}
