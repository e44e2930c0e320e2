//! Making a checkpoint: what only records have goes into segments, then a record announces the list of all files.

use super::gaps::Gaps;
use super::segment::SegmentWriter;
use super::{LogEnd, Shared};
use crate::error::SharedError;
use crate::file_table::FileTable;
use crate::format::{Checkpoint, CheckpointName, FileRun, RecordBody, nonce};
use crate::log::{Appended, Cursor, Log};
use std::path::{Path, PathBuf};
use std::sync::Arc;

impl Shared {
    /// Makes a checkpoint, unless changes wait for a commit: the local copy is ahead of the log then. Writers wait
    /// meanwhile.
    ///
    /// # Errors
    /// As of a commit. The storage goes on unless it cannot know the end of the log any more.
    pub(super) fn write_checkpoint(&self, end: &mut LogEnd) -> Result<(), SharedError> {
        let mut journal = self.journal.lock();
        let Some(epoch) = end.owned_epoch.filter(|_| journal.is_empty()) else {
            return Ok(());
        };
        let done = self.seal_and_announce(end, epoch);
        if let Some(error) = done.as_ref().err().filter(|error| error.must_reopen()) {
            journal.abandon(error);
        }
        done
    }

    fn seal_and_announce(&self, end: &mut LogEnd, epoch: u64) -> Result<(), SharedError> {
        let slot = end.cursor.slot().saturating_add(1);
        let table = seal(&self.log, &self.gaps, end.table.clone(), slot)?;
        match announce(&self.log, &mut end.cursor, epoch, &table)? {
            Appended::SlotTaken => Err(self.fenced()),
            Appended::Done => {
                self.gaps.follow_checkpoint(&table);
                end.table = table;
                end.slots_since_checkpoint = 0;
                end.bytes_since_checkpoint = 0;
                Ok(())
            }
        }
    }
}

/// Stores the list of all files, whose bytes must all be in segments, and announces it at the end of the log.
///
/// # Errors
/// As of a commit.
pub(crate) fn announce(
    log: &Log,
    cursor: &mut Cursor,
    epoch: u64,
    table: &FileTable,
) -> Result<Appended, SharedError> {
    let slot = cursor.slot().saturating_add(1);
    let nonce = nonce()?;
    let name = CheckpointName { slot, nonce };
    let entries = table.to_entries();
    let checkpoint = Checkpoint { slot, entries };
    log.create(&log.keys.checkpoint(&name), &checkpoint.encode())?;
    cursor.append(epoch, RecordBody::Checkpoint(nonce))
}

/// A range of a file that is to be stored.
struct Unsealed {
    path: PathBuf,
    from: u64,
    to: u64,
}

/// Stores all bytes that are in no segment. Runs at the end of a file that are not much longer than these are stored again
/// with them, so that a file has few runs however often it is sealed.
fn seal(
    log: &Log,
    local: &Arc<Gaps>,
    mut table: FileTable,
    slot: u64,
) -> Result<FileTable, SharedError> {
    let limit = log.options.segment_bytes as u64;
    let mut unsealed = Vec::new();
    for (path, file) in table.files_mut() {
        if file.sealed == file.len {
            continue;
        }
        while let Some(last) = file.runs.last() {
            let rest = file.len - file.sealed;
            if last.len >= rest.saturating_mul(2) || rest + last.len > limit {
                break;
            }
            file.sealed -= last.len;
            file.runs.pop();
        }
        let (path, from, to) = (path.to_owned(), file.sealed, file.len);
        unsealed.push(Unsealed { path, from, to });
    }
    let mut packer = RunPacker {
        segment: SegmentWriter::new(log, slot),
        waiting: Vec::new(),
        done: Vec::new(),
    };
    for Unsealed { path, from, to } in &unsealed {
        packer.store(local, path, *from..*to)?;
    }
    packer.close()?;
    let mut done = packer.done.into_iter().peekable();
    for (path, file) in table.files_mut() {
        while let Some((_, run)) = done.next_if(|(of, _)| of == path) {
            file.sealed += run.len;
            file.runs.push(run);
        }
    }
    Ok(table)
}

struct RunPacker<'l> {
    segment: SegmentWriter<'l>,
    /// File, position in the segment, length.
    waiting: Vec<(PathBuf, u64, u64)>,
    done: Vec<(PathBuf, FileRun)>,
}

impl RunPacker<'_> {
    fn store(
        &mut self,
        local: &Arc<Gaps>,
        path: &Path,
        range: std::ops::Range<u64>,
    ) -> Result<(), SharedError> {
        let file = local.open(path)?;
        let mut from = range.start;
        while from < range.end {
            let room = self.segment.room();
            if room == 0 {
                self.close()?;
                continue;
            }
            let len = usize::try_from(range.end - from)
                .unwrap_or(usize::MAX)
                .min(room);
            let bytes = file.read_vec(from, len)?;
            let at = self.segment.push(&bytes);
            self.waiting.push((path.to_owned(), at, len as u64));
            from += len as u64;
        }
        Ok(())
    }

    fn close(&mut self) -> Result<(), SharedError> {
        let Some(segment) = self.segment.close()? else {
            return Ok(());
        };
        let named = |(path, offset, len)| {
            (
                path,
                FileRun {
                    segment: segment.clone(),
                    offset,
                    len,
                },
            )
        };
        self.done.extend(self.waiting.drain(..).map(named));
        Ok(())
    }
}
