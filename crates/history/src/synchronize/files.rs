//! Documents of the files of the default head, as a part of bringing a database in step.

use super::{BATCH, Fill};
use crate::HistoryError;
use crate::current_files::{self, Entries, FileReader};
use crate::ids::FILE;
use crate::labels::default_head;
use crate::writer::CommitWriter;
use std::collections::HashSet;
use varve_base::Unit;
use varve_json::Object;
use varve_repo::{Ancestors, Node, Rev};

/// Changes to the documents of files that are left for the last commit.
#[derive(Default)]
pub(super) struct FileDocuments {
    documents: Vec<(String, Object)>,
    /// Ids that stay; `None` if none has to go by comparison.
    wanted: Option<HashSet<String>>,
    /// Files that are gone.
    gone: Vec<String>,
    /// The changeset whose files they are.
    pub(super) head: Option<Node>,
}

impl FileDocuments {
    /// Adds them to the last commit.
    ///
    /// # Errors
    /// Damage of the database.
    pub(super) fn put(&self, writer: &mut CommitWriter<'_>) -> Result<(), HistoryError> {
        writer.put(self.documents.clone())?;
        if let Some(wanted) = &self.wanted {
            writer.delete_others(FILE, |id| wanted.contains(id))?;
        }
        let stored = writer.snapshot.documents(&self.gone)?;
        for document in stored.into_iter().flatten().filter(|it| !it.is_deleted()) {
            if let Some((rev, _)) = document.winner() {
                writer.delete(document.id(), rev)?;
            }
        }
        Ok(())
    }
}

impl Fill<'_> {
    /// Makes the documents of files that have changed. Many of them are committed at once in batches.
    pub(super) fn fill_files(&mut self) -> Result<FileDocuments, HistoryError> {
        let head = match self.settings.lists_files {
            true => default_head(self.shown)?,
            false => None,
        };
        let Some(head) = head else {
            let may_have_some =
                self.checkpoint.files_of.is_some() || self.may_be_of_other_settings();
            return Ok(FileDocuments {
                wanted: may_have_some.then(HashSet::new),
                ..FileDocuments::default()
            });
        };
        let mut files = FileDocuments {
            head: Some(self.view.changelog().node(head)),
            ..FileDocuments::default()
        };
        let entries = current_files::entries_of(self.view, head)?;
        let before = self.entries_before(head)?;
        match &before {
            Some(before) => {
                let gone = before.keys().filter(|path| !entries.contains_key(*path));
                files.gone = gone.map(|path| current_files::id(path)).collect();
            }
            None => {
                files.wanted = Some(entries.keys().map(|path| current_files::id(path)).collect());
            }
        }
        let before = before.unwrap_or_default();
        let mut reader = FileReader::new(self.view, head);
        self.progress
            .begin("files", Unit::Items, Some(entries.len() as u64));
        for (path, entry) in &entries {
            self.progress.advance(1);
            if before.get(path) == Some(entry) {
                continue;
            }
            let document = reader.document(path, entry, self.stop)?;
            files.documents.push((current_files::id(path), document));
            if files.documents.len() == BATCH {
                let mut writer = CommitWriter::new(self.database);
                writer.put(std::mem::take(&mut files.documents))?;
                if writer.len() > 0 {
                    self.commit(writer)?;
                }
            }
        }
        Ok(files)
    }

    /// Entries of the changeset whose files are documents, if the new head follows it: the others may be told by
    /// another changeset now.
    fn entries_before(&self, head: Rev) -> Result<Option<Entries>, HistoryError> {
        let known = self.checkpoint.files_of.as_ref();
        let known = known.filter(|_| self.checkpoint.is_complete);
        let node = known.and_then(|node| Node::from_hex(node.as_bytes()));
        let changelog = self.view.changelog();
        let Some(before) = node.and_then(|node| changelog.rev(&node)) else {
            return Ok(None);
        };
        let same_settings = self.checkpoint.settings == self.settings.fingerprint();
        match same_settings && Ancestors::new(changelog, &[head]).contains(before) {
            true => current_files::entries_of(self.view, before).map(Some),
            false => Ok(None),
        }
    }
}
