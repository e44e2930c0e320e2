//! The tree by id: documents, their revision trees, and everything that their revisions refer to.

use super::access::ReadLeaves;
use super::finding::Trouble;
use super::{Hit, Part, Verifier};
use crate::record::{BY_ID, Change, DocumentHead, DocumentRecord, fields::Reader};
use crate::{DocdbError, RevTree};
use varve_base::Unit;
use varve_btree::ChunkRef;

impl Verifier<'_, '_> {
    /// Checks all documents.
    pub(super) fn documents(&mut self) -> Result<(), DocdbError> {
        let total = self.snapshot.tree().len(BY_ID)?;
        let progress = self.watch.progress;
        progress.begin("documents", Unit::Items, Some(total));
        self.walk(BY_ID, |this, key, value, leaf| {
            this.document(key, value, leaf);
            progress.advance(1);
            Ok(())
        })?;
        progress.end();
        Ok(())
    }

    fn document(&mut self, key: &[u8], value: &[u8], leaf: ChunkRef) {
        let id = String::from_utf8_lossy(key);
        let record = DocumentRecord::decode(value, |at, out| {
            self.read(at)?;
            out.extend_from_slice(&self.text);
            Ok(())
        });
        let record = match record {
            Ok(record) => record,
            Err(trouble) => {
                let trouble: Trouble = trouble;
                return self.report(&trouble.finding(Part::History, Hit::document(&id)));
            }
        };
        let (Ok(record), true) = (record, std::str::from_utf8(key).is_ok()) else {
            let reason = "it does not decode";
            let hit = Hit::document(&id);
            return self.find(Part::Document, Some(leaf.offset), hit, reason);
        };
        self.report.documents += 1;
        self.report.revisions += record.tree.len() as u64;
        if let Err(reason) = fits(value, &record, self.snapshot.update_seq()) {
            let hit = Hit::document(&id);
            self.find(Part::Document, Some(leaf.offset), hit, reason);
        }
        match Change::of(&id, record.seq, &record.tree) {
            Some(change) => self.sums.add_document(&change),
            None => {
                let reason = "its winning revision has no content";
                let hit = Hit::document(&id);
                self.find(Part::Document, Some(leaf.offset), hit, reason);
            }
        }
        self.revisions(&id, &record.tree);
    }

    fn revisions(&mut self, id: &str, tree: &RevTree) {
        let mut access = ReadLeaves::default();
        for node in tree.nodes() {
            let Some(stored) = &node.stored else {
                continue;
            };
            if let Err(trouble) = self.body(stored.body) {
                self.report(&trouble.finding(Part::Body, Hit::revision(id, &node.rev)));
            } else {
                self.report.bodies += 1;
                if tree.leaf(&node.rev).is_some() {
                    self.read_access(node, stored, &mut access);
                }
            }
            if let Some(list) = stored.attachments {
                self.attachments(id, &node.rev, list);
            }
        }
        if self.snapshot.has_access() {
            self.expect_access(id, tree, &access);
        }
    }

    /// Reads a chunk that has to be the text of a JSON object.
    pub(super) fn body(&mut self, at: ChunkRef) -> Result<(), Trouble> {
        self.read(at)?;
        Trouble::of_json(&self.text, Some(at.offset))
    }
}

/// Whether the fields in front of a revision tree agree with the tree.
fn fits(value: &[u8], record: &DocumentRecord, update_seq: u64) -> Result<(), &'static str> {
    let head = DocumentHead::decode(&mut Reader::new(value));
    let head = head.map_err(|_| "it does not decode")?;
    if (head.active, head.external) != record.sizes() {
        return Err("it has other sizes than its leaves together");
    }
    if record.seq == 0 || record.seq > update_seq {
        return Err("its update sequence is not one that was given");
    }
    let leaves = record.tree.leaves();
    match leaves.filter(|leaf| leaf.stored.is_none()).count() {
        0 => Ok(()),
        _ => Err("a leaf of its revision tree has no content"),
    }
}
