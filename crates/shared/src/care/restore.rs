//! The files of a log as they are, or were.

use super::log;
use crate::error::SharedError;
use crate::file_table::FileTable;
use crate::format::{Record, RecordBody};
use crate::log::{Announced, Cursor, Log, LogId, LogOptions, announced_checkpoints};
use crate::storage::LocalCopy;
use crate::store::ObjectStore;
use std::sync::Arc;
use std::time::Duration;
use varve_base::Storage;

/// The state to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestorePoint {
    /// The newest.
    End,
    /// The state after the record in this slot.
    Slot(u64),
    /// The state before the first record that was written after this time since 1970, by the clock of its writer.
    Time(Duration),
}

impl RestorePoint {
    fn includes(self, record: &Record) -> bool {
        match self {
            RestorePoint::End => true,
            RestorePoint::Slot(slot) => record.slot <= slot,
            RestorePoint::Time(time) => Duration::from_micros(record.time) <= time,
        }
    }
}

/// The state that was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restored {
    /// Slot of the last record that it has.
    pub slot: u64,
    /// Time of its record, since 1970 by the writer's clock; `None` for the state of a checkpoint.
    pub time: Option<Duration>,
    /// Length of all files.
    pub bytes: u64,
}

/// Makes the files of a log in an empty storage.
///
/// # Errors
/// [`SharedError::NoSuchLog`], [`SharedError::TooOld`], damage, errors of the store; `local` has any part of the files then.
pub fn restore(
    store: &Arc<dyn ObjectStore>,
    id: &LogId,
    options: &LogOptions,
    (point, local): (RestorePoint, Arc<dyn Storage>),
) -> Result<Restored, SharedError> {
    let log = log(store, None, id, options);
    let announced = announced_checkpoints(&log)?;
    let base = announced.iter().rposition(|it| point.includes(&it.record));
    let next = announced.get(base.map_or(0, |at| at + 1));
    let base = base.map(|at| &announced[at]);
    let mut target = Target::new(&log, local, base)?;
    let mut cursor = log.cursor_behind(base);
    let mut is_inside = true;
    while next.is_none_or(|next| cursor.slot() < next.name.slot) {
        let key = cursor.next_key();
        let Some(record) = cursor.advance()? else {
            break;
        };
        is_inside &= point.includes(&record);
        if is_inside {
            target.apply(&log, record, &key)?;
        }
    }
    check_complete(&log, &cursor, next)?;
    match (target.restored.slot, announced.first()) {
        (0, Some(oldest)) => Err(too_old(&log, oldest)),
        (0, None) => Err(log.no_such_log()),
        _ => Ok(target.finish()),
    }
}

fn too_old(log: &Log, oldest: &Announced) -> SharedError {
    SharedError::TooOld {
        log: log.id.to_string(),
        oldest: oldest.name.slot,
        oldest_time: oldest.record.time / 1_000_000,
    }
}

/// Records are removed once they are old. Those that were read are the right ones if they lead to the announcement of the
/// next checkpoint, or, without one, if there is still no other.
fn check_complete(log: &Log, cursor: &Cursor, next: Option<&Announced>) -> Result<(), SharedError> {
    match next {
        Some(next) if cursor.checksum() == next.checksum => Ok(()),
        Some(next) => Err(too_old(log, next)),
        None => {
            let newest = announced_checkpoints(log)?.pop();
            let is_newest = newest.is_none_or(|it| it.name.slot <= cursor.slot());
            let log = log.id.to_string();
            is_newest
                .then_some(())
                .ok_or(SharedError::PositionCollected { log })
        }
    }
}

struct Target {
    table: FileTable,
    copy: LocalCopy,
    restored: Restored,
}

impl Target {
    fn new(
        log: &Log,
        local: Arc<dyn Storage>,
        base: Option<&Announced>,
    ) -> Result<Target, SharedError> {
        let table = match base {
            Some(base) => FileTable::from_checkpoint(log.checkpoint(&base.name)?),
            None => FileTable::default(),
        };
        let mut copy = LocalCopy::new(log, local);
        copy.make(log, &table)?;
        let slot = base.map_or(0, |it| it.name.slot);
        let restored = Restored {
            slot,
            time: None,
            bytes: 0,
        };
        Ok(Target {
            table,
            copy,
            restored,
        })
    }

    fn apply(&mut self, log: &Log, record: Record, key: &str) -> Result<(), SharedError> {
        self.restored.slot = record.slot;
        self.restored.time = Some(Duration::from_micros(record.time));
        let RecordBody::Operations(operations) = record.body else {
            return Ok(());
        };
        for operation in &operations {
            let applied = self.table.apply(operation);
            applied.map_err(|reason| SharedError::damaged(key, reason))?;
            self.copy.apply(log, operation, key)?;
        }
        Ok(())
    }

    fn finish(self) -> Restored {
        let lengths = self.table.files().map(|(_, file)| file.len);
        let bytes = lengths.fold(0, u64::saturating_add);
        Restored {
            bytes,
            ..self.restored
        }
    }
}
