//! Moving changesets to another phase.

use crate::format::journal::BaseDir;
use crate::format::lock::Lock;
use crate::format::{Phase, Phases, RepoError};
use crate::read::{Repository, ViewFilter};
use crate::write::transaction::Transaction;
use std::collections::BTreeSet;
use varve_revlog::{Rev, Revlog};

/// Result of [`Phases::moved`].
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

impl Phases {
    /// Moves changesets down to a phase each, together with all that they follow.
    pub fn lowered(&self, changelog: &Revlog, targets: &[(Phase, &[Rev])]) -> PhaseMove {
        let before: Vec<Phase> = changelog.revs().map(|rev| self.of(rev)).collect();
        let mut phases = before.clone();
        for (target, revs) in targets {
            let mut below: BTreeSet<Rev> = revs.iter().copied().collect();
            while let Some(rev) = below.pop_last() {
                // The ancestors of a changeset in this phase are not above it.
                if phases[rev.index()] > *target {
                    phases[rev.index()] = *target;
                    below.extend(changelog.parents(rev).into_iter().flatten());
                }
            }
        }
        let changed = before.iter().zip(&phases).filter(|(old, new)| old != new);
        PhaseMove {
            changed: changed.count(),
            rejected: 0,
            before,
            phases,
        }
    }
}

impl Repository {
    /// Moves changesets to the phase `target` as [`Phases::moved`] does, in a transaction of its own under the
    /// store's lock. Nothing is written if no phase changes.
    ///
    /// # Errors
    /// Damage in the repository; [`RepoError::Hook`]; a failure of the storage.
    pub fn move_phases(
        &self,
        lock: Lock,
        revs: &[Rev],
        target: Phase,
        raise: bool,
    ) -> Result<PhaseMove, RepoError> {
        let all = self.view_for(ViewFilter::Unfiltered)?;
        let moved = all.phases().moved(all.changelog(), revs, target, raise);
        if moved.changed > 0 {
            let mut transaction = self.transaction(lock, "phase")?;
            transaction.set_phases(all.changelog(), &moved);
            transaction.finish()?;
        }
        Ok(moved)
    }
}

impl Transaction {
    /// Tells hooks why the transaction is: `source` is a step of an exchange, `url` the other side.
    pub fn set_source(&mut self, source: &'static str, url: Vec<u8>) {
        if let Some(hooks) = &mut self.hooks {
            hooks.set_source(source, url);
        }
    }

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
        self.replace(BaseDir::Store, b"phaseroots", text.into_bytes());
        if let Some(hooks) = &mut self.hooks {
            hooks.set_phases_moved();
        }
        let changes = moved.before.iter().zip(&moved.phases);
        for (rev, (before, after)) in changelog.revs().zip(changes) {
            if let (true, Some(hooks)) = (before != after, &mut self.hooks) {
                hooks.add_phase_change(&changelog.node(rev), Some(*before), *after);
            }
        }
    }
}
