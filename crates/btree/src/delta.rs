//! Chunks that hold only the difference from a chunk before them.
//!
//! ```text
//! payload +--------+--------+---------+------------------------------------+
//!         | offset | len    | ordinal | zstd frame without its magic       |
//!         | varint | varint | varint  | number, with the base as prefix    |
//!         +--------+--------+---------+------------------------------------+
//! ```
//! Offset and length are the place of the base, which stands further ahead in the file and may be a delta itself: at
//! most [`DEEPEST`] deltas lie on one whole chunk. The ordinal counts the deltas of one base; it is of use only to a
//! caller that chooses bases.

use crate::TreeError;
use crate::chunk::{ChunkRef, EncodedChunk, MAX_RAW};
use crate::pages::Pages;
use crate::readahead::ReadScope;
use crate::snapshot::Snapshot;
use crate::stats::ChunkForm;
use varve_base::varint::{self, Reader};
use varve_codec::{DeltaCompressor, Expander};

/// Most deltas on one whole chunk, so that four chunks are read at most.
pub(crate) const DEEPEST: usize = 3;

/// One chunk of those that are needed to read another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChainLink {
    /// Where it stands.
    pub place: ChunkRef,
    /// The how manieth delta of its base it is; 0 for a whole chunk.
    pub ordinal: u64,
}

/// Fields in front of the frame.
pub(crate) struct DeltaHead {
    pub(crate) base: ChunkRef,
    ordinal: u64,
}

impl DeltaHead {
    /// Also returns the frame.
    pub(crate) fn read(payload: &[u8]) -> Option<(DeltaHead, &[u8])> {
        let mut reader = Reader::new(payload);
        let offset = reader.u64()?;
        let len = reader.u32()?;
        let ordinal = reader.u64()?;
        let base = ChunkRef { offset, len };
        Some((DeltaHead { base, ordinal }, reader.rest()))
    }

    /// The same for a base that stands elsewhere.
    pub(crate) fn on(&self, base: ChunkRef) -> DeltaHead {
        DeltaHead {
            base,
            ordinal: self.ordinal,
        }
    }

    fn put(&self, payload: &mut Vec<u8>) {
        varint::put(self.base.offset, payload);
        varint::put(u64::from(self.base.len), payload);
        varint::put(self.ordinal, payload);
    }

    /// The chunk of a delta with this frame.
    pub(crate) fn chunk(&self, frame: &[u8]) -> EncodedChunk {
        let mut payload = Vec::new();
        self.put(&mut payload);
        payload.extend_from_slice(frame);
        EncodedChunk::of_payload(ChunkForm::Delta, &payload)
    }
}

impl EncodedChunk {
    /// The difference from the content `text` of the chunk at `base`, as the delta of this ordinal; `None` if `raw` is
    /// too long for that.
    ///
    /// # Errors
    /// [`TreeError::Compress`] if the codec refuses.
    pub fn encode_delta(
        compressor: &mut DeltaCompressor,
        level: i32,
        (base, ordinal): (ChunkRef, u64),
        text: &[u8],
        raw: &[u8],
    ) -> Result<Option<Self>, TreeError> {
        let mut payload = Vec::new();
        DeltaHead { base, ordinal }.put(&mut payload);
        let made = compressor.compress(level, text, raw, &mut payload);
        let made = made.map_err(TreeError::Compress)?;
        Ok(made.then(|| EncodedChunk::of_payload(ChunkForm::Delta, &payload)))
    }
}

impl Pages {
    /// Appends the text that a delta and its base give. Its chunk begins at the scope's limit and was checked before.
    pub(crate) fn expand_delta(
        &self,
        payload: &[u8],
        scope: ReadScope,
        out: &mut Vec<u8>,
    ) -> Result<(), TreeError> {
        let mut frames = vec![(payload.to_vec(), scope.limit)];
        let mut text = Vec::new();
        while let Some((payload, offset)) = frames.last() {
            let Some((head, _)) = DeltaHead::read(payload) else {
                return Err(self.damaged(*offset, "a delta does not name its base"));
            };
            if frames.len() > DEEPEST {
                return Err(self.damaged(*offset, "a delta stands on too many others"));
            }
            // A base ends before its delta begins, so no chain is a circle.
            let (form, stored) = self.read_stored(head.base, scope.upto(*offset))?;
            if form == ChunkForm::Delta {
                frames.push((stored, head.base.offset));
                continue;
            }
            self.expand(form, &stored, scope.upto(head.base.offset), &mut text)?;
            break;
        }
        self.apply(&frames, text, out)
    }

    /// Applies deltas to a whole text, the last one first.
    fn apply(
        &self,
        frames: &[(Vec<u8>, u64)],
        mut text: Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), TreeError> {
        let mut expander = Expander::new();
        for (payload, offset) in frames.iter().rev() {
            let frame = DeltaHead::read(payload).map_or(&[][..], |(_, frame)| frame);
            let mut made = Vec::new();
            expander
                .expand_delta(&text, frame, MAX_RAW, &mut made)
                .map_err(|source| TreeError::Expand {
                    path: self.path().to_owned(),
                    offset: *offset,
                    source,
                })?;
            text = made;
        }
        out.append(&mut text);
        Ok(())
    }
}

impl Snapshot {
    /// The chunks that are needed to read one: a whole one first, it itself last.
    ///
    /// # Errors
    /// See [`Snapshot::get`].
    pub fn chain(&self, at: ChunkRef) -> Result<Vec<ChainLink>, TreeError> {
        let (mut chain, mut place, mut scope) = (Vec::new(), at, self.scope());
        loop {
            let (form, payload) = self.pages.read_stored(place, scope)?;
            let head = match form {
                ChunkForm::Delta => DeltaHead::read(&payload).map(|(head, _)| head),
                _ => None,
            };
            let ordinal = head.as_ref().map_or(0, |head| head.ordinal);
            chain.push(ChainLink { place, ordinal });
            scope = scope.upto(place.offset);
            match head {
                Some(head) if chain.len() <= DEEPEST => place = head.base,
                Some(_) => {
                    let reason = "a delta stands on too many others";
                    return Err(self.pages.damaged(place.offset, reason));
                }
                None => break,
            }
        }
        chain.reverse();
        Ok(chain)
    }
}
