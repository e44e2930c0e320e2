//! The user of a request, and the user's rights.
//!
//! A request without a login may read public content; nothing is ever written to a database for it. Admins come from
//! the `[admins]` section of `varve.ini`, all others from the database `_users`.

pub(crate) mod cookie;
mod jwt;
pub(crate) mod password;
mod proxy;
mod queue;
mod security;
mod user;
mod verified;

pub use security::{Names, Security};
pub use user::{ADMIN_ROLE, UserContext};

use crate::runtime::Pool;
use crate::runtime::clock::now;
use crate::{Failure, Request, ServerError};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cookie::{Attributes, Claim};
use hyper::header::{AUTHORIZATION, COOKIE, HeaderMap};
use jwt::TokenCheck;
use parking_lot::RwLock;
use password::Stored;
use queue::CheckQueue;
use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use varve_config::{LoginHandler, ProxyLogin, Settings};
use verified::Verified;

const WRONG: &str = "Name or password is incorrect.";

/// Result of [`Auth::login`].
#[derive(Clone, Debug, Default)]
pub struct Login {
    /// The user.
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

/// Refuses settings that [`Auth::new`] would refuse.
///
/// # Errors
/// [`ServerError::Config`].
pub(crate) fn check_settings(settings: &Settings) -> Result<(), ServerError> {
    TokenCheck::new(&settings.jwt).map(drop)
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
}

/// What [`Auth`] takes from the settings.
#[derive(Debug)]
struct AuthSettings {
    admins: HashMap<String, Stored>,
    secret: String,
    timeout: u64,
    /// In the order in which they are asked.
    handlers: Vec<LoginHandler>,
    proxy: ProxyLogin,
    tokens: TokenCheck,
    attributes: Attributes,
    /// Stands for the password of names that do not exist.
    unknown_user: Stored,
}

impl AuthSettings {
    fn of(settings: &Settings) -> Result<AuthSettings, ServerError> {
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
        Ok(AuthSettings {
            admins: admins.collect(),
            secret,
            timeout: sessions.timeout.as_secs(),
            handlers: sessions.handlers.clone(),
            proxy: sessions.proxy.clone(),
            tokens: TokenCheck::new(&settings.jwt)?,
            attributes: Attributes {
                keep: sessions.persistent.then_some(sessions.timeout.as_secs()),
                domain: sessions.domain.clone(),
                same_site: sessions.same_site,
            },
            unknown_user: Stored::of_unknown_user(sessions.iterations)?,
        })
    }
}

impl Auth {
    /// Takes admins and session settings from a configuration whose passwords are hashed.
    ///
    /// # Errors
    /// [`ServerError::Random`]; [`ServerError::Config`] for a key of tokens.
    pub(crate) fn new(
        settings: &Settings,
        users: Box<dyn FindAccount>,
        pool: Pool,
    ) -> Result<Auth, ServerError> {
        Ok(Auth {
            current: RwLock::new(Arc::new(AuthSettings::of(settings)?)),
            users,
            verified: Verified::new()?,
            checks: CheckQueue::new(pool, &settings.limits),
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
                    proxy::user(&request.headers, &current.proxy, &current.secret)
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
        let proven = self.check(&name, &password, request.client()).await?;
        Ok(Some(Login::by(LoginHandler::Default, proven.user)))
    }

    /// Admins come first, so that no document makes one.
    async fn account(&self, name: &str) -> Result<Option<Account>, Failure> {
        match self.current().admins.get(name) {
            Some(stored) => Ok(Some(Account {
                stored: stored.clone(),
                roles: vec![ADMIN_ROLE.to_owned()],
            })),
            None => self.users.find(name).await,
        }
    }

    /// The user of that name, if the password is right. A wrong name takes as long as a wrong password.
    ///
    /// # Errors
    /// 401; 503 if too many logins wait.
    pub(crate) async fn check(
        &self,
        name: &str,
        password: &str,
        client: Option<IpAddr>,
    ) -> Result<Proven, Failure> {
        let wrong = || Failure::unauthorized(WRONG);
        let current = self.current();
        let account = self.account(name).await?;
        let stored = account
            .as_ref()
            .map_or(&current.unknown_user, |known| &known.stored);
        let key = self.verified.digest(name, password, stored);
        if account.is_none() || !self.verified.knows(&key) {
            let (checked, slowest) = (stored.clone(), current.unknown_user.clone());
            let given = password.to_owned();
            let verify = move || checked.verify_slowly(&given, &slowest);
            if !self.checks.check(client, key, verify).await? || account.is_none() {
                return Err(wrong());
            }
            self.verified.remember(key);
        }
        let Account { stored, roles } = account.ok_or_else(wrong)?;
        Ok(Proven {
            user: UserContext {
                name: Some(name.to_owned()),
                roles,
            },
            salt: stored.salt().to_owned(),
        })
    }

    /// A `Set-Cookie` value that logs the user in from now on.
    pub(crate) fn cookie_for(&self, proven: &Proven, is_secure: bool) -> String {
        let name = proven.user.name.as_deref().unwrap_or_default();
        self.new_cookie(name, &proven.salt, is_secure)
    }

    fn new_cookie(&self, name: &str, salt: &str, is_secure: bool) -> String {
        let (now, current) = (now(), self.current());
        let value = cookie::make(name, now, &current.secret, salt);
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
        let claim = Claim::parse(value).ok_or_else(|| {
            Failure::bad_request("Malformed AuthSession cookie. Please clear your cookies.")
        })?;
        let Some(Account { stored, roles }) = self.account(&claim.name).await? else {
            return Ok(None);
        };
        let current = self.current();
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
    use hyper::{Method, StatusCode};
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

    fn request(name: hyper::header::HeaderName, value: &str) -> Request {
        let headers = HeaderMap::from_iter([(name, value.parse().unwrap())]);
        Request::new(Method::GET, &"/".parse().unwrap(), headers, Vec::new()).unwrap()
    }

    fn with_basic(plain: &str) -> Request {
        request(AUTHORIZATION, &format!("Basic {}", STANDARD.encode(plain)))
    }

    #[tokio::test]
    async fn basic_login_is_right_wrong_or_absent() {
        let auth = auth();
        for _ in 0..2 {
            let login = auth.login(&with_basic("adm:pass:word")).await.unwrap();
            assert_eq!(login.user, UserContext::admin("adm"));
            assert_eq!(login.by, Some("default"));
        }
        for wrong in ["adm:pass", "eve:pass:word", "adm:"] {
            let refused = auth.login(&with_basic(wrong)).await.unwrap_err();
            assert_eq!(
                (refused.status(), refused.reason.as_str()),
                (StatusCode::UNAUTHORIZED, WRONG)
            );
        }
        let anonymous = auth.login(&request(COOKIE, "other=1")).await.unwrap();
        assert_eq!((anonymous.user.name, anonymous.by), (None, None));
    }

    #[tokio::test]
    async fn a_cookie_logs_in_until_it_is_old_and_is_refreshed_on_the_way() {
        let auth = auth();
        let stored = &auth.current().admins["adm"];
        let aged = |age| cookie::make("adm", now() - age, "s", stored.salt());
        let login = async |value: String| {
            let request = request(COOKIE, &format!("other=1; AuthSession={value}"));
            auth.by_cookie(&request).await.unwrap()
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
            .by_cookie(&request(COOKIE, "AuthSession=x"))
            .await
            .unwrap_err();
        assert_eq!(malformed.status(), 400);
    }
}
