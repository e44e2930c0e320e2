//! Writing all that can be read of a damaged file into a new one.
//!
//! ```text
//! new.varve.salvage             the new file until it is complete, then renamed to new.varve
//! new.varve.salvage.missing     sorted runs, where there are more documents than fit in memory
//! new.varve.salvage.by-seq
//! new.varve.salvage.by-id
//! new.varve.salvage.access
//! ```
//! Documents come from the tree by id; where a part of that cannot be read, from the tree by sequence, which knows of
//! winners but not of their histories. The kept parts of each are copied, recompressed, and sorted by sequence, then by
//! id, so both trees are built from left to right.
//!
//! - A leaf whose body cannot be read is left out, and the newest revision before it that can be
//!   read and leads to no other leaf stands in its place. A deletion stays, without its body.
//! - An attachment that cannot be read is left out, and its revision stays.
//! - Everything that is left out is reported.
//!
//! The new file is another database to replicators: it has a uuid of its own.

mod access;
mod contents;
mod documents;
mod files;
mod rest;

pub(crate) use access::{load_access_rows, sort_access_rows};

use crate::bodies::{BodyCodec, BodyCompressor};
use crate::database::{open_damaged, options_of_new, random, tree_options};
use crate::record::{DictionaryRecord, Header, append_twice};
use crate::verify::{Finding, Hit, Part, Remembered, Trouble, Watch, torn};
use crate::{DatabaseOptions, DocdbError, Snapshot, training};
use files::Files;
use std::path::Path;
use std::sync::Arc;
use varve_base::Storage;
use varve_btree::{ChunkRef, ChunkStats, Transaction, TreeError, TreeFile};
use varve_codec::{CodecId, Compressor, EngineSetting};

/// Fate of most unreadable parts.
const LEFT_OUT: &str = "left out";

/// Numbers of written and of left out parts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Salvaged {
    /// Documents, deleted ones too.
    pub documents: u64,
    /// Revisions with their bodies: the leaves.
    pub leaves: u64,
    /// Attachments of them; one that several revisions share counts each time.
    pub attachments: u64,
    /// Local documents.
    pub local_documents: u64,
    /// Number of reported findings.
    pub findings: u64,
}

/// Writes all that can be read of the database at `from` into a new one at `to`, which is there
/// when it is complete, or not at all. The old file is not changed.
///
/// # Errors
/// [`DocdbError::is_already_there`] if anything stands at `to`; errors that keep the old file from being opened;
/// [`DocdbError::Interrupted`]; errors of the storage.
pub fn salvage(
    storage: &dyn Storage,
    (old_path, to): (&Path, &Path),
    options: &DatabaseOptions,
    watch: &mut Watch<'_>,
) -> Result<Salvaged, DocdbError> {
    let files = Files::new(storage, to)?;
    let (old, _) = open_damaged(storage, old_path, options)?;
    let from = Snapshot::new(old.snapshot(), old_path)?;
    let header = Header {
        uuid: random()?,
        security: None,
        chunk_stats: Some(ChunkStats::default()),
        dictionaries: Vec::new(),
        revs_limit: from.revs_limit().max(1),
        // Those of the old file.
        holes: 0,
        ..from.header().clone()
    };
    let method = method(&from, options.setting);
    let tree_options = varve_btree::Options {
        setting: method.setting,
        ..tree_options(options)
    };
    let tree_options = options_of_new(tree_options, &header);
    let new = TreeFile::create_with(storage, &files.copy, tree_options, &header.encode())?;
    let mut salvage = Salvage {
        compressor: BodyCompressor::new(&method)?,
        plain: Compressor::new(EngineSetting::NONE).map_err(TreeError::Compress)?,
        walked: from.uncached(),
        from,
        txn: new.begin()?,
        header: Header {
            setting: Some(method.setting),
            ..header
        },
        known: Remembered::default(),
        report: Salvaged::default(),
        text: Vec::new(),
        watch,
    };
    let len = storage.file_len(old_path)?.unwrap_or(0);
    if let Some(trouble) = torn(old.recovery(), len) {
        let is_read = trouble.offset < Some(salvage.from.tree().position());
        let outcome = match is_read {
            true => "kept as far as it can be read",
            false => LEFT_OUT,
        };
        salvage.report(trouble, Part::Commit, Hit::Database, outcome);
    }
    salvage.dictionary(&method)?;
    salvage.security()?;
    salvage.documents(&files)?;
    salvage.locals()?;
    salvage.purges()?;
    let report = salvage.commit()?;
    crate::write::seal(new.begin()?, &files.copy)?;
    drop(new);
    files.finish()?;
    Ok(report)
}

/// Codec of bodies: the one that the database sets itself, or that it had.
fn method(from: &Snapshot, configured: EngineSetting) -> BodyCodec {
    from.method(from.header().setting.unwrap_or(configured))
}

/// A salvage under way.
struct Salvage<'s, 'w> {
    from: Snapshot,
    /// The same, for walking over everything.
    walked: Snapshot,
    txn: Transaction<'s>,
    /// Of the new file.
    header: Header,
    compressor: BodyCompressor,
    /// Does not compress.
    plain: Compressor,
    /// Where attachments stand in the new file, or why they cannot be read.
    known: Remembered<Result<Arc<[ChunkRef]>, Trouble>>,
    report: Salvaged,
    text: Vec<u8>,
    watch: &'s mut Watch<'w>,
}

impl Salvage<'_, '_> {
    fn report(&mut self, trouble: Trouble, part: Part, hit: Hit, outcome: &str) {
        self.report.findings += 1;
        let told = Trouble {
            reason: format!("{outcome}: {}", trouble.reason),
            ..trouble
        };
        let finding: Finding = told.finding(part, hit);
        (self.watch.report)(&finding);
    }

    /// Puts the dictionary into the new file that its bodies begin with.
    fn dictionary(&mut self, method: &BodyCodec) -> Result<(), DocdbError> {
        let known = self.from.header().dictionaries.last().cloned();
        let (Some(record), Some(dictionary)) = (known, &method.dictionary) else {
            return Ok(());
        };
        debug_assert_eq!(method.setting.codec(), CodecId::Zstd);
        let chunk = training::chunk_of(dictionary, method)?;
        let place = append_twice(&mut self.txn, &chunk)?;
        let next = record.number.saturating_add(1);
        self.header.next_dictionary = self.header.next_dictionary.max(next);
        self.header.dictionaries = vec![DictionaryRecord { place, ..record }];
        Ok(())
    }

    fn commit(mut self) -> Result<Salvaged, DocdbError> {
        self.watch.check()?;
        self.header.chunk_stats = Some(*self.txn.chunk_stats());
        self.txn.set_user_header(&self.header.encode());
        self.txn.commit()?;
        Ok(self.report)
    }
}
