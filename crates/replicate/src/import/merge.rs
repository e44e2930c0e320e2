//! The documents of all files of a database, in one order.
//!
//! The sequence of a document in the new database is the sum of the last sequences of all files so far: the number that
//! CouchDB itself puts before its opaque sequences. Files are read in step with each other, each by its share of the
//! updates, so the order of changes is about that in which they were made. A database in one file keeps its sequences.

use crate::couch_file::{CouchFile, DocumentInfo, Lost, Met, Walk};
use crate::{Finding, ReplicateError};
use std::path::PathBuf;
use varve_base::Interrupt;

/// Documents that are handed on together: so many at most,
const DOCUMENTS: usize = 64;
/// or so many bytes as their sizes speak of.
const BYTES: u64 = 1 << 20;
/// Sums of sequences stay below this.
const HIGHEST: u64 = u64::MAX / 4;

/// One document that is to be read.
#[derive(Debug)]
pub(super) struct Job {
    /// Index of its file.
    pub(super) file: usize,
    /// Its sequence in the new database.
    pub(super) seq: u64,
    pub(super) document: DocumentInfo,
}

/// Hands on the documents of all files, and reports what cannot be found.
pub(super) struct Merge<'a> {
    files: Vec<Changes>,
    /// How documents are numbered: by the sums of sequences, or one by one where these are too large.
    by_sums: bool,
    seq: u64,
    /// Whether the files' lists by sequence are read to their ends.
    is_rescuing: bool,
    report: &'a (dyn Fn(Finding) + Sync),
    stop: &'a Interrupt,
}

/// The changes of one file.
struct Changes {
    path: PathBuf,
    walk: Walk<DocumentInfo>,
    next: Option<DocumentInfo>,
    /// Sequence of the last document that was read,
    last: u64,
    /// and of the last one that was handed on.
    handed_on: u64,
    update_seq: u64,
    /// Sequences of the list that cannot be read: above the first, up to the second.
    lost: Vec<(u64, u64)>,
    /// Documents that the header speaks of and that are not found yet.
    missing: u64,
    by_id: Option<Walk<DocumentInfo>>,
}

impl Changes {
    fn of(file: &CouchFile) -> Changes {
        Changes {
            path: file.path().to_owned(),
            walk: file.by_seq(),
            next: None,
            last: 0,
            handed_on: 0,
            update_seq: file.header().update_seq,
            lost: Vec::new(),
            missing: file.documents(),
            by_id: Some(file.by_id()),
        }
    }

    /// Reads the next document of the list by sequence.
    fn advance(&mut self, report: &dyn Fn(Finding)) {
        for met in self.walk.by_ref() {
            let lost = match met {
                Met::Item(document)
                    if document.seq > self.last && document.seq <= self.update_seq =>
                {
                    self.last = document.seq;
                    self.missing = self.missing.saturating_sub(1);
                    self.next = Some(document);
                    return;
                }
                Met::Item(document) => {
                    let what = format!(
                        "{:?} is listed at a sequence that is out of order",
                        document.id
                    );
                    report(Finding::in_file(&self.path, None, what));
                    continue;
                }
                Met::Lost(lost) => lost,
            };
            let Lost { damage, keys } = lost;
            let reason = damage.reason;
            let what = format!(
                "a part of the list by sequence cannot be read: {reason}; the list by id is read for it"
            );
            report(Finding::in_file(&self.path, Some(damage.offset), what));
            self.lost.push((keys.0, keys.1.unwrap_or(u64::MAX)));
        }
        self.next = None;
    }

    /// The next document that only the list by id shows.
    fn rescue(&mut self, report: &dyn Fn(Finding)) -> Option<DocumentInfo> {
        if self.lost.is_empty() {
            return None;
        }
        for met in self.by_id.as_mut()? {
            match met {
                Met::Item(document) => {
                    let before = self
                        .lost
                        .partition_point(|(above, _)| *above < document.seq);
                    let nearest = before.checked_sub(1).and_then(|at| self.lost.get(at));
                    if nearest.is_some_and(|(_, to)| document.seq <= *to) {
                        self.missing = self.missing.saturating_sub(1);
                        return Some(document);
                    }
                }
                Met::Lost(lost) => {
                    let what = format!(
                        "a part of the list by id cannot be read: {}",
                        lost.damage.reason
                    );
                    report(Finding::in_file(&self.path, Some(lost.damage.offset), what));
                }
            }
        }
        self.by_id = None;
        None
    }

    /// Puts the lost sequences in order, so that no two ranges overlap.
    fn join_lost(&mut self) {
        self.lost.sort_unstable();
        let mut joined: Vec<(u64, u64)> = Vec::new();
        for (above, to) in std::mem::take(&mut self.lost) {
            match joined.last_mut().filter(|last| above <= last.1) {
                Some(last) => last.1 = last.1.max(to),
                None => joined.push((above, to)),
            }
        }
        self.lost = joined;
    }

    fn report_missing(&mut self, report: &dyn Fn(Finding)) {
        let missing = std::mem::take(&mut self.missing);
        if missing > 0 {
            let what = format!("documents are in neither list, or left out above: {missing}");
            report(Finding::in_file(&self.path, None, what));
        }
    }
}

impl<'a> Merge<'a> {
    pub(super) fn new(
        files: &[CouchFile],
        report: &'a (dyn Fn(Finding) + Sync),
        stop: &'a Interrupt,
    ) -> Merge<'a> {
        let mut changes: Vec<Changes> = files.iter().map(Changes::of).collect();
        let sum = changes
            .iter()
            .try_fold(0_u64, |sum, file| sum.checked_add(file.update_seq));
        for file in &mut changes {
            file.advance(report);
        }
        Merge {
            files: changes,
            by_sums: sum.is_some_and(|sum| sum < HIGHEST),
            seq: 0,
            is_rescuing: false,
            report,
            stop,
        }
    }

    /// Sequence of the new database when everything is read.
    pub(super) fn update_seq(files: &[CouchFile]) -> u64 {
        let sum = files
            .iter()
            .try_fold(0_u64, |sum, file| sum.checked_add(file.header().update_seq));
        sum.filter(|sum| *sum < HIGHEST).unwrap_or(0)
    }

    /// The next documents; `None` at the end.
    pub(super) fn batch(&mut self) -> Result<Option<Vec<Job>>, ReplicateError> {
        let (mut jobs, mut bytes) = (Vec::new(), 0);
        while jobs.len() < DOCUMENTS && bytes < BYTES {
            self.stop.check()?;
            let Some(job) = self.next() else { break };
            bytes += job.document.size();
            jobs.push(job);
        }
        Ok((!jobs.is_empty()).then_some(jobs))
    }

    fn next(&mut self) -> Option<Job> {
        if !self.is_rescuing {
            if let Some(job) = self.next_change() {
                return Some(job);
            }
            self.is_rescuing = true;
            self.files.iter_mut().for_each(Changes::join_lost);
            if self.by_sums {
                self.seq = self.files.iter().map(|file| file.update_seq).sum();
            }
        }
        let report = self.report;
        for (index, file) in self.files.iter_mut().enumerate() {
            if let Some(document) = file.rescue(report) {
                self.seq += 1;
                return Some(Job {
                    file: index,
                    seq: self.seq,
                    document,
                });
            }
            file.report_missing(report);
        }
        None
    }

    /// The document of the file that has come least far.
    fn next_change(&mut self) -> Option<Job> {
        let share =
            |file: &Changes, seq: u64| (u128::from(seq) << 64) / u128::from(file.update_seq.max(1));
        let waiting = self.files.iter().enumerate();
        let waiting =
            waiting.filter_map(|(index, file)| Some((share(file, file.next.as_ref()?.seq), index)));
        let (_, index) = waiting.min()?;
        let file = &mut self.files[index];
        let document = file.next.take()?;
        let before = std::mem::replace(&mut file.handed_on, document.seq);
        self.seq += match self.by_sums {
            true => document.seq - before,
            false => 1,
        };
        file.advance(self.report);
        Some(Job {
            file: index,
            seq: self.seq,
            document,
        })
    }
}
