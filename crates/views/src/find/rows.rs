//! Reading the ranges of an index.

use super::ranges::KeyRange;
use crate::ViewError;
use crate::index::IndexSnapshot;
use crate::query::{MergedRows, RowSources};
use crate::row::{Row, push_whole_id};
use crate::selector::key_of;
use std::collections::VecDeque;
use std::ops::Range as Run;
use varve_btree::Direction;
use varve_json::Value;

/// A row that was read already: rows up to it are left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Position {
    /// Not above the row, above all before it.
    at: Vec<u8>,
    /// Above the row, not above any behind it.
    behind: Vec<u8>,
}

impl Position {
    /// The row of a document under a key.
    pub(super) fn of_row(key: &Value, id: &str) -> Position {
        let mut at = key_of(key);
        push_whole_id(id, &mut at);
        // The number 0 stands at the end of the row's key.
        let behind = [&at[..], &[0, 0]].concat();
        Position { at, behind }
    }

    /// The document, where all are read by id.
    pub(super) fn of_id(id: &str) -> Position {
        let at = id.as_bytes().to_vec();
        let behind = [&at[..], &[0]].concat();
        Position { at, behind }
    }

    /// The part of ranges behind this position, in the direction of reading.
    pub(super) fn rest(&self, mut ranges: Vec<KeyRange>, descending: bool) -> Vec<KeyRange> {
        for range in &mut ranges {
            match descending {
                true if range.high > self.at => range.high.clone_from(&self.at),
                false if range.low < self.behind => range.low.clone_from(&self.behind),
                _ => {}
            }
        }
        ranges.retain(|range| range.low < range.high);
        ranges
    }
}

/// The rows of some ranges of an index; after an error there are no more.
#[derive(Debug)]
pub struct FoundRows {
    sources: RowSources,
    direction: Direction,
    runs: VecDeque<Vec<Run<u64>>>,
    rows: Option<MergedRows>,
}

impl IndexSnapshot {
    /// The rows within ranges, which are in ascending order whatever the direction of reading.
    ///
    /// # Errors
    /// [`ViewError::NoView`]; damage.
    pub fn rows_within(
        &self,
        name: &str,
        ranges: &[KeyRange],
        descending: bool,
    ) -> Result<FoundRows, ViewError> {
        let direction = match descending {
            true => Direction::Backward,
            false => Direction::Forward,
        };
        let sources = self.sources(self.group.locate(name)?.map, None, direction)?;
        let mut all = VecDeque::with_capacity(ranges.len());
        for KeyRange { low, high } in ranges {
            let runs = sources.between(low, high)?;
            match (runs.iter().all(Run::is_empty), descending) {
                (true, _) => {}
                (false, false) => all.push_back(runs),
                (false, true) => all.push_front(runs),
            }
        }
        Ok(FoundRows {
            sources,
            direction,
            runs: all,
            rows: None,
        })
    }
}

impl FoundRows {
    fn next_row(&mut self) -> Result<Option<Row>, ViewError> {
        loop {
            if let Some(rows) = &mut self.rows
                && let Some(row) = rows.next()?
            {
                return Ok(Some(row));
            }
            let Some(runs) = self.runs.pop_front() else {
                return Ok(None);
            };
            self.rows = Some(MergedRows::new(&self.sources, &runs, self.direction)?);
        }
    }
}

impl Iterator for FoundRows {
    type Item = Result<Row, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.next_row();
        if row.is_err() {
            self.runs.clear();
            self.rows = None;
        }
        row.transpose()
    }
}
