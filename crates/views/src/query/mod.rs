//! Asking an index.

mod bounds;
mod groups;
mod memo;
mod rows;

pub use groups::{GroupRow, GroupRows};
pub(crate) use memo::Memo;
pub use rows::MapRows;

use crate::index::{IndexSnapshot, tree_of_map};
use crate::row::prefix_of;
use crate::{QueryOptions, ViewError};
use bounds::Segments;
use varve_btree::{Direction, Overlay};
use varve_json::collate::Order;

/// Result of a query; rows are read as they are taken.
#[derive(Debug)]
pub enum Answer {
    /// Emitted rows.
    Rows(Box<MapRows>),
    /// Reduced rows.
    Groups(Box<GroupRows>),
}

/// The tree that is asked, and in which direction.
#[derive(Clone, Debug)]
struct ViewQuery {
    rows: Overlay,
    tree: usize,
    /// In which its keys stand.
    order: Order,
    direction: Direction,
    /// Begins the sort keys of the partition that is asked; empty where rows are not kept by partition.
    prefix: Vec<u8>,
    /// The version of the index, and the memo of its reduced values.
    state: memo::IndexVersion,
    memo: Memo,
}

impl IndexSnapshot {
    /// Asks the view of that name.
    ///
    /// # Errors
    /// [`ViewError::NoView`]; [`ViewError::Options`] for options that exclude each other; damage.
    pub fn query(&self, name: &str, options: &QueryOptions) -> Result<Answer, ViewError> {
        let place = self.group.locate(name)?;
        let order = self.group.order_of_map(place.map);
        options.check_for_view(place.reduction.is_some(), order)?;
        options.check_partition(self.group.is_partitioned())?;
        let partition = options.partition.as_ref();
        let query = ViewQuery {
            rows: self.rows.clone(),
            state: (self.seq, self.purge_seq),
            memo: self.memo.clone(),
            tree: tree_of_map(place.map),
            order,
            prefix: partition.map_or_else(Vec::new, |partition| prefix_of(partition.name())),
            direction: match options.descending {
                true => Direction::Backward,
                false => Direction::Forward,
            },
        };
        let segments = Segments::of(&query, options)?;
        match place.reduction {
            Some(index) if options.reduce != Some(false) => {
                let reduction = &self.group.maps()[place.map].reductions[index];
                let groups = GroupRows::new(query, segments, options, (index, reduction));
                Ok(Answer::Groups(Box::new(groups)))
            }
            _ => {
                let rows = MapRows::new(query, segments, options)?;
                Ok(Answer::Rows(Box::new(rows)))
            }
        }
    }

    /// How many rows the view of that name has.
    ///
    /// # Errors
    /// [`ViewError::NoView`].
    pub fn row_count(&self, name: &str) -> Result<u64, ViewError> {
        let place = self.group.locate(name)?;
        Ok(self.rows.len(tree_of_map(place.map))?)
    }
}

impl Answer {
    /// The rows, of a query that does not reduce.
    pub fn into_rows(self) -> Option<MapRows> {
        match self {
            Answer::Rows(rows) => Some(*rows),
            Answer::Groups(_) => None,
        }
    }

    /// The rows, of a query that reduces.
    pub fn into_groups(self) -> Option<GroupRows> {
        match self {
            Answer::Rows(_) => None,
            Answer::Groups(groups) => Some(*groups),
        }
    }
}
