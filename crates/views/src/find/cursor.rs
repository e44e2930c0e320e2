//! Reading the documents that a query finds.

use super::bookmark::Bookmark;
use super::covered::Covered;
use super::named::Named;
use super::options::FindOptions;
use super::plan::Plan;
use super::ranges::{KeyRange, Space};
use super::rows::FoundRows;
use crate::selector::Indexed;
use crate::{IndexSnapshot, Row, ViewError};
use std::collections::VecDeque;
use std::ops::Bound;
use varve_base::ReadMode;
use varve_docdb::{AllDocs, AllDocsRow, DESIGN_PREFIX, Direction, IdRange, Snapshot};
use varve_json::{Value, parse, write_object};

/// Cost of a query so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FindStats {
    /// Rows of the index.
    pub keys: u64,
    /// Documents that were read.
    pub documents: u64,
    /// Documents that were found.
    pub results: u64,
}

/// The most rows that a query reads in [`ReadMode::CachedOnly`].
const FEW_ROWS: u64 = 500;

/// In bytes: the longest document that it matches there.
const SHORT_DOCUMENT: usize = 64 << 10;

impl FindStats {
    /// The warning that the client gets where more documents were read than `threshold` for each that was found; 0 warns never.
    pub fn warning(&self, threshold: u64) -> Option<&'static str> {
        let many = self.documents > self.results.max(1).saturating_mul(threshold);
        (many && threshold > 0).then_some(
            "The number of documents examined is high in proportion to the number of results \
             returned. Consider adding a more specific index to improve this.",
        )
    }
}

/// A document that may pass.
#[derive(Debug)]
pub enum Hit {
    /// Its row in an index.
    Row(Row),
    /// Its row among all documents.
    Document(AllDocsRow),
}

impl Hit {
    /// The document's id.
    pub fn id(&self) -> String {
        match self {
            Hit::Row(row) => row.id(),
            Hit::Document(row) => row.id().to_owned(),
        }
    }
}

/// Where rows come from.
enum RowSource {
    Index(FoundRows),
    All {
        snapshot: Snapshot,
        ranges: VecDeque<KeyRange>,
        direction: Direction,
        rows: Option<AllDocs>,
    },
}

/// A query that is being answered.
pub struct Cursor<'a> {
    plan: &'a Plan<'a>,
    options: &'a FindOptions,
    source: RowSource,
    mode: ReadMode,
    skip: u64,
    left: u64,
    /// Whether the search goes on to the first document behind the last that is wanted: where CouchDB reads several
    /// copies, its cost is part of the statistics.
    looks_behind: bool,
    last: Option<Bookmark>,
    stats: FindStats,
    text: Vec<u8>,
    /// Fields of documents that the selector needs or that are shown.
    named: Named,
}

/// How far [`Cursor::next`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A document was appended.
    Found,
    /// There may be more.
    Paused,
    /// There are no more documents.
    End,
}

impl std::fmt::Debug for Cursor<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cursor({:?})", self.stats)
    }
}

impl<'a> Cursor<'a> {
    /// Begins behind the client's bookmark. `view` is that of the plan's index.
    ///
    /// # Errors
    /// [`ViewError::Find`] for the bookmark of another index; damage.
    pub fn new(
        plan: &'a Plan<'a>,
        options: &'a FindOptions,
        snapshot: &Snapshot,
        view: Option<&IndexSnapshot>,
    ) -> Result<Self, ViewError> {
        let ranges = plan.ranges_left(options)?;
        let source = match (plan.index, view) {
            (Some(index), Some(view)) => {
                RowSource::Index(view.rows_within(index.name(), &ranges, plan.descending)?)
            }
            _ => RowSource::all(snapshot, ranges, plan.descending),
        };
        Ok(Cursor {
            plan,
            options,
            source,
            mode: snapshot.mode(),
            skip: options.skip,
            left: options.limit,
            looks_behind: options.execution_stats && options.reads_quorum(),
            last: options.bookmark.clone(),
            stats: FindStats::default(),
            text: Vec::new(),
            named: Named::of([options.selector.node()].into_iter(), options.fields.iter()),
        })
    }

    /// Appends the shown fields of the next document, if it is among the next `most` rows: a search that finds little
    /// does not keep its thread from others. `read` appends a document's JSON text and returns whether there is such a
    /// document.
    ///
    /// # Errors
    /// Errors of `read`; damage; [`ViewError::is_would_block`] with a snapshot in [`ReadMode::CachedOnly`], also for
    /// many rows and long documents.
    pub fn next<E: From<ViewError>>(
        &mut self,
        most: u64,
        out: &mut Vec<u8>,
        mut read: impl FnMut(&Hit, &mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<Step, E> {
        let paused_at = self.stats.keys.saturating_add(most);
        while self.left > 0 || self.looks_behind {
            if self.stats.keys >= paused_at {
                return Ok(Step::Paused);
            }
            let Some(hit) = self.source.next().transpose()? else {
                return Ok(Step::End);
            };
            self.stats.keys += 1;
            let is_long = self.stats.keys > FEW_ROWS;
            self.mode
                .refuse_long_work(is_long)
                .map_err(ViewError::from)?;
            let at = out.len();
            if !self.show(&hit, out, &mut read)? {
                continue;
            }
            if self.skip > 0 {
                self.skip -= 1;
                out.truncate(at);
                continue;
            }
            if self.left == 0 {
                self.looks_behind = false;
                out.truncate(at);
                break;
            }
            self.left -= 1;
            self.stats.results += 1;
            self.last = Some(bookmark_of(&hit));
            return Ok(Step::Found);
        }
        Ok(Step::End)
    }

    /// Appends the shown fields of a document, if it passes.
    fn show<E: From<ViewError>>(
        &mut self,
        hit: &Hit,
        out: &mut Vec<u8>,
        read: &mut impl FnMut(&Hit, &mut Vec<u8>) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let (options, plan) = (self.options, self.plan);
        if let (true, Some(index), Hit::Row(row)) = (plan.covering, plan.index, hit) {
            let shown = Covered { index, options }.show(row);
            if let Some(shown) = &shown {
                write_object(shown, out);
            }
            return Ok(shown.is_some());
        }
        self.text.clear();
        if !read(hit, &mut self.text)? {
            return Ok(false);
        }
        self.stats.documents += 1;
        let is_long = self.text.len() > SHORT_DOCUMENT;
        self.mode
            .refuse_long_work(is_long)
            .map_err(ViewError::from)?;
        // The database has parsed its texts when they were written.
        let document = self.named.read(&self.text);
        if !options.selector.matches(&document) {
            return Ok(false);
        }
        match options.fields.is_empty() {
            true => out.extend_from_slice(&self.text),
            false => write_object(&options.projection.of(&Indexed::new(&document)), out),
        }
        Ok(true)
    }

    /// Where the next page begins.
    pub fn bookmark(&self) -> Option<&Bookmark> {
        self.last.as_ref()
    }

    /// Its cost so far.
    pub fn stats(&self) -> FindStats {
        self.stats
    }
}

fn bookmark_of(hit: &Hit) -> Bookmark {
    Bookmark {
        id: hit.id(),
        key: match hit {
            Hit::Row(row) => Some(parse(row.key()).unwrap_or(Value::Null)),
            Hit::Document(_) => None,
        },
    }
}

impl RowSource {
    fn all(snapshot: &Snapshot, ranges: Vec<KeyRange>, descending: bool) -> RowSource {
        let mut ranges = VecDeque::from(ranges);
        let direction = match descending {
            true => Direction::Backward,
            false => Direction::Forward,
        };
        if descending {
            ranges.make_contiguous().reverse();
        }
        RowSource::All {
            snapshot: snapshot.clone(),
            ranges,
            direction,
            rows: None,
        }
    }

    fn next(&mut self) -> Option<Result<Hit, ViewError>> {
        let (snapshot, ranges, direction, rows) = match self {
            RowSource::Index(rows) => return rows.next().map(|row| row.map(Hit::Row)),
            RowSource::All {
                snapshot,
                ranges,
                direction,
                rows,
            } => (snapshot, ranges, *direction, rows),
        };
        loop {
            match rows.as_mut().and_then(AllDocs::next) {
                Some(Ok(row)) if row.id().starts_with(DESIGN_PREFIX) => {}
                Some(row) => return Some(row.map(Hit::Document).map_err(ViewError::from)),
                None => match ids_within(snapshot, &ranges.pop_front()?, direction) {
                    Ok(within) => *rows = Some(within),
                    Err(error) => return Some(Err(error)),
                },
            }
        }
    }
}

/// All documents of a range. Its edges are texts, but for the one above all.
fn ids_within(
    snapshot: &Snapshot,
    range: &KeyRange,
    direction: Direction,
) -> Result<AllDocs, ViewError> {
    let text = |edge| std::str::from_utf8(edge).ok();
    let ids = IdRange {
        low: text(&range.low).map_or(Bound::Unbounded, Bound::Included),
        high: match range.high == Space::END {
            true => Bound::Unbounded,
            false => text(&range.high).map_or(Bound::Unbounded, Bound::Excluded),
        },
    };
    Ok(snapshot.all_docs(ids, direction)?)
}
