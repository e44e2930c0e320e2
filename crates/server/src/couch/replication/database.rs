//! Requests of replications to the databases of both sides.

use super::error::ReplicationError;
use super::peer::{Peer, PeerAnswer, PeerRequest, StreamAttempts};
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use std::time::Duration;
use varve_docdb::{DESIGN_PREFIX, Snapshot, WantedLeaves};
use varve_json::{Object, Value};
use varve_replicate::replicator::Selection;

/// Heartbeats that are asked for while nothing changes; half the time in which something must come.
const HEARTBEATS: u32 = 2;

/// Revisions whose attachments a request says are known: a bound of the length of a URL.
const MOST_KNOWN: usize = 40;

/// A page of the changes of a database.
#[derive(Debug)]
pub(super) struct ChangesPage {
    pub rows: PageRows,
    pub last_seq: Value,
    /// Changes behind this page, if the database says so.
    pub pending: Option<u64>,
}

/// Documents that changed.
#[derive(Clone, Debug)]
pub(super) enum PageRows {
    /// Of another server.
    Remote(Vec<ChangeRow>),
    /// Of a database of this server, as one of its commits has them.
    Local(Snapshot, Vec<WantedLeaves>),
}

impl PageRows {
    pub fn len(&self) -> usize {
        match self {
            PageRows::Remote(rows) => rows.len(),
            PageRows::Local(_, rows) => rows.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The documents by name, wherever they come from.
    pub fn into_rows(self) -> Vec<ChangeRow> {
        match self {
            PageRows::Remote(rows) => rows,
            PageRows::Local(_, rows) => rows.iter().map(ChangeRow::from).collect(),
        }
    }

    /// Cuts off those behind the first `count`.
    pub fn split_off(&mut self, count: usize) -> PageRows {
        match self {
            PageRows::Remote(rows) => PageRows::Remote(rows.split_off(count.min(rows.len()))),
            PageRows::Local(snapshot, rows) => {
                let rest = rows.split_off(count.min(rows.len()));
                PageRows::Local(snapshot.clone(), rest)
            }
        }
    }
}

/// A document that changed.
#[derive(Clone, Debug)]
pub(super) struct ChangeRow {
    pub id: String,
    pub revs: Vec<String>,
}

impl From<&WantedLeaves> for ChangeRow {
    fn from(wanted: &WantedLeaves) -> ChangeRow {
        ChangeRow {
            id: wanted.change.id.clone(),
            revs: wanted.revs.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Which changes are asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChangesQuery<'a> {
    pub since: &'a Value,
    pub limit: usize,
    pub selection: &'a Selection,
    pub winning_revs_only: bool,
    /// Whether the answer waits for a change if there is none.
    pub waits: bool,
    pub timeout: Duration,
}

/// Answer to `_bulk_get`.
#[derive(Debug)]
pub(super) enum BulkGetAnswer {
    /// Entries, and the length of the whole answer.
    Found { docs: Vec<Value>, bytes: usize },
    /// The database does not know this request.
    Unknown,
    /// The answer would be too long.
    TooLong,
}

/// Revisions of a document that a database lacks.
#[derive(Clone, Debug)]
pub(super) struct MissingRevisions {
    pub id: String,
    pub revs: Vec<String>,
    /// Revisions there that may be ancestors of them.
    pub possible_ancestors: Vec<String>,
}

fn bad(peer: &Peer, reason: &str) -> ReplicationError {
    ReplicationError::BadAnswer {
        url: peer.name().to_owned(),
        reason: reason.to_owned(),
    }
}

/// A sequence as it stands in a query.
fn sequence(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => varve_json::to_string(other),
    }
}

fn texts(value: Option<&Value>) -> Vec<String> {
    let items = value.and_then(Value::as_array).unwrap_or_default().iter();
    items.filter_map(Value::as_str).map(str::to_owned).collect()
}

impl Peer {
    /// Asks for the database itself.
    ///
    /// # Errors
    /// [`ReplicationError::NoDatabase`], [`ReplicationError::Unauthorized`], others as [`Peer::send`].
    pub async fn info(&self) -> Result<Object, ReplicationError> {
        let name = || self.name().to_owned();
        match self.json(&PeerRequest::get(&[])).await {
            Ok(Value::Object(info)) => Ok(info),
            Ok(_) => Err(bad(self, "no object")),
            Err(error) => Err(match error.status() {
                Some(StatusCode::NOT_FOUND) => ReplicationError::NoDatabase(name()),
                Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                    ReplicationError::Unauthorized(name())
                }
                _ => error,
            }),
        }
    }

    /// Makes the database, unless it is there meanwhile.
    ///
    /// # Errors
    /// As [`Peer::info`].
    pub async fn create(&self, params: &[(String, String)]) -> Result<(), ReplicationError> {
        let mut request = PeerRequest::new(Method::PUT, &[]);
        request.params = params.to_vec();
        match self.send(&request).await {
            Ok(_) => Ok(()),
            Err(error) => match error.status() {
                Some(StatusCode::PRECONDITION_FAILED) => Ok(()),
                Some(StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) => {
                    Err(ReplicationError::Unauthorized(self.name().to_owned()))
                }
                _ => Err(error),
            },
        }
    }

    /// A document without its attachments; `None` if it is not there.
    ///
    /// # Errors
    /// As [`Peer::json`].
    pub async fn document(&self, path: &[&str]) -> Result<Option<Object>, ReplicationError> {
        match self.json(&PeerRequest::get(path)).await {
            Ok(Value::Object(document)) => Ok(Some(document)),
            Ok(_) => Err(bad(self, "a document that is no object")),
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a local document that has this revision now, if any; returns the revision that it has then.
    ///
    /// # Errors
    /// As [`Peer::json`]; a conflict is [`ReplicationError::Refused`].
    pub async fn put_local(
        &self,
        id: &str,
        document: &Object,
        rev: Option<&str>,
    ) -> Result<String, ReplicationError> {
        let mut document = document.clone();
        if let Some(rev) = rev {
            document.insert("_rev", rev);
        }
        let mut body = Vec::new();
        varve_json::write_object(&document, &mut body);
        let request = PeerRequest::new(Method::PUT, &["_local", id]).with_json(body);
        let written = self.json(&request).await?;
        let rev = written.get("rev").and_then(Value::as_str);
        rev.map(str::to_owned)
            .ok_or_else(|| bad(self, "no revision"))
    }

    /// The next changes.
    ///
    /// # Errors
    /// As [`Peer::json`].
    pub async fn changes(&self, query: &ChangesQuery<'_>) -> Result<ChangesPage, ReplicationError> {
        let request = changes_request(query);
        let Value::Object(answer) = self.json(&request).await? else {
            return Err(bad(self, "changes that are no object"));
        };
        let rows = answer.get("results").and_then(Value::as_array);
        let rows = rows.ok_or_else(|| bad(self, "changes without results"))?;
        let rows = rows.iter().map(|row| {
            let id = row.get("id").and_then(Value::as_str)?;
            let changes = row.get("changes").and_then(Value::as_array)?.iter();
            let revs = changes.filter_map(|change| change.get("rev")?.as_str());
            Some(ChangeRow {
                id: id.to_owned(),
                revs: revs.map(str::to_owned).collect(),
            })
        });
        let rows: Option<Vec<ChangeRow>> = rows.collect();
        let last_seq = answer.get("last_seq").cloned();
        let no_row = || bad(self, "a change without id or revisions");
        Ok(ChangesPage {
            rows: PageRows::Remote(rows.ok_or_else(no_row)?),
            last_seq: last_seq.ok_or_else(|| bad(self, "changes without last_seq"))?,
            pending: answer.get("pending").and_then(Value::as_u64),
        })
    }

    /// Which of the revisions the database lacks.
    ///
    /// # Errors
    /// As [`Peer::json`].
    pub async fn revs_diff(
        &self,
        rows: &[ChangeRow],
    ) -> Result<Vec<MissingRevisions>, ReplicationError> {
        let mut asked = Object::new();
        for row in rows {
            let revs = row.revs.iter().map(|rev| Value::from(rev.as_str()));
            asked.insert(row.id.as_str(), Value::from_iter(revs));
        }
        let mut body = Vec::new();
        varve_json::write_object(&asked, &mut body);
        let Value::Object(answer) = self.json(&PeerRequest::post(&["_revs_diff"], body)).await?
        else {
            return Err(bad(self, "_revs_diff is no object"));
        };
        let missing = answer.iter().map(|(id, one)| MissingRevisions {
            id: id.to_owned(),
            revs: texts(one.get("missing")),
            possible_ancestors: texts(one.get("possible_ancestors")),
        });
        Ok(missing.filter(|one| !one.revs.is_empty()).collect())
    }

    /// Reads revisions with one request; the bodies of attachments stay behind.
    ///
    /// # Errors
    /// As [`Peer::json`].
    pub async fn bulk_get(
        &self,
        wanted: &[(&str, &str)],
    ) -> Result<BulkGetAnswer, ReplicationError> {
        let docs = wanted.iter().map(|(id, rev)| {
            let mut one = Object::new();
            one.insert("id", *id);
            one.insert("rev", *rev);
            Value::from(one)
        });
        let mut asked = Object::new();
        asked.insert("docs", Value::from_iter(docs));
        let mut body = Vec::new();
        varve_json::write_object(&asked, &mut body);
        let request = PeerRequest::post(&["_bulk_get"], body)
            .with("latest", "true")
            .with("revs", "true")
            .with_header(ACCEPT, HeaderValue::from_static("application/json"));
        let text = match self.text(&request).await {
            Ok(text) => text,
            Err(ReplicationError::TooLong(_)) => return Ok(BulkGetAnswer::TooLong),
            Err(error) => match error.status().map(|status| status.as_u16()) {
                Some(400 | 404 | 405 | 415 | 501) => return Ok(BulkGetAnswer::Unknown),
                Some(413) => return Ok(BulkGetAnswer::TooLong),
                _ => return Err(error),
            },
        };
        let answer = self.parsed(&request, &text)?;
        let results = answer.get("results").and_then(Value::as_array);
        let results = results.ok_or_else(|| bad(self, "_bulk_get without results"))?;
        let docs = results.iter().flat_map(|result| {
            let docs = result.get("docs").and_then(Value::as_array);
            docs.unwrap_or_default().iter().cloned()
        });
        Ok(BulkGetAnswer::Found {
            docs: docs.collect(),
            bytes: text.len(),
        })
    }

    /// One revision with its attachments, in their stored form; the answer is what [`Peer::put_revision`] takes. Attachments
    /// that one of the revisions `known` has are left out. `None` if the revision is not there any more.
    ///
    /// # Errors
    /// As [`Peer::send`].
    pub async fn revision(
        &self,
        id: &str,
        rev: &str,
        known: &[String],
    ) -> Result<Option<PeerAnswer>, ReplicationError> {
        let accept = HeaderValue::from_static("multipart/related, application/json");
        let mut request = PeerRequest::get(&document_path(id))
            .with("rev", rev)
            .with("revs", "true")
            .with("latest", "true")
            .with("attachments", "true")
            .with("att_encoding_info", "true")
            .with_header(ACCEPT, accept);
        if !known.is_empty() {
            let known = known.iter().map(|rev| Value::from(rev.as_str()));
            let list: Value = known.take(MOST_KNOWN).collect();
            request = request.with("atts_since", varve_json::to_string(&list));
        }
        match self.send(&request).await {
            Ok(answer) => Ok(Some(answer)),
            Err(error) if error.status() == Some(StatusCode::NOT_FOUND) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a revision as it came from [`Peer::revision`]; returns whether it is written, or to be sent again.
    ///
    /// # Errors
    /// As [`Peer::send_stream`].
    pub async fn put_revision(
        &self,
        id: &str,
        from: PeerAnswer,
        attempts: &mut StreamAttempts,
    ) -> Result<bool, ReplicationError> {
        let usual = HeaderValue::from_static("application/json");
        let content_type = from.header(&CONTENT_TYPE).cloned().unwrap_or(usual);
        let request = PeerRequest::new(Method::PUT, &document_path(id))
            .with("new_edits", "false")
            .with_header(CONTENT_TYPE, content_type);
        let written = self.send_stream(&request, from, attempts).await?;
        Ok(written.is_some())
    }

    /// Writes revisions; returns those that the database refuses.
    ///
    /// # Errors
    /// As [`Peer::json`].
    pub async fn bulk_docs(&self, docs: &[u8]) -> Result<Vec<Value>, ReplicationError> {
        let mut body = b"{\"new_edits\":false,\"docs\":[".to_vec();
        body.extend_from_slice(docs);
        body.extend_from_slice(b"]}");
        let commit = HeaderName::from_static("x-couch-full-commit");
        let request = PeerRequest::post(&["_bulk_docs"], body)
            .with_header(commit, HeaderValue::from_static("false"));
        match self.json(&request).await? {
            Value::Array(refused) => Ok(refused
                .into_iter()
                .filter(|one| one.get("error").is_some())
                .collect()),
            _ => Err(bad(self, "_bulk_docs is no list")),
        }
    }

    /// Has all that was written be on the disk.
    ///
    /// # Errors
    /// As [`Peer::send`].
    pub async fn ensure_full_commit(&self) -> Result<(), ReplicationError> {
        let request = PeerRequest::post(&["_ensure_full_commit"], Vec::new());
        self.send(&request).await.map(drop)
    }
}

/// A slash within the id of a design document stands in the path as it is.
fn document_path(id: &str) -> Vec<&str> {
    match id.strip_prefix(DESIGN_PREFIX) {
        Some(rest) => vec!["_design", rest],
        None => vec![id],
    }
}

/// Whether a path with this id is that of a replicated document. The source chooses the ids: `_security` and `..` as parts
/// of a path would be something else of the target's.
pub(super) fn is_addressable(id: &str) -> bool {
    let name = id.strip_prefix(DESIGN_PREFIX);
    let is_reserved = name.is_none() && id.starts_with('_');
    !is_reserved && !matches!(name.unwrap_or(id), "" | "." | "..")
}

/// The request for the next changes.
pub(super) fn changes_request(query: &ChangesQuery<'_>) -> PeerRequest {
    let style = match query.winning_revs_only {
        true => "main_only",
        false => "all_docs",
    };
    let request = selecting_request(query)
        .with("style", style)
        .with("since", sequence(query.since))
        .with("limit", query.limit.to_string());
    match query.waits {
        true => {
            let heartbeat = (query.timeout / HEARTBEATS).as_millis().max(1);
            request
                .with("feed", "longpoll")
                .with("heartbeat", heartbeat.to_string())
        }
        false => request,
    }
}

fn selecting_request(query: &ChangesQuery<'_>) -> PeerRequest {
    let with_body = |filter: &str, name: &str, value: Value| {
        let mut body = Object::new();
        body.insert(name, value);
        let mut text = Vec::new();
        varve_json::write_object(&body, &mut text);
        PeerRequest::post(&["_changes"], text).with("filter", filter)
    };
    match query.selection {
        Selection::All => PeerRequest::get(&["_changes"]),
        Selection::Ids(ids) => {
            let ids = ids.iter().map(|id| Value::from(id.as_str()));
            with_body("_doc_ids", "doc_ids", Value::from_iter(ids))
        }
        Selection::Selector(selector) => {
            with_body("_selector", "selector", Value::Object(selector.clone()))
        }
        Selection::Filter { name, params } => {
            let mut request = PeerRequest::get(&["_changes"]).with("filter", name);
            let params = params.iter();
            request.params = params.map(|(k, v)| (k.to_owned(), sequence(v))).collect();
            request
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_to_documents_alone() {
        for id in ["a", "a/b", "..a", "_design/d", "_design/a/b", "a_b", "%2e"] {
            assert!(is_addressable(id), "{id}");
        }
        for id in [
            "",
            ".",
            "..",
            "_security",
            "_local/x",
            "_design",
            "_design/",
            "_design/..",
            "_purge",
        ] {
            assert!(!is_addressable(id), "{id}");
        }
        assert_eq!(document_path("_design/a/b"), ["_design", "a/b"]);
        assert_eq!(document_path("a/b"), ["a/b"]);
    }
}
