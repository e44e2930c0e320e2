//! Single documents are read.

use hyper::StatusCode;
use varve_docdb::{Document, DocumentText, LocalDocument, Node, Rev, Snapshot, Stored};

use super::options::{Extras, OpenRevs, ReadOptions};
use super::render::Shown;
use crate::couch::call::Call;
use crate::couch::{etag, failures, multipart};
use crate::{Answer, Failure};

/// Answers `GET /{db}/{id}`.
///
/// # Errors
/// 404 if there is no such document or revision, 400 for what is no revision.
pub fn get(call: &Call, id: &str) -> Result<Answer, Failure> {
    let options = ReadOptions::parse(&call.request)?;
    let snapshot = call.database.documents.snapshot();
    let document = snapshot.document(id)?;
    if let Some(open_revs) = &options.open_revs {
        return open(call, &snapshot, id, document.as_ref(), open_revs, &options);
    }
    let document = document.ok_or_else(failures::missing)?;
    let (node, stored) = chosen(&document, &options)?;
    let tag = etag::of_revision(&node.rev.to_string());
    let tagged = !options.extras.has_meta();
    if tagged && etag::matches(&call.request, &tag) {
        return Ok(etag::not_modified(&tag));
    }
    let shown = Shown {
        snapshot: &snapshot,
        id,
        rev: &node.rev,
        stored,
        document: Some(&document),
        extras: options.extras,
        whole_after: whole_after(&document, options.atts_since.as_deref())?,
    };
    let mut body = Vec::new();
    let has_meta = shown.write(&mut body)?;
    body.push(b'\n');
    let answer = Answer::json(StatusCode::OK, body);
    Ok(match has_meta {
        true => answer,
        false => answer.with_header("etag", &tag),
    })
}

/// The revision that is asked for, or the winner.
fn chosen<'d>(
    document: &'d Document,
    options: &ReadOptions,
) -> Result<(&'d Node, &'d Stored), Failure> {
    let tree = document.tree();
    let node = match &options.rev {
        Some(text) => {
            let rev: Rev = text.parse()?;
            let found = tree.find(&rev).ok_or_else(failures::missing)?;
            let latest = options.latest.then(|| tree.leaves_above(&rev));
            latest
                .and_then(|leaves| leaves.first().copied())
                .unwrap_or(found)
        }
        None => tree.winner().ok_or_else(failures::missing)?,
    };
    if options.rev.is_none() && node.is_deleted() {
        return Err(failures::deleted());
    }
    let stored = node.stored.as_ref().ok_or_else(failures::missing)?;
    Ok((node, stored))
}

/// The highest generation among the revisions of `atts_since` that are known.
fn whole_after(document: &Document, since: Option<&[String]>) -> Result<u64, Failure> {
    let mut highest = 0;
    for text in since.unwrap_or_default() {
        let rev: Rev = text.parse()?;
        if document.tree().find(&rev).is_some() {
            highest = highest.max(rev.generation);
        }
    }
    Ok(highest)
}

/// What `open_revs` and `_bulk_get` give for one revision.
pub enum Opened {
    /// The document's JSON text.
    Found(Vec<u8>),
    /// Text of a revision that is not there.
    Missing(String),
}

/// The leaves of a document, or the revisions that are listed.
///
/// # Errors
/// 400 for what is no revision.
pub fn opened(
    snapshot: &Snapshot,
    id: &str,
    document: Option<&Document>,
    open_revs: &OpenRevs,
    options: &ReadOptions,
) -> Result<Vec<Opened>, Failure> {
    let mut found: Vec<Opened> = Vec::new();
    let show = |document: &Document, node: &Node, stored: &Stored| -> Result<Opened, Failure> {
        let mut text = Vec::new();
        let shown = Shown {
            snapshot,
            id,
            rev: &node.rev,
            stored,
            document: Some(document),
            extras: options.extras,
            whole_after: whole_after(document, options.atts_since.as_deref())?,
        };
        shown.write(&mut text)?;
        Ok(Opened::Found(text))
    };
    let listed = match (open_revs, document) {
        (OpenRevs::All, None) => return Ok(found),
        (OpenRevs::All, Some(document)) => {
            // CouchDB lists leaves in ascending order.
            let mut leaves: Vec<&Node> = document.tree().leaves().collect();
            leaves.reverse();
            for leaf in leaves {
                if let Some(stored) = &leaf.stored {
                    found.push(show(document, leaf, stored)?);
                }
            }
            return Ok(found);
        }
        (OpenRevs::Listed(listed), _) => listed,
    };
    for text in listed {
        let rev: Rev = text.parse()?;
        let nodes = document.map(|document| (document, nodes_of(document, &rev, options.latest)));
        let before = found.len();
        for (document, node) in nodes
            .into_iter()
            .flat_map(|(d, nodes)| nodes.into_iter().map(move |node| (d, node)))
        {
            if let Some(stored) = &node.stored {
                found.push(show(document, node, stored)?);
            }
        }
        if found.len() == before {
            found.push(Opened::Missing(text.clone()));
        }
    }
    Ok(found)
}

fn nodes_of<'d>(document: &'d Document, rev: &Rev, latest: bool) -> Vec<&'d Node> {
    match latest {
        true => document.tree().leaves_above(rev),
        false => document.tree().find(rev).into_iter().collect(),
    }
}

fn open(
    call: &Call,
    snapshot: &Snapshot,
    id: &str,
    document: Option<&Document>,
    open_revs: &OpenRevs,
    options: &ReadOptions,
) -> Result<Answer, Failure> {
    let wants_parts =
        call.request.accepts("multipart/mixed") && !call.request.accepts("application/json");
    if document.is_none() && *open_revs == OpenRevs::All {
        return Err(failures::missing());
    }
    let all = opened(snapshot, id, document, open_revs, options)?;
    if wants_parts {
        let parts = all.iter().map(|one| match one {
            Opened::Found(text) => ("application/json", text.clone()),
            Opened::Missing(rev) => ("application/json; error=\"true\"", missing_text(rev)),
        });
        let (content_type, body) = multipart::mixed(parts);
        return Ok(Answer::whole(StatusCode::OK, &content_type, body));
    }
    Ok(Answer::stream("application/json", move |writer| {
        writer.write(b"[")?;
        for (index, one) in all.into_iter().enumerate() {
            if index > 0 {
                writer.write(b",")?;
            }
            match one {
                Opened::Found(text) => {
                    writer.write(b"{\"ok\":")?;
                    writer.write(&text)?;
                    writer.write(b"}")?;
                }
                Opened::Missing(rev) => writer.write(&missing_text(&rev))?,
            }
        }
        writer.write(b"]\n")
    }))
}

/// `{"missing":"7-x"}`.
fn missing_text(rev: &str) -> Vec<u8> {
    let mut text = b"{\"missing\":".to_vec();
    varve_json::write_string(rev, &mut text);
    text.push(b'}');
    text
}

/// Answers `GET /{db}/_local/{id}`.
///
/// # Errors
/// 404 if there is none.
pub fn local(call: &Call, id: &str) -> Result<Answer, Failure> {
    let snapshot = call.database.documents.snapshot();
    let document = snapshot.local(id)?.ok_or_else(failures::missing)?;
    let mut body = Vec::new();
    write_local(&document, &mut body);
    let tag = etag::opaque(&[&body]);
    if etag::matches(&call.request, &tag) {
        return Ok(etag::not_modified(&tag));
    }
    body.push(b'\n');
    Ok(Answer::json(StatusCode::OK, body).with_header("etag", &tag))
}

/// Appends a local document.
pub fn write_local(document: &LocalDocument, out: &mut Vec<u8>) {
    let write_rev = |out: &mut Vec<u8>| out.extend_from_slice(document.rev.as_bytes());
    DocumentText::local(&document.id, write_rev, &document.body, out).end();
}

/// The JSON text of the revision that a COPY repeats, with its attachments whole and without what
/// makes it that revision.
///
/// # Errors
/// As [`get`].
pub fn source_of_copy(call: &Call, id: &str) -> Result<Vec<u8>, Failure> {
    let snapshot = call.database.documents.snapshot();
    if id.starts_with(varve_docdb::LOCAL_PREFIX) {
        return Ok(snapshot.local(id)?.ok_or_else(failures::missing)?.body);
    }
    let options = ReadOptions::parse(&call.request)?;
    let document = snapshot.document(id)?.ok_or_else(failures::missing)?;
    let (node, stored) = chosen(&document, &options)?;
    let shown = Shown {
        snapshot: &snapshot,
        id,
        rev: &node.rev,
        stored,
        document: None,
        extras: row_extras(false, true, true),
        whole_after: 0,
    };
    let mut text = Vec::new();
    shown.write(&mut text)?;
    let mut copied = varve_json::parse_object(&text)?;
    copied.remove("_id");
    copied.remove("_rev");
    text.clear();
    varve_json::write_object(&copied, &mut text);
    Ok(text)
}

/// What documents in rows and feeds carry beside their body.
pub fn row_extras(conflicts: bool, attachments: bool, att_encoding_info: bool) -> Extras {
    Extras {
        conflicts,
        attachments,
        att_encoding_info,
        ..Extras::default()
    }
}
