//! The graph as a picture.

use super::filled;
use super::frame::{Frame, Link, Links};
use super::rows::ChangesetRow;
use crate::hg::pages::Page;
use crate::hg::pages::error::PageError;
use crate::hg::pages::read::graph::GraphRow;
use askama::Template;

/// Distance of columns and rows, in pixels; the latter is that of the list's rows in the style sheet.
const COLUMN: usize = 16;
const ROW: usize = 30;
/// Columns that are drawn.
const MOST_COLUMNS: usize = 24;
/// Colours of the style sheet.
const COLORS: usize = 6;

/// A curve from a row to the next.
struct DrawnEdge {
    color: usize,
    /// Attributes of its own, of numbers and checked words only.
    style: String,
    x1: usize,
    y1: usize,
    x2: usize,
    y2: usize,
    middle: usize,
}

/// A changeset's dot.
struct DrawnNode {
    color: usize,
    x: usize,
    y: usize,
}

#[derive(Template)]
#[template(path = "graph.html")]
struct GraphPage {
    frame: Frame,
    width: usize,
    height: usize,
    edges: Vec<DrawnEdge>,
    nodes: Vec<DrawnNode>,
    changesets: Vec<ChangesetRow>,
    pages: Vec<Link>,
}

pub(super) fn graph(page: &Page<'_>) -> Result<String, PageError> {
    let limit = page.limit(page.limits.short_changesets);
    let rows = page.reader.graph(page.changeset()?, limit)?;
    let columns = rows.iter().map(|row| row.place.column + 1).max();
    let edges = rows.iter().flat_map(|row| &row.place.edges);
    let columns = columns.max(edges.map(|edge| edge.column.max(edge.next) + 1).max());
    let rev = |row: Option<&GraphRow>| row.and_then(|row| row.entry.rev);
    let ends = (rev(rows.first()), rev(rows.last()));
    filled(&GraphPage {
        frame: Frame::new(page, "Graph".to_owned(), Some("graph")),
        width: columns.unwrap_or(1).min(MOST_COLUMNS) * COLUMN,
        height: rows.len() * ROW,
        edges: drawn_edges(page, &rows)?,
        nodes: drawn_nodes(&rows),
        pages: Links::new(page).pages(page, "graph", ends, limit),
        changesets: rows
            .iter()
            .map(|row| ChangesetRow::new(page, &row.entry))
            .collect(),
    })
}

fn x(column: usize) -> usize {
    column * COLUMN + COLUMN / 2
}

fn y(row: usize) -> usize {
    row * ROW + ROW / 2
}

fn drawn_edges(page: &Page<'_>, rows: &[GraphRow]) -> Result<Vec<DrawnEdge>, PageError> {
    let mut drawn = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        for edge in &row.place.edges {
            if edge.column.max(edge.next) >= MOST_COLUMNS {
                continue;
            }
            let (color, width) = page.line_to(edge.to)?;
            let mut style = String::new();
            if !color.is_empty() {
                style = format!("stroke=\"#{color}\"");
            }
            if width >= 0 {
                style = format!("{style} stroke-width=\"{width}\"");
            }
            drawn.push(DrawnEdge {
                color: edge.color % COLORS,
                style,
                x1: x(edge.column),
                y1: y(number),
                x2: x(edge.next),
                y2: y(number + 1),
                middle: y(number) + ROW / 2,
            });
        }
    }
    Ok(drawn)
}

fn drawn_nodes(rows: &[GraphRow]) -> Vec<DrawnNode> {
    let rows = rows.iter().enumerate();
    let shown = rows.filter(|(_, row)| row.place.column < MOST_COLUMNS);
    shown
        .map(|(number, row)| DrawnNode {
            color: row.place.color % COLORS,
            x: x(row.place.column),
            y: y(number),
        })
        .collect()
}
