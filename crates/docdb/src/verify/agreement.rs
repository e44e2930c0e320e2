//! Whether the tree by id and the tree by sequence speak of the same documents.

use super::{Hit, Part, Verifier};
use crate::record::{BY_ID, BY_SEQ, Change, DocumentHead, fields::Reader};
use crate::{DocdbError, Snapshot};
use std::hash::{BuildHasher, RandomState};
use varve_btree::Visited;

/// Disagreement about an item of one tree: the document's id, and the reason.
type Compare = fn(&Snapshot, &[u8], &[u8]) -> Option<(String, &'static str)>;

/// Sums of hashes, with a key that no file can know: of the changes that documents amount to, and of those that the
/// tree by sequence holds.
#[derive(Default)]
pub(super) struct Sums {
    hasher: RandomState,
    documents: u64,
    changes: u64,
    /// Of the rows of access that documents amount to, less those that are there.
    rows: u64,
    value: Vec<u8>,
}

impl Sums {
    pub(super) fn add_document(&mut self, change: &Change) {
        self.value.clear();
        change.encode(&mut self.value);
        let hash = self.hash(&change.seq.to_be_bytes(), &self.value);
        self.documents = self.documents.wrapping_add(hash);
    }

    fn add_change(&mut self, key: &[u8], value: &[u8]) {
        let hash = self.hash(key, value);
        self.changes = self.changes.wrapping_add(hash);
    }

    pub(super) fn expect_row(&mut self, key: &[u8], value: &[u8]) {
        self.rows = self.rows.wrapping_add(self.hash(key, value));
    }

    pub(super) fn add_row(&mut self, key: &[u8], value: &[u8]) {
        self.rows = self.rows.wrapping_sub(self.hash(key, value));
    }

    pub(super) fn rows_agree(&self) -> bool {
        self.rows == 0
    }

    fn hash(&self, key: &[u8], value: &[u8]) -> u64 {
        self.hasher.hash_one((key, value))
    }
}

impl Verifier<'_, '_> {
    /// Checks the tree by sequence.
    pub(super) fn changes(&mut self) -> Result<(), DocdbError> {
        self.walk(BY_SEQ, |this, key, value, leaf| {
            this.sums.add_change(key, value);
            if Change::decode(key, value).is_err() {
                let hit = match key.try_into() {
                    Ok(seq) => Hit::Number(u64::from_be_bytes(seq)),
                    Err(_) => Hit::Database,
                };
                this.find(Part::Change, Some(leaf.offset), hit, "it does not decode");
            }
            Ok(())
        })
    }

    /// Finds which documents and changes do not fit, if any.
    pub(super) fn agreement(&mut self) -> Result<(), DocdbError> {
        let tree = self.snapshot.tree();
        let is_same_count = tree.len(BY_ID)? == tree.len(BY_SEQ)?;
        if is_same_count && self.sums.documents == self.sums.changes {
            return Ok(());
        }
        self.compare(BY_ID, has_change)?;
        self.compare(BY_SEQ, has_document)
    }

    fn compare(&mut self, tree: usize, check: Compare) -> Result<(), DocdbError> {
        let (snapshot, walked) = (self.snapshot.clone(), self.walked.clone());
        walked.tree().visit_reachable(tree, &mut |met| {
            let Visited::Entry { key, value, leaf } = met else {
                return Ok(());
            };
            self.look()?;
            if let Some((id, reason)) = check(&snapshot, key, value) {
                self.find(Part::Change, Some(leaf.offset), Hit::document(&id), reason);
            }
            Ok(())
        })
    }
}

/// Whether the change in the tree by sequence agrees with the document's revision tree. Where that tree cannot be read,
/// its nodes were reported.
fn has_change(snapshot: &Snapshot, key: &[u8], value: &[u8]) -> Option<(String, &'static str)> {
    let id = String::from_utf8_lossy(key).into_owned();
    let record = snapshot.record(key, value).ok()?;
    let seq = record.seq.to_be_bytes();
    let item = snapshot.tree().get(BY_SEQ, &seq).ok()?;
    let Some(item) = item else {
        return Some((id, "the document's last update is not there"));
    };
    let mut expected = Vec::new();
    Change::of(&id, record.seq, &record.tree)?.encode(&mut expected);
    (item.value() != expected).then_some((id, "it is not what the document amounts to"))
}

/// Whether the tree by id has the document of a change, and that at this update.
fn has_document(snapshot: &Snapshot, key: &[u8], value: &[u8]) -> Option<(String, &'static str)> {
    let change = Change::decode(key, value).ok()?;
    let item = snapshot.tree().get(BY_ID, change.id.as_bytes()).ok()?;
    let Some(item) = item else {
        return Some((change.id, "there is no such document"));
    };
    let head = DocumentHead::decode(&mut Reader::new(item.value())).ok()?;
    (head.seq != change.seq).then_some((change.id, "the document was updated later"))
}
