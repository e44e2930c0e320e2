//! Single documents are read.

use std::collections::HashSet;
use std::sync::Arc;

use hyper::StatusCode;
use varve_docdb::{Document, DocumentText, Edit, LocalDocument, Node, Rev, Snapshot, Stored};

use crate::couch::call::Call;
use crate::couch::document::options::{Data, Extras, OpenRevs, ReadOptions};
use crate::couch::document::parts;
use crate::couch::document::parts::StoredRevision;
use crate::couch::{etag, failures};
use crate::{Answer, Failure};

/// Documents whose attachments are longer than this are sent while they are read.
const LONG: u64 = 64 << 10;

/// Room for `_id` and `_rev`.
const ADDED_MEMBERS: usize = 128;

/// Answers `GET /{db}/{id}`.
///
/// # Errors
/// 404 if there is no such document or revision, 400 for an invalid revision.
pub fn get(call: &Call, id: &str) -> Result<Answer, Failure> {
    let mut options = ReadOptions::parse(&call.request)?;
    let snapshot = call.snapshot();
    let document = snapshot.document(id)?;
    call.app.server().metrics.couch.reads.inc();
    if let Some(open_revs) = &options.open_revs {
        call.reads.refuse_long_work(true)?;
        return open(call, snapshot, document, open_revs, &options);
    }
    let document = document.ok_or_else(failures::missing)?;
    let (node, stored) = chosen(&document, &options)?;
    let tag = etag::of_revision(&node.rev.to_string());
    let tagged = !options.extras.has_meta();
    if tagged && etag::matches(&call.request, &tag) {
        return Ok(etag::not_modified(&tag));
    }
    let has_data = options.extras.attachments != Data::Stubs && stored.attachments.is_some();
    call.reads.refuse_long_work(has_data)?;
    let in_parts = has_data && call.request.accepts_parts("multipart/related");
    if in_parts {
        options.extras = options.extras.with_parts();
    }
    let external = stored.external;
    let source = StoredRevision {
        rev: node.rev.clone(),
        extras: options.extras,
        whole_after: whole_after(&document, options.atts_since.as_deref())?,
        snapshot,
        document: Arc::new(document),
    };
    let has_meta = source.has_meta();
    // A document that was stored as long is not believed to be.
    let usual_length = usize::try_from(external.min(LONG)).unwrap_or(0) + ADDED_MEMBERS;
    let answer = match () {
        () if in_parts => source.in_parts(call)?,
        () if has_data && source.data_length()? > LONG => {
            call.stream("application/json", move |mut writer| async move {
                source.shown()?.write(&mut writer).await?;
                writer.write(b"\n").await?;
                Ok(writer.finish())
            })?
        }
        () => {
            let mut body = Vec::with_capacity(usual_length);
            source.shown()?.write_whole(&mut body)?;
            body.push(b'\n');
            Answer::json(StatusCode::OK, body)
        }
    };
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
pub fn whole_after(document: &Document, since: Option<&[String]>) -> Result<u64, Failure> {
    let mut highest = 0;
    for text in since.unwrap_or_default() {
        let rev: Rev = text.parse()?;
        if document.tree().find(&rev).is_some() {
            highest = highest.max(rev.generation);
        }
    }
    Ok(highest)
}

/// One revision in the answer to `open_revs` or `_bulk_get`.
pub enum Opened {
    /// The revision is there.
    Found(Rev),
    /// Text of a revision that is not there.
    Missing(String),
}

/// The leaves of a document, or the revisions that are listed.
///
/// # Errors
/// 400 for an invalid revision.
pub fn opened(
    document: Option<&Document>,
    open_revs: &OpenRevs,
    latest: bool,
) -> Result<Vec<Opened>, Failure> {
    let mut found = Vec::new();
    let listed = match (open_revs, document) {
        (OpenRevs::All, None) => return Ok(found),
        (OpenRevs::All, Some(document)) => {
            // CouchDB lists leaves in ascending order.
            let mut leaves: Vec<&Node> = document.tree().leaves().collect();
            leaves.reverse();
            let readable = leaves.into_iter().filter(|leaf| leaf.stored.is_some());
            return Ok(readable
                .map(|leaf| Opened::Found(leaf.rev.clone()))
                .collect());
        }
        (OpenRevs::Listed(listed), _) => listed,
    };
    // Leaves above several of the listed revisions count once, or a short list would name very many.
    let mut named = HashSet::new();
    for text in listed {
        let rev: Rev = text.parse()?;
        let nodes = document.map(|document| nodes_of(document, &rev, latest));
        let mut nodes = nodes.unwrap_or_default();
        nodes.retain(|node| node.stored.is_some());
        if nodes.is_empty() {
            found.push(Opened::Missing(text.clone()));
        }
        nodes.retain(|node| !latest || named.insert(&node.rev));
        found.extend(nodes.iter().map(|node| Opened::Found(node.rev.clone())));
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
    snapshot: Snapshot,
    document: Option<Document>,
    open_revs: &OpenRevs,
    options: &ReadOptions,
) -> Result<Answer, Failure> {
    if document.is_none() && *open_revs == OpenRevs::All {
        return Err(failures::missing());
    }
    let all = opened(document.as_ref(), open_revs, options.latest)?;
    let whole_after = match &document {
        Some(document) => whole_after(document, options.atts_since.as_deref())?,
        None => 0,
    };
    let extras = options.extras;
    let document = document.map(Arc::new);
    let source = move |rev: Rev| -> Result<StoredRevision, Failure> {
        Ok(StoredRevision {
            snapshot: snapshot.clone(),
            document: document.clone().ok_or_else(failures::missing)?,
            rev,
            extras,
            whole_after,
        })
    };
    if call.request.accepts_parts("multipart/mixed") {
        return parts::mixed(call, "multipart/mixed", move |mut outer| async move {
            for one in all {
                match one {
                    Opened::Found(rev) => {
                        let mut source = source(rev)?;
                        source.extras = source.extras.with_parts();
                        outer.document(&source, &[]).await?;
                    }
                    Opened::Missing(rev) => outer.error(&missing_text(&rev)).await?,
                }
            }
            outer.end().await
        });
    }
    call.stream("application/json", move |mut writer| async move {
        writer.write(b"[").await?;
        for (index, one) in all.into_iter().enumerate() {
            if index > 0 {
                writer.write(b",").await?;
            }
            match one {
                Opened::Found(rev) => {
                    writer.write(b"{\"ok\":").await?;
                    source(rev)?.shown()?.write(&mut writer).await?;
                    writer.write(b"}").await?;
                }
                Opened::Missing(rev) => writer.write(&missing_text(&rev)).await?,
            }
        }
        writer.write(b"]\n").await?;
        Ok(writer.finish())
    })
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
    let snapshot = call.snapshot();
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

/// An edit with the content that a COPY is to repeat.
///
/// # Errors
/// As [`get`].
pub fn source_of_copy(call: &Call, id: &str) -> Result<Edit, Failure> {
    let snapshot = call.snapshot();
    if id.starts_with(varve_docdb::LOCAL_PREFIX) {
        let local = snapshot.local(id)?.ok_or_else(failures::missing)?;
        return Ok(Edit::parse(Some(id), &local.body)?);
    }
    let options = ReadOptions::parse(&call.request)?;
    let document = snapshot.document(id)?.ok_or_else(failures::missing)?;
    let (node, stored) = chosen(&document, &options)?;
    let mut edit = snapshot.continued(id, Some(&node.rev))??;
    if stored.deleted {
        edit.delete();
    }
    Ok(edit)
}

/// Members of documents in rows and feeds, beside their body.
pub fn row_extras(conflicts: bool, attachments: bool, att_encoding_info: bool) -> Extras {
    Extras {
        conflicts,
        attachments: Data::inline(attachments),
        att_encoding_info,
        ..Extras::default()
    }
}
