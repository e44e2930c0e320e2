//! One connection and its requests.

use super::{Options, RequestKind};
use crate::BenchError;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::time::{Duration, Instant};
use ureq::Agent;
use url::Url;
use varve_base::Interrupt;

/// Longer answers are an error.
const LONGEST_ANSWER: u64 = 64 << 20;
/// A request that takes longer is an error.
const PATIENCE: Duration = Duration::from_secs(60);

/// The database that is loaded.
pub(super) struct Target {
    /// Without a login and without a slash at the end.
    base: String,
    login: Option<String>,
    url: Url,
}

/// One finished request.
pub(super) struct FinishedRequest {
    pub kind: RequestKind,
    /// From when it was due in an open loop, or sent in a closed one.
    pub micros: u64,
    /// Seconds after the beginning of the run.
    pub finished: f64,
    pub is_error: bool,
}

impl Target {
    pub fn parse(text: &str) -> Result<Target, BenchError> {
        let wrong = |reason: &str| BenchError::Server {
            url: text.to_owned(),
            reason: reason.to_owned(),
        };
        let mut url = Url::parse(text).map_err(|error| wrong(&error.to_string()))?;
        if url.scheme() != "http" {
            return Err(wrong(
                "only http:// is measured: TLS would be measured along with the server",
            ));
        }
        if url.path().trim_matches('/').is_empty() {
            return Err(wrong(
                "it names no database, as http://HOST:PORT/DATABASE does",
            ));
        }
        let decoded = |part: &str| percent_decoded(part);
        let login = (!url.username().is_empty()).then(|| {
            let words = format!(
                "{}:{}",
                decoded(url.username()),
                decoded(url.password().unwrap_or(""))
            );
            format!("Basic {}", BASE64_STANDARD.encode(words))
        });
        // These fail for URLs without a host only.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        Ok(Target {
            base: url.as_str().trim_end_matches('/').to_owned(),
            login,
            url,
        })
    }

    /// The URL without the login.
    pub fn shown(&self) -> &str {
        &self.base
    }

    /// The port, if the host is this machine.
    pub fn local_port(&self) -> Option<u16> {
        let is_local = matches!(
            self.url.host_str(),
            Some("localhost" | "127.0.0.1" | "[::1]")
        );
        self.url.port_or_known_default().filter(|_| is_local)
    }

    /// Makes the database if it is not there, and writes documents for the first reads; returns the server's name.
    pub fn prepare(&self, options: &Options) -> Result<String, BenchError> {
        let agent = agent();
        let status = self.send(&agent, "PUT", "", b"")?.0;
        // 412: it is there already.
        if !matches!(status, 201 | 202 | 412) {
            return Err(self.failed(format!("PUT of the database is answered with {status}")));
        }
        let body = bulk(
            options,
            (0..READABLE).map(|number| (readable_id(number), number)),
        );
        let (status, _) = self.send(&agent, "POST", "/_bulk_docs", &body)?;
        if !matches!(status, 201 | 202) {
            return Err(self.failed(format!("_bulk_docs is answered with {status}")));
        }
        if options.mix.has(RequestKind::Query) {
            let (status, _) = self.send(&agent, "GET", &format!("/{}", options.query), b"")?;
            if status >= 400 {
                return Err(self.failed(format!(
                    "the query {} is answered with {status}",
                    options.query
                )));
            }
        }
        let mut root = self.url.clone();
        root.set_path("/");
        let answer = agent
            .get(root.as_str())
            .call()
            .map_err(|error| self.failed(error.to_string()))?;
        let server = answer.headers().get("server");
        let named = server.map(|name| String::from_utf8_lossy(name.as_bytes()).into_owned());
        Ok(named.unwrap_or_else(|| "unknown".to_owned()))
    }

    fn failed(&self, reason: String) -> BenchError {
        BenchError::Server {
            url: self.base.clone(),
            reason,
        }
    }

    fn send(
        &self,
        agent: &Agent,
        method: &str,
        path: &str,
        body: &[u8],
    ) -> Result<(u16, Vec<u8>), BenchError> {
        let failed = |error: ureq::Error| self.failed(error.to_string());
        let url = format!("{}{path}", self.base);
        let login = self.login.as_deref();
        let answer = match method {
            "GET" => {
                let mut request = agent.get(&url);
                if let Some(login) = login {
                    request = request.header("authorization", login);
                }
                request.call()
            }
            _ => {
                let mut request = match method {
                    "PUT" => agent.put(&url),
                    _ => agent.post(&url),
                };
                request = request.header("content-type", "application/json");
                if let Some(login) = login {
                    request = request.header("authorization", login);
                }
                request.send(body)
            }
        };
        let mut answer = answer.map_err(failed)?;
        let status = answer.status().as_u16();
        let bytes = answer
            .body_mut()
            .with_config()
            .limit(LONGEST_ANSWER)
            .read_to_vec();
        Ok((status, bytes.map_err(failed)?))
    }
}

fn agent() -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(PATIENCE))
        .max_redirects(0)
        .build();
    config.into()
}

/// Text with `%41` for `A`; other forms stay.
fn percent_decoded(text: &str) -> String {
    let (mut out, mut rest) = (Vec::new(), text.as_bytes());
    while let [first, tail @ ..] = rest {
        let digits = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        match byte.filter(|_| *first == b'%') {
            Some(byte) => {
                out.push(byte);
                rest = &tail[2..];
            }
            None => {
                out.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Documents that are there before the first run.
const READABLE: u64 = 1000;

fn readable_id(number: u64) -> String {
    format!("bench-{number:04}")
}

/// A body for `_bulk_docs`; answers about documents that are there already do not count.
fn bulk(options: &Options, documents: impl Iterator<Item = (String, u64)>) -> Vec<u8> {
    let mut body = b"{\"docs\":[".to_vec();
    for (index, (id, number)) in documents.enumerate() {
        if index > 0 {
            body.push(b',');
        }
        push_document(options, &id, number, &mut body);
    }
    body.extend_from_slice(b"]}");
    body
}

/// The document of this number with an id in front.
fn push_document(options: &Options, id: &str, number: u64, out: &mut Vec<u8>) {
    let text = &options.documents[(number % options.documents.len() as u64) as usize];
    out.extend_from_slice(format!("{{\"_id\":\"{id}\"").as_bytes());
    let inside = &text[1..text.len() - 1];
    if !inside.trim_ascii().is_empty() {
        out.push(b',');
        out.extend_from_slice(inside);
    }
    out.push(b'}');
}

/// One client of one run.
pub(super) struct Client<'c> {
    target: &'c Target,
    options: &'c Options,
    agent: Agent,
    /// Number of the run and of the client, for ids that no other has.
    name: (usize, usize),
    start: Instant,
}

impl<'c> Client<'c> {
    pub fn new(
        target: &'c Target,
        options: &'c Options,
        name: (usize, usize),
        start: Instant,
    ) -> Client<'c> {
        Client {
            target,
            options,
            agent: agent(),
            name,
            start,
        }
    }

    /// Sends requests until the time is over; returns what was finished by then.
    pub fn run_until(
        &mut self,
        until: Instant,
        interrupt: &Interrupt,
    ) -> Result<Vec<FinishedRequest>, BenchError> {
        // Ids must differ from those of an earlier call on the same database.
        let epoch = std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap_or_default()
            .as_micros();
        let clients = self.options.clients as f64;
        let each = self
            .options
            .rate
            .map(|rate| Duration::from_secs_f64(clients / rate));
        let phase = each.map(|each| each.mul_f64(self.name.1 as f64 / clients));
        let mut finished = Vec::new();
        for number in 0u64.. {
            let due = match (each, phase) {
                (Some(each), Some(phase)) => self.start + phase + each.mul_f64(number as f64),
                _ => Instant::now(),
            };
            if due >= until || Instant::now() >= until || interrupt.is_raised() {
                break;
            }
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let kind = self.options.mix.pick(number + 31 * self.name.1 as u64);
            let is_error = self.ask(kind, number, epoch)?;
            finished.push(FinishedRequest {
                kind,
                micros: u64::try_from(due.elapsed().as_micros()).unwrap_or(u64::MAX),
                finished: self.start.elapsed().as_secs_f64(),
                is_error,
            });
        }
        Ok(finished)
    }

    /// Sends one request; returns whether its answer is an error.
    fn ask(&self, kind: RequestKind, number: u64, epoch: u128) -> Result<bool, BenchError> {
        let (run, client) = self.name;
        let id = |part: u64| format!("load-{epoch:x}-{run}-{client}-{number}-{part}");
        let mixed = (number * 7919 + client as u64 * 104_729) % READABLE;
        let (status, _) = match kind {
            RequestKind::Read => {
                let path = format!("/{}", readable_id(mixed));
                self.target.send(&self.agent, "GET", &path, b"")?
            }
            RequestKind::Query => {
                let path = format!("/{}", self.options.query);
                self.target.send(&self.agent, "GET", &path, b"")?
            }
            RequestKind::Feed => self.target.send(
                &self.agent,
                "GET",
                "/_changes?limit=100&descending=true",
                b"",
            )?,
            RequestKind::Write if self.options.batch == 1 => {
                let mut body = Vec::new();
                push_document(self.options, &id(0), number, &mut body);
                self.target
                    .send(&self.agent, "PUT", &format!("/{}", id(0)), &body)?
            }
            RequestKind::Write => {
                let documents =
                    (0..self.options.batch as u64).map(|part| (id(part), number + part));
                let body = bulk(self.options, documents);
                self.target
                    .send(&self.agent, "POST", "/_bulk_docs", &body)?
            }
        };
        Ok(status >= 400)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_and_its_login_is_not_shown() {
        let target = Target::parse("http://ann:p%40ss@127.0.0.1:5984/db/").unwrap();
        assert_eq!(target.shown(), "http://127.0.0.1:5984/db");
        assert_eq!(target.login.as_deref(), Some("Basic YW5uOnBAc3M="));
        assert_eq!(target.local_port(), Some(5984));
        let far = Target::parse("http://example.org/db").unwrap();
        assert_eq!((far.local_port(), far.login), (None, None));
        for wrong in [
            "https://localhost/db",
            "http://localhost:5984",
            "db",
            "file:///db",
        ] {
            assert!(
                matches!(Target::parse(wrong), Err(BenchError::Server { .. })),
                "{wrong}"
            );
        }
    }
}
