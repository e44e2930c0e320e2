//! Bodies from all over a database.

use crate::record::{BY_SEQ, Change, Totals};
use crate::{DocdbError, Snapshot};
use varve_btree::Direction;
use varve_codec::DictionaryCompressor;

/// So many neighbours are read together.
const RUN: u64 = 16;
/// Most samples, however short they are.
const MOST: u64 = 16 << 10;

/// Where the first of the samples stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offset {
    /// At the beginning.
    None,
    /// Half the distance of two runs behind it.
    Half,
}

/// Winners' bodies that a dictionary could be used for, about `wanted` bytes of them, at even
/// distances by sequence. Those that cannot be read are left out.
pub(super) fn bodies(
    snapshot: &Snapshot,
    totals: &Totals,
    offset: Offset,
    wanted: u64,
) -> Result<Vec<Vec<u8>>, DocdbError> {
    let documents = snapshot.tree().len(BY_SEQ)?;
    let mean = totals.external.checked_div(documents).unwrap_or(0).max(1);
    let runs = (wanted / mean).clamp(RUN, MOST) / RUN;
    let runs = runs.min(documents.div_ceil(RUN));
    let (mut samples, mut bytes) = (Vec::new(), 0);
    for run in 0..runs {
        let halves = 2 * run + u64::from(offset == Offset::Half);
        // A part of the documents, so it fits.
        let first = (u128::from(halves) * u128::from(documents) / u128::from(2 * runs)) as u64;
        let ranks = first..first.saturating_add(RUN);
        let items = snapshot
            .tree()
            .range_by_rank(BY_SEQ, ranks, Direction::Forward)?;
        for item in items {
            let item = item?;
            let change = Change::decode(item.key(), item.value());
            let change = change.map_err(|_| snapshot.damaged("change", item.key()))?;
            // Compressed it is too long already; a body of many megabytes is not worth expanding only to see that.
            if change.stored.body.len as usize > DictionaryCompressor::LONGEST {
                continue;
            }
            let mut body = Vec::new();
            match snapshot.body(&change.stored, &mut body) {
                // The others tell enough.
                Err(error) if error.is_damage() => continue,
                read => read?,
            }
            let is_fit = !body.is_empty() && body.len() <= DictionaryCompressor::LONGEST;
            if is_fit && !change.is_deleted() && bytes < 2 * wanted {
                bytes += body.len() as u64;
                samples.push(body);
            }
        }
    }
    Ok(samples)
}
