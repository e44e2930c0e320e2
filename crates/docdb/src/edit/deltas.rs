//! Bodies of long documents as deltas of the revision that they continue.
//!
//! ```text
//! whole ◄── delta ◄── delta ◄── delta      at most three deltas on one whole chunk
//!   ▲         ▲         ▲
//!   └ many    └ many    └ many             and any number that have the same base
//! ```
//! Deltas of one base become longer with every edit. Once those of one base have together taken the room of a new base,
//! there is a new one: a delta one step nearer to the whole chunk, or a whole chunk.

use super::Mode;
use crate::edit::Edit;
use crate::{DocdbError, Snapshot};
use varve_base::ReadMode;
use varve_btree::{ChainLink, EncodedChunk, TreeError};
use varve_codec::DeltaCompressor;

/// Shorter texts are not worth it: a dictionary does as much for them.
const SHORTEST: usize = 4 << 10;
/// In bytes. Longer texts take too long to expand for a reader in [`ReadMode::CachedOnly`].
const LONG: u64 = 64 << 10;
/// How many deltas lie on one another.
const DEEPEST: usize = 3;

/// A body that needs other chunks of its file.
#[derive(Debug)]
pub(crate) struct Delta {
    pub(crate) chunk: EncodedChunk,
    /// Bytes of the chunks that it needs.
    pub(crate) bases: u64,
    /// A commit of the file that they are in, for the writer: reading it may block.
    pub(crate) source: Snapshot,
}

/// The text of an edit as a delta of the revision it continues; `None` where that does not pay, or there is no such
/// revision.
pub(super) fn delta(
    edit: &Edit,
    mode: Mode,
    snapshot: &Snapshot,
    (compressor, level): (&mut DeltaCompressor, i32),
    text: &[u8],
) -> Result<Option<Delta>, DocdbError> {
    if text.len() < SHORTEST || edit.is_local() {
        return Ok(None);
    }
    let ancestors = match mode {
        Mode::Interactive => &edit.revs[..],
        Mode::Replicated => edit.revs.get(1..).unwrap_or_default(),
    };
    if ancestors.is_empty() {
        return Ok(None);
    }
    let Some(document) = snapshot.document(&edit.id)? else {
        return Ok(None);
    };
    let mut known = ancestors.iter().filter_map(|rev| document.revision(rev));
    let Some((_, parent)) = known.next() else {
        return Ok(None);
    };
    snapshot.mode().refuse_long_work(parent.external > LONG)?;
    let Some(chain) = if_readable(snapshot.tree().chain(parent.body))? else {
        return Ok(None);
    };
    let mut base = chain.len().min(DEEPEST);
    while let Some(step) = base.checked_sub(1) {
        let mut raw = Vec::new();
        let read = snapshot.tree().read_chunk(chain[step].place, &mut raw);
        if if_readable(read)?.is_none() {
            return Ok(None);
        }
        let ordinal = chain
            .get(base)
            .map_or(0, |last| last.ordinal)
            .saturating_add(1);
        let at = (chain[step].place, ordinal);
        let made = EncodedChunk::encode_delta(compressor, level, at, &raw, text)?;
        if let Some(chunk) = made.filter(|chunk| pays(chunk, &chain[..base], ordinal)) {
            let bases = chain[..base].iter().map(|link| u64::from(link.place.len));
            return Ok(Some(Delta {
                chunk,
                bases: bases.sum(),
                source: snapshot.clone().with_mode(ReadMode::Blocking),
            }));
        }
        base = step;
    }
    Ok(None)
}

/// A damaged chunk cannot be a base; the edit does not need it.
fn if_readable<T>(read: Result<T, TreeError>) -> Result<Option<T>, TreeError> {
    match read {
        Err(error) if error.is_would_block() => Err(error),
        read => Ok(read.ok()),
    }
}

/// Whether another delta of the last of `bases` is cheaper than a new base.
fn pays(chunk: &EncodedChunk, bases: &[ChainLink], ordinal: u64) -> bool {
    let Some((base, below)) = bases.split_last() else {
        return false;
    };
    let (len, base) = (chunk.stored_len() as u64, u64::from(base.place.len));
    // They have grown from nothing to this length.
    let spent = len.saturating_mul(ordinal) / 2;
    let new_base = if below.is_empty() { base } else { base + len };
    spent <= new_base && len * 2 <= u64::from(bases[0].place.len)
}
