//! Copies of view indexes in a shared store: the server that writes a database stores what it has built, and one that lacks an
//! index fetches that and builds only the rest.
//!
//! A copy names the commit of the database that was the newest when it was stored. A server uses it only if what it has of the
//! database has come of that commit, so that indexes of another database of the same name, or of a state that was put back, are
//! never used. A compaction leaves no such commit; the writer then stores the copy once more with one of the new file, for
//! which no byte of the index is sent. Copies only save work: whatever fails with them, the index is built.

mod fetch;
mod store;

pub(crate) use store::{store_at_end, store_regularly};

use crate::couch::database::logs::{database_of, log_of};
use crate::couch::database::registry::OpenDatabase;
use crate::runtime::repeats::fault_id;
use crate::{CouchContext, Failure};
use parking_lot::Mutex;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use varve_base::Interrupt;
use varve_docdb::CommitId;
use varve_shared::{DerivedFile, DerivedVersion, SystemClock, list_derived};
use varve_views::Signature;

/// Changes whose documents are mapped in about the time of the requests that a copy takes.
const FEW_CHANGES: u64 = 1000;
/// Of all changes, one in so many must be new for a copy to be stored or fetched: so a copy is stored again at most four times
/// while its database doubles, and at most a quarter of an index is built by a server that has fetched the rest.
const PART: u64 = 4;

/// True if an index lacks so many of a database's changes that copying it is less work than building.
fn is_much(missing: u64, all: u64) -> bool {
    missing >= FEW_CHANGES && missing.saturating_mul(PART) >= all
}

/// Copies of one database's indexes, as far as this process knows them.
#[derive(Debug, Default)]
pub(super) struct KnownCopies(Mutex<CopyStates>);

#[derive(Debug, Default)]
struct CopyStates {
    /// Indexes that this process has tried to fetch: a copy that could not be used is not asked for again.
    tried: HashSet<Signature>,
    /// The copy of each index that was looked for; `None` if there was none of use.
    stored: HashMap<Signature, Option<StoredCopy>>,
}

/// A copy of an index.
#[derive(Clone, Copy, Debug)]
struct StoredCopy {
    /// The sequence that it covers.
    seq: u64,
    /// The newest commit of the database when it was stored.
    commit: CommitId,
}

impl StoredCopy {
    /// `None` if the label is none of an index.
    fn of(version: &DerivedVersion) -> Option<StoredCopy> {
        let commit = CommitId::decode(version.label().try_into().ok()?);
        let seq = version.rank();
        Some(StoredCopy { seq, commit })
    }
}

impl KnownCopies {
    /// To be called when the index was found to be damaged: so may be its copy, which is replaced then.
    pub(super) fn distrust(&self, index: Signature) {
        self.0.lock().stored.insert(index, None);
    }

    fn note(&self, index: Signature, copy: StoredCopy) {
        self.0.lock().stored.insert(index, Some(copy));
    }

    fn is_known(&self, index: Signature) -> bool {
        self.0.lock().stored.contains_key(&index)
    }

    /// True for the first call.
    fn try_once(&self, index: Signature) -> bool {
        self.0.lock().tried.insert(index)
    }
}

/// The copy of an index; `None` without a shared store.
///
/// # Errors
/// 500 for a database whose log has no name.
fn copy_of(
    app: &CouchContext,
    database: &str,
    index: &str,
) -> Result<Option<DerivedFile>, Failure> {
    let Some(shared) = &app.directory.shared else {
        return Ok(None);
    };
    let (store, clock) = (Arc::clone(&shared.store), Arc::new(SystemClock::default()));
    let file = DerivedFile::new(store, clock, &log_of(database)?, index)?;
    Ok(Some(file))
}

/// Says in the log what could not be done with a copy.
fn warn(app: &CouchContext, database: &str, failed: &str, failure: &Failure) {
    app.log().scope(|| {
        let fault = fault_id(&failure.reason);
        tracing::warn!(database, fault, "{failed} of {database}: {failure}");
    });
}

/// Removes the copies of a database's indexes that are not `kept`, unless another server writes the database.
pub(super) fn remove_stale(app: &CouchContext, database: &OpenDatabase, kept: &[Signature]) {
    if let Err(failure) = try_remove_stale(app, database, kept) {
        warn(
            app,
            &database.name,
            "old copies of indexes are left",
            &failure,
        );
    }
}

fn try_remove_stale(
    app: &CouchContext,
    database: &OpenDatabase,
    kept: &[Signature],
) -> Result<(), Failure> {
    let Some(shared) = &app.directory.shared else {
        return Ok(());
    };
    if database.documents.is_following() {
        return Ok(());
    }
    let files = list_derived(shared.store.as_ref(), Some(&log_of(&database.name)?))?;
    let indexes = files.keys().filter_map(|file| file.rsplit_once('/'));
    for (_, index) in indexes {
        let is_kept = kept.iter().any(|kept| kept.to_string() == index);
        if !is_kept && let Some(copy) = copy_of(app, &database.name, index)? {
            copy.remove()?;
        }
    }
    Ok(())
}

/// Removes copies of indexes of databases that are gone, and what interrupted servers have left, for the databases that this
/// server should write. Returns the bytes of the copies that went.
///
/// # Errors
/// 503 if the store does not answer; 500 for damage.
pub(crate) fn collect_garbage(app: &CouchContext, stop: &Interrupt) -> Result<u64, Failure> {
    let Some(shared) = &app.directory.shared else {
        return Ok(0);
    };
    let files = list_derived(shared.store.as_ref(), None)?;
    // Asked for after that: a database that is made later cannot have been among those.
    let there: HashSet<String> = match app.databases.logs() {
        Some(logs) => logs.own_names()?.into_iter().collect(),
        None => return Ok(0),
    };
    let mut removed = 0;
    for (file, bytes) in &files {
        let split = file.rsplit_once('/');
        let of = split.and_then(|(log, index)| Some((database_of(log)?, index)));
        let Some((database, index)) = of.filter(|(name, _)| app.databases.writes(name)) else {
            continue;
        };
        if stop.is_raised() {
            break;
        }
        let Some(copy) = copy_of(app, &database, index)? else {
            continue;
        };
        if there.contains(&database) {
            copy.collect_garbage()?;
        } else {
            copy.remove()?;
            removed += bytes;
        }
    }
    Ok(removed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_for_much_work() {
        assert!(!is_much(999, 999) && is_much(1000, 1000) && is_much(1000, 4000));
        assert!(!is_much(1000, 4001) && is_much(u64::MAX, u64::MAX));
    }

    #[test]
    fn an_index_is_fetched_once_and_a_damaged_one_has_no_copy() {
        let (copies, index) = (KnownCopies::default(), Signature([1; 16]));
        assert!(copies.try_once(index) && !copies.try_once(index));
        assert!(copies.try_once(Signature([2; 16])));
        let commit = CommitId::decode(&[7; 16]);
        copies.note(index, StoredCopy { seq: 3, commit });
        let stored = || copies.0.lock().stored.get(&index).copied();
        assert_eq!(stored().unwrap().unwrap().seq, 3);
        copies.distrust(index);
        assert!(copies.is_known(index) && stored().unwrap().is_none());
    }
}
