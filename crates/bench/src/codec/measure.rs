//! The runs themselves.

use super::Row;
use super::corpus::Corpus;
use crate::{BenchError, Spread};
use std::hint::black_box;
use std::time::{Duration, Instant};
use varve_base::Interrupt;
use varve_codec::{CodecError, CodecId, Compressor, Dictionary, EngineSetting, Expander};

/// If one run takes longer than this, runs are timed on an even part of the chunks.
const LONG_RUN: Duration = Duration::from_millis(100);

const NOT_YET: Spread = Spread {
    median: 0.0,
    low: 0.0,
    high: 0.0,
};

/// State shared by all measurements.
pub(super) struct Bench<'a> {
    corpus: &'a Corpus,
    runs: usize,
    interrupt: &'a Interrupt,
}

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

impl<'a> Bench<'a> {
    pub(super) fn new(corpus: &'a Corpus, runs: usize, interrupt: &'a Interrupt) -> Self {
        Bench {
            corpus,
            runs,
            interrupt,
        }
    }

    /// Speed of copying all chunks into memory that was used before: one behind the other, or each
    /// to the same place.
    pub(super) fn memcpy(&self, to_one_place: bool) -> Result<Spread, BenchError> {
        let mut out = Vec::new();
        self.time(|| {
            out.clear();
            for chunk in self.corpus.chunks() {
                if to_one_place {
                    out.clear();
                }
                out.extend_from_slice(black_box(chunk));
                black_box(&out);
            }
            Ok(())
        })
    }

    /// Measures one codec at one level. Its round trip is checked before anything is timed.
    pub(super) fn row(
        &self,
        setting: EngineSetting,
        dictionary: Option<&Dictionary>,
    ) -> Result<Row, BenchError> {
        let mut both = Both::new(setting, dictionary).map_err(|source| BenchError::Codec {
            setting,
            op: "compress",
            chunk: 0,
            source,
        })?;
        let mut stored = Stored::default();
        let start = Instant::now();
        both.compress(self, &mut stored)?;
        let once = start.elapsed();
        both.check(self, &stored)?;
        let dictionary = dictionary.map(|dictionary| dictionary.bytes().len());
        let mut row = Row {
            setting,
            dictionary,
            chunks: self.corpus.len(),
            incompressible: stored.ends.iter().filter(|(_, plain)| *plain).count(),
            bytes_in: self.corpus.bytes(),
            bytes_out: stored.bytes.len() as u64 + dictionary.unwrap_or(0) as u64,
            timed: self.corpus.len(),
            compress: NOT_YET,
            expand: NOT_YET,
        };
        let parts = once.as_micros().div_ceil(LONG_RUN.as_micros());
        if parts <= 1 {
            self.time_row(&mut both, &mut row)?;
        } else {
            let some = self
                .corpus
                .every(usize::try_from(parts).unwrap_or(usize::MAX));
            Bench::new(&some, self.runs, self.interrupt).time_row(&mut both, &mut row)?;
        }
        Ok(row)
    }

    /// Fills in the speeds.
    fn time_row(&self, both: &mut Both, row: &mut Row) -> Result<(), BenchError> {
        let (mut stored, mut raw) = (Stored::default(), Vec::new());
        row.timed = self.corpus.len();
        row.compress = self.time(|| both.compress(self, &mut stored))?;
        row.expand = self.time(|| both.expand(self, &stored, &mut raw))?;
        Ok(())
    }

    /// One run that does not count, then those that do.
    fn time(&self, mut work: impl FnMut() -> Result<(), BenchError>) -> Result<Spread, BenchError> {
        work()?;
        let mut times: Vec<Duration> = Vec::with_capacity(self.runs);
        for _ in 0..self.runs {
            self.interrupt.check()?;
            let start = Instant::now();
            work()?;
            times.push(start.elapsed());
        }
        Ok(Spread::of(self.corpus.bytes(), &times))
    }
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

    fn compress(&mut self, bench: &Bench<'_>, stored: &mut Stored) -> Result<(), BenchError> {
        stored.bytes.clear();
        stored.ends.clear();
        let stores = self.setting.codec() == CodecId::None;
        for (number, raw) in bench.corpus.chunks().enumerate() {
            bench.interrupt.check()?;
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
        bench: &Bench<'_>,
        stored: &Stored,
        out: &mut Vec<u8>,
    ) -> Result<(), BenchError> {
        let raws = bench.corpus.chunks();
        for (number, ((chunk, plain), raw)) in stored.chunks().zip(raws).enumerate() {
            bench.interrupt.check()?;
            out.clear();
            let done = self.expand_one(chunk, plain, raw.len(), out);
            done.map_err(self.failed("expand", number))?;
            black_box(&*out);
        }
        Ok(())
    }

    fn check(&mut self, bench: &Bench<'_>, stored: &Stored) -> Result<(), BenchError> {
        let mut out = Vec::new();
        let raws = bench.corpus.chunks();
        for (number, ((chunk, plain), raw)) in stored.chunks().zip(raws).enumerate() {
            bench.interrupt.check()?;
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
