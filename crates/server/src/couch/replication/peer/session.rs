//! Sessions with a peer: its `_session` gives a cookie, which takes the place of name and password until it expires.
//!
//! ```text
//!   no cookie ── POST _session ──┬─ a cookie ──► requests with it ── 401 ──► another one, if it was ever accepted
//!                                └─ anything else, or a new cookie that is refused ──► requests with the password
//! ```

use super::super::error::ReplicationError;
use super::retry;
use hyper::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use hyper::{Method, StatusCode};
use reqwest::{Client, Url};
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;
use varve_replicate::replicator::Login;

/// The name of the cookie.
const COOKIE_NAME: &str = "AuthSession=";
/// Of the time that a cookie lasts, it is used for this part in percent.
const USED: u32 = 80;

/// The login of one peer.
#[derive(Debug)]
pub(super) struct Session {
    url: Url,
    login: Login,
    /// `Basic` with name and password.
    password: HeaderValue,
    /// Time after which a cookie is replaced.
    refresh: Duration,
    state: Mutex<SessionState>,
}

#[derive(Debug, Default)]
struct SessionState {
    cookie: Option<Cookie>,
    /// The peer has no sessions, or does not accept its own cookies.
    is_refused: bool,
    /// Cookies so far.
    count: u64,
}

#[derive(Debug)]
struct Cookie {
    value: HeaderValue,
    number: u64,
    until: Instant,
    /// A request with it was not answered by 401.
    is_accepted: bool,
}

/// How a request says whose it is.
#[derive(Clone, Debug)]
pub(super) struct Credentials {
    pub name: HeaderName,
    pub value: HeaderValue,
    /// The number of the cookie, unless it is the password.
    cookie: Option<u64>,
}

impl Session {
    /// `url` is that of the peer's `_session`; `None` where cookies are not wanted.
    pub fn new(
        url: Url,
        login: &Login,
        password: HeaderValue,
        refresh: Option<Duration>,
    ) -> Session {
        Session {
            url,
            login: login.clone(),
            password,
            refresh: refresh.unwrap_or_default(),
            state: Mutex::new(SessionState {
                is_refused: refresh.is_none(),
                ..SessionState::default()
            }),
        }
    }

    /// User and proof of the next request. The first one, and one after the cookie has expired, waits for a new cookie.
    ///
    /// # Errors
    /// [`ReplicationError::NoAnswer`] if the peer does not answer at all.
    pub async fn credentials(
        &self,
        client: &Client,
        timeout: Duration,
    ) -> Result<Credentials, ReplicationError> {
        let mut state = self.state.lock().await;
        let is_old = |cookie: &Cookie| cookie.until <= Instant::now();
        if !state.is_refused && state.cookie.as_ref().is_none_or(is_old) {
            state.cookie = None;
            match self.log_in(client, timeout).await? {
                Some((value, lasts)) => state.take(value, self.refresh.min(lasts)),
                None => state.is_refused = true,
            }
        }
        Ok(match &state.cookie {
            Some(cookie) => Credentials {
                name: COOKIE,
                value: cookie.value.clone(),
                cookie: Some(cookie.number),
            },
            None => Credentials {
                name: AUTHORIZATION,
                value: self.password.clone(),
                cookie: None,
            },
        })
    }

    /// Looks at an answer to a request with these credentials: a peer may prolong its session by another cookie. Returns
    /// whether the request is to be sent again, because the session has expired.
    pub async fn has_expired(
        &self,
        credentials: &Credentials,
        (status, headers): (StatusCode, &HeaderMap),
    ) -> bool {
        let Some(number) = credentials.cookie else {
            return false;
        };
        let mut state = self.state.lock().await;
        let is_unauthorized = status == StatusCode::UNAUTHORIZED;
        match &mut state.cookie {
            Some(cookie) if cookie.number == number => {
                if !is_unauthorized {
                    cookie.is_accepted = true;
                    if let Some((value, lasts)) = cookie_in(headers) {
                        state.take(value, self.refresh.min(lasts));
                    }
                    return false;
                }
                state.is_refused = !cookie.is_accepted;
                state.cookie = None;
            }
            // Another request has noticed it before.
            _ => {}
        }
        is_unauthorized
    }

    /// A cookie, and how long it is used; `None` if the peer gives none.
    async fn log_in(
        &self,
        client: &Client,
        timeout: Duration,
    ) -> Result<Option<(HeaderValue, Duration)>, ReplicationError> {
        // A query and a form have the same form.
        let mut form = self.url.clone();
        form.query_pairs_mut()
            .clear()
            .append_pair("name", &self.login.user)
            .append_pair("password", &self.login.password);
        let form = form.query().unwrap_or_default().to_owned();
        let request = client
            .post(self.url.clone())
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json")
            .body(form);
        let no_answer = |reason: String| ReplicationError::NoAnswer {
            method: Method::POST.to_string(),
            url: self.url.to_string(),
            reason,
        };
        match tokio::time::timeout(timeout, request.send()).await {
            Ok(Ok(answer)) if answer.status().is_success() => Ok(cookie_in(answer.headers())),
            Ok(Ok(_)) => Ok(None),
            Ok(Err(error)) => Err(no_answer(retry::reason(&error))),
            Err(_) => Err(no_answer("no answer in time".to_owned())),
        }
    }
}

impl SessionState {
    fn take(&mut self, value: HeaderValue, lasts: Duration) {
        self.count += 1;
        self.cookie = Some(Cookie {
            value,
            number: self.count,
            until: Instant::now() + lasts,
            is_accepted: false,
        });
    }
}

/// The session's cookie as a client sends it, and how long it is used.
fn cookie_in(headers: &HeaderMap) -> Option<(HeaderValue, Duration)> {
    let cookies = headers.get_all(SET_COOKIE).iter();
    let mut cookies = cookies.filter_map(|cookie| cookie.to_str().ok());
    let cookie = cookies.find(|cookie| cookie.starts_with(COOKIE_NAME))?;
    let mut parts = cookie.split(';').map(str::trim);
    let pair = parts.next().filter(|pair| pair.len() > COOKIE_NAME.len())?;
    let seconds = parts.find_map(|part| {
        let (name, value) = part.split_once('=')?;
        let is_age = name.eq_ignore_ascii_case("max-age");
        value.parse::<u32>().ok().filter(|_| is_age)
    });
    let lasts = seconds.map_or(Duration::MAX, |seconds| {
        Duration::from_secs(u64::from(seconds)) * USED / 100
    });
    let mut value = HeaderValue::from_str(pair).ok()?;
    value.set_sensitive(true);
    Some((value, lasts))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(cookies: &[&str]) -> HeaderMap {
        let cookies = cookies.iter();
        let cookies = cookies.map(|text| (SET_COOKIE, HeaderValue::from_str(text).unwrap()));
        cookies.collect()
    }

    #[test]
    fn the_cookie_is_found_among_others_with_its_age() {
        let found = |cookies: &[&str]| {
            let found = cookie_in(&headers(cookies))?;
            Some((found.0.to_str().unwrap().to_owned(), found.1.as_secs()))
        };
        let long = "AuthSession=YWRt; Version=1; Max-Age=600; Path=/; HttpOnly";
        assert_eq!(
            found(&["a=b", long]),
            Some(("AuthSession=YWRt".to_owned(), 480))
        );
        let other = found(&["AuthSession=x=="]).unwrap();
        assert_eq!((other.0.as_str(), other.1), ("AuthSession=x==", u64::MAX));
        for none in [&["a=b"][..], &[], &["AuthSession=; Max-Age=0"]] {
            assert_eq!(found(none), None);
        }
    }

    fn session() -> Session {
        let login = Login {
            user: "a".to_owned(),
            password: "b".to_owned(),
        };
        let url = Url::parse("http://peer/_session").unwrap();
        let password = HeaderValue::from_static("Basic x");
        Session::new(url, &login, password, Some(Duration::from_secs(60)))
    }

    /// Has the session take a cookie, and returns what a request sends then.
    async fn give(session: &Session, text: &'static str) -> Credentials {
        let mut state = session.state.lock().await;
        state.take(HeaderValue::from_static(text), Duration::from_secs(60));
        Credentials {
            name: COOKIE,
            value: HeaderValue::from_static(text),
            cookie: Some(state.count),
        }
    }

    fn run(work: impl Future<Output = ()>) {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.build().unwrap().block_on(work);
    }

    const REFUSED: StatusCode = StatusCode::UNAUTHORIZED;

    #[test]
    fn a_session_ends_by_401_and_only_by_that_of_its_own_cookie() {
        let (session, none) = (session(), HeaderMap::new());
        run(async {
            let first = give(&session, "AuthSession=1").await;
            let missing = (StatusCode::NOT_FOUND, &none);
            assert!(!session.has_expired(&first, missing).await);
            assert!(session.has_expired(&first, (REFUSED, &none)).await);
            assert!(!session.state.lock().await.is_refused);
            give(&session, "AuthSession=2").await;
            // A late answer to a request with the first one.
            assert!(session.has_expired(&first, (REFUSED, &none)).await);
            assert!(session.state.lock().await.cookie.is_some());
        });
    }

    #[test]
    fn a_prolonged_session_goes_on_and_one_that_never_held_is_not_tried_again() {
        let (session, none) = (session(), HeaderMap::new());
        run(async {
            let first = give(&session, "AuthSession=1").await;
            let prolonged = headers(&["AuthSession=2"]);
            let prolonged = (StatusCode::OK, &prolonged);
            assert!(!session.has_expired(&first, prolonged).await);
            assert!(session.has_expired(&first, (REFUSED, &none)).await);
            let number = |state: &SessionState| state.cookie.as_ref().map(|cookie| cookie.number);
            let second = Credentials {
                cookie: number(&*session.state.lock().await),
                ..first
            };
            assert_eq!(second.cookie, Some(2));
            assert!(session.has_expired(&second, (REFUSED, &none)).await);
            assert!(session.state.lock().await.is_refused);
        });
    }
}
