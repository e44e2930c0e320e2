//! Asking an index.

mod bounds;
mod groups;
mod memo;
mod merge;
mod reducing;
mod rows;
mod short_groups;
mod sources;

pub use groups::{GroupRow, GroupRows, GroupStep};
pub(crate) use memo::Memo;
pub(crate) use merge::MergedRows;
pub use rows::MapRows;
pub(crate) use sources::{MapIndex, RowSources};

use crate::index::{IndexSnapshot, tree_of_map};
use crate::{QueryOptions, ViewError};
use bounds::Segments;
use varve_btree::Direction;
use varve_docdb::Partition;

/// Result of a query; rows are read as they are taken.
#[derive(Debug)]
pub enum Answer {
    /// Emitted rows.
    Rows(Box<MapRows>),
    /// Reduced rows.
    Groups(Box<GroupRows>),
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
        let partition = options.partition.as_ref().map(Partition::name);
        let sources = self.sources(place.map, partition, options.direction())?;
        let segments = Segments::of(&sources, options)?;
        match place.reduction {
            Some(index) if options.reduce != Some(false) => {
                let reduction = &self.group.maps()[place.map].reductions[index];
                let groups = GroupRows::new(sources, segments, options, (index, reduction));
                Ok(Answer::Groups(Box::new(groups)))
            }
            _ => {
                let rows = MapRows::new(sources, segments, options)?;
                Ok(Answer::Rows(Box::new(rows)))
            }
        }
    }

    /// The sources of the viewer in the trees of a map function.
    pub(crate) fn sources(
        &self,
        map: usize,
        partition: Option<&str>,
        direction: Direction,
    ) -> Result<RowSources, ViewError> {
        let index = MapIndex {
            group: &self.group,
            rows: &self.rows,
            map,
            state: (self.seq, self.purge_seq),
            memo: &self.memo,
        };
        index.sources(&self.viewer, partition, direction)
    }

    /// How many rows the view of that name has to admins.
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
