//! Iterating over items in either direction.

use super::Overlay;
use super::segment::{Segment, moved};
use crate::TreeError;
use crate::entry::{Direction, TreeEntry};
use crate::snapshot::Range;
use std::fmt;

/// The items of a run; after an error it ends.
pub struct OverlayRange {
    source: Overlay,
    tree: usize,
    direction: Direction,
    /// Numbers of the items behind the present run.
    low: u64,
    high: u64,
    run: Current,
}

/// The segment that is being read.
enum Current {
    Base(Range),
    One(Option<TreeEntry>),
}

impl fmt::Debug for OverlayRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let OverlayRange { low, high, .. } = self;
        write!(f, "OverlayRange({low}..{high}, {:?})", self.direction)
    }
}

impl OverlayRange {
    /// `ranks` are of items that there are.
    pub(super) fn new(
        source: Overlay,
        tree: usize,
        ranks: std::ops::Range<u64>,
        direction: Direction,
    ) -> Result<Self, TreeError> {
        let mut range = OverlayRange {
            run: Current::One(None),
            tree,
            direction,
            low: ranks.start,
            high: ranks.end,
            source,
        };
        if range.source.of(tree)?.is_empty() {
            // All in one run.
            let base = range.source.base.range_by_rank(tree, ranks, direction)?;
            range.run = Current::Base(base);
            range.low = range.high;
        }
        Ok(range)
    }

    /// Moves on to the next segment.
    fn next_segment(&mut self) -> Result<(), TreeError> {
        let rank = match self.direction {
            Direction::Forward => self.low,
            Direction::Backward => self.high - 1,
        };
        let ranks = match self.source.segment(self.tree, rank)? {
            Segment::Changed(index) => {
                self.run = Current::One(self.source.of(self.tree)?.item(index));
                rank..rank + 1
            }
            Segment::Base { ranks, before } => {
                let ranks = ranks.start.max(self.low)..ranks.end.min(self.high);
                let run = moved(ranks.start, -before)..moved(ranks.end, -before);
                let base = &self.source.base;
                self.run = Current::Base(base.range_by_rank(self.tree, run, self.direction)?);
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

impl Iterator for OverlayRange {
    type Item = Result<TreeEntry, TreeError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let item = match &mut self.run {
                Current::Base(range) => range.next(),
                Current::One(item) => item.take().map(Ok),
            };
            if item.is_some() {
                return item;
            }
            if self.low >= self.high {
                return None;
            }
            if let Err(error) = self.next_segment() {
                self.low = self.high;
                return Some(Err(error));
            }
        }
    }
}
