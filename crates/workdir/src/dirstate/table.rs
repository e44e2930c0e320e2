//! The entries of a dirstate, sorted by path.
//!
//! The file stays as one block of bytes with a sorted list of small records pointing into it; later
//! entries are kept in a map. So a large dirstate is read without an allocation per file,
//! and adding many files costs no moving.

use super::entry::DirstateEntry;
use std::collections::BTreeMap;
use std::ops::Range;

#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    pub start: u32,
    pub len: u32,
    pub entry: DirstateEntry,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    text: Vec<u8>,
    /// Sorted by path, each path once. Entries without tracking count as absent.
    records: Vec<Record>,
    /// Paths that are not in `records`.
    newer: BTreeMap<Vec<u8>, DirstateEntry>,
    pub copies: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Table {
    /// The records' ranges must lie in `text`. Of records with one path the last counts.
    pub fn new(
        text: Vec<u8>,
        mut records: Vec<Record>,
        copies: BTreeMap<Vec<u8>, Vec<u8>>,
    ) -> Table {
        let path = |record: &Record| &text[range(record)];
        if !records.is_sorted_by(|a, b| path(a) < path(b)) {
            records.sort_by(|a, b| path(a).cmp(path(b)));
            records.reverse();
            records.dedup_by(|a, b| path(a) == path(b));
            records.reverse();
        }
        Table {
            text,
            records,
            newer: BTreeMap::new(),
            copies,
        }
    }

    /// The bytes that were given to [`Table::new`].
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    fn path(&self, record: &Record) -> &[u8] {
        &self.text[range(record)]
    }

    fn find(&self, path: &[u8]) -> Result<usize, usize> {
        self.records
            .binary_search_by(|record| self.path(record).cmp(path))
    }

    pub fn get(&self, path: &[u8]) -> Option<DirstateEntry> {
        let entry = match self.find(path) {
            Ok(at) => self.records[at].entry,
            Err(_) => *self.newer.get(path)?,
        };
        entry.exists().then_some(entry)
    }

    /// An empty entry removes the path.
    pub fn set(&mut self, path: &[u8], entry: DirstateEntry) {
        match self.find(path) {
            Ok(at) => self.records[at].entry = entry,
            Err(_) if entry.exists() => {
                self.newer.insert(path.to_vec(), entry);
            }
            Err(_) => {
                self.newer.remove(path);
            }
        }
    }

    pub fn clear(&mut self) {
        self.records.clear();
        self.newer.clear();
        self.copies.clear();
    }

    /// There are not more entries than this.
    pub fn max_len(&self) -> usize {
        self.records.len() + self.newer.len()
    }

    /// All entries, sorted bytewise.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], DirstateEntry)> {
        self.iter_from(b"")
    }

    /// The entries from a path on.
    pub fn iter_from<'a>(
        &'a self,
        first: &[u8],
    ) -> impl Iterator<Item = (&'a [u8], DirstateEntry)> + use<'a> {
        let start = self.find(first).unwrap_or_else(|at| at);
        let old = self.records[start..].iter();
        let mut old = old
            .map(|record| (self.path(record), record.entry))
            .filter(|(_, entry)| entry.exists())
            .peekable();
        let newer = self.newer.range(first.to_vec()..);
        let mut newer = newer.map(|(path, entry)| (&path[..], *entry)).peekable();
        std::iter::from_fn(move || match (old.peek(), newer.peek()) {
            (Some((a, _)), Some((b, _))) if b < a => newer.next(),
            (None, _) => newer.next(),
            _ => old.next(),
        })
    }
}

fn range(record: &Record) -> Range<usize> {
    let start = record.start as usize;
    start..start + record.len as usize
}
