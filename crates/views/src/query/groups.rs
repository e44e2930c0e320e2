//! Reduced rows as the answer to a query.

use super::ViewQuery;
use super::bounds::Segments;
use super::memo::Reduce;
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
    query: ViewQuery,
    runs: VecDeque<Run<u64>>,
    grouping: Grouping,
    reduction: Reduction,
    /// Its position in summaries.
    part: usize,
    skip: u64,
    left: u64,
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

/// The rows of one group, and its key.
struct Group {
    run: Run<u64>,
    key: Vec<u8>,
}

impl GroupRows {
    pub(super) fn new(
        query: ViewQuery,
        segments: Segments,
        options: &QueryOptions,
        (part, reduction): (usize, &Reduction),
    ) -> Self {
        let mut runs = segments.runs;
        runs.retain(|run| !run.is_empty());
        GroupRows {
            query,
            runs,
            grouping: options.grouping,
            reduction: reduction.clone(),
            part,
            skip: options.skip,
            left: options.limit.unwrap_or(u64::MAX),
        }
    }

    /// Takes the next group off the runs.
    fn next_group(&mut self) -> Result<Option<Group>, ViewError> {
        let Some(run) = self.runs.front().cloned() else {
            return Ok(None);
        };
        if self.grouping == Grouping::None {
            self.runs.pop_front();
            let key = b"null".to_vec();
            return Ok(Some(Group { run, key }));
        }
        let group = self.group_at(run.clone())?;
        let rest = match self.query.direction {
            Direction::Forward => group.run.end..run.end,
            Direction::Backward => run.start..group.run.start,
        };
        match self.runs.front_mut() {
            Some(front) if !rest.is_empty() => *front = rest,
            _ => drop(self.runs.pop_front()),
        }
        Ok(Some(group))
    }

    /// The group at the beginning of a run that is not empty.
    fn group_at(&self, run: Run<u64>) -> Result<Group, ViewError> {
        let ViewQuery {
            rows,
            tree,
            direction,
            ..
        } = &self.query;
        let row = self.row_at(run.clone(), *direction)?;
        let (mut edge, key) = self.edge_and_key(&row);
        let run = match direction {
            Direction::Forward => {
                edge.push(collate::ABOVE_ALL);
                let end = rows.rank(*tree, &edge)?;
                run.start..end.clamp(run.start + 1, run.end)
            }
            Direction::Backward => {
                let start = rows.rank(*tree, &edge)?;
                start.clamp(run.start, run.end - 1)..run.end
            }
        };
        Ok(Group { run, key })
    }

    /// The bytes with which the keys of all rows of a row's group begin, and no others; and the group's key.
    fn edge_and_key(&self, row: &Row) -> (Vec<u8>, Vec<u8>) {
        if let Grouping::Level(level) = self.grouping
            && row.key().first() == Some(&b'[')
            && let Ok(Value::Array(mut items)) = parse(row.key())
            && items.len() as u64 >= level
        {
            items.truncate(usize::try_from(level).unwrap_or(usize::MAX));
            let group = Value::Array(items);
            let mut edge = self.query.sort_key(&group);
            // The array goes on.
            edge.pop();
            let mut key = Vec::new();
            write(&group, &mut key);
            return (edge, key);
        }
        (row.sort_key().to_vec(), row.key().to_vec())
    }

    fn value(&self, run: Run<u64>) -> Result<Vec<u8>, ViewError> {
        match self.reduction {
            Reduction::Count => Ok((run.end - run.start).to_string().into_bytes()),
            Reduction::First => self.value_at(run, Direction::Forward),
            Reduction::Last => self.value_at(run, Direction::Backward),
            _ => self.reduced(run),
        }
    }

    fn reduced(&self, run: Run<u64>) -> Result<Vec<u8>, ViewError> {
        let query = &self.query;
        let reduce = Reduce {
            tree: query.tree,
            part: self.part,
            run: run.clone(),
        };
        if let Some(value) = query.memo.get(query.state, &reduce) {
            return Ok(value);
        }
        let summary = query.rows.reduce_by_rank(query.tree, run)?;
        let value = Reduced::read(&summary, self.part).into_json();
        query.memo.put(query.state, reduce, &value);
        Ok(value)
    }

    /// The value of the first row of a run.
    fn value_at(&self, run: Run<u64>, direction: Direction) -> Result<Vec<u8>, ViewError> {
        Ok(self.row_at(run, direction)?.value().to_vec())
    }

    fn row_at(&self, run: Run<u64>, direction: Direction) -> Result<Row, ViewError> {
        let ViewQuery { rows, tree, .. } = &self.query;
        let first = rows.range_by_rank(*tree, run, direction)?.next();
        let row = first.transpose()?.and_then(Row::read);
        row.ok_or(ViewError::Row {
            reason: "an item of a view's tree is no row",
        })
    }

    fn step(&mut self) -> Result<Option<GroupRow>, ViewError> {
        while self.skip > 0 {
            self.skip -= 1;
            if self.next_group()?.is_none() {
                return Ok(None);
            }
        }
        let Some(group) = self.next_group()? else {
            return Ok(None);
        };
        Ok(Some(GroupRow {
            value: self.value(group.run)?,
            key: group.key,
        }))
    }
}

impl Iterator for GroupRows {
    type Item = Result<GroupRow, ViewError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let row = self.step();
        if row.is_err() {
            self.left = 0;
        }
        row.transpose()
    }
}
