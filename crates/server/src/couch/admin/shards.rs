//! Shards as a single node has them: one of each database, which is never split.

use crate::couch::admin::{json, read_only};
use crate::couch::call::Call;
use crate::runtime::NODE_NAME;
use crate::{Answer, Failure, Request};
use hyper::{Method, StatusCode};
use varve_json::{Object, Value};

/// All hashes of ids.
const RANGE: &str = "00000000-ffffffff";

fn nodes() -> Value {
    Value::from(vec![Value::from(NODE_NAME)])
}

/// Answers `GET /{db}/_shards` and `GET /{db}/_shards/{id}`.
pub(crate) fn of_database(document: Option<&str>) -> Answer {
    let mut answer = Object::new();
    match document {
        Some(_) => {
            answer.insert("range", RANGE);
            answer.insert("nodes", nodes());
        }
        None => {
            let mut shards = Object::new();
            shards.insert(RANGE, nodes());
            answer.insert("shards", shards);
        }
    }
    json(&answer.into())
}

/// Answers `POST /{db}/_sync_shards`: there is nothing to be synced with.
///
/// # Errors
/// 401 or 403 for all but the database's admins.
pub(crate) fn sync(call: &Call) -> Result<Answer, Failure> {
    call.check_admin()?;
    Ok(Answer::ok(StatusCode::ACCEPTED))
}

/// Answers requests below `/_reshard`; the caller is an admin.
pub(super) fn reshard(request: &Request, path: &[&str]) -> Result<Answer, Failure> {
    let refused = || Failure::bad_request("Databases have one shard here, which is not split.");
    let mut answer = Object::new();
    match path {
        [] => {
            read_only(request)?;
            answer.insert("state", "running");
            answer.insert("state_reason", Value::Null);
            for count in ["completed", "failed", "running", "stopped", "total"] {
                answer.insert(count, 0u64);
            }
        }
        ["state"] if request.method == Method::PUT => {
            let body = varve_json::parse(&request.body)?;
            return match body.get("state").and_then(Value::as_str) {
                Some("running") => Ok(Answer::ok(StatusCode::OK)),
                _ => Err(refused()),
            };
        }
        ["state"] => {
            read_only(request)?;
            answer.insert("state", "running");
            answer.insert("reason", Value::Null);
        }
        ["jobs"] if request.method == Method::POST => return Err(refused()),
        ["jobs"] => {
            read_only(request)?;
            answer.insert("jobs", Value::from(Vec::new()));
            answer.insert("offset", 0u64);
            answer.insert("total_rows", 0u64);
        }
        _ => return Err(Failure::not_found("missing")),
    }
    Ok(json(&answer.into()))
}
