//! `_bulk_get`: many revisions in one answer.

use std::sync::Arc;

use varve_docdb::Snapshot;
use varve_json::Value;

use crate::couch::call::Call;
use crate::couch::document::options::{Extras, OpenRevs, revision_texts};
use crate::couch::document::parts;
use crate::couch::document::parts::StoredRevision;
use crate::couch::document::read::{Opened, opened, whole_after};
use crate::couch::document::render::{Savepoint, Sink, log_left_out};
use crate::couch::partitions;
use crate::http::FailureKind;
use crate::{Answer, Failure};

/// One document that is requested for.
struct RequestedDocument {
    /// A text, or what the client wrote instead; `null` without.
    id: Value,
    /// As the client wrote it; all leaves without.
    rev: Option<String>,
    atts_since: Option<Vec<String>>,
}

/// Answers `POST /{db}/_bulk_get`.
///
/// # Errors
/// 400 if the body has no list of documents.
pub fn answer(call: Call) -> Result<Answer, Failure> {
    let requested = requested_documents(&call)?;
    let reads = &call.app.server().metrics.couch.reads;
    reads.inc_by(requested.len() as u64);
    let extras = Extras::parse(&call.request);
    let reader = Reader {
        snapshot: call.snapshot(),
        extras,
        latest: call.request.query("latest") == Some("true"),
    };
    for media in ["multipart/mixed", "multipart/related"] {
        if call.request.accepts(media) {
            return in_parts(&call, media, reader, requested);
        }
    }
    call.stream_if_long("application/json", move |mut writer| async move {
        reader.write_all(&requested, &mut writer).await?;
        Ok(writer.finish())
    })
}

fn in_parts(
    call: &Call,
    media: &str,
    mut reader: Reader,
    requested: Vec<RequestedDocument>,
) -> Result<Answer, Failure> {
    reader.extras = reader.extras.with_parts();
    parts::mixed(call, media, move |mut outer| async move {
        for one in requested {
            for found in reader.find(&one) {
                match found {
                    Ok(source) => {
                        let further = [
                            ("X-Doc-Id", one.name().to_owned()),
                            ("X-Rev-Id", source.rev.to_string()),
                        ];
                        outer.document(&source, &further).await?;
                    }
                    Err(missing) => {
                        let mut text = Vec::new();
                        missing.write(&one.id, &mut text);
                        outer.error(&text).await?;
                    }
                }
            }
        }
        outer.end().await
    })
}

/// Why a revision cannot be had.
struct Missing {
    /// `None` if not even the document can be there, or the request as a whole is wrong.
    rev: Option<String>,
    error: String,
    reason: String,
}

/// Snapshot and options for all documents of one request.
struct Reader {
    snapshot: Snapshot,
    extras: Extras,
    latest: bool,
}

fn requested_documents(call: &Call) -> Result<Vec<RequestedDocument>, Failure> {
    let body = call.json_body()?;
    let docs = body.get("docs").and_then(Value::as_array);
    let docs = docs.ok_or_else(|| Failure::bad_request("Missing JSON list of 'docs'."))?;
    let each = docs.iter().map(|one| {
        let text = |name: &str| one.get(name).and_then(Value::as_str).map(str::to_owned);
        let since = one.get("atts_since").and_then(revision_texts);
        RequestedDocument {
            id: one.get("id").cloned().unwrap_or_default(),
            rev: text("rev"),
            atts_since: since.map(|revs| revs.into_iter().map(str::to_owned).collect()),
        }
    });
    Ok(each.collect())
}

impl RequestedDocument {
    fn name(&self) -> &str {
        self.id.as_str().unwrap_or_default()
    }

    /// Why no document can have the id.
    fn wrong_id(&self) -> Option<(&'static str, &'static str)> {
        match self.id {
            Value::String(_) => None,
            Value::Null => Some(("bad_request", "document id missed")),
            _ => Some(("illegal_docid", "Document id must be a string")),
        }
    }
}

/// `{"ok":` and the document.
async fn write_found(source: &StoredRevision, sink: &mut impl Sink) -> Result<(), Failure> {
    sink.text().extend_from_slice(b"{\"ok\":");
    source.shown()?.write(sink).await?;
    sink.text().push(b'}');
    Ok(())
}

impl Reader {
    async fn write_all(
        &self,
        requested: &[RequestedDocument],
        sink: &mut impl Sink,
    ) -> Result<(), Failure> {
        sink.text().extend_from_slice(b"{\"results\":[");
        for (index, one) in requested.iter().enumerate() {
            if index > 0 {
                sink.text().push(b',');
            }
            self.write_result(one, sink).await?;
            sink.pass_on().await?;
        }
        sink.text().extend_from_slice(b"]}\n");
        Ok(())
    }

    async fn write_result(
        &self,
        requested: &RequestedDocument,
        sink: &mut impl Sink,
    ) -> Result<(), Failure> {
        let out = sink.text();
        out.extend_from_slice(b"{\"id\":");
        varve_json::write(&requested.id, out);
        out.extend_from_slice(b",\"docs\":[");
        for (index, found) in self.find(requested).into_iter().enumerate() {
            if index > 0 {
                sink.text().push(b',');
            }
            match found {
                Ok(source) => {
                    let savepoint = Savepoint::of(sink);
                    let written = write_found(&source, sink).await;
                    if let Err(failure) = savepoint.settle(sink, written)? {
                        log_left_out(&failure);
                        Missing::of(source.rev.to_string(), failure).write_in(requested, sink);
                    }
                }
                Err(missing) => missing.write_in(requested, sink),
            }
            sink.pass_on().await?;
        }
        sink.text().extend_from_slice(b"]}");
        Ok(())
    }

    /// The revisions that one client asks for, in order; at least one entry.
    fn find(&self, requested: &RequestedDocument) -> Vec<Result<StoredRevision, Missing>> {
        if let Some((error, reason)) = requested.wrong_id() {
            return vec![Err(Missing {
                rev: None,
                error: error.to_owned(),
                reason: reason.to_owned(),
            })];
        }
        let missing = |rev: &str, error: &str, reason: &str| Missing {
            rev: Some(rev.to_owned()),
            error: error.to_owned(),
            reason: reason.to_owned(),
        };
        match self.sources(requested) {
            Ok(found) if found.is_empty() => {
                vec![Err(missing("undefined", "not_found", "missing"))]
            }
            Ok(found) => found
                .into_iter()
                .map(|one| one.map_err(|rev| missing(&rev, "not_found", "missing")))
                .collect(),
            Err(failure) if failure.kind == FailureKind::BadRequest => vec![Err(Missing {
                rev: requested.rev.clone(),
                error: failure.error,
                reason: failure.reason,
            })],
            Err(failure) => {
                log_left_out(&failure);
                let rev = requested.rev.as_deref().unwrap_or("undefined");
                vec![Err(missing(rev, &failure.error, &failure.reason))]
            }
        }
    }

    /// As [`Reader::find`], the texts of revisions that are missing.
    fn sources(
        &self,
        requested: &RequestedDocument,
    ) -> Result<Vec<Result<StoredRevision, String>>, Failure> {
        partitions::check_id(&self.snapshot, requested.name())?;
        let open_revs = match &requested.rev {
            Some(rev) => OpenRevs::Listed(vec![rev.clone()]),
            None => OpenRevs::All,
        };
        let document = self.snapshot.document(requested.name())?;
        let found = opened(document.as_ref(), &open_revs, self.latest)?;
        let Some(document) = document.map(Arc::new) else {
            let missing = found.into_iter().filter_map(|one| match one {
                Opened::Missing(rev) => Some(Err(rev)),
                Opened::Found(_) => None,
            });
            return Ok(missing.collect());
        };
        let whole_after = whole_after(&document, requested.atts_since.as_deref())?;
        let sources = found.into_iter().map(|one| match one {
            Opened::Missing(rev) => Err(rev),
            Opened::Found(rev) => Ok(StoredRevision {
                snapshot: self.snapshot.clone(),
                document: Arc::clone(&document),
                rev,
                extras: self.extras,
                whole_after,
            }),
        });
        Ok(sources.collect())
    }
}

impl Missing {
    /// A revision that cannot be read.
    fn of(rev: String, failure: Failure) -> Missing {
        let Failure { error, reason, .. } = failure;
        Missing {
            rev: Some(rev),
            error,
            reason,
        }
    }

    fn write_in(&self, requested: &RequestedDocument, sink: &mut impl Sink) {
        let out = sink.text();
        out.extend_from_slice(b"{\"error\":");
        self.write(&requested.id, out);
        out.push(b'}');
    }

    fn write(&self, id: &Value, out: &mut Vec<u8>) {
        out.extend_from_slice(b"{\"rev\":");
        match &self.rev {
            Some(rev) => varve_json::write_string(rev, out),
            None => out.extend_from_slice(b"null"),
        }
        out.extend_from_slice(b",\"reason\":");
        varve_json::write_string(&self.reason, out);
        out.extend_from_slice(b",\"id\":");
        varve_json::write(id, out);
        out.extend_from_slice(b",\"error\":");
        varve_json::write_string(&self.error, out);
        out.push(b'}');
    }
}
