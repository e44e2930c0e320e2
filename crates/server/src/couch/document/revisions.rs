//! `_revs_diff` and `_missing_revs`: a replicator's questions before it sends documents.

use hyper::StatusCode;
use varve_docdb::{Rev, Snapshot};
use varve_json::Value;

use crate::couch::call::Call;
use crate::{Answer, Failure};

/// Revisions of one document that the database lacks.
struct Missing {
    id: String,
    /// As the client wrote them.
    missing: Vec<String>,
    possible_ancestors: Vec<Rev>,
}

/// Answers `POST /{db}/_revs_diff`.
///
/// # Errors
/// 400 if the body is not an object of lists of revisions.
pub fn diff(call: &Call) -> Result<Answer, Failure> {
    let mut body = vec![b'{'];
    for (index, document) in missing_of(call)?.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        varve_json::write_string(&document.id, &mut body);
        body.extend_from_slice(b":{\"missing\":");
        write_texts(&document.missing, &mut body);
        if !document.possible_ancestors.is_empty() {
            body.extend_from_slice(b",\"possible_ancestors\":");
            let ancestors = document.possible_ancestors.iter().map(Rev::to_string);
            write_texts(&ancestors.collect::<Vec<_>>(), &mut body);
        }
        body.push(b'}');
    }
    body.extend_from_slice(b"}\n");
    Ok(Answer::json(StatusCode::OK, body))
}

/// Answers `POST /{db}/_missing_revs`.
///
/// # Errors
/// As [`diff`].
pub fn missing(call: &Call) -> Result<Answer, Failure> {
    let mut body = b"{\"missing_revs\":{".to_vec();
    for (index, document) in missing_of(call)?.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        varve_json::write_string(&document.id, &mut body);
        body.push(b':');
        write_texts(&document.missing, &mut body);
    }
    body.extend_from_slice(b"}}\n");
    Ok(Answer::json(StatusCode::OK, body))
}

fn missing_of(call: &Call) -> Result<Vec<Missing>, Failure> {
    let Value::Object(asked) = call.json_body()? else {
        return Err(Failure::bad_request("Request body must be a JSON object"));
    };
    let snapshot = call.snapshot();
    let mut all = Vec::new();
    for (id, revisions) in asked {
        let texts = revisions
            .as_array()
            .map(|items| items.iter().map(Value::as_str));
        let texts: Option<Vec<&str>> = texts.and_then(Iterator::collect);
        let texts = texts.ok_or_else(|| {
            Failure::bad_request(format!("the revisions of {id:?} must be an array of texts"))
        })?;
        if let Some(missing) = missing_of_one(&snapshot, id, &texts)? {
            all.push(missing);
        }
    }
    Ok(all)
}

fn missing_of_one(
    snapshot: &Snapshot,
    id: String,
    texts: &[&str],
) -> Result<Option<Missing>, Failure> {
    let document = snapshot.document(&id)?;
    let mut missing = Vec::new();
    let mut highest: Option<Rev> = None;
    for text in texts {
        let rev: Rev = text.parse()?;
        let known = document
            .as_ref()
            .is_some_and(|d| d.tree().find(&rev).is_some());
        if !known {
            missing.push((*text).to_owned());
            highest = highest.max(Some(rev));
        }
    }
    let Some(highest) = highest else {
        return Ok(None);
    };
    let possible_ancestors = match &document {
        Some(document) => {
            let ancestors = document.tree().possible_ancestors(&highest);
            ancestors.map(|node| node.rev.clone()).collect()
        }
        None => Vec::new(),
    };
    Ok(Some(Missing {
        id,
        missing,
        possible_ancestors,
    }))
}

fn write_texts(texts: &[String], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, text) in texts.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        varve_json::write_string(text, out);
    }
    out.push(b']');
}
