//! The revisions of a batch, read from the server.

use super::super::batch::{BulkGetEntry, GROUP, bulk_get_entry};
use super::super::database::{ChangeRow, MissingRevisions, is_addressable};
use super::copy::DatabaseCopy;
use super::incoming::{self, IncomingError};
use super::{Event, blocking, store};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use varve_docdb::{Edit, EditError, EditOutcome};
use varve_json::Value;
use varve_replicate::ReplicateError;
use varve_replicate::replicator::backoff;

/// Bytes of documents, about, that one commit takes.
const WRITTEN: usize = 4 << 20;
/// How often a revision is read again whose attachments do not fit their digests.
const COPIES: u32 = 3;

/// Revisions of the directory by document, any of which may have the same attachments.
type KnownRevisions<'a> = HashMap<&'a str, &'a [String]>;

impl DatabaseCopy {
    /// Brings the documents of some changes into the directory.
    pub(super) async fn batch(
        self: Arc<Self>,
        mut rows: Vec<ChangeRow>,
    ) -> Result<(), ReplicateError> {
        let count = rows.len() as u64;
        for row in rows.extract_if(.., |row| !is_addressable(&row.id)) {
            self.left_out(&row.id, "", "no document has such an id")
                .await;
        }
        let copy = Arc::clone(&self);
        let missing = blocking(move || store::missing(&copy.database, &rows)).await?;
        let wanted: Vec<(&str, &str)> = missing.iter().flat_map(MissingRevisions::pairs).collect();
        let known = missing.iter();
        let known = known.map(|it| (it.id.as_str(), it.possible_ancestors.as_slice()));
        let known: KnownRevisions<'_> = known.collect();
        for group in wanted.chunks(GROUP) {
            self.fetch_group(group, &known).await?;
        }
        self.notices.send(Event::Advanced(count)).await;
        Ok(())
    }

    async fn fetch_group(
        &self,
        group: &[(&str, &str)],
        known: &KnownRevisions<'_>,
    ) -> Result<(), ReplicateError> {
        let found = match self.has_bulk_get.load(Ordering::Relaxed) {
            true => self.peer.bulk_get(group).await?,
            false => None,
        };
        let Some(found) = found else {
            // One revision that is too long for all to come together is no reason to do without from now on.
            self.has_bulk_get
                .fetch_and(group.len() > 1, Ordering::Relaxed);
            for (id, rev) in group {
                self.fetch_one(id, rev, known).await?;
            }
            return Ok(());
        };
        let (mut edits, mut bytes) = (Vec::new(), 0);
        for one in &found {
            match bulk_get_entry(one) {
                BulkGetEntry::Plain(document) => match edit_of(document) {
                    Ok(edit) => {
                        bytes += edit.body().text().len();
                        edits.push(edit);
                    }
                    Err((id, reason)) => self.left_out(&id, "", &reason).await,
                },
                BulkGetEntry::Alone(id, rev) => self.fetch_one(id, rev, known).await?,
                // The comparison tells whether it is missing.
                BulkGetEntry::Nothing => {}
            }
            if bytes >= WRITTEN {
                self.write(std::mem::take(&mut edits)).await?;
                bytes = 0;
            }
        }
        self.write(edits).await
    }

    /// Reads one revision as a stream, whatever its length, with its attachments.
    async fn fetch_one(
        &self,
        id: &str,
        rev: &str,
        known: &KnownRevisions<'_>,
    ) -> Result<(), ReplicateError> {
        if !is_addressable(id) {
            self.left_out(id, rev, "no document has such an id").await;
            return Ok(());
        }
        let mut known = known.get(id).copied().unwrap_or_default();
        let mut attempt = 0;
        loop {
            let Some(answer) = self.peer.revision(id, rev, known).await? else {
                return Ok(());
            };
            match incoming::read(answer, id, &self.database).await {
                Ok(edit) => match self.write_one(edit).await? {
                    // The directory does not have what was left out.
                    Err(EditError::MissingStub { .. }) if !known.is_empty() => {
                        known = &[];
                        continue;
                    }
                    Err(refused) => {
                        self.left_out(id, rev, &refused.to_string()).await;
                        return Ok(());
                    }
                    Ok(_) => return Ok(()),
                },
                Err(IncomingError::Cut(error)) if attempt >= self.retries => {
                    return Err(error.into());
                }
                Err(IncomingError::Bad(reason)) if attempt >= self.retries.min(COPIES) => {
                    self.left_out(id, rev, &reason).await;
                    return Ok(());
                }
                Err(_) => {}
            }
            tokio::time::sleep(backoff::before_retry(attempt, None)).await;
            attempt += 1;
        }
    }

    async fn write_one(&self, edit: Edit) -> Result<EditOutcome, ReplicateError> {
        let database = self.database.clone();
        let outcomes = blocking(move || store::write(&database, vec![edit])).await?;
        let outcome = outcomes.into_iter().next();
        outcome.ok_or_else(|| ReplicateError::Server("an edit has no outcome".to_owned()))
    }

    async fn write(&self, edits: Vec<Edit>) -> Result<(), ReplicateError> {
        if edits.is_empty() {
            return Ok(());
        }
        let database = self.database.clone();
        let named = edits.iter();
        let named: Vec<(String, String)> = named
            .map(|edit| {
                let rev = edit.rev().map(ToString::to_string);
                (edit.id().to_owned(), rev.unwrap_or_default())
            })
            .collect();
        let outcomes = blocking(move || store::write(&database, edits)).await?;
        for ((id, rev), outcome) in named.iter().zip(outcomes) {
            if let Err(refused) = outcome {
                self.left_out(id, rev, &refused.to_string()).await;
            }
        }
        Ok(())
    }

    async fn left_out(&self, id: &str, rev: &str, reason: &str) {
        let space = if rev.is_empty() { "" } else { " " };
        self.count_left_out();
        let what = format!("{}: {id:?}{space}{rev} is left out: {reason}", self.name);
        self.notices.found(what).await;
    }
}

/// A document that came with others, or its id and why it is none.
fn edit_of(document: &Value) -> Result<Edit, (String, String)> {
    let id = document.get("_id").and_then(Value::as_str);
    let refused = |reason: String| (id.unwrap_or_default().to_owned(), reason);
    let (Some(_), Value::Object(object)) = (incoming::name_of(document), document) else {
        return Err(refused("no document has such an id or revision".to_owned()));
    };
    Edit::new(None, object.clone()).map_err(|error| refused(error.to_string()))
}
