//! Checking a whole database file, whatever its bytes are.
//!
//! Both trees of documents are walked, and all that they refer to is read: bodies (with the bases of their deltas and
//! their dictionaries), lists of attachments, their data; then local documents, purges, the security object. Nodes are
//! compared with their parents' descriptions. Damage is reported and passed over: a node with all that is below it,
//! anything else alone.
//!
//! That both trees speak of the same documents is seen from two sums of hashes: of the change that
//! each document amounts to, and of each change that is there. Only where they differ documents and
//! changes are looked up one by one ([`agreement`]). So memory does not grow with the database.

mod access;
mod agreement;
mod attachments;
mod contents;
mod documents;
mod finding;
mod remembered;
mod rest;

pub(crate) use attachments::check_attachment;
pub(crate) use finding::Trouble;
pub use finding::{Finding, Hit, Part};
pub(crate) use remembered::Remembered;

use crate::database::open_damaged;
use crate::record::{BY_ID, BY_SEQ, LOCAL, PURGES};
use crate::{DatabaseOptions, DocdbError, Snapshot};
use agreement::Sums;
use std::path::Path;
use varve_base::{Interrupt, Progress, Storage};
use varve_btree::{
    ChunkCount, ChunkForm, ChunkRef, ChunkStats, LostSubtree, Recovery, Tail, Visited,
};

/// Items between two looks at whether to stop.
const LOOK: u64 = 64;

/// Receivers of a long check's findings and progress, and its interrupt.
pub struct Watch<'w> {
    /// Called with each finding.
    pub report: &'w mut dyn FnMut(&Finding),
    /// How many documents are done.
    pub progress: &'w dyn Progress,
    /// Ends it.
    pub stop: &'w Interrupt,
}

impl Watch<'_> {
    /// An error once it is to end.
    pub(crate) fn check(&self) -> Result<(), DocdbError> {
        let stop = self.stop.check();
        stop.map_err(|_| DocdbError::Interrupted)
    }
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watch")
    }
}

/// Numbers of checked parts and of findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// Number of reported findings.
    pub findings: u64,
    /// Documents, deleted ones too.
    pub documents: u64,
    /// Revisions of which the id is known.
    pub revisions: u64,
    /// Bodies that could be read.
    pub bodies: u64,
    /// Attachments that could be read; one that several revisions share counts once.
    pub attachments: u64,
    /// Local documents.
    pub local_documents: u64,
    /// Purges that are remembered.
    pub purges: u64,
    /// Bytes of a write that was cut short, behind the newest commit: nothing of it was ever acknowledged.
    pub cut_short: u64,
    /// Whether the file has no whole commit because a power cut has taken the bytes of a database to which nothing was
    /// written: opening makes it again.
    pub is_unwritten: bool,
    /// Chunks and nodes that could be read.
    pub chunks: ChunkStats,
}

/// Checks the database at `path`, which another process may be writing to: its newest commit is
/// checked.
///
/// # Errors
/// Errors that keep it from being opened; [`DocdbError::Interrupted`].
pub fn verify(
    storage: &dyn Storage,
    path: &Path,
    options: &DatabaseOptions,
    watch: &mut Watch<'_>,
) -> Result<Verified, DocdbError> {
    let (file, is_unwritten) = open_damaged(storage, path, options)?;
    let len = storage.file_len(path)?.unwrap_or(0);
    let snapshot = Snapshot::new(file.snapshot(), path)?;
    let mut verifier = Verifier {
        walked: snapshot.uncached(),
        snapshot,
        watch,
        report: Verified {
            is_unwritten,
            ..Verified::default()
        },
        known: Remembered::default(),
        sums: Sums::default(),
        is_access_unknown: false,
        items: 0,
        text: Vec::new(),
    };
    verifier.opening(file.recovery(), len);
    verifier.whole()?;
    Ok(verifier.report)
}

/// A check under way.
struct Verifier<'v, 'w> {
    /// For looking things up.
    snapshot: Snapshot,
    /// For walking over everything.
    walked: Snapshot,
    watch: &'v mut Watch<'w>,
    report: Verified,
    /// Results for attachments that were read: the damage, if any.
    known: Remembered<Option<Trouble>>,
    sums: Sums,
    /// A body could not be read, so the names in it are not known.
    is_access_unknown: bool,
    items: u64,
    text: Vec<u8>,
}

impl Verifier<'_, '_> {
    fn whole(&mut self) -> Result<(), DocdbError> {
        self.dictionaries();
        self.security();
        self.documents()?;
        self.changes()?;
        self.agreement()?;
        self.locals()?;
        self.purges()?;
        self.access()
    }

    fn report(&mut self, finding: &Finding) {
        self.report.findings += 1;
        (self.watch.report)(finding);
    }

    fn find(&mut self, part: Part, offset: Option<u64>, hit: Hit, reason: &str) {
        self.report(&Trouble::new(offset, reason).finding(part, hit));
    }

    /// Reports damage that opening the file found.
    fn opening(&mut self, recovery: Recovery, len: u64) {
        if recovery.is_header_damaged {
            let reason = "one bit of it is flipped; it is read as it was";
            self.find(Part::FileHeader, Some(0), Hit::Database, reason);
        }
        if recovery.tail == Tail::Torn {
            self.report.cut_short = recovery.ignored;
        }
        if let Some(trouble) = torn(recovery, len) {
            self.report(&trouble.finding(Part::Commit, Hit::Database));
        }
    }

    /// To be called once for each item.
    fn look(&mut self) -> Result<(), DocdbError> {
        self.items += 1;
        match self.items % LOOK {
            0 => self.watch.check(),
            _ => Ok(()),
        }
    }

    fn count(&mut self, form: ChunkForm, at: ChunkRef) {
        let bytes = u64::from(at.len);
        self.report
            .chunks
            .add(form, ChunkCount { chunks: 1, bytes });
    }

    /// Appends a chunk's content to the text, and counts it.
    fn read(&mut self, at: ChunkRef) -> Result<(), Trouble> {
        self.text.clear();
        let read = self.walked.tree().inspect_chunk(at, &mut self.text);
        let form = read.map_err(|error| Trouble::of(&error, at.offset))?;
        self.count(form, at);
        Ok(())
    }

    /// Calls `item` with key, value and leaf of each item of a tree, and tells of its nodes.
    fn walk(
        &mut self,
        tree: usize,
        mut item: impl FnMut(&mut Self, &[u8], &[u8], ChunkRef) -> Result<(), DocdbError>,
    ) -> Result<(), DocdbError> {
        let walked = self.walked.tree().clone();
        walked.visit_reachable(tree, &mut |met| {
            match met {
                Visited::Entry { key, value, leaf } => {
                    self.look()?;
                    return item(self, key, value, leaf);
                }
                Visited::Node { at, form } => self.count(form, at),
                Visited::Lost(lost) => self.report(&lost_node(tree, &lost)),
                Visited::Mismatched { at, reason } => {
                    self.find(node_of(tree), Some(at.offset), Hit::Database, reason);
                }
            }
            self.watch.check()
        })
    }
}

/// Damage to the end of a file of this length, if any.
pub(crate) fn torn(recovery: Recovery, len: u64) -> Option<Trouble> {
    let ignored = recovery.ignored;
    let reason = match recovery.tail {
        Tail::Damaged(reason) => {
            format!("{ignored} bytes belong to no whole commit, and are not cut off: {reason}")
        }
        _ => format!(
            "{ignored} bytes belong to no whole commit, and opening leaves them out: a write that was \
             cut short, or damage"
        ),
    };
    // A process that was killed leaves a part of a write that was never acknowledged.
    let is_harmless = matches!(recovery.tail, Tail::None | Tail::Torn);
    (!is_harmless).then(|| Trouble::new(Some(len.saturating_sub(ignored)), reason))
}

fn node_of(tree: usize) -> Part {
    match tree {
        BY_ID => Part::NodeById,
        BY_SEQ => Part::NodeBySeq,
        LOCAL => Part::NodeOfLocal,
        PURGES => Part::NodeOfPurges,
        _ => Part::NodeOfAccess,
    }
}

pub(crate) fn lost_node(tree: usize, lost: &LostSubtree<'_>) -> Finding {
    let (low, high, count) = (lost.low, lost.high, lost.items);
    let hit = match tree {
        BY_SEQ | PURGES => {
            let number = |key: &[u8]| key.try_into().ok().map(u64::from_be_bytes);
            Hit::Sequences {
                from: low.and_then(number),
                before: high.and_then(number),
                count,
            }
        }
        _ => {
            let prefix = match tree {
                LOCAL => crate::record::LOCAL_PREFIX,
                _ => "",
            };
            let id = |key: &[u8]| format!("{prefix}{}", String::from_utf8_lossy(key));
            Hit::Ids {
                from: low.map(id),
                before: high.map(id),
                count,
            }
        }
    };
    Trouble::of(&lost.error, lost.at.offset).finding(node_of(tree), hit)
}
