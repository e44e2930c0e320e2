//! Requests that this server forwards, because another one writes the databases.
//!
//! The server has found the user by then, and says so in a signed header ([`identity`]). Bodies go both ways as they come: each side
//! is read as fast as the other one takes it, and is cut when the other is. A request is forwarded once: a server that is sent a
//! forwarded request and does not lead refuses it.

mod body;
mod connections;
mod headers;
mod identity;

use crate::auth::Login;
use crate::couch;
use crate::http::{BodyClosed, BodySender, FailureKind, Tls};
use crate::runtime::log::Log;
use crate::runtime::repeats::fault_id;
use crate::site::cluster::ServerRole;
use crate::{Answer, Failure, Request};
use body::{ForwardedBody, relay};
use connections::{Connection, Connections};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use hyper::header::{HeaderValue, InvalidHeaderValue};
use hyper::http::uri::PathAndQuery;
use hyper::{Response, Uri};
use identity::{FORWARDED, Signer, target};
use std::sync::Arc;
use tokio::sync::watch;

/// Up to this length an answer is taken whole before its head is sent.
const SHORT_ANSWER: u64 = 64 << 10;
/// Seconds after which a client may try again that found no leader: one is found within the take-over time.
const RETRY_AFTER: &str = "1";

/// Forwards requests to the leader of a store.
#[derive(Debug)]
pub(crate) struct Forwarder {
    role: watch::Receiver<ServerRole>,
    signer: Signer,
    connections: Arc<Connections>,
    log: Log,
}

impl Forwarder {
    /// Of a server whose store has this secret. With `tls`, all servers of the store encrypt their connections.
    pub(super) fn new(
        role: watch::Receiver<ServerRole>,
        secret: &str,
        tls: Option<Tls>,
        log: Log,
    ) -> Forwarder {
        Forwarder {
            role,
            signer: Signer::new(secret),
            connections: Arc::new(Connections::new(tls)),
            log,
        }
    }

    /// True if another server has to answer the request.
    pub(super) fn takes(&self, request: &Request) -> bool {
        *self.role.borrow() != ServerRole::Leader && couch::is_for_leader(request)
    }

    /// The login of a request that another server has forwarded; the request then has the address of its client. `None` for one
    /// that comes from a client.
    ///
    /// # Errors
    /// 403 for a header that no server of the store has signed; 503 if this server would have to forward it again.
    pub(super) fn accept(&self, request: &mut Request) -> Result<Option<Login>, Failure> {
        let Some(sender) = self.signer.sender(request)? else {
            return Ok(None);
        };
        if self.takes(request) {
            return Err(unavailable(
                "This server does not lead those of its store, and a request is forwarded only once.",
            ));
        }
        // Functions of design documents see the headers, and this one stands for its user for a while.
        request.headers.remove(FORWARDED);
        request.peer = sender.client;
        request.is_encrypted = sender.is_secure;
        // The server that forwards has believed its proxies, or not.
        request.is_proxied = false;
        Ok(Some(sender.login))
    }

    /// The leader's answer.
    ///
    /// # Errors
    /// 503 if there is no leader, or it does not answer; errors of the client's body.
    pub(super) async fn forward(&self, request: Request, login: &Login) -> Result<Answer, Failure> {
        let leader = match &*self.role.borrow() {
            ServerRole::Standby(Some(leader)) => Arc::clone(leader),
            ServerRole::Standby(None) | ServerRole::Leader | ServerRole::Unknown => {
                return Err(unavailable("No server of the store leads at this moment."));
            }
        };
        let (message, relaying) = self.message(request, login)?;
        tokio::select! {
            answer = self.exchange(&leader, message) => answer,
            failure = relaying => Err(failure),
            // The one before may never answer, nor close the connection.
            () = replaced(self.role.clone(), Arc::clone(&leader)) => Err(unavailable(
                "Another server has begun to lead those of the store; the one before may have done what was asked for.",
            )),
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
        let headers = headers::of_request(&request.headers, about, signed.map_err(invalid)?);
        let path = format!("{}{}", request.mount, target(&request));
        let path = PathAndQuery::try_from(path);
        let path = path.map_err(|error| Failure::bad_request(error.to_string()))?;
        let pulled = request.upload.as_ref().and_then(|upload| upload.pull());
        let (body, pieces) = match pulled {
            Some(pulled) => {
                let (sender, body) = ForwardedBody::arriving();
                (body, Some((pulled, sender)))
            }
            None if request.body.is_empty() => (ForwardedBody::Whole(None), None),
            None => (ForwardedBody::Whole(Some(request.body.into())), None),
        };
        let relaying = async move {
            if let Some((pulled, sender)) = pieces
                && let Err(failure) = relay(pulled, sender).await
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
        leader: &Arc<str>,
        message: hyper::Request<ForwardedBody>,
    ) -> Result<Answer, Failure> {
        let (response, connection) = self.send(leader, message).await?;
        self.answer(response, (connection, leader)).await
    }

    async fn send(
        &self,
        leader: &Arc<str>,
        mut message: hyper::Request<ForwardedBody>,
    ) -> Result<(Response<Incoming>, Connection), Failure> {
        let unreachable = |error: std::io::Error| {
            let cause = format!("the leader at {leader} cannot be reached: {error}");
            self.log.scope(|| {
                tracing::error!(
                    fault = fault_id(&cause),
                    "a request is not forwarded: {cause}"
                );
            });
            unavailable("The server that leads those of the store cannot be reached.")
        };
        let mut connection = (self.connections.get(leader).await).map_err(unreachable)?;
        loop {
            let mut failed = match connection.sender.try_send_request(message).await {
                Ok(response) => return Ok((response, connection)),
                Err(failed) => failed,
            };
            // Its server has closed an idle connection, and nothing was sent.
            match failed.take_message().filter(|_| connection.is_reused) {
                Some(unsent) => {
                    message = unsent;
                    let connected = self.connections.connect(leader).await;
                    connection = connected.map_err(unreachable)?;
                }
                None => {
                    return Err(unavailable(
                        "The server that leads those of the store has not answered; it may have done what was asked for.",
                    ));
                }
            }
        }
    }

    async fn answer(
        &self,
        response: Response<Incoming>,
        (connection, leader): (Connection, &Arc<str>),
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
                let replaced = replaced(self.role.clone(), Arc::clone(leader));
                Answer::feed("", |client| async move {
                    tokio::select! {
                        sent = send_back(body, client) => sent?,
                        // A cut body, as when a leader dies.
                        () = replaced => return Err(BodyClosed),
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

/// Completes once another server than this leader leads.
async fn replaced(mut role: watch::Receiver<ServerRole>, leader: Arc<str>) {
    let is_other =
        |role: &ServerRole| !matches!(role, ServerRole::Standby(Some(now)) if *now == leader);
    if role.wait_for(is_other).await.is_err() {
        // The server stops.
        std::future::pending::<()>().await;
    }
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
    Failure::new(FailureKind::NotOwner, "service_unavailable", reason)
        .with_header("retry-after", RETRY_AFTER)
}
