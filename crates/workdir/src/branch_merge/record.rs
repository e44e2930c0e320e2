//! Entries of the dirstate after a merge of changesets.

use crate::file_merges::{Outcome, note_possibly_dirty};
use crate::update::{Plan, UpdateStep};
use crate::{Dirstate, Tracking, Tree, WorkdirError};

pub(super) struct Recorder<'a> {
    pub plan: &'a Plan,
    pub outcomes: &'a [Outcome],
    /// The files of the first parent.
    pub ours: &'a Tree<'a>,
}

impl Recorder<'_> {
    pub(super) fn record(&self, dirstate: &mut Dirstate) -> Result<(), WorkdirError> {
        for (path, step) in &self.plan.steps {
            match step {
                UpdateStep::Write(_) => from_theirs(dirstate, self.ours, path)?,
                UpdateStep::Mode(_) => note_possibly_dirty(dirstate, path),
                UpdateStep::Remove => dirstate.remove(path),
                UpdateStep::Forget | UpdateStep::StayRemoved => {}
            }
        }
        for relocation in &self.plan.relocations {
            if relocation.theirs.is_none() {
                dirstate.remove(&relocation.from);
            }
            dirstate.set_tracking(
                &relocation.to,
                Tracking {
                    working: true,
                    p1: false,
                    p2_info: false,
                },
            );
            dirstate.copy(&relocation.to, Some(&relocation.from));
        }
        for outcome in self.outcomes {
            self.merged(dirstate, outcome)?;
        }
        Ok(())
    }

    fn merged(&self, dirstate: &mut Dirstate, outcome: &Outcome) -> Result<(), WorkdirError> {
        let file = &outcome.file;
        let (Some(ours), Some((theirs, _))) = (&file.ours, &file.theirs) else {
            return record_deletion(dirstate, self.ours, outcome);
        };
        from_theirs(dirstate, self.ours, &file.dest)?;
        if ours == &file.dest {
            // An untracked file that took part counts as one of the first parent, too.
            let tracking = Tracking {
                working: true,
                p1: true,
                p2_info: true,
            };
            dirstate.set_tracking(&file.dest, tracking);
        }
        if ours != theirs {
            let source = if ours == &file.dest { theirs } else { ours };
            if file.moves {
                dirstate.remove(ours);
            }
            dirstate.copy(&file.dest, Some(source));
        }
        Ok(())
    }
}

/// A file that is as on their side, or merged.
fn from_theirs(dirstate: &mut Dirstate, ours: &Tree<'_>, path: &[u8]) -> Result<(), WorkdirError> {
    dirstate.copy(path, None);
    // As in Mercurial, a file that is tracked already counts as one of the first parent.
    let is_known = dirstate.get(path).is_some_and(|entry| entry.is_tracked());
    let tracking = Tracking {
        working: true,
        p1: is_known || ours.get(path)?.is_some(),
        p2_info: true,
    };
    dirstate.set_tracking(path, tracking);
    Ok(())
}

/// A file that one side deleted and the other changed.
pub(crate) fn record_deletion(
    dirstate: &mut Dirstate,
    ours: &Tree<'_>,
    outcome: &Outcome,
) -> Result<(), WorkdirError> {
    let file = &outcome.file;
    match (outcome.is_deleted(), file.ours.is_some()) {
        (true, _) if ours.get(&file.dest)?.is_some() => dirstate.remove(&file.dest),
        (true, _) => dirstate.forget(&file.dest),
        (false, true) => note_possibly_dirty(dirstate, &file.dest),
        (false, false) => from_theirs(dirstate, ours, &file.dest)?,
    }
    Ok(())
}
