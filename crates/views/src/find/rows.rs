//! Reading the ranges of an index.

use super::ranges::KeyRange;
use crate::ViewError;
use crate::index::{IndexSnapshot, tree_of_map};
use crate::row::{Row, push_whole_id};
use crate::selector::key_of;
use std::collections::VecDeque;
use std::ops::{Bound, Range as Run};
use varve_btree::{Direction, Overlay, OverlayRange, TreeEntry};
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
    rows: Overlay,
    tree: usize,
    direction: Direction,
    runs: VecDeque<Run<u64>>,
    range: Option<OverlayRange>,
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
        let tree = tree_of_map(self.group.locate(name)?.map);
        let mut runs = VecDeque::with_capacity(ranges.len());
        for KeyRange { low, high } in ranges {
            let bounds = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
            let run = self.rows.ranks(tree, bounds)?;
            match (run.is_empty(), descending) {
                (true, _) => {}
                (false, false) => runs.push_back(run),
                (false, true) => runs.push_front(run),
            }
        }
        Ok(FoundRows {
            rows: self.rows.clone(),
            tree,
            direction: match descending {
                true => Direction::Backward,
                false => Direction::Forward,
            },
            runs,
            range: None,
        })
    }
}

impl FoundRows {
    fn next_item(&mut self) -> Option<Result<TreeEntry, ViewError>> {
        loop {
            if let Some(item) = self.range.as_mut().and_then(OverlayRange::next) {
                return Some(item.map_err(ViewError::from));
            }
            let run = self.runs.pop_front()?;
            match self.rows.range_by_rank(self.tree, run, self.direction) {
                Ok(range) => self.range = Some(range),
                Err(error) => return Some(Err(error.into())),
            }
        }
    }
}

impl Iterator for FoundRows {
    type Item = Result<Row, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        let row = self.next_item()?.and_then(|item| {
            Row::read(item).ok_or(ViewError::Row {
                reason: "an item of a view's tree is no row",
            })
        });
        if row.is_err() {
            self.runs.clear();
            self.range = None;
        }
        Some(row)
    }
}
