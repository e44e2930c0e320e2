//! Iterating over items in either direction.

use super::Amended;
use super::place::{Piece, moved};
use crate::TreeError;
use crate::range::{Direction, Item, Range};
use std::fmt;

/// The items of a run; after an error it ends.
pub struct AmendedRange {
    source: Amended,
    tree: usize,
    direction: Direction,
    /// Numbers of the items behind the present run.
    low: u64,
    high: u64,
    /// Where the reader is.
    run: Run,
}

/// The present run.
enum Run {
    Base(Range),
    One(Option<Item>),
}

impl fmt::Debug for AmendedRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AmendedRange { low, high, .. } = self;
        write!(f, "AmendedRange({low}..{high}, {:?})", self.direction)
    }
}

impl AmendedRange {
    /// `ranks` are of items that there are.
    pub(super) fn new(
        source: Amended,
        tree: usize,
        ranks: std::ops::Range<u64>,
        direction: Direction,
    ) -> Result<Self, TreeError> {
        let mut range = AmendedRange {
            run: Run::One(None),
            tree,
            direction,
            low: ranks.start,
            high: ranks.end,
            source,
        };
        if range.source.of(tree)?.is_empty() {
            // All in one run.
            let base = range.source.base.range_by_rank(tree, ranks, direction)?;
            range.run = Run::Base(base);
            range.low = range.high;
        }
        Ok(range)
    }

    /// Goes on to the next run.
    fn turn(&mut self) -> Result<(), TreeError> {
        let rank = match self.direction {
            Direction::Forward => self.low,
            Direction::Backward => self.high - 1,
        };
        let ranks = match self.source.piece(self.tree, rank)? {
            Piece::Changed(index) => {
                self.run = Run::One(self.source.of(self.tree)?.item(index));
                rank..rank + 1
            }
            Piece::Base { ranks, before } => {
                let ranks = ranks.start.max(self.low)..ranks.end.min(self.high);
                let run = moved(ranks.start, -before)..moved(ranks.end, -before);
                let base = &self.source.base;
                self.run = Run::Base(base.range_by_rank(self.tree, run, self.direction)?);
                ranks
            }
        };
        match self.direction {
            Direction::Forward => self.low = ranks.end,
            Direction::Backward => self.high = ranks.start,
        }
        Ok(())
    }
}

impl Iterator for AmendedRange {
    type Item = Result<Item, TreeError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let item = match &mut self.run {
                Run::Base(range) => range.next(),
                Run::One(item) => item.take().map(Ok),
            };
            if item.is_some() {
                return item;
            }
            if self.low >= self.high {
                return None;
            }
            if let Err(error) = self.turn() {
                self.low = self.high;
                return Some(Err(error));
            }
        }
    }
}
