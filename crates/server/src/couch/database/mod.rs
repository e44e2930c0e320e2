//! A database as a whole: made, described, secured, deleted.

pub mod compression;
pub mod files;
pub(crate) mod garbage;
pub mod listing;
pub mod logs;
pub mod purge;
pub mod registry;
pub(crate) mod store;

use hyper::{Method, StatusCode};
use varve_config::DefaultSecurity;
use varve_docdb::{Edit, NewDatabase, Sizes};
use varve_json::Value;

use crate::auth::Security;
use crate::couch::admin::compaction::is_compacting;
use crate::couch::call::Call;
use crate::couch::changes::sequence::{write_number, write_sequence};
use crate::couch::{access, document, names, partitions, users, views};
use crate::{Answer, CouchContext, Failure, Request, UserContext};

/// The generation of the file format that CouchDB's tools expect to read here.
const DISK_FORMAT_VERSION: u64 = 8;
/// A security object is read with every request: what its values may take in memory.
const SECURITY_ROOM: usize = 4 << 20;
/// Microseconds in a second.
const MICROSECONDS: u64 = 1_000_000;

/// Answers `PUT /{db}`.
///
/// # Errors
/// 401 or 403 for all but server admins, 400 for an illegal name, compression or `partitioned`, 412 if it is there.
pub fn create(
    app: &CouchContext,
    request: &Request,
    user: &UserContext,
    name: &str,
) -> Result<Answer, Failure> {
    user.require_admin()?;
    names::check_database_name(name)?;
    let compression = request.query("compression");
    let new = NewDatabase {
        compression: compression.map(compression::parse).transpose()?,
        is_partitioned: partitions::is_wanted(request, name)?,
        has_access: access::is_wanted(request, name)?,
    };
    let made = app.databases.create(name, new)?;
    if app.settings().requests.default_security == DefaultSecurity::Everyone && name != users::USERS
    {
        made.documents.set_security(&varve_json::Object::new())?;
    }
    let location = format!("{}/{}", request.base(), names::escape(name));
    Ok(Answer::ok(StatusCode::CREATED).with_header("location", &location))
}

/// Answers GET, POST and DELETE of `/{db}`.
///
/// # Errors
/// As the method's handler.
pub fn answer(call: &Call) -> Result<Answer, Failure> {
    match call.request.method {
        Method::DELETE => {
            // A document without an id is a mistake of the client.
            if call.request.query("rev").is_some() {
                return Err(Failure::bad_request(
                    "You tried to DELETE a database with a ?=rev parameter. Did you mean to DELETE a document instead?",
                ));
            }
            call.app.databases.delete(&call.database.name)?;
            call.app.tasks().forget(&call.database.name);
            Ok(Answer::ok(StatusCode::OK))
        }
        Method::POST => post_document(call),
        _ => info(call),
    }
}

fn post_document(call: &Call) -> Result<Answer, Failure> {
    call.check_writer()?;
    call.request.require_json()?;
    let mut edit = Edit::parse(None, &call.request.body)?;
    if edit.id().is_empty() {
        edit.set_id(call.app.new_uuid())?;
    }
    document::write::store(call, edit, document::write::Tagged::No)
}

fn info(call: &Call) -> Result<Answer, Failure> {
    let mut body = Vec::new();
    write_info(call, &mut body)?;
    body.push(b'\n');
    Ok(Answer::json(StatusCode::OK, body))
}

/// Appends the information that `GET /{db}` returns.
///
/// # Errors
/// 500 if its file cannot be read.
pub fn write_info(call: &Call, body: &mut Vec<u8>) -> Result<(), Failure> {
    let snapshot = call.snapshot();
    let info = snapshot.info()?;
    let props: &[u8] = match (snapshot.is_partitioned(), snapshot.has_access()) {
        (true, _) => b"},\"props\":{\"partitioned\":true},\"doc_del_count\":",
        (_, true) => b"},\"props\":{\"access\":true},\"doc_del_count\":",
        _ => b"},\"props\":{},\"doc_del_count\":",
    };
    let sizes = match snapshot.is_restricted() {
        // The file holds what others wrote.
        true => Sizes {
            file: info.external,
            active: info.external,
            external: info.external,
        },
        false => call.database.documents.sizes()?,
    };
    let incarnation = &call.database.incarnation;
    body.extend_from_slice(b"{\"instance_start_time\":\"");
    write_number(info.created / MICROSECONDS, body);
    body.extend_from_slice(b"\",\"db_name\":");
    varve_json::write_string(&call.database.name, body);
    body.extend_from_slice(b",\"purge_seq\":");
    write_sequence(info.purge_seq, incarnation, body);
    body.extend_from_slice(b",\"update_seq\":");
    write_sequence(info.update_seq, incarnation, body);
    let members = [
        (&b",\"sizes\":{\"file\":"[..], sizes.file),
        (b",\"external\":", sizes.external),
        (b",\"active\":", sizes.active),
        (props, info.doc_del_count),
        (b",\"doc_count\":", info.doc_count),
        (b",\"disk_format_version\":", DISK_FORMAT_VERSION),
    ];
    for (name, number) in members {
        body.extend_from_slice(name);
        write_number(number, body);
    }
    body.extend_from_slice(match is_compacting(&call.app, &call.database) {
        true => b",\"compact_running\":true",
        false => b",\"compact_running\":false",
    });
    body.extend_from_slice(b",\"cluster\":{\"q\":1,\"n\":1,\"w\":1,\"r\":1}}");
    Ok(())
}

/// Answers GET and PUT of `/{db}/_security`.
///
/// # Errors
/// 400 if the object is not one of `members` and `admins`.
pub fn security(call: &Call) -> Result<Answer, Failure> {
    if call.request.method == Method::PUT {
        call.check_admin()?;
        users::check_security_change(call)?;
        let Value::Object(object) = varve_json::parse_bounded(&call.request.body, SECURITY_ROOM)?
        else {
            return Err(Failure::bad_request("Request body must be a JSON object"));
        };
        Security::parse(&object)?;
        call.database.documents.set_security(&object)?;
        return Ok(Answer::ok(StatusCode::OK));
    }
    let stored = call.snapshot().security()?;
    let mut body = stored.unwrap_or_else(|| {
        b"{\"members\":{\"roles\":[\"_admin\"]},\"admins\":{\"roles\":[\"_admin\"]}}".to_vec()
    });
    body.push(b'\n');
    Ok(Answer::json(StatusCode::OK, body))
}

/// Answers GET and PUT of `/{db}/_revs_limit`.
///
/// # Errors
/// 400 if the limit is not a number above 0.
pub fn revs_limit(call: &Call) -> Result<Answer, Failure> {
    if call.request.method == Method::PUT {
        call.check_admin()?;
        let limit = varve_json::parse(&call.request.body)?.as_u64();
        let limit = limit
            .filter(|limit| *limit > 0)
            .ok_or_else(|| Failure::bad_request("`_revs_limit` must be a positive integer"))?;
        call.database.documents.set_revs_limit(limit)?;
        return Ok(Answer::ok(StatusCode::OK));
    }
    let mut body = Vec::new();
    write_number(call.snapshot().revs_limit(), &mut body);
    body.push(b'\n');
    Ok(Answer::json(StatusCode::OK, body))
}

/// Answers `POST /{db}/_ensure_full_commit`: waits for a sync where commits do not.
///
/// # Errors
/// 415 for another type than JSON; 500 if the disk refuses.
pub fn ensure_full_commit(call: &Call) -> Result<Answer, Failure> {
    call.request.require_json()?;
    call.database.documents.sync()?;
    let mut body = b"{\"ok\":true,\"instance_start_time\":\"".to_vec();
    let info = call.snapshot().info()?;
    write_number(info.created / MICROSECONDS, &mut body);
    body.extend_from_slice(b"\"}\n");
    Ok(Answer::json(StatusCode::CREATED, body))
}

/// Answers `POST /{db}/_view_cleanup`.
///
/// # Errors
/// 415 for another type than JSON, 401 or 403 for all but the database's admins.
pub fn view_cleanup(call: &Call) -> Result<Answer, Failure> {
    call.request.require_json()?;
    call.check_admin()?;
    views::indexes::clean_up(&call.app, &call.database)?;
    let filters = &call.database.filter_indexes;
    filters.clean_up(&call.app, &call.database)?;
    Ok(Answer::ok(StatusCode::ACCEPTED))
}
