//! A picture of how things descend from each other, drawn line by line beside their texts.
//!
//! ```text
//! o    tip          A column waits for one node. A drawn node takes the place of
//! |\   merge        its column and leaves columns for its parents: none if all are waited for already,
//! | o  side         so that the columns to the right move left; one; or two, so that they move
//! | |               right. More than two open row by row.
//! o |  trunk
//! |/
//! o  root
//! ```
//! Nodes are told apart by keys of any type, so that the drawing does not depend on changesets.

mod columns;
mod draw;

pub(crate) use columns::Edge;
use columns::{Column, Row};

/// How the columns of one kind of edges look; `None` if they end at once with a `~`.
pub(crate) type Mark = Option<Vec<u8>>;

/// State of the picture on which further rows depend.
#[derive(Clone, Debug)]
pub(crate) struct Graph<K> {
    columns: Vec<Column<K>>,
    /// Where the last row had its node, and how many columns it opened.
    before: (usize, isize),
    /// Leaves out lines on which nothing moves.
    short: bool,
}

/// A node with its columns, not yet drawn.
#[derive(Clone, Debug)]
pub(crate) struct PlacedNode {
    rows: Vec<Row>,
}

impl PlacedNode {
    /// Columns that the picture takes beside the text.
    pub(crate) fn width(&self) -> usize {
        self.rows.first().map_or(0, |row| row.width() + 1)
    }
}

impl<K: Clone + PartialEq> Graph<K> {
    /// An empty picture.
    pub(crate) fn new(short: bool) -> Graph<K> {
        Graph {
            columns: Vec::new(),
            before: (0, 0),
            short,
        }
    }

    /// Appends the lines of one thing, with the lines of its text beside them.
    pub(crate) fn draw(
        &mut self,
        place: &PlacedNode,
        symbol: &[u8],
        text: &[&[u8]],
        out: &mut Vec<u8>,
    ) {
        let (mut symbol, mut text) = (symbol, text);
        for row in &place.rows {
            self.draw_row(row, symbol, text, out);
            // Rows that open further columns have no text.
            (symbol, text) = (b"\\", &[]);
        }
    }
}

#[cfg(test)]
mod tests;
