//! `_scheduler/jobs` and `_scheduler/docs`.

use super::super::documents::{ListedDocument, list_documents};
use super::super::job::{Job, JobPhase, timestamp};
use crate::couch::admin::{json, read_only};
use crate::http::blocking;
use crate::runtime::NODE_NAME;
use crate::{Answer, CouchContext, Failure, Request};
use std::sync::Arc;
use varve_json::{Object, Value};
use varve_replicate::replicator::Endpoint;

/// Most rows of a page.
const MOST_ROWS: usize = 10_000;

/// Answers what stands below `_scheduler`.
///
/// # Errors
/// 400 for a wrong parameter, 404 for what is not there.
pub(in crate::couch) async fn scheduler(
    app: &Arc<CouchContext>,
    request: &Request,
) -> Result<Answer, Failure> {
    read_only(request)?;
    let path = request.path();
    let missing = || Failure::not_found("missing");
    match path.get(1..).unwrap_or_default() {
        ["jobs"] => {
            let jobs = app.replications.all();
            let rows = jobs.iter().map(|job| job_row(job)).collect();
            page(request, rows, "jobs").map(|list| json(&list))
        }
        ["jobs", id] => {
            let job = app.replications.get(id).ok_or_else(missing)?;
            Ok(json(&job_row(&job)))
        }
        ["docs"] => docs(app, request, None).await,
        // Both `_scheduler/docs/a%2F_replicator` and `_scheduler/docs/a/_replicator` are known.
        ["docs", rest @ ..] => {
            let names = rest
                .iter()
                .position(|part| part.rsplit('/').next() == Some("_replicator"));
            let (database, id) = rest.split_at(names.ok_or_else(missing)? + 1);
            let database = database.join("/");
            match id {
                [] => docs(app, request, Some(database)).await,
                id => {
                    let id = id.join("/");
                    let found = listed(app, Some(database)).await?;
                    let found = found.iter().find(|doc| doc.id == id);
                    let found = found.ok_or_else(missing)?;
                    let job = app.replications.of_document(&found.database, &found.id);
                    Ok(json(&doc_row(job.as_deref(), found)))
                }
            }
        }
        _ => Err(missing()),
    }
}

async fn listed(
    app: &Arc<CouchContext>,
    database: Option<String>,
) -> Result<Vec<ListedDocument>, Failure> {
    let of = Arc::clone(app);
    blocking(&app.executor().reads, move || {
        list_documents(&of, database.as_deref())
    })
    .await
}

async fn docs(
    app: &Arc<CouchContext>,
    request: &Request,
    database: Option<String>,
) -> Result<Answer, Failure> {
    let found = listed(app, database).await?;
    let jobs = app.replications.by_document();
    let rows = found.iter().map(|doc| {
        let job = jobs.get(&(doc.database.clone(), doc.id.clone()));
        doc_row(job.map(Arc::as_ref), doc)
    });
    let states: Option<Vec<String>> = request
        .query("states")
        .map(|states| states.split(',').map(str::to_owned).collect());
    let is_wanted = |row: &Value| {
        let state = row.get("state").and_then(Value::as_str);
        let wanted = states.as_ref();
        wanted.is_none_or(|states| states.iter().any(|one| Some(one.as_str()) == state))
    };
    let rows = rows.filter(is_wanted).collect();
    page(request, rows, "docs").map(|list| json(&list))
}

/// Cuts a list as `limit` and `skip` say.
fn page(request: &Request, rows: Vec<Value>, name: &str) -> Result<Value, Failure> {
    let number = |name: &str, usual: usize| match request.query(name) {
        None => Ok(usual),
        Some(text) => text.parse().map_err(|_| {
            Failure::bad_request(format!("`{name}` is not a non-negative number: {text}"))
        }),
    };
    let (skip, limit) = (number("skip", 0)?, number("limit", 100)?);
    let mut list = Object::new();
    list.insert("total_rows", rows.len() as u64);
    list.insert("offset", skip.min(rows.len()) as u64);
    let rows = rows.into_iter().skip(skip).take(limit.min(MOST_ROWS));
    list.insert(name, Value::from_iter(rows));
    Ok(list.into())
}

/// The entries of `_active_tasks` for jobs that run.
pub(in crate::couch) fn active_tasks(app: &CouchContext) -> Vec<Value> {
    let running = app.replications.running();
    running.iter().map(|job| task(job)).collect()
}

fn task(job: &Job) -> Value {
    let options = &job.request.options;
    let document = job.origin.document.as_ref();
    let mut row = Object::new();
    row.insert("node", NODE_NAME);
    row.insert("pid", PID);
    row.insert("type", "replication");
    row.insert("user", text_or_null(job.origin.user.as_deref()));
    row.insert("replication_id", job.id.to_string());
    row.insert(
        "database",
        text_or_null(document.map(|(name, _)| name.as_str())),
    );
    row.insert("doc_id", text_or_null(document.map(|(_, id)| id.as_str())));
    row.insert("source", job.request.source.shown());
    row.insert("target", job.request.target.shown());
    row.insert("continuous", options.continuous);
    let interval = options.checkpoint_interval.as_millis();
    row.insert(
        "checkpoint_interval",
        u64::try_from(interval).unwrap_or(u64::MAX),
    );
    for (name, value) in job.info().to_json() {
        row.insert(name, value);
    }
    row.insert("started_on", job.started);
    row.insert("updated_on", job.view().updated);
    row.into()
}

fn text_or_null(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::from)
}

fn job_row(job: &Job) -> Value {
    let view = job.view();
    let mut row = Object::new();
    let document = job.origin.document.as_ref();
    row.insert(
        "database",
        text_or_null(document.map(|(name, _)| name.as_str())),
    );
    row.insert("id", job.id.to_string());
    row.insert("pid", pid(job));
    row.insert("source", job.request.source.shown());
    row.insert("target", job.request.target.shown());
    row.insert("user", text_or_null(job.origin.user.as_deref()));
    row.insert("doc_id", text_or_null(document.map(|(_, id)| id.as_str())));
    row.insert("info", view.info);
    row.insert("history", view.history);
    row.insert("node", NODE_NAME);
    row.insert("start_time", timestamp(job.started));
    row.into()
}

/// There are no processes; a job that runs has something in their place, as clients look for it.
const PID: &str = "<0.0.0>";

fn pid(job: &Job) -> Value {
    match job.phase() {
        JobPhase::Running => PID.into(),
        _ => Value::Null,
    }
}

fn doc_row(job: Option<&Job>, doc: &ListedDocument) -> Value {
    let mut row = Object::new();
    row.insert("database", doc.database.as_str());
    row.insert("doc_id", doc.id.as_str());
    row.insert("node", NODE_NAME);
    match job {
        Some(job) => {
            let view = job.view();
            let state = match view.phase {
                JobPhase::Running => "running",
                JobPhase::Pending if view.crashes > 0 => "crashing",
                JobPhase::Pending => "pending",
                JobPhase::Completed => "completed",
            };
            let proxy = |endpoint: &Endpoint| {
                let proxy = endpoint.proxy.as_ref();
                text_or_null(proxy.map(|url| url.host_str().unwrap_or_default()))
            };
            row.insert("id", job.id.to_string());
            row.insert("source", job.request.source.shown());
            row.insert("target", job.request.target.shown());
            row.insert("source_proxy", proxy(&job.request.source));
            row.insert("target_proxy", proxy(&job.request.target));
            row.insert("state", state);
            row.insert("info", view.info);
            row.insert("error_count", u64::from(view.crashes));
            row.insert("last_updated", timestamp(view.updated));
            row.insert("start_time", timestamp(job.started));
        }
        None => {
            row.insert("id", text_or_null(doc.replication_id.as_deref()));
            row.insert("source", text_or_null(doc.source.as_deref()));
            row.insert("target", text_or_null(doc.target.as_deref()));
            row.insert("source_proxy", Value::Null);
            row.insert("target_proxy", Value::Null);
            row.insert("state", doc.state.as_deref().unwrap_or("initializing"));
            row.insert("info", doc.info.clone());
            row.insert(
                "error_count",
                u64::from(doc.state.as_deref() == Some("failed")),
            );
            row.insert("last_updated", text_or_null(doc.updated.as_deref()));
            row.insert("start_time", text_or_null(doc.updated.as_deref()));
        }
    }
    row.into()
}
