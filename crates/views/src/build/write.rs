//! Writing mapped batches into the index.

use super::BuildContext;
use super::rows::{Entries, Mapped};
use crate::group::ViewGroup;
use crate::header::IndexHeader;
use crate::index::ViewIndex;
use crate::principals::{keys_of_readers, readers_key};
use crate::row::{keys_of_entry, prefix_of};
use crate::{BY_DOCUMENT, ViewError, tree_of_map};
use std::collections::HashSet;
use std::ops::Range;
use varve_btree::{Change, Loader, Overlay, Transaction, TreeEntry};

/// Items between two calls of [`BuildContext::throttle`].
const PIECE: usize = 200;

/// Writes runs of batches, each with one commit.
pub(super) struct Writer<'a> {
    index: &'a ViewIndex,
    /// Whether the index was empty when the build began. Each document comes once in a build, so
    /// no document has old rows then.
    fresh: bool,
}

impl<'a> Writer<'a> {
    pub(super) fn new(index: &'a ViewIndex, fresh: bool) -> Self {
        Writer { index, fresh }
    }

    pub(super) fn group(&self) -> &'a ViewGroup {
        &self.index.group
    }

    /// Takes the batches in; the index then stands at `state`.
    pub(super) fn write(
        &mut self,
        run: &[Mapped],
        state: IndexHeader,
        context: &BuildContext<'_>,
    ) -> Result<(), ViewError> {
        match self.fresh {
            true => self.fill(run, state, context)?,
            false => self.change(run, state)?,
        }
        let written: usize = run.iter().map(|batch| batch.ids.len()).sum();
        context.progress.advance(written as u64);
        Ok(())
    }

    /// Adds the rows of documents that have none.
    fn fill(
        &self,
        run: &[Mapped],
        state: IndexHeader,
        context: &BuildContext<'_>,
    ) -> Result<(), ViewError> {
        let file = self.index.state().file;
        let mut txn = file.begin()?;
        txn.compress_nodes_by(self.index.options.setting)?;
        let is_empty = txn.len(BY_DOCUMENT)? == 0;
        let put = |txn: &mut Transaction<'_>, tree, entries: &[Entry<'_>]| match is_empty {
            true => load_tree(txn, tree, entries, context),
            false => add_to_tree(txn, tree, entries),
        };
        let documents = run.iter().map(|batch| &batch.documents);
        put(&mut txn, BY_DOCUMENT, &merged(documents))?;
        let group = &self.index.group;
        for map in 0..group.maps().len() {
            let rows = run.iter().map(|batch| &batch.rows[map]);
            put(&mut txn, tree_of_map(map), &merged(rows))?;
            if group.has_access() {
                let rows = ExpandedRows::of(run, map);
                put(&mut txn, group.principals_tree(map), &rows.entries())?;
            }
        }
        if group.has_access() {
            let readers = run.iter().map(|batch| &batch.readers);
            put(&mut txn, group.readers_tree(), &merged(readers))?;
        }
        txn.set_user_header(&state.encode());
        // An index can be made again, so it need not be durable.
        txn.commit_unsynced()?;
        self.index.use_file(file);
        Ok(())
    }

    /// Replaces the rows of the documents in the batches.
    fn change(&self, run: &[Mapped], state: IndexHeader) -> Result<(), ViewError> {
        let rows = self.index.state().rows;
        let group = &self.index.group;
        let maps = group.maps().len();
        let old = OldRows::find(&rows, run, group)?;
        let documents = merged(run.iter().map(|batch| &batch.documents));
        let mut trees = vec![changes_of(&old.documents, &documents)];
        let entries = |map: usize| merged(run.iter().map(|batch| &batch.rows[map]));
        let mut entries: Vec<Vec<Entry<'_>>> = (0..maps).map(entries).collect();
        let mut expanded = Vec::new();
        if group.has_access() {
            expanded.extend((0..maps).map(|map| ExpandedRows::of(run, map)));
            entries.extend(expanded.iter().map(ExpandedRows::entries));
            entries.push(merged(run.iter().map(|batch| &batch.readers)));
        }
        let of_trees = old.rows.iter().zip(&entries);
        trees.extend(of_trees.map(|(old, new)| changes_of(old, new)));
        self.index
            .apply(rows.with_changes(&trees, &state.encode())?)
    }
}

/// Rows of a map function by principal.
struct ExpandedRows<'r> {
    keys: Vec<u8>,
    /// Range of each key within `keys`, and its value.
    rows: Vec<(Range<usize>, &'r [u8])>,
}

impl<'r> ExpandedRows<'r> {
    fn of(run: &'r [Mapped], map: usize) -> Self {
        let (mut keys, mut rows) = (Vec::new(), Vec::new());
        for batch in run {
            for shared in &batch.shared {
                let own = shared.rows.iter().filter(|(function, _)| *function == map);
                let own: Vec<_> = own.map(|(_, span)| batch.rows[map].get(*span)).collect();
                for principal in &shared.principals {
                    let prefix = prefix_of(principal);
                    for (key, value) in &own {
                        let at = keys.len();
                        keys.extend_from_slice(&prefix);
                        keys.extend_from_slice(key);
                        rows.push((at..keys.len(), *value));
                    }
                }
            }
        }
        ExpandedRows { keys, rows }
    }

    fn entries(&self) -> Vec<Entry<'_>> {
        let rows = self.rows.iter();
        let rows = rows.map(|(key, value)| (&self.keys[key.clone()], *value));
        let mut all: Vec<Entry<'_>> = rows.collect();
        all.sort_by(|a, b| a.0.cmp(b.0));
        all
    }
}

/// Indexed rows of documents that changed.
struct OldRows {
    /// Keys in the tree by document.
    documents: Vec<Vec<u8>>,
    /// For each other tree the keys of its items.
    rows: Vec<Vec<Vec<u8>>>,
}

impl OldRows {
    fn find(index: &Overlay, run: &[Mapped], group: &ViewGroup) -> Result<Self, ViewError> {
        let mut ids: Vec<&String> = run.iter().flat_map(|batch| &batch.ids).collect();
        ids.sort();
        ids.dedup();
        let mut old = OldRows {
            documents: Vec::new(),
            rows: vec![Vec::new(); group.trees_of_rows()],
        };
        let mut keys = Vec::new();
        let entries = index.get_many(BY_DOCUMENT, &ids)?;
        let readers = readers_of(index, &ids, group)?;
        let maps = group.maps().len();
        for ((id, entry), readers) in ids.iter().zip(entries).zip(readers) {
            keys.clear();
            let damaged = || ViewError::Row {
                reason: "the entry of a document does not tell its rows",
            };
            if let Some(entry) = entry {
                old.documents.push(id.as_bytes().to_vec());
                let known = keys_of_entry(id, entry.value(), &mut keys);
                known.ok_or_else(damaged)?;
            }
            if let Some(readers) = readers {
                let plain = keys.clone();
                let known = keys_of_readers(id, (readers.value(), &plain), maps, &mut keys);
                known.ok_or_else(damaged)?;
            }
            for (tree, key) in keys.drain(..) {
                let rows = old.rows.get_mut(tree).ok_or(ViewError::Row {
                    reason: "the entry of a document tells of a map function that is not there",
                })?;
                rows.push(key);
            }
        }
        Ok(old)
    }
}

/// Items of documents in the tree of readers.
fn readers_of(
    index: &Overlay,
    ids: &[&String],
    group: &ViewGroup,
) -> Result<Vec<Option<TreeEntry>>, ViewError> {
    if !group.has_access() {
        return Ok(vec![None; ids.len()]);
    }
    let keys: Vec<_> = ids.iter().map(|id| readers_key(id)).collect();
    Ok(index.get_many(group.readers_tree(), &keys)?)
}

/// A key with its value.
type Entry<'e> = (&'e [u8], &'e [u8]);

/// Sorted entries of several batches as one. The sort finds the batches' own order.
fn merged<'e>(entries: impl Iterator<Item = &'e Entries>) -> Vec<Entry<'e>> {
    let mut all: Vec<_> = entries.flat_map(Entries::iter).collect();
    all.sort_by(|a, b| a.0.cmp(b.0));
    all
}

/// Fills an empty tree from its first item to its last.
fn load_tree(
    txn: &mut Transaction<'_>,
    tree: usize,
    entries: &[Entry<'_>],
    context: &BuildContext<'_>,
) -> Result<(), ViewError> {
    let mut loader = Loader::new(tree);
    for (number, (key, value)) in entries.iter().enumerate() {
        loader.push(txn, key, value)?;
        if number % PIECE == 0 {
            (context.throttle)();
        }
    }
    Ok(loader.finish(txn)?)
}

fn add_to_tree(
    txn: &mut Transaction<'_>,
    tree: usize,
    entries: &[Entry<'_>],
) -> Result<(), ViewError> {
    let edits = entries.iter().map(|(key, value)| (*key, Some(*value)));
    let edits: Vec<_> = edits.collect();
    Ok(txn.update(tree, &edits)?)
}

/// New entries in the place of old ones, of which the keys are given.
fn changes_of<'e>(old: &'e [Vec<u8>], new: &[Entry<'e>]) -> Vec<Change<'e>> {
    let known: HashSet<&[u8]> = old.iter().map(Vec::as_slice).collect();
    let kept: HashSet<&[u8]> = new.iter().map(|(key, _)| *key).collect();
    let gone = known.iter().filter(|key| !kept.contains(*key));
    let gone = gone.map(|key| Change {
        key,
        value: None,
        was_there: true,
    });
    let put = new.iter().map(|(key, value)| Change {
        key,
        value: Some(value),
        was_there: known.contains(key),
    });
    let mut all: Vec<_> = gone.chain(put).collect();
    all.sort_by_key(|amendment| amendment.key);
    all
}
