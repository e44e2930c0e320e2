//! HTTP below `object_store`: limits of time and length, TLS, and answers that must not be taken for others.
//!
//! `object_store` takes 409 for "is there already", and says "not found" where a bucket is missing. So every answer that has
//! no meaning for the protocol becomes a [`Refusal`] here.

use crate::error::{Refusal, S3Error};
use crate::settings::S3Settings;
use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse,
    HttpResponseBody, HttpService,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::fmt::Display;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// The longest object, and so the longest answer. Segments have 16 MiB; the checkpoint of a database of a terabyte has 4.
pub(crate) const LONGEST: usize = 64 << 20;
const LONGEST_ANSWER: usize = LONGEST + (1 << 20);
/// Characters of an explanation that are shown.
const LONGEST_TEXT: usize = 200;

/// Bytes within which the root element of a listing begins.
const LISTING_START: usize = 256;
/// S3's name of the error.
const NO_BUCKET: &str = "NoSuchBucket";

const CONNECT: Duration = Duration::from_secs(3);
/// Time for an answer beside that for the bytes of the request.
const ANSWER: Duration = Duration::from_secs(5);
/// The slowest network that counts as one, in bytes a second.
const SLOWEST: u64 = 512 << 10;
/// Stores close connections that are idle for longer, and a request that meets the closing is lost.
const IDLE: Duration = Duration::from_secs(15);

/// Makes clients with one pool of connections.
#[derive(Debug)]
pub(crate) struct Connector(reqwest::Client);

impl Connector {
    /// # Errors
    /// [`S3Error::Authorities`], [`S3Error::Client`]
    pub fn new(settings: &S3Settings) -> Result<Connector, S3Error> {
        let client = reqwest::Client::builder()
            .user_agent(concat!("Varve/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT)
            .pool_idle_timeout(IDLE)
            .http1_only()
            .tls_backend_preconfigured(tls(settings.authorities.as_deref())?)
            .build();
        client
            .map(Connector)
            .map_err(|error| S3Error::Client(error.to_string()))
    }
}

impl HttpConnector for Connector {
    fn connect(&self, _options: &ClientOptions) -> object_store::Result<HttpClient> {
        Ok(HttpClient::new(Transport(self.0.clone())))
    }
}

fn tls(authorities: Option<&Path>) -> Result<rustls::ClientConfig, S3Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| S3Error::Client(error.to_string()))?;
    let web = webpki_roots::TLS_SERVER_ROOTS.iter().cloned();
    let mut roots = rustls::RootCertStore::from_iter(web);
    if let Some(path) = authorities {
        let unreadable = |reason: &dyn Display| S3Error::Authorities {
            path: path.display().to_string(),
            reason: reason.to_string(),
        };
        let before = roots.len();
        for found in CertificateDer::pem_file_iter(path).map_err(|error| unreadable(&error))? {
            let found = found.map_err(|error| unreadable(&error))?;
            roots.add(found).map_err(|error| unreadable(&error))?;
        }
        if roots.len() == before {
            return Err(unreadable(&"it has no certificates in PEM"));
        }
    }
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

#[derive(Debug)]
struct Transport(reqwest::Client);

#[async_trait]
impl HttpService for Transport {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let query = request.uri().query();
        let is_listing = query.is_some_and(|query| query.contains("list-type="));
        let limit = ANSWER + time_for(request.body().content_length());
        let answered = timeout(limit, self.0.call(request)).await;
        let (parts, body) = answered.unwrap_or_else(|_| Err(late()))?.into_parts();
        let announced = parts.headers.get("content-length");
        let announced = announced.and_then(|it| it.to_str().ok()?.parse().ok());
        let limit = ANSWER + time_for(announced.unwrap_or(0).min(LONGEST_ANSWER));
        let body = timeout(limit, whole(body)).await;
        let body = body.unwrap_or_else(|_| Err(late()))?;
        match parts.status.as_u16() {
            // `object_store` takes any text for a listing without objects.
            200 if is_listing && !is_listing_of_s3(&body) => {
                let refusal = Refusal {
                    status: 200,
                    code: String::new(),
                    message: "which is no listing of S3".to_owned(),
                };
                return Err(HttpError::new(HttpErrorKind::Unknown, refusal));
            }
            200..=299 | 304 | 412 | 416 => {}
            // An object of a bucket that is gone is not just absent.
            404 if code_of(&body) != NO_BUCKET => {}
            status => {
                let refusal = refusal(status, &body);
                return Err(HttpError::new(HttpErrorKind::Unknown, refusal));
            }
        }
        Ok(HttpResponse::from_parts(
            parts,
            HttpResponseBody::from(body),
        ))
    }
}

/// The root element follows the declaration of XML.
fn is_listing_of_s3(body: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&body[..body.len().min(LISTING_START)]);
    start.contains("<ListBucketResult")
}

fn time_for(bytes: usize) -> Duration {
    Duration::from_millis(bytes as u64 * 1000 / SLOWEST)
}

fn late() -> HttpError {
    let message = "it did not come in time";
    HttpError::new(HttpErrorKind::Timeout, std::io::Error::other(message))
}

/// # Errors
/// Errors of the connection, and if the answer is longer than any object.
async fn whole(body: HttpResponseBody) -> Result<Bytes, HttpError> {
    let collected = Limited::new(body, LONGEST_ANSWER).collect().await;
    let collected = collected.map_err(|error| match error.downcast::<HttpError>() {
        Ok(error) => *error,
        Err(_) => HttpError::new(HttpErrorKind::Decode, too_long()),
    })?;
    Ok(collected.to_bytes())
}

fn too_long() -> S3Error {
    let limit = LONGEST as u64;
    S3Error::TooLong {
        len: LONGEST_ANSWER as u64,
        limit,
    }
}

fn refusal(status: u16, body: &[u8]) -> Refusal {
    Refusal {
        status,
        code: code_of(body),
        message: text_of(body, "Message"),
    }
}

fn code_of(body: &[u8]) -> String {
    text_of(body, "Code")
}

/// The text of the first element of this name in an answer such as `<Error><Code>AccessDenied</Code></Error>`, without
/// characters that a terminal would obey; empty if there is none.
fn text_of(body: &[u8], element: &str) -> String {
    let text = String::from_utf8_lossy(&body[..body.len().min(1 << 14)]);
    let found = text.split_once(&format!("<{element}>"));
    let found = found.and_then(|(_, rest)| rest.split_once(&format!("</{element}>")));
    let found = found.map(|(text, _)| text).unwrap_or_default();
    let shown = found.chars().filter(|it| !it.is_control());
    shown.take(LONGEST_TEXT).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_s3_are_read_and_cleaned() {
        let body = b"<?xml?><Error><Code>SlowDown</Code><Message>Re\x1b[31mduce</Message></Error>";
        let refusal = refusal(503, body);
        assert_eq!(
            refusal.to_string(),
            "the store answered 503 SlowDown: Re[31mduce"
        );
        assert_eq!(text_of(b"<Code>", "Code"), "");
        assert_eq!(text_of(b"", "Code"), "");
        let long = format!("<Code>{}</Code>", "x".repeat(1000));
        assert_eq!(text_of(long.as_bytes(), "Code").len(), LONGEST_TEXT);
    }
}
