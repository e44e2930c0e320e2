//! Groups of few rows, which are read one after the other. The end of a group and the summaries of its rows are found on
//! ways from the root of the tree, four for each group; where a group has some rows only, these cost more than the rows.

use super::sources::RowSource;
use crate::ViewError;
use crate::row::Row;
use std::ops::Range as Run;
use varve_btree::{Direction, OverlayRange};

/// Most rows of a group that is read this way.
const FEW: usize = 16;
/// After long groups in a row, at most so many are not tried.
const LONGEST_REST: u32 = 64;

/// Reads the groups of one source, forwards.
#[derive(Debug, Default)]
pub(super) struct ShortGroups {
    rows: Option<Position>,
    /// Groups that are not tried, as those before were long.
    resting: u32,
    /// How many that were after the last long group.
    rest: u32,
}

/// Rows behind the groups that were read.
#[derive(Debug)]
struct Position {
    range: OverlayRange,
    /// Was read from the range, but belongs to the next group.
    first: Option<Row>,
    /// Numbers of the rows that are left.
    left: Run<u64>,
}

impl ShortGroups {
    /// The rows of the group at the beginning of a run, at least one; `None` if it may have more than [`FEW`].
    /// `edge_of` has the bytes with which the keys of all rows of a row's group begin, and no others.
    pub(super) fn next(
        &mut self,
        source: &RowSource,
        run: &Run<u64>,
        edge_of: impl FnOnce(&Row) -> Vec<u8>,
    ) -> Result<Option<Vec<Row>>, ViewError> {
        if self.resting > 0 {
            self.resting -= 1;
            return Ok(None);
        }
        let here = self.rows.take().filter(|rows| rows.left == *run);
        let mut here = match here {
            Some(here) => here,
            None => Position {
                range: source
                    .rows
                    .range_by_rank(source.tree, run.clone(), Direction::Forward)?,
                first: None,
                left: run.clone(),
            },
        };
        let first = here.next(source)?.ok_or(ViewError::Row {
            reason: "an item of a view's tree is not there",
        })?;
        let edge = edge_of(&first);
        let mut group = vec![first];
        while let Some(row) = here.next(source)? {
            if !row.item().0.starts_with(&edge) {
                here.first = Some(row);
                break;
            }
            if group.len() == FEW {
                self.rest = (self.rest * 2).clamp(1, LONGEST_REST);
                self.resting = self.rest;
                return Ok(None);
            }
            group.push(row);
        }
        here.left.start += group.len() as u64;
        self.rest = 0;
        self.rows = Some(here);
        Ok(Some(group))
    }
}

impl Position {
    fn next(&mut self, source: &RowSource) -> Result<Option<Row>, ViewError> {
        if let Some(row) = self.first.take() {
            return Ok(Some(row));
        }
        let item = self.range.next().transpose()?;
        item.map(|item| source.row(item)).transpose()
    }
}
