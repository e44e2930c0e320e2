//! Reduced rows as the answer to a query.

use super::bounds::Segments;
use super::memo::Reduce;
use super::reducing::Reducing;
use super::short_groups::ShortGroups;
use super::sources::{RowSource, RowSources};
use crate::options::Grouping;
use crate::reduce::{Reduced, Reduction};
use crate::row::Row;
use crate::{QueryOptions, ViewError};
use std::collections::VecDeque;
use std::ops::Range as Run;
use varve_btree::Direction;
use varve_json::{Value, collate, parse, write};

/// The groups that a query asks for; after an error there are no more.
#[derive(Debug)]
pub struct GroupRows {
    sources: RowSources,
    direction: Direction,
    runs: VecDeque<Vec<Run<u64>>>,
    grouping: Grouping,
    reduction: Reduction,
    /// Its position in summaries.
    part: usize,
    skip: u64,
    left: u64,
    /// A group whose rows are reduced one by one.
    pending: Option<(Vec<u8>, Box<Reducing>)>,
    short_groups: ShortGroups,
}

/// How far [`GroupRows::next_within`] came.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupStep {
    /// The next group.
    Group(GroupRow),
    /// There may be more.
    Paused,
    /// There are no more groups.
    End,
}

/// One reduced row.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupRow {
    /// JSON text of the group's key, `null` if all rows are one group.
    pub key: Vec<u8>,
    /// JSON text of the reduced value, or of an object with `error` and `reason`.
    pub value: Vec<u8>,
}

impl GroupRow {
    /// Appends the row's JSON object.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"key\":");
        out.extend_from_slice(&self.key);
        out.extend_from_slice(b",\"value\":");
        out.extend_from_slice(&self.value);
        out.push(b'}');
    }
}

/// The rows of one group in each source, and its key.
struct Group {
    runs: Vec<Run<u64>>,
    key: Vec<u8>,
    /// Its rows, if they were read already.
    rows: Option<Vec<Row>>,
}

impl GroupRows {
    pub(super) fn new(
        sources: RowSources,
        segments: Segments,
        options: &QueryOptions,
        (part, reduction): (usize, &Reduction),
    ) -> Self {
        let mut runs = segments.runs;
        runs.retain(|runs| !runs.iter().all(Run::is_empty));
        GroupRows {
            sources,
            direction: options.direction(),
            runs,
            grouping: options.grouping,
            reduction: reduction.clone(),
            part,
            skip: options.skip,
            left: options.limit.unwrap_or(u64::MAX),
            pending: None,
            short_groups: ShortGroups::default(),
        }
    }

    /// Takes the next group off the runs.
    fn next_group(&mut self) -> Result<Option<Group>, ViewError> {
        let Some(runs) = self.runs.pop_front() else {
            return Ok(None);
        };
        if self.grouping == Grouping::None {
            return Ok(Some(Group {
                runs,
                key: b"null".to_vec(),
                rows: None,
            }));
        }
        let group = match self.short_group_at(&runs)? {
            Some(group) => group,
            None => self.group_at(&runs)?,
        };
        let rest = runs.iter().zip(&group.runs);
        let rest = rest.map(|(run, taken)| match self.direction {
            Direction::Forward => taken.end..run.end,
            Direction::Backward => run.start..taken.start,
        });
        let rest: Vec<Run<u64>> = rest.collect();
        if !rest.iter().all(Run::is_empty) {
            self.runs.push_front(rest);
        }
        Ok(Some(group))
    }

    /// The group at the beginning of runs of which one is not empty.
    fn group_at(&self, runs: &[Run<u64>]) -> Result<Group, ViewError> {
        let (mut rows, sources) = (Vec::new(), &self.sources.all);
        for (source, run) in sources.iter().zip(runs).filter(|(_, run)| !run.is_empty()) {
            rows.push((source, source.row_at(run.clone(), self.direction)?));
        }
        let by_rank = |a: &&(&RowSource, Row), b: &&(&RowSource, Row)| {
            let ((source, row), (other, its)) = (a, b);
            source.rank_of(row).cmp(other.rank_of(its))
        };
        let first = match self.direction {
            Direction::Forward => rows.iter().min_by(by_rank),
            Direction::Backward => rows.iter().max_by(by_rank),
        };
        let (source, row) = first.ok_or(ViewError::Row {
            reason: "an item of a view's tree is not there",
        })?;
        let (edge, key) = edge_and_key(self.grouping, source, row);
        let edge = edge.get(source.prefix.len()..).unwrap_or_default();
        let runs = sources.iter().zip(runs);
        let runs = runs.map(|(other, run)| {
            // The row itself is in its group.
            let least = u64::from(std::ptr::eq(other, *source));
            other.beginning(run, edge, least)
        });
        let runs = runs.collect::<Result<Vec<_>, _>>()?;
        Ok(Group {
            runs,
            key,
            rows: None,
        })
    }

    /// The same if all rows of the answer are in one source, and those of this group are few. Values of scripts are found
    /// by their run, as they are kept for the next query.
    fn short_group_at(&mut self, runs: &[Run<u64>]) -> Result<Option<Group>, ViewError> {
        let ([source], [run]) = (&self.sources.all[..], runs) else {
            return Ok(None);
        };
        let is_tried = self.sources.winners.is_none()
            && self.direction == Direction::Forward
            && !matches!(self.reduction, Reduction::Script(_));
        if !is_tried || run.is_empty() {
            return Ok(None);
        }
        let (mut key, grouping) = (Vec::new(), self.grouping);
        let rows = self.short_groups.next(source, run, |row| {
            let (edge, found) = edge_and_key(grouping, source, row);
            key = found;
            edge
        })?;
        Ok(rows.map(|rows| {
            let run = run.start..run.start + rows.len() as u64;
            Group {
                runs: vec![run],
                key,
                rows: Some(rows),
            }
        }))
    }

    /// The value of a group, if its rows are all in one source; otherwise they are to be reduced one by one.
    fn value(&self, group: &Group) -> Result<Option<Vec<u8>>, ViewError> {
        if self.sources.winners.is_some() {
            return Ok(None);
        }
        let sources = self.sources.all.iter().zip(&group.runs);
        let mut filled = sources.filter(|(_, run)| !run.is_empty());
        let (Some((source, run)), None) = (filled.next(), filled.next()) else {
            return Ok(None);
        };
        let run = run.clone();
        if let Some(rows) = &group.rows {
            return Ok(Some(self.value_of(source, rows)));
        }
        Ok(Some(match self.reduction {
            Reduction::Count => (run.end - run.start).to_string().into_bytes(),
            Reduction::First => source.row_at(run, Direction::Forward)?.value().to_vec(),
            Reduction::Last => source.row_at(run, Direction::Backward)?.value().to_vec(),
            _ => source.reduced(run, self.part)?,
        }))
    }

    /// The value of a group with these rows.
    fn value_of(&self, source: &RowSource, rows: &[Row]) -> Vec<u8> {
        let value = |row: Option<&Row>| row.map_or_else(Vec::new, |row| row.value().to_vec());
        match self.reduction {
            Reduction::Count => rows.len().to_string().into_bytes(),
            Reduction::First => value(rows.first()),
            Reduction::Last => value(rows.last()),
            _ => {
                let summary = source.reducer().leaf(&mut rows.iter().map(Row::item));
                source.shown(summary, self.part)
            }
        }
    }

    /// The next group, if that takes no more than so many rows that are read one by one: a long group does not keep its
    /// thread from others.
    ///
    /// # Errors
    /// Damage; [`ViewError::is_would_block`].
    pub fn next_within(&mut self, mut most: u64) -> Result<GroupStep, ViewError> {
        let step = self.step(&mut most);
        match &step {
            Ok(GroupStep::Group(_)) => self.left = self.left.saturating_sub(1),
            Ok(GroupStep::Paused) => {}
            Ok(GroupStep::End) | Err(_) => self.left = 0,
        }
        step
    }

    fn step(&mut self, most: &mut u64) -> Result<GroupStep, ViewError> {
        while self.left > 0 {
            if let Some((key, mut reducing)) = self.pending.take() {
                if reducing.take(*most)? {
                    self.pending = Some((key, reducing));
                    return Ok(GroupStep::Paused);
                }
                if let Some(value) = reducing.finish() {
                    return Ok(GroupStep::Group(GroupRow { key, value }));
                }
            }
            let Some(group) = self.next_group()? else {
                return Ok(GroupStep::End);
            };
            if self.skip > 0 {
                self.skip -= u64::from(self.sources.has_rows(&group.runs)?);
            } else if let Some(value) = self.value(&group)? {
                let key = group.key;
                return Ok(GroupStep::Group(GroupRow { key, value }));
            } else {
                let reduction = (self.part, &self.reduction);
                let reducing = Reducing::begin(&self.sources, &group.runs, reduction)?;
                self.pending = Some((group.key, Box::new(reducing)));
            }
            *most = most.saturating_sub(1);
            if *most == 0 {
                return Ok(GroupStep::Paused);
            }
        }
        Ok(GroupStep::End)
    }
}

/// The bytes with which the keys of all rows of a row's group begin, and no others; and the group's key.
fn edge_and_key(grouping: Grouping, source: &RowSource, row: &Row) -> (Vec<u8>, Vec<u8>) {
    if let Grouping::Level(level) = grouping
        && row.key().first() == Some(&b'[')
        && let Ok(Value::Array(mut items)) = parse(row.key())
        && items.len() as u64 >= level
    {
        let level = usize::try_from(level).unwrap_or(usize::MAX);
        items.truncate(level);
        let group = Value::Array(items);
        let prefix = source.prefix.len();
        let own = row.sort_key().get(prefix..).unwrap_or_default();
        let edge = match source.order.array_beginning(own, level) {
            Some(len) => row.sort_key()[..prefix + len].to_vec(),
            // The key of the row is damaged.
            None => {
                let mut edge = source.sort_key(&group);
                // The array goes on.
                edge.pop();
                edge
            }
        };
        let mut key = Vec::new();
        write(&group, &mut key);
        return (edge, key);
    }
    (row.sort_key().to_vec(), row.key().to_vec())
}

impl RowSource {
    /// The JSON text of a summary that is the answer.
    pub(super) fn shown(&self, summary: Vec<u8>, part: usize) -> Vec<u8> {
        let summary = self.reducer().finish(summary, part);
        Reduced::read(&summary, part).into_json()
    }

    /// The part of a run, at its beginning in the direction of reading, whose keys begin with an edge; at least so many
    /// rows.
    fn beginning(&self, run: &Run<u64>, edge: &[u8], least: u64) -> Result<Run<u64>, ViewError> {
        if run.is_empty() {
            return Ok(run.clone());
        }
        let mut edge = [&self.prefix[..], edge].concat();
        Ok(match self.direction {
            Direction::Forward => {
                edge.push(collate::ABOVE_ALL);
                let end = self.rows.rank(self.tree, &edge)?;
                run.start..end.clamp(run.start + least, run.end)
            }
            Direction::Backward => {
                let start = self.rows.rank(self.tree, &edge)?;
                start.clamp(run.start, run.end - least)..run.end
            }
        })
    }

    fn reduced(&self, run: Run<u64>, part: usize) -> Result<Vec<u8>, ViewError> {
        let reduce = Reduce {
            tree: self.tree,
            part,
            run: run.clone(),
        };
        if let Some(value) = self.memo.get(self.state, &reduce) {
            return Ok(value);
        }
        let summary = self.rows.reduce_by_rank(self.tree, run)?;
        let value = self.shown(summary, part);
        self.memo.put(self.state, reduce, &value);
        Ok(value)
    }

    fn row_at(&self, run: Run<u64>, direction: Direction) -> Result<Row, ViewError> {
        let first = self.rows.range_by_rank(self.tree, run, direction)?.next();
        let first = first.transpose()?.ok_or(ViewError::Row {
            reason: "an item of a view's tree is not there",
        })?;
        self.row(first)
    }
}

impl Iterator for GroupRows {
    type Item = Result<GroupRow, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.next_within(u64::MAX) {
                Ok(GroupStep::Group(row)) => return Some(Ok(row)),
                Ok(GroupStep::Paused) => {}
                Ok(GroupStep::End) => return None,
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
