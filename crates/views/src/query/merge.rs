//! The rows of several sources as one run. A row that several sources have comes once.

use super::sources::{RowSource, RowSources, Winners};
use crate::ViewError;
use crate::row::Row;
use std::ops::Range as Run;
use std::sync::Arc;
use varve_base::ReadMode;
use varve_btree::{Direction, OverlayRange};

/// The most rows that are merged in [`ReadMode::CachedOnly`].
const FEW_ROWS: u64 = 500;

/// So many rows are counted one by one; of more, a row that several names show counts more than once.
const COUNTED: u64 = 10_000;

/// Rows within a run of each source.
#[derive(Debug)]
pub(crate) struct MergedRows {
    sources: Vec<SourceRows>,
    direction: Direction,
    winners: Option<Arc<Winners>>,
    mode: ReadMode,
    read: u64,
}

#[derive(Debug)]
struct SourceRows {
    source: RowSource,
    range: OverlayRange,
    next: Option<Row>,
}

impl MergedRows {
    /// `runs` are one for each source.
    pub(crate) fn new(
        sources: &RowSources,
        runs: &[Run<u64>],
        direction: Direction,
    ) -> Result<Self, ViewError> {
        let mut merged = MergedRows {
            sources: Vec::new(),
            direction,
            winners: sources.winners.clone(),
            mode: ReadMode::Blocking,
            read: 0,
        };
        for (source, run) in sources.all.iter().zip(runs) {
            merged.mode = source.rows.base().mode();
            if !run.is_empty() {
                merged.sources.push(SourceRows {
                    range: source
                        .rows
                        .range_by_rank(source.tree, run.clone(), direction)?,
                    source: source.clone(),
                    next: None,
                });
            }
        }
        if !merged.is_simple() {
            for at in 0..merged.sources.len() {
                merged.advance(at)?;
            }
        }
        Ok(merged)
    }

    /// Whether all rows of one source are the answer.
    fn is_simple(&self) -> bool {
        self.sources.len() <= 1 && self.winners.is_none()
    }

    /// The next row in the direction of reading.
    pub(crate) fn next(&mut self) -> Result<Option<Row>, ViewError> {
        if self.is_simple() {
            let Some(source) = self.sources.first_mut() else {
                return Ok(None);
            };
            let item = source.range.next().transpose()?;
            return item.map(|item| source.source.row(item)).transpose();
        }
        let heads = self.sources.iter().enumerate();
        let heads = heads.filter_map(|(at, source)| Some((source.rank()?, at)));
        let first = match self.direction {
            Direction::Forward => heads.min_by(|a, b| a.0.cmp(b.0)),
            Direction::Backward => heads.max_by(|a, b| a.0.cmp(b.0)),
        };
        let Some((rank, first)) = first else {
            return Ok(None);
        };
        let has_it = |source: &SourceRows| source.rank() == Some(rank);
        let at: Vec<usize> = (0..self.sources.len())
            .filter(|at| has_it(&self.sources[*at]))
            .collect();
        let row = self.sources[first].next.clone();
        for at in at {
            self.advance(at)?;
        }
        Ok(row)
    }

    /// Has a source stand at its next row that the viewer sees.
    fn advance(&mut self, at: usize) -> Result<(), ViewError> {
        let Some(source) = self.sources.get_mut(at) else {
            return Ok(());
        };
        loop {
            let Some(item) = source.range.next().transpose()? else {
                source.next = None;
                return Ok(());
            };
            self.read += 1;
            self.mode.refuse_long_work(self.read > FEW_ROWS)?;
            let row = source.source.row(item)?;
            let is_hidden = match &self.winners {
                Some(winners) => winners.hides(&source.source, &row.id())?,
                None => false,
            };
            if !is_hidden {
                source.next = Some(row);
                return Ok(());
            }
        }
    }
}

impl SourceRows {
    fn rank(&self) -> Option<&[u8]> {
        self.next.as_ref().map(|row| self.source.rank_of(row))
    }
}

impl RowSources {
    /// Whether the viewer sees a row within the runs.
    pub(super) fn has_rows(&self, runs: &[Run<u64>]) -> Result<bool, ViewError> {
        let is_filled = !runs.iter().all(Run::is_empty);
        if self.winners.is_none() || !is_filled {
            return Ok(is_filled);
        }
        let mut rows = MergedRows::new(self, runs, Direction::Forward)?;
        Ok(rows.next()?.is_some())
    }

    /// How many rows the viewer sees within the runs, or more, if there are very many in several sources.
    pub(super) fn count(&self, runs: &[Run<u64>]) -> Result<u64, ViewError> {
        let lens = || runs.iter().map(|run| run.end - run.start);
        let most = lens().sum();
        if most > COUNTED || self.winners.is_none() && lens().filter(|len| *len > 0).count() < 2 {
            return Ok(most);
        }
        let mut rows = MergedRows::new(self, runs, Direction::Forward)?;
        let mut count = 0;
        while rows.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    }
}
