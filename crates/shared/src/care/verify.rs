//! Reading everything that a log has.

use super::log;
use crate::error::SharedError;
use crate::file_table::FileTable;
use crate::format::{AppendedBytes, Operation, RecordBody, SegmentName};
use crate::log::{Announced, Log, LogId, LogOptions, announced_checkpoints};
use crate::store::ObjectStore;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

/// The parts of a log, and what is wrong with them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct VerifyReport {
    /// Records.
    pub records: u64,
    /// Checkpoints that records announce.
    pub checkpoints: u64,
    /// Of these, checkpoints behind which records are missing although there are newer ones: a process that was paused for
    /// longer than the retention time leaves one, or the records were lost. Only states between it and the next checkpoint
    /// cannot be restored.
    pub leftovers: u64,
    /// Segments that records and checkpoints name.
    pub segments: u64,
    /// Length of these segments.
    pub segment_bytes: u64,
    /// Slot of the last record.
    pub last_slot: u64,
    /// Damage, one line each.
    pub findings: Vec<String>,
}

/// Reads all records, checkpoints and segments of a log, and checks that they fit together. Other processes may use the
/// log, but not collect garbage, meanwhile.
///
/// # Errors
/// [`SharedError::NoSuchLog`]; errors of the store. Damage is a finding.
pub fn verify(
    store: &Arc<dyn ObjectStore>,
    id: &LogId,
    options: &LogOptions,
) -> Result<VerifyReport, SharedError> {
    let log = log(store, None, id, options);
    let mut report = VerifyReport::default();
    let records = store.list(&log.keys.records())?;
    let slots = records.iter().filter_map(|it| log.keys.slot_of(&it.key));
    let slots: BTreeSet<u64> = slots.collect();
    let Some(&newest) = slots.last() else {
        return Err(log.no_such_log());
    };
    let announced = match announced_checkpoints(&log) {
        Ok(announced) => announced,
        Err(error) => {
            note(&mut report, error)?;
            return Ok(report);
        }
    };
    report.checkpoints = announced.len() as u64;
    let mut walk = Walk {
        log: &log,
        segments: BTreeMap::new(),
        report,
    };
    let leads_on = |it: &Announced| slots.contains(&(it.name.slot.saturating_add(1)));
    let last = announced.len().saturating_sub(1);
    let first = announced[..last].iter().position(leads_on);
    let first = first.unwrap_or(last);
    walk.report.leftovers = first as u64;
    walk.records(&announced[first..])?;
    if walk.report.last_slot < newest && walk.report.findings.is_empty() {
        let key = log.keys.record(walk.report.last_slot.saturating_add(1));
        let wanted_by = log.keys.record(newest);
        note(&mut walk.report, SharedError::Missing { key, wanted_by })?;
    }
    walk.read_segments()?;
    Ok(walk.report)
}

/// Damage goes into the report; other errors end the verification.
fn note(report: &mut VerifyReport, error: SharedError) -> Result<(), SharedError> {
    match error {
        SharedError::Damaged { .. } | SharedError::Missing { .. } => {
            report.findings.push(error.to_string());
            Ok(())
        }
        error => Err(error),
    }
}

struct Walk<'l> {
    log: &'l Log,
    /// Each segment with the largest end of a range of it, and the first object that names it.
    segments: BTreeMap<SegmentName, (u64, String)>,
    report: VerifyReport,
}

impl Walk<'_> {
    /// Reads from the oldest checkpoint to the end.
    fn records(&mut self, announced: &[Announced]) -> Result<(), SharedError> {
        let mut table = FileTable::default();
        if let Some(oldest) = announced.first() {
            self.report.records += 1;
            self.report.last_slot = oldest.name.slot;
            match self.table_of(oldest)? {
                Some(first) => table = first,
                None => return Ok(()),
            }
        }
        let mut cursor = self.log.cursor_behind(announced.first());
        let last = announced.last().map_or(0, |it| it.name.slot);
        loop {
            let key = cursor.next_key();
            let record = match cursor.advance() {
                Ok(Some(record)) => record,
                Ok(None) if cursor.slot() >= last => return Ok(()),
                Ok(None) => {
                    let wanted_by = self.log.keys.record(last);
                    return note(&mut self.report, SharedError::Missing { key, wanted_by });
                }
                Err(error) => return note(&mut self.report, error),
            };
            self.report.records += 1;
            self.report.last_slot = record.slot;
            match record.body {
                RecordBody::Fence => {}
                RecordBody::Operations(operations) => {
                    for operation in &operations {
                        self.name_segment(operation, &key);
                        if let Err(reason) = table.apply(operation) {
                            return note(&mut self.report, SharedError::damaged(&key, reason));
                        }
                    }
                }
                RecordBody::Checkpoint(_) => {
                    let found = announced.iter().find(|it| it.name.slot == record.slot);
                    let Some(found) = found else { continue };
                    let Some(of_checkpoint) = self.table_of(found)? else {
                        return Ok(());
                    };
                    if lengths(&of_checkpoint) != lengths(&table) {
                        let key = self.log.keys.checkpoint(&found.name);
                        let reason = "its files are not those of the records before it";
                        note(&mut self.report, SharedError::damaged(&key, reason))?;
                    }
                    table = of_checkpoint;
                }
            }
        }
    }

    fn table_of(&mut self, announced: &Announced) -> Result<Option<FileTable>, SharedError> {
        let checkpoint = match self.log.checkpoint(&announced.name) {
            Ok(checkpoint) => checkpoint,
            Err(error) => return note(&mut self.report, error).map(|()| None),
        };
        let table = FileTable::from_checkpoint(checkpoint);
        let key = self.log.keys.checkpoint(&announced.name);
        for run in table.files().flat_map(|(_, file)| &file.runs) {
            self.name(&run.segment, run.offset.saturating_add(run.len), &key);
        }
        Ok(Some(table))
    }

    fn name_segment(&mut self, operation: &Operation, key: &str) {
        if let Operation::Append {
            bytes: AppendedBytes::Segment { name, offset, len },
            ..
        } = operation
        {
            self.name(name, offset.saturating_add(*len), key);
        }
    }

    fn name(&mut self, segment: &SegmentName, end: u64, key: &str) {
        let new = || (0, key.to_owned());
        let entry = self.segments.entry(segment.clone()).or_insert_with(new);
        entry.0 = entry.0.max(end);
    }

    fn read_segments(&mut self) -> Result<(), SharedError> {
        for (name, (end, wanted_by)) in &self.segments {
            match self.log.segment(name, wanted_by) {
                Ok(bytes) => {
                    self.report.segments += 1;
                    self.report.segment_bytes += bytes.len() as u64;
                    if *end > bytes.len() as u64 {
                        let reason = "it names a range that a segment has not";
                        note(&mut self.report, SharedError::damaged(wanted_by, reason))?;
                    }
                }
                Err(error) => note(&mut self.report, error)?,
            }
        }
        Ok(())
    }
}

fn lengths(table: &FileTable) -> BTreeMap<PathBuf, u64> {
    let files = table.files();
    files
        .map(|(path, file)| (path.to_owned(), file.len))
        .collect()
}
