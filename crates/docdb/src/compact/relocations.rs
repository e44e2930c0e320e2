//! Where the winners' contents went, by the documents' ids.

use super::sort::{Sorted, Sorter};
use crate::record::fields::{self, Malformed, Reader};
use crate::record::{BY_SEQ, Change};
use crate::revtree::{Stored, chunk, put_chunk};
use crate::{DocdbError, Snapshot};
use varve_btree::{ChunkRef, Transaction};

/// So many stale sequences are removed at once.
const BATCH: usize = 4096;

/// Where a winner's content went.
pub(super) struct RelocatedWinner {
    seq: u64,
    body: ChunkRef,
    active: u64,
    external: u64,
    attachments: Option<ChunkRef>,
}

impl RelocatedWinner {
    fn encode(change: &Change, out: &mut Vec<u8>) {
        out.clear();
        fields::put(change.seq, out);
        put_chunk(change.stored.body, out);
        fields::put(change.stored.active, out);
        fields::put(change.stored.external, out);
        if let Some(at) = change.stored.attachments {
            put_chunk(at, out);
        }
    }

    fn decode(bytes: &[u8]) -> Result<RelocatedWinner, Malformed> {
        let mut reader = Reader::new(bytes);
        Ok(RelocatedWinner {
            seq: reader.number()?,
            body: chunk(&mut reader)?,
            active: reader.number()?,
            external: reader.number()?,
            attachments: match reader.is_empty() {
                true => None,
                false => Some(chunk(&mut reader)?),
            },
        })
    }

    pub(super) fn apply(&self, stored: &Stored) -> Stored {
        Stored {
            body: self.body,
            active: self.active,
            external: self.external,
            attachments: self.attachments,
            ..stored.clone()
        }
    }
}

/// Takes a change as the new file has it.
pub(super) fn push(
    change: &Change,
    scratch: &mut Vec<u8>,
    moved: &mut Sorter<'_>,
) -> Result<(), DocdbError> {
    RelocatedWinner::encode(change, scratch);
    moved.push(change.id.as_bytes(), scratch)
}

/// All places, to be asked for in the order of ids.
pub(super) struct Relocations<'s> {
    from: &'s Snapshot,
    moved: Sorted,
    /// Whether documents may have been copied that were edited or purged since.
    is_resumed: bool,
    /// Sequences of such.
    stale: Vec<u64>,
}

impl<'s> Relocations<'s> {
    pub(super) fn new(from: &'s Snapshot, moved: Sorted, is_resumed: bool) -> Self {
        Relocations {
            from,
            moved,
            is_resumed,
            stale: Vec::new(),
        }
    }

    /// Where the winner's content of a document went at its last update.
    pub(super) fn of(
        &mut self,
        id: &[u8],
        seq: u64,
        txn: &mut Transaction<'_>,
    ) -> Result<RelocatedWinner, DocdbError> {
        let mut winner = None;
        while self.moved.peek().is_some_and(|next| next <= id) {
            let is_here = self.moved.peek() == Some(id);
            let found = self.next(id)?;
            match is_here && found.seq == seq && winner.is_none() {
                true => winner = Some(found),
                false => self.skip_stale(&found, id, txn)?,
            }
        }
        winner.ok_or_else(|| self.from.damaged("change", id))
    }

    /// Behind the last document nothing should be left.
    pub(super) fn finish(mut self, txn: &mut Transaction<'_>) -> Result<(), DocdbError> {
        while let Some(stray) = self.moved.peek().map(<[u8]>::to_vec) {
            let found = self.next(&stray)?;
            self.skip_stale(&found, &stray, txn)?;
        }
        self.remove(txn)
    }

    fn next(&mut self, id: &[u8]) -> Result<RelocatedWinner, DocdbError> {
        let bytes = self.moved.take()?.unwrap_or_default();
        RelocatedWinner::decode(&bytes).map_err(|_| self.from.damaged("document", id))
    }

    /// Copies of an earlier compaction that are needed no more.
    fn skip_stale(
        &mut self,
        found: &RelocatedWinner,
        id: &[u8],
        txn: &mut Transaction<'_>,
    ) -> Result<(), DocdbError> {
        if !self.is_resumed {
            return Err(self.from.damaged("document", id));
        }
        self.stale.push(found.seq);
        match self.stale.len() >= BATCH {
            true => self.remove(txn),
            false => Ok(()),
        }
    }

    fn remove(&mut self, txn: &mut Transaction<'_>) -> Result<(), DocdbError> {
        self.stale.sort_unstable();
        self.stale.dedup();
        let none = |seq: u64| (seq.to_be_bytes(), None::<&[u8]>);
        let changes: Vec<_> = self.stale.drain(..).map(none).collect();
        Ok(txn.update(BY_SEQ, &changes)?)
    }
}
