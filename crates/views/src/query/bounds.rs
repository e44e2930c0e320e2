//! From options to runs of rows.

use super::ViewQuery;
use crate::row::{above, push_id, push_whole_id};
use crate::{QueryOptions, ViewError};
use std::collections::VecDeque;
use std::ops::{Bound, Range};
use varve_btree::Direction;
use varve_json::{Value, collate};

/// Runs of rows by their number in the tree, in the order in which they are asked for.
#[derive(Debug)]
pub(super) struct Segments {
    pub(super) runs: VecDeque<Range<u64>>,
    /// How many rows stand before the first one, in the direction of reading.
    pub(super) offset: u64,
}

impl Segments {
    pub(super) fn of(query: &ViewQuery, options: &QueryOptions) -> Result<Self, ViewError> {
        let total = query.rows.len(query.tree)?;
        let before = |run: &Range<u64>| match query.direction {
            Direction::Forward => run.start,
            Direction::Backward => total - run.end,
        };
        let Some(keys) = &options.keys else {
            let run = range(query, options)?;
            return Ok(Segments {
                offset: before(&run),
                runs: VecDeque::from([run]),
            });
        };
        let mut runs = VecDeque::with_capacity(keys.len());
        // Where no key has rows, the last one says where they would be.
        let mut offset = 0;
        for at in 0..keys.len() {
            let at = match query.direction {
                Direction::Forward => at,
                Direction::Backward => keys.len() - 1 - at,
            };
            let run = rows_of_key(query, &keys[at], options)?;
            if runs.is_empty() {
                offset = before(&run);
            }
            if !run.is_empty() {
                runs.push_back(run);
            }
        }
        Ok(Segments { offset, runs })
    }
}

/// The run of the rows with one key, or of those that lie between the documents of the options.
fn rows_of_key(
    query: &ViewQuery,
    key: &Value,
    options: &QueryOptions,
) -> Result<Range<u64>, ViewError> {
    let start = edge(query, Some(key), options.start_doc.as_deref());
    let end = edge(query, Some(key), options.end_doc.as_deref());
    between(query, (start, end), true)
}

/// The run between the start and the end of the options.
fn range(query: &ViewQuery, options: &QueryOptions) -> Result<Range<u64>, ViewError> {
    let start = edge(
        query,
        options.start_key.as_ref(),
        options.start_doc.as_deref(),
    );
    let end = edge(query, options.end_key.as_ref(), options.end_doc.as_deref());
    between(query, (start, end), options.inclusive_end)
}

type Edges<'a> = (Option<Edge<'a>>, Option<Edge<'a>>);

fn between(
    query: &ViewQuery,
    (start, end): Edges<'_>,
    inclusive_end: bool,
) -> Result<Range<u64>, ViewError> {
    let (low, high) = match query.direction {
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
    let is_whole = query.prefix.is_empty();
    let low = low.or_else(|| (!is_whole).then(|| query.prefix.clone()));
    let high = high.or_else(|| (!is_whole).then(|| above(query.prefix.clone())));
    let low = low.as_deref().map_or(Bound::Unbounded, Bound::Included);
    let high = high.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let run = query.rows.ranks(query.tree, (low, high))?;
    // A range that ends before it starts holds nothing.
    Ok(run.start..run.end.max(run.start))
}

/// A key, and perhaps a document among its rows.
struct Edge<'a> {
    sort_key: Vec<u8>,
    document: Option<&'a str>,
}

fn edge<'a>(query: &ViewQuery, key: Option<&Value>, document: Option<&'a str>) -> Option<Edge<'a>> {
    key.map(|key| Edge {
        sort_key: query.sort_key(key),
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

impl ViewQuery {
    /// The bytes by which the rows of an emitted key sort.
    pub(super) fn sort_key(&self, value: &Value) -> Vec<u8> {
        let mut bytes = self.prefix.clone();
        self.order.sort_key(value, &mut bytes);
        bytes
    }
}
