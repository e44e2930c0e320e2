//! From ranks to items: segments of the commit's items, and changed items between them.

use super::Overlay;
use crate::TreeError;
use crate::pages::NodeSource;
use std::ops::Range;

/// Items that one source has.
pub(super) enum Segment {
    /// The item of the change with this index.
    Changed(usize),
    /// Items of the commit with no change between them.
    Base {
        /// Their numbers.
        ranks: Range<u64>,
        /// By how much these are above those that the commit gives them.
        before: i64,
    },
}

/// A number of items after so many were added. No file has 2^63 items; a damaged file's claim is found when the place
/// is looked at.
pub(super) fn moved(rank: u64, by: i64) -> u64 {
    rank.saturating_add_signed(by)
}

impl Overlay {
    /// The segment with item `rank`, which there is.
    pub(super) fn segment(&self, tree: usize, rank: u64) -> Result<Segment, TreeError> {
        let changes = self.of(tree)?;
        let at = |index| -> Result<u64, TreeError> {
            let base = changes.rank(&self.base, tree, index)?;
            Ok(moved(base, changes.added_before(index)))
        };
        let end = |index| -> Result<u64, TreeError> {
            Ok(at(index)? + u64::from(changes.has_item(index)))
        };
        // The first change that is not wholly before the item.
        let (mut low, mut high) = (0, changes.len());
        while low < high {
            let middle = low.midpoint(high);
            match end(middle)? <= rank {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        let upto = match low < changes.len() {
            // A removal at this place would end before the item.
            true if at(low)? == rank => return Ok(Segment::Changed(low)),
            true => at(low)?,
            false => self.len(tree)?,
        };
        let from = if low == 0 { 0 } else { end(low - 1)? };
        match (from..upto).contains(&rank) {
            true => Ok(Segment::Base {
                ranks: from..upto,
                before: changes.added_before(low),
            }),
            false => Err(self.contradiction()),
        }
    }

    /// The file does not count its items rightly.
    fn contradiction(&self) -> TreeError {
        let pages = self.base.pages();
        pages.damaged(0, "a tree counts its items in two ways")
    }
}
