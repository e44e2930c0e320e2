//! Pieces of attachments that one commit copies from other databases.

use crate::{DocdbError, Snapshot};
use std::collections::HashMap;
use varve_btree::{ChunkRef, Transaction};

/// Places of the pieces that a commit has copied already: revisions of a document share pieces, and do so in the copy.
#[derive(Default)]
pub(super) struct CopiedPieces {
    /// By the commit that they were copied from, and by their place there.
    sources: Vec<(Snapshot, HashMap<ChunkRef, ChunkRef>)>,
}

impl CopiedPieces {
    /// The place of a piece in this file, to which it is appended the first time.
    pub(super) fn copy(
        &mut self,
        txn: &mut Transaction<'_>,
        source: &Snapshot,
        piece: ChunkRef,
    ) -> Result<ChunkRef, DocdbError> {
        let known = self
            .sources
            .iter()
            .position(|(known, _)| known.is_same(source));
        let known = known.unwrap_or_else(|| {
            self.sources.push((source.clone(), HashMap::new()));
            self.sources.len() - 1
        });
        let copied = &mut self.sources[known].1;
        if let Some(place) = copied.get(&piece) {
            return Ok(*place);
        }
        let place = txn.append_chunk(&source.tree().stored_chunk(piece)?)?;
        copied.insert(piece, place);
        Ok(place)
    }
}
