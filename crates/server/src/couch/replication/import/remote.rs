//! Requests to the server that is imported from.

use super::super::database::ChangesQuery;
use super::super::error::ReplicationError;
use super::super::peer::{Clients, Peer, PeerRequest};
use super::ServerImport;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use varve_config::Replicator;
use varve_json::{Object, Value};
use varve_replicate::ReplicateError;
use varve_replicate::replicator::{Endpoint, Selection};

/// Names that one `_dbs_info` asks for: CouchDB takes no more.
const INFOS: usize = 100;

impl From<ReplicationError> for ReplicateError {
    fn from(error: ReplicationError) -> ReplicateError {
        match error {
            ReplicationError::NoAnswer { .. } => ReplicateError::Unreachable(error.to_string()),
            other => ReplicateError::Server(other.to_string()),
        }
    }
}

/// The server, and how it is spoken to.
#[derive(Debug)]
pub(super) struct RemoteServer {
    endpoint: Endpoint,
    server: Peer,
    clients: Clients,
    pub(super) settings: Arc<Replicator>,
    retries: u32,
}

impl RemoteServer {
    pub(super) fn new(request: &ServerImport) -> Result<RemoteServer, ReplicateError> {
        let settings = Arc::new(request.replicator.clone());
        let endpoint = Endpoint::from_url(&request.url, &settings.endpoint_protocols)?;
        if endpoint.url.query().is_some() || endpoint.url.fragment().is_some() {
            return Err(ReplicateError::Url { role: "server" });
        }
        let clients = Clients::default();
        let limits = limits(&settings, request.retries);
        let server = Peer::new(&endpoint, &clients, &settings, limits)?;
        Ok(RemoteServer {
            endpoint,
            server,
            clients,
            settings,
            retries: request.retries,
        })
    }

    /// Its URL without a password, with a slash at its end.
    pub(super) fn url(&self) -> &str {
        self.endpoint.shown()
    }

    /// A database of it.
    pub(super) fn database(&self, name: &str) -> Result<Peer, ReplicateError> {
        let mut endpoint = self.endpoint.clone();
        let escaped = utf8_percent_encode(name, NON_ALPHANUMERIC);
        let path = format!("{}{escaped}/", endpoint.url.path());
        endpoint.url.set_path(&path);
        let limits = limits(&self.settings, self.retries);
        Ok(Peer::new(&endpoint, &self.clients, &self.settings, limits)?)
    }

    /// Names of all databases.
    pub(super) async fn names(&self) -> Result<Vec<String>, ReplicateError> {
        let answer = self.server.json(&PeerRequest::get(&["_all_dbs"])).await?;
        let names = answer.as_array().map(|names| {
            let names = names.iter().map(|name| name.as_str().map(str::to_owned));
            names.collect::<Option<Vec<String>>>()
        });
        names
            .flatten()
            .ok_or_else(|| self.bad("_all_dbs is no list of names"))
    }

    /// The update sequences of databases; of those that the server does not have, none.
    pub(super) async fn update_seqs(
        &self,
        names: &[String],
    ) -> Result<HashMap<String, Value>, ReplicateError> {
        let mut found = HashMap::new();
        for names in names.chunks(INFOS) {
            let keys: Value = names
                .iter()
                .map(|name| Value::from(name.as_str()))
                .collect();
            let mut body = Object::new();
            body.insert("keys", keys);
            let body = varve_json::to_string(&Value::from(body)).into_bytes();
            let request = PeerRequest::post(&["_dbs_info"], body);
            let answer = match self.server.json(&request).await {
                Ok(answer) => answer,
                // CouchDB 1 has no such request.
                Err(error)
                    if matches!(error.status().map(|it| it.as_u16()), Some(400 | 404 | 405)) =>
                {
                    self.seqs_one_by_one(names, &mut found).await?;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            for row in answer.as_array().unwrap_or_default() {
                let name = row.get("key").and_then(Value::as_str);
                let seq = row.get("info").and_then(|info| info.get("update_seq"));
                if let (Some(name), Some(seq)) = (name, seq) {
                    found.insert(name.to_owned(), seq.clone());
                }
            }
        }
        Ok(found)
    }

    async fn seqs_one_by_one(
        &self,
        names: &[String],
        found: &mut HashMap<String, Value>,
    ) -> Result<(), ReplicateError> {
        for name in names {
            match self.database(name)?.info().await {
                Ok(info) => {
                    let seq = info.get("update_seq").cloned().unwrap_or(Value::Null);
                    found.insert(name.clone(), seq);
                }
                Err(ReplicationError::NoDatabase(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    fn bad(&self, reason: &str) -> ReplicateError {
        let error = ReplicationError::BadAnswer {
            url: self.url().to_owned(),
            reason: reason.to_owned(),
        };
        error.into()
    }
}

fn limits(settings: &Replicator, retries: u32) -> (Duration, u32, usize) {
    (settings.timeout, retries, settings.connections as usize)
}

/// A database as its server describes it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RemoteInfo {
    /// Tells this database from an earlier one of the same name, where the server does.
    pub(super) incarnation: Value,
    pub(super) update_seq: Value,
    pub(super) live: u64,
    pub(super) deleted: u64,
    pub(super) is_partitioned: bool,
    pub(super) has_access: bool,
    pub(super) file_bytes: u64,
}

impl RemoteInfo {
    pub(super) fn of(info: &Object) -> RemoteInfo {
        let number = |name: &str| info.get(name).and_then(Value::as_u64);
        let prop = |name: &str| {
            let props = info.get("props");
            props.and_then(|props| props.get(name)?.as_bool()) == Some(true)
        };
        let sizes = info
            .get("sizes")
            .and_then(|sizes| sizes.get("file")?.as_u64());
        let named = |name: &str| info.get(name).cloned();
        RemoteInfo {
            incarnation: named("instance_start_time").unwrap_or(Value::Null),
            update_seq: named("update_seq").unwrap_or(Value::Null),
            live: number("doc_count").unwrap_or(0),
            deleted: number("doc_del_count").unwrap_or(0),
            is_partitioned: prop("partitioned"),
            has_access: prop("access"),
            file_bytes: sizes.or(number("disk_size")).unwrap_or(0),
        }
    }

    /// Documents, deleted ones too.
    pub(super) fn documents(&self) -> u64 {
        self.live.saturating_add(self.deleted)
    }
}

/// The next changes with all leaves, of all documents or of some.
pub(super) fn changes<'a>(
    since: &'a Value,
    limit: usize,
    (selection, timeout): (&'a Selection, Duration),
) -> ChangesQuery<'a> {
    ChangesQuery {
        since,
        limit,
        selection,
        winning_revs_only: false,
        waits: false,
        timeout,
    }
}
