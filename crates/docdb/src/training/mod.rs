//! Training of dictionaries: when it is due, its samples, and whether it pays.
//!
//! No commit waits for it. A thread of its own trains on the documents of one commit; the next commit
//! takes the result along. Only edits that are prepared after this commit use the
//! dictionary, so it is durable before the first chunk that needs it. A compaction trains as well,
//! for its copy.

mod background;
mod sample;
mod samples;

pub(crate) use background::Training;
pub(crate) use samples::{WANTED as SAMPLES_WANTED, is_sample, of_samples};

use crate::bodies::{BodyCodec, BodyCompressor};
use crate::record::{DictionaryRecord, Totals};
use crate::{DocdbError, Snapshot};
use sample::Offset;
use std::ops::Bound;
use std::time::{SystemTime, UNIX_EPOCH};
use varve_btree::{ChunkRef, TreeError};
use varve_codec::{CodecId, Compressor, Dictionary};

/// So many documents are enough to train on,
const ENOUGH_DOCUMENTS: u64 = 1000;
/// or so many bytes of them.
const ENOUGH_BYTES: u64 = 1 << 20;
/// With so many times the documents that a dictionary has learnt from, it is looked at again,
const GROWTH: u64 = 8;
/// and with so many times another is trained in any case: a longer one, from more of them. Training
/// takes as long as storing some thousands of documents, so it must not happen more often.
const GREAT_GROWTH: u64 = 64;
/// So many times are enough where all bodies are read anyway.
const GROWTH_FOR_COPY: u64 = 2;

/// Longest dictionary.
const LONGEST: u64 = 96 << 10;
/// Shortest dictionary.
const SHORTEST: u64 = 4 << 10;
/// A dictionary is to be this small a part of the documents.
const PART: u64 = 64;
/// Samples are this many times as long as the dictionary,
const SAMPLES: u64 = 24;
/// or this many times while documents are being written.
const SAMPLES_IN_PASSING: u64 = 12;
/// Fewer samples are not trained on.
const FEWEST: usize = 64;
/// Bytes to measure on,
const MEASURED: u64 = 1 << 20;
/// and while documents are being written.
const MEASURED_IN_PASSING: u64 = 256 << 10;

/// How much is read to make a dictionary.
#[derive(Clone, Copy, Debug)]
struct Effort {
    /// Times its length that it learns from.
    samples: u64,
    /// Bytes to measure on.
    measured: u64,
}

impl Effort {
    const FULL: Effort = Effort {
        samples: SAMPLES,
        measured: MEASURED,
    };
    const IN_PASSING: Effort = Effort {
        samples: SAMPLES_IN_PASSING,
        measured: MEASURED_IN_PASSING,
    };
}

/// A dictionary that pays, without a number yet.
#[derive(Clone, Debug)]
pub(crate) struct Trained {
    pub(crate) dictionary: Dictionary,
    documents: u64,
    share: u64,
}

impl Trained {
    /// Its entry in the header, with its number and its place.
    pub(crate) fn record(&self, number: u32, place: ChunkRef) -> DictionaryRecord {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        DictionaryRecord {
            number,
            place,
            trained: now.map_or(0, |now| u64::try_from(now.as_micros()).unwrap_or(u64::MAX)),
            documents: self.documents,
            share: self.share,
        }
    }
}

fn totals(snapshot: &Snapshot) -> Result<Totals, DocdbError> {
    snapshot.totals((Bound::Unbounded, Bound::Unbounded))
}

/// Number of documents to train on.
pub(crate) fn documents(snapshot: &Snapshot) -> Result<u64, DocdbError> {
    Ok(totals(snapshot)?.live)
}

/// Whether there are enough documents to train on, and more than the present dictionary has seen.
fn is_due(snapshot: &Snapshot, method: &BodyCodec, growth: u64) -> Result<bool, DocdbError> {
    if method.setting.codec() != CodecId::Zstd {
        return Ok(false);
    }
    let totals = totals(snapshot)?;
    Ok(match present(snapshot, method) {
        Some(present) => totals.live >= present.documents.saturating_mul(growth),
        None => totals.live >= ENOUGH_DOCUMENTS || totals.external >= ENOUGH_BYTES,
    })
}

/// Entry of the dictionary that is used at present.
fn present<'s>(snapshot: &'s Snapshot, method: &BodyCodec) -> Option<&'s DictionaryRecord> {
    let number = method.dictionary.as_ref()?.number();
    let known = &snapshot.header().dictionaries;
    known.iter().find(|record| record.number == number)
}

/// A dictionary for a copy of all documents, where it is due or the present one has become worse.
pub(crate) fn for_copy(
    snapshot: &Snapshot,
    method: &BodyCodec,
) -> Result<Option<Trained>, DocdbError> {
    let is_wanted =
        is_due(snapshot, method, GROWTH_FOR_COPY)? || is_worse(snapshot, method, MEASURED)?;
    match is_wanted {
        true => train(snapshot, method, Effort::FULL),
        false => Ok(None),
    }
}

/// A dictionary for the documents to come: the first, or one in the place of one that has become worse or was trained
/// on too few.
pub(crate) fn in_passing(
    snapshot: &Snapshot,
    method: &BodyCodec,
) -> Result<Option<Trained>, DocdbError> {
    let effort = Effort::IN_PASSING;
    let is_wanted =
        is_due(snapshot, method, GREAT_GROWTH)? || is_worse(snapshot, method, effort.measured)?;
    match is_wanted {
        true => train(snapshot, method, effort),
        false => Ok(None),
    }
}

/// A dictionary whether it is time for one or not, if it pays.
pub(crate) fn on_request(
    snapshot: &Snapshot,
    method: &BodyCodec,
) -> Result<Option<Trained>, DocdbError> {
    train(snapshot, method, Effort::FULL)
}

/// Whether the present dictionary has become worse by a tenth.
fn is_worse(snapshot: &Snapshot, method: &BodyCodec, measured: u64) -> Result<bool, DocdbError> {
    let Some(present) = present(snapshot, method) else {
        return Ok(false);
    };
    let measured = sample::bodies(snapshot, &totals(snapshot)?, Offset::Half, measured)?;
    Ok(share(&measured, method)? > present.share + present.share / 10)
}

/// A dictionary better than the present one; `None` if it would not pay. The same commit gives the same dictionary.
fn train(
    snapshot: &Snapshot,
    method: &BodyCodec,
    effort: Effort,
) -> Result<Option<Trained>, DocdbError> {
    let totals = totals(snapshot)?;
    let size = (totals.external / PART).clamp(SHORTEST, LONGEST);
    let samples = sample::bodies(snapshot, &totals, Offset::None, size * effort.samples)?;
    if samples.len() < FEWEST {
        return Ok(None);
    }
    // The training samples are part of the data to be compressed, so some of them may be met again.
    let measured = || sample::bodies(snapshot, &totals, Offset::Half, effort.measured);
    let data = (totals.live, totals.external);
    learn(&samples, size, measured, method, data)
}

/// A dictionary of at most `size` bytes from samples, if it pays for data of so many documents and bytes.
fn learn(
    samples: &[Vec<u8>],
    size: u64,
    measured: impl FnOnce() -> Result<Vec<Vec<u8>>, DocdbError>,
    method: &BodyCodec,
    (documents, bytes): (u64, u64),
) -> Result<Option<Trained>, DocdbError> {
    // At most LONGEST. Samples that zstd cannot train on give no dictionary.
    let Ok(dictionary) = Dictionary::train(samples, size as usize) else {
        return Ok(None);
    };
    let numbered = dictionary.with_number(1).map_err(TreeError::Compress)?;
    // Twice: it has a copy.
    let stored = 2 * chunk_of(&numbered, method)?.stored_len() as u64;
    let with = BodyCodec {
        setting: method.setting,
        dictionary: Some(numbered),
    };
    let measured = measured()?;
    let (before, after) = (share(&measured, method)?, share(&measured, &with)?);
    let gain = before.saturating_sub(after);
    // A thirtieth less, and by more than the dictionary takes itself.
    let pays = gain * 30 >= before && bytes / 1000 * gain > stored;
    Ok(pays.then_some(Trained {
        dictionary,
        documents,
        share: after,
    }))
}

/// Stored length of 1000 bytes of the samples.
fn share(samples: &[Vec<u8>], method: &BodyCodec) -> Result<u64, DocdbError> {
    let mut compressor = BodyCompressor::new(method)?;
    let (mut raw, mut stored) = (0, 0);
    for sample in samples {
        raw += sample.len() as u64;
        stored += compressor.encode(sample)?.stored_len() as u64;
    }
    Ok((stored * 1000).checked_div(raw).unwrap_or(1000))
}

/// The chunk of a dictionary.
pub(crate) fn chunk_of(
    dictionary: &Dictionary,
    method: &BodyCodec,
) -> Result<varve_btree::EncodedChunk, DocdbError> {
    let mut plain = Compressor::new(method.setting).map_err(TreeError::Compress)?;
    Ok(varve_btree::EncodedChunk::encode(
        &mut plain,
        dictionary.bytes(),
    )?)
}
