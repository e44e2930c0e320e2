//! Bringing local files into a log, or a log up to date with local files.

use super::log;
use crate::error::SharedError;
use crate::file_table::{FileTable, TableFile};
use crate::format::{AppendedBytes, CheckpointName, Operation, RecordBody};
use crate::log::{Appended, Cursor, Log, LogId, LogOptions, Opened};
use crate::storage::{SegmentReader, announce, to_segments};
use crate::store::ObjectStore;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{OpenMode, Storage, StorageFile};

/// Up to so many bytes of a file share segments with those of others.
const SHORT: u64 = 64 << 10;

/// Result of [`import`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Imported {
    /// Bytes that were stored.
    pub stored: u64,
    /// Bytes that the log had already.
    pub kept: u64,
    /// Slot of the last record.
    pub slot: u64,
}

/// Makes the files of a log equal to local ones: all of them at once, or none. Each file is a path in `source` with the path
/// that it gets in the log; other files of the log are removed. The beginning of a file that the log has already is not stored
/// again: it is compared by the hashes of segments, and short files by their bytes. Local files may grow meanwhile; later bytes are
/// left for the next time.
///
/// Takes the log over, so that an owner that writes to it is refused.
///
/// # Errors
/// [`SharedError::Fenced`] if another process wrote meanwhile; errors of the source and the store.
pub fn import(
    store: &Arc<dyn ObjectStore>,
    id: &LogId,
    options: &LogOptions,
    (source, files): (&dyn Storage, &[(PathBuf, PathBuf)]),
) -> Result<Imported, SharedError> {
    let log = log(store, None, id, options);
    let End {
        mut cursor,
        mut table,
        records,
    } = end_of(&log)?;
    let mut imported = Imported {
        slot: cursor.slot(),
        ..Imported::default()
    };
    // A fence comes before the record.
    let mut update = Update::new(&log, cursor.slot().saturating_add(2));
    for (from, to) in files {
        let file = source.open(from, OpenMode::Read)?;
        file.pin()?;
        let (stored, kept) = update.bring(file.as_ref(), to, table.file_at(to))?;
        imported.stored += stored;
        imported.kept += kept;
    }
    let wanted: BTreeSet<&Path> = files.iter().map(|(_, to)| to.as_path()).collect();
    let others = table.files().map(|(path, _)| path);
    let others = others.filter(|path| !wanted.contains(path));
    update
        .done
        .extend(others.map(|path| Operation::Remove(path.to_owned())));
    let operations = update.finish()?;
    if operations.is_empty() {
        return Ok(imported);
    }
    let epoch = cursor.epoch().saturating_add(1);
    let key = log.keys.record(cursor.slot().saturating_add(2));
    apply(&mut table, &operations, &key)?;
    for body in [RecordBody::Fence, RecordBody::Operations(operations)] {
        if let Appended::SlotTaken = cursor.append(epoch, body)? {
            let log = id.to_string();
            return Err(SharedError::Fenced { log });
        }
    }
    let is_sealed = table.files().all(|(_, file)| file.sealed == file.len);
    if is_sealed && records + 2 >= options.checkpoint_slots {
        // The files are in the log whatever becomes of the checkpoint; the next import tries again.
        let _ = announce(&log, &mut cursor, epoch, &table);
    }
    imported.slot = cursor.slot();
    Ok(imported)
}

fn apply(table: &mut FileTable, operations: &[Operation], key: &str) -> Result<(), SharedError> {
    let mut all = operations.iter();
    let applied = all.try_for_each(|operation| table.apply(operation));
    applied.map_err(|reason| SharedError::damaged(key, reason))
}

pub(super) struct End {
    cursor: Cursor,
    pub(super) table: FileTable,
    /// Records behind the newest checkpoint.
    records: u64,
}

/// The end of a log, with its files.
pub(super) fn end_of(log: &Log) -> Result<End, SharedError> {
    let Opened {
        mut cursor,
        checkpoint,
    } = log.open()?;
    let mut table = checkpoint
        .map(FileTable::from_checkpoint)
        .unwrap_or_default();
    let mut records = 0;
    loop {
        let key = cursor.next_key();
        let Some(record) = cursor.advance()? else {
            return Ok(End {
                cursor,
                table,
                records,
            });
        };
        records += 1;
        match record.body {
            RecordBody::Fence => {}
            RecordBody::Operations(operations) => apply(&mut table, &operations, &key)?,
            RecordBody::Checkpoint(nonce) => {
                let slot = record.slot;
                let name = CheckpointName { slot, nonce };
                table = FileTable::from_checkpoint(log.checkpoint(&name)?);
                records = 0;
            }
        }
    }
}

struct Update<'l> {
    log: &'l Log,
    /// Of the record that is going to have the operations.
    slot: u64,
    segments: SegmentReader,
    directories: BTreeSet<PathBuf>,
    /// Operations whose bytes are stored.
    done: Vec<Operation>,
    /// Operations whose bytes, so many, are going to share segments.
    short: Vec<Operation>,
    short_bytes: u64,
}

impl<'l> Update<'l> {
    fn new(log: &'l Log, slot: u64) -> Update<'l> {
        Update {
            log,
            slot,
            segments: SegmentReader::default(),
            directories: BTreeSet::new(),
            done: Vec::new(),
            short: Vec::new(),
            short_bytes: 0,
        }
    }

    /// Notes the operations that make the file of the log equal to the local one; returns the bytes that are to be stored and
    /// those that were there.
    fn bring(
        &mut self,
        file: &dyn StorageFile,
        to: &Path,
        there: Option<&TableFile>,
    ) -> Result<(u64, u64), SharedError> {
        let total = file.len()?;
        let kept = match there {
            Some(there) => self.equal_beginning(file, there, total)?,
            None => 0,
        };
        let mut operations = self.preparation(to, there, kept);
        if total - kept <= SHORT {
            let len = usize::try_from(total - kept).unwrap_or(usize::MAX);
            let bytes = AppendedBytes::Inline(file.read_vec(kept, len)?);
            let path = to.to_owned();
            operations.extend((len > 0).then_some(Operation::Append {
                path,
                offset: kept,
                bytes,
            }));
            self.short.append(&mut operations);
            self.short_bytes += total - kept;
            if self.short_bytes > self.log.options.segment_bytes as u64 {
                self.store_short()?;
            }
        } else {
            self.done.append(&mut operations);
            self.store(file, to, kept..total)?;
        }
        Ok((total - kept, kept))
    }

    /// Operations before the appends.
    fn preparation(&mut self, to: &Path, there: Option<&TableFile>, kept: u64) -> Vec<Operation> {
        let path = to.to_owned();
        match there {
            Some(there) if there.len > kept => vec![Operation::Truncate { path, len: kept }],
            Some(_) => Vec::new(),
            None => {
                let directory = to.parent().filter(|it| !it.as_os_str().is_empty());
                if let Some(directory) = directory
                    && self.directories.insert(directory.to_owned())
                {
                    // Files of either list may be in it.
                    let directory = directory.to_owned();
                    self.done.push(Operation::CreateDirectory(directory));
                }
                vec![Operation::Create(path)]
            }
        }
    }

    /// Stores a range of a file in segments of its own, by whose hashes it can be compared the next time.
    fn store(
        &mut self,
        file: &dyn StorageFile,
        to: &Path,
        range: Range<u64>,
    ) -> Result<(), SharedError> {
        let mut offset = range.start;
        while offset < range.end {
            let rest = usize::try_from(range.end - offset).unwrap_or(usize::MAX);
            let bytes = file.read_vec(offset, rest.min(self.log.options.segment_bytes))?;
            let len = bytes.len() as u64;
            let name = self.log.put_segment(&bytes, self.slot)?;
            let bytes = AppendedBytes::Segment {
                name,
                offset: 0,
                len,
            };
            let path = to.to_owned();
            self.done.push(Operation::Append {
                path,
                offset,
                bytes,
            });
            offset += len;
        }
        Ok(())
    }

    fn store_short(&mut self) -> Result<(), SharedError> {
        self.short_bytes = 0;
        let short = std::mem::take(&mut self.short);
        self.done.extend(to_segments(self.log, short, self.slot)?);
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Operation>, SharedError> {
        self.store_short()?;
        Ok(self.done)
    }

    /// Length of the runs at the beginning that have the bytes of the local file.
    fn equal_beginning(
        &mut self,
        file: &dyn StorageFile,
        there: &TableFile,
        total: u64,
    ) -> Result<u64, SharedError> {
        let mut equal = 0;
        for run in &there.runs {
            let len = usize::try_from(run.len).ok();
            let Some(len) = len.filter(|_| run.len <= total - equal) else {
                break;
            };
            let bytes = file.read_vec(equal, len)?;
            // A run that has a whole segment is long, unless that is the last one.
            let is_equal = match run.offset == 0 && run.segment.is_of(&bytes) {
                true => true,
                false if run.len > SHORT => false,
                false => {
                    let (range, by) = ((run.offset, run.len), self.log.id.to_string());
                    let stored = self.segments.range(self.log, &run.segment, range, &by)?;
                    stored == bytes
                }
            };
            if !is_equal {
                break;
            }
            equal += run.len;
        }
        Ok(equal)
    }
}
