//! The JSON object that asks for a replication.

use super::endpoint::{AskedServer, Endpoint, parse_url};
use crate::ReplicateError;
use percent_encoding::percent_decode_str;
use std::time::Duration;
use url::Url;
use varve_config::Replicator;
use varve_json::{Object, Value};

/// A replication from one database to another.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicationRequest {
    /// The database that is read.
    pub source: Endpoint,
    /// The database that is written.
    pub target: Endpoint,
    /// Everything else that was asked for, or configured.
    pub options: ReplicationOptions,
}

/// How a replication works.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplicationOptions {
    /// Whether it waits for further changes when it has caught up.
    pub continuous: bool,
    /// Whether a missing target is made.
    pub create_target: bool,
    /// Query parameters of the request that makes it, such as `q` or `partitioned`.
    pub create_target_params: Vec<(String, String)>,
    /// Which documents are replicated.
    pub selection: Selection,
    /// Sequence at which it begins, whatever checkpoints say.
    pub since_seq: Option<Value>,
    /// Whether checkpoints are read and written.
    pub use_checkpoints: bool,
    /// Whether `_bulk_get` is tried.
    pub use_bulk_get: bool,
    /// Whether revisions in conflict stay behind.
    pub winning_revs_only: bool,
    /// Time between two checkpoints.
    pub checkpoint_interval: Duration,
    /// Batches that are under way at the same time.
    pub workers: usize,
    /// Changes of a batch.
    pub batch_size: usize,
    /// Requests to one side that are under way at the same time.
    pub connections: usize,
    /// Time within which something of an answer must arrive.
    pub timeout: Duration,
    /// How often a request is sent again that failed for a reason that may pass.
    pub retries: u32,
}

/// The documents that are replicated.
#[derive(Clone, Debug, PartialEq)]
pub enum Selection {
    /// All of them.
    All,
    /// Those with these ids; sorted, each once.
    Ids(Vec<String>),
    /// Those that a filter of the source lets pass.
    Filter {
        /// `DESIGN/NAME`, or a built-in one that begins with `_`.
        name: String,
        /// Query parameters that the filter sees.
        params: Object,
    },
    /// Those that match a selector.
    Selector(Object),
}

/// A request to `_replicate`.
#[derive(Clone, Debug, PartialEq)]
pub enum Parsed {
    /// A replication.
    Start(Box<ReplicationRequest>),
    /// The end of one.
    Cancel(Cancellation),
}

/// Which replication is to end.
#[derive(Clone, Debug, PartialEq)]
pub enum Cancellation {
    /// That of this id, with or without what follows a `+`.
    Id(String),
    /// The one that such a request has begun.
    Same(Box<ReplicationRequest>),
}

impl ReplicationRequest {
    /// Reads a request, or a document of `_replicator`; members that mean nothing are passed over, as in CouchDB. Only where
    /// `here` is given may databases be named without a URL: a document outlives the session of the user who wrote it.
    ///
    /// # Errors
    /// The first member that is wrong.
    pub fn parse(
        members: &Object,
        settings: &Replicator,
        here: Option<&AskedServer>,
    ) -> Result<Parsed, ReplicateError> {
        let cancels = boolean(members, "cancel")?.unwrap_or(false);
        let id = ["_local_id", "replication_id", "id"]
            .iter()
            .find_map(|name| members.get(name).and_then(Value::as_str));
        if let (true, Some(id)) = (cancels, id) {
            // A plus sign that was not escaped in a URL arrives as a space.
            return Ok(Parsed::Cancel(Cancellation::Id(id.replace(' ', "+"))));
        }
        let (source_proxy, target_proxy) = proxies(members, settings)?;
        let protocols = &settings.endpoint_protocols;
        let request = Box::new(ReplicationRequest {
            source: Endpoint::parse(members.get("source"), source_proxy, protocols, here)?,
            target: Endpoint::parse(members.get("target"), target_proxy, protocols, here)?,
            options: ReplicationOptions::parse(members, settings)?,
        });
        Ok(match cancels {
            true => Parsed::Cancel(Cancellation::Same(request)),
            false => Parsed::Start(request),
        })
    }
}

impl ReplicationOptions {
    fn parse(members: &Object, settings: &Replicator) -> Result<Self, ReplicateError> {
        let flag = |name, usual| boolean(members, name).map(|given| given.unwrap_or(usual));
        let count = |name, usual: u32| -> Result<usize, ReplicateError> {
            let count = number(members, name)?.unwrap_or_else(|| usual.into());
            Ok(usize::try_from(count.clamp(1, MOST)).unwrap_or(1))
        };
        let time = |name, usual: Duration| -> Result<Duration, ReplicateError> {
            let given = number(members, name)?.map(Duration::from_millis);
            Ok(given.map_or(usual, |time| time.clamp(SHORTEST_TIME, LONGEST_TIME)))
        };
        let retries = number(members, "retries_per_request")?;
        Ok(ReplicationOptions {
            continuous: flag("continuous", false)?,
            create_target: flag("create_target", false)?,
            create_target_params: target_params(members)?,
            selection: Selection::parse(members)?,
            since_seq: members
                .get("since_seq")
                .filter(|seq| !matches!(seq, Value::Null))
                .cloned(),
            use_checkpoints: flag("use_checkpoints", settings.use_checkpoints)?,
            use_bulk_get: flag("use_bulk_get", settings.use_bulk_get)?,
            winning_revs_only: flag("winning_revs_only", false)?,
            checkpoint_interval: time("checkpoint_interval", settings.checkpoint_interval)?,
            workers: count("worker_processes", settings.workers)?,
            batch_size: count("worker_batch_size", settings.batch_size)?,
            connections: count("http_connections", settings.connections)?,
            timeout: time("connection_timeout", settings.timeout)?,
            retries: retries.map_or(settings.retries, |count| {
                u32::try_from(count.min(MOST)).unwrap_or_default()
            }),
        })
    }
}

/// No time of an option is shorter: a checkpoint without a pause would keep a core busy.
const SHORTEST_TIME: Duration = Duration::from_millis(100);
/// No time of an option is longer: sums of times stay in range.
const LONGEST_TIME: Duration = Duration::from_secs(24 * 60 * 60);
/// No count of an option is larger: each costs memory.
const MOST: u64 = 10_000;

impl Selection {
    fn parse(members: &Object) -> Result<Selection, ReplicateError> {
        let given = |name: &str| {
            members
                .get(name)
                .filter(|value| !matches!(value, Value::Null))
        };
        let wrong = |name, expected| ReplicateError::Parameter { name, expected };
        let params = match given("query_params") {
            None => Object::new(),
            Some(Value::Object(params)) => params.clone(),
            Some(_) => return Err(wrong("query_params", "an object")),
        };
        match (given("doc_ids"), given("filter"), given("selector")) {
            (None, None, None) => Ok(Selection::All),
            (Some(Value::Array(ids)), None, None) => ids_of(ids).map(Selection::Ids),
            (Some(_), None, None) => Err(wrong("doc_ids", "an array")),
            (None, Some(Value::String(name)), None) => filter(name, params),
            (None, Some(_), None) => Err(ReplicateError::Filter),
            (None, None, Some(Value::Object(selector))) => {
                Ok(Selection::Selector(selector.clone()))
            }
            (None, None, Some(_)) => Err(wrong("selector", "a JSON object")),
            _ => Err(ReplicateError::Exclusive),
        }
    }
}

/// Ids may be escaped as in a URL.
fn ids_of(ids: &[Value]) -> Result<Vec<String>, ReplicateError> {
    let plain = |id: &Value| {
        let text = id.as_str()?;
        Some(percent_decode_str(text).decode_utf8_lossy().into_owned())
    };
    let ids: Option<Vec<String>> = ids.iter().map(plain).collect();
    let mut ids = ids.ok_or(ReplicateError::Parameter {
        name: "doc_ids",
        expected: "an array of texts",
    })?;
    ids.sort();
    ids.dedup();
    Ok(ids)
}

fn filter(name: &str, params: Object) -> Result<Selection, ReplicateError> {
    let is_view = name == "_view";
    let names_view = || {
        let view = params.get("view").and_then(Value::as_str);
        view.is_some_and(|view| view.split('/').count() == 2)
    };
    if is_view && !names_view() {
        return Err(ReplicateError::View);
    }
    if !name.starts_with('_') && !name.contains('/') {
        return Err(ReplicateError::Filter);
    }
    Ok(Selection::Filter {
        name: name.to_owned(),
        params,
    })
}

fn boolean(members: &Object, name: &'static str) -> Result<Option<bool>, ReplicateError> {
    match members.get(name) {
        None => Ok(None),
        Some(Value::Bool(value)) => Ok(Some(*value)),
        Some(_) => Err(ReplicateError::Parameter {
            name,
            expected: "a boolean",
        }),
    }
}

/// A number, which may be written as a text.
fn number(members: &Object, name: &'static str) -> Result<Option<u64>, ReplicateError> {
    let value = match members.get(name) {
        None => return Ok(None),
        Some(Value::String(text)) => text.trim().parse().ok(),
        Some(value) => value.as_u64(),
    };
    value.map(Some).ok_or(ReplicateError::Parameter {
        name,
        expected: "a number",
    })
}

fn target_params(members: &Object) -> Result<Vec<(String, String)>, ReplicateError> {
    let params = match members.get("create_target_params") {
        None => return Ok(Vec::new()),
        Some(Value::Object(params)) => params,
        Some(_) => {
            return Err(ReplicateError::Parameter {
                name: "create_target_params",
                expected: "a JSON object",
            });
        }
    };
    let pairs = params.iter().map(|(name, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            other => varve_json::to_string(other),
        };
        (name.to_owned(), text)
    });
    Ok(pairs.collect())
}

/// The proxies of source and target.
fn proxies(
    members: &Object,
    settings: &Replicator,
) -> Result<(Option<Url>, Option<Url>), ReplicateError> {
    let proxy = |name| -> Result<Option<Url>, ReplicateError> {
        match members.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.is_empty() => Ok(None),
            Some(Value::String(text)) => {
                parse_url(text, "proxy", &settings.proxy_protocols).map(Some)
            }
            Some(_) => Err(ReplicateError::Parameter {
                name,
                expected: "a URL",
            }),
        }
    };
    let (both, source, target) = (
        proxy("proxy")?,
        proxy("source_proxy")?,
        proxy("target_proxy")?,
    );
    match both {
        None => Ok((source, target)),
        Some(_) if source.is_some() => Err(ReplicateError::Proxies {
            name: "source_proxy",
        }),
        Some(_) if target.is_some() => Err(ReplicateError::Proxies {
            name: "target_proxy",
        }),
        Some(url) => Ok((Some(url.clone()), Some(url))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(more: &str) -> Result<Parsed, ReplicateError> {
        let text = format!(r#"{{"source":"http://a/x","target":"http://b/y"{more}}}"#);
        let members = varve_json::parse_object(text.as_bytes()).unwrap();
        ReplicationRequest::parse(&members, &Replicator::default(), None)
    }

    fn options(more: &str) -> ReplicationOptions {
        match parse(more) {
            Ok(Parsed::Start(request)) => request.options,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_count_before_settings() {
        let usual = options("");
        assert_eq!(
            (usual.workers, usual.batch_size, usual.connections),
            (4, 500, 20)
        );
        assert!(usual.use_checkpoints && !usual.continuous);
        let given = options(
            r#","worker_processes":"2","worker_batch_size":7,"connection_timeout":50,"continuous":true,"unknown":1"#,
        );
        assert_eq!((given.workers, given.batch_size), (2, 7));
        assert_eq!(given.timeout, SHORTEST_TIME);
        assert!(given.continuous);
        let most = r#","checkpoint_interval":"18446744073709551615","worker_processes":4294967296"#;
        let most = options(most);
        assert_eq!(most.checkpoint_interval, LONGEST_TIME);
        assert_eq!(most.workers as u64, MOST);
        let least = options(r#","checkpoint_interval":0,"worker_batch_size":0"#);
        assert_eq!(
            (least.checkpoint_interval, least.batch_size),
            (SHORTEST_TIME, 1)
        );
    }

    #[test]
    fn documents_are_chosen_in_one_way() {
        let ids = options(r#","doc_ids":["b","a%20b","b"]"#).selection;
        assert_eq!(ids, Selection::Ids(vec!["a b".to_owned(), "b".to_owned()]));
        assert_eq!(options(r#","doc_ids":null"#).selection, Selection::All);
        for (more, reason) in [
            (
                r#","doc_ids":["a"],"filter":"d/f""#,
                "`doc_ids`,`filter`,`selector` are mutually exclusive",
            ),
            (r#","doc_ids":1"#, "parameter `doc_ids` must be an array"),
            (
                r#","filter":"f""#,
                "Invalid filter. Must match `ddocname/filtername`.",
            ),
            (r#","filter":"_view""#, "Invalid `view` parameter."),
            (
                r#","selector":[]"#,
                "parameter `selector` must be a JSON object",
            ),
            (
                r#","continuous":"yes""#,
                "parameter `continuous` must be a boolean",
            ),
            (
                r#","worker_processes":"a few""#,
                "parameter `worker_processes` must be a number",
            ),
            (
                r#","proxy":"http://p/","source_proxy":"http://p/""#,
                "`proxy` is mutually exclusive with `source_proxy`",
            ),
            (r#","proxy":"ftp://p/""#, "proxy has an invalid url"),
            (
                r#","source_proxy":["http://p/"]"#,
                "parameter `source_proxy` must be a URL",
            ),
        ] {
            assert_eq!(parse(more).unwrap_err().to_string(), reason, "{more}");
        }
    }

    #[test]
    fn a_replication_is_cancelled_by_its_id_or_by_the_same_request() {
        let by_id = parse(r#","cancel":true,"replication_id":"abc continuous""#).unwrap();
        let id = Cancellation::Id("abc+continuous".to_owned());
        assert_eq!(by_id, Parsed::Cancel(id));
        let same = parse(r#","cancel":true,"continuous":true"#).unwrap();
        assert!(matches!(same, Parsed::Cancel(Cancellation::Same(_))));
    }
}
