//! Databases of this server as sides of a replication: their requests are answered within the process.

use super::super::error::ReplicationError;
use super::super::peer::{Peer, PeerRequest};
use crate::couch::call::Call;
use crate::couch::functions::scripts::TimeBudget;
use crate::couch::target::Target;
use crate::couch::{admin, failures, names, route};
use crate::http::{Body, FailureKind};
use crate::runtime::is_of_this_machine;
use crate::{Answer, CouchContext, Failure, Request, UserContext};
use hyper::header::HeaderMap;
use hyper::{Method, Response, Uri};
use reqwest::{ResponseBuilderExt, Url};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};
use varve_base::ReadMode;
use varve_config::RequiredUser;
use varve_replicate::replicator::Endpoint;

/// The name below which repositories are, which is no database.
const REPOSITORIES: &str = "hg";
/// Time in which another server on an address of this machine takes a connection.
const CONNECT: Duration = Duration::from_secs(2);

/// A database of this server, as its URL names it.
#[derive(Clone, Debug)]
pub(in crate::couch::replication) struct LocalSide {
    app: Arc<CouchContext>,
    name: String,
}

/// A request whose user is known.
pub(in crate::couch::replication) struct Caller {
    side: LocalSide,
    request: Request,
    user: UserContext,
}

impl LocalSide {
    /// The database that an endpoint names, if a connection to its URL arrives at this server and this server writes the
    /// database: one that another server of the store writes is reached by HTTP, as one behind a proxy, which is reached as its
    /// user says.
    pub async fn find(app: &Arc<CouchContext>, endpoint: &Endpoint) -> Option<LocalSide> {
        let listening = app.server().listening.get()?;
        let url = &endpoint.url;
        if endpoint.proxy.is_some() || url.scheme() != listening.scheme() || url.query().is_some() {
            return None;
        }
        let (host, port) = (url.host_str()?, url.port_or_known_default()?);
        if port != listening.socket.port() {
            return None;
        }
        // The brackets around an address are a part of the URL only.
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let mut addresses = lookup_host((host, port)).await.ok()?;
        let is_here = loop {
            let address = addresses.next()?;
            if listening.takes(address) {
                break true;
            }
            if !is_of_this_machine(address.ip()) {
                break false;
            }
            // A client takes the first address that answers.
            if is_taken(address).await {
                break false;
            }
        };
        let name = database_name(url, &listening.prefix).filter(|_| is_here)?;
        if !app.databases.writes(&name) {
            return None;
        }
        Some(LocalSide {
            app: Arc::clone(app),
            name,
        })
    }

    pub fn app(&self) -> &Arc<CouchContext> {
        &self.app
    }

    /// Answers a request that a peer would send over HTTP.
    ///
    /// # Errors
    /// [`ReplicationError::BadAnswer`] if it is none; [`ReplicationError::Moved`].
    pub async fn answer(
        &self,
        peer: &Peer,
        request: &PeerRequest,
    ) -> Result<reqwest::Response, ReplicationError> {
        let url = peer.url_of(request);
        let answered = match self.caller(peer, request).await {
            Ok(caller) => route(Arc::clone(&self.app), caller.request, caller.user).await,
            Err(failure) => Err(failure),
        };
        let answered = match answered {
            Ok(answer) => answer.begun().await,
            failed => failed,
        };
        if matches!(&answered, Err(failure) if failure.kind == FailureKind::NotOwner) {
            return Err(ReplicationError::Moved(self.name.clone()));
        }
        response(answered.unwrap_or_else(Answer::from), url)
    }

    /// The request as the listener would have received it, and its user.
    ///
    /// # Errors
    /// 401 for a login that is none, and without one where the settings ask for it.
    pub async fn caller(&self, peer: &Peer, request: &PeerRequest) -> Result<Caller, Failure> {
        let request = self.received(peer, request)?;
        let user = self.app.auth.login(&request).await?.user;
        let needs_login = self.app.settings().required_user != RequiredUser::No;
        match user.name.is_none() && needs_login {
            true => Err(Failure::unauthorized("Authentication required.")),
            false => Ok(Caller {
                side: self.clone(),
                request,
                user,
            }),
        }
    }

    fn received(&self, peer: &Peer, request: &PeerRequest) -> Result<Request, Failure> {
        let listening = self.app.server().listening.get();
        let listening = listening.ok_or_else(failures::missing_database)?;
        let url = peer.url_of(request);
        let path = url.path().strip_prefix(listening.prefix.as_str());
        let path = path.unwrap_or_else(|| url.path());
        let uri = match url.query() {
            Some(query) => format!("{path}?{query}"),
            None => path.to_owned(),
        };
        let uri: Uri = uri.parse().map_err(Failure::internal)?;
        let body = request.body.as_ref().map(|body| body.to_vec());
        let headers: HeaderMap = peer.headers_of(request);
        let method: Method = request.method.clone();
        let mut received = Request::new(method, &uri, headers, body.unwrap_or_default())?;
        received.peer = Some(IpAddr::V4(Ipv4Addr::LOCALHOST));
        received.is_encrypted = listening.is_encrypted;
        received.mount = listening.prefix.clone();
        Ok(received)
    }
}

impl Caller {
    /// Opens the database and checks the rights of the user, on a thread that may wait.
    ///
    /// # Errors
    /// As [`Call::open`].
    pub fn open(self, target: &Target) -> Result<Call, Failure> {
        let LocalSide { app, name } = self.side;
        let request = Arc::new(self.request);
        let call = Call::open(app, request, self.user, (&name, target), ReadMode::Blocking)?;
        Ok(call.with_budget(TimeBudget::Full))
    }
}

/// Whether a server takes connections there.
async fn is_taken(address: SocketAddr) -> bool {
    let connected = tokio::time::timeout(CONNECT, TcpStream::connect(address)).await;
    connected.is_ok_and(|connected| connected.is_ok())
}

/// The database that a URL of this server names.
fn database_name(url: &Url, prefix: &str) -> Option<String> {
    let path = url.path().strip_prefix(prefix)?.strip_prefix('/')?;
    let path = path.trim_matches('/');
    let name = percent_encoding::percent_decode_str(path)
        .decode_utf8()
        .ok()?;
    let is_free = !path.contains('/') && path != REPOSITORIES && !admin::is_about_the_server(path);
    (is_free && names::is_legal(&name)).then(|| name.into_owned())
}

fn response(answer: Answer, url: Url) -> Result<reqwest::Response, ReplicationError> {
    let body = match answer.body {
        Body::Whole(bytes) => reqwest::Body::from(bytes),
        Body::Stream(receiver, _) => reqwest::Body::wrap(receiver),
    };
    let name = url.to_string();
    let mut builder = Response::builder().status(answer.status).url(url);
    for (name, value) in &answer.headers {
        builder = builder.header(name, value);
    }
    let response = builder.body(body);
    let response = response.map_err(|error| ReplicationError::BadAnswer {
        url: name,
        reason: error.to_string(),
    })?;
    Ok(response.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_one_database_are_databases() {
        let name = |path: &str, prefix: &str| {
            let url = Url::parse(&format!("http://h{path}")).unwrap();
            database_name(&url, prefix)
        };
        for (path, found) in [
            ("/a/", "a"),
            ("/a%2Fb/", "a/b"),
            ("/_users/", "_users"),
            ("/hg%2Fa/", "hg/a"),
        ] {
            assert_eq!(name(path, "").as_deref(), Some(found));
        }
        assert_eq!(name("/p/q/a/", "/p/q").as_deref(), Some("a"));
        for path in [
            "/",
            "/a/b/",
            "/hg/",
            "/_session/",
            "/_all_dbs/",
            "/A/",
            "/%FF/",
        ] {
            assert_eq!(name(path, ""), None, "{path}");
        }
        assert_eq!(name("/a/", "/p"), None);
        assert_eq!(
            name("/pa/", "/p").as_deref(),
            None,
            "a prefix ends at a slash"
        );
    }
}
