//! Emitted rows as the answer to a query.

use super::ViewQuery;
use super::bounds::Segments;
use crate::row::Row;
use crate::{QueryOptions, ViewError};
use std::collections::VecDeque;
use std::ops::Range as Run;
use varve_btree::{OverlayRange, TreeEntry, TreeError};
use varve_json::{Value, parse, write_string};

/// The rows that a query asks for; after an error there are no more.
#[derive(Debug)]
pub struct MapRows {
    query: ViewQuery,
    total_rows: u64,
    offset: u64,
    runs: VecDeque<Run<u64>>,
    skip: u64,
    left: u64,
    range: Option<OverlayRange>,
}

impl MapRows {
    pub(super) fn new(
        query: ViewQuery,
        segments: Segments,
        options: &QueryOptions,
    ) -> Result<Self, ViewError> {
        let total_rows = query.rows.len(query.tree)?;
        Ok(MapRows {
            query,
            total_rows,
            offset: segments.offset.saturating_add(options.skip).min(total_rows),
            runs: segments.runs,
            skip: if options.sorted { options.skip } else { 0 },
            left: options.limit.unwrap_or(u64::MAX),
            range: None,
        })
    }

    /// How many rows the view has.
    pub fn total_rows(&self) -> u64 {
        self.total_rows
    }

    /// How many of them stand before the first of the answer.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    fn next_item(&mut self) -> Option<Result<TreeEntry, TreeError>> {
        loop {
            if let Some(item) = self.range.as_mut().and_then(OverlayRange::next) {
                return Some(item);
            }
            let mut run = self.runs.pop_front()?;
            let skipped = self.skip.min(run.end - run.start);
            self.skip -= skipped;
            match self.query.direction {
                varve_btree::Direction::Forward => run.start += skipped,
                varve_btree::Direction::Backward => run.end -= skipped,
            }
            let ViewQuery {
                rows,
                tree,
                direction,
                ..
            } = &self.query;
            match rows.range_by_rank(*tree, run, *direction) {
                Ok(range) => self.range = Some(range),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

impl Iterator for MapRows {
    type Item = Result<Row, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let row = match self.next_item()? {
            Ok(item) => Row::read(item).ok_or(ViewError::Row {
                reason: "an item of a view's tree is no row",
            }),
            Err(error) => Err(error.into()),
        };
        if row.is_err() {
            self.left = 0;
        }
        Some(row)
    }
}

impl Row {
    /// Appends the row's JSON object, without its end, so that a document can follow:
    /// `{"id":…,"key":…,"value":…`
    pub fn write_open(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"id\":");
        write_string(&self.id(), out);
        out.extend_from_slice(b",\"key\":");
        out.extend_from_slice(self.key());
        out.extend_from_slice(b",\"value\":");
        out.extend_from_slice(self.value());
    }

    /// The document that `include_docs` shows with this row: the one that the value names with
    /// `_id` (and perhaps `_rev`), else the one that the row comes from.
    pub fn linked(&self) -> (String, Option<String>) {
        let value = match self.value().first() {
            Some(b'{') => parse(self.value()).unwrap_or_default(),
            _ => Value::Null,
        };
        let text = |name| value.get(name).and_then(Value::as_str).map(str::to_owned);
        match text("_id") {
            Some(id) => (id, text("_rev")),
            None => (self.id(), text("_rev")),
        }
    }
}
