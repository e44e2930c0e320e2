//! Accounts: a user's stored password and roles.

use crate::Failure;
use crate::auth::UserContext;
use crate::auth::password::{Hashing, Stored};
use crate::auth::totp::SecondFactor;
use crate::http::Freshness;
use std::fmt;
use std::pin::Pin;

/// A user who can log in.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) stored: Stored,
    pub(crate) roles: Vec<String>,
    /// Needed for a login besides the password.
    pub(crate) second_factor: SecondFactor,
    /// Whether the account is a document of `_users`; admins are settings.
    pub(crate) is_document: bool,
}

/// A user whose password was right.
#[derive(Clone, Debug)]
pub(crate) struct Proven {
    pub(crate) user: UserContext,
    pub(super) salt: String,
}

/// Finds the accounts that are no admins.
pub(crate) trait FindAccount: fmt::Debug + Send + Sync {
    /// The account of that name, in a state as new as is asked for.
    ///
    /// # Errors
    /// 401 if the account cannot be used; 500 if it cannot be read.
    fn find<'a>(&'a self, name: &'a str, freshness: Freshness) -> FoundAccount<'a>;

    /// Work that stores the password of an account anew, unless it has changed meanwhile; it takes as long as a check.
    fn upgrade(&self, name: &str, password: &str, stored: &Stored, to: &Hashing) -> Upgrade;
}

/// Work that [`FindAccount::upgrade`] returns.
pub(crate) type Upgrade = Box<dyn FnOnce() + Send>;

/// Future that [`FindAccount::find`] returns.
pub(crate) type FoundAccount<'a> =
    Pin<Box<dyn Future<Output = Result<Option<Account>, Failure>> + Send + 'a>>;
