//! Rights on documents of `_replicator`, which have passwords in them.
//!
//! Admins of the server or of the database see and change all of them, other users those alone of which they are the
//! `owner`. A new document gets its writer as owner, unless that has the role `_replicator`, which is for programs
//! that copy such documents.

use super::is_replicator;
use crate::Failure;
use crate::couch::call::Call;
use crate::couch::failures;
use crate::couch::target::Target;
use varve_docdb::{DESIGN_PREFIX, Edit, Snapshot};
use varve_json::{Object, Value};

/// The member that names the user whose document it is.
const OWNER: &str = "owner";
/// The role of programs that write documents as they are.
const WRITES_AS_IS: &str = "_replicator";

/// Whether the documents of a call's database are replications.
pub(in crate::couch) fn is_about(call: &Call) -> bool {
    is_replicator(&call.database.name)
}

/// Refuses requests that are for admins only, and documents of others.
///
/// # Errors
/// 401 without a login; 403; 404 for documents of others.
pub(in crate::couch) fn check_target(call: &Call, target: &Target) -> Result<(), Failure> {
    if !is_about(call) || call.check_admin().is_ok() {
        return Ok(());
    }
    call.user.require_login()?;
    match target {
        Target::Document(id) if !id.starts_with(DESIGN_PREFIX) => {
            let before = winner(&call.snapshot(), id)?;
            match before {
                Some(document) if !is_owned(call, &document) => Err(failures::missing()),
                _ => Ok(()),
            }
        }
        // Each edit is looked at.
        Target::BulkDocs => Ok(()),
        Target::Database if call.request.method == hyper::Method::POST => Ok(()),
        _ => call.user.require_admin(),
    }
}

/// Checks an edit, and names its writer as owner.
///
/// # Errors
/// 403 for a document of another user.
pub(in crate::couch) fn admit(
    call: &Call,
    snapshot: &Snapshot,
    edit: &mut Edit,
) -> Result<(), Failure> {
    let writes_as_is = call.user.roles.iter().any(|role| role == WRITES_AS_IS);
    if edit.is_local() || edit.id().starts_with(DESIGN_PREFIX) || writes_as_is {
        return Ok(());
    }
    let is_admin = call.check_admin().is_ok();
    let refused = || {
        let words = "Can't update replication documents from other users.";
        Err(Failure::forbidden(words))
    };
    let before = winner(snapshot, edit.id())?;
    if !is_admin && before.is_some_and(|before| !is_owned(call, &before)) {
        return refused();
    }
    if edit.is_deletion() {
        return Ok(());
    }
    let mut body = edit.body().to_object()?;
    match body.get(OWNER) {
        None | Some(Value::Null) => {}
        Some(_) if is_admin || is_owned(call, &body) => return Ok(()),
        Some(_) => return refused(),
    }
    if let Some(name) = &call.user.name {
        body.insert(OWNER, name.as_str());
        edit.set_body(&body);
    }
    Ok(())
}

fn is_owned(call: &Call, document: &Object) -> bool {
    let owner = document.get(OWNER).and_then(Value::as_str);
    owner.is_some() && owner == call.user.name.as_deref()
}

fn winner(snapshot: &Snapshot, id: &str) -> Result<Option<Object>, Failure> {
    let Some(document) = snapshot.document(id)? else {
        return Ok(None);
    };
    let Some((_, stored)) = document.winner() else {
        return Ok(None);
    };
    let mut text = Vec::new();
    snapshot.body(stored, &mut text)?;
    Ok(Some(varve_json::parse_object(&text)?))
}
