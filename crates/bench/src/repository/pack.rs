//! Compressing the chunks of a store anew, all or an even sample.

use super::history::{Breakdown, History, HistoryPart};
use crate::BenchError;
use crate::measuring::Rounds;
use varve_base::Unit;
use varve_codec::{EngineSetting, Expander};
use varve_revlog::chunk::{self, Packer};

/// Sizes that one setting gives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Packed {
    pub setting: EngineSetting,
    /// Bytes of the chunks by part; in a sample, predicted.
    pub parts: [u64; 3],
    /// Bytes of the indexes' entries.
    pub index_bytes: u64,
    /// The manifest's, of `index_bytes`.
    pub manifest_index_bytes: u64,
    /// Seconds that compressing took, on one thread; in a sample, predicted.
    pub seconds: f64,
}

impl Packed {
    /// Bytes of all revlogs.
    pub fn store(&self) -> u64 {
        self.index_bytes + self.parts.iter().sum::<u64>()
    }

    /// Bytes of the manifest with its index.
    pub fn manifest(&self) -> u64 {
        self.manifest_index_bytes + self.parts[HistoryPart::Manifest as usize]
    }
}

/// Sums over the chunks that were looked at.
struct SettingSums {
    packer: Packer,
    bytes: [u64; 3],
    seconds: f64,
}

/// Compresses one in `stride` chunks at each setting, expands them again and compares. Sizes of a sample are scaled
/// by the stored bytes of the same part, which every setting's sizes follow closely.
pub(crate) fn pack_all(
    history: &History,
    settings: &[EngineSetting],
    stride: usize,
    rounds: &Rounds<'_>,
) -> Result<(Vec<Packed>, Breakdown), BenchError> {
    let mut breakdown = Breakdown::of(history);
    let mut sums = Vec::with_capacity(settings.len());
    for &setting in settings {
        sums.push(SettingSums {
            packer: Packer::new(setting)
                .map_err(|source| failed(setting, "compress", 0, source))?,
            bytes: [0; 3],
            seconds: 0.0,
        });
    }
    let total = history.revisions().div_ceil(stride);
    rounds
        .progress
        .begin("compressing chunks", Unit::Items, Some(total as u64));
    let mut looked_at = [0u64; 3];
    let (mut number, mut raw, mut scratch) = (0usize, Vec::new(), Scratch::default());
    for (part, revlog) in &history.revlogs {
        let mut reader = revlog.reader();
        for rev in revlog.revs() {
            number += 1;
            if !(number - 1).is_multiple_of(stride) {
                continue;
            }
            rounds.interrupt.check()?;
            reader.stored_delta(rev, &mut raw)?;
            let stored = reader.stored_chunk(rev)?;
            breakdown.add_chunk(stored, raw.len());
            looked_at[*part as usize] += stored.len() as u64;
            for sums in &mut sums {
                sums.add(*part, &raw, number - 1, &mut scratch)?;
            }
            rounds.progress.advance(1);
        }
    }
    rounds.progress.end();
    let packed = sums
        .iter()
        .map(|sums| sums.scaled(history, &breakdown, looked_at));
    Ok((packed.collect(), breakdown))
}

/// Buffers that all settings share.
#[derive(Default)]
struct Scratch {
    packed: Vec<u8>,
    back: Vec<u8>,
    expander: Expander,
}

impl SettingSums {
    fn add(
        &mut self,
        part: HistoryPart,
        raw: &[u8],
        number: usize,
        scratch: &mut Scratch,
    ) -> Result<(), BenchError> {
        let setting = self.packer.engine();
        let Scratch {
            packed,
            back,
            expander,
        } = scratch;
        packed.clear();
        back.clear();
        let start = std::time::Instant::now();
        let done = self.packer.pack(raw, packed);
        self.seconds += start.elapsed().as_secs_f64();
        done.map_err(|source| failed(setting, "compress", number, source))?;
        let expanded = chunk::expand(packed, raw.len(), expander, back);
        if expanded.is_err() || back != raw {
            return Err(BenchError::RoundTrip {
                setting,
                chunk: number,
            });
        }
        self.bytes[part as usize] += packed.len() as u64;
        Ok(())
    }

    fn scaled(&self, history: &History, breakdown: &Breakdown, looked_at: [u64; 3]) -> Packed {
        let all: u64 = HistoryPart::ALL
            .map(|part| breakdown.part_bytes(part))
            .iter()
            .sum();
        let seen: u64 = looked_at.iter().sum();
        let scale = |bytes: u64, all: u64, seen: u64| match seen {
            0 => all,
            seen if seen == all => bytes,
            seen => (bytes as f64 * all as f64 / seen as f64).round() as u64,
        };
        let parts = HistoryPart::ALL.map(|part| {
            let index = part as usize;
            scale(
                self.bytes[index],
                breakdown.part_bytes(part),
                looked_at[index],
            )
        });
        Packed {
            setting: self.packer.engine(),
            parts,
            index_bytes: breakdown.index_bytes,
            manifest_index_bytes: (history.manifest.len() * varve_revlog::ENTRY_LEN) as u64,
            seconds: self.seconds * all as f64 / seen.max(1) as f64,
        }
    }
}

fn failed(
    setting: EngineSetting,
    op: &'static str,
    chunk: usize,
    source: varve_codec::CodecError,
) -> BenchError {
    BenchError::Codec {
        setting,
        op,
        chunk,
        source,
    }
}
