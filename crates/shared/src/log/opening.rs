//! Opening a log: from the newest checkpoint that counts, or from its first record.

use super::cursor::Trust;
use super::{Cursor, Log};
use crate::clock::Moment;
use crate::error::SharedError;
use crate::format::{Checkpoint, CheckpointName, Record};

/// Attempts of an opening that begins again because a checkpoint was removed under it.
const ATTEMPTS: usize = 5;

/// Result of [`Log::open`].
#[derive(Debug)]
pub(crate) struct Opened {
    /// Stands behind the record that announces the checkpoint.
    pub(crate) cursor: Cursor,
    /// `None` if the log is read from its first record on.
    pub(crate) checkpoint: Option<Checkpoint>,
}

/// A checkpoint that counts: a record announces it.
#[derive(Clone, Debug)]
pub(crate) struct Announced {
    pub(crate) name: CheckpointName,
    pub(crate) record: Record,
    pub(crate) checksum: u64,
}

/// The checkpoints that records announce, the oldest first. An object without its record is what a process has left that
/// lost the log meanwhile.
///
/// # Errors
/// [`SharedError::Damaged`] for a damaged record; errors of the store.
pub(crate) fn announced_checkpoints(log: &Log) -> Result<Vec<Announced>, SharedError> {
    let objects = log.store.list(&log.keys.checkpoints())?;
    let names = objects
        .iter()
        .filter_map(|object| log.keys.checkpoint_of(&object.key));
    let mut found = Vec::new();
    for name in names {
        found.extend(announcement(log, name)?);
    }
    Ok(found)
}

fn announcement(log: &Log, name: CheckpointName) -> Result<Option<Announced>, SharedError> {
    let key = log.keys.record(name.slot);
    let Some(bytes) = log.store.read(&key)? else {
        return Ok(None);
    };
    let decoded = Record::decode(&bytes);
    let (record, checksum) = decoded.map_err(|reason| SharedError::damaged(&key, reason))?;
    let is_announced = record.announced().as_ref() == Some(&name);
    Ok(is_announced.then_some(Announced {
        name,
        record,
        checksum,
    }))
}

impl Log {
    /// Opens the log at its newest checkpoint.
    ///
    /// # Errors
    /// [`SharedError::Damaged`]; errors of the store.
    pub(crate) fn open(&self) -> Result<Opened, SharedError> {
        let mut last_missing = None;
        for _ in 0..ATTEMPTS {
            let known_at = Moment::now(self.clock.as_ref());
            let all = announced_checkpoints(self)?;
            let trust = Trust::AtEnd(known_at);
            let Some(Announced {
                name,
                record,
                checksum,
            }) = all.into_iter().next_back()
            else {
                let cursor = Cursor::at_start(self.clone(), trust);
                return Ok(Opened {
                    cursor,
                    checkpoint: None,
                });
            };
            match self.checkpoint(&name) {
                Ok(checkpoint) => {
                    let cursor = Cursor::at(self.clone(), (&record, checksum), trust);
                    return Ok(Opened {
                        cursor,
                        checkpoint: Some(checkpoint),
                    });
                }
                Err(error @ SharedError::Missing { .. }) => last_missing = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last_missing.unwrap_or_else(|| self.no_such_log()))
    }

    /// A cursor behind an announcement, or before the first record. The caller goes on to a record that it knows, or that
    /// none was removed between here and the end.
    pub(crate) fn cursor_behind(&self, announced: Option<&Announced>) -> Cursor {
        match announced {
            None => Cursor::at_start(self.clone(), Trust::Chain),
            Some(it) => Cursor::at(self.clone(), (&it.record, it.checksum), Trust::Chain),
        }
    }

    /// # Errors
    /// [`SharedError::Missing`], [`SharedError::Damaged`]; errors of the store.
    pub(crate) fn checkpoint(&self, name: &CheckpointName) -> Result<Checkpoint, SharedError> {
        let key = self.keys.checkpoint(name);
        let Some(bytes) = self.store.read(&key)? else {
            let wanted_by = self.keys.record(name.slot);
            return Err(SharedError::Missing { key, wanted_by });
        };
        let checkpoint = Checkpoint::decode(&bytes);
        let checkpoint = checkpoint.map_err(|reason| SharedError::damaged(&key, reason))?;
        match checkpoint.slot == name.slot {
            true => Ok(checkpoint),
            false => Err(SharedError::damaged(&key, "it names another slot")),
        }
    }
}
