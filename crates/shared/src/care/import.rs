//! Bringing local files into a log, or a log up to date with local files.

use super::log;
use crate::error::SharedError;
use crate::file_table::{FileTable, TableFile};
use crate::format::{AppendedBytes, CheckpointName, Operation, RecordBody};
use crate::log::{Appended, Cursor, Log, LogId, LogOptions, Opened};
use crate::storage::announce;
use crate::store::ObjectStore;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{OpenMode, Storage, StorageFile};

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

/// Makes files of a log equal to local ones: all of them at once, or none. Each file is a path in `source` with the path
/// that it gets in the log; other files of the log stay. The beginning of a file that the log has already is not stored
/// again: it is compared by the hashes of segments. Local files may grow meanwhile; later bytes are left for the next
/// time.
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
    let mut operations = Vec::new();
    for (from, to) in files {
        let file = source.open(from, OpenMode::Read)?;
        file.pin()?;
        // A fence comes before the record.
        let slot = cursor.slot().saturating_add(2);
        let mut update = Update {
            log: &log,
            slot,
            file,
            operations: &mut operations,
        };
        let there = table
            .files()
            .find(|(path, _)| path == to)
            .map(|(_, file)| file);
        let (stored, kept) = update.bring(to, there)?;
        imported.stored += stored;
        imported.kept += kept;
    }
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

struct End {
    cursor: Cursor,
    table: FileTable,
    /// Records behind the newest checkpoint.
    records: u64,
}

/// The end of a log, with its files.
fn end_of(log: &Log) -> Result<End, SharedError> {
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

struct Update<'a> {
    log: &'a Log,
    /// Of the record that is going to have the operations.
    slot: u64,
    file: Arc<dyn StorageFile>,
    operations: &'a mut Vec<Operation>,
}

impl Update<'_> {
    /// Notes the operations that make the file of the log equal to the local one; returns the bytes that were stored and
    /// those that were there.
    fn bring(&mut self, to: &Path, there: Option<&TableFile>) -> Result<(u64, u64), SharedError> {
        let total = self.file.len()?;
        let kept = match there {
            Some(there) => self.equal_beginning(there, total)?,
            None => 0,
        };
        match there {
            Some(there) if there.len > kept => {
                let path = to.to_owned();
                self.operations
                    .push(Operation::Truncate { path, len: kept });
            }
            Some(_) => {}
            None => {
                if let Some(directory) = to.parent().filter(|it| !it.as_os_str().is_empty()) {
                    self.operations
                        .push(Operation::CreateDirectory(directory.to_owned()));
                }
                self.operations.push(Operation::Create(to.to_owned()));
            }
        }
        let mut offset = kept;
        while offset < total {
            let rest = usize::try_from(total - offset).unwrap_or(usize::MAX);
            let bytes = self
                .file
                .read_vec(offset, rest.min(self.log.options.segment_bytes))?;
            let len = bytes.len() as u64;
            let name = self.log.put_segment(&bytes, self.slot)?;
            let bytes = AppendedBytes::Segment {
                name,
                offset: 0,
                len,
            };
            let path = to.to_owned();
            self.operations.push(Operation::Append {
                path,
                offset,
                bytes,
            });
            offset += len;
        }
        Ok((total - kept, kept))
    }

    /// Length of the runs at the beginning that are whole segments with the bytes of the local file.
    fn equal_beginning(&self, there: &TableFile, total: u64) -> Result<u64, SharedError> {
        let mut equal = 0;
        for run in &there.runs {
            let is_inside = run.offset == 0 && run.len <= total - equal;
            let len = usize::try_from(run.len).ok().filter(|_| is_inside);
            let Some(len) = len else { break };
            if !run.segment.is_of(&self.file.read_vec(equal, len)?) {
                break;
            }
            equal += run.len;
        }
        Ok(equal)
    }
}
