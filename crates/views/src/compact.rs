//! Compaction of an index: its rows go into a new file, which then takes the old one's place.
//!
//! Nothing in an index points into its file, so items are copied as they are: all of one commit while others build and
//! read, then the later changes, while building waits. The copy is named as the index with `.compact` behind it; a copy
//! left by a crash goes when the index is opened.

use crate::ViewError;
use crate::files::{copy_path, remove_rest};
use crate::index::{ViewIndex, tree_options};
use std::ops::Bound;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use varve_base::{Interrupt, Interrupted, Progress, Unit};
use varve_btree::{DiffEntry, Direction, Loader, Snapshot, Transaction, TreeEntry, TreeFile};

/// Items between two looks at whether to stop, and the most that are changed at once.
const BATCH: usize = 4096;

/// Ends a run of [`ViewIndex::compact`].
struct Running<'i>(&'i ViewIndex);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let index = self.0;
        // Once it was renamed there is none. If this fails, the next opening removes it.
        let _ = remove_rest(&*index.storage, &copy_path(&index.path));
        index.is_compacting.store(false, Ordering::Release);
    }
}

/// Interrupts of the caller and of the index.
struct Stop<'s>(&'s Interrupt, &'s Interrupt);

impl Stop<'_> {
    fn check(&self) -> Result<(), Interrupted> {
        self.0.check()?;
        self.1.check()
    }
}

impl ViewIndex {
    /// Whether a compaction is under way.
    pub fn is_compacting(&self) -> bool {
        self.is_compacting.load(Ordering::Acquire)
    }

    /// Compacts the index while others build and read it. Does nothing if it is being compacted, or
    /// if the index was made anew meanwhile. [`ViewIndex::end`] interrupts it.
    ///
    /// # Errors
    /// [`ViewError::Interrupted`]; damage; an error of the storage. The index is then as it was.
    pub fn compact(&self, progress: &dyn Progress, stop: &Interrupt) -> Result<(), ViewError> {
        if self.is_compacting.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        let _running = Running(self);
        let stop = Stop(stop, &self.ended);
        stop.check()?;
        let copy = copy_path(&self.path);
        remove_rest(&*self.storage, &copy)?;
        let file = self.state().file;
        let first = file.snapshot().uncached();
        let options = || tree_options(&self.group, &self.options);
        let trees = options().reducers.len();
        let made = TreeFile::create(&*self.storage, &copy, options())?;
        let mut txn = made.begin()?;
        let total = (0..trees)
            .map(|tree| first.len(tree))
            .sum::<Result<_, _>>()?;
        progress.begin("rows", Unit::Items, Some(total));
        for tree in 0..trees {
            copy_tree(&first, &mut txn, tree, progress, &stop)?;
        }
        txn.set_user_header(first.user_header());
        txn.commit()?;
        let _builder = self.lock();
        let state = self.state();
        if !Arc::ptr_eq(&file, &state.file) {
            return Ok(());
        }
        let last = file.snapshot().uncached();
        let is_behind = last.position() != first.position();
        if is_behind || state.rows.changed_items() > 0 {
            let mut txn = made.begin()?;
            for tree in 0..trees {
                catch_up(&last, &first, &mut txn, tree, &stop)?;
            }
            state.rows.write_to(&mut txn)?;
            txn.commit()?;
        }
        let renaming = self.renaming.lock();
        stop.check()?;
        self.storage.rename(&copy, &self.path)?;
        drop(renaming);
        // Under its own name, so that messages say which file is meant.
        let renamed = TreeFile::open(&*self.storage, &self.path, options());
        self.use_file(Arc::new(renamed.unwrap_or(made)));
        let directory = self.path.parent().unwrap_or(Path::new(""));
        // An older file that a power cut brings back is brought up to date as any other.
        self.storage.sync_directory(directory)?;
        Ok(())
    }
}

fn copy_tree(
    from: &Snapshot,
    txn: &mut Transaction<'_>,
    tree: usize,
    progress: &dyn Progress,
    stop: &Stop<'_>,
) -> Result<(), ViewError> {
    stop.check()?;
    let mut loader = Loader::new(tree);
    let all = (Bound::Unbounded, Bound::Unbounded);
    for (number, item) in (1..).zip(from.range(tree, all, Direction::Forward)?) {
        let item = item?;
        loader.push(txn, item.key(), item.value())?;
        if number % BATCH == 0 {
            stop.check()?;
            progress.advance(BATCH as u64);
        }
    }
    Ok(loader.finish(txn)?)
}

fn catch_up(
    from: &Snapshot,
    copied: &Snapshot,
    txn: &mut Transaction<'_>,
    tree: usize,
    stop: &Stop<'_>,
) -> Result<(), ViewError> {
    let mut diff = from.diff(tree, copied)?;
    loop {
        stop.check()?;
        let batch = diff.by_ref().take(BATCH);
        let batch: Vec<DiffEntry> = batch.collect::<Result<_, _>>()?;
        if batch.is_empty() {
            return Ok(());
        }
        let changes: Vec<_> = batch.iter().map(change_of).collect();
        txn.update(tree, &changes)?;
    }
}

fn change_of(difference: &DiffEntry) -> (&[u8], Option<&[u8]>) {
    let DiffEntry { before, after } = difference;
    let key = after
        .as_ref()
        .or(before.as_ref())
        .map_or(&[][..], TreeEntry::key);
    (key, after.as_ref().map(TreeEntry::value))
}
