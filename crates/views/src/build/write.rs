//! Writing mapped batches into the index.

use super::BuildContext;
use super::rows::{Entries, Mapped};
use crate::group::ViewGroup;
use crate::row::keys_of_entry;
use crate::state::IndexState;
use crate::{BY_DOCUMENT, ViewError, tree_of_map};
use std::collections::HashSet;
use varve_btree::{Loader, Transaction, TreeFile};
use varve_codec::EngineSetting;

/// Writes runs of batches, each with one commit.
pub(super) struct Writer<'a> {
    file: &'a TreeFile,
    group: &'a ViewGroup,
    /// Whether the index was empty when the build began. Each document comes once in a build, so
    /// no document has old rows then.
    fresh: bool,
    /// How nodes are compressed.
    setting: EngineSetting,
}

/// A change of a tree.
type Edit<'a> = (&'a [u8], Option<&'a [u8]>);

impl<'a> Writer<'a> {
    pub(super) fn new(
        file: &'a TreeFile,
        group: &'a ViewGroup,
        fresh: bool,
        setting: EngineSetting,
    ) -> Self {
        Writer {
            file,
            group,
            fresh,
            setting,
        }
    }

    /// Takes the batches in; the index then stands at `state`.
    pub(super) fn write(
        &mut self,
        run: &[Mapped],
        state: IndexState,
        context: &BuildContext<'_>,
    ) -> Result<(), ViewError> {
        let mut txn = self.file.begin()?;
        txn.compress_nodes_by(self.setting)?;
        if self.fresh && txn.len(BY_DOCUMENT)? == 0 {
            self.load(&mut txn, run)?;
        } else {
            self.change(&mut txn, run)?;
        }
        txn.set_user_header(&state.encode());
        // An index can be made again, so nobody waits for it to be durable.
        txn.commit_unsynced()?;
        let written: usize = run.iter().map(|batch| batch.ids.len()).sum();
        context.progress.advance(written as u64);
        Ok(())
    }

    /// Fills empty trees from their first item to their last.
    fn load(&self, txn: &mut Transaction<'_>, run: &[Mapped]) -> Result<(), ViewError> {
        load_tree(txn, BY_DOCUMENT, run.iter().map(|batch| &batch.documents))?;
        for map in 0..self.group.maps().len() {
            let entries = run.iter().map(|batch| &batch.rows[map]);
            load_tree(txn, tree_of_map(map), entries)?;
        }
        Ok(())
    }

    /// Replaces the rows of the documents in the batches.
    fn change(&self, txn: &mut Transaction<'_>, run: &[Mapped]) -> Result<(), ViewError> {
        let old = match self.fresh {
            true => OldRows::default(),
            false => OldRows::find(txn, run, self.group.maps().len())?,
        };
        let entries = run.iter().map(|batch| &batch.documents);
        let removed = old.documents.iter().map(Vec::as_slice);
        update_tree(txn, BY_DOCUMENT, removed, entries)?;
        for map in 0..self.group.maps().len() {
            let entries = run.iter().map(|batch| &batch.rows[map]);
            let removed = old.rows.get(map).into_iter().flatten().map(Vec::as_slice);
            update_tree(txn, tree_of_map(map), removed, entries)?;
        }
        Ok(())
    }
}

/// What the index holds of documents that changed.
#[derive(Default)]
struct OldRows {
    /// Keys in the tree by document.
    documents: Vec<Vec<u8>>,
    /// For each map function the keys of its rows.
    rows: Vec<Vec<Vec<u8>>>,
}

impl OldRows {
    fn find(txn: &Transaction<'_>, run: &[Mapped], maps: usize) -> Result<Self, ViewError> {
        let mut ids: Vec<&String> = run.iter().flat_map(|batch| &batch.ids).collect();
        ids.sort();
        ids.dedup();
        let mut old = OldRows {
            documents: Vec::new(),
            rows: vec![Vec::new(); maps],
        };
        let mut keys = Vec::new();
        let entries = txn.get_many(BY_DOCUMENT, &ids)?;
        for (id, entry) in ids.iter().zip(entries) {
            let Some(entry) = entry else { continue };
            keys.clear();
            old.documents.push(id.as_bytes().to_vec());
            let damaged = ViewError::Row {
                reason: "the entry of a document does not tell its rows",
            };
            let known = keys_of_entry(id, entry.value(), &mut keys);
            known.ok_or(damaged)?;
            for (map, key) in keys.drain(..) {
                let rows = old.rows.get_mut(map).ok_or(ViewError::Row {
                    reason: "the entry of a document tells of a map function that is not there",
                })?;
                rows.push(key);
            }
        }
        Ok(old)
    }
}

/// Sorted entries of several batches as one. The sort finds the batches' own order.
fn merged<'e>(entries: impl Iterator<Item = &'e Entries>) -> Vec<(&'e [u8], &'e [u8])> {
    let mut all: Vec<_> = entries.flat_map(Entries::iter).collect();
    all.sort_by(|a, b| a.0.cmp(b.0));
    all
}

fn load_tree<'e>(
    txn: &mut Transaction<'_>,
    tree: usize,
    entries: impl Iterator<Item = &'e Entries>,
) -> Result<(), ViewError> {
    let mut loader = Loader::new(tree);
    for (key, value) in merged(entries) {
        loader.push(txn, key, value)?;
    }
    Ok(loader.finish(txn)?)
}

fn update_tree<'e>(
    txn: &mut Transaction<'_>,
    tree: usize,
    removed: impl Iterator<Item = &'e [u8]>,
    entries: impl Iterator<Item = &'e Entries>,
) -> Result<(), ViewError> {
    let added = merged(entries);
    let kept: HashSet<&[u8]> = added.iter().map(|(key, _)| *key).collect();
    let mut edits: Vec<Edit<'_>> = removed
        .filter(|key| !kept.contains(key))
        .map(|key| (key, None))
        .collect();
    edits.extend(added.iter().map(|(key, value)| (*key, Some(*value))));
    edits.sort_by(|a, b| a.0.cmp(b.0));
    Ok(txn.update(tree, &edits)?)
}
