//! Which bytes of the file one commit needs.

use super::regions::Regions;
use crate::compact::{CompactionMonitor, PHASES};
use crate::record::{
    Attachment, BY_ID, DocumentRecord, LOCAL, LocalBody, LocalRecord, decode_attachments,
};
use crate::revtree::Stored;
use crate::{DocdbError, Snapshot};
use varve_base::Unit;
use varve_btree::{ChunkRef, Visited};

/// Documents between two looks at whether to stop.
const POLL: u64 = 256;

/// Adds up the bytes that every document and node needs.
pub(super) fn measure_usage(
    of: &Snapshot,
    region: u64,
    watch: &CompactionMonitor<'_>,
) -> Result<Regions, DocdbError> {
    let mut regions = Regions::new(region, of.tree().position());
    let total = of.tree().len(BY_ID)?;
    watch.progress.begin(PHASES[0], Unit::Items, Some(total));
    let mut seen = 0_u64;
    for tree in 0..of.header().trees() {
        of.tree().visit_reachable(tree, &mut |met| {
            let (key, value) = match met {
                Visited::Node { at, .. } => {
                    regions.add_needed(at);
                    return Ok(());
                }
                Visited::Entry { key, value, .. } => (key, value),
                Visited::Lost(lost) => return Err(lost.error.into()),
                Visited::Mismatched { .. } => return Err(of.damaged("node", b"some documents")),
            };
            seen += 1;
            if seen.is_multiple_of(POLL) {
                watch.check()?;
                watch.progress.advance(POLL);
            }
            match tree {
                BY_ID => document(of, key, value, &mut regions)?,
                LOCAL => local(of, key, value)?
                    .iter()
                    .for_each(|at| regions.add_needed(*at)),
                _ => {}
            }
            Ok(())
        })?;
    }
    of.header()
        .security
        .iter()
        .for_each(|at| regions.add_needed(*at));
    for dictionary in &of.header().dictionaries {
        regions.add_needed(dictionary.place);
        regions.add_needed(dictionary.copy());
    }
    Ok(regions)
}

fn document(
    of: &Snapshot,
    key: &[u8],
    value: &[u8],
    regions: &mut Regions,
) -> Result<(), DocdbError> {
    let record = of.record(key, value)?;
    record.part_places().for_each(|at| regions.add_needed(at));
    for leaf in record.tree.leaves() {
        let Some(stored) = &leaf.stored else { continue };
        Content::of(of, stored)?.places(|at| regions.add_needed(at));
    }
    Ok(())
}

/// The chunk of a local document's body.
pub(super) fn local(
    of: &Snapshot,
    key: &[u8],
    value: &[u8],
) -> Result<Option<ChunkRef>, DocdbError> {
    let record = LocalRecord::decode(value).map_err(|_| of.damaged("local document", key))?;
    Ok(match record.body {
        LocalBody::Chunk(at) => Some(at),
        LocalBody::Inline(_) => None,
    })
}

/// All chunks that one revision's content needs.
pub(super) struct Content {
    pub(super) body: ChunkRef,
    /// Chunks that the body's delta is based on.
    pub(super) bases: Vec<ChunkRef>,
    pub(super) list: Option<ChunkRef>,
    pub(super) attachments: Vec<Attachment>,
}

impl Content {
    pub(super) fn of(snapshot: &Snapshot, stored: &Stored) -> Result<Content, DocdbError> {
        let mut attachments = Vec::new();
        if let Some(list) = stored.attachments {
            let mut text = Vec::new();
            snapshot.tree().read_chunk(list, &mut text)?;
            let damaged = |_| snapshot.damaged("list of attachments", b"some document");
            attachments = decode_attachments(&text).map_err(damaged)?;
        }
        let mut content = Content {
            body: stored.body,
            bases: Vec::new(),
            list: stored.attachments,
            attachments,
        };
        // Only deltas have bytes of other chunks counted with them.
        if stored.active > content.active() {
            let chain = snapshot.tree().chain(stored.body)?;
            let bases = chain.iter().map(|link| link.place);
            content.bases = bases.filter(|at| *at != stored.body).collect();
        }
        Ok(content)
    }

    /// Bytes in the file that belong to it.
    pub(super) fn active(&self) -> u64 {
        let chunks = self.bases.iter().chain(&self.list).chain([&self.body]);
        let own: u64 = chunks.map(|at| u64::from(at.len)).sum();
        let data = self.attachments.iter().map(Attachment::active);
        data.fold(own, u64::saturating_add)
    }

    pub(super) fn places(&self, mut visit: impl FnMut(ChunkRef)) {
        let data = self.attachments.iter().flat_map(|one| &one.chunks);
        let own = [&self.body]
            .into_iter()
            .chain(&self.bases)
            .chain(&self.list);
        own.chain(data).for_each(|at| visit(*at));
    }
}

/// Whether a document has anything where holes are to be; of old revisions, too, as their bodies are
/// to be forgotten then.
pub(super) fn overlaps_hole(
    of: &Snapshot,
    record: &DocumentRecord,
    regions: &Regions,
) -> Result<bool, DocdbError> {
    if record.part_places().any(|at| regions.has_hole_at(at)) {
        return Ok(true);
    }
    for node in record.tree.nodes() {
        let Some(stored) = &node.stored else { continue };
        let mut overlaps_hole = false;
        Content::of(of, stored)?.places(|at| overlaps_hole |= regions.has_hole_at(at));
        if overlaps_hole {
            return Ok(true);
        }
    }
    Ok(false)
}
