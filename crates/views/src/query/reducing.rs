//! Reducing rows that come one by one, because no inner node of a tree has a summary of them.

use crate::ViewError;
use crate::query::merge::MergedRows;
use crate::query::sources::{RowSource, RowSources};
use crate::reduce::Reduction;
use crate::row::Row;
use std::ops::Range as Run;
use varve_btree::{Direction, Reducer};

/// Rows that are summarised at once, and their most bytes.
const ROWS: usize = 100;
const BYTES: usize = 64 << 10;
/// Summaries that are combined at once.
const PARTS: usize = 64;

/// The rows of one group while they are reduced. Memory is bounded by that of some rows and summaries.
#[derive(Debug)]
pub(super) struct Reducing {
    rows: MergedRows,
    reduction: Reduction,
    part: usize,
    source: Option<RowSource>,
    count: u64,
    /// The value of a group's first or last row.
    value: Option<Vec<u8>>,
    chunk: Vec<Row>,
    bytes: usize,
    parts: Vec<Vec<u8>>,
    is_over: bool,
}

impl Reducing {
    /// Of the rows within a run of each source; `part` is the position of the reduction in summaries.
    pub(super) fn begin(
        sources: &RowSources,
        runs: &[Run<u64>],
        (part, reduction): (usize, &Reduction),
    ) -> Result<Self, ViewError> {
        let direction = match reduction {
            Reduction::Last => Direction::Backward,
            _ => Direction::Forward,
        };
        Ok(Reducing {
            rows: MergedRows::new(sources, runs, direction)?,
            reduction: reduction.clone(),
            part,
            source: sources.all.first().cloned(),
            count: 0,
            value: None,
            chunk: Vec::new(),
            bytes: 0,
            parts: Vec::new(),
            is_over: false,
        })
    }

    /// Takes so many rows, at most; returns whether there may be more.
    pub(super) fn take(&mut self, most: u64) -> Result<bool, ViewError> {
        for _ in 0..most {
            let Some(row) = self.rows.next()?.filter(|_| !self.is_over) else {
                self.is_over = true;
                return Ok(false);
            };
            self.count += 1;
            match self.reduction {
                Reduction::Count => {}
                Reduction::First | Reduction::Last => {
                    self.value = Some(row.value().to_vec());
                    self.is_over = true;
                }
                _ => {
                    let (key, value) = row.item();
                    self.bytes += key.len() + value.len();
                    self.chunk.push(row);
                    if self.chunk.len() == ROWS || self.bytes > BYTES {
                        self.summarise();
                    }
                }
            }
        }
        Ok(!self.is_over)
    }

    fn summarise(&mut self) {
        let Some(reducer) = self.source.as_ref().map(RowSource::reducer) else {
            return;
        };
        if !self.chunk.is_empty() {
            self.parts
                .push(reducer.leaf(&mut self.chunk.iter().map(Row::item)));
            self.chunk.clear();
            self.bytes = 0;
        }
        if self.parts.len() >= PARTS {
            self.parts = vec![combined(reducer, &self.parts)];
        }
    }

    /// The value as JSON text; `None` if there was no row.
    pub(super) fn finish(mut self) -> Option<Vec<u8>> {
        match self.reduction {
            _ if self.count == 0 => None,
            Reduction::Count => Some(self.count.to_string().into_bytes()),
            Reduction::First | Reduction::Last => self.value,
            _ => {
                self.summarise();
                let source = self.source.as_ref()?;
                let summary = match self.parts.len() {
                    1 => self.parts.swap_remove(0),
                    _ => combined(source.reducer(), &self.parts),
                };
                Some(source.shown(summary, self.part))
            }
        }
    }
}

fn combined(reducer: &dyn Reducer, parts: &[Vec<u8>]) -> Vec<u8> {
    let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
    reducer.combine(&parts)
}

impl RowSource {
    /// The reducer of its tree.
    pub(super) fn reducer(&self) -> &dyn Reducer {
        self.rows.reducer(self.tree)
    }
}
