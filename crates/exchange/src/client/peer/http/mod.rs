//! Commands over HTTP: arguments in headers, answers as bodies, one connection kept for all.

mod address;
mod arguments;
mod body;
mod fetch;
mod tls;
mod traffic;
mod trust;

pub use address::Login;
pub use traffic::Traffic;
pub use trust::{ComparedFingerprint, Fingerprint, Fingerprints};

use super::{PeerArgs, PeerCapabilities, Transport};
use crate::ExchangeError;
use crate::Spool;
use crate::format::media_types::{TYPE_01, TYPE_02, TYPE_ERROR};
use address::Address;
use body::expanded;
use rustls::pki_types::CertificateDer;
use rustls::{CertificateError, RootCertStore};
use std::io::Read;
use std::sync::Arc;
use std::time::Duration;
use tls::TlsConnector;
use traffic::CountingConnector;
use trust::{Comparison, Trust, Verifier};
use ureq::http::Response;
use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{
    ConnectProxyConnector, Connector, DefaultConnector, TcpConnector,
};
use ureq::{Agent, Body, SendBody};

/// Which forms of answer are understood, best first.
const READS: &str = "0.1 0.2 comp=zstd,zlib,none,bzip2";
/// The same for a server on this machine, where compression would cost both sides and save nothing.
/// Stock servers do not heed the order, and compress.
const READS_NEAR: &str = "0.1 0.2 comp=none,zstd,zlib,bzip2";

/// Bytes of a short answer; the heads, names and keys of large repositories need some megabytes.
const SHORT: u64 = 256 << 20;

/// Bytes of a page that is shown if it does not come from a repository.
const SHOWN: u64 = 1024;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(60);

/// How servers are reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HttpOptions {
    /// Certificates in PEM that are trusted instead of the usual ones.
    pub authorities: Option<Vec<u8>>,
    /// Fingerprints, one of which the server's certificate has to have; they come before all else.
    pub fingerprints: Option<Fingerprints>,
    /// Whether any certificate is believed.
    pub trusts_all: bool,
    /// Proxy for the requests.
    pub proxy: Option<Proxy>,
}

/// A server through which others are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proxy(ureq::Proxy);

impl Proxy {
    /// Reads a URL, or a host with or without a port; name and password may stand beside it.
    ///
    /// # Errors
    /// [`ExchangeError::BadAddress`].
    pub fn parse(
        at: &str,
        user: Option<&str>,
        password: Option<&str>,
    ) -> Result<Proxy, ExchangeError> {
        let wrong = |error: ureq::Error| ExchangeError::BadAddress {
            url: at.to_owned(),
            reason: error.to_string(),
        };
        let url = match at.starts_with("http:") {
            true => at.to_owned(),
            false => format!("http://{at}"),
        };
        let named = ureq::Proxy::new(&url).map_err(wrong)?;
        let mut built = ureq::Proxy::builder(ureq::ProxyProtocol::Http)
            .host(named.host())
            .port(named.port());
        if let Some(user) = user.or(named.username()) {
            built = built.username(user);
        }
        if let Some(password) = password.or(named.password()) {
            built = built.password(password);
        }
        built.build().map(Proxy).map_err(wrong)
    }
}

/// A repository behind a URL.
pub struct HttpPeer {
    agent: Agent,
    address: Address,
    login: Option<Login>,
    traffic: Traffic,
    comparison: Comparison,
    /// Bytes that one header may have; 0 if arguments go into the query.
    header: usize,
}

impl HttpPeer {
    /// Gets ready to ask the repository at a URL; a name and password in it are used.
    ///
    /// # Errors
    /// The URL or the certificates cannot be read.
    pub fn new(url: &str, options: &HttpOptions) -> Result<HttpPeer, ExchangeError> {
        let (address, login) = Address::parse(url)?;
        let comparison = Comparison::default();
        let tls = own_tls((url, options), &comparison)?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT))
            .user_agent("mercurial/proto-1.0 (Varve)")
            .proxy(options.proxy.clone().map(|proxy| proxy.0))
            .tls_config(
                TlsConfig::builder()
                    .root_certs(RootCerts::WebPki)
                    .disable_verification(options.trusts_all)
                    .build(),
            );
        let traffic = Traffic::default();
        let counting = CountingConnector {
            traffic: traffic.clone(),
            by_proxy: options.proxy.is_some(),
        };
        let (config, resolver) = (config.build(), DefaultResolver::default());
        let agent = match tls {
            None => Agent::with_parts(config, DefaultConnector::new().chain(counting), resolver),
            Some(tls) => {
                let plain = ().chain(ConnectProxyConnector::default());
                let plain = plain.chain(TcpConnector::default());
                Agent::with_parts(config, plain.chain(tls).chain(counting), resolver)
            }
        };
        Ok(HttpPeer {
            agent,
            address,
            login,
            traffic,
            comparison,
            header: 0,
        })
    }

    /// Whether there is a name, or also a password.
    pub fn login(&self) -> Option<&Login> {
        self.login.as_ref()
    }

    /// How much goes to the server and comes from it, from now on as well.
    pub fn traffic(&self) -> Traffic {
        self.traffic.clone()
    }

    fn ask(&self, command: &str, args: PeerArgs<'_>) -> Result<Response<Body>, ExchangeError> {
        let (url, headers) = self.request(command, args);
        let mut request = self.agent.get(&url);
        for (name, value) in &headers {
            request = request.header(name, value);
        }
        self.traffic.count_request();
        let answer = request.call().map_err(|error| self.unreachable(error))?;
        self.check(answer)
    }

    /// URL and headers of a command.
    fn request(&self, command: &str, args: PeerArgs<'_>) -> (String, Vec<(String, String)>) {
        let encoded = arguments::encode(args);
        let mut url = format!("{}?cmd={command}", self.address.bare());
        let mut headers = Vec::new();
        if self.header > 0 {
            headers = arguments::headers(&encoded, self.header);
        } else if !encoded.is_empty() {
            url = format!("{url}&{encoded}");
        }
        let mut header =
            |name: &str, value: &str| headers.push((name.to_owned(), value.to_owned()));
        header("Accept", TYPE_01);
        if self.header > 0 {
            let is_near = self.address.is_near();
            header("X-HgProto-1", if is_near { READS_NEAR } else { READS });
        }
        if let Some(login) = self.login.as_ref().and_then(Login::header) {
            header("Authorization", &login);
        }
        (url, headers)
    }

    /// Turns an answer that no repository gives into an error.
    fn check(&self, mut answer: Response<Body>) -> Result<Response<Body>, ExchangeError> {
        let status = answer.status();
        if status.as_u16() == 401 {
            return Err(self.unauthorized(&answer));
        }
        if !status.is_success() {
            // Mercurial's servers say the same in the body as in the status line.
            let page = read_some(&mut answer, SHOWN);
            let said = page
                .strip_prefix("0\n")
                .and_then(|words| words.lines().next());
            let usual = status.canonical_reason().unwrap_or("");
            return Err(ExchangeError::HttpStatus {
                status: status.as_u16(),
                reason: said.unwrap_or(usual).to_owned(),
            });
        }
        let kind = answer.headers().get("content-type");
        let kind = String::from_utf8_lossy(kind.map_or(b"", |kind| kind.as_bytes())).into_owned();
        match kind.as_str() {
            TYPE_01 | TYPE_02 => Ok(answer),
            TYPE_ERROR => Err(ExchangeError::Remote(read_some(&mut answer, SHORT))),
            _ => Err(ExchangeError::NotARepository {
                url: self.address.shown().to_owned(),
                kind,
                page: read_some(&mut answer, SHOWN),
            }),
        }
    }

    /// Whether a login may help where none did.
    fn unauthorized(&self, answer: &Response<Body>) -> ExchangeError {
        // Without `WWW-Authenticate` there is no way to log in.
        let asks = answer.headers().get("www-authenticate");
        let known = self.login.as_ref().and_then(Login::header);
        match asks.filter(|_| known.is_none()) {
            Some(asks) => ExchangeError::LoginNeeded {
                url: self.address.shown().to_owned(),
                realm: realm_of(&String::from_utf8_lossy(asks.as_bytes())),
            },
            None => ExchangeError::WrongPassword,
        }
    }

    /// How the server's certificate compares with the fingerprints; `None` before the first connection, and where there are
    /// none. The function can be called when the peer is no longer there.
    pub fn compared_fingerprint(&self) -> impl Fn() -> Option<ComparedFingerprint> + use<> {
        let comparison = Comparison::clone(&self.comparison);
        move || comparison.lock().clone()
    }

    fn unreachable(&self, error: ureq::Error) -> ExchangeError {
        let compared = self.comparison.lock().take_if(|it| it.matched.is_none());
        if let Some(compared) = compared {
            return ExchangeError::UnexpectedFingerprint {
                host: compared.host,
                fingerprint: match compared.is_legacy {
                    true => compared.sha1,
                    false => compared.sha256,
                },
                is_legacy: compared.is_legacy,
            };
        }
        let reason = match &error {
            ureq::Error::Io(error) => address::words_of(error),
            ureq::Error::HostNotFound => "Name or service not known".to_owned(),
            other => other.to_string(),
        };
        match is_of_another_host(&error) {
            true => ExchangeError::CertificateOfAnotherHost { reason },
            false => ExchangeError::Unreachable { reason },
        }
    }
}

/// Whether the certificate is one to believe, but for another name than that of the server.
fn is_of_another_host(error: &ureq::Error) -> bool {
    let ureq::Error::Io(error) = error else {
        return false;
    };
    let inner = error.get_ref();
    let wrong = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(
        wrong,
        Some(rustls::Error::InvalidCertificate(
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. }
        ))
    )
}

impl Transport for HttpPeer {
    // They travel in headers, whose length servers limit.
    fn limits_arguments(&self) -> bool {
        true
    }

    fn call(&mut self, command: &str, args: PeerArgs<'_>) -> Result<Vec<u8>, ExchangeError> {
        let mut answer = self.ask(command, args)?;
        let body = answer.body_mut().with_config().limit(SHORT);
        let bytes = body.read_to_vec();
        let bytes = bytes.map_err(|error| self.unreachable(error))?;
        self.traffic.has_received(bytes.len());
        Ok(bytes)
    }

    fn stream(
        &mut self,
        command: &str,
        args: PeerArgs<'_>,
    ) -> Result<Box<dyn Read + Send>, ExchangeError> {
        let answer = self.ask(command, args)?;
        let is_new = is_new(&answer);
        let body = answer.into_body().into_with_config().limit(u64::MAX);
        // A stream of files is never compressed in the old form, everything else always.
        let body = self.traffic.counting(body.reader());
        expanded(body, is_new, command != "stream_out")
    }

    fn unbundle(&mut self, bundle: &mut Spool) -> Result<Box<dyn Read + Send>, ExchangeError> {
        // Parts of the bundle check the state of the other side instead.
        let (url, headers) = self.request("unbundle", &[("heads", b"666f726365".to_vec())]);
        bundle.rewind().map_err(ExchangeError::Write)?;
        let mut request = self.agent.post(&url).content_type(TYPE_01);
        for (name, value) in &headers {
            request = request.header(name, value);
        }
        let request = request.header("Content-Length", bundle.len().to_string());
        self.traffic.count_request();
        let answer = request.send(SendBody::from_reader(bundle));
        let answer = self.check(answer.map_err(|error| self.unreachable(error))?)?;
        let is_new = is_new(&answer);
        let body = answer.into_body().into_with_config().limit(u64::MAX);
        // In the old form the answer to a push is not compressed.
        expanded(self.traffic.counting(body.reader()), is_new, false)
    }

    fn log_in(&mut self, login: Login) {
        self.login = Some(login);
    }

    fn set_capabilities(&mut self, capabilities: &PeerCapabilities) {
        let header = capabilities.value("httpheader");
        let size = header.and_then(|value| value.split(',').next()?.parse().ok());
        self.header = size.unwrap_or(0);
    }
}

/// The words behind `realm=` in a server's request for a login.
fn realm_of(asks: &str) -> String {
    let behind = asks.split_once("realm=").map_or("", |(_, behind)| behind);
    match behind.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next().unwrap_or_default().to_owned(),
        None => behind.split(',').next().unwrap_or_default().to_owned(),
    }
}

/// Whether an answer names how it is compressed.
fn is_new(answer: &Response<Body>) -> bool {
    let kind = answer.headers().get("content-type");
    kind.is_some_and(|kind| kind.as_bytes() == TYPE_02.as_bytes())
}

fn read_some(answer: &mut Response<Body>, limit: u64) -> String {
    let mut bytes = Vec::new();
    let body = answer.body_mut().with_config().limit(u64::MAX);
    // An unreadable rest is not shown.
    let _ = body.reader().take(limit).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Encryption that believes other certificates than the usual ones, if that is asked for.
fn own_tls(
    (url, options): (&str, &HttpOptions),
    comparison: &Comparison,
) -> Result<Option<TlsConnector>, ExchangeError> {
    let wrong = |error: rustls::Error| ExchangeError::BadAddress {
        url: url.to_owned(),
        reason: error.to_string(),
    };
    let trust = match (&options.fingerprints, &options.authorities) {
        (Some(fingerprints), _) => Trust::Fingerprints(fingerprints.clone()),
        (None, Some(pem)) if !options.trusts_all => {
            let certificates = certificates(pem, url)?;
            let mut roots = RootCertStore::empty();
            // One that cannot be an authority may still be the server's own.
            roots.add_parsable_certificates(certificates.iter().cloned());
            Trust::Authorities {
                roots,
                certificates,
            }
        }
        (None, _) => return Ok(None),
    };
    let verifier = Verifier {
        trust,
        provider: Arc::new(rustls::crypto::ring::default_provider()),
        comparison: Comparison::clone(comparison),
    };
    TlsConnector::new(verifier).map(Some).map_err(wrong)
}

fn certificates(pem: &[u8], url: &str) -> Result<Vec<CertificateDer<'static>>, ExchangeError> {
    let mut found = Vec::new();
    for item in parse_pem(pem) {
        let item = item.map_err(|error| ExchangeError::BadAddress {
            url: url.to_owned(),
            reason: format!("the certificates to trust cannot be read: {error}"),
        })?;
        if let PemItem::Certificate(certificate) = item {
            found.push(CertificateDer::from(certificate.der().to_vec()));
        }
    }
    Ok(found)
}
