//! `_purge` removes revisions for good; `_purged_infos` lists the purges.

use std::collections::BTreeMap;

use hyper::{Method, StatusCode};
use varve_docdb::Rev;
use varve_json::Value;

use crate::couch::call::Call;
use crate::couch::changes::sequence::write_number;
use crate::couch::history;
use crate::couch::partitions;
use crate::{Answer, Failure};

/// Answers `POST /{db}/_purge`.
///
/// # Errors
/// 401 or 403 for all but the database's admins; 400 if the body is not an object of lists of
/// revisions, or has too many.
pub fn answer(call: &Call) -> Result<Answer, Failure> {
    call.check_admin()?;
    let Value::Object(asked) = call.json_body()? else {
        return Err(Failure::bad_request("Request body must be a JSON object"));
    };
    let mut wanted: BTreeMap<String, Vec<Rev>> = BTreeMap::new();
    let mut order = Vec::new();
    let snapshot = call.snapshot();
    for (id, revisions) in asked {
        partitions::check_id(&snapshot, &id)?;
        if history::is_about(call) {
            history::check_id(&id)?;
        }
        let texts = revisions.as_array().ok_or_else(|| {
            Failure::bad_request(format!("the revisions of {id:?} must be an array of texts"))
        })?;
        let revs = texts
            .iter()
            .map(|text| Ok(text.as_str().unwrap_or("").parse()?));
        let revs: Vec<Rev> = revs.collect::<Result<_, Failure>>()?;
        wanted.entry(id.clone()).or_default().extend(revs);
        order.push(id);
    }
    let settings = call.app.settings();
    let requests = &settings.requests;
    if wanted.len() as u64 > requests.purged_documents {
        return Err(Failure::bad_request(
            "Exceeded maximum number of documents.",
        ));
    }
    if wanted.values().map(Vec::len).sum::<usize>() as u64 > requests.purged_revisions {
        return Err(Failure::bad_request(
            "Exceeded maximum number of revisions.",
        ));
    }
    let mut purged = call.database.documents.purge(wanted)?;
    call.app.server().metrics.couch.purges.inc();
    let mut body = b"{\"purge_seq\":null,\"purged\":{".to_vec();
    let each = order.into_iter().filter_map(|id| purged.remove_entry(&id));
    for (index, (id, revs)) in each.enumerate() {
        if index > 0 {
            body.push(b',');
        }
        varve_json::write_string(&id, &mut body);
        body.push(b':');
        write_revs(&revs, &mut body);
    }
    body.extend_from_slice(b"}}\n");
    Ok(Answer::json(StatusCode::CREATED, body))
}

/// Answers `GET /{db}/_purged_infos`.
///
/// # Errors
/// 500 if the file cannot be read.
pub fn infos(call: &Call) -> Result<Answer, Failure> {
    let mut body = b"{\"purged_infos\":[".to_vec();
    let purges = call.snapshot().purges(0)?;
    for (index, purge) in purges.enumerate() {
        let purge = purge?;
        body.extend_from_slice(if index > 0 { b",{\"id\":" } else { b"{\"id\":" });
        varve_json::write_string(&purge.id, &mut body);
        body.extend_from_slice(b",\"revs\":");
        write_revs(&purge.revs, &mut body);
        body.push(b'}');
    }
    body.extend_from_slice(b"]}\n");
    Ok(Answer::json(StatusCode::OK, body))
}

/// Answers GET and PUT of `/{db}/_purged_infos_limit`.
///
/// # Errors
/// 401 or 403 for all but the database's admins; 400 if the limit is not a number above 0.
pub fn limit(call: &Call) -> Result<Answer, Failure> {
    let documents = &call.database.documents;
    if call.request.method == Method::PUT {
        call.check_admin()?;
        let limit = varve_json::parse(&call.request.body)?.as_u64();
        let limit = limit.filter(|limit| *limit > 0);
        documents.set_purges_limit(limit.ok_or_else(|| {
            Failure::bad_request("`purge_infos_limit` must be positive integer.")
        })?)?;
        return Ok(Answer::ok(StatusCode::OK));
    }
    let mut body = Vec::new();
    write_number(documents.snapshot().purges_limit()?, &mut body);
    body.push(b'\n');
    Ok(Answer::json(StatusCode::OK, body))
}

fn write_revs(revs: &[Rev], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, rev) in revs.iter().enumerate() {
        out.extend_from_slice(if index > 0 { b",\"" } else { b"\"" });
        rev.write(out);
        out.push(b'"');
    }
    out.push(b']');
}
