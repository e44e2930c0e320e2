//! Files that either side calls by another name than the first parent does.

use super::plan::{Plan, Planner};
use crate::file_merges::MergeFile;
use crate::manifest_merge::{CopyReport, NamesBySource, renamed_directories};
use crate::tree::{TreeEntry, differences};
use crate::{LocalState, Tree, WorkdirError, copies_between, status_between};
use std::collections::{BTreeMap, BTreeSet};
use varve_lang::patterns::Matcher;
use varve_repo::Node;

/// New name and name in the first parent.
type Copies = BTreeMap<Vec<u8>, Vec<u8>>;

/// The merge of a new file with its source, from which it was copied here and which the target has changed.
pub(crate) fn merge_of_copy(
    (path, source): (&[u8], &[u8]),
    (from, to): (&Tree<'_>, &Tree<'_>),
    ancestor: Node,
) -> Result<Option<MergeFile>, WorkdirError> {
    let (Some(old), Some(new)) = (from.get(source)?, to.get(source)?) else {
        return Ok(None);
    };
    if new.0 == old.0 || to.get(path)?.is_some() {
        return Ok(None);
    }
    Ok(Some(MergeFile {
        dest: path.to_vec(),
        ours: Some(path.to_vec()),
        base: Some((source.to_vec(), old)),
        theirs: Some((source.to_vec(), new)),
        moves: false,
        ancestor,
    }))
}

/// A remark about renames for the user.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum RenameNote {
    /// Both sides renamed a file, to names that differ.
    Twice(Vec<u8>, Vec<Vec<u8>>),
    /// One side renamed a file that the other deleted.
    Deleted(Vec<u8>, Vec<Vec<u8>>),
}

/// The renames of both sides.
#[derive(Debug, Default)]
pub(super) struct Renames {
    ours: Copies,
    theirs: Copies,
}

impl Renames {
    pub(super) fn find(planner: &Planner<'_>) -> Result<Renames, WorkdirError> {
        let (from, to) = (planner.from, planner.to);
        let mut ours = Copies::new();
        for (path, source) in planner.dirstate.copies() {
            let is_new =
                planner.local_state(path) == LocalState::Added && from.get(path)?.is_none();
            if is_new && from.get(source)?.is_some() {
                ours.insert(path.to_vec(), source.to_vec());
            }
        }
        let (old, new) = (planner.old, planner.new);
        let everything = Matcher::everything();
        let status = status_between(from.view(), old, new, &everything, false)?;
        let mut theirs = copies_between(to.view(), old, new, &status)?;
        let mut known = Copies::new();
        for (path, source) in std::mem::take(&mut theirs) {
            if from.get(&source)?.is_some() {
                known.insert(path, source);
            }
        }
        Ok(Renames {
            ours,
            theirs: known,
        })
    }

    /// The renames for users, if there are any.
    pub(super) fn report(
        &self,
        planner: &Planner<'_>,
        notes: &[RenameNote],
    ) -> Result<Option<CopyReport>, WorkdirError> {
        if self.ours.is_empty() && self.theirs.is_empty() {
            return Ok(None);
        }
        let (from, to) = (planner.from, planner.to);
        let mut new = [BTreeSet::new(), BTreeSet::new()];
        for path in planner.local_states.keys() {
            if planner.local_state(path) == LocalState::Added && from.get(path)?.is_none() {
                new[0].insert(path.clone());
            }
        }
        for (path, old, there) in differences(from, to)? {
            if old.is_none() && there.is_some() {
                new[1].insert(path.to_vec());
            }
        }
        let (mut divergent, mut deleted) = (NamesBySource::new(), NamesBySource::new());
        for note in notes {
            let (names, (source, paths)) = match note {
                RenameNote::Twice(source, paths) => (&mut divergent, (source, paths)),
                RenameNote::Deleted(source, paths) => (&mut deleted, (source, paths)),
            };
            names.insert(source.clone(), paths.clone());
        }
        let mut merged = BTreeSet::new();
        for (path, source) in &self.ours {
            if merge_of_copy((path, source), (from, to), planner.parent())?.is_some() {
                merged.insert(&path[..]);
            }
        }
        let ours = |path: &[u8]| merged.contains(path);
        let theirs = |path: &[u8]| {
            let source = self.theirs.get(path);
            source.is_some_and(|source| planner.local_state(source) == LocalState::Modified)
        };
        let names = (&divergent, &deleted);
        let mut renamed = renamed_directories(to, &self.theirs)?;
        renamed.sort_unstable();
        Ok(Some(CopyReport {
            unmatched: CopyReport::unmatched_of([&new[0], &new[1]]),
            copies: [
                CopyReport::traced(&self.ours, ours, names),
                CopyReport::traced(&self.theirs, theirs, names),
            ],
            directories: [Vec::new(), renamed],
            moves: Default::default(),
        }))
    }

    /// Source in the first parent of a file that both sides added.
    pub(super) fn source_of_both(&self, path: &[u8]) -> Option<&[u8]> {
        let source = self.ours.get(path).or_else(|| self.theirs.get(path));
        source.map(Vec::as_slice)
    }

    /// Plans the merges that follow renames; gives the files that need nothing more.
    pub(super) fn plan(
        &self,
        planner: &Planner<'_>,
        plan: &mut Plan,
    ) -> Result<BTreeSet<Vec<u8>>, WorkdirError> {
        let mut done = BTreeSet::new();
        for (path, source) in &self.ours {
            let ends = (planner.from, planner.to);
            let merge = merge_of_copy((path, source), ends, planner.parent())?;
            plan.merges.extend(merge);
            if planner.is_gone(source) {
                done.insert(source.clone());
            }
        }
        for (path, source) in &self.theirs {
            self.plan_theirs(planner, (path, source), plan, &mut done)?;
        }
        self.note(planner, plan)?;
        // Paths that the target no longer has are still to be forgotten.
        let mut kept = BTreeSet::new();
        for path in done {
            let is_moved = plan
                .merges
                .iter()
                .any(|merge| merge.moves && merge.ours.as_deref() == Some(&path));
            if planner.to.get(&path)?.is_some() || is_moved {
                kept.insert(path);
            }
        }
        Ok(kept)
    }

    fn plan_theirs(
        &self,
        planner: &Planner<'_>,
        (path, source): (&Vec<u8>, &Vec<u8>),
        plan: &mut Plan,
        done: &mut BTreeSet<Vec<u8>>,
    ) -> Result<(), WorkdirError> {
        let is_new_here = !planner.is_here(path) && planner.from.get(path)?.is_none();
        let (Some(old), Some(new)) = (planner.from.get(source)?, planner.to.get(path)?) else {
            return Ok(());
        };
        if !is_new_here || planner.local_state(source) != LocalState::Modified {
            return Ok(());
        }
        let moves = planner.to.get(source)?.is_none();
        done.insert(path.clone());
        if moves {
            done.insert(source.clone());
        }
        let side = |path: &Vec<u8>, tracked: TreeEntry| Some((path.clone(), tracked));
        plan.merges.push(MergeFile {
            dest: path.clone(),
            ours: Some(source.clone()),
            base: side(source, old),
            theirs: side(path, new),
            moves,
            ancestor: planner.parent(),
        });
        Ok(())
    }

    /// Files that neither side has under the old path and that have several new ones.
    fn note(&self, planner: &Planner<'_>, plan: &mut Plan) -> Result<(), WorkdirError> {
        let mut names: BTreeMap<&[u8], [BTreeSet<&[u8]>; 2]> = BTreeMap::new();
        for (side, copies) in [&self.ours, &self.theirs].into_iter().enumerate() {
            for (path, source) in copies {
                names.entry(source).or_default()[side].insert(path);
            }
        }
        for (source, [ours, theirs]) in names {
            if planner.to.get(source)?.is_some() || !planner.is_gone(source) {
                continue;
            }
            let all: BTreeSet<&[u8]> = ours.union(&theirs).copied().collect();
            let all: Vec<Vec<u8>> = all.into_iter().map(<[u8]>::to_vec).collect();
            if ours.is_empty() || theirs.is_empty() {
                plan.notes.push(RenameNote::Deleted(source.to_vec(), all));
            } else if ours.is_disjoint(&theirs) {
                plan.notes.push(RenameNote::Twice(source.to_vec(), all));
            }
        }
        plan.notes.sort();
        Ok(())
    }
}
