//! Asking a filter of changes about a document's leaves.

use super::map::{Engine, Mapper, compile};
use crate::ViewError;
use crate::change_row::{push_leaves, push_sort_key};
use varve_base::Interrupted;
use varve_docdb::{Change, DocdbError, DocumentText, Rev, Stored, write_attachment_stubs};
use varve_js::{Emission, JsError};

/// A leaf of which it is not known whether it passes: its text cannot be read, or the function passed a limit.
struct Unknown;

impl Mapper<'_> {
    /// Makes the row of a change, if a leaf of its document passes the filter.
    pub(super) fn judge(&mut self, change: &Change) -> Result<(), ViewError> {
        self.clear();
        let Some(leaves) = self.passing_leaves(change)? else {
            return Ok(());
        };
        let seq = change.seq;
        self.push_row(
            |out| push_sort_key(seq, out),
            |out| push_leaves(&leaves, out),
        );
        Ok(())
    }

    /// Positions of the leaves that pass, none of them if that is not known of one; `None` if no leaf passes.
    fn passing_leaves(&mut self, change: &Change) -> Result<Option<Vec<usize>>, ViewError> {
        let mut passing = Vec::new();
        let Ok(leaves) = self.leaves_of(change) else {
            return Ok(Some(Vec::new()));
        };
        for (position, (rev, stored)) in leaves.into_iter().enumerate() {
            match self.passes(change, &rev, &stored)? {
                Ok(true) => passing.push(position),
                Ok(false) => {}
                Err(Unknown) => return Ok(Some(Vec::new())),
            }
        }
        Ok((!passing.is_empty()).then_some(passing))
    }

    /// The winner, then the others.
    fn leaves_of(&self, change: &Change) -> Result<Vec<(Rev, Stored)>, Unknown> {
        let mut leaves = vec![(change.rev.clone(), change.stored.clone())];
        if change.others.is_empty() {
            return Ok(leaves);
        }
        let document = self.documents.document(&change.id);
        let document = document.ok().flatten().ok_or(Unknown)?;
        for leaf in &change.others {
            let (rev, stored) = document.revision(&leaf.rev).ok_or(Unknown)?;
            leaves.push((rev.clone(), stored.clone()));
        }
        Ok(leaves)
    }

    fn passes(
        &mut self,
        change: &Change,
        rev: &Rev,
        stored: &Stored,
    ) -> Result<Result<bool, Unknown>, ViewError> {
        if self.read_leaf(&change.id, rev, stored).is_err() {
            return Ok(Err(Unknown));
        }
        let engine = match &mut self.engine {
            Engine::Script(engine) => engine,
            Engine::Selector(selector) => {
                let document = varve_json::parse(&self.json);
                let passes = document.map(|document| selector.matches(&document));
                return Ok(passes.map_err(|_| Unknown));
            }
            Engine::Fields(..) => return Ok(Err(Unknown)),
        };
        let limit = match engine.map(&self.json) {
            Ok(mut emissions) => {
                let emits = emissions.any(|emission| matches!(emission, Emission::Row { .. }));
                return Ok(Ok(emits));
            }
            Err(limit) => limit,
        };
        if limit == JsError::Interrupted {
            return Err(ViewError::Interrupted(Interrupted));
        }
        // State that the document has left in the old engine may fail the next document.
        **engine = compile(self.group, self.context, self.ended)?;
        Ok(Err(Unknown))
    }

    /// Writes a leaf's JSON text, with attachment stubs, as a filter of `_changes` sees it.
    fn read_leaf(&mut self, id: &str, rev: &Rev, stored: &Stored) -> Result<(), DocdbError> {
        self.json.clear();
        self.body.clear();
        self.documents.body(stored, &mut self.body)?;
        let mut text = DocumentText::begin(id, rev, stored.deleted, &self.body, &mut self.json);
        let attachments = self.documents.attachments(stored)?;
        if !attachments.is_empty() {
            text.member("_attachments", |out| {
                write_attachment_stubs(&attachments, false, out);
            });
        }
        text.end();
        Ok(())
    }
}
