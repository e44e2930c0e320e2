//! `/_node/NAME`: what belongs to this server alone.

mod config;
mod secrets;
mod smoosh;
mod stats;
mod store;
mod system;

pub(super) use config::marked;
pub(super) use store::Change;
pub(crate) use store::NodeConfig;

use crate::couch::admin::{json, read_only};
use crate::http::blocking;
use crate::runtime::NODE_NAME;
use crate::runtime::metrics::{ServerFigures, prometheus_text};
use crate::{Answer, CouchContext, Failure, Request, UserContext};
use hyper::StatusCode;
use std::sync::Arc;
use varve_json::Object;

/// Names under which this server is asked: CouchDB's node without a cluster has the second one.
const NAMES: [&str; 3] = ["_local", "nonode@nohost", NODE_NAME];

/// Answers requests below `/_node`; the caller is an admin.
pub(super) async fn route(
    app: Arc<CouchContext>,
    request: Request,
    user: UserContext,
) -> Result<Answer, Failure> {
    let path = request.path();
    let ["_node", node, rest @ ..] = path.as_slice() else {
        return Err(Failure::not_found("missing"));
    };
    let own_name = app.databases.cluster().and_then(|view| view.own_name());
    if !NAMES.contains(node) && own_name.as_deref() != Some(*node) {
        return Err(Failure::not_found(format!("no such node: {node}")));
    }
    match rest {
        [] => {
            read_only(&request)?;
            let mut node = Object::new();
            node.insert("name", own_name.as_deref().unwrap_or(NODE_NAME));
            Ok(json(&node.into()))
        }
        ["_config", ..] => {
            let executor = app.executor();
            let pool = match request.is_read() {
                true => executor.reads.clone(),
                false => executor.commits.clone(),
            };
            blocking(&pool, move || {
                let path = request.path();
                let below = path.get(3..).unwrap_or_default();
                config::route(&app, &request, below, &user.name.unwrap_or_default())
            })
            .await
        }
        ["_prometheus"] => figures(&app, &request),
        ["_smoosh", below @ ..] => smoosh::route(&app, &request, below).await,
        ["_stats", below @ ..] => {
            only_get(&request)?;
            stats::route(&app, below)
        }
        ["_system"] => {
            only_get(&request)?;
            Ok(json(&system::describe(&app)))
        }
        ["_versions"] => {
            only_get(&request)?;
            let mut engine = Object::new();
            engine.insert("name", "quickjs");
            let mut versions = Object::new();
            versions.insert("javascript_engine", engine);
            versions.insert("varve", env!("CARGO_PKG_VERSION"));
            Ok(json(&versions.into()))
        }
        ["_restart"] => Err(Failure::forbidden(
            "This server is restarted by whatever started it, not over HTTP.",
        )),
        _ => Err(Failure::not_found("missing")),
    }
}

const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Figures in the text form of OpenMetrics for clients that name it, in the older one of Prometheus for others.
///
/// # Errors
/// 405 for all but reads.
pub(super) fn figures(app: &CouchContext, request: &Request) -> Result<Answer, Failure> {
    only_get(request)?;
    let server = app.server();
    server.metrics.set_figures(ServerFigures {
        uptime: server.started.elapsed(),
        open_databases: app.databases.count_open(),
        password_checks: app.auth.password_checks(),
        cluster: app.databases.cluster_figures(),
    });
    let text = server.metrics.encode();
    let (kind, text) = match request.accepts("application/openmetrics-text") {
        true => (OPEN_METRICS, text),
        false => (PROMETHEUS_TEXT, prometheus_text(&text)),
    };
    Ok(Answer::whole(StatusCode::OK, kind, text.into_bytes()))
}

fn only_get(request: &Request) -> Result<(), Failure> {
    match request.is_read() {
        true => Ok(()),
        false => Err(Failure::method_not_allowed("GET")),
    }
}
