//! Emitted rows as the answer to a query.

use super::bounds::Segments;
use super::merge::MergedRows;
use super::sources::RowSources;
use crate::row::Row;
use crate::{QueryOptions, ViewError};
use std::collections::VecDeque;
use std::ops::Range as Run;
use varve_btree::Direction;
use varve_json::{Value, parse, write_string};

/// The rows that a query asks for; after an error there are no more.
#[derive(Debug)]
pub struct MapRows {
    sources: RowSources,
    direction: Direction,
    total_rows: u64,
    offset: u64,
    runs: VecDeque<Vec<Run<u64>>>,
    skip: u64,
    left: u64,
    rows: Option<MergedRows>,
}

impl MapRows {
    pub(super) fn new(
        sources: RowSources,
        segments: Segments,
        options: &QueryOptions,
    ) -> Result<Self, ViewError> {
        let wholes: Vec<_> = sources
            .all
            .iter()
            .map(|source| source.whole.clone())
            .collect();
        let total_rows = sources.count(&wholes)?;
        let before = sources.count(&segments.before)?;
        Ok(MapRows {
            sources,
            direction: options.direction(),
            total_rows,
            offset: before.saturating_add(options.skip).min(total_rows),
            runs: segments.runs,
            skip: if options.sorted { options.skip } else { 0 },
            left: options.limit.unwrap_or(u64::MAX),
            rows: None,
        })
    }

    /// How many rows the view has for the viewer. Of more than 10,000, a row counts once for each name that shows it.
    pub fn total_rows(&self) -> u64 {
        self.total_rows
    }

    /// How many of them stand before the first of the answer.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Leaves out rows at the beginning as the query wants it, at most so many that are read one by one; returns whether
    /// it has to be called again. Taking a row leaves out all that are left to be.
    ///
    /// # Errors
    /// Damage.
    pub fn skip_some(&mut self, most: u64) -> Result<bool, ViewError> {
        match self.left {
            0 => Ok(false),
            _ => self.skip_rows(most),
        }
    }

    fn skip_rows(&mut self, most: u64) -> Result<bool, ViewError> {
        for _ in 0..most {
            if self.skip == 0 {
                return Ok(false);
            }
            if self.rows.is_none() {
                self.skip_in_run();
            }
            if self.skip > 0 {
                self.skip = match self.next_row()? {
                    Some(_) => self.skip - 1,
                    None => 0,
                };
            }
        }
        Ok(self.skip > 0)
    }

    /// Leaves out rows of which the numbers tell how many there are.
    fn skip_in_run(&mut self) {
        while self.sources.winners.is_none()
            && self.skip > 0
            && let Some(runs) = self.runs.front_mut()
        {
            let mut filled = runs.iter_mut().filter(|run| !run.is_empty());
            let Some(run) = filled.next() else {
                self.runs.pop_front();
                continue;
            };
            if filled.next().is_some() {
                return;
            }
            let skipped = self.skip.min(run.end - run.start);
            self.skip -= skipped;
            match self.direction {
                Direction::Forward => run.start += skipped,
                Direction::Backward => run.end -= skipped,
            }
        }
    }

    fn next_row(&mut self) -> Result<Option<Row>, ViewError> {
        loop {
            if let Some(rows) = &mut self.rows {
                if let Some(row) = rows.next()? {
                    return Ok(Some(row));
                }
                self.rows = None;
            }
            let Some(runs) = self.runs.pop_front() else {
                return Ok(None);
            };
            self.rows = Some(MergedRows::new(&self.sources, &runs, self.direction)?);
        }
    }

    fn step(&mut self) -> Result<Option<Row>, ViewError> {
        while self.skip_rows(u64::MAX)? {}
        self.next_row()
    }
}

impl Iterator for MapRows {
    type Item = Result<Row, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let row = self.step();
        if row.is_err() {
            self.left = 0;
        }
        row.transpose()
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
