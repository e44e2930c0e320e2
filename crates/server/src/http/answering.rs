//! One request over HTTP/1 or HTTP/2: from its head to the head of its answer.

use crate::Failure;
use crate::http::accept_encoding;
use crate::http::arriving::{ArrivingBody, BodyTime};
use crate::http::compressed::{Compression, SentBody};
use crate::http::guarded::{Meter, MeteredBody};
use crate::http::handler::{BodyPlan, Handler, HttpContext};
use crate::http::observe::Observed;
use crate::http::sendfile::FileQueue;
use crate::http::{Answer, Body, ContentEncoding, Request, Upload, intake};
use crate::runtime::repeats::fault_id;
use crate::runtime::{RunningSlot, ServerContext};
use http_body_util::{Either, Full};
use hyper::body::{Body as _, Bytes, Incoming};
use hyper::ext::ReasonPhrase;
use hyper::header::{CACHE_CONTROL, CONTENT_LENGTH, HeaderMap, HeaderName, HeaderValue, SERVER};
use hyper::{Method, Response};
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use tracing::Instrument;
use tracing::instrument::WithSubscriber;

/// `Server` header of every answer.
const SERVER_NAME: &str = concat!("Varve/", env!("CARGO_PKG_VERSION"));

/// Milliseconds from the head of a request to the end of its body.
const BODY_TIME: HeaderName = HeaderName::from_static("x-couchdb-body-time");

/// The parts of an answer that the client would have (RFC 7240).
const PREFER: HeaderName = HeaderName::from_static("prefer");

/// The body of a response.
pub(super) type Outgoing = MeteredBody<SentBody>;

/// State shared by all requests of one connection.
#[derive(Clone)]
pub(super) struct ConnectionContext {
    pub(super) peer: IpAddr,
    /// Queue of pieces of files that the kernel sends; none under TLS.
    pub(super) files: Option<FileQueue>,
    pub(super) is_encrypted: bool,
    /// Which time the client has, and how much of its answer waits for it.
    pub(super) meter: Meter,
    /// The answered request, for the log when its answer is cut.
    pub(super) running: Arc<RunningSlot>,
}

/// Never fails; the type is that of hyper's services, which then need no future of their own around this one.
pub(super) async fn handle<H: Handler>(
    (handler, context): (H, Arc<HttpContext>),
    client: ConnectionContext,
    request: hyper::Request<Incoming>,
) -> Result<Response<Outgoing>, Infallible> {
    let sending = match request.method() == Method::HEAD {
        true => Sending::Head,
        false => Sending::All(accept_encoding::preferred(request.headers())),
    };
    let log = context.access.as_ref();
    let mut noted = log.map(|log| (log, log.begin(client.peer, &request)));
    let wishes_few = prefers_minimal(request.headers());
    let request_id = context.server.next_request_id();
    let head = (request.method(), request.uri().path());
    client.running.begin(head.0, head.1);
    let subject = handler.subject(head.1);
    let observed = Observed::begin(&context.server, &request_id, head, &subject);
    let taken = take_in((&handler, &context), &client, request).await;
    let body_time = observed.elapsed();
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
            // In a box, as it is long and moved some times.
            let answering = Box::pin(async {
                match admitted {
                    Some(_permit) => handler.answer(request, login).await,
                    None => Failure::overloaded("too many requests of this kind").into(),
                }
            });
            let answering = answering.instrument(observed.span.clone());
            let answer = answering
                .with_subscriber(context.server.log.dispatch())
                .await;
            if let Some(upload) = upload {
                Box::pin(upload.discard()).await;
            }
            answer
        }
        Err(failure) => failure.into(),
    };
    if handler.answers_as_couchdb() {
        answer.set_header("x-couch-request-id", &request_id);
        let milliseconds = u64::try_from(body_time.as_millis()).unwrap_or(u64::MAX);
        answer.headers.insert(BODY_TIME, milliseconds.into());
    }
    observed.end(&context.server, answer.status);
    let unsent = noted.and_then(|(log, entry)| log.begin_answer(entry, answer.status));
    let sending = match handler.compresses_answers() {
        true => sending,
        false => sending.uncompressed(),
    };
    let mut response = outgoing(answer, sending, &client, &context.server);
    handler.finish_headers(wishes_few, response.headers_mut());
    Ok(response.map(|body| body.noted(unsent)))
}

/// Finds the user before the body is read, so that unauthenticated clients cannot fill the memory.
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
    if request.raw_path.contains('+') && handler.reads_plus_as_space(&request.raw_path) {
        request.read_plus_as_space()?;
    }
    request.mount = mount.path();
    request.peer = Some(client.peer);
    request.is_encrypted = client.is_encrypted;
    request.is_proxied = context.trust.is_proxy(client.peer);
    let login = handler.login(&mut request).await?;
    if !request.is_read() || !incoming.is_end_stream() {
        // In a box: most requests are reads, and have no body.
        Box::pin(take_body(
            (handler, context),
            incoming,
            (&mut request, &login),
        ))
        .await?;
    }
    Ok((request, login))
}

/// Reads the body, or has the handler read it while it arrives.
async fn take_body<H: Handler>(
    (handler, context): (&H, &HttpContext),
    incoming: Incoming,
    (request, login): (&mut Request, &H::Login),
) -> Result<(), Failure> {
    let settings = context.server.limits.settings();
    let time = BodyTime {
        pause: settings.body_timeout,
        rate: settings.body_rate,
    };
    match handler.body_plan(request, login) {
        BodyPlan::WhileArriving(limit) => {
            let body = ArrivingBody::new(incoming, time, limit);
            request.upload = Some(Upload::new(body, &request.headers, limit).await?);
        }
        BodyPlan::Whole(limit) => {
            let body = ArrivingBody::new(incoming, time, limit);
            if !intake::is_short(&body, &request.headers)
                && let Err(failure) = handler.check_rights(request, login).await
            {
                return Err(intake::refuse(body, &request.headers, failure).await);
            }
            let mut memory = context.server.limits.body();
            request.body = intake::read_body(body, &request.headers, limit, &mut memory).await?;
            request.memory = Some(Arc::new(memory));
        }
    }
    Ok(())
}

/// Whether the client would do with the headers that matter.
fn prefers_minimal(headers: &HeaderMap) -> bool {
    let wish = headers.get(PREFER);
    wish.is_some_and(|wish| wish.as_bytes().eq_ignore_ascii_case(b"return=minimal"))
}

/// The part of an answer that is sent.
#[derive(Clone, Copy, Debug)]
pub(super) enum Sending {
    /// Its head, for HEAD.
    Head,
    /// Everything, and the encoding of the body that the client would have.
    All(Option<ContentEncoding>),
    /// Everything, never compressed.
    Plain,
}

impl Sending {
    fn uncompressed(self) -> Sending {
        match self {
            Sending::Head => Sending::Head,
            Sending::All(_) | Sending::Plain => Sending::Plain,
        }
    }
}

/// The response that is sent for an answer.
pub(super) fn outgoing(
    mut answer: Answer,
    sending: Sending,
    client: &ConnectionContext,
    server: &ServerContext,
) -> Response<Outgoing> {
    let compression = match sending {
        Sending::All(accepted) => Compression::begin(&mut answer, accepted, &server.encoders),
        Sending::Head | Sending::Plain => None,
    };
    let head_only = matches!(sending, Sending::Head);
    let mut headers = answer.headers;
    let fixed = headers.entry(CACHE_CONTROL);
    fixed.or_insert(HeaderValue::from_static("must-revalidate"));
    headers.insert(SERVER, HeaderValue::from_static(SERVER_NAME));
    let body = match (answer.body, compression) {
        (Body::Whole(bytes), Some(compression)) => compression.of_whole(bytes),
        (Body::Whole(bytes), None) => {
            headers
                .entry(CONTENT_LENGTH)
                .or_insert(HeaderValue::from(bytes.len()));
            let sent = if head_only { Vec::new() } else { bytes };
            Either::Left(Full::new(Bytes::from(sent)))
        }
        (Body::Stream(..), _) if head_only => Either::Left(Full::new(Bytes::new())),
        (Body::Stream(receiver, _), compression) => {
            let meter = client.meter.clone();
            match compression {
                // The kernel cannot compress the files that it sends.
                Some(compression) => compression.of_stream(receiver.on_connection(None, meter)),
                None => {
                    let files = client.files.clone();
                    Either::Right(Either::Left(receiver.on_connection(files, meter)))
                }
            }
        }
    };
    let buffer = server.limits.settings().answer_buffer;
    let mut response = Response::new(MeteredBody::new(body, client.meter.clone(), buffer));
    *response.status_mut() = answer.status;
    if let Some(reason) = answer.reason {
        let reason = ReasonPhrase::from_static(reason.as_bytes());
        response.extensions_mut().insert(reason);
    }
    *response.headers_mut() = headers;
    response
}

/// Logs that an answer could not be produced or sent to its end.
pub(super) fn log_cut_answer(server: &ServerContext, cause: &str) {
    server
        .log
        .scope(|| tracing::error!(fault = fault_id(cause), "an answer was cut: {cause}"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::Site;

    fn size_of_future<A, B, C, F>(_: impl FnOnce(A, B, C) -> F) -> usize {
        size_of::<F>()
    }

    #[test]
    fn the_future_of_a_request_is_short() {
        let handling =
            |site: (Site, Arc<HttpContext>), client, request| handle(site, client, request);
        let size = size_of_future(handling);
        assert!(size <= 3500, "{size} bytes are moved for each request");
    }
}
