//! Documents: from the tree by id, and those missing there from the tree by sequence.

use super::files::Files;
use super::{LEFT_OUT, Salvage};
use crate::compact::Sorter;
use crate::record::{BY_ID, BY_SEQ, Change, DocumentRecord, fields::Reader};
use crate::revtree::RevTree;
use crate::verify::{Hit, Part, Trouble};
use crate::{DocdbError, Rev};
use varve_base::Unit;
use varve_btree::{ChunkRef, Loader, Visited};

/// Length of a sequence at the beginning of a key.
const SEQ: usize = size_of::<u64>();

impl Salvage<'_, '_> {
    /// Copies all documents.
    pub(super) fn documents(&mut self, files: &Files<'_>) -> Result<(), DocdbError> {
        let mut by_seq = files.sorter(&files.by_seq);
        let total = self.from.tree().len(BY_ID)?;
        let progress = self.watch.progress;
        progress.begin("documents", Unit::Items, Some(total));
        let missing = self.known_documents(&mut by_seq)?;
        let tree = self.from.tree();
        if missing > 0 || tree.len(BY_ID)? != tree.len(BY_SEQ)? {
            self.missing_documents(missing, files, &mut by_seq)?;
        }
        progress.end();
        let mut by_id = files.sorter(&files.by_id);
        let mut access = files.sorter(&files.access);
        self.load_by_seq(by_seq, &mut by_id, &mut access)?;
        self.load_by_id(by_id)?;
        self.load_access(access)
    }

    /// Copies the readable documents of the tree by id; returns how many cannot be read.
    fn known_documents(&mut self, by_seq: &mut Sorter<'_>) -> Result<u64, DocdbError> {
        let (walked, mut missing) = (self.walked.clone(), 0_u64);
        walked.tree().visit_reachable(BY_ID, &mut |met| {
            self.watch.check()?;
            match met {
                Visited::Entry { key, value, .. } => {
                    match self.record(key, value) {
                        Some((id, record)) => self.document(id, record, by_seq)?,
                        None => missing += 1,
                    }
                    self.watch.progress.advance(1);
                }
                Visited::Lost(lost) => missing = missing.saturating_add(lost.items),
                Visited::Node { .. } | Visited::Mismatched { .. } => {}
            }
            Ok::<_, DocdbError>(())
        })?;
        Ok(missing)
    }

    /// A document that the tree by id shows, with as much of its history as can be read.
    fn record<'k>(&mut self, key: &'k [u8], value: &[u8]) -> Option<(&'k str, DocumentRecord)> {
        let id = std::str::from_utf8(key).ok()?;
        let read = |at: ChunkRef, out: &mut Vec<u8>| {
            let read = self.walked.tree().read_chunk(at, out);
            read.map_err(|error| Trouble::of(&error, at.offset))
        };
        let (record, missing) = DocumentRecord::decode_newest(value, read).ok()?;
        if let Some(trouble) = missing {
            self.report(trouble, Part::History, Hit::document(id), LEFT_OUT);
        }
        Some((id, record))
    }

    /// Copies the winners of documents that the tree by id does not show.
    fn missing_documents(
        &mut self,
        missing: u64,
        files: &Files<'_>,
        by_seq: &mut Sorter<'_>,
    ) -> Result<(), DocdbError> {
        let mut changes = self.missing_changes(files)?.finish()?;
        let mut found = 0;
        while let Some(id) = changes.peek().map(<[u8]>::to_vec) {
            self.watch.check()?;
            let mut newest: Option<Change> = None;
            // In a sound file each id comes once.
            while changes.peek() == Some(&id) {
                let item = changes.take()?.unwrap_or_default();
                let (key, value) = item.split_at(item.len().min(SEQ));
                let change = Change::decode(key, value).ok();
                let seq = |change: &Option<Change>| change.as_ref().map(|change| change.seq);
                if seq(&change) > seq(&newest) {
                    newest = change;
                }
            }
            if let Some(change) = newest {
                found += 1;
                self.winner(change, by_seq)?;
            }
        }
        if found < missing {
            let reason = format!("nothing else tells of {} documents", missing - found);
            let trouble = Trouble::new(None, reason);
            self.report(trouble, Part::NodeById, Hit::Database, LEFT_OUT);
        }
        Ok(())
    }

    /// Changes of documents that the tree by id does not show: keys and values behind each other.
    fn missing_changes<'f>(&mut self, files: &'f Files<'_>) -> Result<Sorter<'f>, DocdbError> {
        let mut missing = files.sorter(&files.missing);
        let (from, walked) = (self.from.clone(), self.walked.clone());
        walked.tree().visit_reachable(BY_SEQ, &mut |met| {
            self.watch.check()?;
            let Visited::Entry { key, value, .. } = met else {
                return Ok::<_, DocdbError>(());
            };
            let change = Change::decode(key, value);
            // A revision tree has no other generations.
            let Some(change) = change.ok().filter(|change| change.rev.generation > 0) else {
                return Ok(());
            };
            let is_missing = match from.tree().get(BY_ID, change.id.as_bytes()) {
                Ok(Some(item)) => {
                    let read = |at, out: &mut Vec<u8>| from.tree().read_chunk(at, out);
                    DocumentRecord::decode_newest(item.value(), read).is_err()
                }
                Ok(None) | Err(_) => true,
            };
            match is_missing {
                true => missing.push(change.id.as_bytes(), &[key, value].concat()),
                false => Ok(()),
            }
        })?;
        Ok(missing)
    }

    /// Copies the winner of a document that only its change names.
    fn winner(&mut self, change: Change, by_seq: &mut Sorter<'_>) -> Result<(), DocdbError> {
        let mut reason = "the document's revision tree cannot be read".to_owned();
        if !change.others.is_empty() {
            let revs = change.others.iter().map(|leaf| leaf.rev.to_string());
            let revs: Vec<_> = revs.collect();
            reason = format!("{reason}, nor these leaves: {}", revs.join(", "));
        }
        let hit = Hit::revision(&change.id, &change.rev);
        let trouble = Trouble::new(None, reason);
        self.report(trouble, Part::Document, hit, "kept without its history");
        let mut tree = RevTree::default();
        tree.merge(&[change.rev], change.stored);
        let record = DocumentRecord::new(change.seq, tree);
        self.document(&change.id, record, by_seq)
    }

    /// Copies a document's leaves, and hands it to be sorted.
    fn document(
        &mut self,
        id: &str,
        mut record: DocumentRecord,
        by_seq: &mut Sorter<'_>,
    ) -> Result<(), DocdbError> {
        let leaves: Vec<Rev> = record.tree.leaves().map(|leaf| leaf.rev.clone()).collect();
        record.tree.keep_leaves(|node| self.content(id, node))?;
        if record.tree.is_empty() {
            let trouble = Trouble::new(None, "none of its revisions can be read");
            self.report(trouble, Part::Document, Hit::document(id), LEFT_OUT);
            return Ok(());
        }
        let kept: Vec<Rev> = record.tree.leaves().map(|leaf| leaf.rev.clone()).collect();
        for rev in kept.iter().filter(|rev| !leaves.contains(rev)) {
            let trouble = Trouble::new(None, "what came after it cannot be read");
            let outcome = "an older revision stands for the document";
            self.report(trouble, Part::Document, Hit::revision(id, rev), outcome);
        }
        self.report.documents += 1;
        let mut key = record.seq.to_be_bytes().to_vec();
        key.extend_from_slice(id.as_bytes());
        let mut tree = Vec::new();
        record.tree.encode(&mut tree);
        by_seq.push(&key, &tree)
    }

    /// Builds the tree by sequence. Where a file has two documents at one sequence, the second gets
    /// the next one.
    fn load_by_seq(
        &mut self,
        sorter: Sorter<'_>,
        by_id: &mut Sorter<'_>,
        access: &mut Sorter<'_>,
    ) -> Result<(), DocdbError> {
        let mut sorted = sorter.finish()?;
        let (mut by_seq, mut last) = (Loader::new(BY_SEQ), 0_u64);
        while let Some(key) = sorted.peek().map(<[u8]>::to_vec) {
            self.watch.check()?;
            let tree = sorted.take()?.unwrap_or_default();
            let (seq, id) = key.split_first_chunk().unwrap_or((&[0; SEQ], &[]));
            let id = String::from_utf8_lossy(id).into_owned();
            let damaged = || self.from.damaged("document", id.as_bytes());
            let tree = RevTree::decode(Reader::new(&tree)).map_err(|_| damaged())?;
            let seq = u64::from_be_bytes(*seq).max(last.saturating_add(1));
            let change = Change::of(&id, seq, &tree).ok_or_else(damaged)?;
            if seq == last {
                let trouble = Trouble::new(None, "there is no update sequence for it");
                self.report.documents -= 1;
                self.report(trouble, Part::Document, Hit::document(&id), LEFT_OUT);
                continue;
            }
            last = seq;
            let mut value = Vec::new();
            change.encode(&mut value);
            by_seq.push(&mut self.txn, &seq.to_be_bytes(), &value)?;
            self.access_rows(&id, &tree, access)?;
            let value = DocumentRecord::new(seq, tree).write(&mut self.txn)?;
            by_id.push(id.as_bytes(), &value)?;
        }
        self.header.update_seq = self.header.update_seq.max(last);
        Ok(by_seq.finish(&mut self.txn)?)
    }

    fn load_by_id(&mut self, by_id: Sorter<'_>) -> Result<(), DocdbError> {
        let mut sorted = by_id.finish()?;
        let mut tree = Loader::new(BY_ID);
        while let Some(id) = sorted.peek().map(<[u8]>::to_vec) {
            self.watch.check()?;
            let value = sorted.take()?.unwrap_or_default();
            tree.push(&mut self.txn, &id, &value)?;
        }
        Ok(tree.finish(&mut self.txn)?)
    }
}
