//! One side of a replication, over HTTP.

mod client;
mod retry;
mod session;
mod stream;

pub(super) use client::Clients;
pub(super) use stream::StreamAttempts;

use super::error::ReplicationError;
use super::local::LocalSide;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper::header::{ACCEPT_ENCODING, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use session::{Credentials, Session};
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use varve_config::Replicator;
use varve_json::Value;
use varve_replicate::replicator::Endpoint;

/// Most bytes of an answer that is read as a whole.
pub(super) const LONGEST_ANSWER: usize = 64 << 20;
/// Most bytes in memory of the values that an answer becomes.
const LARGEST_VALUES: usize = 4 * LONGEST_ANSWER;
/// Bytes of a refusal that are read for its reason.
const LONGEST_REFUSAL: usize = 64 << 10;

/// Characters that are escaped in a segment of a path: `+` as well, which some servers take for a space.
const IN_SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// A database on another server.
#[derive(Debug)]
pub(super) struct Peer {
    client: reqwest::Client,
    /// URL of the database; redirects are followed anew for each request.
    url: Url,
    headers: HeaderMap,
    authorization: Option<HeaderValue>,
    session: Option<Session>,
    timeout: Duration,
    retries: u32,
    /// Requests that may be under way.
    permits: Arc<Semaphore>,
    settings: Arc<Replicator>,
    /// The database in this server, which answers requests without a network as long as this server may.
    local: Option<LocalSide>,
}

/// One request to a [`Peer`].
#[derive(Clone, Debug)]
pub(super) struct PeerRequest {
    pub method: Method,
    /// Segments below the database, not escaped yet.
    pub path: Vec<String>,
    pub query: Vec<(&'static str, String)>,
    /// Further pairs of the query, with names that users chose.
    pub params: Vec<(String, String)>,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub body: Option<Bytes>,
}

impl PeerRequest {
    pub fn new(method: Method, path: &[&str]) -> PeerRequest {
        PeerRequest {
            method,
            path: path.iter().map(|segment| (*segment).to_owned()).collect(),
            query: Vec::new(),
            params: Vec::new(),
            headers: Vec::new(),
            body: None,
        }
    }

    pub fn get(path: &[&str]) -> PeerRequest {
        PeerRequest::new(Method::GET, path)
    }

    /// A POST with a JSON body.
    pub fn post(path: &[&str], body: Vec<u8>) -> PeerRequest {
        PeerRequest::new(Method::POST, path).with_json(body)
    }

    pub fn with_json(mut self, body: Vec<u8>) -> PeerRequest {
        self.body = Some(body.into());
        let json = HeaderValue::from_static("application/json");
        self.with_header(hyper::header::CONTENT_TYPE, json)
    }

    pub fn with_header(mut self, name: HeaderName, value: HeaderValue) -> PeerRequest {
        self.headers.push((name, value));
        self
    }

    pub fn with(mut self, name: &'static str, value: impl Into<String>) -> PeerRequest {
        self.query.push((name, value.into()));
        self
    }
}

impl Peer {
    /// # Errors
    /// [`ReplicationError::HostNotAllowed`], [`ReplicationError::Tls`].
    pub fn new(
        endpoint: &Endpoint,
        clients: &Clients,
        settings: &Arc<Replicator>,
        (timeout, retries, connections): (Duration, u32, usize),
    ) -> Result<Peer, ReplicationError> {
        check_host(&endpoint.url, settings)?;
        let client = clients.get(settings, endpoint.proxy.as_ref())?;
        let mut headers = HeaderMap::new();
        for (name, value) in endpoint.headers.iter().chain(&endpoint.proof) {
            let name = HeaderName::from_bytes(name.as_bytes());
            if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
                headers.append(name, value);
            }
        }
        // Bytes that stay on this machine cost less than their compression, which took a sixth of a replication's time.
        if is_loopback(&endpoint.url) && !headers.contains_key(ACCEPT_ENCODING) {
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        let authorization = endpoint.login.as_ref().and_then(|login| {
            let encoded = STANDARD.encode(format!("{}:{}", login.user, login.password));
            let mut value = HeaderValue::from_str(&format!("Basic {encoded}")).ok()?;
            value.set_sensitive(true);
            Some(value)
        });
        let refresh = settings.uses_sessions.then_some(settings.session_refresh);
        let session = endpoint.login.as_ref().zip(authorization.as_ref());
        let session = session.and_then(|(login, password)| {
            let url = session_url(&endpoint.url)?;
            Some(Session::new(url, login, password.clone(), refresh))
        });
        Ok(Peer {
            session,
            client,
            url: endpoint.url.clone(),
            headers,
            authorization,
            timeout,
            retries,
            permits: Arc::new(Semaphore::new(connections)),
            settings: Arc::clone(settings),
            local: None,
        })
    }

    /// The same for a database of this server, whose requests need no network. Those that another server of the store has to
    /// answer by then are sent.
    #[must_use]
    pub fn at(self, local: LocalSide) -> Peer {
        Peer {
            local: Some(local),
            ..self
        }
    }

    /// The URL as logs and errors show it.
    pub fn name(&self) -> &str {
        self.url.as_str()
    }

    /// Sends a request, and again after failures that may pass. Only answers with a status of success are returned.
    ///
    /// # Errors
    /// [`ReplicationError::Refused`], [`ReplicationError::NoAnswer`], [`ReplicationError::HostNotAllowed`].
    pub async fn send(&self, request: &PeerRequest) -> Result<PeerAnswer, ReplicationError> {
        // The semaphore is never closed.
        let _permit = self.permits.acquire().await;
        retry::send(self, request, &mut 0).await
    }

    /// Sends a request and reads the answer as JSON, as [`Peer::text`].
    ///
    /// # Errors
    /// As [`Peer::send`]; [`ReplicationError::BadAnswer`], [`ReplicationError::TooLong`].
    pub async fn json(&self, request: &PeerRequest) -> Result<Value, ReplicationError> {
        let text = self.text(request).await?;
        self.parsed(request, &text)
    }

    /// Reads the text of an answer as JSON.
    ///
    /// # Errors
    /// [`ReplicationError::BadAnswer`].
    pub fn parsed(&self, request: &PeerRequest, text: &[u8]) -> Result<Value, ReplicationError> {
        varve_json::parse_bounded(text, LARGEST_VALUES).map_err(|error| {
            ReplicationError::BadAnswer {
                url: self.shown(request),
                reason: error.to_string(),
            }
        })
    }

    /// Sends a request and reads the answer as a whole. One that is cut is asked for again.
    ///
    /// # Errors
    /// As [`Peer::send`]; [`ReplicationError::TooLong`].
    pub async fn text(&self, request: &PeerRequest) -> Result<Vec<u8>, ReplicationError> {
        let _permit = self.permits.acquire().await;
        let mut failed = 0;
        loop {
            let answer = retry::send(self, request, &mut failed).await?;
            match answer.bytes(LONGEST_ANSWER).await {
                Err(ReplicationError::NoAnswer { .. }) if failed < self.retries => {
                    retry::pause(failed, None).await;
                    failed += 1;
                }
                read => return read,
            }
        }
    }

    /// The URL of a request.
    pub fn url_of(&self, request: &PeerRequest) -> Url {
        let mut url = self.url.clone();
        if !request.path.is_empty() {
            let mut path = url.path().trim_end_matches('/').to_owned();
            for segment in &request.path {
                let _ = write!(path, "/{}", utf8_percent_encode(segment, IN_SEGMENT));
            }
            url.set_path(&path);
        }
        if !request.query.is_empty() || !request.params.is_empty() {
            let mut pairs = url.query_pairs_mut();
            pairs.extend_pairs(&request.query);
            pairs.extend_pairs(&request.params);
        }
        url
    }

    fn shown(&self, request: &PeerRequest) -> String {
        self.url_of(request).to_string()
    }

    /// The headers of a request, with those of the login.
    pub fn headers_of(&self, request: &PeerRequest) -> HeaderMap {
        let mut headers = self.headers.clone();
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        for (name, value) in &request.headers {
            headers.insert(name.clone(), value.clone());
        }
        headers
    }

    /// User and proof of the next request.
    async fn credentials(&self) -> Result<Option<Credentials>, ReplicationError> {
        match &self.session {
            Some(session) => session
                .credentials(&self.client, self.timeout)
                .await
                .map(Some),
            None => Ok(None),
        }
    }

    /// Whether a request is to be sent again because its session has expired.
    async fn has_expired(
        &self,
        credentials: Option<&Credentials>,
        response: &reqwest::Response,
    ) -> bool {
        match (&self.session, credentials) {
            (Some(session), Some(credentials)) if self.is_own(response.url()) => {
                let head = (response.status(), response.headers());
                session.has_expired(credentials, head).await
            }
            _ => false,
        }
    }

    /// Whether a URL is of the peer's origin: another one, to which it has redirected, gets no login.
    fn is_own(&self, url: &Url) -> bool {
        url.origin() == self.url.origin()
    }

    fn builder(
        &self,
        request: &PeerRequest,
        (method, url, credentials): (&Method, &Url, Option<&Credentials>),
    ) -> reqwest::RequestBuilder {
        let mut builder = self.client.request(method.clone(), url.clone());
        builder = builder.headers(self.headers.clone());
        if let Some(credentials) = credentials.filter(|_| self.is_own(url)) {
            builder = builder.header(&credentials.name, &credentials.value);
        }
        for (name, value) in &request.headers {
            builder = builder.header(name, value);
        }
        builder
    }
}

/// Where the server of a database has its sessions: beside the database.
fn session_url(database: &Url) -> Option<Url> {
    let mut url = database.clone();
    url.set_query(None);
    url.path_segments_mut()
        .ok()?
        .pop_if_empty()
        .pop()
        .push("_session");
    Some(url)
}

/// Refuses a URL to a host that replications may not reach.
pub(super) fn check_host(url: &Url, settings: &Replicator) -> Result<(), ReplicationError> {
    let host = url.host_str().unwrap_or_default();
    match settings.allows(host) {
        true => Ok(()),
        false => Err(ReplicationError::HostNotAllowed(host.to_owned())),
    }
}

/// An address of this machine, or its usual name.
fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    let is_local_address = |address: std::net::IpAddr| address.is_loopback();
    host == "localhost" || address.parse().is_ok_and(is_local_address)
}

/// An answer whose body is still to come.
#[derive(Debug)]
pub(super) struct PeerAnswer {
    response: reqwest::Response,
    method: Method,
    timeout: Duration,
}

impl PeerAnswer {
    fn new(request: &PeerRequest, response: reqwest::Response, timeout: Duration) -> PeerAnswer {
        PeerAnswer {
            response,
            method: request.method.clone(),
            timeout,
        }
    }

    pub fn status(&self) -> StatusCode {
        self.response.status()
    }

    pub fn header(&self, name: &HeaderName) -> Option<&HeaderValue> {
        self.response.headers().get(name)
    }

    /// The body as a whole.
    ///
    /// # Errors
    /// As [`PeerAnswer::piece`]; [`ReplicationError::TooLong`].
    pub async fn bytes(mut self, most: usize) -> Result<Vec<u8>, ReplicationError> {
        let mut body = Vec::new();
        while let Some(piece) = self.piece().await? {
            if body.len() + piece.len() > most {
                return Err(ReplicationError::TooLong(self.response.url().to_string()));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    /// The next piece of the body; `None` behind the last.
    ///
    /// # Errors
    /// [`ReplicationError::NoAnswer`] if the body is cut, or nothing comes for too long.
    pub async fn piece(&mut self) -> Result<Option<Bytes>, ReplicationError> {
        let reason = match tokio::time::timeout(self.timeout, self.response.chunk()).await {
            Ok(Ok(piece)) => return Ok(piece),
            Ok(Err(error)) => retry::reason(&error),
            Err(_) => "nothing came any more".to_owned(),
        };
        Err(ReplicationError::NoAnswer {
            method: self.method.to_string(),
            url: self.response.url().to_string(),
            reason,
        })
    }

    /// The answer itself, if its status is one of success.
    ///
    /// # Errors
    /// [`ReplicationError::Refused`] with the reason that the body gives.
    async fn checked(self) -> Result<PeerAnswer, ReplicationError> {
        let status = self.status();
        if status.is_success() {
            return Ok(self);
        }
        let (method, url) = (self.method.to_string(), self.response.url().to_string());
        let body = self.bytes(LONGEST_REFUSAL).await.unwrap_or_default();
        let told = varve_json::parse(&body).ok().and_then(|body| {
            let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
            Some(format!("{}: {}", text("error")?, text("reason")?))
        });
        Err(ReplicationError::Refused {
            method,
            url,
            status,
            reason: told.unwrap_or_else(|| "without a reason".to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_are_loopback() {
        let of = |url| is_loopback(&Url::parse(url).unwrap());
        for local in [
            "http://127.0.0.1:5984/",
            "http://[::1]/db",
            "https://localhost/db",
        ] {
            assert!(of(local), "{local}");
        }
        for other in [
            "http://10.0.0.1/",
            "http://localhost.example/",
            "http://[fe80::1]/db",
        ] {
            assert!(!of(other), "{other}");
        }
    }

    #[test]
    fn answers_within_this_machine_are_asked_for_as_they_are() {
        let asked = |url: &str, headers: &[(&str, &str)]| {
            let mut endpoint = Endpoint::from_url(url, &["http".to_owned()]).unwrap();
            let headers = headers.iter();
            endpoint.headers = headers
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            let settings = Arc::new(Replicator::default());
            let limits = (Duration::from_secs(1), 1, 1);
            let peer = Peer::new(&endpoint, &Clients::default(), &settings, limits).unwrap();
            let asked = peer.headers.get(ACCEPT_ENCODING);
            asked.map(|value| value.to_str().unwrap().to_owned())
        };
        let local = "http://127.0.0.1:5984/db";
        assert_eq!(asked(local, &[]).as_deref(), Some("identity"));
        let own = [("accept-encoding", "zstd")];
        assert_eq!(asked(local, &own).as_deref(), Some("zstd"));
        assert_eq!(asked("http://192.0.2.1/db", &[]), None);
    }
}
