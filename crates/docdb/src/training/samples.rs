//! A dictionary from the first documents of a database that is being loaded.

use super::{FEWEST, LONGEST, MEASURED, PART, SAMPLES, SHORTEST, Trained, learn};
use crate::DocdbError;
use crate::bodies::BodyCodec;
use varve_codec::{CodecId, DictionaryCompressor};

/// Bytes of samples of which more make the dictionary no better.
pub(crate) const WANTED: u64 = LONGEST * SAMPLES + MEASURED;

/// Returns whether a dictionary may learn from this body.
pub(crate) fn is_sample(body: &[u8]) -> bool {
    !body.is_empty() && body.len() <= DictionaryCompressor::LONGEST
}

/// A dictionary for bodies like these, if it pays. One of four is measured on, and not learnt from.
pub(crate) fn of_samples(
    samples: Vec<Vec<u8>>,
    method: &BodyCodec,
) -> Result<Option<Trained>, DocdbError> {
    if method.setting.codec() != CodecId::Zstd || samples.len() < FEWEST {
        return Ok(None);
    }
    let documents = samples.len() as u64;
    let bytes: u64 = samples.iter().map(|sample| sample.len() as u64).sum();
    let (mut learnt, mut measured) = (Vec::new(), Vec::new());
    for (index, sample) in samples.into_iter().enumerate() {
        match index % 4 {
            3 => measured.push(sample),
            _ => learnt.push(sample),
        }
    }
    let size = (bytes / PART).clamp(SHORTEST, LONGEST);
    learn(&learnt, size, || Ok(measured), method, (documents, bytes))
}
