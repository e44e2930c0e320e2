//! Databases that are made of repositories: their readers are those of the repository, and generated documents cannot be
//! edited. Other documents, and the rights to write them, are ordinary ones.

use crate::auth::Security;
use crate::couch::call::Call;
use crate::couch::database::registry::OpenDatabase;
use crate::{CouchContext, Failure, UserContext};
use std::fmt::Debug;
use varve_base::ReadMode;

/// The rights to read repositories.
pub(crate) trait RepositoryRights: Debug + Send + Sync {
    /// Returns whether the user may read the repository that a database is made of; false if that is gone.
    ///
    /// # Errors
    /// 500 if the rights cannot be read.
    fn may_read(&self, database: &str, user: &UserContext) -> Result<bool, Failure>;
}

/// Returns whether a call is about the database of a repository.
pub(super) fn is_about(call: &Call) -> bool {
    call.database.is_history()
}

/// Refuses a user who may not read the database. Admins of the server and of the database read all of them.
///
/// # Errors
/// 401 without a login, else 403; [`Failure::would_block`], since the configuration of a repository is a file.
pub(super) fn check_reader(
    (app, database): (&CouchContext, &OpenDatabase),
    (security, user): (&Security, &UserContext),
    reads: ReadMode,
) -> Result<(), Failure> {
    if !database.is_history() {
        return security.check_reader(user);
    }
    if security.check_admin(user).is_ok() {
        return Ok(());
    }
    if reads == ReadMode::CachedOnly {
        return Err(Failure::would_block());
    }
    let rights = app.repository_rights.get();
    let may_read = rights.map(|rights| rights.may_read(&database.name, user));
    match may_read.transpose()? {
        Some(true) => Ok(()),
        _ => Err(user.refused("You are not authorized to access this db.")),
    }
}

/// Refuses an edit of a document that is made from the repository, by whomever.
///
/// # Errors
/// 403.
pub(super) fn check_id(id: &str) -> Result<(), Failure> {
    match varve_history::is_generated(id) {
        true => Err(Failure::forbidden(
            "This document is made from the repository and cannot be edited; it changes with the repository.",
        )),
        false => Ok(()),
    }
}
