//! Batches on their way from the database to the index.

use std::vec;
use varve_docdb::Change;

/// Changes for one worker.
#[derive(Debug)]
pub(super) struct Batch {
    /// Position in the order of sequences, from 0.
    pub(super) number: u64,
    pub(super) changes: Vec<Change>,
}

/// Keys with values, in one piece of memory.
#[derive(Debug, Default)]
pub(super) struct Entries {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

/// A key and the value behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    key: usize,
    value: usize,
    end: usize,
}

impl Entries {
    /// Adds an entry: `fill` appends the key, then the value, and returns where the value begins.
    pub(super) fn push(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> usize) -> Span {
        let span = self.keep(fill);
        self.spans.push(span);
        span
    }

    /// Keeps an entry that is none of those that are listed.
    pub(super) fn keep(&mut self, fill: impl FnOnce(&mut Vec<u8>) -> usize) -> Span {
        let key = self.bytes.len();
        let value = fill(&mut self.bytes);
        let end = self.bytes.len();
        Span { key, value, end }
    }

    /// Key and value of an entry.
    pub(super) fn get(&self, span: Span) -> (&[u8], &[u8]) {
        let Span { key, value, end } = span;
        (&self.bytes[key..value], &self.bytes[value..end])
    }

    /// Sorts by key; entries must not be added afterwards between others.
    pub(super) fn sort(&mut self) {
        let bytes = &self.bytes;
        self.spans
            .sort_by(|a, b| bytes[a.key..a.value].cmp(&bytes[b.key..b.value]));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        self.spans.iter().map(|span| self.get(*span))
    }

    pub(super) fn size(&self) -> usize {
        self.bytes.len() + self.spans.len() * size_of::<Span>()
    }
}

/// A batch with its rows.
#[derive(Debug)]
pub(super) struct Mapped {
    /// As in [`Batch`].
    pub(super) number: u64,
    /// The sequence of the batch's last change.
    pub(super) last_seq: u64,
    /// Every document of the batch, also those without rows.
    pub(super) ids: Vec<String>,
    /// For documents with rows: id and entry of the tree by document.
    pub(super) documents: Entries,
    /// For each map function its rows, sorted by key.
    pub(super) rows: Vec<Entries>,
    /// Rows that principals have too; none without access.
    pub(super) shared: Vec<SharedRows>,
    /// Items of the tree of readers.
    pub(super) readers: Entries,
}

/// Rows of one document: of each the map function, and where it is among the rows of that function.
pub(super) type RowSpans = Vec<(usize, Span)>;

/// Rows of one revision with the names of its readers.
#[derive(Debug)]
pub(super) struct SharedRows {
    pub(super) principals: Vec<String>,
    pub(super) rows: RowSpans,
}

/// A batch that is being mapped.
#[derive(Debug)]
pub(super) struct Mapping {
    pub(super) changes: vec::IntoIter<Change>,
    pub(super) mapped: Mapped,
}

impl Mapping {
    /// For so many map functions.
    pub(super) fn begin(batch: Batch, functions: usize) -> Mapping {
        let mapped = Mapped {
            number: batch.number,
            last_seq: batch.changes.last().map_or(0, |change| change.seq),
            ids: Vec::with_capacity(batch.changes.len()),
            documents: Entries::default(),
            rows: (0..functions).map(|_| Entries::default()).collect(),
            shared: Vec::new(),
            readers: Entries::default(),
        };
        let changes = batch.changes.into_iter();
        Mapping { changes, mapped }
    }

    /// The rows of all changes that were taken.
    pub(super) fn end(mut self) -> Mapped {
        self.mapped.rows.iter_mut().for_each(Entries::sort);
        self.mapped.documents.sort();
        self.mapped.readers.sort();
        self.mapped
    }
}

impl Mapped {
    /// Bytes in memory, about.
    pub(super) fn size(&self) -> usize {
        let ids: usize = self
            .ids
            .iter()
            .map(|id| id.len() + size_of::<String>())
            .sum();
        let rows: usize = self.rows.iter().map(Entries::size).sum();
        let shared: usize = self.shared.iter().map(SharedRows::size).sum();
        ids + rows + shared + self.documents.size() + self.readers.size()
    }
}

impl SharedRows {
    /// Bytes that the rows take in the index, about: once for each principal.
    fn size(&self) -> usize {
        let rows = self.rows.iter().map(|(_, span)| span.end - span.key);
        let row: usize = rows.sum();
        let names = self.principals.iter().map(String::len);
        names.map(|name| row + name * self.rows.len()).sum()
    }
}
