//! Which of the undecided changesets the other side is asked about next.

use super::discovery::{Knowledge, Search};
use std::collections::{BTreeSet, VecDeque};
use varve_revlog::Rev;

/// How samples are taken: Mercurial's settings `devel.discovery.*`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplingSettings {
    /// The first question is about all own heads.
    pub exchange_heads: bool,
    /// Changesets in the first sample while none is known to be there.
    pub initial_size: usize,
    /// Changesets in any other sample, before samples grow.
    pub size: usize,
    /// Factor by which each sample is larger than the one before; 1 without growth.
    pub growth: f64,
    /// Samples have room for all heads, or all roots, of the undecided changesets.
    pub dynamic: bool,
    /// A sample is taken at even distances from what is too much for it; else it is the oldest part.
    pub is_spread: bool,
}

impl Default for SamplingSettings {
    fn default() -> SamplingSettings {
        SamplingSettings {
            exchange_heads: true,
            initial_size: 100,
            size: 200,
            growth: 1.05,
            dynamic: true,
            is_spread: true,
        }
    }
}

impl SamplingSettings {
    /// The same for a connection over which only short questions can be sent.
    pub(super) fn limited(self) -> SamplingSettings {
        SamplingSettings {
            growth: 1.0,
            dynamic: false,
            ..self
        }
    }

    /// The size of the next sample.
    pub(super) fn grow(&mut self) {
        self.size = (self.size as f64 * self.growth) as usize;
    }

    /// At most so many of changesets in ascending order.
    pub(super) fn thin_out(&self, mut revs: Vec<Rev>, most: usize) -> Vec<Rev> {
        if revs.len() > most && self.is_spread {
            let parts = (0..most).map(|part| revs[part * revs.len() / most]);
            return parts.collect();
        }
        revs.truncate(most);
        revs
    }
}

impl Search<'_> {
    /// A small sample near the heads: those of the undecided changesets, and the changesets at doubling distances
    /// from the own heads.
    pub(super) fn quick_sample(&self, own_heads: &[Rev], settings: &SamplingSettings) -> Vec<Rev> {
        let size = settings.initial_size.max(1);
        let undecided: Vec<Rev> = self.revs_in(Knowledge::Undecided).collect();
        if undecided.len() <= size {
            return undecided;
        }
        let heads: BTreeSet<Rev> = self.heads_in(Knowledge::Undecided).into_iter().collect();
        if heads.len() >= size {
            return settings.thin_out(heads.into_iter().collect(), size);
        }
        let mut sample = heads;
        let mut is_seen = vec![false; self.changelog.len()];
        let mut queue: VecDeque<(Rev, u32)> = own_heads.iter().map(|head| (*head, 1)).collect();
        while let Some((rev, distance)) = queue.pop_front() {
            if std::mem::replace(&mut is_seen[rev.index()], true) {
                continue;
            }
            if distance.is_power_of_two() {
                sample.insert(rev);
            }
            if sample.len() >= size {
                break;
            }
            queue.extend(self.parents(rev).map(|parent| (parent, distance + 1)));
        }
        sample.into_iter().collect()
    }

    /// A sample where the border may be: heads and roots of the undecided changesets, and changesets at doubling
    /// distances from them, along each line of descent; filled up with others.
    pub(super) fn full_sample(&self, settings: &SamplingSettings) -> Vec<Rev> {
        let size = settings.size.max(1);
        let undecided: Vec<Rev> = self.revs_in(Knowledge::Undecided).collect();
        if undecided.len() <= size {
            return undecided;
        }
        let distances = self.distances(&undecided);
        let size = match settings.dynamic {
            true => {
                let ends = |all: &Vec<u32>| all.iter().filter(|distance| **distance == 1).count();
                let [heads, roots] = [ends(&distances[0]), ends(&distances[1])];
                size.max(heads.min(roots))
            }
            false => size,
        };
        let is_far = |rev: &Rev| {
            let mut distances = distances.iter().map(|all| all[rev.index()]);
            distances.any(u32::is_power_of_two)
        };
        let (candidates, rest) = undecided.into_iter().partition(is_far);
        let mut sample = settings.thin_out(candidates, size);
        sample.extend(settings.thin_out(rest, size - sample.len()));
        sample.sort_unstable();
        sample
    }

    /// How far each undecided changeset is from the next head, and from the next root, of all that
    /// are undecided; those themselves have 1, and all others 0.
    fn distances(&self, undecided: &[Rev]) -> [Vec<u32>; 2] {
        let is_undecided = |rev: &Rev| self.states[rev.index()] == Knowledge::Undecided;
        let [mut from_heads, mut from_roots] = [(); 2].map(|()| vec![0; self.states.len()]);
        for rev in undecided.iter().rev() {
            let own = from_heads[rev.index()].max(1);
            from_heads[rev.index()] = own;
            for parent in self.parents(*rev).filter(is_undecided) {
                let distance = &mut from_heads[parent.index()];
                *distance = match *distance {
                    0 => own + 1,
                    known => known.min(own + 1),
                };
            }
        }
        for rev in undecided {
            let parents = self.parents(*rev).filter(is_undecided);
            let nearest = parents.map(|parent| from_roots[parent.index()]).min();
            from_roots[rev.index()] = nearest.unwrap_or(0) + 1;
        }
        [from_heads, from_roots]
    }
}
