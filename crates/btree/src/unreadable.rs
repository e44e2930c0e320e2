//! Copying unreadable chunks into another file byte by byte: they stay damaged there, and nothing of
//! them is lost.
//!
//! ```text
//! old file   | base, damaged | … | delta: base at 500 |
//! new file   | base, damaged | delta: base at 90 |
//! ```
//! A delta says where its base stands. That means nothing in the other file, or worse, another
//! chunk; so the base is copied before it, and the delta says where it stands then. A base that is
//! missing in the old file gets the place 0 in the new one, where no chunk can be.

use crate::TreeError;
use crate::chunk::{self, ChunkRef, EncodedChunk};
use crate::delta::{DEEPEST, DeltaHead};
use crate::header::HEADER_LEN;
use crate::snapshot::Snapshot;
use crate::stats::ChunkForm;
use crate::transaction::Transaction;

/// Where no chunk stands.
const NOWHERE: ChunkRef = ChunkRef { offset: 0, len: 0 };
const _: () = assert!(NOWHERE.offset < HEADER_LEN as u64);

/// The bytes of a chunk, whatever they are.
struct RawChunk {
    at: ChunkRef,
    bytes: Vec<u8>,
}

impl RawChunk {
    fn read(from: &Snapshot, at: ChunkRef) -> Result<RawChunk, TreeError> {
        from.check_place(at)?;
        // A committed chunk is in the file, so its length is no mere claim.
        let mut bytes = vec![0; at.len as usize];
        let file = &from.pages.file;
        file.read_exact_by(from.mode, at.offset, &mut bytes)?;
        Ok(RawChunk { at, bytes })
    }

    /// Head and frame of a whole delta.
    fn delta(&self, from: &Snapshot) -> Option<(DeltaHead, &[u8])> {
        let checked = chunk::check(&self.bytes, (from.pages.path(), self.at.offset));
        match checked {
            Ok((ChunkForm::Delta, payload)) => DeltaHead::read(payload),
            _ => None,
        }
    }

    /// The base of a delta, if it has one that stands before it.
    fn base(&self, from: &Snapshot) -> Result<Option<RawChunk>, TreeError> {
        let base = self.delta(from).map(|(head, _)| head.base);
        let is_before = |at: &ChunkRef| at.end().is_some_and(|end| end <= self.at.offset);
        match base.filter(is_before).map(|at| RawChunk::read(from, at)) {
            Some(Err(error)) if error.is_damage() => Ok(None),
            other => other.transpose(),
        }
    }

    /// The same for a file in which the base stands elsewhere.
    fn chunk(&self, from: &Snapshot, base: ChunkRef) -> EncodedChunk {
        match self.delta(from) {
            Some((head, frame)) => head.on(base).chunk(frame),
            None => EncodedChunk::of_stored(&self.bytes),
        }
    }
}

impl Transaction<'_> {
    /// Appends a chunk of another file that cannot be read there, so that it cannot be read here.
    /// Returns where it stands, and how many bytes of this file belong to it: its own, and those of
    /// the chunks that it is a delta of.
    ///
    /// # Errors
    /// Damage if the place is outside of the committed bytes; errors of the storage.
    pub fn append_unreadable(
        &mut self,
        from: &Snapshot,
        at: ChunkRef,
    ) -> Result<(ChunkRef, u64), TreeError> {
        let mut last = RawChunk::read(from, at)?;
        let mut deltas = Vec::new();
        while deltas.len() < DEEPEST
            && let Some(base) = last.base(from)?
        {
            deltas.push(std::mem::replace(&mut last, base));
        }
        let mut place = self.append_chunk(&last.chunk(from, NOWHERE))?;
        let mut bytes = u64::from(place.len);
        for delta in deltas.iter().rev() {
            place = self.append_chunk(&delta.chunk(from, place))?;
            bytes += u64::from(place.len);
        }
        Ok((place, bytes))
    }
}
