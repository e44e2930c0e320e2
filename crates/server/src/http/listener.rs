//! Accepting connections, and ending them cleanly when the server stops.

use crate::Failure;
use crate::http::arriving::{ArrivingBody, BodyTime};
use crate::http::body::BodyReceiver;
use crate::http::guarded::{ConnectionLimits, GuardedStream, Meter, MeteredBody};
use crate::http::handler::{BodyPlan, Handler, HttpContext};
use crate::http::observe::Observed;
use crate::http::quotes::{QuoteStream, Quoted};
use crate::http::refusal;
use crate::http::sendfile;
use crate::http::sendfile::{FileQueue, SendfileStream};
use crate::http::tls::Tls;
use crate::http::{Answer, Body, Request, Upload, intake};
use crate::runtime::ServerContext;
use crate::runtime::repeats::fault_id;
use crate::runtime::{ConnectionPermit, Limits, RunningSlot};
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::ext::ReasonPhrase;
use hyper::header::{CONTENT_LENGTH, HeaderName, HeaderValue, SERVER};
use hyper::service::service_fn;
use hyper::{Method, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use std::convert::Infallible;
use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tracing::Instrument;
use tracing::instrument::WithSubscriber;

/// `hg` sends long arguments in numbered headers of 1 KiB each, 24 nodes in one.
const MAX_HEADERS: usize = 400;
/// Pause after a failed accept, so that a shortage of file handles does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// `Server` header of every answer.
const SERVER_NAME: &str = concat!("Varve/", env!("CARGO_PKG_VERSION"));

type Outgoing = MeteredBody<Either<Full<Bytes>, BodyReceiver>>;

/// Answers requests until `stop` completes, then lets running ones finish within `finish_within`.
pub(crate) async fn serve(
    (listener, tls): (TcpListener, Option<Tls>),
    (handler, context): (impl Handler, HttpContext),
    stop: impl Future<Output = ()>,
    finish_within: Duration,
) {
    let graceful = GracefulShutdown::new();
    tokio::pin!(stop);
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let peer = peer.ip();
                    match context.server.limits.connect(peer) {
                        Some(permit) => {
                            let connection = (stream, peer, permit);
                            connect(connection, tls.clone(), (&handler, &context), &graceful);
                        }
                        // A refusal in words would need a handshake first.
                        None if tls.is_some() => drop(stream),
                        None => refusal::refuse(stream),
                    }
                }
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
            () = &mut stop => break,
        }
    }
    drop(listener);
    handler.stop();
    // Connections that have not finished by then are cut; nothing that was acknowledged can be lost by it.
    let finished = tokio::time::timeout(finish_within, graceful.shutdown()).await;
    if finished.is_err() {
        log_cut(&context.server, finish_within);
    }
    context.server.hurry.raise();
}

/// Says which answers have had their time.
fn log_cut(server: &ServerContext, waited: Duration) {
    let (count, described) = server.running.describe();
    server.log.scope(|| {
        tracing::warn!("stopping: running answers had {waited:?} to end; cut: {count}");
        for answer in described {
            tracing::warn!("cut: {answer}");
        }
    });
}

/// Completes when the server stops while a connection has no request that runs. What has come of the next head is
/// dropped: its client sees a closed connection, as if the request had come after the end.
async fn stopped_between_requests(server: &ServerContext, meter: &Meter) {
    // It fails only if the sender is gone, which belongs to the server.
    let _ = server.stopping().wait_for(|is_stopping| *is_stopping).await;
    if !meter.awaits_head() {
        std::future::pending::<()>().await;
    }
}

/// State shared by all requests of one connection.
#[derive(Clone)]
struct ConnectionContext {
    peer: IpAddr,
    /// Where pieces of files wait that the kernel sends; none under TLS.
    files: Option<FileQueue>,
    is_encrypted: bool,
    /// Which time the client has, and how much of its answer waits for it.
    meter: Meter,
    /// The request that is answered, for the log of what is cut.
    running: Arc<RunningSlot>,
}

fn connection_limits(limits: &Limits) -> ConnectionLimits {
    let settings = limits.settings();
    ConnectionLimits {
        head: settings.head_timeout,
        idle: settings.idle_timeout,
        write: settings.write_timeout,
    }
}

fn connect(
    (stream, peer, permit): (TcpStream, IpAddr, ConnectionPermit),
    tls: Option<Tls>,
    (handler, context): (&impl Handler, &HttpContext),
    graceful: &GracefulShutdown,
) {
    // Small answers must not wait for the acknowledgement of the ones before.
    let _ = stream.set_nodelay(true);
    let (handler, context) = (handler.clone(), context.clone());
    let watcher = graceful.watcher();
    let is_encrypted = tls.is_some();
    let files = (!is_encrypted).then(FileQueue::default);
    let client = ConnectionContext {
        peer,
        files: files.clone(),
        is_encrypted,
        meter: Meter::new(),
        running: Arc::new(context.server.running.connect()),
    };
    let handshake_time = context.server.limits.settings().head_timeout;
    let open = context.server.metrics.count_connection();
    tokio::spawn(async move {
        let _held = (permit, open);
        if let Some(tls) = tls {
            let acceptor = tls.acceptor();
            let greeting = tokio::time::timeout(handshake_time, acceptor.accept(stream));
            let greeted = tokio::select! {
                greeted = greeting => greeted,
                () = stopped_between_requests(&context.server, &client.meter) => return,
            };
            // A failed TLS handshake closes this connection only.
            if let Ok(Ok(stream)) = greeted {
                converse(stream, client, (handler, context), watcher).await;
            }
        } else {
            let stream = SendfileStream::new(stream, files.unwrap_or_default());
            converse(stream, client, (handler, context), watcher).await;
        }
    });
}

/// Answers the requests of a connection until it ends.
async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    client: ConnectionContext,
    (handler, context): (impl Handler, HttpContext),
    watcher: Watcher,
) {
    let server = Arc::clone(&context.server);
    let quoted = Quoted::default();
    let limits = connection_limits(&server.limits);
    let stream = GuardedStream::new(stream, limits, client.meter.clone());
    let stream = QuoteStream::new(stream, quoted.clone());
    let meter = client.meter.clone();
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        client.meter.begin_request();
        if quoted.take() {
            let uri = std::mem::take(request.uri_mut());
            *request.uri_mut() = Quoted::restore(uri);
        }
        // In a box it is gone when the answer begins to leave; hyper would keep its room for as long as the connection.
        Box::pin(handle(
            (handler.clone(), context.clone()),
            client.clone(),
            request,
        ))
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        // The stream keeps the time, as it can tell a slow head from an idle connection.
        .header_read_timeout(None)
        .max_headers(MAX_HEADERS)
        .writev(true)
        .serve_connection(TokioIo::new(stream), service);
    // A connection also ends in an error when its client leaves; that needs no report here. An
    // error of ours is a body that could not be produced or sent to its end.
    let ended = tokio::select! {
        biased;
        ended = watcher.watch(connection) => ended,
        () = stopped_between_requests(&server, &meter) => return,
    };
    if let Err(error) = ended
        && (error.is_user() || sendfile::is_cut(&error))
    {
        let cause = error.source().map(ToString::to_string);
        let cause = cause.unwrap_or_default();
        server
            .log
            .scope(|| tracing::error!(fault = fault_id(&cause), "an answer was cut: {cause}"));
    }
}

async fn handle<H: Handler>(
    (handler, context): (H, HttpContext),
    client: ConnectionContext,
    request: hyper::Request<Incoming>,
) -> Result<Response<Outgoing>, Infallible> {
    let head_only = request.method() == Method::HEAD;
    let log = context.access.as_ref();
    let mut noted = log.map(|log| (log, log.begin(client.peer, &request)));
    let request_id = context.server.next_request_id();
    let path = request.uri().path().to_owned();
    let head = (request.method(), path.as_str());
    client.running.begin(request.method().as_str(), &path);
    let observed = Observed::begin(&context.server, &request_id, head, &handler.subject(&path));
    let begun = Instant::now();
    let taken = take_in((&handler, &context), &client, request).await;
    let body_time = begun.elapsed();
    let mut answer = match taken {
        Ok((request, login)) => {
            let upload = request.upload.clone();
            let user = H::user_name(&login);
            observed.record_user(user);
            client.running.record_user(user);
            if let Some((_, entry)) = &mut noted {
                entry.record_user(user);
            }
            let admitted = context.server.limits.admit(handler.class(&request));
            let answering = async {
                match admitted {
                    Some(_permit) => handler.answer(request, login).await,
                    None => Failure::overloaded("too many requests of this kind").into(),
                }
            };
            let answering = answering.instrument(observed.span.clone());
            let answer = answering
                .with_subscriber(context.server.log.dispatch())
                .await;
            if let Some(upload) = upload {
                upload.discard().await;
            }
            answer
        }
        Err(failure) => failure.into(),
    };
    if handler.answers_as_couchdb() {
        answer.set_header("x-couch-request-id", &request_id);
        answer.set_header("x-couchdb-body-time", &body_time.as_millis().to_string());
    }
    observed.end(&context.server, answer.status);
    let unsent = noted.and_then(|(log, entry)| log.begin_answer(entry, answer.status));
    let buffer = context.server.limits.settings().answer_buffer;
    let response = outgoing(answer, head_only, &client);
    Ok(response.map(|body| MeteredBody::new(body, client.meter, buffer).noted(unsent)))
}

/// Finds the user before the body is read, so that strangers cannot fill the memory.
async fn take_in<H: Handler>(
    (handler, context): (&H, &HttpContext),
    client: &ConnectionContext,
    request: hyper::Request<Incoming>,
) -> Result<(Request, H::Login), Failure> {
    let (parts, incoming) = request.into_parts();
    let mount = &context.mount;
    let Some(uri) = mount.strip(&parts.uri) else {
        return Err(Failure::not_found("Not Found"));
    };
    context.trust.check_host(parts.version, &parts.headers)?;
    let mut request = Request::new(parts.method, &uri, parts.headers, Vec::new())?;
    request.mount = mount.path();
    request.peer = Some(client.peer);
    request.is_encrypted = client.is_encrypted;
    request.is_proxied = context.trust.is_proxy(client.peer);
    let login = handler.login(&request).await?;
    let settings = context.server.limits.settings();
    let time = BodyTime {
        pause: settings.body_timeout,
        rate: settings.body_rate,
    };
    match handler.body_plan(&request, &login) {
        BodyPlan::WhileArriving(limit) => {
            let body = ArrivingBody::new(incoming, time, limit);
            let upload = Upload::new(body, &request.headers, limit).await?;
            request.upload = Some(upload);
        }
        BodyPlan::Whole(limit) => {
            let body = ArrivingBody::new(incoming, time, limit);
            if !intake::is_short(&body, &request.headers)
                && let Err(failure) = handler.check_rights(&request, &login).await
            {
                return Err(intake::refuse(body, &request.headers, failure).await);
            }
            let mut memory = context.server.limits.body();
            request.body = intake::read_body(body, &request.headers, limit, &mut memory).await?;
            request.memory = Some(Arc::new(memory));
        }
    }
    Ok((request, login))
}

fn outgoing(
    answer: Answer,
    head_only: bool,
    client: &ConnectionContext,
) -> Response<Either<Full<Bytes>, BodyReceiver>> {
    let mut headers = answer.headers;
    let cache = HeaderName::from_static("cache-control");
    let fixed = headers.entry(cache);
    fixed.or_insert(HeaderValue::from_static("must-revalidate"));
    headers.insert(SERVER, HeaderValue::from_static(SERVER_NAME));
    let body = match answer.body {
        Body::Whole(bytes) => {
            headers
                .entry(CONTENT_LENGTH)
                .or_insert(HeaderValue::from(bytes.len()));
            let sent = if head_only { Vec::new() } else { bytes };
            Either::Left(Full::new(Bytes::from(sent)))
        }
        Body::Stream(..) if head_only => Either::Left(Full::new(Bytes::new())),
        Body::Stream(receiver, _) => {
            Either::Right(receiver.on_connection(client.files.clone(), client.meter.clone()))
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = answer.status;
    if let Some(reason) = answer.reason {
        let reason = ReasonPhrase::from_static(reason.as_bytes());
        response.extensions_mut().insert(reason);
    }
    *response.headers_mut() = headers;
    response
}
