//! Requests that this server forwards, because another one writes the database or leads.
//!
//! The server has found the user by then, and says so in a signed header ([`identity`]). Bodies go both ways as they come: each side
//! is read as fast as the other one takes it, and is cut when the other is. Servers may see for a moment differently which of them
//! is responsible: one that gets a forwarded request waits until it sees itself so, may forward it once more, and refuses it then.

mod body;
mod connections;
mod hand_over;
mod headers;
mod identity;

use crate::auth::Login;
use crate::couch;
use crate::hg;
use crate::http::{BodyClosed, BodySender, FailureKind, Tls};
use crate::runtime::log::Log;
use crate::runtime::repeats::fault_id;
use crate::runtime::{ClusterView, ResponsibleServer, ServerPlace};
use crate::{Answer, Failure, Request, UserContext};
use body::{BodySource, ForwardedBody, relay};
use connections::{Connection, Connections};
use hand_over::HandOver;
use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderValue, InvalidHeaderValue};
use hyper::http::uri::PathAndQuery;
use hyper::{Method, Response, Uri};
use identity::{FORWARDED, Signer, target};
use std::sync::Arc;
use std::time::Duration;

/// Up to this length an answer is taken whole before its head is sent.
const SHORT_ANSWER: u64 = 64 << 10;
/// Seconds after which a client may try again that found no server for its request: one is found within the take-over time.
const RETRY_AFTER: &str = "1";
/// Servers that forward a request, at most.
const MOST_FORWARDS: u8 = 2;
/// Most bytes of another server's list that are taken.
const LONGEST_LIST: usize = 8 << 20;
/// Time within which the leader accepts what it is told.
const TOLD_WITHIN: Duration = Duration::from_secs(5);

/// Forwards requests to other servers of a store.
#[derive(Debug)]
pub(crate) struct Forwarder {
    view: Arc<ClusterView>,
    signer: Signer,
    connections: Arc<Connections>,
    /// Time within which servers see the same after one has joined or died.
    settling: Duration,
    log: Log,
}

impl Forwarder {
    /// Of a server whose store has this secret and take-over time. With `tls`, all servers of the store encrypt their connections.
    pub(super) fn new(
        view: Arc<ClusterView>,
        (secret, takeover): (&str, Duration),
        tls: Option<Tls>,
        log: Log,
    ) -> Forwarder {
        Forwarder {
            view,
            signer: Signer::new(secret),
            connections: Arc::new(Connections::new(tls)),
            settling: hand_over::settling(takeover),
            log,
        }
    }

    /// Place of the server that has to answer a request.
    pub(super) fn place_for(&self, request: &Request) -> ServerPlace {
        let server = match hg::claims(&request.raw_path) {
            true => hg::logs::responsible_server(request),
            false => couch::responsible_server(request),
        };
        server.map_or(ServerPlace::Here, |server| self.view.place_of(&server))
    }

    /// The waits of a request whose database goes from one server to another.
    pub(super) fn hand_over(&self) -> HandOver {
        HandOver::begin(&self.view)
    }

    /// Returns true once this server sees itself responsible for a request that another one has forwarded to it, and false if it
    /// does not in time.
    async fn agrees(&self, request: &Request) -> bool {
        let mut view = self.view.watch();
        let is_here = || self.place_for(request) == ServerPlace::Here;
        let agreed = async { while !is_here() && view.changed().await.is_ok() {} };
        // Another server is told of the same join or death, if it was this one that lagged behind.
        let _ = tokio::time::timeout(self.settling, agreed).await;
        is_here()
    }

    /// The login of a request that another server has forwarded; the request then has the address of its client. `None` for one
    /// that comes from a client.
    ///
    /// # Errors
    /// 403 for a header that no server of the store has signed; 503 if this server would have to forward it again.
    pub(super) async fn accept(&self, request: &mut Request) -> Result<Option<Login>, Failure> {
        let Some(sender) = self.signer.sender(request)? else {
            return Ok(None);
        };
        if !self.agrees(request).await && sender.forwards >= MOST_FORWARDS {
            return Err(unavailable(
                "The servers of the store do not agree yet which of them answers this request.",
            ));
        }
        request.forwards = sender.forwards;
        // Functions of design documents see the headers, and this one stands for its user for a while.
        request.headers.remove(FORWARDED);
        request.peer = sender.client;
        request.is_encrypted = sender.is_secure;
        // The server that forwards has believed its proxies, or not.
        request.is_proxied = false;
        Ok(Some(sender.login))
    }

    /// The answer of the server at this place, which is another one's.
    ///
    /// # Errors
    /// 503 if there is none, or it does not answer; errors of the client's body.
    pub(super) async fn forward(
        &self,
        place: ServerPlace,
        request: Request,
        login: &Login,
    ) -> Result<Answer, Failure> {
        let ServerPlace::At(server) = place else {
            return Err(unavailable(
                "No server of the store is known to answer this request at this moment.",
            ));
        };
        self.view.count_forwarded();
        let (message, relaying) = self.message(request, login)?;
        tokio::select! {
            answer = self.exchange(&server, message) => answer,
            failure = relaying => Err(failure),
            // It may never answer, nor close the connection.
            () = self.view.gone(&server) => Err(unavailable(
                "The server that this request was forwarded to is gone; it may have done what was asked for.",
            )),
        }
    }

    /// Sends the leader a JSON text of this server's own.
    ///
    /// # Errors
    /// 503 if it does not accept it.
    pub(super) async fn tell_leader(
        &self,
        path: &str,
        mount: String,
        body: Vec<u8>,
    ) -> Result<(), Failure> {
        let ServerPlace::At(leader) = self.view.place_of(&ResponsibleServer::Leader) else {
            return Err(unavailable("no other server is known to lead"));
        };
        let mut request = own_request(&leader, (Method::POST, path), mount)?;
        let json = HeaderValue::from_static("application/json");
        request.headers.insert(CONTENT_TYPE, json);
        request.body = body;
        let login = Login {
            user: UserContext {
                name: Some(self.view.own().to_owned()),
                roles: vec!["_admin".to_owned()],
            },
            ..Login::default()
        };
        let (message, _) = self.message(request, &login)?;
        let answer = self.exchange(&leader, message);
        let answer = tokio::time::timeout(TOLD_WITHIN, answer).await;
        match answer {
            Ok(Ok(answer)) if answer.status.is_success() => Ok(()),
            Ok(Err(failure)) => Err(failure),
            Ok(Ok(_)) | Err(_) => Err(unavailable("the leader does not accept it")),
        }
    }

    /// Addresses of the other live servers.
    pub(super) fn others(&self) -> Vec<Arc<str>> {
        let state = self.view.watch();
        let state = state.borrow();
        let others = state.live().iter().map(|member| &member.node);
        let others = others.filter(|node| node.id != self.view.own());
        others.map(|node| Arc::from(&*node.address)).collect()
    }

    /// The text with which another server answers a GET of this user.
    ///
    /// # Errors
    /// 503 if it does not answer with one.
    pub(super) async fn ask(
        &self,
        server: &Arc<str>,
        (path, mount): (&str, String),
        login: &Login,
    ) -> Result<Vec<u8>, Failure> {
        let request = own_request(server, (Method::GET, path), mount)?;
        let (message, _) = self.message(request, login)?;
        let (response, connection) = self.send(server, message).await?;
        let status = response.status();
        let body = Limited::new(response.into_body(), LONGEST_LIST).collect();
        let body = body
            .await
            .map_err(|error| unavailable(&format!("the answer was cut: {error}")))?;
        self.connections.keep(connection);
        match status.is_success() {
            true => Ok(body.to_bytes().into()),
            false => Err(unavailable(&format!("the answer is {status}"))),
        }
    }

    /// The request as it is sent, and a future that sends the client's body while it arrives, which completes only if that body
    /// fails.
    fn message(
        &self,
        request: Request,
        login: &Login,
    ) -> Result<
        (
            hyper::Request<ForwardedBody>,
            impl Future<Output = Failure> + use<>,
        ),
        Failure,
    > {
        let invalid = |error: InvalidHeaderValue| Failure::internal(error);
        let signed = HeaderValue::try_from(self.signer.header(&request, login));
        let about = (request.host(), headers::needs_login(&request.path()));
        let mut headers = headers::of_request(&request.headers, about, signed.map_err(invalid)?);
        let path = format!("{}{}", request.mount, target(&request));
        let path = PathAndQuery::try_from(path);
        let path = path.map_err(|error| Failure::bad_request(error.to_string()))?;
        let source = request.upload.as_ref().and_then(BodySource::of);
        let (body, pieces) = match source {
            Some(source) => {
                let (sender, body) = ForwardedBody::arriving();
                (body, Some((source, sender)))
            }
            None => {
                headers::describe_whole_body(&mut headers);
                let body = Some(request.body).filter(|body| !body.is_empty());
                (ForwardedBody::Whole(body.map(Bytes::from)), None)
            }
        };
        let relaying = async move {
            if let Some((source, sender)) = pieces
                && let Err(failure) = relay(source, sender).await
            {
                return failure;
            }
            std::future::pending().await
        };
        let mut message = hyper::Request::new(body);
        *message.method_mut() = request.method;
        *message.uri_mut() = Uri::from(path);
        *message.headers_mut() = headers;
        Ok((message, relaying))
    }

    async fn exchange(
        &self,
        server: &Arc<str>,
        message: hyper::Request<ForwardedBody>,
    ) -> Result<Answer, Failure> {
        let (response, connection) = self.send(server, message).await?;
        self.answer(response, (connection, server)).await
    }

    async fn send(
        &self,
        server: &Arc<str>,
        mut message: hyper::Request<ForwardedBody>,
    ) -> Result<(Response<Incoming>, Connection), Failure> {
        let unreachable = |error: std::io::Error| {
            let cause = format!("the server at {server} cannot be reached: {error}");
            self.log.scope(|| {
                tracing::error!(
                    fault = fault_id(&cause),
                    "a request is not forwarded: {cause}"
                );
            });
            unavailable("The server of the store that answers this request cannot be reached.")
        };
        let mut connection = (self.connections.get(server).await).map_err(unreachable)?;
        loop {
            let mut failed = match connection.sender.try_send_request(message).await {
                Ok(response) => return Ok((response, connection)),
                Err(failed) => failed,
            };
            // Its server has closed an idle connection, and nothing was sent.
            match failed.take_message().filter(|_| connection.is_reused) {
                Some(unsent) => {
                    message = unsent;
                    let connected = self.connections.connect(server).await;
                    connection = connected.map_err(unreachable)?;
                }
                None => {
                    return Err(unavailable(
                        "The server that this request was forwarded to has not answered; it may have done what was asked for.",
                    ));
                }
            }
        }
    }

    async fn answer(
        &self,
        response: Response<Incoming>,
        (connection, server): (Connection, &Arc<str>),
    ) -> Result<Answer, Failure> {
        let (parts, body) = response.into_parts();
        let is_short = body
            .size_hint()
            .upper()
            .is_some_and(|len| len <= SHORT_ANSWER);
        let mut answer = match is_short {
            true => {
                let whole = body.collect().await;
                let whole =
                    whole.map_err(|error| unavailable(&format!("the answer was cut: {error}")))?;
                self.connections.keep(connection);
                Answer::whole(parts.status, "", whole.to_bytes().into())
            }
            false => {
                let connections = Arc::clone(&self.connections);
                let (view, server) = (Arc::clone(&self.view), Arc::clone(server));
                Answer::feed("", |client| async move {
                    tokio::select! {
                        sent = send_back(body, client) => sent?,
                        // A cut body, as when a server dies.
                        () = view.gone(&server) => return Err(BodyClosed),
                    }
                    connections.keep(connection);
                    Ok(())
                })
            }
        };
        answer.status = parts.status;
        answer.headers = parts.headers;
        headers::strip_hop_by_hop(&mut answer.headers);
        Ok(answer)
    }
}

/// A request of this server's own to another one.
fn own_request(
    server: &str,
    (method, path): (Method, &str),
    mount: String,
) -> Result<Request, Failure> {
    let host = HeaderValue::try_from(server).map_err(Failure::internal)?;
    let uri = Uri::try_from(path).map_err(Failure::internal)?;
    let headers = HeaderMap::from_iter([(HOST, host)]);
    let mut request = Request::new(method, &uri, headers, Vec::new())?;
    request.mount = mount;
    Ok(request)
}

/// Sends an answer's body to the client until one of both sides ends.
async fn send_back(mut body: Incoming, client: BodySender) -> Result<(), BodyClosed> {
    loop {
        let frame = tokio::select! {
            frame = body.frame() => frame,
            () = client.closed() => return Err(BodyClosed),
        };
        match frame {
            None => return Ok(()),
            Some(Ok(frame)) => {
                if let Ok(bytes) = frame.into_data() {
                    client.send(bytes.into()).await?;
                }
            }
            // The client is to see a cut body as well.
            Some(Err(_)) => return Err(BodyClosed),
        }
    }
}

fn unavailable(reason: &str) -> Failure {
    Failure::new(FailureKind::Unavailable, "service_unavailable", reason)
        .with_header("retry-after", RETRY_AFTER)
}

#[cfg(test)]
mod tests;
