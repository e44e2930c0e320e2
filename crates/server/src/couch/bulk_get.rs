//! `_bulk_get`: many revisions in one answer.

use varve_docdb::Snapshot;
use varve_json::Value;

use super::call::Call;
use super::document::options::{Extras, OpenRevs, ReadOptions, revision_texts};
use super::document::read::{Opened, opened};
use crate::{Answer, Failure};

/// One document that is asked for.
struct Asked {
    id: String,
    /// As the client wrote it; all leaves without.
    rev: Option<String>,
    atts_since: Option<Vec<String>>,
}

/// Answers `POST /{db}/_bulk_get`.
///
/// # Errors
/// 400 if the body has no list of documents.
pub fn answer(call: Call) -> Result<Answer, Failure> {
    let asked = asked_for(&call)?;
    let snapshot = call.database.documents.snapshot();
    let extras = Extras::parse(&call.request);
    let latest = call.request.query("latest") == Some("true");
    let mut body = b"{\"results\":[".to_vec();
    for (index, one) in asked.into_iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        write_result(&snapshot, one, extras, latest, &mut body);
    }
    body.extend_from_slice(b"]}\n");
    Ok(Answer::json(hyper::StatusCode::OK, body))
}

fn asked_for(call: &Call) -> Result<Vec<Asked>, Failure> {
    let body = call.json_body()?;
    let docs = body.get("docs").and_then(Value::as_array);
    let docs = docs.ok_or_else(|| Failure::bad_request("Missing JSON list of 'docs'."))?;
    let each = docs.iter().map(|one| {
        let text = |name: &str| one.get(name).and_then(Value::as_str).map(str::to_owned);
        let id = text("id").ok_or_else(|| {
            Failure::bad_request("each member of 'docs' needs an 'id' that is a text")
        })?;
        let since = one.get("atts_since").and_then(revision_texts);
        Ok(Asked {
            id,
            rev: text("rev"),
            atts_since: since.map(|revs| revs.into_iter().map(str::to_owned).collect()),
        })
    });
    each.collect()
}

fn write_result(
    snapshot: &Snapshot,
    asked: Asked,
    extras: Extras,
    latest: bool,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b"{\"id\":");
    varve_json::write_string(&asked.id, out);
    out.extend_from_slice(b",\"docs\":[");
    let open_revs = match &asked.rev {
        Some(rev) => OpenRevs::Listed(vec![rev.clone()]),
        None => OpenRevs::All,
    };
    let options = ReadOptions {
        latest,
        atts_since: asked.atts_since,
        extras,
        ..ReadOptions::default()
    };
    let document = snapshot.document(&asked.id).map_err(Failure::from);
    let found = document
        .and_then(|document| opened(snapshot, &asked.id, document.as_ref(), &open_revs, &options));
    match found {
        Ok(found) if found.is_empty() => {
            write_error(&asked.id, "undefined", "not_found", "missing", out);
        }
        Ok(found) => write_found(&asked.id, found, out),
        Err(failure) => {
            let rev = asked.rev.as_deref().unwrap_or("undefined");
            write_error(&asked.id, rev, &failure.error, &failure.reason, out);
        }
    }
    out.extend_from_slice(b"]}");
}

fn write_found(id: &str, found: Vec<Opened>, out: &mut Vec<u8>) {
    for (index, one) in found.into_iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match one {
            Opened::Found(text) => {
                out.extend_from_slice(b"{\"ok\":");
                out.extend_from_slice(&text);
                out.push(b'}');
            }
            Opened::Missing(rev) => write_error(id, &rev, "not_found", "missing", out),
        }
    }
}

fn write_error(id: &str, rev: &str, error: &str, reason: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"error\":{\"rev\":");
    varve_json::write_string(rev, out);
    for (name, text) in [("reason", reason), ("id", id), ("error", error)] {
        out.push(b',');
        varve_json::write_string(name, out);
        out.push(b':');
        varve_json::write_string(text, out);
    }
    out.extend_from_slice(b"}}");
}
