//! Reduces: summaries of runs of rows in an index.
//!
//! The summary of some rows holds one part for each reduce over their map function, in order:
//!
//! ```text
//!      +---------------+------+--------------------------------------------+
//!      | length varint | kind | kind 0: nothing (no rows, or none needed)  |
//!      | of the rest   | u8   | kind 1: the reduced value as JSON text     |  … for each reduce
//!      |               |      | kind 2: why there is none, as text         |
//!      |               |      | kind 3: registers (see `distinct`)         |
//!      |               |      | kind 4: why it is too long, as text        |
//!      +---------------+------+--------------------------------------------+
//! ```
//! Counts, first and last rows need nothing: trees count their items themselves, and find the first
//! and the last row. If a map function has no other reduces, its summaries are empty.

mod distinct;
mod extremes;
mod number;
mod script;
mod stats;
mod sum;
mod term_size;

use crate::principals::behind_principal;
use crate::row::{id_of_tail, push_varint, read_varint};
use crate::{DesignError, IndexOptions};
use distinct::Sketch;
use extremes::Extremes;
use script::ScriptReducer;
use std::borrow::Cow;
use std::sync::Arc;
use varve_btree::Reducer;
use varve_json::{Value, parse_made, write_string};

/// One reduce function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reduction {
    ApproxCountDistinct,
    Count,
    First,
    Last,
    Extremes(Extremes),
    Stats,
    Sum,
    /// A function in JavaScript.
    Script(String),
}

impl Reduction {
    /// Reads the `reduce` member of a view.
    pub(crate) fn of(text: &str) -> Result<Self, DesignError> {
        Ok(match text.trim() {
            "_first" => Reduction::First,
            "_last" => Reduction::Last,
            // CouchDB looks at the beginnings of these names only.
            name if name.starts_with("_approx_count_distinct") => Reduction::ApproxCountDistinct,
            name if name.starts_with("_count") => Reduction::Count,
            name if name.starts_with("_stats") => Reduction::Stats,
            name if name.starts_with("_sum") => Reduction::Sum,
            name if name.starts_with('_') => {
                let extremes = Extremes::of_name(name).map(Reduction::Extremes);
                extremes.ok_or_else(|| DesignError::Invalid {
                    reason: format!("`{name}` is not a supported reduce function."),
                })?
            }
            source => Reduction::Script(source.to_owned()),
        })
    }

    /// The `reduce` member again.
    pub(crate) fn text(&self) -> Cow<'_, str> {
        Cow::Borrowed(match self {
            Reduction::ApproxCountDistinct => "_approx_count_distinct",
            Reduction::Count => "_count",
            Reduction::First => "_first",
            Reduction::Last => "_last",
            Reduction::Extremes(extremes) => return Cow::Owned(extremes.name()),
            Reduction::Stats => "_stats",
            Reduction::Sum => "_sum",
            Reduction::Script(source) => source,
        })
    }

    /// Whether the tree knows it without summaries.
    fn is_known_to_trees(&self) -> bool {
        matches!(self, Reduction::Count | Reduction::First | Reduction::Last)
    }
}

/// Result of one reduce over some rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reduced {
    /// There were no rows, or only their number counts.
    Nothing,
    /// JSON text.
    Value(Vec<u8>),
    /// Why there is no value.
    Failed(String),
    /// Registers of keys that were counted.
    Registers(Vec<u8>),
    /// The value would be too long.
    Overflow(String),
}

const NOTHING: u8 = 0;
const VALUE: u8 = 1;
const FAILED: u8 = 2;
const REGISTERS: u8 = 3;
const OVERFLOW: u8 = 4;

/// Summaries of long runs stand above those of shorter ones, up to the record of each commit.
const MAX_VALUE: usize = 256 << 10;
/// Bytes of a reason, which may quote a value.
const MAX_REASON: usize = 1 << 10;

impl Reduced {
    fn push(&self, out: &mut Vec<u8>) {
        let reason = |text: &'_ str| text.floor_char_boundary(MAX_REASON);
        let (kind, bytes) = match self {
            Reduced::Nothing => (NOTHING, &b""[..]),
            Reduced::Value(json) if json.len() > MAX_VALUE => {
                let len = json.len();
                let text = format!("A reduced value has at most {MAX_VALUE} bytes, not {len}.");
                return Reduced::Overflow(text).push(out);
            }
            Reduced::Value(json) => (VALUE, &json[..]),
            Reduced::Failed(text) => (FAILED, &text.as_bytes()[..reason(text)]),
            Reduced::Registers(bytes) => (REGISTERS, &bytes[..]),
            Reduced::Overflow(text) => (OVERFLOW, &text.as_bytes()[..reason(text)]),
        };
        push_varint(bytes.len() + 1, out);
        out.push(kind);
        out.extend_from_slice(bytes);
    }

    /// Part `index` of a summary; nothing if the summary is damaged or empty.
    pub(crate) fn read(mut summary: &[u8], index: usize) -> Reduced {
        for _ in 0..index {
            let len = read_varint(&mut summary);
            summary = len.and_then(|len| summary.get(len..)).unwrap_or_default();
        }
        let len = read_varint(&mut summary);
        let part = len.and_then(|len| summary.get(..len));
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        match part.and_then(<[u8]>::split_first) {
            Some((&VALUE, json)) => Reduced::Value(json.to_vec()),
            Some((&FAILED, reason)) => Reduced::Failed(text(reason)),
            Some((&REGISTERS, bytes)) => Reduced::Registers(bytes.to_vec()),
            Some((&OVERFLOW, reason)) => Reduced::Overflow(text(reason)),
            _ => Reduced::Nothing,
        }
    }

    /// As JSON text: the value, or an object that says why there is none.
    pub(crate) fn into_json(self) -> Vec<u8> {
        let (start, reason) = match self {
            Reduced::Value(json) => return json,
            Reduced::Nothing => return b"null".to_vec(),
            Reduced::Registers(bytes) => {
                let mut sketch = Sketch::new();
                sketch.join(&bytes);
                return sketch.estimate().to_string().into_bytes();
            }
            Reduced::Failed(reason) => (r#"{"error":"builtin_reduce_error","reason":"#, reason),
            // As CouchDB shows it.
            Reduced::Overflow(reason) => (r#"{"reduce_overflow_error":"#, reason),
        };
        let mut out = start.as_bytes().to_vec();
        write_string(&reason, &mut out);
        out.push(b'}');
        out
    }
}

/// The reduces over one map function, in the form that the tree file wants.
pub(crate) struct MapReducer {
    reductions: Vec<Reduction>,
    /// The functions among them, in order.
    scripts: Option<ScriptReducer>,
    /// Whether the keys of rows begin with a principal.
    by_principal: bool,
    /// Whether results that grow are refused.
    must_shrink: bool,
}

impl MapReducer {
    pub(crate) fn shared(reductions: &[Reduction], options: &IndexOptions) -> Arc<dyn Reducer> {
        MapReducer::of(reductions, options, false)
    }

    /// The same for rows by principal.
    pub(crate) fn by_principal(
        reductions: &[Reduction],
        options: &IndexOptions,
    ) -> Arc<dyn Reducer> {
        MapReducer::of(reductions, options, true)
    }

    fn of(
        reductions: &[Reduction],
        options: &IndexOptions,
        by_principal: bool,
    ) -> Arc<dyn Reducer> {
        let sources: Vec<String> = reductions
            .iter()
            .filter(|reduction| matches!(reduction, Reduction::Script(_)))
            .map(|reduction| reduction.text().into_owned())
            .collect();
        Arc::new(MapReducer {
            reductions: reductions.to_vec(),
            scripts: (!sources.is_empty()).then(|| ScriptReducer::new(sources, options)),
            by_principal,
            must_shrink: options.reduce_limit,
        })
    }

    /// Whether summaries hold nothing that the tree does not know.
    fn is_trivial(&self) -> bool {
        self.reductions.iter().all(Reduction::is_known_to_trees)
    }

    /// Makes a summary: `native` does the built-in reduces, `script` the n-th function.
    fn summary(
        &self,
        native: impl Fn(usize, &Reduction) -> Reduced,
        script: impl Fn(usize, usize, &ScriptReducer) -> Reduced,
    ) -> Vec<u8> {
        let mut out = Vec::new();
        let mut scripts = 0;
        for (index, reduction) in self.reductions.iter().enumerate() {
            let reduced = match (reduction, &self.scripts) {
                (Reduction::Script(_), Some(engine)) => {
                    scripts += 1;
                    script(index, scripts - 1, engine)
                }
                _ => native(index, reduction),
            };
            reduced.push(&mut out);
        }
        out
    }
}

impl Reducer for MapReducer {
    fn leaf(&self, items: &mut dyn Iterator<Item = (&[u8], &[u8])>) -> Vec<u8> {
        if self.is_trivial() {
            return Vec::new();
        }
        let own_key = |(key, value)| match self.by_principal {
            true => (behind_principal(key), value),
            false => (key, value),
        };
        let rows = items.map(own_key).filter_map(StoredRow::read);
        let rows: Vec<StoredRow<'_, '_>> = rows.collect();
        let values = || rows.iter().map(|row| row.value);
        self.summary(
            |_, reduction| match reduction {
                Reduction::Sum => {
                    let input = || term_size::of_rows(rows.iter().map(StoredRow::as_term));
                    sum::of_values(values(), self.must_shrink.then_some(input))
                }
                Reduction::Stats => stats::of_values(values()),
                Reduction::Extremes(extremes) => extremes.of_values(values()),
                Reduction::ApproxCountDistinct => registers_of(&rows),
                _ => Reduced::Nothing,
            },
            |_, function, engine| engine.reduce(function, &rows),
        )
    }

    fn combine(&self, parts: &[&[u8]]) -> Vec<u8> {
        if self.is_trivial() {
            return Vec::new();
        }
        let column = |index| -> Vec<Reduced> {
            let parts = parts.iter().map(|part| Reduced::read(part, index));
            parts.filter(|part| *part != Reduced::Nothing).collect()
        };
        self.summary(
            |index, reduction| match reduction {
                Reduction::Sum => combined(&column(index), |values| self.sum_again(values)),
                // Statistics of statistics are statistics.
                Reduction::Stats => combined(&column(index), |values| stats::of_values(values)),
                Reduction::Extremes(extremes) => {
                    combined(&column(index), |lists| extremes.of_lists(lists))
                }
                Reduction::ApproxCountDistinct => joined(&column(index)),
                _ => Reduced::Nothing,
            },
            |index, function, engine| {
                combined(&column(index), |values| engine.rereduce(function, values))
            },
        )
    }

    /// CouchDB reduces the value of each group once more before it answers, also where there is only one.
    fn finish(&self, summary: Vec<u8>, part: usize) -> Vec<u8> {
        let Reduced::Value(json) = Reduced::read(&summary, part) else {
            return summary;
        };
        let value = &mut std::iter::once(&json[..]);
        let reductions = self.reductions.iter().enumerate();
        let mut scripts = 0;
        let mut out = Vec::new();
        for (index, reduction) in reductions {
            let function = scripts;
            scripts += usize::from(matches!(reduction, Reduction::Script(_)));
            match (reduction, &self.scripts) {
                _ if index != part => Reduced::read(&summary, index),
                (Reduction::Script(_), Some(engine)) => engine.rereduce(function, value),
                (Reduction::Sum, _) => self.sum_again(value),
                _ => return summary,
            }
            .push(&mut out);
        }
        out
    }
}

impl MapReducer {
    /// The sum of sums.
    fn sum_again(&self, sums: &mut dyn Iterator<Item = &[u8]>) -> Reduced {
        let sums: Vec<&[u8]> = sums.collect();
        let input = || term_size::of_results(sums.iter().copied());
        sum::of_values(sums.iter().copied(), self.must_shrink.then_some(input))
    }
}

/// CouchDB's words for results that do not shrink.
fn must_shrink(input: usize, output: usize) -> String {
    format!("Reduce output must shrink more rapidly: input size: {input} output size: {output}")
}

/// One summary of many: a failure anywhere is a failure of the whole.
fn combined<F>(parts: &[Reduced], combine: F) -> Reduced
where
    F: FnOnce(&mut dyn Iterator<Item = &[u8]>) -> Reduced,
{
    let is_failure = |part: &&Reduced| matches!(part, Reduced::Failed(_) | Reduced::Overflow(_));
    if let Some(failed) = parts.iter().find(is_failure) {
        return failed.clone();
    }
    match parts {
        [] => Reduced::Nothing,
        [only] => only.clone(),
        _ => combine(&mut parts.iter().filter_map(|part| match part {
            Reduced::Value(json) => Some(&json[..]),
            _ => None,
        })),
    }
}

fn registers_of(rows: &[StoredRow<'_, '_>]) -> Reduced {
    let mut sketch = Sketch::new();
    rows.iter().for_each(|row| sketch.add(row.key));
    Reduced::Registers(sketch.encode())
}

fn joined(parts: &[Reduced]) -> Reduced {
    let mut sketch = Sketch::new();
    for part in parts {
        if let Reduced::Registers(bytes) = part {
            sketch.join(bytes);
        }
    }
    Reduced::Registers(sketch.encode())
}

/// A row as a reduce sees it.
struct StoredRow<'k, 'v> {
    /// The part of the tree's key behind the sort key.
    tail: &'k [u8],
    key: &'v [u8],
    value: &'v [u8],
}

impl<'k, 'v> StoredRow<'k, 'v> {
    fn read((key, value): (&'k [u8], &'v [u8])) -> Option<Self> {
        let mut rest = value;
        let sort_key_len = read_varint(&mut rest)?;
        let key_len = read_varint(&mut rest)?;
        let tail = key.get(sort_key_len..)?;
        let (key, value) = rest.split_at_checked(key_len)?;
        Some(StoredRow { tail, key, value })
    }

    /// Its key, the length of its document's id, and its value.
    fn as_term(&self) -> (&'v [u8], usize, &'v [u8]) {
        (self.key, id_of_tail(self.tail).len(), self.value)
    }
}

/// Reads a value that this program wrote. Results may be deeper than the values that they are made of: statistics are
/// objects where numbers were, lists of the highest values have brackets around them, errors name their cause.
fn read_value(json: &[u8]) -> Value {
    parse_made(json).unwrap_or_default()
}
