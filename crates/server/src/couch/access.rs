//! Databases with access: which are made so, whose documents a request sees, and what it may ask for.

use varve_docdb::{Edit, Viewer};

use crate::auth::Security;
use crate::couch::call::Call;
use crate::couch::database::registry::OpenDatabase;
use crate::couch::partitions::SYSTEM;
use crate::couch::target::Target;
use crate::{Failure, Request, UserContext};

/// Whether a database of that name is to be made with access.
///
/// # Errors
/// 400 unless `access` says yes or no, and for a database of the system, whose documents have rules of their own.
pub fn is_wanted(request: &Request, name: &str) -> Result<bool, Failure> {
    let last = name.rsplit('/').next();
    let is_system = last.is_some_and(|last| SYSTEM.contains(&last));
    match request.query("access") {
        None | Some("false") => Ok(false),
        Some("true") if is_system => {
            Err(Failure::bad_request("A system database cannot have access"))
        }
        Some("true") if request.query("partitioned") == Some("true") => Err(Failure::bad_request(
            "A database cannot be partitioned and have access",
        )),
        Some("true") => Ok(true),
        Some(_) => Err(Failure::bad_request("Invalid `access` parameter")),
    }
}

/// Whose documents a request reads and writes. Admins of the server and of the database see all.
pub fn viewer(database: &OpenDatabase, security: &Security, user: &UserContext) -> Viewer {
    let has_access = database.documents.snapshot().has_access();
    match has_access && security.check_admin(user).is_err() {
        true => Viewer::named(user.name.as_deref(), &user.roles),
        false => Viewer::ALL,
    }
}

/// Refuses what would show or change more than the user's documents. A new kind of request is refused until it is
/// listed here.
///
/// # Errors
/// 401 without a login, else 403.
pub fn check_target(call: &Call, target: &Target) -> Result<(), Failure> {
    if call.viewer.sees_all() || is_for_all(target) {
        return Ok(());
    }
    match (is_for_users(call, target), &call.user.name) {
        (true, Some(_)) => Ok(()),
        (true, None) => call.check_admin(),
        (false, _) => call.check_admin().map_err(|failure| Failure {
            reason: "In a database with access only admins can do this: it is about the documents of all users"
                .to_owned(),
            ..failure
        }),
    }
}

/// Requests that show a client without a login nothing, or the same in any database.
fn is_for_all(target: &Target) -> bool {
    match target {
        Target::Database
        | Target::AllDocs
        | Target::AllDocsQueries
        | Target::DesignDocs
        | Target::DesignDocsQueries
        | Target::LocalDocs
        | Target::LocalDocsQueries
        | Target::BulkDocs
        | Target::BulkGet
        | Target::Changes
        | Target::RevsDiff
        | Target::MissingRevs
        | Target::EnsureFullCommit
        | Target::Document(_)
        | Target::Attachment(..)
        | Target::Unknown(_) => true,
        // They say that nothing is there.
        Target::NoShow | Target::NoList | Target::NoUpdate | Target::NoIndex | Target::TempView => {
            true
        }
        // Their writes are for admins in any database.
        Target::Security | Target::RevsLimit => true,
        _ => false,
    }
}

/// Requests that run what admins have put into design documents, over the documents of a user.
fn is_for_users(call: &Call, target: &Target) -> bool {
    match target {
        Target::View(..)
        | Target::ViewQueries(..)
        | Target::Find
        | Target::Explain
        | Target::Show(..)
        | Target::List(..)
        | Target::Update(..)
        | Target::Rewrite(_) => true,
        // Indexes are for all users, so admins make them.
        Target::Index => call.request.is_read(),
        _ => false,
    }
}

/// Whether an edit makes a design document that does not count as one: it names those who may see it.
pub fn is_data(call: &Call, edit: &Edit) -> bool {
    let names = edit.access().and_then(varve_json::Value::as_array);
    let is_named = names.is_some_and(|names| !names.is_empty());
    let is_users = !call.viewer.sees_all();
    call.database.documents.snapshot().has_access() && (is_named || is_users)
}
