//! The user of a request, and the user's rights.
//!
//! A request without a login may read public content; nothing is ever written to a database for it. Admins come from
//! the `[admins]` section of `varve.ini`, all others from the database `_users`.

mod account;
pub(crate) mod cookie;
mod guess;
mod jwt;
mod lockout;
pub(crate) mod password;
pub(crate) mod prf;
mod proxy;
mod queue;
mod rules;
mod security;
mod settings;
mod signature;
#[cfg(test)]
mod tests;
mod totp;
mod user;
mod verified;

pub(crate) use account::{Account, FindAccount, FoundAccount, Proven, Upgrade};
pub(crate) use rules::check_new_password;
pub use security::{Names, Security};
pub(crate) use settings::check_settings;
pub(crate) use signature::sign;
pub(crate) use totp::SecondFactor;
pub use user::{ADMIN_ROLE, UserContext};

use crate::http::Freshness;
use crate::runtime::Pool;
use crate::runtime::clock::now;
use crate::runtime::log::Log;
use crate::{Failure, Request, ServerError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cookie::Claim;
use guess::Guess;
use hyper::header::{AUTHORIZATION, COOKIE, HeaderMap};
use lockout::{FailedLogins, LOCKED, LockoutKey};
use parking_lot::RwLock;
use password::Stored;
use queue::CheckQueue;
use settings::AuthSettings;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;
use varve_config::{HashAlgorithm, LoginHandler, Settings};
use verified::Verified;

const WRONG: &str = "Name or password is incorrect.";

/// Result of [`Auth::login`].
#[derive(Clone, Debug, Default)]
pub struct Login {
    /// Name and roles; without a name for a request that has no login.
    pub user: UserContext,
    /// How they proved it: `default` (basic), `cookie`, `proxy` or `jwt`; `None` if they did not.
    pub by: Option<&'static str>,
    /// A `Set-Cookie` value that prolongs a session which is being used.
    pub(crate) update_to: Option<String>,
}

impl Login {
    fn by(handler: LoginHandler, user: UserContext) -> Login {
        Login {
            user,
            by: Some(handler.name()),
            update_to: None,
        }
    }
}

/// Users and sessions of one server.
#[derive(Debug)]
pub struct Auth {
    /// Admins and sessions as the settings have them now.
    current: RwLock<Arc<AuthSettings>>,
    /// All other users.
    users: Box<dyn FindAccount>,
    verified: Verified,
    checks: CheckQueue,
    failed: Arc<FailedLogins>,
    log: Log,
}

impl Auth {
    /// How many passwords were checked by deriving their key since the start.
    pub(crate) fn password_checks(&self) -> u64 {
        self.checks.checked()
    }

    /// How many logins were known to be right, and how many had to be checked, since the start.
    pub(crate) fn known_logins(&self) -> (u64, u64) {
        self.verified.hits_and_misses()
    }

    /// Takes admins and session settings from a configuration whose passwords are hashed.
    ///
    /// # Errors
    /// [`ServerError::Random`]; [`ServerError::Config`] for a key of tokens.
    pub(crate) fn new(
        settings: &Settings,
        users: Box<dyn FindAccount>,
        pool: Pool,
        log: Log,
    ) -> Result<Auth, ServerError> {
        Ok(Auth {
            current: RwLock::new(Arc::new(AuthSettings::of(settings)?)),
            users,
            verified: Verified::new()?,
            checks: CheckQueue::new(pool, &settings.limits),
            failed: Arc::default(),
            log,
        })
    }

    /// From now on these admins and session settings count: cookies of an admin whose password is another end.
    ///
    /// # Errors
    /// As [`Auth::new`]; nothing has changed then.
    pub(crate) fn change(&self, settings: &Settings) -> Result<(), ServerError> {
        let changed = Arc::new(AuthSettings::of(settings)?);
        *self.current.write() = changed;
        Ok(())
    }

    fn current(&self) -> Arc<AuthSettings> {
        Arc::clone(&self.current.read())
    }

    /// Finds the user of a request from its headers: the first configured way that finds one counts.
    ///
    /// # Errors
    /// 401 if a name and password are given and wrong, 400 if the cookie is malformed, 503 if too many logins wait; any
    /// refusal of a token.
    pub async fn login(&self, request: &Request) -> Result<Login, Failure> {
        let current = self.current();
        for handler in &current.handlers {
            let found = match handler {
                LoginHandler::Cookie => self.by_cookie(request).await?,
                LoginHandler::Default => self.by_password(request).await?,
                LoginHandler::Proxy => {
                    let key = (&current.hash_algorithms[..], current.secret.as_str());
                    proxy::user(&request.headers, &current.proxy, key)
                        .map(|user| Login::by(LoginHandler::Proxy, user))
                }
                LoginHandler::Jwt => {
                    let user = current.tokens.user(&request.headers, now())?;
                    user.map(|user| Login::by(LoginHandler::Jwt, user))
                }
            };
            if let Some(login) = found {
                return Ok(login);
            }
        }
        Ok(Login::default())
    }

    /// The ways to log in, in the order in which they are asked.
    pub(crate) fn handlers(&self) -> Vec<LoginHandler> {
        self.current().handlers.clone()
    }

    async fn by_password(&self, request: &Request) -> Result<Option<Login>, Failure> {
        let Some((name, password)) = basic(&request.headers) else {
            return Ok(None);
        };
        let (account, given) = ((&*name, request.freshness()), (password.as_str(), None));
        let proven = self.check(account, given, request.client()).await?;
        Ok(Some(Login::by(LoginHandler::Default, proven.user)))
    }

    /// Admins come first, so that no document makes one.
    async fn account(&self, name: &str, freshness: Freshness) -> Result<Option<Account>, Failure> {
        match self.current().admins.get(name) {
            Some(stored) => Ok(Some(Account {
                stored: stored.clone(),
                roles: vec![ADMIN_ROLE.to_owned()],
                second_factor: SecondFactor::None,
                is_document: false,
            })),
            None => self.users.find(name, freshness).await,
        }
    }

    /// The user of that name, in a state as new as is asked for, if the password is right, and the code of users who need one. A
    /// wrong name takes as long as a wrong password.
    ///
    /// # Errors
    /// 401; 403 after too many failures, and for keys that the settings do not allow; 503 if too many logins wait.
    pub(crate) async fn check(
        &self,
        (name, freshness): (&str, Freshness),
        (password, token): (&str, Option<&str>),
        client: Option<IpAddr>,
    ) -> Result<Proven, Failure> {
        let current = self.current();
        let account = self.account(name, freshness).await?;
        let known = account.as_ref().map(|account| &account.stored);
        let stored = known.unwrap_or(&current.unknown_user);
        let attempt_on =
            |stored: &Stored| client.map(|client| LockoutKey::new(client, name, stored.salt()));
        let is_locked = |attempt| {
            self.failed
                .is_locked(&attempt, &current.lockout, Instant::now())
        };
        if !self.failed.is_empty() && attempt_on(stored).is_some_and(is_locked) {
            return Err(Failure::forbidden(LOCKED));
        }
        let key = self.verified.digest(name, password, stored);
        if account.is_none() || !self.verified.knows(&key) {
            if account.is_some() {
                stored.check_iterations(current.iterations.0, current.iterations.1)?;
            }
            let guess = Guess {
                failed: Arc::clone(&self.failed),
                settings: current.lockout.clone(),
                attempt: attempt_on(stored),
                stored: stored.clone(),
                slowest: current.unknown_user.clone(),
                password: password.to_owned(),
                is_known: account.is_some(),
            };
            let (user, log) = (name.to_owned(), self.log.clone());
            let check = move || guess.check(|count| log_failures(&log, count, &user, client));
            if !Box::pin(self.checks.check(client, key, check)).await? {
                return Err(Failure::unauthorized(WRONG));
            }
            self.verified.remember(key);
            Box::pin(self.upgrade(name, password, client)).await;
        }
        let account = account.ok_or_else(|| Failure::unauthorized(WRONG))?;
        if !account.second_factor.accepts(token, now()) {
            // Codes are short: they are guessed no more often than passwords.
            if let Some(attempt) = attempt_on(&account.stored)
                && self.failed.note(attempt, &current.lockout, Instant::now())
            {
                log_failures(&self.log, current.lockout.threshold, name, client);
            }
            return Err(Failure::unauthorized(WRONG));
        }
        Ok(Proven {
            salt: account.stored.salt().to_owned(),
            user: UserContext {
                name: Some(name.to_owned()),
                roles: account.roles,
            },
        })
    }

    /// Stores a password that was right as the settings ask for it now. The login is good also if that fails.
    async fn upgrade(&self, name: &str, password: &str, client: Option<IpAddr>) {
        let Some(hashing) = self.current().upgrade_to else {
            return;
        };
        let Ok(Some(account)) = self.account(name, Freshness::Current).await else {
            return;
        };
        if !account.is_document || account.stored.is_by(&hashing) {
            return;
        }
        let upgrade = self
            .users
            .upgrade(name, password, &account.stored, &hashing);
        // An upgrade takes as much time as a check, so it waits in their queue.
        let key = self.verified.upgrade_digest(name, &account.stored);
        let work = move || {
            upgrade();
            Ok(true)
        };
        let _ = self.checks.check(client, key, work).await;
    }

    /// A `Set-Cookie` value that logs the user in from now on.
    pub(crate) fn cookie_for(&self, proven: &Proven, is_secure: bool) -> String {
        let name = proven.user.name.as_deref().unwrap_or_default();
        self.new_cookie(name, &proven.salt, is_secure)
    }

    fn new_cookie(&self, name: &str, salt: &str, is_secure: bool) -> String {
        let (now, current) = (now(), self.current());
        let algorithm = current.hash_algorithms.first().copied();
        let algorithm = algorithm.unwrap_or(HashAlgorithm::Sha256);
        let value = cookie::make(name, now, (algorithm, &current.secret, salt));
        cookie::header(&value, now, &current.attributes, is_secure)
    }

    /// A `Set-Cookie` value that logs out.
    pub(crate) fn no_cookie(&self, is_secure: bool) -> String {
        cookie::header("", now(), &self.current().attributes, is_secure)
    }

    async fn by_cookie(&self, request: &Request) -> Result<Option<Login>, Failure> {
        let Some(value) = session_cookie(&request.headers).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let current = self.current();
        let claim = Claim::parse(value, &current.hash_algorithms).ok_or_else(|| {
            Failure::bad_request("Malformed AuthSession cookie. Please clear your cookies.")
        })?;
        let account = self.account(&claim.name, request.freshness()).await?;
        let Some(Account { stored, roles, .. }) = account else {
            return Ok(None);
        };
        let age = now().saturating_sub(claim.made);
        if age >= current.timeout || !claim.is_signed(&current.secret, stored.salt()) {
            return Ok(None);
        }
        // A new cookie for every request would be noise; one for the last nine tenths is enough.
        let new_cookie = || self.new_cookie(&claim.name, stored.salt(), request.is_secure());
        let update_to = (age > current.timeout / 10).then(new_cookie);
        Ok(Some(Login {
            user: UserContext {
                name: Some(claim.name),
                roles,
            },
            by: Some("cookie"),
            update_to,
        }))
    }
}

/// Tells the operator that a user's logins have failed so many times.
fn log_failures(log: &Log, count: u32, name: &str, client: Option<IpAddr>) {
    let from = client.map_or_else(|| "nowhere".to_owned(), |client| client.to_string());
    log.scope(|| tracing::warn!("{count} logins of {name:?} from {from} have failed"));
}

/// Name and password of `Authorization: Basic`.
fn basic(headers: &HeaderMap) -> Option<(String, String)> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, encoded) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let plain = STANDARD.decode(encoded.trim()).ok()?;
    let plain = String::from_utf8(plain).ok()?;
    let (name, password) = plain.split_once(':')?;
    Some((name.to_owned(), password.to_owned()))
}

fn session_cookie(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).iter();
    let mut pairs = cookies
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'));
    pairs.find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == cookie::NAME).then_some(value.trim_matches('"'))
    })
}
