//! The parts of a database besides documents: security object, limits, local documents.

use super::super::error::ReplicationError;
use super::super::peer::PeerRequest;
use super::blocking;
use super::copy::DatabaseCopy;
use super::store::{self, CHECKPOINT};
use hyper::StatusCode;
use varve_docdb::{Edit, LOCAL_PREFIX};
use varve_json::{Object, Value};
use varve_replicate::ReplicateError;
use varve_replicate::import::is_of_nodes;

/// Local documents that one request asks for.
const LOCALS: usize = 200;

/// Copies them all; a server that does not have one of them leaves it as it is in a new database.
pub(super) async fn copy(copy: &DatabaseCopy) -> Result<(), ReplicateError> {
    let security = get(copy, "_security").await?;
    let revs = get(copy, "_revs_limit").await?.and_then(|it| it.as_u64());
    let purges = get(copy, "_purged_infos_limit").await?;
    let limits = (revs, purges.and_then(|it| it.as_u64()));
    let database = copy.database.clone();
    blocking(move || {
        if let Some(Value::Object(security)) = &security {
            store::set_security(&database, security)?;
        }
        store::set_limits(&database, limits)
    })
    .await?;
    locals(copy).await
}

/// Reads something of the database; `None` if the server does not know it.
async fn get(copy: &DatabaseCopy, what: &str) -> Result<Option<Value>, ReplicateError> {
    known(copy.peer.json(&PeerRequest::get(&[what])).await)
}

fn known(answer: Result<Value, ReplicationError>) -> Result<Option<Value>, ReplicateError> {
    match answer {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if matches!(
                error.status(),
                Some(
                    StatusCode::NOT_FOUND
                        | StatusCode::BAD_REQUEST
                        | StatusCode::METHOD_NOT_ALLOWED
                )
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Copies the local documents that the server lists.
async fn locals(copy: &DatabaseCopy) -> Result<(), ReplicateError> {
    let mut last: Option<String> = None;
    loop {
        let mut request = PeerRequest::get(&["_local_docs"])
            .with("include_docs", "true")
            .with("limit", LOCALS.to_string());
        if let Some(last) = &last {
            request = request.with(
                "startkey",
                varve_json::to_string(&Value::from(last.as_str())),
            );
        }
        let Some(answer) = known(copy.peer.json(&request).await)? else {
            return Ok(());
        };
        let rows = answer.get("rows").and_then(Value::as_array);
        let rows = rows.unwrap_or_default();
        let (mut found, mut next) = (Vec::new(), None);
        for row in rows {
            let Some(Value::Object(doc)) = row.get("doc") else {
                continue;
            };
            let id = doc.get("_id").and_then(Value::as_str);
            let Some(id) = id.filter(|id| id.starts_with(LOCAL_PREFIX)) else {
                continue;
            };
            if last.as_deref().is_some_and(|last| id <= last) {
                continue;
            }
            next = Some(id.to_owned());
            if !is_of_nodes(id) && id != CHECKPOINT {
                found.push(edit_of(doc)?);
            }
        }
        let database = copy.database.clone();
        blocking(move || {
            let mut all = found.into_iter();
            all.try_for_each(|edit| store::put_local(&database, edit))
        })
        .await?;
        match next {
            Some(next) if rows.len() >= LOCALS => last = Some(next),
            _ => return Ok(()),
        }
    }
}

/// The edit that gives a local document its revision, because writing counts the number up.
fn edit_of(doc: &Object) -> Result<Edit, ReplicateError> {
    let mut doc = doc.clone();
    let number = doc.get("_rev").and_then(Value::as_str);
    let number = number.and_then(|rev| rev.strip_prefix("0-")?.parse::<u64>().ok());
    doc.remove("_rev");
    if let Some(before) = number.and_then(|number| number.checked_sub(1)) {
        doc.insert("_rev", format!("0-{before}").as_str());
    }
    Ok(Edit::new(None, doc)?)
}
