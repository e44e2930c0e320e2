//! Reading revisions, with the time that each stage takes.

use crate::BenchError;
use std::time::Instant;
use varve_base::Interrupt;
use varve_codec::Expander;
use varve_revlog::{Rev, Revlog, chunk, hash};

/// The stages of reading, in the order of [`read`]'s quantities behind the whole.
pub(crate) const STAGES: [&str; 4] = ["read", "decompress", "patch", "hash"];

/// Seconds of reading the texts of `revs` with one thread, every hash checked; then those of its stages. Reading and
/// decompressing are done once more alone; patching is the rest.
pub(crate) fn read(
    revlog: &Revlog,
    revs: &[Rev],
    interrupt: &Interrupt,
) -> Result<Vec<f64>, BenchError> {
    let (mut texts, mut hashes) = (0.0, 0.0);
    let mut reader = revlog.reader();
    for rev in revs {
        interrupt.check()?;
        let start = Instant::now();
        let text = reader.unchecked_text(*rev)?;
        let middle = Instant::now();
        let [p1, p2] = revlog
            .parents(*rev)
            .map(|parent| revlog.node_or_null(parent));
        let found = hash(&p1, &p2, text);
        hashes += middle.elapsed().as_secs_f64();
        texts += (middle - start).as_secs_f64();
        if found != revlog.node(*rev) {
            return Err(BenchError::WrongText {
                path: revlog.path().to_owned(),
                rev: rev.0,
            });
        }
    }
    let (read, decompress) = alone(revlog, revs, interrupt)?;
    let patch = (texts - read - decompress).max(0.0);
    Ok(vec![texts + hashes, read, decompress, patch, hashes])
}

/// Seconds of reading the same chunks and of expanding them.
fn alone(revlog: &Revlog, revs: &[Rev], interrupt: &Interrupt) -> Result<(f64, f64), BenchError> {
    let (mut read, mut decompress) = (0.0, 0.0);
    let (mut reader, mut expander) = (revlog.reader(), Expander::new());
    let mut out = Vec::new();
    for rev in revs {
        interrupt.check()?;
        let start = Instant::now();
        let stored = reader.stored_chunk(*rev)?;
        let middle = Instant::now();
        out.clear();
        let expanded = chunk::expand(stored, usize::MAX, &mut expander, &mut out);
        decompress += middle.elapsed().as_secs_f64();
        read += (middle - start).as_secs_f64();
        if expanded.is_err() {
            return Err(BenchError::WrongText {
                path: revlog.path().to_owned(),
                rev: rev.0,
            });
        }
    }
    Ok((read, decompress))
}
