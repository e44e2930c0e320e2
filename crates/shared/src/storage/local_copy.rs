//! The files of a log below a local directory.

use super::gaps::Gaps;
use crate::error::SharedError;
use crate::file_table::FileTable;
use crate::format::{AppendedBytes, FileRun, Operation, SegmentName, TreeEntry};
use crate::log::Log;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::storage::EntryKind;
use varve_base::{OpenMode, Storage, StorageError, StorageFile};

/// Files that stay open for the next append, at most.
const OPEN_FILES: usize = 16;

/// Bytes of a segment at most, as of any object. No file gets room for more, whatever a record claims.
const LONGEST_SEGMENT: u64 = 64 << 20;

/// Changes a local directory as records say.
#[derive(Debug)]
pub(crate) struct LocalCopy {
    local: Arc<dyn Storage>,
    segments: SegmentReader,
    open: HashMap<PathBuf, Arc<dyn StorageFile>>,
    gaps: Arc<Gaps>,
    /// True while bytes of segments are left in the store, as nothing has read the copy yet.
    is_lazy: bool,
}

/// Reads segments, and keeps the last: small files share one.
#[derive(Debug, Default)]
pub(crate) struct SegmentReader(Option<(SegmentName, Vec<u8>)>);

impl SegmentReader {
    /// A range of a segment.
    ///
    /// # Errors
    /// [`SharedError::Missing`], naming `wanted_by`; [`SharedError::Damaged`]; errors of the store.
    pub(crate) fn range(
        &mut self,
        log: &Log,
        name: &SegmentName,
        (offset, len): (u64, u64),
        wanted_by: &str,
    ) -> Result<&[u8], SharedError> {
        if self.0.as_ref().is_none_or(|(last, _)| last != name) {
            self.0 = Some((name.clone(), log.segment(name, wanted_by)?));
        }
        let bytes = self.0.as_ref().map_or(&[][..], |(_, bytes)| bytes);
        let begin = usize::try_from(offset).ok();
        let end = offset
            .checked_add(len)
            .and_then(|end| usize::try_from(end).ok());
        let range = begin
            .zip(end)
            .and_then(|(begin, end)| bytes.get(begin..end));
        range.ok_or_else(|| {
            SharedError::damaged(wanted_by, "it names a range that a segment has not")
        })
    }
}

impl LocalCopy {
    /// A copy that has all bytes.
    pub(crate) fn new(log: &Log, local: Arc<dyn Storage>) -> LocalCopy {
        let gaps = Arc::new(Gaps::new(log.clone(), Arc::clone(&local)));
        LocalCopy {
            local,
            segments: SegmentReader::default(),
            open: HashMap::new(),
            gaps,
            is_lazy: false,
        }
    }

    /// A copy that leaves bytes of segments in the store, until [`LocalCopy::begin_to_be_read`].
    pub(crate) fn lazy(log: &Log, local: Arc<dyn Storage>) -> LocalCopy {
        LocalCopy {
            is_lazy: true,
            ..LocalCopy::new(log, local)
        }
    }

    /// Ranges of the copy that are still in the store.
    pub(crate) fn gaps(&self) -> &Arc<Gaps> {
        &self.gaps
    }

    /// From now on files may be open, and get all bytes at once.
    pub(crate) fn begin_to_be_read(&mut self) {
        self.is_lazy = false;
    }

    /// Adds a range of a segment to a file, which has `at` bytes.
    fn append_run(
        &mut self,
        log: &Log,
        (path, file): (&Path, &dyn StorageFile),
        (at, run): (u64, FileRun),
        wanted_by: &str,
    ) -> Result<(), SharedError> {
        if run.len > LONGEST_SEGMENT {
            return Err(SharedError::damaged(
                wanted_by,
                "it names a range that is longer than any segment",
            ));
        }
        if run.len == 0 {
            return Ok(());
        }
        if self.is_lazy && file.extend(at.saturating_add(run.len))? {
            self.gaps.add(path, at, run);
            return Ok(());
        }
        let range = (run.offset, run.len);
        let bytes = self.segments.range(log, &run.segment, range, wanted_by)?;
        file.append(bytes)?;
        Ok(())
    }

    /// Removes everything, then [`LocalCopy::make`].
    pub(crate) fn fill(&mut self, log: &Log, table: &FileTable) -> Result<(), SharedError> {
        self.clear()?;
        self.make(log, table)
    }

    /// Makes the files of a table whose bytes are all in segments.
    pub(crate) fn make(&mut self, log: &Log, table: &FileTable) -> Result<(), SharedError> {
        let wanted_by = log.keys.checkpoints();
        for (path, entry) in table.to_entries() {
            match entry {
                TreeEntry::Directory => self.local.create_directory(&path)?,
                TreeEntry::Symlink(target) => self.local.create_symlink(&target, &path)?,
                TreeEntry::File(runs) => {
                    let file = self.create(&path)?;
                    let mut at = 0;
                    for run in runs {
                        let len = run.len;
                        let target = (path.as_path(), file.as_ref());
                        self.append_run(log, target, (at, run), &wanted_by)?;
                        at += len;
                    }
                }
            }
        }
        Ok(())
    }

    /// Closes all files: others than this copy are about to change them, or have done so.
    pub(crate) fn close_files(&mut self) {
        self.open.clear();
    }

    fn clear(&mut self) -> Result<(), SharedError> {
        self.open.clear();
        let root = Path::new("");
        self.local.create_directory(root)?;
        for entry in self.local.list(root)? {
            let path = Path::new(&entry.name);
            match entry.kind {
                EntryKind::Directory => self.local.remove_tree(path)?,
                EntryKind::File | EntryKind::Other => self.local.remove(path)?,
            }
        }
        Ok(())
    }

    fn create(&self, path: &Path) -> Result<Arc<dyn StorageFile>, SharedError> {
        if let Some(directory) = path.parent().filter(|it| !it.as_os_str().is_empty()) {
            self.local.create_directory(directory)?;
        }
        Ok(self.local.open(path, OpenMode::CreateNew)?)
    }

    fn file(&mut self, path: &Path) -> Result<Arc<dyn StorageFile>, SharedError> {
        if let Some(file) = self.open.get(path) {
            return Ok(Arc::clone(file));
        }
        if self.open.len() >= OPEN_FILES {
            self.open.clear();
        }
        let file = self.local.open(path, OpenMode::Append)?;
        self.open.insert(path.to_owned(), Arc::clone(&file));
        Ok(file)
    }

    /// Makes one change that `key` names and that the table has accepted.
    pub(crate) fn apply(
        &mut self,
        log: &Log,
        operation: &Operation,
        key: &str,
    ) -> Result<(), SharedError> {
        if !matches!(operation, Operation::Append { .. }) {
            self.open.clear();
        }
        match operation {
            Operation::Create(path) => {
                self.create(path)?;
            }
            Operation::Append {
                path,
                offset: at,
                bytes,
            } => {
                let file = self.file(path)?;
                match bytes {
                    AppendedBytes::Inline(bytes) => {
                        file.append(bytes)?;
                    }
                    AppendedBytes::Segment { name, offset, len } => {
                        let run = FileRun {
                            segment: name.clone(),
                            offset: *offset,
                            len: *len,
                        };
                        self.append_run(log, (path, file.as_ref()), (*at, run), key)?;
                    }
                }
            }
            Operation::Truncate { path, len } => {
                let file = self.file(path)?;
                self.gaps.change(operation, || file.truncate(*len))?;
            }
            other => self.gaps.change(other, || self.change_names(other))?,
        }
        Ok(())
    }

    fn change_names(&self, operation: &Operation) -> Result<(), StorageError> {
        match operation {
            Operation::Rename { from, to } => self.local.rename(from, to),
            Operation::Exchange { one, other } => self.local.exchange(one, other),
            Operation::Remove(path) => self.local.remove(path),
            Operation::RemoveTree(directory) => self.local.remove_tree(directory),
            Operation::CreateDirectory(directory) => self.local.create_directory(directory),
            Operation::Link { from, to } => self.local.link(from, to),
            Operation::Symlink { target, path } => self.local.create_symlink(target, path),
            Operation::Create(_) | Operation::Append { .. } | Operation::Truncate { .. } => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
