//! Making a record of the journal.

use super::segment::SegmentWriter;
use super::{LogEnd, Shared};
use crate::error::SharedError;
use crate::format::{AppendedBytes, Operation, RecordBody, SegmentName};
use crate::log::{Appended, Log};
use std::path::Path;
use std::sync::atomic::Ordering;

impl Operation {
    /// Number of bytes that it appends.
    pub(super) fn appended(&self) -> u64 {
        match self {
            Operation::Append { bytes, .. } => bytes.len(),
            _ => 0,
        }
    }

    /// Number of bytes that it appends and that are in no segment.
    fn inline(&self) -> u64 {
        match self {
            Operation::Append {
                bytes: AppendedBytes::Inline(bytes),
                ..
            } => bytes.len() as u64,
            _ => 0,
        }
    }
}

impl Shared {
    /// Returns once all changes that were made before the call are in the log, or at once in a transaction. Callers that wait
    /// for another one's commit share the next.
    ///
    /// # Errors
    /// [`SharedError::must_reopen`] tells whether the changes may be in the log or certainly are not; after any error the
    /// storage accepts nothing more.
    pub(super) fn commit(&self) -> Result<(), SharedError> {
        let mut end = self.end.lock();
        self.ensure_usable()?;
        let is_in_transaction = self.journal.lock().is_in_transaction();
        match is_in_transaction {
            true => Ok(()),
            false => self.commit_at(&mut end),
        }
    }

    /// Makes room in memory for more appends: commits, or stores the bytes of a transaction as segments for the record to come.
    ///
    /// # Errors
    /// As [`Shared::commit`].
    pub(super) fn drain(&self) -> Result<(), SharedError> {
        let mut end = self.end.lock();
        self.ensure_usable()?;
        let operations = {
            let mut journal = self.journal.lock();
            if !journal.is_full() {
                return Ok(());
            }
            journal.is_in_transaction().then(|| journal.take())
        };
        let Some(operations) = operations else {
            return self.commit_at(&mut end);
        };
        // Nothing else makes a record before the transaction ends, so its slot is known.
        let slot = end.cursor.slot().saturating_add(1);
        let stored = to_segments(&self.log, operations, slot);
        let mut journal = self.journal.lock();
        match stored {
            Ok(operations) => {
                journal.put_back(operations);
                Ok(())
            }
            Err(error) => {
                // What was noted is lost.
                journal.abandon(&error);
                Err(error)
            }
        }
    }

    fn commit_at(&self, end: &mut LogEnd) -> Result<(), SharedError> {
        let operations = self.journal.lock().take();
        if operations.is_empty() {
            return Ok(());
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let done = self.append(end, operations);
        if let Err(error) = &done {
            self.journal.lock().abandon(error);
        }
        done?;
        end.confirmed = number;
        if self.is_checkpoint_due(end) {
            // The commit is in the log whatever becomes of the checkpoint; the next commit tries again, or says that the
            // log was lost meanwhile.
            let _ = self.write_checkpoint(end);
        }
        Ok(())
    }

    /// Commits what was changed, and follows the log from then on.
    ///
    /// # Errors
    /// As [`Shared::commit`].
    pub(super) fn release(&self) -> Result<(), SharedError> {
        loop {
            self.wait_for_transaction();
            let mut end = self.end.lock();
            self.ensure_usable()?;
            if end.owned_epoch.is_none() {
                return Ok(());
            }
            if self.journal.lock().is_in_transaction() {
                continue;
            }
            self.commit_at(&mut end)?;
            // The checkpoint behind the commit may have failed, after which the position counts no more.
            self.ensure_usable()?;
            let mut journal = self.journal.lock();
            // Another thread may have changed something since, or begun to.
            if journal.is_empty() && !journal.is_in_transaction() {
                journal.refuse_writes();
                end.owned_epoch = None;
                // The owner has changed files without them.
                end.copy.close_files();
                return Ok(());
            }
        }
    }

    fn append(&self, end: &mut LogEnd, operations: Vec<Operation>) -> Result<(), SharedError> {
        let log = self.log.id.to_string();
        let Some(epoch) = end.owned_epoch else {
            return Err(SharedError::NotOwner { log });
        };
        let appended = operations.iter().map(Operation::appended).sum::<u64>();
        let inline = operations.iter().map(Operation::inline).sum::<u64>();
        let operations = match inline > self.log.options.inline_bytes {
            true => to_segments(&self.log, operations, end.cursor.slot().saturating_add(1))?,
            false => operations,
        };
        let key = end.cursor.next_key();
        let body = RecordBody::Operations(operations.clone());
        match end.cursor.append(epoch, body)? {
            Appended::SlotTaken => Err(self.fenced()),
            Appended::Done => {
                for operation in &operations {
                    let applied = end.table.apply(operation);
                    applied.map_err(|reason| SharedError::damaged(&key, reason))?;
                }
                end.slots_since_checkpoint += 1;
                end.bytes_since_checkpoint += appended;
                Ok(())
            }
        }
    }

    fn is_checkpoint_due(&self, end: &LogEnd) -> bool {
        let options = &self.log.options;
        end.slots_since_checkpoint >= options.checkpoint_slots
            || end.bytes_since_checkpoint >= options.checkpoint_bytes
    }
}

/// Moves all appended bytes into segments for the record in `slot`.
pub(crate) fn to_segments(
    log: &Log,
    operations: Vec<Operation>,
    slot: u64,
) -> Result<Vec<Operation>, SharedError> {
    let mut packer = Packer {
        segment: SegmentWriter::new(log, slot),
        waiting: Vec::new(),
        out: Vec::new(),
    };
    for operation in operations {
        match operation {
            Operation::Append {
                path,
                offset,
                bytes: AppendedBytes::Inline(bytes),
            } => {
                packer.append(&path, offset, &bytes)?;
            }
            other => packer.out.push(other),
        }
    }
    packer.finish()
}

struct Packer<'l> {
    segment: SegmentWriter<'l>,
    /// Positions in `out` of the appends that wait for the segment's name.
    waiting: Vec<usize>,
    out: Vec<Operation>,
}

impl Packer<'_> {
    fn append(&mut self, path: &Path, mut offset: u64, bytes: &[u8]) -> Result<(), SharedError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = self.segment.room();
            if room == 0 {
                self.close()?;
                continue;
            }
            let (now, later) = rest.split_at(room.min(rest.len()));
            let (at, len) = (self.segment.push(now), now.len() as u64);
            self.waiting.push(self.out.len());
            // The name follows once the segment is full.
            let name = SegmentName {
                slot: self.segment.slot(),
                hash: [0; 16],
                nonce: [0; 16],
            };
            let bytes = AppendedBytes::Segment {
                name,
                offset: at,
                len,
            };
            self.out.push(Operation::Append {
                path: path.to_owned(),
                offset,
                bytes,
            });
            offset += len;
            rest = later;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), SharedError> {
        let Some(stored) = self.segment.close()? else {
            return Ok(());
        };
        for at in self.waiting.drain(..) {
            if let Operation::Append {
                bytes: AppendedBytes::Segment { name, .. },
                ..
            } = &mut self.out[at]
            {
                name.clone_from(&stored);
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Result<Vec<Operation>, SharedError> {
        self.close()?;
        Ok(self.out)
    }
}
