//! Documents on their way into a new file: read and compressed on several threads, appended on one.

use super::{LeftOut, Load, LoadedContent, LoadedDocument, LoadedRevision};
use crate::bodies::{BodyCodec, BodyCompressor};
use crate::compact::{Sorter, in_order};
use crate::record::{
    BY_ID, BY_SEQ, Change, DictionaryRecord, DocumentRecord, append_twice, encode_attachments,
};
use crate::revtree::{RevTree, Stored, TreePart};
use crate::salvage::{load_access_rows, sort_access_rows};
use crate::{DocdbError, Rev, training};
use std::collections::VecDeque;
use varve_btree::{EncodedChunk, Loader, TreeError};
use varve_codec::CodecId;

/// A document whose bodies are compressed, in the order of its revisions that have content.
struct Compressed {
    document: LoadedDocument,
    bodies: Vec<EncodedChunk>,
}

/// Documents before they are compressed.
enum Batch<I> {
    /// They are to be read yet.
    Unread(I),
    /// They were read for a dictionary.
    Read(Vec<LoadedDocument>),
}

impl Load<'_> {
    /// Adds all documents, once. `source` names batches of them, which readers, each made on a thread of its own, read
    /// side by side; documents come in ascending order of their sequences.
    ///
    /// # Errors
    /// Errors of the source and the readers, and of the storage.
    pub fn documents<I, E, R>(
        &mut self,
        mut source: impl FnMut() -> Result<Option<I>, E> + Send,
        reader: impl Fn() -> R + Sync,
    ) -> Result<(), E>
    where
        I: Send,
        E: From<DocdbError> + Send,
        R: FnMut(I) -> Result<Vec<LoadedDocument>, E>,
    {
        let mut first = self.samples(&mut source, &mut reader())?;
        let codec = self.codec.clone();
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let mut by_id = self.files.sorter();
        let mut by_seq = Loader::new(BY_SEQ);
        let mut next = || match first.pop_front() {
            Some(read) => Ok(Some(Batch::Read(read))),
            None => Ok(source()?.map(Batch::Unread)),
        };
        let worker = || -> Result<_, E> {
            let mut compressor = BodyCompressor::new(&codec)?;
            let mut read = reader();
            Ok(move |batch| {
                let documents = match batch {
                    Batch::Read(documents) => documents,
                    Batch::Unread(item) => read(item)?,
                };
                let compressed = documents
                    .into_iter()
                    .map(|it| compress(&mut compressor, it));
                Ok(compressed.collect::<Result<Vec<_>, _>>()?)
            })
        };
        in_order(threads, &mut next, worker, |batch: Vec<Compressed>| {
            self.check()?;
            for document in batch {
                self.document(document, &mut by_seq, &mut by_id)?;
            }
            Ok(())
        })?;
        by_seq.finish(&mut self.txn).map_err(DocdbError::from)?;
        Ok(self.load_by_id(by_id)?)
    }

    /// Reads the first documents, and trains a dictionary on them where the codec has any.
    fn samples<I, E: From<DocdbError>>(
        &mut self,
        source: &mut impl FnMut() -> Result<Option<I>, E>,
        read: &mut impl FnMut(I) -> Result<Vec<LoadedDocument>, E>,
    ) -> Result<VecDeque<Vec<LoadedDocument>>, E> {
        let (mut first, mut samples, mut bytes) = (VecDeque::new(), Vec::new(), 0);
        if self.codec.setting.codec() != CodecId::Zstd {
            return Ok(first);
        }
        while bytes < training::SAMPLES_WANTED {
            self.check()?;
            let Some(item) = source()? else { break };
            let documents = read(item)?;
            let revisions = documents.iter().flat_map(|document| &document.revisions);
            for content in revisions.filter_map(|revision| revision.content.as_ref()) {
                // Long ones count as well: they are kept in memory.
                bytes += content.body.len() as u64;
                if !content.deleted && training::is_sample(&content.body) {
                    samples.push(content.body.clone());
                }
            }
            first.push_back(documents);
        }
        self.train(samples)?;
        Ok(first)
    }

    fn train(&mut self, samples: Vec<Vec<u8>>) -> Result<(), DocdbError> {
        let Some(trained) = training::of_samples(samples, &self.codec)? else {
            return Ok(());
        };
        let number = self.header.next_dictionary;
        let dictionary = trained.dictionary.with_number(number);
        let dictionary = dictionary.map_err(TreeError::Compress)?;
        let chunk = training::chunk_of(&dictionary, &self.codec)?;
        let place = append_twice(&mut self.txn, &chunk)?;
        self.header.next_dictionary = number.saturating_add(1);
        let record: DictionaryRecord = trained.record(number, place);
        self.header.dictionaries = vec![record];
        self.codec = BodyCodec {
            dictionary: Some(dictionary),
            ..self.codec.clone()
        };
        Ok(())
    }

    /// Appends a document's content and its change, and hands its record to be sorted by id.
    fn document(
        &mut self,
        Compressed { document, bodies }: Compressed,
        by_seq: &mut Loader,
        by_id: &mut Sorter<'_>,
    ) -> Result<(), DocdbError> {
        let LoadedDocument { id, seq, revisions } = document;
        let mut bodies = bodies.into_iter();
        let mut parts = Vec::with_capacity(revisions.len());
        for LoadedRevision {
            rev,
            parent,
            content,
        } in revisions
        {
            // There is a body for each content.
            let stored = match content.and_then(|content| Some((content, bodies.next()?))) {
                Some((content, body)) => Some(self.content((&id, &rev), seq, content, &body)?),
                None => None,
            };
            parts.push(TreePart {
                rev,
                parent,
                stored,
            });
        }
        let tree = RevTree::assemble(parts);
        let tree = tree.filter(|tree| tree.leaves().all(|leaf| leaf.stored.is_some()));
        let change = tree.as_ref().and_then(|tree| Change::of(&id, seq, tree));
        let (Some(tree), Some(change)) = (tree, change) else {
            self.leave_out(LeftOut {
                id,
                rev: None,
                attachment: None,
                reason: "its revisions are no tree".to_owned(),
            });
            return Ok(());
        };
        self.report.documents += 1;
        self.report.deleted += u64::from(tree.is_deleted());
        self.report.revisions += tree.len() as u64;
        self.report.leaves += tree.leaves().count() as u64;
        self.header.update_seq = self.header.update_seq.max(seq);
        let mut value = Vec::new();
        change.encode(&mut value);
        by_seq.push(&mut self.txn, &seq.to_be_bytes(), &value)?;
        let value = DocumentRecord::new(seq, tree).write(&mut self.txn)?;
        by_id.push(id.as_bytes(), &value)
    }

    fn content(
        &mut self,
        (id, rev): (&str, &Rev),
        seq: u64,
        content: LoadedContent,
        body: &EncodedChunk,
    ) -> Result<Stored, DocdbError> {
        let at = self.txn.append_chunk(body)?;
        let mut stored = Stored {
            deleted: content.deleted,
            body: at,
            attachments: None,
            seq,
            active: u64::from(at.len),
            external: content.body.len() as u64,
        };
        self.report.body_bytes += stored.external;
        let mut kept = Vec::with_capacity(content.attachments.len());
        for attachment in content.attachments {
            if let Some(record) = self.attachment((id, rev), attachment)? {
                stored.active = stored.active.saturating_add(record.active());
                stored.external = stored.external.saturating_add(record.stored_length);
                self.report.attachments += 1;
                self.report.attachment_bytes += record.stored_length;
                kept.push(record);
            }
        }
        if !kept.is_empty() {
            let mut list = Vec::new();
            encode_attachments(&kept, &mut list);
            let chunk = EncodedChunk::encode(&mut self.plain, &list)?;
            let at = self.txn.append_chunk(&chunk)?;
            stored.active = stored.active.saturating_add(u64::from(at.len));
            stored.attachments = Some(at);
        }
        Ok(stored)
    }

    /// Builds the tree by id. Of an id that comes twice, the first in the order of values stays.
    fn load_by_id(&mut self, by_id: Sorter<'_>) -> Result<(), DocdbError> {
        let mut sorted = by_id.finish()?;
        let (mut tree, mut last) = (Loader::new(BY_ID), None);
        let mut repeated: Vec<([u8; 8], Option<Vec<u8>>)> = Vec::new();
        let mut access = self.header.has_access.then(|| self.files.access_sorter());
        let mut text = Vec::new();
        while let Some(id) = sorted.peek().map(<[u8]>::to_vec) {
            self.check()?;
            let value = sorted.take()?.unwrap_or_default();
            if last.as_ref() == Some(&id) {
                repeated.push((self.repeated(&id, &value)?, None));
                continue;
            }
            tree.push(&mut self.txn, &id, &value)?;
            if let Some(sorter) = &mut access {
                let (name, record) = self.decode(&id, &value)?;
                let buffers = (sorter, &mut text);
                sort_access_rows((&name, &record.tree), &self.txn, buffers)?;
            }
            last = Some(id);
        }
        tree.finish(&mut self.txn)?;
        if let Some(sorter) = access {
            let stop = self.stop;
            load_access_rows(&mut self.txn, sorter, || match stop.is_raised() {
                true => Err(DocdbError::Interrupted),
                false => Ok(()),
            })?;
        }
        repeated.sort_unstable();
        Ok(self.txn.update(BY_SEQ, &repeated)?)
    }

    /// Id and record of a document that was added before.
    fn decode(&self, id: &[u8], value: &[u8]) -> Result<(String, DocumentRecord), DocdbError> {
        let record = DocumentRecord::decode(value, |at, out| self.txn.read_chunk(at, out))?;
        let name = String::from_utf8_lossy(id).into_owned();
        match record {
            Ok(record) => Ok((name, record)),
            Err(_) => Err(txn_damaged(&self.files.copy, &name)),
        }
    }

    /// Reports a document that came a second time; returns the key of its change.
    fn repeated(&mut self, id: &[u8], value: &[u8]) -> Result<[u8; 8], DocdbError> {
        let (name, record) = self.decode(id, value)?;
        self.report.documents -= 1;
        self.report.deleted -= u64::from(record.tree.is_deleted());
        self.report.revisions -= record.tree.len() as u64;
        self.report.leaves -= record.tree.leaves().count() as u64;
        self.leave_out(LeftOut {
            id: name,
            rev: record.tree.winner().map(|winner| winner.rev.clone()),
            attachment: None,
            reason: "another document has the same id".to_owned(),
        });
        Ok(record.seq.to_be_bytes())
    }
}

fn txn_damaged(path: &std::path::Path, id: &str) -> DocdbError {
    DocdbError::Damaged {
        path: path.to_owned(),
        what: "document",
        key: id.to_owned(),
    }
}

fn compress(
    compressor: &mut BodyCompressor,
    document: LoadedDocument,
) -> Result<Compressed, DocdbError> {
    let revisions = document.revisions.iter();
    let contents = revisions.filter_map(|revision| revision.content.as_ref());
    let bodies = contents.map(|content| compressor.encode(&content.body));
    Ok(Compressed {
        bodies: bodies.collect::<Result<_, _>>()?,
        document,
    })
}
