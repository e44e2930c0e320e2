//! The part of the settings that logins go by.

use crate::ServerError;
use crate::auth::cookie::Attributes;
use crate::auth::jwt::TokenCheck;
use crate::auth::password::{self, Hashing, Stored};
use crate::auth::rules;
use std::collections::HashMap;
use varve_config::{HashAlgorithm, Lockout, LoginHandler, ProxyLogin, Settings};

/// Refuses settings that [`Auth::new`] would refuse.
///
/// # Errors
/// [`ServerError::Config`].
pub(crate) fn check_settings(settings: &Settings) -> Result<(), ServerError> {
    rules::check(&settings.passwords)?;
    TokenCheck::new(&settings.jwt).map(drop)
}

/// The part of the settings that [`Auth`] uses.
#[derive(Debug)]
pub(super) struct AuthSettings {
    pub(super) admins: HashMap<String, Stored>,
    pub(super) secret: String,
    pub(super) timeout: u64,
    /// In the order in which they are asked.
    pub(super) handlers: Vec<LoginHandler>,
    pub(super) proxy: ProxyLogin,
    pub(super) tokens: TokenCheck,
    /// The first signs new cookies.
    pub(super) hash_algorithms: Vec<HashAlgorithm>,
    pub(super) attributes: Attributes,
    pub(super) lockout: Lockout,
    /// Least and most rounds of keys that logins are checked against.
    pub(super) iterations: (u32, u32),
    /// How passwords are stored anew at a login; `None` if they are not.
    pub(super) upgrade_to: Option<Hashing>,
    /// Stands for the password of names that do not exist.
    pub(super) unknown_user: Stored,
}

impl AuthSettings {
    pub(super) fn of(settings: &Settings) -> Result<AuthSettings, ServerError> {
        let admins = settings.admins.iter();
        let admins = admins.filter_map(|admin| {
            let stored = Stored::parse(&admin.value)?;
            Some((admin.key.clone(), stored))
        });
        let (sessions, passwords) = (&settings.sessions, &settings.passwords);
        rules::check(passwords)?;
        let secret = match &sessions.secret {
            Some(secret) => secret.clone(),
            None => password::random_hex(32)?,
        };
        Ok(AuthSettings {
            admins: admins.collect(),
            secret,
            timeout: sessions.timeout.as_secs(),
            handlers: sessions.handlers.clone(),
            proxy: sessions.proxy.clone(),
            tokens: TokenCheck::new(&settings.jwt)?,
            hash_algorithms: sessions.hash_algorithms.clone(),
            lockout: settings.lockout.clone(),
            iterations: (passwords.min_iterations, passwords.max_iterations),
            upgrade_to: passwords.upgrade.then(|| Hashing::of(settings)),
            attributes: Attributes {
                keep: sessions.persistent.then_some(sessions.timeout.as_secs()),
                domain: sessions.domain.clone(),
                same_site: sessions.same_site,
            },
            unknown_user: Stored::of_unknown_user(sessions.iterations)?,
        })
    }
}
