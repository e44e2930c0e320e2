//! Documents of `_replicator` as `_scheduler/docs` shows them.

use super::super::is_replicator;
use super::stored::read_document;
use crate::{CouchContext, Failure};
use std::collections::BTreeSet;
use varve_btree::Direction;
use varve_docdb::DESIGN_PREFIX;
use varve_json::{Object, Value};

/// A document as a list shows it.
pub(in crate::couch::replication) struct ListedDocument {
    pub database: String,
    pub id: String,
    pub replication_id: Option<String>,
    pub source: Option<String>,
    pub target: Option<String>,
    pub state: Option<String>,
    pub info: Value,
    pub updated: Option<String>,
}

/// The documents of one of the databases, or of all.
pub(in crate::couch::replication) fn list_documents(
    app: &CouchContext,
    database: Option<&str>,
) -> Result<Vec<ListedDocument>, Failure> {
    let names = match database {
        Some(name) => vec![name.to_owned()],
        None => {
            let names = app.database_names()?.into_iter();
            names.filter(|name| is_replicator(name)).collect()
        }
    };
    let mut listed = Vec::new();
    for name in names {
        let database = app.databases.get(&name)?;
        let mut ids = BTreeSet::new();
        for change in database
            .documents
            .snapshot()
            .changes(0, Direction::Forward)?
        {
            let change = change?;
            if !change.stored.deleted && !change.id.starts_with(DESIGN_PREFIX) {
                ids.insert(change.id);
            }
        }
        for id in ids {
            if let Some(document) = read_document(&database, &id)? {
                listed.push(describe(app, &name, id, &document));
            }
        }
    }
    Ok(listed)
}

fn describe(app: &CouchContext, database: &str, id: String, document: &Object) -> ListedDocument {
    let text = |name: &str| {
        document
            .get(name)
            .and_then(Value::as_str)
            .map(str::to_owned)
    };
    let waiting = app
        .replications
        .waiting
        .reason(&(database.to_owned(), id.clone()));
    let mut state = text("_replication_state");
    let mut error = text("_replication_state_reason");
    if waiting.is_some() {
        state = Some("error".to_owned());
        error = waiting;
    }
    let info = match (error, document.get("_replication_stats")) {
        (Some(error), _) => {
            let mut info = Object::new();
            info.insert("error", error);
            info.into()
        }
        (None, Some(stats)) => stats.clone(),
        (None, None) => Value::Null,
    };
    ListedDocument {
        database: database.to_owned(),
        id,
        replication_id: text("_replication_id"),
        source: shown(document.get("source")),
        target: shown(document.get("target")),
        state,
        info,
        updated: text("_replication_state_time"),
    }
}

/// An endpoint without its password.
fn shown(endpoint: Option<&Value>) -> Option<String> {
    let text = match endpoint? {
        Value::String(text) => text.as_str(),
        other => other.get("url")?.as_str()?,
    };
    let Ok(mut url) = reqwest::Url::parse(text) else {
        return Some(text.to_owned());
    };
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Some(url.to_string())
}
