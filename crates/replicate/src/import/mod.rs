//! Import of CouchDB's files: the databases of a data directory, with the same revisions.
//!
//! Kept are all leaves with their bodies and attachments, revision trees, deleted documents, local documents, security
//! objects, limits, purges and partitions. As after a compaction, bodies of older revisions go. What cannot be read is
//! reported and left out.

mod documents;
mod locals;
mod merge;
mod shard_map;
mod sources;

pub use locals::is_of_nodes;
pub use sources::{SourceDatabase, Sources, find};

use crate::couch_file::{CouchFile, TermForm};
use crate::{Finding, ReplicateError, Watch};
use documents::{DocumentReader, StoredBodies};
use locals::Locals;
use merge::Merge;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use varve_base::{Interrupt, Storage, Unit};
use varve_docdb::{DatabaseOptions, LeftOut, Load, Loaded, NewDatabase, Purge, load};

/// Takes the place of a security object that cannot be read: only admins get in.
const ADMINS_ONLY: &[u8] = br#"{"members":{"roles":["_admin"]},"admins":{"roles":["_admin"]}}"#;
/// Security object of a database that has none: every user may read and write.
const EVERYBODY: &[u8] = b"{}";

/// Result of the import of one database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Contents of the new database.
    pub loaded: Loaded,
    /// Bytes of the files that it was read from.
    pub source_bytes: u64,
    /// Bytes of the leaves' bodies in those files, by form.
    pub source_bodies: Vec<(TermForm, u64)>,
    /// How many parts were left out.
    pub findings: u64,
}

/// Imports one database into a new one at `to`, which is there, whole and durable, when this returns.
///
/// # Errors
/// [`ReplicateError::NoShards`]; [`ReplicateError::Interrupted`]; [`varve_docdb::DocdbError::is_already_there`]; errors of the
/// storage that is written to. Damage to the files that are read is no error.
pub fn import(
    (from, source): (&dyn Storage, &SourceDatabase),
    (storage, to): (&dyn Storage, &Path),
    options: &DatabaseOptions,
    watch: Watch<'_>,
) -> Result<Imported, ReplicateError> {
    let findings = AtomicU64::new(0);
    let report = |finding: Finding| {
        findings.fetch_add(1, Ordering::Relaxed);
        (watch.report)(finding);
    };
    source.findings.iter().cloned().for_each(&report);
    let files = open_all(from, source, watch.stop, &report)?;
    let new = NewDatabase {
        compression: None,
        is_partitioned: is_partitioned(&files, &report),
        has_access: false,
    };
    let stored = StoredBodies::default();
    let mut left_out = |part: LeftOut| report(Finding::left_out(&source.name, part));
    let loaded = load(
        storage,
        to,
        (options, new),
        (&mut left_out, watch.stop),
        |load| fill(load, &files, (&stored, &report), watch),
    )?;
    Ok(Imported {
        loaded,
        source_bytes: files.iter().map(CouchFile::len).sum(),
        source_bodies: stored.counts(),
        findings: findings.into_inner(),
    })
}

fn open_all(
    from: &dyn Storage,
    source: &SourceDatabase,
    stop: &Interrupt,
    report: &dyn Fn(Finding),
) -> Result<Vec<CouchFile>, ReplicateError> {
    let mut files = Vec::new();
    for path in &source.files {
        match CouchFile::open(from, path, stop) {
            Ok(file) => files.push(file),
            Err(_) if stop.is_raised() => return Err(ReplicateError::Interrupted),
            // The only file of a database says more than that there is none.
            Err(error) if source.files.len() == 1 => return Err(error.into()),
            Err(error) => report(Finding::of(error.to_string())),
        }
    }
    match files.is_empty() {
        true => Err(ReplicateError::NoShards(source.name.clone())),
        false => Ok(files),
    }
}

fn is_partitioned(files: &[CouchFile], report: &dyn Fn(Finding)) -> bool {
    let mut found = false;
    for file in files {
        match file.is_partitioned() {
            Ok(it) => found |= it,
            Err(damage) => {
                let what = format!("the properties cannot be read: {}", damage.reason);
                report(Finding::in_file(file.path(), Some(damage.offset), what));
            }
        }
    }
    found
}

/// Adds everything to the new database.
fn fill(
    load: &mut Load<'_>,
    files: &[CouchFile],
    (stored, report): (&StoredBodies, &(dyn Fn(Finding) + Sync)),
    watch: Watch<'_>,
) -> Result<(), ReplicateError> {
    let limits = files.iter().map(|file| file.header().revs_limit);
    load.set_revs_limit(limits.max().unwrap_or(1));
    load.set_security(&security(files, report))?;
    let total = files.iter().map(CouchFile::documents);
    let total = total.fold(0_u64, u64::saturating_add);
    watch.progress.begin("documents", Unit::Items, Some(total));
    let mut merge = Merge::new(files, report, watch.stop);
    load.documents(
        move || {
            let batch = merge.batch()?;
            let count = batch.as_ref().map_or(0, Vec::len);
            watch.progress.advance(count as u64);
            Ok(batch)
        },
        || {
            let mut reader = DocumentReader::new(files, stored, report);
            move |jobs: Vec<merge::Job>| -> Result<_, ReplicateError> {
                let documents = jobs.into_iter().filter_map(|job| reader.read(job));
                Ok(documents.collect())
            }
        },
    )?;
    watch.progress.end();
    load.set_update_seq(Merge::update_seq(files));
    load.local_documents(Locals::new(files, report))?;
    let (purges, last, limit) = purges(files, report);
    Ok(load.purges(purges, last, limit)?)
}

/// The security object of the first file whose own can be read.
fn security(files: &[CouchFile], report: &dyn Fn(Finding)) -> Vec<u8> {
    let (mut found, mut is_damaged) = (None, false);
    for file in files {
        match file.security() {
            Ok(text) => {
                found = found.or(text);
            }
            Err(damage) => {
                is_damaged = true;
                let what = format!("the security object cannot be read: {}", damage.reason);
                report(Finding::in_file(file.path(), Some(damage.offset), what));
            }
        }
    }
    match (found, is_damaged) {
        (Some(text), _) => text,
        (None, true) => ADMINS_ONLY.to_vec(),
        (None, false) => EVERYBODY.to_vec(),
    }
}

/// All remembered purges, the number of all that there ever were, and how many are to be remembered.
fn purges(files: &[CouchFile], report: &dyn Fn(Finding)) -> (Vec<Purge>, u64, u64) {
    let (mut all, mut last, mut limit) = (Vec::new(), 0_u64, 1);
    for file in files {
        let (purges, highest, damages) = file.purges();
        for damage in damages {
            let what = format!("purges cannot be read: {}", damage.reason);
            report(Finding::in_file(file.path(), Some(damage.offset), what));
        }
        last = last.saturating_add(highest.max(purges.len() as u64));
        limit = limit.max(file.header().purges_limit);
        all.extend(purges);
    }
    (all, last, limit)
}
