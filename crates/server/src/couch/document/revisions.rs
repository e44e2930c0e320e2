//! `_revs_diff` and `_missing_revs`: a replicator's questions before it sends documents.
use varve_docdb::{Rev, Snapshot};
use varve_json::Value;

use crate::couch::call::Call;
use crate::couch::partitions;
use crate::{Answer, Failure};

/// Revisions of one document that the database lacks.
struct Missing {
    /// As the client wrote them.
    missing: Vec<String>,
    possible_ancestors: Vec<Rev>,
}

/// Answers `POST /{db}/_revs_diff`.
///
/// # Errors
/// 400 if the body is not an object of lists of revisions.
pub fn diff(call: &Call) -> Result<Answer, Failure> {
    answer(call, (b"{", b"}\n"), |document, out| {
        out.extend_from_slice(b"{\"missing\":");
        write_texts(document.missing.iter(), out);
        if !document.possible_ancestors.is_empty() {
            out.extend_from_slice(b",\"possible_ancestors\":");
            let ancestors = document.possible_ancestors.iter().map(Rev::to_string);
            write_texts(ancestors, out);
        }
        out.push(b'}');
    })
}

/// Answers `POST /{db}/_missing_revs`.
///
/// # Errors
/// As [`diff`].
pub fn missing(call: &Call) -> Result<Answer, Failure> {
    answer(call, (b"{\"missing_revs\":{", b"}}\n"), |document, out| {
        write_texts(document.missing.iter(), out);
    })
}

/// Writes a member for each document of which something is missing. What is known of a document with many revisions
/// is longer than the question by far, so the answer is sent while it is made.
fn answer(
    call: &Call,
    (begin, end): (&'static [u8], &'static [u8]),
    write: impl Fn(&Missing, &mut Vec<u8>) + Send + Sync + 'static,
) -> Result<Answer, Failure> {
    let asked = requested_revisions(call)?;
    let snapshot = call.snapshot();
    call.stream_if_long("application/json", move |mut writer| async move {
        writer.buffer().extend_from_slice(begin);
        let mut any = false;
        for (id, texts) in &asked {
            let Some(missing) = missing_of_one(&snapshot, id, texts)? else {
                continue;
            };
            let out = writer.buffer();
            if std::mem::replace(&mut any, true) {
                out.push(b',');
            }
            varve_json::write_string(id, out);
            out.push(b':');
            write(&missing, out);
            writer.flush_if_full().await?;
        }
        writer.write(end).await?;
        Ok(writer.finish())
    })
}

/// The documents that are asked about, and their revisions as the client wrote them.
fn requested_revisions(call: &Call) -> Result<Vec<(String, Vec<String>)>, Failure> {
    let Value::Object(asked) = call.json_body()? else {
        return Err(Failure::bad_request("Request body must be a JSON object"));
    };
    let snapshot = call.snapshot();
    let each = asked.into_iter().map(|(id, revisions)| {
        partitions::check_id(&snapshot, &id)?;
        let texts = revisions
            .as_array()
            .map(|items| items.iter().map(|item| item.as_str().map(str::to_owned)));
        let texts: Option<Vec<String>> = texts.and_then(Iterator::collect);
        let texts = texts.ok_or_else(|| {
            Failure::bad_request(format!("the revisions of {id:?} must be an array of texts"))
        })?;
        for text in &texts {
            text.parse::<Rev>()?;
        }
        Ok((id, texts))
    });
    each.collect()
}

fn missing_of_one(
    snapshot: &Snapshot,
    id: &str,
    texts: &[String],
) -> Result<Option<Missing>, Failure> {
    let document = snapshot.document(id)?;
    let mut missing = Vec::new();
    let mut highest: Option<Rev> = None;
    for text in texts {
        let rev: Rev = text.parse()?;
        let known = document
            .as_ref()
            .is_some_and(|d| d.tree().find(&rev).is_some());
        if !known {
            missing.push(text.clone());
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
        missing,
        possible_ancestors,
    }))
}

fn write_texts(texts: impl Iterator<Item = impl AsRef<str>>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, text) in texts.enumerate() {
        if index > 0 {
            out.push(b',');
        }
        varve_json::write_string(text.as_ref(), out);
    }
    out.push(b']');
}
