//! Changesets as a graph: a column for each line of descent, and its colours.

use super::PageReader;
use super::changesets::ChangesetEntry;
use crate::hg::pages::error::PageError;
use std::collections::HashMap;
use varve_repo::Rev;

/// A changeset in its place, and the lines to the row below.
#[derive(Clone, Debug)]
pub(in crate::hg::pages) struct GraphRow {
    pub(in crate::hg::pages) entry: ChangesetEntry,
    pub(in crate::hg::pages) place: GraphPlace,
}

/// The column and colour of a changeset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::hg::pages) struct GraphPlace {
    pub(in crate::hg::pages) column: usize,
    /// A number from 1.
    pub(in crate::hg::pages) color: usize,
    pub(in crate::hg::pages) edges: Vec<GraphEdge>,
}

/// A line from a column to one of the next row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::hg::pages) struct GraphEdge {
    pub(in crate::hg::pages) column: usize,
    pub(in crate::hg::pages) next: usize,
    /// The changeset that it leads to.
    pub(in crate::hg::pages) to: Rev,
    pub(in crate::hg::pages) color: usize,
}

impl PageReader<'_> {
    /// So many changesets from one downward.
    ///
    /// # Errors
    /// A damaged repository.
    pub(in crate::hg::pages) fn graph(
        &self,
        from: Option<Rev>,
        limit: usize,
    ) -> Result<Vec<GraphRow>, PageError> {
        let mut lanes = Lanes::default();
        let mut rows = Vec::new();
        let revs: Vec<Rev> = self.downward(from).take(limit).collect();
        let last = revs.last().copied();
        for rev in revs {
            self.check_stop()?;
            let parents = self.view.changelog().parents(rev);
            let mut parents: Vec<Rev> = parents.into_iter().flatten().collect();
            // Those below the last row come last, as in stock.
            parents.sort_unstable_by_key(|parent| (Some(*parent) < last, *parent));
            rows.push(GraphRow {
                entry: self.entry(Some(rev))?,
                place: lanes.place(rev, &parents),
            });
        }
        Ok(rows)
    }
}

/// The columns, and the changeset that each leads to.
#[derive(Debug, Default)]
struct Lanes {
    columns: Vec<Rev>,
    colors: HashMap<Rev, usize>,
    newest_color: usize,
}

impl Lanes {
    /// Places the next changeset; parents are in the order of their columns.
    fn place(&mut self, rev: Rev, parents: &[Rev]) -> GraphPlace {
        let known = self.columns.iter().position(|lane| *lane == rev);
        let column = known.unwrap_or_else(|| {
            self.columns.push(rev);
            self.newest_color += 1;
            self.colors.insert(rev, self.newest_color);
            self.columns.len() - 1
        });
        let color = self.colors.remove(&rev).unwrap_or_default();
        let is_new = |parent: &&Rev| !self.columns.contains(parent);
        let added: Vec<Rev> = parents.iter().filter(is_new).copied().collect();
        for (number, parent) in added.iter().enumerate() {
            let inherited = match number {
                0 => color,
                _ => {
                    self.newest_color += 1;
                    self.newest_color
                }
            };
            self.colors.insert(*parent, inherited);
        }
        let before = std::mem::take(&mut self.columns);
        self.columns.clone_from(&before);
        self.columns.splice(column..=column, added);
        GraphPlace {
            column,
            color,
            edges: self.edges(&before, (rev, color), parents),
        }
    }

    fn edges(&self, before: &[Rev], (rev, color): (Rev, usize), parents: &[Rev]) -> Vec<GraphEdge> {
        let next = |to: &Rev| self.columns.iter().position(|lane| lane == to);
        let mut edges = Vec::new();
        for (column, lane) in before.iter().enumerate() {
            let ends = match *lane == rev {
                true => parents,
                false => std::slice::from_ref(lane),
            };
            for end in ends {
                let Some(next) = next(end) else { continue };
                edges.push(GraphEdge {
                    column,
                    next,
                    to: *end,
                    color: match *lane == rev {
                        true => color,
                        false => self.colors.get(end).copied().unwrap_or_default(),
                    },
                });
            }
        }
        edges
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_lines_get_a_column_and_a_colour() {
        let mut lanes = Lanes::default();
        let history: &[(u32, &[u32])] = &[
            (5, &[3, 4]),
            (4, &[1]),
            (3, &[2]),
            (2, &[1]),
            (1, &[0]),
            (0, &[]),
        ];
        let shown = history.iter().map(|(rev, parents)| {
            let parents: Vec<Rev> = parents.iter().copied().map(Rev).collect();
            let place = lanes.place(Rev(*rev), &parents);
            let edges = place.edges.iter();
            let edges = edges.map(|edge| format!("{}{}{}", edge.column, edge.next, edge.color));
            let edges: Vec<String> = edges.collect();
            format!("{}/{} {}", place.column, place.color, edges.join(","))
        });
        // As `hg serve` places them.
        let expected = [
            "0/1 001,011",
            "1/2 001,112",
            "0/1 001,112",
            "0/1 001,102",
            "0/2 002",
            "0/2 ",
        ];
        assert_eq!(shown.collect::<Vec<_>>(), expected);
    }
}
