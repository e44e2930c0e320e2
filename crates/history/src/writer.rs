//! Edits that lead from the stored documents to the wanted ones.

use crate::HistoryError;
use std::ops::Bound;
use varve_docdb::{Database, Direction, Edit, EditError, IdRange, Mode, Rev, Snapshot};
use varve_json::Object;

/// Collects edits for one commit. A document that is stored as it is wanted is left alone.
pub(crate) struct CommitWriter<'d> {
    database: &'d Database,
    /// The stored documents; only this writer changes generated ones.
    pub(crate) snapshot: Snapshot,
    edits: Vec<Edit>,
    /// The local document that is written with them.
    checkpoint: Option<Edit>,
}

impl<'d> CommitWriter<'d> {
    pub(crate) fn new(database: &'d Database) -> Self {
        CommitWriter {
            database,
            snapshot: database.snapshot(),
            edits: Vec::new(),
            checkpoint: None,
        }
    }

    /// Number of documents that differ so far.
    pub(crate) fn len(&self) -> usize {
        self.edits.len()
    }

    /// Adds documents with their ids.
    ///
    /// # Errors
    /// Damage of the database; [`HistoryError::Document`].
    pub(crate) fn put(&mut self, documents: Vec<(String, Object)>) -> Result<(), HistoryError> {
        let ids: Vec<&str> = documents.iter().map(|(id, _)| id.as_str()).collect();
        let stored = self.snapshot.documents(&ids)?;
        let (mut wanted_text, mut stored_text) = (Vec::new(), Vec::new());
        for ((id, document), stored) in documents.into_iter().zip(stored) {
            let winner = stored.as_ref().filter(|stored| !stored.is_deleted());
            let winner = winner.and_then(|stored| stored.winner());
            if let Some((_, winner)) = winner {
                wanted_text.clear();
                stored_text.clear();
                varve_json::write_object(&document, &mut wanted_text);
                self.snapshot.body(winner, &mut stored_text)?;
                if wanted_text == stored_text {
                    continue;
                }
            }
            let edit = edit(&id, document, winner.map(|(rev, _)| rev));
            self.edits.push(edit.map_err(refused(&id))?);
        }
        Ok(())
    }

    /// Adds the deletion of a document whose winner is `rev`.
    ///
    /// # Errors
    /// [`HistoryError::Document`].
    pub(crate) fn delete(&mut self, id: &str, rev: &Rev) -> Result<(), HistoryError> {
        let deletion = Edit::deletion(id, &rev.to_string());
        self.edits.push(deletion.map_err(refused(id))?);
        Ok(())
    }

    /// Deletes the documents of a prefix whose ids are not wanted.
    ///
    /// # Errors
    /// Damage of the database.
    pub(crate) fn delete_others(
        &mut self,
        prefix: &str,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<(), HistoryError> {
        let snapshot = self.snapshot.clone();
        for row in snapshot.all_docs(below(prefix, &end_of(prefix)), Direction::Forward)? {
            let row = row?;
            if !is_wanted(row.id()) {
                self.delete(row.id(), &row.rev)?;
            }
        }
        Ok(())
    }

    /// Sets the edit of the checkpoint.
    pub(crate) fn set_checkpoint(&mut self, edit: Edit) {
        self.checkpoint = Some(edit);
    }

    /// Commits all edits at once.
    ///
    /// # Errors
    /// A failure of the storage: nothing is written. [`HistoryError::Document`] if a document was refused: the others
    /// are written.
    pub(crate) fn commit(self) -> Result<(), HistoryError> {
        let mut edits = self.edits;
        edits.extend(self.checkpoint);
        let ids: Vec<String> = edits.iter().map(|edit| edit.id().to_owned()).collect();
        let outcomes = self.database.update(edits, Mode::Interactive)?;
        for (id, outcome) in ids.iter().zip(outcomes) {
            outcome.map_err(refused(id))?;
        }
        Ok(())
    }
}

fn edit(id: &str, document: Object, rev: Option<&Rev>) -> Result<Edit, EditError> {
    let mut edit = Edit::new(Some(id), document)?;
    if let Some(rev) = rev {
        edit.set_rev(&rev.to_string())?;
    }
    Ok(edit)
}

fn refused(id: &str) -> impl FnOnce(EditError) -> HistoryError {
    let id = id.to_owned();
    move |source| HistoryError::Document { id, source }
}

/// The ids that begin with a prefix, up to `end`.
fn below<'a>(prefix: &'a str, end: &'a str) -> IdRange<'a> {
    IdRange {
        low: Bound::Included(prefix),
        high: Bound::Excluded(end),
    }
}

/// The least text above all that begin with a prefix, which ends in `/`.
fn end_of(prefix: &str) -> String {
    format!("{}0", prefix.trim_end_matches('/'))
}
