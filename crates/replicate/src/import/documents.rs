//! Reading documents with the contents of their leaves.

use super::merge::Job;
use crate::Finding;
use crate::couch_file::{
    AttachmentInfo, Content, ContentReader, CouchFile, Damage, DocumentInfo, RevisionInfo, TermForm,
};
use std::sync::atomic::{AtomicU64, Ordering};
use varve_docdb::{LoadedAttachment, LoadedContent, LoadedDocument, LoadedRevision};

/// Body of a deletion whose own cannot be read.
const EMPTY: &[u8] = b"{}";

/// Bytes of bodies as they were stored, by form.
#[derive(Debug, Default)]
pub(super) struct StoredBodies([AtomicU64; TermForm::ALL.len()]);

impl StoredBodies {
    fn add(&self, content: &Content) {
        let at = TermForm::ALL.iter().position(|form| *form == content.form);
        if let Some(count) = at.and_then(|at| self.0.get(at)) {
            count.fetch_add(content.stored, Ordering::Relaxed);
        }
    }

    pub(super) fn counts(&self) -> Vec<(TermForm, u64)> {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed));
        TermForm::ALL.into_iter().zip(counts).collect()
    }
}

/// Reads documents, on one thread.
pub(super) struct DocumentReader<'a> {
    files: &'a [CouchFile],
    contents: Vec<ContentReader>,
    stored: &'a StoredBodies,
    report: &'a (dyn Fn(Finding) + Sync),
}

impl<'a> DocumentReader<'a> {
    pub(super) fn new(
        files: &'a [CouchFile],
        stored: &'a StoredBodies,
        report: &'a (dyn Fn(Finding) + Sync),
    ) -> DocumentReader<'a> {
        DocumentReader {
            contents: files.iter().map(CouchFile::contents).collect(),
            files,
            stored,
            report,
        }
    }

    /// A document with the contents of its leaves. A leaf whose content cannot be read is left out, and the newest
    /// revision before it that can be read, and leads to no other leaf, stands in its place. `None` if that leaves none.
    pub(super) fn read(&mut self, job: Job) -> Option<LoadedDocument> {
        let Job {
            file,
            seq,
            document,
        } = job;
        let DocumentInfo { id, revisions, .. } = document;
        let mut children = vec![0_u32; revisions.len()];
        for parent in revisions.iter().filter_map(|revision| revision.parent) {
            children[parent] += 1;
        }
        let mut contents: Vec<Option<LoadedContent>> = Vec::new();
        contents.resize_with(revisions.len(), || None);
        let mut is_kept = vec![true; revisions.len()];
        // Parents stand before their children.
        for index in (0..revisions.len()).rev() {
            if children[index] > 0 {
                continue;
            }
            contents[index] = self.content(file, &id, &revisions[index]);
            if contents[index].is_none() {
                is_kept[index] = false;
                if let Some(parent) = revisions[index].parent {
                    children[parent] -= 1;
                }
            }
        }
        let mut moved = Vec::with_capacity(revisions.len());
        let mut kept = Vec::with_capacity(revisions.len());
        for ((revision, content), is_kept) in revisions.into_iter().zip(contents).zip(is_kept) {
            moved.push(kept.len());
            if is_kept {
                kept.push(LoadedRevision {
                    rev: revision.rev,
                    parent: revision.parent.map(|parent| moved[parent]),
                    content,
                });
            }
        }
        if kept.is_empty() {
            self.left_out(
                file,
                None,
                format!("{id:?} is left out: none of its revisions can be read"),
            );
            return None;
        }
        Some(LoadedDocument {
            id,
            seq,
            revisions: kept,
        })
    }

    fn content(&mut self, file: usize, id: &str, leaf: &RevisionInfo) -> Option<LoadedContent> {
        let rev = &leaf.rev;
        let Some(info) = leaf.content else {
            self.left_out(
                file,
                None,
                format!("{id:?} {rev} is left out: its content is not in the file"),
            );
            return None;
        };
        let content = match self.contents[file].read(info.body) {
            Ok(content) => content,
            Err(Damage { offset, reason }) if info.deleted => {
                let what = format!("the body of the deletion {id:?} {rev} is left out: {reason}");
                self.left_out(file, Some(offset), what);
                return Some(LoadedContent {
                    deleted: true,
                    body: EMPTY.to_vec(),
                    attachments: Vec::new(),
                });
            }
            Err(Damage { offset, reason }) => {
                let what = format!("{id:?} {rev} is left out: {reason}");
                self.left_out(file, Some(offset), what);
                return None;
            }
        };
        self.stored.add(&content);
        let of = &self.files[file];
        let attachments = content.attachments.into_iter();
        Some(LoadedContent {
            deleted: info.deleted,
            body: content.body,
            attachments: attachments
                .map(|attachment| loaded(of, attachment))
                .collect(),
        })
    }

    fn left_out(&self, file: usize, offset: Option<u64>, what: String) {
        let path = self.files[file].path();
        (self.report)(Finding::in_file(path, offset, what));
    }
}

fn loaded(file: &CouchFile, attachment: AttachmentInfo) -> LoadedAttachment {
    LoadedAttachment {
        data: Box::new(file.stream(&attachment)),
        name: attachment.name,
        content_type: attachment.content_type,
        revpos: attachment.revpos,
        is_gzip: attachment.is_gzip,
        md5: attachment.md5,
    }
}
