//! `_index`: json indexes are listed, made and removed.

use std::fmt::Write;

use hyper::Method;
use sha1::{Digest, Sha1};
use varve_docdb::{DESIGN_PREFIX, Edit, Mode, Rev, Snapshot};
use varve_json::{Object, Value};
use varve_views::find::{FindError, JsonIndex, NewIndex, all_docs_to_json};

use crate::couch::call::Call;
use crate::couch::document::text::text_of;
use crate::couch::document::write::apply;
use crate::couch::failures;
use crate::couch::find::{body_of, json};
use crate::http::FailureKind;
use crate::{Answer, Failure};

/// Answers GET and POST of `/{db}/_index`.
///
/// # Errors
/// 400 for an invalid definition of an index; 401 or 403 without the right to write.
pub fn index(call: &Call) -> Result<Answer, Failure> {
    match call.request.method == Method::POST {
        true => make(call),
        false => list(call),
    }
}

fn list(call: &Call) -> Result<Answer, Failure> {
    let indexes = call.database.definitions.of(&call.designs())?;
    let all = std::iter::once(all_docs_to_json()).chain(indexes.iter().map(JsonIndex::to_json));
    let shown = all
        .skip(count(call, "skip")?.unwrap_or(0))
        .take(count(call, "limit")?.unwrap_or(usize::MAX));
    let mut out = Object::new();
    out.insert("total_rows", indexes.len() as u64 + 1);
    out.insert("indexes", shown.collect::<Vec<_>>());
    Ok(json(out))
}

fn count(call: &Call, name: &str) -> Result<Option<usize>, Failure> {
    let Some(text) = call.request.query(name) else {
        return Ok(None);
    };
    // As in CouchDB, a semicolon ends an option too.
    let text = text.split(';').next().unwrap_or_default();
    let reason = || format!("Invalid value for {name}: {text}");
    let number = text.parse().map(Some);
    number.map_err(|_| Failure::new(FailureKind::BadRequest, "invalid_value", reason()))
}

fn make(call: &Call) -> Result<Answer, Failure> {
    call.check_writer()?;
    let new = NewIndex::read(&body_of(call)?)?;
    let id = match &new.design {
        Some(id) => id.clone(),
        None => format!("{DESIGN_PREFIX}{}", name_of(&new)),
    };
    let name = new.name.clone().unwrap_or_else(|| name_of(&new));
    let snapshot = call.snapshot();
    let mut document = match design(&snapshot, &id)? {
        Some((_, document)) => document,
        None => {
            let mut document = Object::new();
            document.insert("_id", id.as_str());
            document
        }
    };
    let is_new = new.add_to(&name, &mut document)?;
    if is_new {
        save(call, document)?;
    }
    let mut out = Object::new();
    out.insert("result", if is_new { "created" } else { "exists" });
    out.insert("id", id);
    out.insert("name", name);
    Ok(json(out))
}

/// The name of an index that the client gave none.
fn name_of(new: &NewIndex) -> String {
    let mut name = String::new();
    for byte in Sha1::digest(new.identity()) {
        // Writing to a string cannot fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

/// Answers `DELETE /{db}/_index/{ddoc}/json/{name}`. With its last index the design document goes.
///
/// # Errors
/// 404 if there is no such index; 401 or 403 without the right to write.
pub fn delete(call: &Call, design_name: &str, kind: &str, name: &str) -> Result<Answer, Failure> {
    call.check_writer()?;
    let id = id_of(design_name);
    let snapshot = call.snapshot();
    let (rev, mut document) = design(&snapshot, &id)?.ok_or_else(failures::missing)?;
    let known = JsonIndex::of_design(&id, &document, snapshot.is_partitioned());
    if kind != "json" || !known.iter().any(|index| index.name() == name) {
        return Err(failures::missing());
    }
    if let Some(Value::Object(views)) = document.get_mut("views") {
        views.remove(name);
    }
    let views = document.get("views").and_then(Value::as_object);
    let is_own = |name| ["_id", "_rev", "language", "views"].contains(&name);
    let is_all = document.iter().all(|(name, _)| is_own(name));
    match is_all && views.is_none_or(Object::is_empty) {
        true => remove(call, &id, &rev)?,
        false => save(call, document)?,
    }
    Ok(Answer::ok(hyper::StatusCode::OK))
}

/// Answers `POST /{db}/_index/_bulk_delete`: whole design documents of indexes go.
///
/// # Errors
/// 400 without a list of ids; 401 or 403 without the right to write.
pub fn delete_many(call: &Call) -> Result<Answer, Failure> {
    call.check_writer()?;
    let body = body_of(call)?;
    let ids = body.get("docids");
    let ids = ids.ok_or(FindError::Missing { key: "docids" })?;
    let invalid = || {
        let given = varve_json::to_string(ids);
        let reason = format!("Bulk Delete requires an array of non-null docids. Docids: {given}");
        Failure::new(FailureKind::BadRequest, "invalid_bulk_docs", reason)
    };
    let names = ids.as_array().ok_or_else(invalid)?.iter();
    let names = names.map(|name| {
        name.as_str().ok_or_else(|| {
            let reason = format!("Invalid index name: {}", varve_json::to_string(name));
            Failure::new(FailureKind::BadRequest, "invalid_index_name", reason)
        })
    });
    let names = names.collect::<Result<Vec<_>, _>>()?;
    if let Some((key, _)) = body.iter().find(|(key, _)| !["docids", "w"].contains(key)) {
        let key = key.to_owned();
        return Err(FindError::UnknownKey { key }.into());
    }
    let snapshot = call.snapshot();
    let (mut success, mut fail) = (Vec::new(), Vec::new());
    for name in names {
        let mut told = Object::new();
        told.insert("id", name);
        match delete_design(call, &snapshot, name) {
            Ok(()) => {
                told.insert("ok", true);
                success.push(Value::Object(told));
            }
            Err(failure) => {
                told.insert("error", failure.error);
                fail.push(Value::Object(told));
            }
        }
    }
    let mut out = Object::new();
    out.insert("success", success);
    out.insert("fail", fail);
    Ok(json(out))
}

/// Only those of indexes: others are no matter of this request.
fn delete_design(call: &Call, snapshot: &Snapshot, name: &str) -> Result<(), Failure> {
    let id = id_of(name);
    let (rev, document) = design(snapshot, &id)?.ok_or_else(failures::missing)?;
    if document.get("language").and_then(Value::as_str) != Some("query") {
        return Err(FindError::Language.into());
    }
    remove(call, &id, &rev)
}

fn id_of(design: &str) -> String {
    match design.starts_with(DESIGN_PREFIX) {
        true => design.to_owned(),
        false => format!("{DESIGN_PREFIX}{design}"),
    }
}

/// A design document as it is now, with stubs of its attachments.
fn design(snapshot: &Snapshot, id: &str) -> Result<Option<(Rev, Object)>, Failure> {
    let Some(document) = snapshot.document(id)? else {
        return Ok(None);
    };
    let Some((rev, stored)) = document.winner().filter(|_| !document.is_deleted()) else {
        return Ok(None);
    };
    let text = text_of(snapshot, id, rev, stored)?;
    Ok(Some((rev.clone(), varve_json::parse_object(&text)?)))
}

fn save(call: &Call, document: Object) -> Result<(), Failure> {
    apply(call, Edit::new(None, document)?, Mode::Interactive).map(|_| ())
}

fn remove(call: &Call, id: &str, rev: &Rev) -> Result<(), Failure> {
    let edit = Edit::deletion(id, &rev.to_string())?;
    apply(call, edit, Mode::Interactive).map(|_| ())
}
