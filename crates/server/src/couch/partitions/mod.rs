//! Partitioned databases: which are made so, `/{db}/_partition/…`, and the ids and sizes that they demand.

mod full;
mod ids;

use hyper::StatusCode;
use varve_config::Requests;
use varve_docdb::{Partition, PartitionError, Snapshot};
use varve_views::{OptionError, QueryOptions};

use crate::couch::call::Call;
use crate::couch::changes::sequence::write_number;
use crate::couch::failures;
use crate::couch::target::Target;
use crate::{Answer, Failure, Request};
pub use full::FullPartitions;
pub use ids::{check_edits, check_id, check_target};

/// Databases of CouchDB's own, whatever stands in front of them as a path.
pub const SYSTEM: [&str; 4] = ["_users", "_replicator", "_dbs", "_nodes"];

/// Whether a database of that name is to be made with partitions.
///
/// # Errors
/// 400 unless `partitioned` says yes or no, and for a database of the system.
pub fn is_wanted(request: &Request, name: &str) -> Result<bool, Failure> {
    let is_system = name
        .rsplit('/')
        .next()
        .is_some_and(|last| SYSTEM.contains(&last));
    match request.query("partitioned") {
        None | Some("false") => Ok(false),
        Some("true") if is_system => {
            Err(Failure::bad_request("Cannot partition a system database"))
        }
        Some("true") => Ok(true),
        Some(_) => Err(Failure::bad_request("Invalid `partitioned` parameter")),
    }
}

/// Refuses a path that names no partition.
pub fn unnamed() -> Failure {
    Failure::bad_request("invalid_partition_req")
}

/// Answers `GET /{db}/_partition/{partition}`. Its counts and sizes are sums in inner nodes of the tree of documents,
/// so a partition of any size is answered alike.
///
/// # Errors
/// 400 for a name that no partition has, or where no document has a partition.
pub fn info(call: &Call, name: &str) -> Result<Answer, Failure> {
    let partition = Partition::new(name)?;
    let snapshot = call.snapshot();
    check_database(&snapshot)?;
    let info = snapshot.partition_info(&partition)?;
    let mut body = b"{\"db_name\":".to_vec();
    varve_json::write_string(&call.database.name, &mut body);
    body.extend_from_slice(b",\"sizes\":{\"active\":");
    write_number(info.active, &mut body);
    body.extend_from_slice(b",\"external\":");
    write_number(info.external, &mut body);
    body.extend_from_slice(b"},\"partition\":");
    varve_json::write_string(name, &mut body);
    body.extend_from_slice(b",\"doc_count\":");
    write_number(info.doc_count, &mut body);
    body.extend_from_slice(b",\"doc_del_count\":");
    write_number(info.doc_del_count, &mut body);
    body.extend_from_slice(b"}\n");
    Ok(Answer::json(StatusCode::OK, body))
}

/// A call for a resource below `/{db}/_partition/{partition}/`.
///
/// # Errors
/// 400 for a name that no partition has, where no document has a partition, and if the query names another one; 404 for
/// what cannot be asked of a partition.
pub fn enter(call: Call, name: &str, target: &Target) -> Result<Call, Failure> {
    check_database(&call.snapshot())?;
    let partition = Partition::new(name)?;
    if call
        .request
        .query("partition")
        .is_some_and(|other| other != name)
    {
        let words = "Conflicting value for `partition` in query string";
        return Err(Failure::bad_request(words));
    }
    match target {
        Target::AllDocs
        | Target::AllDocsQueries
        | Target::View(..)
        | Target::ViewQueries(..)
        | Target::ViewInfo(_)
        | Target::Find
        | Target::Explain
        | Target::Search(_)
        | Target::Index
        | Target::IndexNamed(..)
        | Target::IndexBulkDelete => Ok(Call {
            partition: Some(partition),
            ..call
        }),
        _ => Err(failures::missing()),
    }
}

fn check_database(snapshot: &Snapshot) -> Result<(), Failure> {
    match snapshot.is_partitioned() {
        true => Ok(()),
        false => Err(Failure::bad_request("database is not partitioned")),
    }
}

/// Refuses a method below `/{db}/_partition`.
///
/// # Errors
/// 400 for a POST to a name that no partition has: it forgot the partition of `_find`.
pub fn check_post(name: &str) -> Result<(), Failure> {
    match name.starts_with('_') {
        true => Err(PartitionError::Underscore.into()),
        false => Ok(()),
    }
}

/// Brings the partition that the URL names into a query of rows, and refuses more rows than one may ask for.
///
/// # Errors
/// 400 for a limit above `partition_query_limit` or `query_limit` of `[query_server_config]`.
pub fn restrict(call: &Call, options: &mut QueryOptions) -> Result<(), Failure> {
    if let Some(partition) = &call.partition {
        options.partition = Some(partition.clone());
    }
    let settings = call.app.settings();
    let most = match options.partition {
        Some(_) => settings.functions.partition_query_limit,
        None => settings.requests.query_limit,
    };
    if options.limit.is_some_and(|limit| limit > most) {
        let reason = format!("Limit is too large, must not exceed {most}");
        return Err(OptionError::Query { reason }.into());
    }
    if options.partition.is_some() || most < Requests::default().query_limit {
        options.limit.get_or_insert(most);
    }
    Ok(())
}

/// Refuses a query of all documents for a partition where no document has one.
///
/// # Errors
/// 400 `query_parse_error`.
pub fn check_all_docs(snapshot: &Snapshot, options: &QueryOptions) -> Result<(), Failure> {
    match options.partition.is_some() && !snapshot.is_partitioned() {
        true => Err(OptionError::Query {
            reason: "`partition` parameter is not supported on this db".to_owned(),
        }
        .into()),
        false => Ok(()),
    }
}
