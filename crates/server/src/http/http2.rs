//! Connections over HTTP/2: each request is a stream beside the others.
//!
//! The limits of connections hold for streams as well: each counts as a connection, has the times of one, and is answered
//! by the same handler. h2 bounds what a client can make it keep for frames that are no
//! requests (settings, pings, resets, headers without end).

use crate::Failure;
use crate::http::answering::{
    ConnectionContext, Outgoing, Sending, handle, log_cut_answer, outgoing,
};
use crate::http::guarded::{ConnectionLimits, Meter};
use crate::http::handler::{Handler, HttpContext};
use crate::http::streams::{StreamBody, StreamState, StreamTasks, Streams};
use crate::runtime::ServerContext;
use http_body_util::BodyExt;
use http_body_util::combinators::MapErr;
use hyper::body::Incoming;
use hyper::header::{COOKIE, HOST, HeaderValue};
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::Watcher;
use std::convert::Infallible;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, sleep_until};

/// Bytes of a request's body that may come before the handler reads them.
const STREAM_WINDOW: u32 = 256 << 10;
/// The same of all requests of a connection.
const CONNECTION_WINDOW: u32 = 512 << 10;
/// Bytes of the headers of one request, as HTTP/2 counts them.
const HEADER_LIST: u32 = 64 << 10;
/// Streams that a client resets before the server has looked at them; more end the connection.
const RESET_UNSEEN: usize = 32;
/// Streams that the server resets for errors of the client; more end the connection.
const RESET_ERRORS: usize = 256;

type BoxError = Box<dyn std::error::Error + Send + Sync>;
type Answered = StreamBody<Outgoing>;

/// Answers the requests of a connection until it ends.
pub(super) async fn converse<S, H>(
    stream: S,
    client: ConnectionContext,
    (handler, context): (H, Arc<HttpContext>),
    watcher: Watcher,
) where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    H: Handler,
{
    // The server waits for all watchers when it stops.
    let _watched = watcher;
    // The streams have read clocks of their own.
    client.meter.begin_request();
    let server = Arc::clone(&context.server);
    let limits = ConnectionLimits::of(&server.limits);
    let streams = Streams::new();
    let answering = Arc::clone(&streams);
    let service = service_fn(move |request: Request<Incoming>| {
        let serving = (handler.clone(), context.clone());
        let unanswered = answering.begin_answer();
        let client = client.clone();
        async move {
            let response = answer(serving, &client, request).await;
            unanswered.answered();
            Ok::<_, Infallible>(response)
        }
    });
    let tasks = StreamTasks {
        streams: Arc::clone(&streams),
        write: limits.write,
    };
    let connection = builder(tasks, &server).serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let mut leaving = None;
    loop {
        // A time that begins later may be over earlier: whether one is, is looked at as often as the shortest asks.
        let look = Instant::now() + limits.head.min(limits.idle);
        let end = streams.end_time(&limits, leaving).min(look);
        tokio::select! {
            biased;
            // Errors are those of the client, or of a body, which has logged its own.
            _ = connection.as_mut() => return,
            () = streams.ended() => return,
            () = server.stopped(), if leaving.is_none() => {}
            () = sleep_until(end) => {
                if streams.end_time(&limits, leaving) > Instant::now() {
                    continue;
                }
                if leaving.is_some() {
                    return;
                }
            }
        }
        // GOAWAY names the requests that will have been answered, so that it can send the others again.
        connection.as_mut().graceful_shutdown();
        leaving = Some(Instant::now());
    }
}

fn builder(tasks: StreamTasks, server: &ServerContext) -> http2::Builder<StreamTasks> {
    let settings = server.limits.settings();
    let mut builder = http2::Builder::new(tasks);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(u32::try_from(settings.streams).unwrap_or(u32::MAX))
        .max_header_list_size(HEADER_LIST)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(usize::try_from(settings.answer_buffer).unwrap_or(usize::MAX))
        .max_pending_accept_reset_streams(RESET_UNSEEN)
        .max_local_error_reset_streams(RESET_ERRORS)
        // A client that vanished would keep its feeds for ever.
        .keep_alive_interval(settings.idle_timeout)
        .keep_alive_timeout(settings.write_timeout);
    builder
}

/// Answers the request of one stream, which counts as a connection.
async fn answer<H: Handler>(
    (handler, context): (H, Arc<HttpContext>),
    connection: &ConnectionContext,
    mut request: Request<Incoming>,
) -> Response<MapErr<Answered, impl FnMut(BoxError) -> BoxError + use<H>>> {
    let server = Arc::clone(&context.server);
    let client = ConnectionContext {
        peer: connection.peer,
        files: None,
        is_encrypted: connection.is_encrypted,
        meter: Meter::new(),
        running: Arc::new(server.running.connect()),
    };
    let stream = StreamState::current();
    adopt_headers(&mut request);
    let response = match server.limits.connect(client.peer) {
        Some(permit) => {
            stream.hold(permit);
            let Ok(response) = handle((handler, context), client.clone(), request).await;
            response
        }
        None => outgoing(
            Failure::overloaded("too many connections").into(),
            match request.method() == Method::HEAD {
                true => Sending::Head,
                false => Sending::Plain,
            },
            &client,
            &server,
        ),
    };
    response.map(|body| {
        StreamBody::new(body, stream, client.meter).map_err(move |error| {
            log_cut_answer(&server, &error.to_string());
            error
        })
    })
}

/// Gives a request the headers that it would have over HTTP/1: `Host`, and one `Cookie`.
fn adopt_headers(request: &mut Request<Incoming>) {
    let host = request.uri().authority().map(|authority| {
        let host = authority.as_str();
        // A name and a password before it are none of the host.
        host.rsplit_once('@').map_or(host, |(_, host)| host)
    });
    let host = host.and_then(|host| HeaderValue::from_str(host).ok());
    let headers = request.headers_mut();
    if let Some(host) = host {
        headers.insert(HOST, host);
    }
    let crumbs: Vec<&[u8]> = headers
        .get_all(COOKIE)
        .iter()
        .map(HeaderValue::as_bytes)
        .collect();
    if crumbs.len() > 1
        && let Ok(cookie) = HeaderValue::from_bytes(&crumbs.join(&b"; "[..]))
    {
        headers.insert(COOKIE, cookie);
    }
}
