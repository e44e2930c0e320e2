//! Reduces: what an index remembers about runs of rows.
//!
//! The summary of some rows holds one part for each reduce over their map function, in order:
//!
//! ```text
//!      +---------------+------+--------------------------------------------+
//!      | length varint | kind | kind 0: nothing (no rows, or a count)      |
//!      | of the rest   | u8   | kind 1: the reduced value as JSON text     |  … for each reduce
//!      |               |      | kind 2: why there is none, as text         |
//!      +---------------+------+--------------------------------------------+
//! ```
//! If all reduces are counts, summaries are empty: trees count their items themselves.

mod number;
mod script;
mod stats;
mod sum;

use crate::DesignError;
use crate::row::{push_varint, read_varint};
use script::ScriptReducer;
use std::sync::Arc;
use varve_btree::Reducer;
use varve_js::Limits;
use varve_json::{Value, parse};

/// One reduce function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reduction {
    Count,
    Stats,
    Sum,
    /// A function in JavaScript.
    Script(String),
}

impl Reduction {
    /// Reads the `reduce` member of a view.
    pub(crate) fn of(text: &str) -> Result<Self, DesignError> {
        match text.trim() {
            "_count" => Ok(Reduction::Count),
            "_stats" => Ok(Reduction::Stats),
            "_sum" => Ok(Reduction::Sum),
            name if name.starts_with('_') => Err(DesignError::Invalid {
                reason: format!("`{name}` is not a supported reduce function."),
            }),
            source => Ok(Reduction::Script(source.to_owned())),
        }
    }

    /// The `reduce` member again.
    pub(crate) fn text(&self) -> &str {
        match self {
            Reduction::Count => "_count",
            Reduction::Stats => "_stats",
            Reduction::Sum => "_sum",
            Reduction::Script(source) => source,
        }
    }
}

/// What one reduce makes of some rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reduced {
    /// There were no rows, or only their number counts.
    Nothing,
    /// JSON text.
    Value(Vec<u8>),
    /// Why there is no value.
    Failed(String),
}

const NOTHING: u8 = 0;
const VALUE: u8 = 1;
const FAILED: u8 = 2;

impl Reduced {
    fn push(&self, out: &mut Vec<u8>) {
        let (kind, bytes) = match self {
            Reduced::Nothing => (NOTHING, &b""[..]),
            Reduced::Value(json) => (VALUE, &json[..]),
            Reduced::Failed(reason) => (FAILED, reason.as_bytes()),
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
        match part.and_then(<[u8]>::split_first) {
            Some((&VALUE, json)) => Reduced::Value(json.to_vec()),
            Some((&FAILED, reason)) => {
                Reduced::Failed(String::from_utf8_lossy(reason).into_owned())
            }
            _ => Reduced::Nothing,
        }
    }
}

/// The reduces over one map function, in the form that the tree file wants.
pub(crate) struct MapReducer {
    reductions: Vec<Reduction>,
    /// The functions among them, in order.
    scripts: Option<ScriptReducer>,
}

impl MapReducer {
    pub(crate) fn shared(reductions: &[Reduction], limits: Limits) -> Arc<dyn Reducer> {
        let sources: Vec<String> = reductions
            .iter()
            .filter(|reduction| matches!(reduction, Reduction::Script(_)))
            .map(|reduction| reduction.text().to_owned())
            .collect();
        Arc::new(MapReducer {
            reductions: reductions.to_vec(),
            scripts: (!sources.is_empty()).then(|| ScriptReducer::new(sources, limits)),
        })
    }

    /// Whether summaries hold nothing that the tree does not know.
    fn is_trivial(&self) -> bool {
        self.reductions.iter().all(|r| *r == Reduction::Count)
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
        let rows: Vec<StoredRow<'_, '_>> = items.filter_map(StoredRow::read).collect();
        let values = || rows.iter().map(|row| row.value);
        self.summary(
            |_, reduction| match reduction {
                Reduction::Sum => sum::of_values(values()),
                Reduction::Stats => stats::of_values(values()),
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
                Reduction::Sum => combined(&column(index), |values| sum::of_values(values)),
                // Statistics of statistics are statistics.
                Reduction::Stats => combined(&column(index), |values| stats::of_values(values)),
                _ => Reduced::Nothing,
            },
            |index, function, engine| {
                combined(&column(index), |values| engine.rereduce(function, values))
            },
        )
    }
}

/// One summary of many: a failure anywhere is a failure of the whole.
fn combined<F>(parts: &[Reduced], combine: F) -> Reduced
where
    F: FnOnce(&mut dyn Iterator<Item = &[u8]>) -> Reduced,
{
    if let Some(failed) = parts.iter().find(|part| matches!(part, Reduced::Failed(_))) {
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
}

/// Reads a value that this program wrote.
fn read_value(json: &[u8]) -> Value {
    parse(json).unwrap_or_default()
}
