//! Endpoints of the whole server: welcome, sessions, lists, tasks, configuration.

pub(crate) mod compaction;
mod node;
mod session;
mod setup;
pub(crate) mod shards;
mod uuids;
mod welcome;

pub(crate) use node::NodeConfig;
pub(crate) use uuids::Uuids;

use crate::auth::Login;
use crate::couch::database::listing;
use crate::couch::{replication, search};
use crate::http::blocking;
use crate::{Answer, CouchContext, Failure, Request, couch};
use hyper::{Method, StatusCode};
use std::sync::Arc;
use varve_json::Value;

/// First path segments that belong to the server and not to a database.
const OWN: &[&str] = &[
    "_active_tasks",
    "_cluster_setup",
    "_metrics",
    "_reload_query_servers",
    "_reshard",
    "_all_dbs",
    "_db_updates",
    "_dbs_info",
    "_membership",
    "_node",
    "_replicate",
    "_scheduler",
    "_session",
    "_up",
    "_uuids",
    "_utils",
    "_search_analyze",
    "_nouveau_analyze",
    "favicon.ico",
];

/// Whether the request is for the server itself.
pub(crate) fn claims(request: &Request) -> bool {
    let first = request.segments.first();
    is_about_the_server(first.map_or("", String::as_str))
}

/// Whether a path with this first segment is about the server itself.
pub(crate) fn is_about_the_server(first: &str) -> bool {
    first.is_empty() || OWN.contains(&first)
}

/// Answers requests that [`claims`] took.
pub(crate) async fn route(
    app: Arc<CouchContext>,
    request: Request,
    login: Login,
) -> Result<Answer, Failure> {
    let path = request.path();
    match path.as_slice() {
        [] => welcome::welcome(&app, &request),
        ["_up"] => welcome::up(&app, &request),
        ["favicon.ico"] => welcome::favicon(&request),
        ["_uuids"] => uuids::route(&app, &request),
        ["_session"] => session::route(&app, &request, login).await,
        ["_all_dbs"] => listing::all(app, request, &login.user).await,
        ["_db_updates"] => couch::db_updates(app, request, login.user).await,
        ["_dbs_info"] => listing::info(app, request, login.user).await,
        ["_active_tasks"] => {
            read_only(&request)?;
            login.user.require_admin()?;
            let tasks = match app.tasks().list() {
                Value::Array(tasks) => tasks,
                _ => Vec::new(),
            };
            let all = tasks
                .into_iter()
                .chain(replication::api::active_tasks(&app));
            Ok(json(&all.collect()))
        }
        ["_membership"] => {
            read_only(&request)?;
            login.user.require_admin()?;
            Ok(welcome::membership(&app))
        }
        ["_cluster_setup"] => {
            login.user.require_admin()?;
            let pool = app.executor().commits.clone();
            blocking(&pool, move || {
                setup::route(&app, &request, &login.user.name.unwrap_or_default())
            })
            .await
        }
        ["_metrics"] => {
            login.user.require_admin()?;
            node::figures(&app, &request)
        }
        ["_reload_query_servers"] => {
            login.user.require_admin()?;
            // Engines are made anew for each piece of work.
            match request.method {
                Method::POST => Ok(Answer::ok(StatusCode::OK)),
                _ => Err(Failure::method_not_allowed("POST")),
            }
        }
        ["_replicate"] => replication::api::replicate(&app, &request, &login.user).await,
        ["_scheduler", ..] => {
            login.user.require_admin()?;
            replication::api::scheduler(&app, &request).await
        }
        ["_reshard", rest @ ..] => {
            login.user.require_admin()?;
            shards::reshard(&request, rest)
        }
        ["_search_analyze"] => Err(search::refused(search::Service::Clouseau)),
        ["_nouveau_analyze"] if request.method != Method::POST => {
            Err(Failure::method_not_allowed("POST"))
        }
        ["_nouveau_analyze"] => Err(search::refused(search::Service::Nouveau)),
        ["_node", ..] => {
            login.user.require_admin()?;
            node::route(app, request, login.user).await
        }
        _ => Err(Failure::not_found("missing")),
    }
}

/// A 200 with JSON and its line end.
pub(crate) fn json(value: &Value) -> Answer {
    let mut body = Vec::new();
    varve_json::write(value, &mut body);
    body.push(b'\n');
    Answer::json(StatusCode::OK, body)
}

pub(crate) fn read_only(request: &Request) -> Result<(), Failure> {
    if request.is_read() {
        Ok(())
    } else {
        Err(Failure::method_not_allowed("GET,HEAD"))
    }
}
