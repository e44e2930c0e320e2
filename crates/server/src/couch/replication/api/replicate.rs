//! `POST /_replicate`: begins or ends a replication that no document asks for.

use super::super::error::ReplicationError;
use super::super::job::JobOrigin;
use super::super::local::LocalSide;
use super::super::peer::Peer;
use super::super::scheduler::next_outcome;
use crate::couch::admin::json;
use crate::http::FailureKind;
use crate::{Answer, CouchContext, Failure, Request, UserContext};
use hyper::header::{AUTHORIZATION, COOKIE};
use hyper::{Method, StatusCode};
use reqwest::Url;
use std::sync::Arc;
use varve_config::Replicator;
use varve_json::{Object, Value};
use varve_replicate::replicator::identity::ReplicationId;
use varve_replicate::replicator::{
    AskedServer, Cancellation, Parsed, ReplicationRequest, Selection,
};
use varve_views::selector::Selector;

/// Answers `POST /_replicate`: when the replication is over, or at once if it is continuous.
///
/// # Errors
/// 400 for a wrong request, 401 without a login, 404 for a replication that is to end and is not there, 500 for one that
/// failed.
pub(in crate::couch) async fn replicate(
    app: &Arc<CouchContext>,
    request: &Request,
    user: &UserContext,
) -> Result<Answer, Failure> {
    if request.method != Method::POST {
        return Err(Failure::method_not_allowed("POST"));
    }
    user.require_login()?;
    request.require_json()?;
    let members = varve_json::parse_object(&request.body)?;
    let settings = Arc::new(app.settings().replicator.clone());
    let here = asked_server(app, request);
    let parsed = ReplicationRequest::parse(&members, &settings, here.as_ref());
    let parsed = parsed.map_err(ReplicationError::from)?;
    let wanted = match parsed {
        Parsed::Start(wanted) => *wanted,
        Parsed::Cancel(which) => return cancel(app, which, user, &settings).await,
    };
    let id = identify(app, &wanted, &settings).await?;
    let (continuous, local_id) = (wanted.options.continuous, id.to_string());
    let origin = JobOrigin {
        user: user.name.clone(),
        document: None,
    };
    let job = app.replications.add(id, wanted, origin)?;
    if continuous {
        return Ok(accepted(&local_id, StatusCode::ACCEPTED));
    }
    match next_outcome(job.outcome()).await {
        Some(Ok(result)) => Ok(json(&result.into())),
        Some(Err(error)) => Err(error.into()),
        None => Err(Failure::internal("the replication was ended")),
    }
}

/// This server as the home of databases that a request names without a URL.
fn asked_server(app: &CouchContext, request: &Request) -> Option<AskedServer> {
    let listening = app.server().listening.get()?;
    let url = Url::parse(&format!("{}/", listening.url())).ok()?;
    let mut proof = Vec::new();
    for name in [AUTHORIZATION, COOKIE] {
        let values = request.headers.get_all(&name).iter();
        let values = values.filter_map(|value| value.to_str().ok());
        proof.extend(values.map(|value| (name.as_str().to_owned(), value.to_owned())));
    }
    Some(AskedServer { url, proof })
}

async fn cancel(
    app: &Arc<CouchContext>,
    which: Cancellation,
    user: &UserContext,
    settings: &Arc<Replicator>,
) -> Result<Answer, Failure> {
    let id = match which {
        Cancellation::Id(id) => id,
        Cancellation::Same(request) => identify(app, &request, settings).await?.to_string(),
    };
    let missing = || Failure::not_found("missing");
    let job = app.replications.get(&id).ok_or_else(missing)?;
    // Jobs of others, and those of documents, are ended by admins only.
    if job.origin.user != user.name || job.origin.document.is_some() {
        user.require_admin()?;
    }
    app.replications.remove(&job);
    Ok(accepted(&job.id.to_string(), StatusCode::OK))
}

fn accepted(id: &str, status: StatusCode) -> Answer {
    let mut members = Object::new();
    members.insert("ok", true);
    members.insert("_local_id", id);
    Answer {
        status,
        ..json(&members.into())
    }
}

/// The identity of a replication. That of one with a filter needs the function, from the source.
///
/// # Errors
/// [`ReplicationError::Filter`], [`ReplicationError::Selector`], or as of the request for the function.
pub(in crate::couch::replication) async fn identify(
    app: &Arc<CouchContext>,
    request: &ReplicationRequest,
    settings: &Arc<Replicator>,
) -> Result<ReplicationId, ReplicationError> {
    let (mut code, mut selector) = (None, None);
    match &request.options.selection {
        Selection::Filter { name, .. } if !name.starts_with('_') => {
            code = Some(filter_code(app, request, settings, name).await?);
        }
        Selection::Selector(given) => {
            let compiled = Selector::compile(&Value::Object(given.clone()));
            let compiled =
                compiled.map_err(|error| ReplicationError::Selector(error.to_string()))?;
            selector = Some(compiled.to_json());
        }
        _ => {}
    }
    let uuid = app.settings().uuid.clone().unwrap_or_default();
    Ok(ReplicationId::new(
        request,
        &uuid,
        code.as_deref(),
        selector.as_ref(),
    ))
}

/// The text of a filter function.
async fn filter_code(
    app: &Arc<CouchContext>,
    request: &ReplicationRequest,
    settings: &Arc<Replicator>,
    name: &str,
) -> Result<String, ReplicationError> {
    let options = &request.options;
    let limits = (options.timeout, options.retries, options.connections);
    let source = Peer::new(
        &request.source,
        app.replications.clients(),
        settings,
        limits,
    )?;
    let source = match LocalSide::find(app, &request.source).await {
        Some(local) => source.at(local),
        None => source,
    };
    let (design, function) = name.split_once('/').unwrap_or((name, ""));
    let url = source.name();
    let failed = |why: &str| {
        let words = format!(
            "Couldn't open document `_design/{design}` from source database `{url}`: {why}"
        );
        ReplicationError::Filter(words)
    };
    let document = source.document(&["_design", design]).await;
    let document = document.map_err(|error| failed(&error.to_string()))?;
    let document = document.ok_or_else(|| failed("not_found"))?;
    let code = document
        .get("filters")
        .and_then(|filters| filters.get(function));
    let code = code.and_then(Value::as_str).map(str::to_owned);
    code.ok_or_else(|| {
        let words = format!("Couldn't parse filter code from document {design} on `{url}`");
        ReplicationError::Filter(words)
    })
}

impl From<ReplicationError> for Failure {
    fn from(error: ReplicationError) -> Failure {
        let kind = match &error {
            ReplicationError::Request(_) | ReplicationError::Selector(_) => {
                return Failure::bad_request(error.to_string());
            }
            ReplicationError::Unauthorized(_) => FailureKind::Unauthorized,
            ReplicationError::HostNotAllowed(_) => FailureKind::Forbidden,
            ReplicationError::AlreadyStarted(_) => FailureKind::Conflict,
            _ => FailureKind::ReplicationFailed,
        };
        Failure::new(kind, error.word(), error.to_string())
    }
}
