//! The columns, and the node that each waits for.

use super::{Graph, Mark, PlacedNode};

/// A column, and the node that it waits for.
#[derive(Clone, Debug)]
pub(super) struct Column<K> {
    pub(super) key: K,
    pub(super) mark: Mark,
}

/// That one thing descends from another.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Edge<K> {
    /// The other.
    pub(crate) to: K,
    /// How the column to it looks.
    pub(crate) mark: Mark,
}

/// One row with a symbol, and how columns go on below it.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Column of the symbol.
    pub(super) at: usize,
    /// Columns of the symbol's row and of the next one that are joined.
    pub(super) links: Vec<(usize, usize)>,
    /// Columns of this row.
    pub(super) columns: usize,
    /// How many more the next row has; from -1 to 1.
    pub(super) growth: isize,
}

impl Row {
    /// Characters of a line of the picture.
    pub(super) fn width(&self) -> usize {
        2 * self.columns.max(self.columns_below())
    }

    pub(super) fn columns_below(&self) -> usize {
        self.columns.saturating_add_signed(self.growth)
    }
}

impl<K: Clone + PartialEq> Graph<K> {
    /// Finds the place of the next thing, which descends from others, each named once.
    pub(crate) fn place(&mut self, key: K, edges: Vec<Edge<K>>) -> PlacedNode {
        let found = self.columns.iter().position(|column| column.key == key);
        let mut at = found.unwrap_or(self.columns.len());
        if found.is_none() {
            self.columns.push(Column { key, mark: None });
        }
        let mut columns = self.columns.len();
        let (mut links, mut opened) = (Vec::new(), Vec::new());
        for edge in edges {
            let known = self.columns.iter().enumerate();
            // The column of this very thing ends here.
            let mut known = known.filter(|(number, _)| *number != at);
            match known.find(|(_, column)| column.key == edge.to) {
                Some((number, _)) => links.push((at, number)),
                None => opened.push(Column {
                    key: edge.to,
                    mark: edge.mark,
                }),
            }
        }
        let mut left = opened.len();
        for (_, to) in links.iter_mut().filter(|(_, to)| *to > at) {
            *to = *to + left - 1;
        }
        self.columns.splice(at..=at, opened);
        let mut rows = Vec::new();
        loop {
            links.extend((left > 0).then_some((at, at)));
            links.extend((left > 1).then_some((at, at + 1)));
            let growth = left.min(2) as isize - 1;
            rows.push(Row {
                at,
                links: std::mem::take(&mut links),
                columns,
                growth,
            });
            if left <= 2 {
                return PlacedNode { rows };
            }
            (at, columns, left) = (at + 1, columns + 1, left - 1);
        }
    }
}
