//! From options to runs of rows.

use super::sources::{RowSource, RowSources};
use crate::row::{above, push_id, push_whole_id};
use crate::{QueryOptions, ViewError};
use std::collections::VecDeque;
use std::ops::{Bound, Range};
use varve_btree::Direction;
use varve_json::{Value, collate};

/// Runs of rows by their number in the tree, one for each source, in the order in which they are asked for.
#[derive(Debug)]
pub(super) struct Segments {
    pub(super) runs: VecDeque<Vec<Range<u64>>>,
    /// The rows before the first one, in the direction of reading.
    pub(super) before: Vec<Range<u64>>,
}

impl Segments {
    pub(super) fn of(sources: &RowSources, options: &QueryOptions) -> Result<Self, ViewError> {
        let all = &sources.all;
        let before = |runs: &[Range<u64>]| -> Vec<_> {
            let sources = all.iter().zip(runs);
            sources.map(|(source, run)| source.before(run)).collect()
        };
        let Some(keys) = &options.keys else {
            let runs = all.iter().map(|source| range(source, options));
            let runs = runs.collect::<Result<Vec<_>, _>>()?;
            return Ok(Segments {
                before: before(&runs),
                runs: VecDeque::from([runs]),
            });
        };
        let mut segments = Segments {
            runs: VecDeque::with_capacity(keys.len()),
            // Where no key has rows, the last one says where they would be.
            before: Vec::new(),
        };
        for at in 0..keys.len() {
            let at = match options.descending {
                false => at,
                true => keys.len() - 1 - at,
            };
            let runs = all
                .iter()
                .map(|source| rows_of_key(source, &keys[at], options));
            let runs = runs.collect::<Result<Vec<_>, _>>()?;
            if segments.runs.is_empty() {
                segments.before = before(&runs);
            }
            if sources.has_rows(&runs)? {
                segments.runs.push_back(runs);
            }
        }
        Ok(segments)
    }
}

/// The run of the rows with one key, or of those that lie between the documents of the options.
fn rows_of_key(
    source: &RowSource,
    key: &Value,
    options: &QueryOptions,
) -> Result<Range<u64>, ViewError> {
    let start = edge(source, Some(key), options.start_doc.as_deref());
    let end = edge(source, Some(key), options.end_doc.as_deref());
    between(source, (start, end), true)
}

/// The run between the start and the end of the options.
fn range(source: &RowSource, options: &QueryOptions) -> Result<Range<u64>, ViewError> {
    let start = edge(
        source,
        options.start_key.as_ref(),
        options.start_doc.as_deref(),
    );
    let end = edge(source, options.end_key.as_ref(), options.end_doc.as_deref());
    between(source, (start, end), options.inclusive_end)
}

type Edges<'a> = (Option<Edge<'a>>, Option<Edge<'a>>);

fn between(
    source: &RowSource,
    (start, end): Edges<'_>,
    inclusive_end: bool,
) -> Result<Range<u64>, ViewError> {
    let (low, high) = match source.direction {
        Direction::Forward => (
            start.map(Edge::first),
            end.map(|end| match inclusive_end {
                true => end.behind_last(),
                false => end.first(),
            }),
        ),
        Direction::Backward => (
            end.map(|end| match inclusive_end {
                true => end.first(),
                false => end.behind_last(),
            }),
            start.map(Edge::behind_last),
        ),
    };
    let is_whole = source.prefix.is_empty();
    let low = low.or_else(|| (!is_whole).then(|| source.prefix.clone()));
    let high = high.or_else(|| (!is_whole).then(|| above(source.prefix.clone())));
    let low = low.as_deref().map_or(Bound::Unbounded, Bound::Included);
    let high = high.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let run = source.rows.ranks(source.tree, (low, high))?;
    // A range that ends before it starts holds nothing.
    Ok(run.start..run.end.max(run.start))
}

/// A key, and perhaps a document among its rows.
struct Edge<'a> {
    sort_key: Vec<u8>,
    document: Option<&'a str>,
}

fn edge<'a>(
    source: &RowSource,
    key: Option<&Value>,
    document: Option<&'a str>,
) -> Option<Edge<'a>> {
    key.map(|key| Edge {
        sort_key: source.sort_key(key),
        document,
    })
}

impl Edge<'_> {
    /// Not above any row of the edge, above all before it.
    fn first(self) -> Vec<u8> {
        let mut bytes = self.sort_key;
        if let Some(id) = self.document {
            push_id(id, &mut bytes);
        }
        bytes
    }

    /// Above all rows of the edge, not above any behind it: no part of a row's key begins with
    /// this byte.
    fn behind_last(self) -> Vec<u8> {
        let mut bytes = self.sort_key;
        if let Some(id) = self.document {
            push_whole_id(id, &mut bytes);
        }
        bytes.push(collate::ABOVE_ALL);
        bytes
    }
}

impl RowSource {
    /// The bytes by which the rows of an emitted key sort.
    pub(super) fn sort_key(&self, value: &Value) -> Vec<u8> {
        let mut bytes = self.prefix.clone();
        self.order.sort_key(value, &mut bytes);
        bytes
    }
}
