//! The indexes of one database's `_changes` filters.
//!
//! A feed that had to ask its filter about many changes has an index built; later feeds with the same filter read that.
//! Files that were there before the server started count as the least recently used, in the order of their names.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::{Mutex, MutexGuard};
use varve_views::{
    IndexKind, Signature, ViewError, ViewGroup, ViewIndex, list_indexes, remove_stale,
};

use crate::CouchContext;
use crate::couch::database::registry::OpenDatabase;
use crate::couch::views::indexes::{directory_of, log_damage, options};

/// Indexes of the filters of one database.
#[derive(Debug, Default)]
pub struct FilterIndexes {
    state: Mutex<KnownIndexes>,
    /// Number of those that are open, which can be read while one is being opened.
    count: AtomicUsize,
}

#[derive(Debug, Default)]
struct KnownIndexes {
    /// Those that have a file; `None` until the directory was read.
    by_signature: Option<HashMap<Signature, KnownIndex>>,
    /// Number of uses so far.
    uses: u64,
    /// Whether the database is gone, or the server stops.
    is_over: bool,
}

#[derive(Debug, Default)]
struct KnownIndex {
    open: Option<Arc<ViewIndex>>,
    /// Number of its last use; 0 if that was before the server started.
    last_use: u64,
    /// Whether a feed has used it since the last clean-up.
    is_used: bool,
}

impl FilterIndexes {
    fn lock(&self) -> MutexGuard<'_, KnownIndexes> {
        self.state.lock()
    }

    /// How many are open.
    pub fn len(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Those that are open.
    pub fn all(&self) -> Vec<Arc<ViewIndex>> {
        let state = self.lock();
        let known = state.by_signature.iter().flat_map(HashMap::values);
        known.filter_map(|index| index.open.clone()).collect()
    }

    /// Ends all compactions; no file is made any more.
    pub fn end(&self) {
        let mut state = self.lock();
        state.is_over = true;
        let known = state.by_signature.iter().flat_map(HashMap::values);
        known
            .filter_map(|index| index.open.as_ref())
            .for_each(|index| index.end());
    }

    /// The index of a filter, if there is one; that counts as a use of it.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn find(
        &self,
        app: &CouchContext,
        database: &OpenDatabase,
        group: &Arc<ViewGroup>,
    ) -> Result<Option<Arc<ViewIndex>>, ViewError> {
        let mut state = self.lock();
        if !state.known(app, database)?.contains_key(&group.signature()) {
            return Ok(None);
        }
        self.open(&mut state, app, database, group)
    }

    /// The index of a filter, made if there is none; then the least recently used ones go, down to the number that the
    /// settings allow. `None` if they allow none.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn find_or_create(
        &self,
        app: &CouchContext,
        database: &OpenDatabase,
        group: &Arc<ViewGroup>,
    ) -> Result<Option<Arc<ViewIndex>>, ViewError> {
        let most = app.settings().filter_indexes;
        let mut state = self.lock();
        let known = state.known(app, database)?;
        let is_new = !known.contains_key(&group.signature());
        let room = most.saturating_sub(usize::from(is_new));
        let mut oldest: Vec<_> = known
            .iter()
            .filter(|(signature, _)| **signature != group.signature())
            .map(|(signature, index)| (index.last_use, *signature))
            .collect();
        oldest.sort_unstable();
        let excess = known.len().saturating_sub(room);
        let gone: Vec<_> = oldest.into_iter().take(excess).collect();
        self.remove(&mut state, app, database, |signature| {
            gone.iter().any(|(_, removed)| removed == signature)
        })?;
        match most {
            0 => Ok(None),
            _ => self.open(&mut state, app, database, group),
        }
    }

    /// Removes those that no feed has used since the last call, or since the server started.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn clean_up(&self, app: &CouchContext, database: &OpenDatabase) -> Result<(), ViewError> {
        let mut state = self.lock();
        let known = state.known(app, database)?;
        let unused: Vec<_> = known
            .iter_mut()
            .filter_map(|(signature, index)| {
                let was_used = std::mem::take(&mut index.is_used);
                (!was_used).then_some(*signature)
            })
            .collect();
        self.remove(&mut state, app, database, |signature| {
            unused.contains(signature)
        })
    }

    fn open(
        &self,
        state: &mut KnownIndexes,
        app: &CouchContext,
        database: &OpenDatabase,
        group: &Arc<ViewGroup>,
    ) -> Result<Option<Arc<ViewIndex>>, ViewError> {
        if state.is_over {
            return Ok(None);
        }
        state.uses += 1;
        let uses = state.uses;
        let known = state.known(app, database)?;
        let opened = known
            .get(&group.signature())
            .and_then(|known| known.open.clone());
        let index = match opened {
            Some(index) => index,
            None => {
                let storage = Arc::clone(app.storage());
                let directory = directory_of(&database.name);
                let index = ViewIndex::open(storage, &directory, Arc::clone(group), options(app))?;
                app.log().scope(|| log_damage(&index));
                Arc::new(index)
            }
        };
        let entry = KnownIndex {
            open: Some(Arc::clone(&index)),
            last_use: uses,
            is_used: true,
        };
        known.insert(group.signature(), entry);
        self.count_open(known);
        Ok(Some(index))
    }

    /// Removes indexes with their files. Feeds that read one of them go on.
    fn remove(
        &self,
        state: &mut KnownIndexes,
        app: &CouchContext,
        database: &OpenDatabase,
        is_removed: impl Fn(&Signature) -> bool,
    ) -> Result<(), ViewError> {
        let known = state.known(app, database)?;
        known.retain(|signature, index| {
            let goes = is_removed(signature);
            if goes {
                database.indexes.forget(*signature);
                index.open.iter().for_each(|index| index.end());
            }
            !goes
        });
        self.count_open(known);
        let kept: Vec<_> = known.keys().copied().collect();
        let directory = directory_of(&database.name);
        let storage = app.storage().as_ref();
        remove_stale(storage, &directory, IndexKind::Changes, &kept).map(drop)
    }

    fn count_open(&self, known: &HashMap<Signature, KnownIndex>) {
        let open = known.values().filter(|index| index.open.is_some());
        self.count.store(open.count(), Ordering::Relaxed);
    }
}

impl KnownIndexes {
    fn known(
        &mut self,
        app: &CouchContext,
        database: &OpenDatabase,
    ) -> Result<&mut HashMap<Signature, KnownIndex>, ViewError> {
        let found = match self.by_signature.take() {
            Some(known) => known,
            None => {
                let directory = directory_of(&database.name);
                let kind = IndexKind::Changes;
                let files = list_indexes(app.storage().as_ref(), &directory, kind)?;
                let known = files.into_iter();
                known
                    .map(|signature| (signature, KnownIndex::default()))
                    .collect()
            }
        };
        Ok(self.by_signature.insert(found))
    }
}
