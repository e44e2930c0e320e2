//! The trees that a query reads: that of all rows, or, for a user of a database with access, the rows of each of the
//! user's names.

use super::memo::{IndexVersion, Memo};
use crate::ViewError;
use crate::group::ViewGroup;
use crate::principals::winners_prefix;
use crate::row::{Row, above, prefix_of};
use std::ops::{Bound, Range as Run};
use std::sync::Arc;
use varve_btree::{Direction, Overlay, TreeEntry};
use varve_docdb::Viewer;
use varve_json::collate::Order;

/// Rows in one tree, in their order, and the direction in which they are read.
#[derive(Clone, Debug)]
pub(crate) struct RowSource {
    pub(super) rows: Overlay,
    pub(super) tree: usize,
    /// In which its keys stand.
    pub(super) order: Order,
    pub(super) direction: Direction,
    /// Begins the sort keys of the partition or the principal that is asked; empty where all rows are.
    pub(super) prefix: Vec<u8>,
    /// The principal whose rows it has.
    principal: Option<String>,
    /// Its rows by their number in the tree.
    pub(super) whole: Run<u64>,
    /// The version of the index, and the memo of its reduced values.
    pub(super) state: IndexVersion,
    pub(super) memo: Memo,
}

impl RowSource {
    /// Reads a row of this source.
    pub(super) fn row(&self, item: TreeEntry) -> Result<Row, ViewError> {
        let row = match self.principal {
            Some(_) => Row::read_behind(item, self.prefix.len()),
            None => Row::read(item),
        };
        row.ok_or(ViewError::Row {
            reason: "an item of a view's tree is no row",
        })
    }

    /// The bytes that a row sorts by among those of other sources.
    pub(super) fn rank_of<'r>(&self, row: &'r Row) -> &'r [u8] {
        let key = row.item().0;
        match self.principal {
            Some(_) => key.get(self.prefix.len()..).unwrap_or_default(),
            None => key,
        }
    }

    /// The rows before a run, in the direction of reading.
    pub(super) fn before(&self, run: &Run<u64>) -> Run<u64> {
        match self.direction {
            Direction::Forward => self.whole.start..run.start.max(self.whole.start),
            Direction::Backward => run.end.min(self.whole.end)..self.whole.end,
        }
    }

    /// The numbers of the rows between two sort keys.
    fn between(&self, low: &[u8], high: &[u8]) -> Result<Run<u64>, ViewError> {
        let low = [&self.prefix[..], low].concat();
        let high = [&self.prefix[..], high].concat();
        let bounds = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
        Ok(self.rows.ranks(self.tree, bounds)?)
    }
}

/// The sources of a query, and what decides between their rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct RowSources {
    pub(super) all: Vec<RowSource>,
    pub(super) winners: Option<Arc<Winners>>,
}

impl RowSources {
    /// For each source the numbers of the rows between two sort keys.
    pub(crate) fn between(&self, low: &[u8], high: &[u8]) -> Result<Vec<Run<u64>>, ViewError> {
        self.all
            .iter()
            .map(|source| source.between(low, high))
            .collect()
    }
}

/// Which map function of which index is asked.
pub(crate) struct MapIndex<'a> {
    pub(crate) group: &'a ViewGroup,
    pub(crate) rows: &'a Overlay,
    pub(crate) map: usize,
    pub(crate) state: IndexVersion,
    pub(crate) memo: &'a Memo,
}

impl MapIndex<'_> {
    /// The sources of a viewer: all rows, if need be of one partition, or those of the viewer's names.
    pub(crate) fn sources(
        &self,
        viewer: &Viewer,
        partition: Option<&str>,
        direction: Direction,
    ) -> Result<RowSources, ViewError> {
        let Some(names) = viewer.names() else {
            let tree = 1 + self.map;
            let source = RowSource {
                prefix: partition.map_or_else(Vec::new, prefix_of),
                whole: 0..self.rows.len(tree)?,
                ..self.source(tree, direction)
            };
            return Ok(RowSources {
                all: vec![source],
                winners: None,
            });
        };
        if !self.group.has_access() {
            return Ok(RowSources::default());
        }
        let mut all = Vec::new();
        for name in names {
            let source = self.source_of(name, direction)?;
            all.extend((!source.whole.is_empty()).then_some(source));
        }
        let winners = match all.is_empty() {
            true => None,
            false => Winners::of(self.rows, self.group.readers_tree(), names)?,
        };
        Ok(RowSources {
            all,
            winners: winners.map(Arc::new),
        })
    }

    fn source_of(&self, principal: &str, direction: Direction) -> Result<RowSource, ViewError> {
        let tree = self.group.principals_tree(self.map);
        let (low, high) = (prefix_of(principal), above(prefix_of(principal)));
        let bounds = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
        Ok(RowSource {
            whole: self.rows.ranks(tree, bounds)?,
            principal: Some(principal.to_owned()),
            prefix: low,
            ..self.source(tree, direction)
        })
    }

    fn source(&self, tree: usize, direction: Direction) -> RowSource {
        RowSource {
            rows: self.rows.clone(),
            tree,
            order: self.group.order_of_map(self.map),
            direction,
            prefix: Vec::new(),
            principal: None,
            whole: 0..0,
            state: self.state,
            memo: self.memo.clone(),
        }
    }
}

/// Winners of a viewer's names among documents whose readers do not agree on one.
#[derive(Debug)]
pub(super) struct Winners {
    rows: Overlay,
    tree: usize,
    /// The names that have any, sorted, each with the beginning of its keys.
    names: Vec<(String, Vec<u8>)>,
}

impl Winners {
    /// `None` if no two of the names can have different ones.
    fn of(rows: &Overlay, tree: usize, names: &[String]) -> Result<Option<Winners>, ViewError> {
        let mut known = Vec::new();
        for name in names {
            let (low, high) = (winners_prefix(name), above(winners_prefix(name)));
            let bounds = (Bound::Included(&low[..]), Bound::Excluded(&high[..]));
            if !rows.ranks(tree, bounds)?.is_empty() {
                known.push((name.clone(), low));
            }
        }
        Ok((known.len() > 1).then(|| Winners {
            rows: rows.clone(),
            tree,
            names: known,
        }))
    }

    /// Whether another name of the viewer has a better revision of a source's document.
    pub(super) fn hides(&self, source: &RowSource, id: &str) -> Result<bool, ViewError> {
        let is_of_source = |(name, _): &(String, _)| Some(name) == source.principal.as_ref();
        let Some(own) = self.names.iter().position(is_of_source) else {
            return Ok(false);
        };
        let names = self.names.iter();
        let keys: Vec<_> = names
            .map(|(_, prefix)| [&prefix[..], id.as_bytes()].concat())
            .collect();
        let found = self.rows.get_many(self.tree, &keys)?;
        let Some(Some(own)) = found.get(own) else {
            return Ok(false);
        };
        let mut others = found.iter().flatten();
        Ok(others.any(|other| other.value() > own.value()))
    }
}
