//! Compaction in place: of a database most of whose bytes are needed and stay where they are, only
//! the regions are emptied in which little is needed, and their room is given back to the system.
//!
//! ```text
//! file   | cold: needed | updated often: little is needed | cold | … | newest |
//! then   | cold         | hole                            | cold | … | newest | relocated data |
//! ```
//! 1. [`measure_usage`]: every document and node of one commit is asked which bytes it needs; the sums of the regions
//!    decide which become holes ([`regions`]).
//! 2. [`relocation`]: documents and nodes with something in a hole are written once more, by short
//!    commits between those of others, until a last one, for which writers wait, finds nothing.
//! 3. When no reader has a commit from before that one, the holes are made.
//!
//! All of it is commits like others, so a crash at any point leaves a sound database, and moved data stays moved.
//! Places mean the same before and after; nothing is renamed.

mod documents;
mod regions;
mod relocation;
mod usage;

use crate::bodies::BodyCodec;
use crate::compact::{Compacted, CompactionMonitor, has_begun};
use crate::database::Database;
use crate::record::Header;
use crate::write::seal;
use crate::{DocdbError, Snapshot};
use regions::Regions;
use relocation::Relocation;
use std::time::{Duration, Instant};
use varve_base::{Hole, Interrupt, Progress};

/// When compactions are done in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InPlace {
    /// Databases that need fewer bytes are copied whole: that is soon done.
    pub from: u64,
    /// Bytes of a region, a multiple of the file system's allocation unit.
    pub region: u64,
}

impl Default for InPlace {
    /// From 64 MiB on, regions of 256 KiB.
    fn default() -> Self {
        InPlace {
            from: 64 << 20,
            region: 256 << 10,
        }
    }
}

/// How long readers of old commits are waited for.
const READER_TIMEOUT: Duration = Duration::from_secs(60);
/// How often they are looked for.
const POLL: Duration = Duration::from_millis(20);
/// Where the holes are so many times as large as the rest of the file, it is copied whole: file systems keep lists of
/// the extents between holes.
const MAX_HOLE_RATIO: u64 = 16;

/// Says that a compaction is over.
struct CompactionGuard<'d>(&'d Database);

impl Drop for CompactionGuard<'_> {
    fn drop(&mut self) {
        self.0.end_compaction();
    }
}

impl Database {
    /// Compacts in place where that is much less work than a copy; `None`, with nothing done, where
    /// it is not, where files have no holes, or where a copy was begun.
    ///
    /// # Errors
    /// As [`Database::compact`].
    pub fn compact_in_place(
        &self,
        progress: &dyn Progress,
        stop: &Interrupt,
    ) -> Result<Option<Compacted>, DocdbError> {
        if !self.claim_compaction() {
            let path = self.path().to_owned();
            return Err(DocdbError::CompactionRuns { path });
        }
        let _guard = CompactionGuard(self);
        let watch = CompactionMonitor {
            database: self,
            progress,
            stop,
        };
        in_place(&watch).map_err(DocdbError::of_compaction)
    }

    /// Whether a compaction in place is worth a closer look: a copy would hold the same chunks, and be
    /// long.
    pub(crate) fn may_be_in_place(&self) -> Result<bool, DocdbError> {
        let (snapshot, sizes) = (self.snapshot(), self.sizes()?);
        let header = snapshot.header();
        Ok(self.may_have_holes()
            && sizes.active >= self.in_place().from
            && header.setting == Some(self.body_codec_of(&snapshot).setting)
            && header.holes / MAX_HOLE_RATIO <= sizes.file)
    }
}

fn in_place(watch: &CompactionMonitor<'_>) -> Result<Option<Compacted>, DocdbError> {
    watch.check()?;
    let database = watch.database;
    let snapshot = database.snapshot();
    let method = database.body_codec_of(&snapshot);
    let is_copied = has_begun(database.storage().as_ref(), database.path())?;
    if is_copied || !database.may_be_in_place()? {
        return Ok(None);
    }
    let region = database.in_place().region;
    let mut regions = usage::measure_usage(&snapshot.uncached(), region, watch)?;
    match regions.choose() {
        true => punch_holes(watch, snapshot, &mut regions, &method),
        false => Ok(None),
    }
}

fn punch_holes(
    watch: &CompactionMonitor<'_>,
    from: Snapshot,
    regions: &mut Regions,
    method: &BodyCodec,
) -> Result<Option<Compacted>, DocdbError> {
    let database = watch.database;
    let before = database.sizes()?.file;
    let file = database.file();
    Relocation::new(watch, regions, method, &from)?.run(from)?;
    database.write(|_, mut txn| {
        // Commits that came meanwhile need not be durable yet.
        txn.sync_base()?;
        seal(txn, database.path())
    })?;
    wait_for_readers(watch, &file)?;
    let (mut made, mut is_impossible) = (0, false);
    for hole in regions.holes() {
        watch.check()?;
        let len = hole.end - hole.start;
        match file.punch_hole(hole)? {
            Hole::Made => made += len,
            // The next compaction finds them as they are.
            Hole::InUse => break,
            Hole::Impossible => is_impossible = true,
        }
        watch.progress.advance(0);
    }
    if is_impossible {
        database.has_no_holes();
        return Ok(None);
    }
    note(database, made)?;
    let after = database.sizes()?.file;
    Ok(Some(Compacted { before, after }))
}

/// Waits, but not for ever, until all that is read is from after the movement.
fn wait_for_readers(
    watch: &CompactionMonitor<'_>,
    file: &varve_btree::TreeFile,
) -> Result<(), DocdbError> {
    let end = Instant::now() + READER_TIMEOUT;
    while file.has_older_readers() && Instant::now() < end {
        watch.check()?;
        std::thread::sleep(POLL);
    }
    Ok(())
}

/// Writes down how many bytes of the file are holes: those that were made, among which are those of
/// before, unless a reader held it for too long.
fn note(database: &Database, made: u64) -> Result<(), DocdbError> {
    database.write(|file, mut txn| {
        let before = Snapshot::new(txn.base().clone(), database.path())?;
        let header = Header {
            holes: made.max(before.header().holes),
            ..before.header().clone()
        };
        txn.set_user_header(&header.encode());
        let snapshot = Snapshot::new(txn.commit()?, database.path())?;
        database.publish(file, snapshot);
        Ok(())
    })?;
    database.seal()
}
