//! Removal of what no opening, restore or checkpoint can need.
//!
//! Only the record in the slot of its name can be the first to need a segment, and only that record can announce a
//! checkpoint. So once a slot is taken, and behind it a checkpoint is announced, all that is named after the slot and that
//! nothing kept needs is garbage, whatever a paused process still plans. Records go lowest first: a process that finds
//! its own position knows that no later one is gone.

use super::log;
use crate::clock::Clock;
use crate::error::SharedError;
use crate::file_table::FileTable;
use crate::format::{AppendedBytes, CheckpointName, Operation, RecordBody, SegmentName};
use crate::log::{Announced, Log, LogId, LogOptions, announced_checkpoints};
use crate::store::{ObjectInfo, ObjectStore};
use std::collections::BTreeSet;
use std::ops::AddAssign;
use std::sync::Arc;

/// Objects that were removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// Records of the log.
    pub records: u64,
    /// Checkpoints, those that were never announced, too.
    pub checkpoints: u64,
    /// Segments.
    pub segments: u64,
    /// Length of all of these.
    pub bytes: u64,
}

impl AddAssign for Collected {
    fn add_assign(&mut self, other: Collected) {
        self.records += other.records;
        self.checkpoints += other.checkpoints;
        self.segments += other.segments;
        self.bytes += other.bytes;
    }
}

/// Removes what a log needs neither now nor for restores to any time within [`LogOptions::retention`]. Other processes may
/// use the log meanwhile. `clock` is the system's unless it is given.
///
/// # Errors
/// Damage, which ends it before anything is removed; errors of the store.
pub fn collect_garbage(
    store: &Arc<dyn ObjectStore>,
    clock: Option<Arc<dyn Clock>>,
    id: &LogId,
    options: &LogOptions,
) -> Result<Collected, SharedError> {
    let log = log(store, clock, id, options);
    let objects = store.list(&log.keys.checkpoints())?;
    let announced = announced_checkpoints(&log)?;
    let Some((oldest, newest)) = kept_range(&log, &objects, &announced) else {
        return Ok(Collected::default());
    };
    let needed = needed_segments(&log, &announced[oldest..])?;
    let (oldest, newest) = (&announced[oldest].name, &announced[newest].name);
    let is_announced = |name: &CheckpointName| announced.iter().any(|it| it.name == *name);
    let mut collected = Collected::default();
    for object in objects {
        let Some(name) = log.keys.checkpoint_of(&object.key) else {
            continue;
        };
        if name.slot < oldest.slot || name.slot <= newest.slot && !is_announced(&name) {
            remove(
                &log,
                &object,
                (&mut collected.checkpoints, &mut collected.bytes),
            )?;
        }
    }
    for object in store.list(&log.keys.records())? {
        let slot = log.keys.slot_of(&object.key);
        if slot.is_some_and(|slot| slot < oldest.slot) {
            remove(
                &log,
                &object,
                (&mut collected.records, &mut collected.bytes),
            )?;
        }
    }
    for object in store.list(&log.keys.segments())? {
        let Some(name) = log.keys.segment_of(&object.key) else {
            continue;
        };
        if name.slot <= newest.slot && !needed.contains(&name) {
            remove(
                &log,
                &object,
                (&mut collected.segments, &mut collected.bytes),
            )?;
        }
    }
    Ok(collected)
}

fn remove(
    log: &Log,
    object: &ObjectInfo,
    (count, bytes): (&mut u64, &mut u64),
) -> Result<(), SharedError> {
    log.store.remove(&object.key)?;
    *count += 1;
    *bytes += object.len;
    Ok(())
}

/// Positions in `announced` of the oldest checkpoint that is kept, and of the newest. The oldest is the last one that was
/// there for the whole retention time, so that every moment within it can be restored. `None` if there is no such one:
/// all is kept.
fn kept_range(
    log: &Log,
    objects: &[ObjectInfo],
    announced: &[Announced],
) -> Option<(usize, usize)> {
    let newest = announced.len().checked_sub(1)?;
    let now = log.clock.wall();
    let is_old = |announced: &Announced| {
        let key = log.keys.checkpoint(&announced.name);
        let object = objects.iter().find(|object| object.key == key);
        object.is_some_and(|it| it.modified.saturating_add(log.options.retention) < now)
    };
    Some((announced.iter().rposition(is_old)?, newest))
}

/// Segments of the checkpoints that are kept, and of all records behind the first of these.
fn needed_segments(log: &Log, kept: &[Announced]) -> Result<BTreeSet<SegmentName>, SharedError> {
    let mut needed = BTreeSet::new();
    for announced in kept {
        let checkpoint = log.checkpoint(&announced.name)?;
        needed.append(&mut FileTable::from_checkpoint(checkpoint).segments());
    }
    let mut cursor = log.cursor_behind(kept.first());
    while let Some(record) = cursor.advance()? {
        let RecordBody::Operations(operations) = record.body else {
            continue;
        };
        for operation in operations {
            if let Operation::Append {
                bytes: AppendedBytes::Segment { name, .. },
                ..
            } = operation
            {
                needed.insert(name);
            }
        }
    }
    // Another process may be collecting, too: it must not have cut the walk short.
    let last = kept.last().map_or(0, |it| it.name.slot);
    if cursor.slot() < last {
        let log = log.id.to_string();
        return Err(SharedError::PositionCollected { log });
    }
    Ok(needed)
}
