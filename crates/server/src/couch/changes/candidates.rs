//! The changes that a cursor looks at: all behind its position, or those that its filter may let through.

use std::collections::VecDeque;
use std::sync::Arc;

use varve_btree::Direction;
use varve_docdb::{Change, Changes, IdRange, Snapshot};
use varve_views::{IndexSnapshot, PassingChange, PassingChanges, ViewError};

use crate::Failure;
use crate::couch::changes::filter::{Filter, Passed};
use crate::couch::changes::filter_index::FilterIndex;

/// Changes that are looked up at once.
const LOOKED_UP: usize = 100;
/// Looking up one document costs about as much as reading so many changes one after the other.
const COST_OF_LOOKUP: u64 = 4;
/// Fewer changes are read one after the other.
const FEW_CHANGES: u64 = 1_000;

/// Where a cursor stands in the changes of a database.
#[derive(Clone, Copy, Debug)]
pub struct Position {
    pub direction: Direction,
    /// In ascending order: all changes up to this one were seen.
    pub since: u64,
    /// In descending order: how many changes were seen, and the last of them.
    pub seen: usize,
    pub below: Option<u64>,
}

/// Whether a change passes.
pub enum Verdict {
    /// The filter is to be asked.
    Ask,
    /// The filter need not be asked.
    Passed(Passed),
}

/// A candidate that cannot be had.
#[derive(Debug)]
pub enum CandidateError {
    /// The database cannot be read.
    Database(Failure),
    /// The index cannot be read: the changes are to be read without it.
    Index(Failure),
}

impl From<Failure> for CandidateError {
    fn from(failure: Failure) -> Self {
        CandidateError::Database(failure)
    }
}

/// The last updates of the documents that a filter names, as of one update of the database.
#[derive(Default)]
pub struct NamedUpdates(Option<(u64, Arc<[u64]>)>);

impl NamedUpdates {
    /// The sequences in ascending order; `None` if the filter names no documents, or it is cheaper to read all changes.
    fn of(
        &mut self,
        filter: &Filter,
        snapshot: &Snapshot,
        since: u64,
    ) -> Result<Option<Arc<[u64]>>, Failure> {
        let lookups = match filter {
            Filter::Documents(ids) => ids.len() as u64,
            Filter::Design => 0,
            _ => return Ok(None),
        };
        let cost = lookups.saturating_mul(COST_OF_LOOKUP).max(FEW_CHANGES);
        if snapshot.is_restricted() || snapshot.count_changes(since)? <= cost {
            return Ok(None);
        }
        let update = snapshot.update_seq();
        if let Some((known, seqs)) = &self.0
            && *known == update
        {
            return Ok(Some(Arc::clone(seqs)));
        }
        let seqs: Arc<[u64]> = match filter {
            Filter::Documents(ids) => {
                let ids: Vec<&String> = ids.iter().collect();
                snapshot.last_updates(&ids)?.into()
            }
            _ => snapshot.last_updates_within(IdRange::DESIGN)?.into(),
        };
        self.0 = Some((update, Arc::clone(&seqs)));
        Ok(Some(seqs))
    }
}

/// Changes in the order of their sequences.
pub struct Candidates {
    snapshot: Snapshot,
    /// Those that were looked up.
    ready: VecDeque<(Change, Verdict)>,
    /// Changes to look up, in the order of reading.
    lists: VecDeque<List>,
}

enum List {
    /// All changes.
    All(Box<Changes>),
    /// Those that an index knows to pass.
    Indexed(Box<PassingChanges>),
    /// The documents that the filter names.
    Named(std::vec::IntoIter<u64>),
}

impl Candidates {
    /// Those of a snapshot behind a position.
    ///
    /// # Errors
    /// As for [`Candidates::next`].
    pub fn of(
        snapshot: &Snapshot,
        position: Position,
        filter: &Filter,
        (named, index): (&mut NamedUpdates, Option<&FilterIndex>),
    ) -> Result<Candidates, CandidateError> {
        let descends = position.direction == Direction::Backward;
        let since = if descends { 0 } else { position.since };
        let below = position.below.filter(|_| descends);
        let named = named.of(filter, snapshot, since);
        let lists = if let Some(seqs) = named.map_err(CandidateError::Database)? {
            let behind = seqs.partition_point(|seq| *seq <= since);
            let ahead = below.map_or(seqs.len(), |below| seqs.partition_point(|seq| *seq < below));
            let mut seqs = seqs[behind..ahead.max(behind)].to_vec();
            if descends {
                seqs.reverse();
            }
            VecDeque::from([List::Named(seqs.into_iter())])
        } else if let Some(found) = index.and_then(|index| index.snapshot_covering(snapshot, since))
        {
            indexed(snapshot, position, found)?
        } else {
            return Candidates::all(snapshot, position);
        };
        Ok(Candidates {
            snapshot: snapshot.clone(),
            ready: VecDeque::new(),
            lists,
        })
    }

    /// All changes of a snapshot behind a position.
    ///
    /// # Errors
    /// As for [`Candidates::next`].
    pub fn all(snapshot: &Snapshot, position: Position) -> Result<Candidates, CandidateError> {
        Ok(Candidates {
            snapshot: snapshot.clone(),
            ready: VecDeque::new(),
            lists: VecDeque::from([all_behind(snapshot, position)?]),
        })
    }

    /// Whether changes are left out that the filter cannot let through.
    pub fn are_selected(&self) -> bool {
        let is_whole = |list: &List| matches!(list, List::All(_));
        !self.lists.iter().all(is_whole)
    }

    /// The next one.
    ///
    /// # Errors
    /// 500 if a file cannot be read; then there is no next one.
    pub fn next(&mut self) -> Result<Option<(Change, Verdict)>, CandidateError> {
        loop {
            if let Some(next) = self.ready.pop_front() {
                return Ok(Some(next));
            }
            let Some(list) = self.lists.front_mut() else {
                return Ok(None);
            };
            let some = match list {
                List::All(changes) => match changes.next() {
                    Some(change) => {
                        let change = change.map_err(of_database)?;
                        return Ok(Some((change, Verdict::Ask)));
                    }
                    None => Vec::new(),
                },
                List::Indexed(rows) => {
                    let some: Result<Vec<_>, _> = rows.take(LOOKED_UP).collect();
                    some.map_err(of_index)?
                }
                List::Named(seqs) => seqs
                    .take(LOOKED_UP)
                    .map(|seq| PassingChange {
                        seq,
                        leaves: Vec::new(),
                    })
                    .collect(),
            };
            let is_named = matches!(list, List::Named(_));
            if some.is_empty() {
                self.lists.pop_front();
            }
            self.look_up(some, is_named)?;
        }
    }

    fn look_up(&mut self, some: Vec<PassingChange>, is_named: bool) -> Result<(), CandidateError> {
        let mut seqs: Vec<u64> = some.iter().map(|change| change.seq).collect();
        let descends = seqs.first() > seqs.last();
        seqs.sort_unstable();
        let found = self.snapshot.changes_at(&seqs).map_err(of_database)?;
        let mut found = VecDeque::from(found);
        for PassingChange { leaves, .. } in some {
            let change = match descends {
                true => found.pop_back(),
                false => found.pop_front(),
            };
            // Documents that were updated again are found at their last update.
            let Some(change) = change.flatten() else {
                continue;
            };
            let verdict = match (is_named, leaves.is_empty()) {
                (true, _) => Verdict::Passed(Passed::All),
                (false, true) => Verdict::Ask,
                (false, false) => Verdict::Passed(Passed::of_leaves(&change, &leaves)),
            };
            self.ready.push_back((change, verdict));
        }
        Ok(())
    }
}

/// The changes that an index knows, and all behind it.
fn indexed(
    snapshot: &Snapshot,
    position: Position,
    found: &IndexSnapshot,
) -> Result<VecDeque<List>, CandidateError> {
    let covered = found.update_seq();
    let behind = |since| {
        let changes = snapshot.changes(since, position.direction);
        let all = changes.map(|changes| List::All(Box::new(changes)));
        all.map_err(of_database)
    };
    let passing = |seqs| {
        let rows = found.passing(seqs, position.direction);
        let rows = rows.map(|rows| List::Indexed(Box::new(rows)));
        rows.map_err(of_index)
    };
    let end = covered.saturating_add(1);
    match (position.direction, position.below) {
        (Direction::Forward, _) => Ok(VecDeque::from([
            passing(position.since.saturating_add(1)..end)?,
            behind(covered)?,
        ])),
        (Direction::Backward, Some(below)) if below <= end => {
            Ok(VecDeque::from([passing(0..below)?]))
        }
        (Direction::Backward, _) => {
            let mut newest = snapshot
                .changes(covered, Direction::Backward)
                .map_err(of_database)?;
            skip(&mut newest, position.seen)?;
            Ok(VecDeque::from([
                List::All(Box::new(newest)),
                passing(0..end)?,
            ]))
        }
    }
}

fn all_behind(snapshot: &Snapshot, position: Position) -> Result<List, CandidateError> {
    let descends = position.direction == Direction::Backward;
    let since = if descends { 0 } else { position.since };
    let changes = snapshot.changes(since, position.direction);
    let mut changes = changes.map_err(of_database)?;
    skip(&mut changes, position.seen)?;
    Ok(List::All(Box::new(changes)))
}

fn skip(changes: &mut Changes, seen: usize) -> Result<(), CandidateError> {
    match seen.checked_sub(1).and_then(|last| changes.nth(last)) {
        Some(Err(error)) => Err(of_database(error)),
        _ => Ok(()),
    }
}

fn of_database(error: varve_docdb::DocdbError) -> CandidateError {
    CandidateError::Database(error.into())
}

fn of_index(error: ViewError) -> CandidateError {
    CandidateError::Index(error.into())
}
