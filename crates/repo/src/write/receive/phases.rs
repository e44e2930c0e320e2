//! The phases of received changesets, and phases that others report.

use super::Receiver;
use super::changesets::Changesets;
use crate::format::Phase;
use crate::format::journal::BaseDir;
use crate::write::commit::finish::PHASEROOTS;
use std::fmt::Write;
use varve_revlog::{Node, Rev};

impl Receiver {
    /// Moves changesets and all that they follow down to a phase; those that are not there are
    /// passed over.
    pub fn lower_phases(&mut self, phase: Phase, heads: &[Node]) {
        let known: Vec<Rev> = heads.iter().filter_map(|node| self.number(node)).collect();
        let Changesets { log, phases, .. } = self.changesets.handler();
        let mut below = vec![false; phases.len()];
        let known = known.into_iter();
        let Some(newest) = known
            .map(|rev| {
                below[rev.index()] = true;
                rev.index()
            })
            .max()
        else {
            return;
        };
        for rev in (0..=newest).rev() {
            // The ancestors of a changeset in this phase are not above it.
            if !below[rev] || phases[rev] <= phase {
                continue;
            }
            phases[rev] = phase;
            self.phases_lowered = true;
            self.phases_moved |= rev < self.view.changelog().len();
            let parents = log.parents(Rev(rev as u32));
            for parent in parents.into_iter().flatten() {
                below[parent.index()] = true;
            }
        }
    }

    /// Replaces the file of phases if it changes, and notes each change for hooks.
    pub(super) fn write_phases(&mut self) {
        let Changesets { log, phases, .. } = self.changesets.handler();
        let old = self.view.changelog().len();
        let before = |rev: usize| match rev < old {
            true => Some(self.view.phases().of(Rev(rev as u32))),
            false => None,
        };
        let mut roots = String::new();
        for (rev, phase) in phases.iter().enumerate() {
            let rev = Rev(rev as u32);
            let parents = log.parents(rev).into_iter().flatten();
            let above = parents.map(|parent| phases[parent.index()]).max();
            if *phase > above.unwrap_or_default() {
                let node = log.node_or_null(Some(rev));
                // A string takes everything.
                let _ = writeln!(roots, "{} {node}", phase.number());
            }
        }
        let moved = (0..phases.len()).any(|rev| {
            let phase = phases[rev];
            before(rev).unwrap_or_default() != phase
        });
        if let Some(hooks) = &mut self.transaction.hooks {
            for (rev, phase) in phases.iter().enumerate() {
                let was = before(rev);
                if was != Some(*phase) {
                    let node = log.node_or_null(Some(Rev(rev as u32)));
                    hooks.add_phase_change(&node, was, *phase);
                }
            }
            if moved || self.phases_lowered {
                hooks.set_phases_moved();
            }
        }
        if moved {
            let transaction = &mut self.transaction;
            transaction.replace(BaseDir::Store, PHASEROOTS, roots.into_bytes());
        }
        self.report.published = self.count_published();
    }

    /// How many changesets that were there before become public.
    pub(super) fn count_published(&mut self) -> usize {
        let phases = &self.changesets.handler().phases;
        let known = self.view.changelog().revs();
        let is_new = |rev: &Rev| {
            phases[rev.index()] == Phase::Public && self.view.phases().of(*rev) != Phase::Public
        };
        known.filter(is_new).count()
    }
}
