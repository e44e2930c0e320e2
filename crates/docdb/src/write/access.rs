//! Names that may see the leaves of a document while it is edited, and the rights of the edit's author.

use super::commit::GroupTransaction;
use crate::access::{AccessError, names_in};
use crate::edit::{EditAccess, Prepared};
use crate::record::{ACCESS, AccessEdits, AccessLeaf, decode_leaves, leaves_key, replace};
use crate::revtree::Stored;
use crate::{DocdbError, Rev, RevTree, Viewer};
use std::collections::HashMap;
use varve_btree::Transaction;

/// The names of a document's leaves, before a commit and while its edits are applied.
pub(super) struct PendingAccess {
    before: Vec<AccessLeaf>,
    /// Of all revisions that are leaves, or were since the commit began.
    names: HashMap<Rev, Vec<String>>,
}

impl PendingAccess {
    pub(super) fn new(before: Vec<AccessLeaf>) -> Self {
        let names = before
            .iter()
            .map(|leaf| (leaf.rev.clone(), leaf.names.clone()));
        PendingAccess {
            names: names.collect(),
            before,
        }
    }

    /// Refuses an author who may see no leaf of a document that is there. An id belongs to the names of its first
    /// revision, also while it is deleted.
    pub(super) fn check_author(&self, author: &Viewer) -> Result<(), AccessError> {
        let is_visible = self.names.values().any(|names| author.sees(names));
        match self.names.is_empty() || author.sees_all() || is_visible {
            true => Ok(()),
            false => Err(AccessError::Foreign),
        }
    }

    /// The part of a revision tree that an author may see.
    pub(super) fn visible(&self, tree: &RevTree, author: &Viewer) -> RevTree {
        tree.with_leaves(|rev| self.names.get(rev).is_some_and(|names| author.sees(names)))
    }

    /// The names of the revision that an edit makes, whose history is `path`. Every leaf in there is replaced, not only
    /// the next one: each has to be visible to the author, and keeps its names.
    pub(super) fn names_of_edit(
        &self,
        edit: &Prepared,
        path: &[Rev],
    ) -> Result<Vec<String>, AccessError> {
        let author = &edit.edit.author;
        let known = path.iter().skip(1).filter_map(|rev| self.names.get(rev));
        let replaced: Vec<&Vec<String>> = known.collect();
        if replaced.iter().any(|names| !author.sees(names)) {
            return Err(AccessError::Foreign);
        }
        let Some(EditAccess { names, .. }) = &edit.access else {
            return Ok(match edit.edit.deleted {
                true => inherited(&replaced, author),
                false => Vec::new(),
            });
        };
        let mut kept = replaced.into_iter().flatten();
        match author.sees_all() || kept.all(|name| names.binary_search(name).is_ok()) {
            true => Ok(names.clone()),
            false => Err(AccessError::Narrowed),
        }
    }

    /// Notes a new revision.
    pub(super) fn add(&mut self, rev: &Rev, names: Vec<String>) {
        self.names.insert(rev.clone(), names);
    }

    /// Adds the changes of the tree of access that make it fit the document's revision tree.
    pub(super) fn finish(
        mut self,
        id: &str,
        tree: &RevTree,
        txn: &Transaction<'_>,
        edits: &mut AccessEdits,
    ) -> Result<(), DocdbError> {
        let mut after = Vec::new();
        for leaf in tree.leaves() {
            let Some(stored) = &leaf.stored else { continue };
            let names = match self.names.remove(&leaf.rev) {
                Some(names) => names,
                None => names_in_body(txn, stored)?,
            };
            after.push(AccessLeaf::new(leaf, stored, names));
        }
        replace(id, &self.before, &after, edits);
        Ok(())
    }
}

/// The names of a tombstone that lists none: those who could see what it deletes are told. The tombstone of a document
/// that was never here is its author's.
fn inherited(replaced: &[&Vec<String>], author: &Viewer) -> Vec<String> {
    let mut names: Vec<String> = replaced.iter().copied().flatten().cloned().collect();
    if replaced.is_empty() {
        names.extend(author.user().map(str::to_owned));
    }
    names.sort_unstable();
    names.dedup();
    names
}

fn names_in_body(txn: &Transaction<'_>, stored: &Stored) -> Result<Vec<String>, DocdbError> {
    let mut text = Vec::new();
    txn.read_chunk(stored.body, &mut text)?;
    Ok(names_in(&text))
}

impl GroupTransaction<'_> {
    /// The leaves of documents in the order of their ids; `None` in a database without access.
    pub(super) fn access_of(
        &self,
        ids: &[&str],
    ) -> Result<Option<Vec<Vec<AccessLeaf>>>, DocdbError> {
        match self.header.has_access {
            true => leaves_of(&self.txn, ids, |id| self.before.damaged("access", id)).map(Some),
            false => Ok(None),
        }
    }
}

/// The leaves of documents, as the tree of access has them.
pub(super) fn leaves_of(
    txn: &Transaction<'_>,
    ids: &[&str],
    damaged: impl Fn(&[u8]) -> DocdbError,
) -> Result<Vec<Vec<AccessLeaf>>, DocdbError> {
    let keys: Vec<_> = ids.iter().map(|id| leaves_key(id.as_bytes())).collect();
    let items = txn.get_many(ACCESS, &keys)?.into_iter().zip(ids);
    let leaves = items.map(|(item, id)| {
        let leaves = item.map(|item| decode_leaves(item.value()));
        let leaves = leaves.transpose().map_err(|_| damaged(id.as_bytes()))?;
        Ok(leaves.unwrap_or_default())
    });
    leaves.collect()
}
