//! Telling the observer what a plan does, and why, in the order of Mercurial.

use super::{Plan, RenameNote, UpdateStep};
use crate::file_merges::tell_replaced;
use crate::manifest_merge::Reason;
use crate::{Dirstate, LocalState, Tree, UpdateEvent, UpdateObserver, WorkdirError};
use std::collections::BTreeSet;

/// A plan, and the reason for each of its steps.
pub(crate) struct PlanReport<'a> {
    pub plan: &'a Plan,
    pub reason: Box<ReasonOf<'a>>,
}

/// The reason for the step of a path; `None` for one that is not told.
type ReasonOf<'a> = dyn Fn(&[u8], &UpdateStep) -> Option<Reason> + 'a;

impl PlanReport<'_> {
    /// Remarks, and the files that are removed, written and forgotten.
    pub fn before_files_move(&self, observer: &mut dyn UpdateObserver) {
        tell_replaced(&self.plan.replaced, observer);
        for note in &self.plan.notes {
            let news = match note {
                RenameNote::Twice(source, names) => UpdateEvent::RenamedTwice { source, names },
                RenameNote::Deleted(source, names) => {
                    UpdateEvent::RenamedAndDeleted { source, names }
                }
            };
            observer.on_event(&news);
        }
        self.tell(observer, |step| *step == UpdateStep::Remove);
        self.tell(observer, |step| matches!(step, UpdateStep::Write(_)));
        self.tell(observer, |step| *step == UpdateStep::Forget);
    }

    /// The files whose kind changes, and those that are kept for the merges.
    pub fn before_merges(&self, observer: &mut dyn UpdateObserver) {
        self.tell(observer, |step| matches!(step, UpdateStep::Mode(_)));
        for merge in &self.plan.merges {
            if let Some(path) = &merge.ours {
                let dest = &merge.dest;
                observer.on_event(&UpdateEvent::Preserving { path, dest });
            }
        }
        let moved = self.plan.merges.iter().filter(|merge| merge.moves);
        let mut told = BTreeSet::new();
        for path in moved.filter_map(|merge| merge.ours.as_ref()) {
            // A file may be merged to several others.
            if told.insert(path) {
                observer.on_event(&UpdateEvent::MergedElsewhere(path));
            }
        }
    }

    fn tell(&self, observer: &mut dyn UpdateObserver, is_meant: impl Fn(&UpdateStep) -> bool) {
        for (path, step) in self.plan.steps.iter().filter(|(_, step)| is_meant(step)) {
            if let Some(reason) = (self.reason)(path, step) {
                observer.on_event(&UpdateEvent::Decided(path, &reason));
            }
            match step {
                UpdateStep::Remove => observer.on_event(&UpdateEvent::Removing(path)),
                UpdateStep::Write(_) => observer.on_event(&UpdateEvent::Getting(path)),
                _ => {}
            }
        }
    }
}

impl Plan {
    /// Why an update changes a file; `dirstate` is that from before.
    pub(super) fn reason_to_update(
        &self,
        path: &[u8],
        step: &UpdateStep,
        dirstate: &Dirstate,
    ) -> Option<Reason> {
        let local = self.local_states.get(path);
        let is_gone = matches!(local, Some(LocalState::Removed | LocalState::Missing));
        Some(match (step, local) {
            (UpdateStep::Remove, _) => Reason::REMOVED_THERE,
            (UpdateStep::Write(_), _) if dirstate.is_tracked(path) && !is_gone => {
                Reason::NEWER_THERE
            }
            (UpdateStep::Write(_), _) => Reason::CREATED_THERE,
            (UpdateStep::Mode(_), _) => Reason::MODE,
            (UpdateStep::Forget, Some(LocalState::Removed)) => Reason::REMOVED_HERE,
            (UpdateStep::Forget, Some(LocalState::Missing)) => Reason::MISSING_HERE,
            (UpdateStep::Forget, _) => Reason::ADDED_HERE,
            (UpdateStep::StayRemoved, _) => return None,
        })
    }

    /// Tells which local changes an update to the tree `to` leaves alone: new files, changed ones, and those that are gone.
    pub(super) fn report_kept(
        &self,
        to: &Tree<'_>,
        observer: &mut dyn UpdateObserver,
    ) -> Result<(), WorkdirError> {
        let is_merged = |path: &[u8]| {
            let merges = &mut self.merges.iter();
            merges.any(|merge| merge.dest == path || merge.ours.as_deref() == Some(path))
        };
        let mut kept = Vec::new();
        for (path, local) in &self.local_states {
            if self.steps.contains_key(path) || is_merged(path) {
                continue;
            }
            let reason = match (local, to.get(path)?) {
                (LocalState::Added, None) => Reason::KEPT_NEW,
                (LocalState::Modified, Some(_)) => Reason::KEPT,
                (LocalState::Removed | LocalState::Missing, Some(_)) => Reason::KEPT_ABSENT,
                _ => continue,
            };
            kept.push((path, reason));
        }
        const ORDER: [&str; 3] = ["kn", "k", "ka"];
        let rank = |reason: &Reason| ORDER.iter().position(|known| *known == reason.letters);
        kept.sort_by_key(|(path, reason)| (rank(reason), *path));
        for (path, reason) in &kept {
            observer.on_event(&UpdateEvent::Decided(path, reason));
        }
        Ok(())
    }
}
