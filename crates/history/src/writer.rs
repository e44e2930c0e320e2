//! Edits that lead from the stored documents to the wanted ones.

use crate::HistoryError;
use std::collections::HashMap;
use std::ops::Bound;
use varve_docdb::{Database, Direction, Edit, EditError, IdRange, Mode, Rev, Snapshot};
use varve_json::Object;
use varve_json::term::revision_digest;

/// Collects edits for one commit. A document that is stored as it is wanted is left alone.
pub(crate) struct CommitWriter<'d> {
    database: &'d Database,
    /// The stored documents; only this writer changes generated ones.
    pub(crate) snapshot: Snapshot,
    edits: Vec<Edit>,
    /// The newest revisions of documents that got several.
    tips: HashMap<String, Tip>,
    /// The local document that is written with them.
    checkpoint: Option<Edit>,
}

/// The winner of a document.
#[derive(Clone)]
struct Tip {
    rev: Rev,
    is_deleted: bool,
}

impl<'d> CommitWriter<'d> {
    pub(crate) fn new(database: &'d Database) -> Self {
        CommitWriter {
            database,
            snapshot: database.snapshot(),
            edits: Vec::new(),
            tips: HashMap::new(),
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

    /// Adds the next revision of a document, or its deletion. Several of one document become a chain within the commit: each
    /// names the revision that the database is going to give the one before. A document that is stored as it is wanted, or
    /// that is not there and not wanted, is left alone.
    ///
    /// # Errors
    /// Damage of the database; [`HistoryError::Document`].
    pub(crate) fn append(
        &mut self,
        id: &str,
        document: Option<&Object>,
    ) -> Result<(), HistoryError> {
        let tip = match self.tips.get(id).cloned() {
            Some(tip) => Some(tip),
            None => match self.stored_tip(id, document)? {
                Some(tip) => tip,
                None => return Ok(()),
            },
        };
        let live = tip.as_ref().filter(|tip| !tip.is_deleted);
        let edit = match (document, live) {
            (Some(document), live) => edit(id, document.clone(), live.map(|tip| &tip.rev)),
            (None, Some(tip)) => Edit::deletion(id, &tip.rev.to_string()),
            (None, None) => return Ok(()),
        };
        let edit = edit.map_err(refused(id))?;
        let parent = tip.map(|tip| tip.rev);
        let parent = parent.as_ref();
        let term = edit.body().term();
        let term = term.map_err(|error| refused(id)(EditError::Json(error)))?;
        let named = parent.map(|rev| (rev.generation, rev.digest.as_bytes()));
        let digest = revision_digest(document.is_none(), named, &term, &[]);
        let rev = Rev {
            generation: parent.map_or(0, |rev| rev.generation) + 1,
            digest: digest.into(),
        };
        let is_deleted = document.is_none();
        self.tips.insert(id.to_owned(), Tip { rev, is_deleted });
        self.edits.push(edit);
        Ok(())
    }

    /// The stored winner, if there is one; `None` if it is what is wanted.
    fn stored_tip(
        &self,
        id: &str,
        wanted: Option<&Object>,
    ) -> Result<Option<Option<Tip>>, HistoryError> {
        let stored = self.snapshot.document(id)?;
        let Some((rev, body)) = stored.as_ref().and_then(|stored| stored.winner()) else {
            return Ok(Some(None));
        };
        let tip = Tip {
            rev: rev.clone(),
            is_deleted: body.deleted,
        };
        if let Some(wanted) = wanted.filter(|_| !tip.is_deleted) {
            let (mut wanted_text, mut stored_text) = (Vec::new(), Vec::new());
            varve_json::write_object(wanted, &mut wanted_text);
            self.snapshot.body(body, &mut stored_text)?;
            if wanted_text == stored_text {
                return Ok(None);
            }
        }
        Ok(Some(Some(tip)))
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
        for row in rows_below(&snapshot, prefix)? {
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

    /// Returns whether the edit of the checkpoint is set.
    pub(crate) fn has_checkpoint(&self) -> bool {
        self.checkpoint.is_some()
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

/// The documents whose ids begin with a prefix that ends in an ASCII character.
pub(crate) fn rows_below(
    snapshot: &Snapshot,
    prefix: &str,
) -> Result<varve_docdb::AllDocs, HistoryError> {
    // The least text above all of them has the next character in the place of the last one.
    let mut end = prefix.to_owned();
    if let Some(last) = end.pop() {
        end.push(char::from_u32(u32::from(last) + 1).unwrap_or(last));
    }
    let ids = IdRange {
        low: Bound::Included(prefix),
        high: Bound::Excluded(&end),
    };
    Ok(snapshot.all_docs(ids, Direction::Forward)?)
}
