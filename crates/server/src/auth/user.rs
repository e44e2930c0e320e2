//! The user of one request and the simplest of permissions.

use crate::Failure;

/// Role of server admins.
pub const ADMIN_ROLE: &str = "_admin";

/// The user of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserContext {
    /// Name; `None` for a request without a login.
    pub name: Option<String>,
    /// Roles; server admins have [`ADMIN_ROLE`].
    pub roles: Vec<String>,
}

impl UserContext {
    /// A server admin.
    pub fn admin(name: impl Into<String>) -> Self {
        UserContext {
            name: Some(name.into()),
            roles: vec![ADMIN_ROLE.to_owned()],
        }
    }

    /// Whether this is a server admin.
    pub fn is_admin(&self) -> bool {
        self.roles.iter().any(|role| role == ADMIN_ROLE)
    }

    /// Refuses all users but server admins.
    ///
    /// # Errors
    /// 401 or 403 in CouchDB's words.
    pub fn require_admin(&self) -> Result<(), Failure> {
        if self.is_admin() {
            Ok(())
        } else {
            Err(self.refused("You are not a server admin."))
        }
    }

    /// Refuses a request without a login: nothing is written without a password.
    ///
    /// # Errors
    /// 401.
    pub fn require_login(&self) -> Result<(), Failure> {
        match self.name {
            Some(_) => Ok(()),
            None => Err(Failure::unauthorized(
                "Writing needs a login, and this request has none.",
            )),
        }
    }

    /// 401 for a request without a login, 403 for one with a login.
    pub(crate) fn refused(&self, reason: &str) -> Failure {
        match self.name {
            None => Failure::unauthorized(reason),
            Some(_) => Failure::forbidden(reason),
        }
    }
}
