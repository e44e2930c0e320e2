//! The user of a request, and the user's rights.
//!
//! A request without a login may read public content; nothing is ever written for it. Admins come from the `[admins]`
//! section of `varve.ini`, all others from the database `_users`.

pub(crate) mod cookie;
pub(crate) mod password;
mod security;
mod user;
mod verified;

pub use security::{Names, Security};
pub use user::{ADMIN_ROLE, UserContext};

use crate::http::blocking;
use crate::runtime::Pool;
use crate::runtime::clock::now;
use crate::{Failure, ServerError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cookie::Claim;
use hyper::header::{AUTHORIZATION, COOKIE, HeaderMap};
use password::Stored;
use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use tokio::sync::Semaphore;
use varve_config::Settings;
use verified::Verified;

const WRONG: &str = "Name or password is incorrect.";
/// Passwords that are checked at a time. One check takes a good part of a second of CPU, and
/// strangers must not be able to keep every core busy with guesses.
const CHECKS_AT_A_TIME: usize = 1;

/// Result of [`Auth::login`].
#[derive(Clone, Debug, Default)]
pub struct Login {
    /// The user.
    pub user: UserContext,
    /// How they proved it: `default` (basic) or `cookie`; `None` if they did not.
    pub by: Option<&'static str>,
    /// A `Set-Cookie` value that prolongs a session which is being used.
    pub(crate) update_to: Option<String>,
}

/// A user who can log in.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    pub(crate) stored: Stored,
    pub(crate) roles: Vec<String>,
}

/// A user whose password was right.
#[derive(Clone, Debug)]
pub(crate) struct Proven {
    pub(crate) user: UserContext,
    salt: String,
}

/// Finds the accounts that are no admins.
pub(crate) trait FindAccount: fmt::Debug + Send + Sync {
    /// The account of that name, as it is now.
    ///
    /// # Errors
    /// 401 if the account cannot be used; 500 if it cannot be read.
    fn find<'a>(&'a self, name: &'a str) -> FoundAccount<'a>;
}

/// Future that [`FindAccount::find`] returns.
pub(crate) type FoundAccount<'a> =
    Pin<Box<dyn Future<Output = Result<Option<Account>, Failure>> + Send + 'a>>;

/// Users and sessions of one server.
#[derive(Debug)]
pub struct Auth {
    admins: HashMap<String, Stored>,
    /// All other users.
    users: Box<dyn FindAccount>,
    secret: String,
    timeout: u64,
    persistent: bool,
    verified: Verified,
    checks: Semaphore,
    /// Where passwords are checked, which takes a while.
    pool: Pool,
}

impl Auth {
    /// Takes admins and session settings from a configuration whose passwords are hashed.
    ///
    /// # Errors
    /// [`ServerError::Random`].
    pub(crate) fn new(
        settings: &Settings,
        users: Box<dyn FindAccount>,
        pool: Pool,
    ) -> Result<Auth, ServerError> {
        let admins = settings.admins.iter();
        let admins = admins.filter_map(|admin| {
            let stored = Stored::parse(&admin.value)?;
            Some((admin.key.clone(), stored))
        });
        let sessions = &settings.sessions;
        let secret = match &sessions.secret {
            Some(secret) => secret.clone(),
            None => password::random_hex(32)?,
        };
        Ok(Auth {
            admins: admins.collect(),
            users,
            secret,
            timeout: sessions.timeout.as_secs(),
            persistent: sessions.persistent,
            verified: Verified::new()?,
            checks: Semaphore::new(CHECKS_AT_A_TIME),
            pool,
        })
    }

    /// Finds the user of a request from its headers: a good cookie counts first, then basic login.
    ///
    /// # Errors
    /// 401 if a name and password are given and wrong, 400 if the cookie is malformed.
    pub async fn login(&self, headers: &HeaderMap) -> Result<Login, Failure> {
        if let Some(login) = self.by_cookie(headers).await? {
            return Ok(login);
        }
        let Some((name, password)) = basic(headers) else {
            return Ok(Login::default());
        };
        let proven = self.check(&name, &password).await?;
        Ok(Login {
            user: proven.user,
            by: Some("default"),
            update_to: None,
        })
    }

    /// Admins come first, so that no document makes one.
    async fn account(&self, name: &str) -> Result<Option<Account>, Failure> {
        match self.admins.get(name) {
            Some(stored) => Ok(Some(Account {
                stored: stored.clone(),
                roles: vec![ADMIN_ROLE.to_owned()],
            })),
            None => self.users.find(name).await,
        }
    }

    /// The user of that name, if the password is right.
    ///
    /// # Errors
    /// 401.
    pub(crate) async fn check(&self, name: &str, password: &str) -> Result<Proven, Failure> {
        let wrong = || Failure::unauthorized(WRONG);
        let Account { stored, roles } = self.account(name).await?.ok_or_else(wrong)?;
        if !self.verified.knows(name, password, &stored) {
            let permit = self.checks.acquire().await;
            let permit = permit.map_err(Failure::internal)?;
            let (checked, given) = (stored.clone(), password.to_owned());
            let right = blocking(&self.pool, move || Ok(checked.verify(&given))).await?;
            drop(permit);
            if !right {
                return Err(wrong());
            }
            self.verified.remember(name, password, &stored);
        }
        Ok(Proven {
            user: UserContext {
                name: Some(name.to_owned()),
                roles,
            },
            salt: stored.salt().to_owned(),
        })
    }

    /// A `Set-Cookie` value that logs the user in from now on.
    pub(crate) fn cookie_for(&self, proven: &Proven) -> String {
        self.new_cookie(
            proven.user.name.as_deref().unwrap_or_default(),
            &proven.salt,
        )
    }

    fn new_cookie(&self, name: &str, salt: &str) -> String {
        let now = now();
        let value = cookie::make(name, now, &self.secret, salt);
        cookie::header(&value, now, self.kept())
    }

    /// A `Set-Cookie` value that logs out.
    pub(crate) fn no_cookie(&self) -> String {
        cookie::header("", now(), self.kept())
    }

    fn kept(&self) -> Option<u64> {
        self.persistent.then_some(self.timeout)
    }

    async fn by_cookie(&self, headers: &HeaderMap) -> Result<Option<Login>, Failure> {
        let Some(value) = session_cookie(headers).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let claim = Claim::parse(value).ok_or_else(|| {
            Failure::bad_request("Malformed AuthSession cookie. Please clear your cookies.")
        })?;
        let Some(Account { stored, roles }) = self.account(&claim.name).await? else {
            return Ok(None);
        };
        let age = now().saturating_sub(claim.made);
        if age >= self.timeout || !claim.is_signed(&self.secret, stored.salt()) {
            return Ok(None);
        }
        // A new cookie for every request would be noise; one for the last nine tenths is enough.
        let update_to =
            (age > self.timeout / 10).then(|| self.new_cookie(&claim.name, stored.salt()));
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

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::StatusCode;
    use std::path::Path;
    use varve_config::Ini;

    #[derive(Debug)]
    struct NoUsers;

    impl FindAccount for NoUsers {
        fn find<'a>(&'a self, _name: &'a str) -> FoundAccount<'a> {
            Box::pin(async { Ok(None) })
        }
    }

    fn auth() -> Auth {
        let hashed = password::hash("pass:word", 2).unwrap();
        let text = format!("[admins]\nadm = {hashed}\n[chttpd_auth]\nsecret = s\ntimeout = 600\n");
        let ini = Ini::parse(Path::new("t.ini"), &text).unwrap();
        Auth::new(
            &Settings::read(&ini).unwrap(),
            Box::new(NoUsers),
            Pool::for_tests(1),
        )
        .unwrap()
    }

    fn headers(name: hyper::header::HeaderName, value: &str) -> HeaderMap {
        HeaderMap::from_iter([(name, value.parse().unwrap())])
    }

    fn basic_header(plain: &str) -> HeaderMap {
        headers(AUTHORIZATION, &format!("Basic {}", STANDARD.encode(plain)))
    }

    #[tokio::test]
    async fn basic_login_is_right_wrong_or_absent() {
        let auth = auth();
        for _ in 0..2 {
            let login = auth.login(&basic_header("adm:pass:word")).await.unwrap();
            assert_eq!(login.user, UserContext::admin("adm"));
            assert_eq!(login.by, Some("default"));
        }
        for wrong in ["adm:pass", "eve:pass:word", "adm:"] {
            let refused = auth.login(&basic_header(wrong)).await.unwrap_err();
            assert_eq!(
                (refused.status(), refused.reason.as_str()),
                (StatusCode::UNAUTHORIZED, WRONG)
            );
        }
        let nobody = auth.login(&HeaderMap::new()).await.unwrap();
        assert_eq!((nobody.user.name, nobody.by), (None, None));
    }

    #[tokio::test]
    async fn a_cookie_logs_in_until_it_is_old_and_is_refreshed_on_the_way() {
        let auth = auth();
        let stored = &auth.admins["adm"];
        let aged = |age| cookie::make("adm", now() - age, "s", stored.salt());
        let login = async |value: String| {
            let headers = headers(COOKIE, &format!("other=1; AuthSession={value}"));
            auth.by_cookie(&headers).await.unwrap()
        };
        let fresh = login(aged(0)).await.unwrap();
        assert_eq!((fresh.by, fresh.update_to), (Some("cookie"), None));
        assert!(login(aged(300)).await.unwrap().update_to.is_some());
        assert!(login(aged(600)).await.is_none());
        assert!(
            login(cookie::make("adm", now(), "s", "old salt"))
                .await
                .is_none()
        );
        assert!(login(cookie::make("eve", now(), "s", "")).await.is_none());
        let malformed = auth
            .by_cookie(&headers(COOKIE, "AuthSession=x"))
            .await
            .unwrap_err();
        assert_eq!(malformed.status(), 400);
    }
}
