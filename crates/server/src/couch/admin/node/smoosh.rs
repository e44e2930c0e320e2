//! `_smoosh`: what compactions by the settings do, and whether they begin.
//!
//! CouchDB has `status` over HTTP; its `suspend`, `resume` and `enqueue` are functions for its console.

use crate::couch::admin::json;
use crate::http::blocking;
use crate::{Answer, CouchContext, Failure, Request};
use hyper::{Method, StatusCode};
use std::sync::Arc;
use varve_json::Object;

/// Answers requests below `_smoosh`.
///
/// # Errors
/// 404 for another path or a database that is not there, 405 for other methods, 400 for a body that names none.
pub(super) async fn route(
    app: &Arc<CouchContext>,
    request: &Request,
    below: &[&str],
) -> Result<Answer, Failure> {
    match below {
        ["status"] => {
            super::only_get(request)?;
            Ok(status(app))
        }
        [action @ ("suspend" | "resume")] => {
            only_post(request)?;
            app.smoosh.suspend(*action == "suspend");
            Ok(Answer::ok(StatusCode::OK))
        }
        ["enqueue"] => {
            only_post(request)?;
            enqueue(app, request).await
        }
        _ => Err(Failure::not_found("missing")),
    }
}

fn only_post(request: &Request) -> Result<(), Failure> {
    match request.method {
        Method::POST => request.require_json(),
        _ => Err(Failure::method_not_allowed("POST")),
    }
}

fn status(app: &CouchContext) -> Answer {
    let settings = app.settings();
    let smoosh = &settings.smoosh;
    let channels = smoosh.channels.iter().chain(&smoosh.view_channels);
    let mut status = Object::new();
    let described = app.smoosh.describe(channels.map(|it| it.name.as_str()));
    status.insert("channels", described);
    status.insert("suspended", app.smoosh.is_suspended());
    json(&status.into())
}

/// Has a database and its indexes looked at, as after a write to it.
async fn enqueue(app: &Arc<CouchContext>, request: &Request) -> Result<Answer, Failure> {
    let body = varve_json::parse(&request.body)?;
    let name = body.get("database").and_then(|name| name.as_str());
    let name = name.ok_or_else(|| Failure::bad_request("`database` must be a name."))?;
    let (databases, name) = (Arc::clone(&app.databases), name.to_owned());
    let mark = move || {
        databases
            .get(&name)
            .map(|database| database.to_compact.mark())
    };
    blocking(&app.executor().reads, mark).await?;
    Ok(Answer::ok(StatusCode::ACCEPTED))
}
