//! Ranges of the local copy whose bytes are only in the store, until they are read.
//!
//! ```text
//! file   |###########|...............|####|......|#####|     # in the copy   . gap: reads as zeros from the copy itself
//!                      range of a segment   of another
//! ```
//! A log that is opened makes all files with their lengths, and its gaps take the place of their bytes. A segment is fetched whole, by
//! the first read of any range that it has, and fills all gaps that it can. Gaps are made before any file is open, and only become
//! fewer from then on.

use super::lazy_file::LazyFile;
use crate::error::SharedError;
use crate::file_table::{FileTable, moved_path};
use crate::format::{FileRun, Operation, SegmentName};
use crate::log::Log;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use varve_base::{OpenMode, Storage, StorageError, StorageFile};

/// The gaps of one local copy.
#[derive(Debug)]
pub(crate) struct Gaps {
    log: Log,
    local: Arc<dyn Storage>,
    state: Mutex<GapState>,
    /// Told when a segment has been fetched, or could not be.
    fetched: Condvar,
}

#[derive(Debug, Default)]
struct GapState {
    files: BTreeMap<u64, FileGaps>,
    /// Files with gaps by their present names.
    ids: HashMap<PathBuf, u64>,
    next_id: u64,
    /// Segments that threads are about to fetch.
    fetching: BTreeSet<SegmentName>,
}

#[derive(Debug)]
struct FileGaps {
    place: GapPlace,
    /// Not empty.
    gaps: Vec<Gap>,
    file: Arc<GapFile>,
}

/// The way to a file that is to be filled.
#[derive(Debug)]
enum GapPlace {
    Named(PathBuf),
    /// An open file, which may have no name any more, but readers.
    Open(Arc<dyn StorageFile>),
}

/// A range of a file that begins at `at` and has the bytes of the run.
#[derive(Clone, Debug)]
struct Gap {
    at: u64,
    run: FileRun,
}

impl Gap {
    fn end(&self) -> u64 {
        self.at.saturating_add(self.run.len)
    }

    fn overlaps(&self, range: &Range<u64>) -> bool {
        self.at < range.end && range.start < self.end()
    }
}

/// A file that has had gaps, as its readers know it.
#[derive(Debug)]
pub(super) struct GapFile {
    id: u64,
    is_whole: AtomicBool,
}

impl GapFile {
    /// True once it has no gaps any more.
    pub(super) fn is_whole(&self) -> bool {
        self.is_whole.load(Ordering::Acquire)
    }
}

impl Gaps {
    pub(crate) fn new(log: Log, local: Arc<dyn Storage>) -> Gaps {
        Gaps {
            log,
            local,
            state: Mutex::default(),
            fetched: Condvar::new(),
        }
    }

    /// Notes that a run of a file is not in the copy.
    pub(super) fn add(&self, path: &Path, at: u64, run: FileRun) {
        let mut state = self.state.lock();
        let state = &mut *state;
        let id = *state.ids.entry(path.to_owned()).or_insert_with(|| {
            state.next_id += 1;
            state.next_id
        });
        let file = state.files.entry(id).or_insert_with(|| FileGaps {
            place: GapPlace::Named(path.to_owned()),
            gaps: Vec::new(),
            file: Arc::new(GapFile {
                id,
                is_whole: AtomicBool::new(false),
            }),
        });
        file.gaps.push(Gap { at, run });
    }

    /// An open file of this name as readers may have it.
    pub(super) fn wrap(
        self: &Arc<Self>,
        path: &Path,
        local: Arc<dyn StorageFile>,
    ) -> Arc<dyn StorageFile> {
        let state = self.state.lock();
        let id = state.ids.get(path);
        let Some(gaps) = id.and_then(|id| state.files.get(id)) else {
            return local;
        };
        let file = Arc::clone(&gaps.file);
        Arc::new(LazyFile::new(local, file, Arc::clone(self)))
    }

    /// Opens a file of the copy for reading.
    ///
    /// # Errors
    /// Those of the copy.
    pub(super) fn open(
        self: &Arc<Self>,
        path: &Path,
    ) -> Result<Arc<dyn StorageFile>, StorageError> {
        Ok(self.wrap(path, self.local.open(path, OpenMode::Read)?))
    }

    /// True if bytes of a range of a file are only in the store.
    pub(super) fn has_gap(&self, file: &GapFile, range: &Range<u64>) -> bool {
        !file.is_whole() && self.state.lock().segment_for(file.id, range).is_some()
    }

    /// Fetches everything.
    ///
    /// # Errors
    /// Errors of the store and the copy.
    pub(super) fn fill_all(&self) -> Result<(), SharedError> {
        loop {
            let state = self.state.lock();
            let Some(file) = state.files.values().next() else {
                return Ok(());
            };
            let file = Arc::clone(&file.file);
            drop(state);
            self.fill(&file, &(0..u64::MAX))?;
        }
    }

    /// Returns once a range of a file has no gap.
    ///
    /// # Errors
    /// Errors of the store and the copy.
    pub(super) fn fill(&self, file: &GapFile, range: &Range<u64>) -> Result<(), SharedError> {
        let mut state = self.state.lock();
        loop {
            let Some(segment) = state.segment_for(file.id, range) else {
                return Ok(());
            };
            if !state.fetching.insert(segment.clone()) {
                self.fetched.wait(&mut state);
                continue;
            }
            let by = self.log.keys.checkpoints();
            let bytes = MutexGuard::unlocked(&mut state, || self.log.segment(&segment, &by));
            let filled = bytes.and_then(|bytes| self.put(&mut state, &segment, &bytes));
            state.fetching.remove(&segment);
            self.fetched.notify_all();
            filled?;
        }
    }

    /// Fills all gaps that a segment has the bytes of.
    fn put(
        &self,
        state: &mut GapState,
        segment: &SegmentName,
        bytes: &[u8],
    ) -> Result<(), SharedError> {
        for gaps in state.files.values_mut() {
            if gaps.gaps.iter().all(|gap| gap.run.segment != *segment) {
                continue;
            }
            let file = match &gaps.place {
                GapPlace::Named(path) => self.local.open(path, OpenMode::Append)?,
                GapPlace::Open(file) => Arc::clone(file),
            };
            for gap in gaps.gaps.iter().filter(|gap| gap.run.segment == *segment) {
                let begin = usize::try_from(gap.run.offset).unwrap_or(usize::MAX);
                let len = usize::try_from(gap.run.len).unwrap_or(usize::MAX);
                let part = bytes.get(begin..).and_then(|rest| rest.get(..len));
                let part = part.ok_or_else(|| {
                    let key = self.log.keys.segment(segment);
                    SharedError::damaged(&key, "a range of a file is not in it")
                })?;
                file.fill(gap.at, part)?;
            }
            gaps.gaps.retain(|gap| gap.run.segment != *segment);
        }
        state.forget_whole();
        Ok(())
    }

    /// Changes the copy by an operation that is no append. Nothing is filled meanwhile, and readers of files that lose their
    /// names go on.
    ///
    /// # Errors
    /// Those of the copy, and of the store before a link: a copy of a gap would be none.
    pub(super) fn change<T>(
        &self,
        operation: &Operation,
        local: impl FnOnce() -> Result<T, StorageError>,
    ) -> Result<T, SharedError> {
        if let Operation::Link { from, .. } = operation {
            self.fill_file(from)?;
        }
        let mut state = self.state.lock();
        if state.files.is_empty() {
            return Ok(local()?);
        }
        match operation {
            Operation::Remove(path) | Operation::RemoveTree(path) => {
                state.keep_open(self.local.as_ref(), path)?;
            }
            Operation::Rename { to, .. } => state.keep_open(self.local.as_ref(), to)?,
            _ => {}
        }
        let done = local()?;
        state.follow(operation);
        Ok(done)
    }

    fn fill_file(&self, path: &Path) -> Result<(), SharedError> {
        let state = self.state.lock();
        let gaps = state.ids.get(path).and_then(|id| state.files.get(id));
        let Some(file) = gaps.map(|gaps| Arc::clone(&gaps.file)) else {
            return Ok(());
        };
        drop(state);
        self.fill(&file, &(0..u64::MAX))
    }

    /// Finds the bytes of all gaps in the segments of a new checkpoint; those of the one before may be removed from now on.
    pub(super) fn follow_checkpoint(&self, table: &FileTable) {
        let mut state = self.state.lock();
        let state = &mut *state;
        for (path, id) in &state.ids {
            let gaps = state.files.get_mut(id);
            if let Some((gaps, file)) = gaps.zip(table.file_at(path)) {
                let old = std::mem::take(&mut gaps.gaps);
                gaps.gaps = (old.into_iter())
                    .flat_map(|gap| in_runs(gap, &file.runs))
                    .collect();
            }
        }
    }
}

/// The parts of a gap as the runs of its file have them; as it is if they have not all of it.
fn in_runs(gap: Gap, runs: &[FileRun]) -> Vec<Gap> {
    let (mut parts, mut at, mut found) = (Vec::new(), 0_u64, 0);
    for run in runs {
        let end = at.saturating_add(run.len);
        let (begin, until) = (gap.at.max(at), gap.end().min(end));
        if begin < until {
            let run = FileRun {
                segment: run.segment.clone(),
                offset: run.offset + (begin - at),
                len: until - begin,
            };
            found += run.len;
            parts.push(Gap { at: begin, run });
        }
        at = end;
    }
    match found == gap.run.len {
        true => parts,
        false => vec![gap],
    }
}

impl GapState {
    /// A segment that has the bytes of a gap in the range.
    fn segment_for(&self, id: u64, range: &Range<u64>) -> Option<SegmentName> {
        let mut gaps = self.files.get(&id)?.gaps.iter();
        let found = gaps.find(|gap| gap.overlaps(range))?;
        Some(found.run.segment.clone())
    }

    fn keep_open(&mut self, local: &dyn Storage, top: &Path) -> Result<(), StorageError> {
        for gaps in self.files.values_mut() {
            if let GapPlace::Named(path) = &gaps.place
                && path.starts_with(top)
                && Arc::strong_count(&gaps.file) > 1
            {
                gaps.place = GapPlace::Open(local.open(path, OpenMode::Append)?);
            }
        }
        Ok(())
    }

    /// Gives files the names that they have after an operation.
    fn follow(&mut self, operation: &Operation) {
        match operation {
            Operation::Remove(path) | Operation::RemoveTree(path) => self.remove(path),
            Operation::Rename { from, to } => {
                if from != to {
                    self.remove(to);
                }
                self.rename(|path| path.starts_with(from).then(|| moved_path(path, from, to)));
            }
            Operation::Exchange { one, other } => {
                self.rename(
                    |path| match (path.starts_with(one), path.starts_with(other)) {
                        (true, _) => Some(moved_path(path, one, other)),
                        (_, true) => Some(moved_path(path, other, one)),
                        (false, false) => None,
                    },
                )
            }
            Operation::Truncate { path, len } => self.truncate(path, *len),
            _ => {}
        }
    }

    fn forget_whole(&mut self) {
        self.files.retain(|_, gaps| {
            let is_whole = gaps.gaps.is_empty();
            if is_whole {
                gaps.file.is_whole.store(true, Ordering::Release);
            }
            !is_whole
        });
        let files = &self.files;
        self.ids.retain(|_, id| files.contains_key(id));
    }

    /// Forgets names below a path. What has readers stays without a name.
    fn remove(&mut self, top: &Path) {
        let removed = self.ids.extract_if(|path, _| path.starts_with(top));
        for (_, id) in removed {
            let is_named = |gaps: &FileGaps| matches!(gaps.place, GapPlace::Named(_));
            if self.files.get(&id).is_some_and(is_named) {
                self.files.remove(&id);
            }
        }
        // Those whose readers have gone meanwhile.
        let ids: BTreeSet<u64> = self.ids.values().copied().collect();
        let is_wanted =
            |id: &u64, gaps: &FileGaps| ids.contains(id) || Arc::strong_count(&gaps.file) > 1;
        self.files.retain(|id, gaps| is_wanted(id, gaps));
    }

    fn rename(&mut self, renamed: impl Fn(&Path) -> Option<PathBuf>) {
        let moved = self.ids.extract_if(|path, _| renamed(path).is_some());
        let moved: Vec<_> = moved.collect();
        for (path, id) in moved {
            let Some(to) = renamed(&path) else { continue };
            if let Some(gaps) = self.files.get_mut(&id)
                && let GapPlace::Named(name) = &mut gaps.place
            {
                name.clone_from(&to);
            }
            self.ids.insert(to, id);
        }
    }

    fn truncate(&mut self, path: &Path, len: u64) {
        let id = self.ids.get(path);
        if let Some(gaps) = id.and_then(|id| self.files.get_mut(id)) {
            gaps.gaps.retain(|gap| gap.at < len);
            for gap in &mut gaps.gaps {
                gap.run.len = gap.run.len.min(len - gap.at);
            }
        }
        self.forget_whole();
    }
}
