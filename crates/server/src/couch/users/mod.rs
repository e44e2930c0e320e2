//! The database `_users`: a document for each user who may log in and is no admin.
//!
//! ```text
//! _id             org.couchdb.user:NAME
//! type            user
//! name            NAME
//! roles           given by admins
//! password        plain in a request; a stored document has a key derived from it instead
//! ```
//! Admins of the server or of this database see and change all of it, all other users no more than the document of
//! their own.

mod directory;
mod per_user;
mod rules;

pub(crate) use directory::UserDirectory;
pub(super) use per_user::UserDatabases;

use varve_docdb::{DESIGN_PREFIX, Edit, Snapshot};
use varve_json::{Object, Value};

use crate::Failure;
use crate::auth::password::{Hashing, Stored};
use crate::auth::{Names, Security, UserContext, check_new_password};
use crate::couch::call::Call;
use crate::couch::failures;
use crate::couch::target::Target;

/// The database's name.
pub const USERS: &str = "_users";
/// Prefix of the name in a document's id.
const PREFIX: &str = "org.couchdb.user:";

/// Whether a call is about users.
pub fn is_about(call: &Call) -> bool {
    call.database.name == USERS
}

/// Rights where no security object sets them: every request is admitted, and [`check_target`] restricts it.
pub fn default_security() -> Security {
    Security {
        members: Names::default(),
        ..Security::default()
    }
}

/// Refuses a change of the security object, unless it is configured that there may be one.
///
/// # Errors
/// 403.
pub fn check_security_change(call: &Call) -> Result<(), Failure> {
    if is_about(call) && !call.app.settings().users_security_editable {
        let words = "You can't edit the security object of the user database.";
        return Err(Failure::forbidden(words));
    }
    Ok(())
}

/// Refuses requests that are for admins only, and documents of others.
///
/// # Errors
/// 401 without a login; 403; 404 for documents of others.
pub fn check_target(call: &Call, target: &Target) -> Result<(), Failure> {
    if !is_about(call) || call.check_admin().is_ok() {
        return Ok(());
    }
    if call.user.name.is_none() {
        let words = "You are not authorized to access this db.";
        return Err(Failure::unauthorized(words));
    }
    match target {
        Target::Document(id) | Target::Attachment(id, _) => check_own(&call.user, id),
        // Each edit is looked at.
        Target::BulkDocs => Ok(()),
        Target::Database if call.request.method == hyper::Method::POST => Ok(()),
        _ => call.user.require_admin(),
    }
}

/// Refuses documents of others, as if they were not there.
fn check_own(user: &UserContext, id: &str) -> Result<(), Failure> {
    if id.starts_with(DESIGN_PREFIX) {
        let words = "Only administrators can view design docs in the users database.";
        return Err(Failure::forbidden(words));
    }
    let own = id.strip_prefix(PREFIX);
    match own.is_some() && own == user.name.as_deref() {
        true => Ok(()),
        false => Err(failures::missing()),
    }
}

/// Checks an edit, and derives a key from the password that it brings.
///
/// # Errors
/// 400, 403 or 404.
pub fn admit(call: &Call, snapshot: &Snapshot, edit: &mut Edit) -> Result<(), Failure> {
    let is_admin = call.check_admin().is_ok();
    if !is_admin {
        check_own(&call.user, edit.id())?;
    }
    if edit.is_local() || edit.id().starts_with(DESIGN_PREFIX) {
        return Ok(());
    }
    let by = rules::By {
        name: call.user.name.as_deref(),
        is_admin,
        is_server_admin: call.user.is_admin(),
    };
    let before = before(snapshot, edit)?;
    let mut body = edit.body().to_object()?;
    if hide_password(call, &mut body)? {
        edit.set_body(&body);
    }
    if edit.is_deletion() {
        return rules::check_deletion(before.as_ref(), &by);
    }
    rules::check(edit.id(), &body, before.as_ref(), &by)
}

/// Content of the revision that the edit continues.
fn before(snapshot: &Snapshot, edit: &Edit) -> Result<Option<Object>, Failure> {
    let Some(document) = snapshot.document(edit.id())? else {
        return Ok(None);
    };
    let found = edit.rev().and_then(|rev| document.revision(rev));
    let Some((rev, stored)) = found else {
        return Ok(None);
    };
    let mut text = Vec::new();
    let read = snapshot.body(stored, &mut text).map_err(Failure::from);
    read.map_err(|failure| failure.about(edit.id(), rev))?;
    Ok(Some(varve_json::parse_object(&text)?))
}

/// No password is stored as it came. Returns whether there was one.
fn hide_password(call: &Call, body: &mut Object) -> Result<bool, Failure> {
    let password = match body.get("password") {
        None | Some(Value::Null) => return Ok(false),
        Some(Value::String(password)) => password.clone(),
        Some(_) => return Err(Failure::bad_request("`password` must be a text")),
    };
    let settings = call.app.settings();
    check_new_password(&settings.passwords, &password)?;
    let keeps_salt = body.get("preserve_salt").and_then(Value::as_bool) == Some(true);
    let salt = body.get("salt").and_then(Value::as_str).map(str::to_owned);
    let salt = salt.filter(|_| keeps_salt);
    let done = Stored::write(body, &password, &Hashing::of(&settings), salt.as_deref());
    done.map_err(Failure::internal)?;
    Ok(true)
}
