//! Moving changesets to another phase.

use crate::journal::Place;
use crate::transaction::Transaction;
use crate::{Phase, Phases, Revlog};
use varve_revlog::Rev;

/// What [`Phases::moved`] has found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PhaseMove {
    /// Phases of all changesets before.
    before: Vec<Phase>,
    /// Phases of all changesets afterwards.
    phases: Vec<Phase>,
    /// How many changesets changed.
    pub changed: usize,
    /// How many of those that were asked for are still below the phase, because only force raises.
    pub rejected: usize,
}

impl Phases {
    /// Moves changesets down to `target`, together with all that they follow; with `raise` also
    /// up, together with all that follows them.
    pub fn moved(&self, changelog: &Revlog, revs: &[Rev], target: Phase, raise: bool) -> PhaseMove {
        let before: Vec<Phase> = changelog.revs().map(|rev| self.of(rev)).collect();
        let mut phases = before.clone();
        let parents = |rev: usize| {
            let parents = changelog.parents(Rev(rev as u32));
            parents.into_iter().flatten().map(Rev::index)
        };
        let mut below = vec![false; phases.len()];
        revs.iter().for_each(|rev| below[rev.index()] = true);
        let mut above = below.clone();
        for rev in (0..phases.len()).rev().filter(|_| !revs.is_empty()) {
            if below[rev] {
                phases[rev] = phases[rev].min(target);
                parents(rev).for_each(|parent| below[parent] = true);
            }
        }
        for rev in (0..phases.len()).filter(|_| raise) {
            above[rev] |= parents(rev).any(|parent| above[parent]);
            if above[rev] {
                phases[rev] = phases[rev].max(target);
            }
        }
        let changed = before.iter().zip(&phases).filter(|(old, new)| old != new);
        let rejected = revs.iter().filter(|rev| phases[rev.index()] < target);
        PhaseMove {
            changed: changed.count(),
            rejected: rejected.count(),
            before,
            phases,
        }
    }
}

impl Transaction {
    /// Replaces the phases of all changesets.
    pub fn set_phases(&mut self, changelog: &Revlog, moved: &PhaseMove) {
        let mut text = String::new();
        for (rev, phase) in changelog.revs().zip(&moved.phases) {
            let parents = changelog.parents(rev).into_iter().flatten();
            let inherited = parents.map(|parent| moved.phases[parent.index()]).max();
            if *phase > inherited.unwrap_or_default() {
                text.push_str(&format!("{} {}\n", phase.number(), changelog.node(rev)));
            }
        }
        self.replace(Place::Store, b"phaseroots", text.into_bytes());
        if let Some(moments) = &mut self.moments {
            moments.phases_move();
        }
        let changes = moved.before.iter().zip(&moved.phases);
        for (rev, (before, after)) in changelog.revs().zip(changes) {
            if let (true, Some(moments)) = (before != after, &mut self.moments) {
                moments.phase(&changelog.node(rev), Some(*before), *after);
            }
        }
    }
}
