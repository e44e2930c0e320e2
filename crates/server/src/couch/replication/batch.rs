//! One batch of changes: what the target lacks is read from the source and written.

use super::database::{
    BulkGetAnswer, ChangeRow, ChangesPage, ChangesQuery, MissingRevisions, PageRows, is_addressable,
};
use super::error::ReplicationError;
use super::local::LocalCopy;
use super::peer::{Peer, StreamAttempts};
use crate::runtime::log::Log;
use hyper::StatusCode;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use varve_json::Value;
use varve_replicate::replicator::checkpoint::Counts;

/// Revisions that the first `_bulk_get` asks for,
pub(super) const FIRST_GROUP: usize = 100;
/// and the most of later ones, which ask for as many as are about as long together as one write.
const LARGEST_GROUP: usize = 500;
/// Bytes of documents that one `_bulk_docs` writes, but for one document that is longer.
const WRITTEN: usize = 1 << 20;

/// Both sides of a replication.
#[derive(Debug)]
pub(super) struct Sides {
    pub source: Peer,
    pub target: Peer,
    /// Whether the source knows `_bulk_get`, as far as is known.
    has_bulk_get: AtomicBool,
    /// Revisions that the next `_bulk_get` asks for.
    group: AtomicUsize,
    /// Both are databases of this server.
    local: Option<LocalCopy>,
    /// Log of documents that the target refuses.
    log: Log,
}

/// Revisions of the target by document, any of which may have the same attachments.
type KnownRevisions<'a> = HashMap<&'a str, &'a [String]>;

/// Documents that wait to be written together, as JSON with commas between them.
#[derive(Default)]
struct Waiting {
    text: Vec<u8>,
    /// End of each document in the text.
    ends: Vec<usize>,
}

impl Waiting {
    fn add(&mut self, document: &Value) {
        if !self.text.is_empty() {
            self.text.push(b',');
        }
        varve_json::write(document, &mut self.text);
        self.ends.push(self.text.len());
    }

    /// The text of the documents from one index up to another.
    fn part(&self, from: usize, to: usize) -> &[u8] {
        let start = match from.checked_sub(1).and_then(|before| self.ends.get(before)) {
            // A comma stands between them.
            Some(end) => end + 1,
            None => 0,
        };
        let end = to.checked_sub(1).and_then(|last| self.ends.get(last));
        self.text
            .get(start..end.copied().unwrap_or(0))
            .unwrap_or_default()
    }
}

impl Sides {
    pub fn new(
        (source, target): (Peer, Peer),
        local: Option<LocalCopy>,
        uses_bulk_get: bool,
        log: &Log,
    ) -> Arc<Sides> {
        Arc::new(Sides {
            local,
            source,
            target,
            has_bulk_get: AtomicBool::new(uses_bulk_get),
            group: AtomicUsize::new(FIRST_GROUP),
            log: log.clone(),
        })
    }

    /// Whether both are databases of this server.
    pub fn is_local(&self) -> bool {
        self.local.is_some()
    }

    /// Whether the source knows `_bulk_get`, as far as is known.
    pub fn has_bulk_get(&self) -> bool {
        self.has_bulk_get.load(Ordering::Relaxed)
    }

    /// The next changes of the source.
    ///
    /// # Errors
    /// Failures of requests.
    pub async fn changes(&self, query: &ChangesQuery<'_>) -> Result<ChangesPage, ReplicationError> {
        let read = match &self.local {
            Some(local) => local.changes(&self.source, query).await,
            None => return self.source.changes(query).await,
        };
        match read {
            Err(ReplicationError::Moved(_)) => self.source.changes(query).await,
            read => read,
        }
    }

    /// Brings the documents of some changes to the target.
    ///
    /// # Errors
    /// Failures of requests; a document that the target refuses is counted instead.
    pub async fn replicate(&self, rows: PageRows) -> Result<Counts, ReplicationError> {
        match (rows, &self.local) {
            (PageRows::Remote(rows), _) => self.replicate_remote(&rows).await,
            (PageRows::Local(snapshot, rows), Some(local)) => {
                let (rows, mut counts) = (Arc::new(rows), Counts::default());
                match local.replicate(self, (snapshot, &rows), &mut counts).await {
                    // The next server writes what is still missing.
                    Err(ReplicationError::Moved(_)) => {
                        let rows: Vec<_> = rows.iter().map(ChangeRow::from).collect();
                        counts.add(&self.replicate_remote(&rows).await?);
                        Ok(counts)
                    }
                    replicated => replicated.map(|()| counts),
                }
            }
            (PageRows::Local(..), None) => Ok(Counts::default()),
        }
    }

    async fn replicate_remote(&self, rows: &[ChangeRow]) -> Result<Counts, ReplicationError> {
        let mut counts = Counts {
            revisions_checked: rows.iter().map(|row| row.revs.len() as u64).sum(),
            ..Counts::default()
        };
        let (rows, others): (Vec<ChangeRow>, Vec<ChangeRow>) = rows
            .iter()
            .cloned()
            .partition(|row| is_addressable(&row.id));
        for row in &others {
            self.refuse_id(&row.id, &mut counts);
        }
        let missing = self.target.revs_diff(&rows).await?;
        counts.missing_found = missing.iter().map(|one| one.revs.len() as u64).sum();
        let wanted: Vec<(&str, &str)> = missing.iter().flat_map(MissingRevisions::pairs).collect();
        let known = missing
            .iter()
            .map(|one| (one.id.as_str(), one.possible_ancestors.as_slice()));
        let known = known.collect();
        let mut rest = &wanted[..];
        while !rest.is_empty() {
            let count = self.group.load(Ordering::Relaxed).min(rest.len());
            let (group, behind) = rest.split_at(count);
            self.copy_group(group, &known, &mut counts).await?;
            rest = behind;
        }
        Ok(counts)
    }

    async fn copy_group(
        &self,
        group: &[(&str, &str)],
        known: &KnownRevisions<'_>,
        counts: &mut Counts,
    ) -> Result<(), ReplicationError> {
        let mut parts = vec![group];
        while let Some(part) = parts.pop() {
            let answer = match self.has_bulk_get() {
                true => {
                    counts.bulk_get_attempts += part.len() as u64;
                    self.source.bulk_get(part).await?
                }
                false => BulkGetAnswer::Unknown,
            };
            match answer {
                BulkGetAnswer::Found { docs, bytes } => {
                    let each = bytes / part.len().max(1);
                    let group = (WRITTEN / each.max(1)).clamp(1, LARGEST_GROUP);
                    self.group.store(group, Ordering::Relaxed);
                    self.copy_found(&docs, known, counts).await?;
                    continue;
                }
                BulkGetAnswer::TooLong if part.len() > 1 => {
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                    continue;
                }
                BulkGetAnswer::TooLong => {}
                BulkGetAnswer::Unknown => self.has_bulk_get.store(false, Ordering::Relaxed),
            }
            for (id, rev) in part {
                self.copy_one(id, rev, known, counts).await?;
            }
        }
        Ok(())
    }

    /// Writes what a `_bulk_get` has found.
    async fn copy_found(
        &self,
        found: &[Value],
        known: &KnownRevisions<'_>,
        counts: &mut Counts,
    ) -> Result<(), ReplicationError> {
        let mut waiting = Waiting::default();
        for one in found {
            match bulk_get_entry(one) {
                BulkGetEntry::Plain(document) if !has_addressable_id(document) => {
                    self.refuse_id("of an answer", &mut *counts);
                }
                BulkGetEntry::Plain(document) => {
                    counts.bulk_get_docs += 1;
                    counts.docs_read += 1;
                    waiting.add(document);
                    if waiting.text.len() >= WRITTEN {
                        self.write(&std::mem::take(&mut waiting), counts).await?;
                    }
                }
                BulkGetEntry::Alone(id, rev) => self.copy_one(id, rev, known, counts).await?,
                BulkGetEntry::Nothing => {}
            }
        }
        self.write(&waiting, counts).await
    }

    /// Copies one revision as a stream, whatever its length, with its attachments.
    async fn copy_one(
        &self,
        id: &str,
        rev: &str,
        known: &KnownRevisions<'_>,
        counts: &mut Counts,
    ) -> Result<(), ReplicationError> {
        if !is_addressable(id) {
            self.refuse_id(id, counts);
            return Ok(());
        }
        let mut known = known.get(id).copied().unwrap_or_default();
        let mut attempts = StreamAttempts::default();
        loop {
            let Some(answer) = self.source.revision(id, rev, known).await? else {
                return Ok(());
            };
            match self.target.put_revision(id, answer, &mut attempts).await {
                Ok(false) => {}
                Ok(true) => {
                    counts.docs_read += 1;
                    counts.docs_written += 1;
                    return Ok(());
                }
                // The target does not have what was left out.
                Err(error)
                    if error.status() == Some(StatusCode::PRECONDITION_FAILED)
                        && !known.is_empty() =>
                {
                    known = &[];
                }
                Err(error) if error.status().is_some_and(is_about_the_document) => {
                    self.log_refused(id, &error);
                    counts.docs_read += 1;
                    counts.doc_write_failures += 1;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Writes documents together, and in halves if they are too long for one request.
    async fn write(&self, docs: &Waiting, counts: &mut Counts) -> Result<(), ReplicationError> {
        let mut ranges = vec![(0, docs.ends.len())];
        while let Some((from, to)) = ranges.pop() {
            if from == to {
                continue;
            }
            match self.target.bulk_docs(docs.part(from, to)).await {
                Ok(refused) => {
                    for row in &refused {
                        let text = |name: &str| row.get(name).and_then(Value::as_str);
                        let [id, error, reason] =
                            ["id", "error", "reason"].map(|name| text(name).unwrap_or_default());
                        self.log_refused(id, &format_args!("{error}: {reason}"));
                    }
                    let refused = refused.len().min(to - from) as u64;
                    counts.doc_write_failures += refused;
                    counts.docs_written += (to - from) as u64 - refused;
                }
                Err(error) if error.status() == Some(StatusCode::PAYLOAD_TOO_LARGE) => {
                    if to - from == 1 {
                        self.log_refused("one", &error);
                        counts.doc_write_failures += 1;
                        continue;
                    }
                    let middle = from + (to - from) / 2;
                    ranges.extend([(middle, to), (from, middle)]);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

impl Sides {
    fn refuse_id(&self, id: &str, counts: &mut Counts) {
        self.log_refused(id, &"no document has such an id");
        counts.doc_write_failures += 1;
    }

    pub fn log_refused(&self, id: &str, reason: &dyn std::fmt::Display) {
        let target = self.target.name();
        self.log
            .scope(|| tracing::warn!("document {id:?} is not replicated to {target}: {reason}"));
    }
}

impl MissingRevisions {
    pub(super) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.revs.iter().map(|rev| (self.id.as_str(), rev.as_str()))
    }
}

/// One entry of the answer to `_bulk_get`.
pub(super) enum BulkGetEntry<'a> {
    /// A document that can be written as it is.
    Plain(&'a Value),
    /// Id and revision of one that has attachments, or could not be read together with others.
    Alone(&'a str, &'a str),
    /// A revision that is not there any more.
    Nothing,
}

pub(super) fn bulk_get_entry(one: &Value) -> BulkGetEntry<'_> {
    fn named<'a>(one: &'a Value, id: &str, rev: &str) -> Option<(&'a str, &'a str)> {
        Some((one.get(id)?.as_str()?, one.get(rev)?.as_str()?))
    }
    if let Some(document) = one.get("ok") {
        let attachments = document.get("_attachments").and_then(Value::as_object);
        return match attachments.filter(|list| !list.is_empty()) {
            None => BulkGetEntry::Plain(document),
            Some(_) => named(document, "_id", "_rev").map_or(BulkGetEntry::Nothing, |(id, rev)| {
                BulkGetEntry::Alone(id, rev)
            }),
        };
    }
    let error = one.get("error");
    let word = error
        .and_then(|error| error.get("error"))
        .and_then(Value::as_str);
    match error.and_then(|error| named(error, "id", "rev")) {
        Some((id, rev)) if word != Some("not_found") => BulkGetEntry::Alone(id, rev),
        _ => BulkGetEntry::Nothing,
    }
}

pub(super) fn has_addressable_id(document: &Value) -> bool {
    let id = document.get("_id").and_then(Value::as_str);
    id.is_some_and(is_addressable)
}

/// Whether a refusal is about one document, so that the others can go on.
fn is_about_the_document(status: StatusCode) -> bool {
    matches!(
        status.as_u16(),
        400 | 401 | 403 | 404 | 409 | 412 | 413 | 415 | 417
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_written_in_any_parts() {
        let mut waiting = Waiting::default();
        for number in 0..4u64 {
            waiting.add(&Value::from(10 * number));
        }
        let part = |from, to| std::str::from_utf8(waiting.part(from, to)).unwrap();
        assert_eq!(part(0, 4), "0,10,20,30");
        assert_eq!((part(0, 1), part(1, 3), part(3, 4)), ("0", "10,20", "30"));
        assert_eq!((part(2, 2), part(0, 0)), ("", ""));
    }

    #[test]
    fn entries_of_bulk_get_are_told_apart() {
        let kind = |text: &str| {
            let value = varve_json::parse(text.as_bytes()).unwrap();
            match bulk_get_entry(&value) {
                BulkGetEntry::Plain(_) => "plain".to_owned(),
                BulkGetEntry::Alone(id, rev) => format!("{id} {rev}"),
                BulkGetEntry::Nothing => "nothing".to_owned(),
            }
        };
        assert_eq!(kind(r#"{"ok":{"_id":"a","_rev":"1-x"}}"#), "plain");
        assert_eq!(
            kind(r#"{"ok":{"_id":"a","_rev":"1-x","_attachments":{}}}"#),
            "plain"
        );
        let attached = r#"{"ok":{"_id":"a","_rev":"1-x","_attachments":{"f":{"stub":true}}}}"#;
        assert_eq!(kind(attached), "a 1-x");
        let missing = r#"{"error":{"id":"a","rev":"1-x","error":"not_found","reason":"missing"}}"#;
        assert_eq!(kind(missing), "nothing");
        let failed = r#"{"error":{"id":"a","rev":"1-x","error":"timeout","reason":"slow"}}"#;
        assert_eq!(kind(failed), "a 1-x");
        assert_eq!(kind("7"), "nothing");
    }
}
