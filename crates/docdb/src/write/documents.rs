//! Applying edits to documents.

use super::access::PendingAccess;
use super::commit::{Entry, GroupTransaction};
use crate::access::{access_text, with_access};
use crate::database::Run;
use crate::edit::{Accepted, EditOutcome, Mode, Prepared, Text};
use crate::record::{
    ACCESS, AccessEdits, BY_ID, Change, DocumentRecord, LOCAL_PREFIX, LocalBody, LocalRecord,
    append_plain, encode_attachments,
};
use crate::revtree::{Merging, Stored};
use crate::{Attachment, Digest, DocdbError, EditError, Rev};
use varve_btree::{ChunkRef, EncodedChunk};
use varve_codec::Compressor;

/// The documents that a commit touches, in order of their ids.
#[derive(Default)]
pub(super) struct Documents<'j> {
    states: Vec<PendingDocument<'j>>,
}

struct PendingDocument<'j> {
    id: &'j str,
    record: DocumentRecord,
    /// The revision tree while replicated edits are added; the record's is empty meanwhile.
    merging: Option<Merging>,
    /// The update before this commit; 0 for a new document.
    old_seq: u64,
    is_changed: bool,
    /// In a database with access.
    access: Option<PendingAccess>,
}

type Settle<'a, 'j> = dyn FnMut(&Entry<'j>, EditOutcome) + 'a;

impl<'j> Documents<'j> {
    /// Reads the documents of the sorted entries, and returns the entries of each.
    pub(super) fn read<'e>(
        &mut self,
        work: &GroupTransaction<'_>,
        entries: &'e [Entry<'j>],
    ) -> Result<Vec<&'e [Entry<'j>]>, DocdbError> {
        let runs = entries.chunk_by(|a, b| a.edit.edit.id == b.edit.edit.id);
        let runs: Vec<_> = runs.collect();
        let ids: Vec<&'j str> = runs
            .iter()
            .map(|run| run[0].edit.edit.id.as_str())
            .collect();
        let mut access = work.access_of(&ids)?.map(Vec::into_iter);
        for (id, item) in ids.iter().zip(work.txn.get_many(BY_ID, &ids)?) {
            let access = access.as_mut().and_then(Iterator::next);
            let record = item.map(|item| work.before.record(id.as_bytes(), item.value()));
            let record = record.transpose()?.unwrap_or_default();
            self.states.push(PendingDocument {
                id,
                old_seq: record.seq,
                record,
                merging: None,
                is_changed: false,
                access: access.map(PendingAccess::new),
            });
        }
        Ok(runs)
    }

    /// Applies the edits of one document.
    pub(super) fn apply(
        &mut self,
        work: &mut GroupTransaction<'_>,
        position: usize,
        entries: &[Entry<'j>],
        settle: &mut Settle<'_, 'j>,
    ) -> Result<(), DocdbError> {
        let state = &mut self.states[position];
        for entry in entries {
            let outcome = state.apply(work, entry.edit)?;
            settle(entry, outcome);
        }
        state.settle_tree();
        Ok(())
    }

    /// Writes the changes; returns whether there were any.
    pub(super) fn write(self, work: &mut GroupTransaction<'_>) -> Result<bool, DocdbError> {
        let limit = work.header.revs_limit;
        let mut by_id = Vec::new();
        let (mut by_seq, mut added) = (Vec::new(), Vec::new());
        let mut access = AccessEdits::new();
        for mut state in self.states.into_iter().filter(|state| state.is_changed) {
            state.record.tree.stem(limit);
            by_id.push((state.id, Some(state.record.write(&mut work.txn)?)));
            if let Some(pending) = state.access {
                pending.finish(state.id, &state.record.tree, &work.txn, &mut access)?;
            }
            if state.old_seq > 0 {
                by_seq.push((state.old_seq.to_be_bytes(), None));
            }
            if let Some(change) = Change::of(state.id, state.record.seq, &state.record.tree) {
                let mut value = Vec::new();
                change.encode(&mut value);
                added.push((state.record.seq.to_be_bytes(), Some(value)));
            }
        }
        by_seq.sort_by_key(|(seq, _)| *seq);
        // Every new sequence is above every old one, and they were given in order.
        by_seq.append(&mut added);
        work.update_trees(&by_id, &by_seq)?;
        if !access.is_empty() {
            let access: Vec<_> = access.into_iter().collect();
            work.txn.update(ACCESS, &access)?;
        }
        Ok(!by_id.is_empty())
    }
}

impl PendingDocument<'_> {
    fn apply(
        &mut self,
        work: &mut GroupTransaction<'_>,
        edit: &Prepared,
    ) -> Result<EditOutcome, DocdbError> {
        if let Some(error) = &edit.refused {
            return Ok(Err(error.clone()));
        }
        let checked = |access: &PendingAccess| access.check_author(&edit.edit.author);
        if let Some(Err(error)) = self.access.as_ref().map(checked) {
            return Ok(Err(error.into()));
        }
        let path = match edit.mode {
            Mode::Interactive => {
                // What such an edit continues depends on the leaves.
                self.settle_tree();
                match self.next_revision(edit) {
                    Ok(path) => path,
                    Err(error) => return Ok(Err(error)),
                }
            }
            Mode::Replicated => edit.edit.revs.clone(),
        };
        let Some(rev) = path.first().cloned() else {
            return Ok(Err(EditError::RevNeeded));
        };
        let names = |access: &PendingAccess| access.names_of_edit(edit, &path);
        let names = match self.access.as_ref().map(names).transpose() {
            Ok(names) => names,
            Err(error) => return Ok(Err(error.into())),
        };
        let tree = &mut self.record.tree;
        let merging = self
            .merging
            .get_or_insert_with(|| Merging::of(std::mem::take(tree)));
        let is_new = !merging.knows(&rev);
        if is_new {
            if !self.is_changed {
                work.header.update_seq += 1;
                self.record.seq = work.header.update_seq;
                self.is_changed = true;
            }
            let stored = work.store(edit, names.as_deref(), rev.generation, self.record.seq)?;
            merging.merge(&path, stored);
            if let (Some(access), Some(names)) = (&mut self.access, names) {
                access.add(&rev, names);
            }
        }
        Ok(Ok(Accepted {
            id: self.id.to_owned(),
            rev,
            is_new,
        }))
    }

    /// Puts the tree in order. Thousands of replicated leaves are put in order once.
    fn settle_tree(&mut self) {
        if let Some(merging) = self.merging.take() {
            self.record.tree = merging.finish();
        }
    }

    /// The revision that an interactive edit makes, and its parent.
    fn next_revision(&self, edit: &Prepared) -> Result<Vec<Rev>, EditError> {
        let visible;
        let mut tree = &self.record.tree;
        if let Some(access) = self
            .access
            .as_ref()
            .filter(|_| !edit.edit.author.sees_all())
        {
            visible = access.visible(tree, &edit.edit.author);
            tree = &visible;
        }
        let (parent, digest) = match (tree.winner(), edit.edit.rev()) {
            (None, None) => (None, edit.digest.clone()),
            // The peer takes the client's word for the parent of a document that it never had.
            (None, Some(rev)) if !edit.edit.deleted => {
                return Ok(vec![
                    Rev {
                        generation: rev.generation + 1,
                        digest: edit.digest.clone(),
                    },
                    rev.clone(),
                ]);
            }
            // A deleted document begins anew on its last revision.
            (Some(winner), None) if winner.is_deleted() && !edit.edit.deleted => {
                (Some(winner), edit.digest_after(Some(&winner.rev))?)
            }
            (Some(winner), Some(rev)) if !winner.is_deleted() => {
                let leaf = tree.leaf(rev).ok_or(EditError::Conflict)?;
                (Some(leaf), edit.digest.clone())
            }
            _ => return Err(EditError::Conflict),
        };
        let parent = parent.map(|node| node.rev.clone());
        let generation = parent.as_ref().map_or(0, |rev| rev.generation) + 1;
        let rev = Rev { generation, digest };
        // The same edit of a branch may be there already.
        match self.record.tree.find(&rev) {
            Some(_) => Err(EditError::Conflict),
            None => Ok(std::iter::once(rev).chain(parent).collect()),
        }
    }
}

impl GroupTransaction<'_> {
    /// Appends the body and the attachments of an edit.
    fn store(
        &mut self,
        edit: &Prepared,
        names: Option<&[String]>,
        generation: u64,
        seq: u64,
    ) -> Result<Stored, DocdbError> {
        // A tombstone gets names that its text does not have yet.
        let inherited = names.filter(|names| edit.access.is_none() && !names.is_empty());
        let (external, (body, bases)) = match inherited {
            Some(names) => {
                let text = with_access(&access_text(names), edit.edit.body.text());
                let chunk = self.whole_chunk(edit, &text)?;
                (text.len() as u64, (chunk, 0))
            }
            None => (edit.external, self.text_chunk(edit)?),
        };
        let mut stored = Stored {
            deleted: edit.edit.deleted,
            body,
            attachments: None,
            seq,
            active: u64::from(body.len).saturating_add(bases),
            external,
        };
        if edit.attachments.is_empty() {
            return Ok(stored);
        }
        let mut records = Vec::with_capacity(edit.attachments.len());
        for attachment in &edit.attachments {
            let mut record = attachment.record.clone();
            self.relocate_chunks(&mut record, &attachment.runs)?;
            for piece in &attachment.pieces {
                record.chunks.push(self.txn.append_chunk(piece)?);
            }
            if record.revpos == 0 || edit.mode == Mode::Interactive && attachment.is_new {
                record.revpos = generation;
            }
            stored.active = stored.active.saturating_add(record.active());
            stored.external = stored.external.saturating_add(record.stored_length);
            records.push(record);
        }
        let mut list = Vec::new();
        encode_attachments(&records, &mut list);
        let at = append_plain(&mut self.txn, &list)?;
        stored.active = stored.active.saturating_add(u64::from(at.len));
        stored.attachments = Some(at);
        Ok(stored)
    }

    /// Copies the data of an attachment that is stored already, where a compaction has replaced the
    /// file since.
    fn relocate_chunks(&mut self, record: &mut Attachment, runs: &[Run]) -> Result<(), DocdbError> {
        let mut pieces = record.chunks.iter_mut();
        for run in runs {
            let is_here = !run.is_foreign && self.txn.accepts(run.since.tree());
            for piece in pieces.by_ref().take(run.count).filter(|_| !is_here) {
                *piece = match run.is_foreign {
                    true => self.copied.copy(&mut self.txn, &run.source, *piece)?,
                    false => self
                        .txn
                        .append_chunk(&run.source.tree().stored_chunk(*piece)?)?,
                };
            }
        }
        Ok(())
    }

    /// Appends a text that needs no other chunk.
    fn whole_chunk(&mut self, edit: &Prepared, text: &[u8]) -> Result<ChunkRef, DocdbError> {
        let whole = Compressor::new(edit.method.setting);
        let mut whole = whole.map_err(varve_btree::TreeError::Compress)?;
        let chunk = EncodedChunk::encode(&mut whole, text)?;
        Ok(self.txn.append_chunk(&chunk)?)
    }

    /// Appends an edit's text; also returns the bytes of the chunks that it needs.
    fn text_chunk(&mut self, edit: &Prepared) -> Result<(ChunkRef, u64), DocdbError> {
        match &edit.text {
            Text::Chunk(chunk) => Ok((self.append_text(chunk, &edit.method)?, 0)),
            Text::Delta(delta) if self.txn.accepts(delta.source.tree()) => {
                Ok((self.txn.append_chunk(&delta.chunk)?, delta.bases))
            }
            // A compaction has made its bases go.
            Text::Delta(_) => Ok((self.whole_chunk(edit, &edit.whole_text())?, 0)),
            Text::Inline(text) => Ok((append_plain(&mut self.txn, text)?, 0)),
        }
    }

    /// The key and value that an edit of a local document amounts to, and its outcome.
    pub(super) fn local_edit(
        &mut self,
        edit: &Prepared,
    ) -> Result<(String, Option<Vec<u8>>, Accepted), DocdbError> {
        let id = edit.edit.id.as_str();
        let mut key = id.strip_prefix(LOCAL_PREFIX).unwrap_or(id).to_owned();
        if self.header.has_access {
            // One without is refused before.
            key.insert_str(0, &edit.edit.author.local_prefix().unwrap_or_default());
        }
        let number = match edit.edit.deleted {
            true => 0,
            false => edit.edit.local_rev + 1,
        };
        let accepted = Accepted {
            id: id.to_owned(),
            rev: Rev {
                generation: 0,
                digest: Digest::from_bytes(number.to_string().as_bytes()),
            },
            is_new: true,
        };
        if edit.edit.deleted {
            return Ok((key, None, accepted));
        }
        let body = match &edit.text {
            Text::Inline(text) => LocalBody::Inline(text.clone()),
            _ => LocalBody::Chunk(self.text_chunk(edit)?.0),
        };
        let mut value = Vec::new();
        LocalRecord { rev: number, body }.encode(&mut value);
        Ok((key, Some(value), accepted))
    }
}
