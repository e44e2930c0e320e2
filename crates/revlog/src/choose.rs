//! The choice of a stored form: a full text, or a delta and its base.
//!
//! Candidates are tried in groups, and the first group that has a good delta decides: the base that
//! came with the revision, its parents, the revision before it, then (where snapshots may be deltas)
//! the snapshots that the chains of these begin with, and the newest ones of all. A good delta keeps to
//! the limits of Mercurial's sparse-revlog, so that no text takes long to put together:
//!
//! - a chain has at most 1000 deltas, and at most twice as many stored bytes as the text has;
//! - a snapshot of depth d takes at most the text's length divided by 2^d, and not more than the
//!   snapshot that it is against.

use crate::append::{Appender, Content, NewRevision, RevisionHints};
use crate::chain::{Chain, snapshot_depth};
use crate::{Rev, RevlogError};
use varve_codec::CodecId;
use varve_delta::{Grain, diff, diff_sorted};

const LONGEST_CHAIN: usize = 1000;
const CHAIN_BYTES_PER_TEXT: u64 = 2;
/// Without sparse reading, a chain is read with all that lies between its chunks.
const CHAIN_SPAN_PER_TEXT: u64 = 4;
/// A base this many times shorter than the text has nothing to give.
const SHORTEST_BASE: usize = 500;
/// Most snapshots of the parents' chains that are tried for one revision, and most of others.
const MOST_SNAPSHOTS: usize = 6;
/// Longest text for which more than the parents are tried: rebuilding old texts of this length
/// takes longer than a commit should.
const LONGEST_SEARCHED: usize = 16 << 20;
/// A delta over this part of its text may not be smaller than the compressed text: both are made,
const SURELY_SMALL: usize = 16;
/// unless it is under this part of the size to expect from the full text below it.
const SURELY_SMALLER: u64 = 2;
/// A delta against a parent that is smaller than this part of its text needs no rivals.
const SMALL: usize = 64;
/// Compression is not tried where it would have to be better than this.
const BEST_RATIO_ZLIB: usize = 20;
const BEST_RATIO_ZSTD: usize = 100;

/// The form of a text that was chosen.
#[derive(Debug, Default)]
pub(crate) struct StoredForm {
    /// Base of the delta; `None` for a full text.
    pub base: Option<Rev>,
    pub chunk: Vec<u8>,
}

/// Buffers that are kept between revisions.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    patch: Vec<u8>,
    chunk: Vec<u8>,
    packed: Vec<u8>,
}

/// A longer buffer is made anew each time rather than kept.
const LONGEST_KEPT: usize = 4 << 20;

impl Scratch {
    /// Keeps the buffers for the next revision.
    pub fn recycle(&mut self, stored: StoredForm) {
        self.chunk = stored.chunk;
        for buffer in [&mut self.patch, &mut self.chunk, &mut self.packed] {
            if buffer.capacity() > LONGEST_KEPT {
                *buffer = Vec::new();
            }
        }
    }
}

/// Length and parents of a text, by which its limits are computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TextShape {
    /// Bytes of its text.
    pub len: usize,
    pub parents: [Option<Rev>; 2],
}

/// How long a delta against one revision may be.
struct DeltaLimit {
    base: Rev,
    /// Most bytes of the chunk.
    bytes: u64,
}

impl Appender {
    /// Chooses the form of a new revision.
    pub(crate) fn choose(
        &mut self,
        new: &NewRevision<'_>,
        given: &RevisionHints<'_>,
    ) -> Result<StoredForm, RevlogError> {
        let mut best = StoredForm {
            base: None,
            chunk: std::mem::take(&mut self.scratch.chunk),
        };
        best.chunk.clear();
        let plain = given.flags & !crate::flag::HINTS == 0;
        if self.content != Content::Changelog && plain && !new.text.is_empty() {
            let found = self.choose_delta(new, given, &mut best)?;
            // The sender of a delta has compared it with the full text already.
            let came = given.delta.is_some_and(|(base, _)| base == best.base);
            if found && (came || best.chunk.len() <= self.surely_small(best.base, new.text.len())) {
                return Ok(best);
            }
        }
        let mut full = std::mem::take(&mut self.scratch.packed);
        full.clear();
        self.pack(new.text, &mut full)?;
        if best.base.is_none() || full.len() <= best.chunk.len() {
            best.base = None;
            std::mem::swap(&mut best.chunk, &mut full);
        }
        self.scratch.packed = full;
        Ok(best)
    }

    /// Length up to which a delta against `base` is smaller than the compressed full text: judged
    /// by how well the full text at the start of its chain was compressed.
    fn surely_small(&mut self, base: Option<Rev>, text_len: usize) -> usize {
        let least = text_len / SURELY_SMALL;
        let Some(base) = base else {
            return least;
        };
        let full = self.chains.of(&self.revlog, base).full;
        let full = self.revlog.entry(full);
        let raw_len = u64::from(full.raw_len.unwrap_or(0)).max(1);
        let expected = text_len as u64 * u64::from(full.stored_len) / raw_len;
        least.max((expected / SURELY_SMALLER) as usize)
    }

    /// Looks for a good delta; says whether there is one.
    fn choose_delta(
        &mut self,
        new: &NewRevision<'_>,
        given: &RevisionHints<'_>,
        best: &mut StoredForm,
    ) -> Result<bool, RevlogError> {
        let mut tried = Vec::new();
        let newest = (self.len() as u32).checked_sub(1).map(Rev);
        if !self.revlog.header().general_delta {
            return self.try_all(&[newest], new, given, &mut tried, best);
        }
        if self.options.reuse_delta && self.options.reuse_delta_parent {
            let base = given.delta.and_then(|(base, _)| base);
            if self.try_all(&[base], new, given, &mut tried, best)? {
                return Ok(true);
            }
        }
        let parents = [new.p1, new.p2];
        if self.try_all(&parents, new, given, &mut tried, best)?
            && best.chunk.len() <= new.text.len() / SMALL
        {
            return Ok(true);
        }
        if new.text.len() > LONGEST_SEARCHED {
            return Ok(best.base.is_some());
        }
        if self.try_all(&[newest], new, given, &mut tried, best)? || !self.options.sparse {
            return Ok(best.base.is_some());
        }
        let snapshots = self.snapshots_near(&tried);
        self.try_all(&snapshots, new, given, &mut tried, best)
    }

    /// Snapshots that a new one may be against: those in the chains of `revs`, and the newest
    /// ones, which may have been made for another branch of the same history.
    fn snapshots_near(&mut self, revs: &[Rev]) -> Vec<Option<Rev>> {
        let mut found = Vec::new();
        for rev in revs {
            let mut next = Some(*rev);
            while let Some(rev) = next {
                if self.chains.of(&self.revlog, rev).depth.is_some() {
                    found.push(rev);
                }
                next = self.revlog.delta_parent(rev);
            }
        }
        found.sort_unstable();
        found.dedup();
        let newest = self.chains.snapshots(&self.revlog).iter().rev();
        let newest = newest.take(MOST_SNAPSHOTS).copied();
        let nearest = found.into_iter().rev().take(MOST_SNAPSHOTS);
        nearest.chain(newest).map(Some).collect()
    }

    /// Tries the delta against each of `bases` that was not tried before, and keeps the smallest
    /// of the good ones; says whether there is one.
    fn try_all(
        &mut self,
        bases: &[Option<Rev>],
        new: &NewRevision<'_>,
        given: &RevisionHints<'_>,
        tried: &mut Vec<Rev>,
        best: &mut StoredForm,
    ) -> Result<bool, RevlogError> {
        let shape = TextShape {
            len: new.text.len(),
            parents: [new.p1, new.p2],
        };
        for base in bases.iter().flatten() {
            if tried.contains(base) {
                continue;
            }
            tried.push(*base);
            if let Some(limit) = self.limit(*base, shape) {
                self.try_base(&limit, new, given, best)?;
            }
        }
        Ok(best.base.is_some())
    }

    /// How long a delta against `base` may be; `None` if there must be none.
    fn limit(&mut self, base: Rev, shape: TextShape) -> Option<DeltaLimit> {
        let entry = self.revlog.entry(base);
        let text_len = shape.len as u64;
        // A delta against a text that was cut out or lies elsewhere would be a delta against the
        // note about it.
        let unusual = entry.flags & !crate::flag::HINTS != 0;
        let base_len = entry.raw_len.map_or(usize::MAX, |len| len as usize);
        if unusual || base_len == 0 || base_len.saturating_mul(SHORTEST_BASE) < shape.len {
            return None;
        }
        let chain = self.chains.of(&self.revlog, base);
        if chain.deltas >= LONGEST_CHAIN {
            return None;
        }
        let left = (CHAIN_BYTES_PER_TEXT * text_len).checked_sub(chain.bytes)?;
        let mut bytes = left.min(text_len);
        if let Some(most) = self.snapshot_limit(base, chain, shape) {
            bytes = bytes.min(most);
        }
        if !self.options.sparse {
            let start = self.revlog.entry(chain.full).offset;
            let span = self.revlog.data_len() - start.min(self.revlog.data_len());
            bytes = bytes.min((CHAIN_SPAN_PER_TEXT * text_len).checked_sub(span)?);
        }
        (bytes > 0).then_some(DeltaLimit { base, bytes })
    }

    /// How long a delta may be that is a snapshot; `None` if it is an ordinary one.
    fn snapshot_limit(&self, base: Rev, chain: Chain, shape: TextShape) -> Option<u64> {
        if !self.revlog.header().general_delta {
            return None;
        }
        let depth = snapshot_depth(&self.revlog, chain, base, shape.parents)?;
        let part = (shape.len as u64).checked_shr(depth).unwrap_or(0);
        Some(part.min(u64::from(self.revlog.entry(base).stored_len)))
    }

    /// Makes a delta; it becomes `best` if it keeps the limit and is smaller.
    fn try_base(
        &mut self,
        limit: &DeltaLimit,
        new: &NewRevision<'_>,
        given: &RevisionHints<'_>,
        best: &mut StoredForm,
    ) -> Result<(), RevlogError> {
        let mut patch = std::mem::take(&mut self.scratch.patch);
        let mut packed = std::mem::take(&mut self.scratch.packed);
        let delta = match given.delta {
            Some((Some(base), delta)) if base == limit.base && self.options.reuse_delta => delta,
            _ => {
                patch.clear();
                self.diff(limit.base, new.text, &mut patch)?;
                &patch
            }
        };
        let mut most = limit.bytes;
        if best.base.is_some() {
            most = most.min((best.chunk.len() as u64).saturating_sub(1));
        }
        if !self.is_hopeless(delta.len(), new.text.len(), most) {
            packed.clear();
            self.pack(delta, &mut packed)?;
            if packed.len() as u64 <= most {
                best.base = Some(limit.base);
                std::mem::swap(&mut best.chunk, &mut packed);
            }
        }
        (self.scratch.patch, self.scratch.packed) = (patch, packed);
        Ok(())
    }

    /// Whether a delta need not be compressed to know that it will take more than `most` bytes, or
    /// saves too little against a long new text for the time of compressing both.
    fn is_hopeless(&self, delta_len: usize, text_len: usize, most: u64) -> bool {
        let best_ratio = match self.options.engine.codec() {
            CodecId::Zlib => BEST_RATIO_ZLIB,
            CodecId::Zstd => BEST_RATIO_ZSTD,
            CodecId::None | CodecId::Snappy => 1,
        };
        (delta_len / best_ratio) as u64 > most
            || (text_len > LONGEST_SEARCHED && delta_len > text_len / 2)
    }

    /// A delta in the form in which it came, if [`Appender::choose`] would take it without a look
    /// at the text.
    pub(crate) fn choose_received_delta(
        &mut self,
        base: Rev,
        shape: TextShape,
        delta: &[u8],
    ) -> Result<Option<StoredForm>, RevlogError> {
        let reused = self.options.reuse_delta && self.options.reuse_delta_parent;
        if !reused || !self.revlog.header().general_delta || shape.len == 0 {
            return Ok(None);
        }
        let Some(limit) = self.limit(base, shape) else {
            return Ok(None);
        };
        if self.is_hopeless(delta.len(), shape.len, limit.bytes) {
            return Ok(None);
        }
        let mut chunk = std::mem::take(&mut self.scratch.chunk);
        chunk.clear();
        self.pack(delta, &mut chunk)?;
        let is_small = chunk.len() <= self.surely_small(Some(base), shape.len);
        let base = Some(base);
        if chunk.len() as u64 <= limit.bytes && is_small {
            return Ok(Some(StoredForm { base, chunk }));
        }
        self.scratch.recycle(StoredForm { base, chunk });
        Ok(None)
    }

    fn diff(&mut self, base: Rev, text: &[u8], patch: &mut Vec<u8>) -> Result<(), RevlogError> {
        let reader = self.reader.get_mut();
        let old = reader.text(&self.revlog, base)?;
        match self.content {
            Content::File => diff(old, text, Grain::Bytes, patch),
            Content::Changelog => diff(old, text, Grain::Lines, patch),
            Content::Manifest => diff_sorted(old, text, patch),
        }
        Ok(())
    }

    fn pack(&mut self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), RevlogError> {
        self.packer
            .pack(raw, out)
            .map_err(|source| RevlogError::Compress {
                path: self.revlog.path().to_owned(),
                source,
            })
    }
}
