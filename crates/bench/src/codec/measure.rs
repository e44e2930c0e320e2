//! The runs themselves.

use super::Row;
use super::corpus::Corpus;
use crate::BenchError;
use crate::measuring::{Samples, timed};
use std::hint::black_box;
use std::time::{Duration, Instant};
use varve_base::Interrupt;
use varve_codec::{CodecError, CodecId, Compressor, Dictionary, EngineSetting, Expander};

/// If one run takes longer than this, runs are timed on an even part of the chunks.
const LONG_RUN: Duration = Duration::from_millis(100);

/// Speed of copying all chunks into memory that was used before: one behind the other, or each to the same place.
pub(super) fn memcpy_speed(corpus: &Corpus, to_one_place: bool) -> f64 {
    let mut out = Vec::new();
    let mut copy = || {
        out.clear();
        for chunk in corpus.chunks() {
            if to_one_place {
                out.clear();
            }
            out.extend_from_slice(black_box(chunk));
            black_box(&out);
        }
    };
    copy();
    let start = Instant::now();
    copy();
    speed(corpus, start.elapsed().as_secs_f64())
}

/// 10^6 bytes of the chunks a second. A clock that stood still is not infinitely fast.
fn speed(corpus: &Corpus, seconds: f64) -> f64 {
    corpus.bytes() as f64 / 1e6 / seconds.max(1e-9)
}

/// One codec at one level, with what it compresses.
pub(super) struct Trial<'c> {
    pub row: Row,
    both: Both,
    /// All chunks.
    whole: &'c Corpus,
    /// An even part of them, where one run over all takes long.
    part: Option<Corpus>,
}

impl<'c> Trial<'c> {
    /// Compresses and expands every chunk once, and compares.
    pub fn new(
        corpus: &'c Corpus,
        setting: EngineSetting,
        dictionary: Option<&Dictionary>,
        interrupt: &Interrupt,
    ) -> Result<Self, BenchError> {
        let mut both = Both::new(setting, dictionary).map_err(|source| BenchError::Codec {
            setting,
            op: "compress",
            chunk: 0,
            source,
        })?;
        let mut stored = Stored::default();
        let start = Instant::now();
        both.compress((corpus, interrupt), &mut stored)?;
        let once = start.elapsed();
        both.check((corpus, interrupt), &stored)?;
        let dictionary = dictionary.map(|dictionary| dictionary.bytes().len());
        let parts = once.as_micros().div_ceil(LONG_RUN.as_micros());
        let part = (parts > 1).then(|| corpus.every(usize::try_from(parts).unwrap_or(usize::MAX)));
        Ok(Trial {
            row: Row {
                setting,
                dictionary,
                chunks: corpus.len(),
                incompressible: stored.ends.iter().filter(|(_, plain)| *plain).count(),
                bytes_in: corpus.bytes(),
                bytes_out: stored.bytes.len() as u64 + dictionary.unwrap_or(0) as u64,
                timed: part.as_ref().unwrap_or(corpus).len(),
                compress: Samples::default(),
                expand: Samples::default(),
            },
            both,
            whole: corpus,
            part,
        })
    }

    /// Speeds of compressing and of expanding.
    pub fn run(&mut self, interrupt: &Interrupt) -> Result<(f64, f64), BenchError> {
        let corpus = self.part.as_ref().unwrap_or(self.whole);
        let input = (corpus, interrupt);
        let (mut stored, mut raw) = (Stored::default(), Vec::new());
        // Memory that a run needs for the first time is not what is measured.
        self.both.compress(input, &mut stored)?;
        let compress = timed(|| self.both.compress(input, &mut stored))?;
        let expand = timed(|| self.both.expand(input, &stored, &mut raw))?;
        Ok((speed(corpus, compress), speed(corpus, expand)))
    }
}

/// Chunks to work on, until the interrupt.
type Input<'i> = (&'i Corpus, &'i Interrupt);

/// The chunks as they would be stored, one behind the other.
#[derive(Default)]
struct Stored {
    bytes: Vec<u8>,
    /// For each chunk, where it ends, and whether it is stored as it is.
    ends: Vec<(usize, bool)>,
}

/// A codec in both directions, with contexts kept.
struct Both {
    setting: EngineSetting,
    compressor: Compressor,
    /// `None` if the compressor expands as well, which it does with a dictionary.
    expander: Option<Expander>,
}

impl Stored {
    /// Each chunk's stored form, and whether it is the chunk itself.
    fn chunks(&self) -> impl Iterator<Item = (&[u8], bool)> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(end, _)| *end));
        starts
            .zip(&self.ends)
            .map(|(start, &(end, plain))| (&self.bytes[start..end], plain))
    }
}

impl Both {
    fn new(setting: EngineSetting, dictionary: Option<&Dictionary>) -> Result<Both, CodecError> {
        Ok(Both {
            setting,
            compressor: match dictionary {
                None => Compressor::new(setting)?,
                Some(dictionary) => Compressor::with_dictionary(setting.level(), dictionary)?,
            },
            expander: dictionary.is_none().then(Expander::new),
        })
    }

    fn failed(&self, op: &'static str, chunk: usize) -> impl FnOnce(CodecError) -> BenchError {
        let setting = self.setting;
        move |source| BenchError::Codec {
            setting,
            op,
            chunk,
            source,
        }
    }

    fn compress(
        &mut self,
        (corpus, interrupt): Input<'_>,
        stored: &mut Stored,
    ) -> Result<(), BenchError> {
        stored.bytes.clear();
        stored.ends.clear();
        let stores = self.setting.codec() == CodecId::None;
        for (number, raw) in corpus.chunks().enumerate() {
            interrupt.check()?;
            let start = stored.bytes.len();
            let done = self.compressor.compress(raw, &mut stored.bytes);
            done.map_err(self.failed("compress", number))?;
            let plain = stored.bytes.len() - start >= raw.len();
            if plain && !stores {
                stored.bytes.truncate(start);
                stored.bytes.extend_from_slice(raw);
            }
            stored.ends.push((stored.bytes.len(), plain));
        }
        Ok(())
    }

    fn expand_one(
        &mut self,
        chunk: &[u8],
        plain: bool,
        limit: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), CodecError> {
        match &mut self.expander {
            _ if plain => out.extend_from_slice(chunk),
            None => return self.compressor.expand(chunk, limit, out),
            Some(expander) => return expander.expand(self.setting.codec(), chunk, limit, out),
        }
        Ok(())
    }

    /// Expands chunk by chunk into one buffer, as a reader does that uses each and goes on.
    fn expand(
        &mut self,
        (corpus, interrupt): Input<'_>,
        stored: &Stored,
        out: &mut Vec<u8>,
    ) -> Result<(), BenchError> {
        let raws = corpus.chunks();
        for (number, ((chunk, plain), raw)) in stored.chunks().zip(raws).enumerate() {
            interrupt.check()?;
            out.clear();
            let done = self.expand_one(chunk, plain, raw.len(), out);
            done.map_err(self.failed("expand", number))?;
            black_box(&*out);
        }
        Ok(())
    }

    fn check(&mut self, (corpus, interrupt): Input<'_>, stored: &Stored) -> Result<(), BenchError> {
        let mut out = Vec::new();
        let raws = corpus.chunks();
        for (number, ((chunk, plain), raw)) in stored.chunks().zip(raws).enumerate() {
            interrupt.check()?;
            out.clear();
            let done = self.expand_one(chunk, plain, raw.len(), &mut out);
            done.map_err(self.failed("expand", number))?;
            if out != raw {
                return Err(BenchError::RoundTrip {
                    setting: self.setting,
                    chunk: number,
                });
            }
        }
        Ok(())
    }
}
