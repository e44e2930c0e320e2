//! Accepting connections, and ending them cleanly when the server stops.

use crate::http::answering::{ConnectionContext, handle, log_cut_answer};
use crate::http::guarded::{ConnectionLimits, GuardedStream, Meter};
use crate::http::handler::{Handler, HttpContext};
use crate::http::http2;
use crate::http::preface::{self, HttpVersion};
use crate::http::quotes::{QuoteStream, Quoted};
use crate::http::refusal;
use crate::http::sendfile;
use crate::http::sendfile::{FileQueue, SendfileStream};
use crate::http::tls::Tls;
use crate::runtime::{ConnectionPermit, ServerContext};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use std::error::Error;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

/// `hg` sends long arguments in numbered headers of 1 KiB each, 24 nodes in one.
const MAX_HEADERS: usize = 400;
/// Pause after a failed accept, so that a shortage of file handles does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Answers requests until `stop` completes, then lets running ones finish within `finish_within`.
pub(crate) async fn serve(
    (listener, tls): (TcpListener, Option<Tls>),
    (handler, context): (impl Handler, Arc<HttpContext>),
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

/// Completes when the server stops while a connection has no request that runs. The received part of the next head is
/// dropped: its client sees a closed connection, as if the request had come after the end.
async fn stopped_between_requests(server: &ServerContext, meter: &Meter) {
    server.stopped().await;
    if !meter.awaits_head() {
        std::future::pending::<()>().await;
    }
}

fn connect(
    (stream, peer, permit): (TcpStream, IpAddr, ConnectionPermit),
    tls: Option<Tls>,
    (handler, context): (&impl Handler, &Arc<HttpContext>),
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
    (handler, context): (impl Handler, Arc<HttpContext>),
    watcher: Watcher,
) {
    let limits = ConnectionLimits::of(&context.server.limits);
    let stream = GuardedStream::new(stream, limits, client.meter.clone());
    let detected = tokio::select! {
        detected = preface::detect(stream) => detected,
        () = stopped_between_requests(&context.server, &client.meter) => return,
    };
    match detected {
        // The client left, or took too long.
        Err(_) => {}
        Ok((HttpVersion::Http1, stream)) => {
            converse_http1(stream, client, (handler, context), watcher).await;
        }
        // In a box it takes no room in the tasks of other connections.
        Ok((HttpVersion::Http2, stream)) => {
            Box::pin(http2::converse(stream, client, (handler, context), watcher)).await;
        }
    }
}

/// [`converse`] over HTTP/1: one request after the other.
async fn converse_http1(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    client: ConnectionContext,
    (handler, context): (impl Handler, Arc<HttpContext>),
    watcher: Watcher,
) {
    let server = Arc::clone(&context.server);
    let quoted = Quoted::default();
    let stream = QuoteStream::new(stream, quoted.clone());
    let meter = client.meter.clone();
    let service = service_fn(move |mut request: hyper::Request<Incoming>| {
        client.meter.begin_request();
        if quoted.take() {
            let uri = std::mem::take(request.uri_mut());
            *request.uri_mut() = Quoted::restore(uri);
        }
        let serving = (handler.clone(), Arc::clone(&context));
        // In a box it is gone when the answer begins to leave; hyper would keep its room for as long as the connection.
        Box::pin(handle(serving, client.clone(), request))
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
        log_cut_answer(&server, &cause.unwrap_or_default());
    }
}
