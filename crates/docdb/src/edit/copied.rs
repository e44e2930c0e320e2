//! Revisions of another database, prepared without reading their texts where both sides compress alike.

use super::prepare::{Prepared, PreparedAttachment, Preparer, Text, Worker, check_length};
use super::{Content, Edit, IncomingAttachment, Mode, deltas};
use crate::bodies::BodyCodec;
use crate::read::MissingLeaf;
use crate::record::Attachment;
use crate::revtree::RevTree;
use crate::{Digest, DocdbError, EditError, Snapshot, Viewer};
use std::collections::HashMap;
use varve_btree::{ChunkForm, EncodedChunk, StoredChunk, TreeError};
use varve_codec::{CodecId, Dictionary, DictionaryCompressor};
use varve_json::{Body, Object};

/// Leaves of a document of which it is looked whether one has the same attachment.
const MOST_KNOWN: usize = 40;

/// Attachments of the target by document.
type KnownAttachments = HashMap<String, Vec<Attachment>>;

/// The comparison of source and target: which bodies can stand in the target as they are.
struct SameForm<'m> {
    /// All bodies of the source are compressed by the target's setting.
    is_same_setting: bool,
    method: &'m BodyCodec,
    source: &'m Snapshot,
}

impl SameForm<'_> {
    fn holds(&self, stored: &StoredChunk<'_>) -> bool {
        let is_long = |len| len > DictionaryCompressor::LONGEST as u64;
        let is_same = |number| {
            let ours = self.method.dictionary.as_ref().map(Dictionary::bytes);
            let theirs = self.source.tree().dictionary(number);
            ours.is_some() && ours == theirs.as_ref().map(Dictionary::bytes)
        };
        self.is_same_setting
            && match (stored.form(), &self.method.dictionary) {
                (ChunkForm::Dictionary, _) => stored.dictionary().is_some_and(is_same),
                // Its base is not in the target.
                (ChunkForm::Delta, _) => false,
                (ChunkForm::Plain(_), None) => true,
                // A shorter one may be from before there was a dictionary.
                (ChunkForm::Plain(_), Some(_)) => stored.content_len().is_some_and(is_long),
            }
    }
}

impl Snapshot {
    /// A missing leaf of this database as an edit of another one, with its text read and its attachments where they
    /// are: for databases that look at each document before they take it.
    ///
    /// # Errors
    /// Damage.
    pub fn edit_of(&self, leaf: &MissingLeaf) -> Result<Result<Edit, EditError>, DocdbError> {
        let mut text = Vec::new();
        self.body(&leaf.stored, &mut text)?;
        let mut edit = match Edit::parse(Some(&leaf.id), &text) {
            Ok(edit) => edit,
            Err(error) => return Ok(Err(error)),
        };
        edit.revs = leaf.path.clone();
        edit.deleted = leaf.stored.deleted;
        let attachments = self.attachments(&leaf.stored)?.into_iter();
        let attachments = attachments.map(|record| IncomingAttachment {
            content: Content::Foreign(record.clone(), self.clone()),
            ..IncomingAttachment::kept(record, self)
        });
        edit.attachments = attachments.collect();
        Ok(Ok(edit))
    }
}

impl Preparer {
    /// Prepares leaves of `source` for a database without access, whose newest commit is `target`.
    pub(crate) fn prepare_copies(
        &self,
        (source, leaves): (&Snapshot, Vec<MissingLeaf>),
        method: &BodyCodec,
        target: &Snapshot,
    ) -> Result<Vec<Prepared>, DocdbError> {
        let with_attachments = leaves.iter().filter(|leaf| leaf.has_attachments());
        let with_attachments: Vec<&str> = with_attachments.map(MissingLeaf::id).collect();
        let known = known_attachments(target, &with_attachments)?;
        let places: Vec<_> = leaves.iter().map(|leaf| leaf.stored.body).collect();
        let mut leaves: Vec<Option<MissingLeaf>> = leaves.into_iter().map(Some).collect();
        let mut prepared: Vec<Option<Prepared>> = Vec::new();
        prepared.resize_with(leaves.len(), || None);
        let mut worker = self.worker(method)?;
        let form = SameForm {
            is_same_setting: source.header().setting == Some(method.setting),
            method,
            source,
        };
        source
            .tree()
            .visit_stored::<DocdbError>(&places, &mut |index, stored| {
                if let Some(leaf) = leaves[index].take() {
                    let made = worker.prepare_copy(leaf, &stored, &form, (target, &known))?;
                    prepared[index] = Some(made);
                }
                Ok(())
            })?;
        self.keep(worker);
        Ok(prepared.into_iter().flatten().collect())
    }
}

impl Worker {
    fn prepare_copy(
        &mut self,
        leaf: MissingLeaf,
        stored: &StoredChunk<'_>,
        form: &SameForm<'_>,
        (target, known): (&Snapshot, &KnownAttachments),
    ) -> Result<Prepared, DocdbError> {
        let attachments = form.source.attachments(&leaf.stored)?;
        let is_coded = |one: &Attachment| one.stored_length != one.length;
        let external = match attachments.iter().any(is_coded) {
            // Earlier versions counted such attachments as they were before gzip.
            true => stored.measure()?,
            false => {
                let data = attachments.iter().map(|one| one.stored_length);
                data.fold(leaf.stored.external, u64::saturating_sub)
            }
        };
        let edit = Edit {
            id: leaf.id,
            revs: leaf.path,
            local_rev: 0,
            deleted: leaf.stored.deleted,
            body: Body::from(&Object::new()),
            attachments: Vec::new(),
            access: None,
            author: Viewer::ALL,
        };
        let limits = self.limits;
        let mut refused = None;
        if attachments.len() as u64 > limits.attachments {
            refused = Some(EditError::TooManyAttachments(edit.id.clone()));
        }
        let too_long = attachments
            .iter()
            .find_map(|one| check_length(one, &limits).err());
        refused = refused.or(too_long);
        if external > limits.document {
            refused = Some(EditError::DocumentTooLarge(edit.id.clone()));
        }
        if edit.id.len() as u64 > limits.id {
            refused = Some(EditError::IdTooLong);
        }
        let text = match (&refused, form.holds(stored)) {
            (None, false) => self.encode_anew(&edit, stored, target)?,
            _ => Text::Chunk(stored.to_chunk()),
        };
        let ours = known.get(&edit.id).map(Vec::as_slice).unwrap_or_default();
        let attachments = attachments.into_iter();
        let attachments =
            attachments.map(|record| prepared_attachment(record, form.source, (target, ours)));
        Ok(Prepared {
            mode: Mode::Replicated,
            digest: Digest::from([0; 16]),
            external,
            text,
            method: self.compressor.method().clone(),
            attachments: attachments.collect(),
            access: None,
            refused,
            edit,
        })
    }

    /// The text as the target stores it.
    fn encode_anew(
        &mut self,
        edit: &Edit,
        stored: &StoredChunk<'_>,
        target: &Snapshot,
    ) -> Result<Text, DocdbError> {
        let mut text = Vec::new();
        stored.expand(&mut text)?;
        let setting = self.compressor.method().setting;
        if setting.codec() == CodecId::Zstd {
            let by = (&mut self.deltas, setting.level());
            if let Some(delta) = deltas::delta(edit, Mode::Replicated, target, by, &text)? {
                return Ok(Text::Delta(Box::new(delta)));
            }
        }
        let chunk: Result<EncodedChunk, TreeError> = self.compressor.encode(&text);
        Ok(Text::Chunk(chunk?))
    }
}

/// An attachment of the source; its data is the target's own where that has the same.
fn prepared_attachment(
    record: Attachment,
    source: &Snapshot,
    (target, known): (&Snapshot, &[Attachment]),
) -> PreparedAttachment {
    let is_same = |one: &&Attachment| {
        (one.md5, one.stored_length, one.length, one.is_gzip)
            == (
                record.md5,
                record.stored_length,
                record.length,
                record.is_gzip,
            )
    };
    match known.iter().find(is_same) {
        Some(ours) => {
            let record = Attachment {
                chunks: ours.chunks.clone(),
                ..record
            };
            PreparedAttachment::kept(record, target.clone())
        }
        None => PreparedAttachment::foreign(record, source.clone()),
    }
}

/// The attachments that the target's leaves of some documents have.
fn known_attachments(target: &Snapshot, ids: &[&str]) -> Result<KnownAttachments, DocdbError> {
    let mut known = KnownAttachments::new();
    for document in target.documents(ids)?.iter().flatten() {
        let tree: &RevTree = document.tree();
        let stored = tree.leaves().filter_map(|leaf| leaf.stored.as_ref());
        let stored = stored.filter(|stored| stored.attachments.is_some());
        for stored in stored.take(MOST_KNOWN) {
            let of_document = known.entry(document.id().to_owned()).or_default();
            of_document.extend(target.attachments(stored)?);
        }
    }
    Ok(known)
}
