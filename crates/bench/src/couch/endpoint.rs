//! The URL of a server or of one of its databases, with a login.

use crate::BenchError;
use crate::processes::local_port;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use std::time::Duration;
use ureq::Agent;
use url::Url;

/// Longer answers are an error.
const LONGEST_ANSWER: u64 = 64 << 20;

/// A database, or a server where that is enough.
#[derive(Clone, Debug)]
pub(crate) struct Endpoint {
    /// Without a login and without a slash at the end.
    base: String,
    login: Option<String>,
    url: Url,
}

/// Status and body of an answer.
pub(crate) struct Answer {
    pub status: u16,
    pub body: Vec<u8>,
}

/// A client with connections of its own; a request that takes longer than `patience` is an error.
pub(crate) fn agent(patience: Duration) -> Agent {
    let config = Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(patience))
        .max_redirects(0)
        .build();
    config.into()
}

impl Endpoint {
    /// The database that a URL names.
    ///
    /// # Errors
    /// [`BenchError::Server`]: a URL that cannot be used, or without a database.
    pub fn database(text: &str) -> Result<Endpoint, BenchError> {
        let endpoint = Endpoint::parse(text)?;
        match endpoint.url.path().trim_matches('/').is_empty() {
            true => Err(BenchError::Server {
                url: endpoint.base,
                reason: "it names no database, as http://HOST:PORT/DATABASE does".to_owned(),
            }),
            false => Ok(endpoint),
        }
    }

    /// The server of a URL, which may name a database.
    ///
    /// # Errors
    /// [`BenchError::Server`]: a URL that cannot be used.
    pub fn server(text: &str) -> Result<Endpoint, BenchError> {
        let mut endpoint = Endpoint::parse(text)?;
        endpoint.url.set_path("");
        endpoint.base = endpoint.url.as_str().trim_end_matches('/').to_owned();
        Ok(endpoint)
    }

    fn parse(text: &str) -> Result<Endpoint, BenchError> {
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
        let login = (!url.username().is_empty()).then(|| {
            let words = format!(
                "{}:{}",
                percent_decoded(url.username()),
                percent_decoded(url.password().unwrap_or(""))
            );
            format!("Basic {}", BASE64_STANDARD.encode(words))
        });
        // These fail for URLs without a host only.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        url.set_query(None);
        url.set_fragment(None);
        Ok(Endpoint {
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
        local_port(&self.url)
    }

    /// The same with a path behind it.
    pub fn child(&self, name: &str) -> Endpoint {
        Endpoint {
            base: format!("{}/{name}", self.base),
            ..self.clone()
        }
    }

    /// Name and version in the header `Server`.
    pub fn server_name(&self, agent: &Agent) -> Result<String, BenchError> {
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

    /// An error about this server.
    pub fn failed(&self, reason: String) -> BenchError {
        BenchError::Server {
            url: self.base.clone(),
            reason,
        }
    }

    /// Sends a request; an answer of any status is no error. `path` begins with a slash, or is empty.
    pub fn send(
        &self,
        agent: &Agent,
        (method, path): (&str, &str),
        body: &[u8],
    ) -> Result<Answer, BenchError> {
        let failed = |error: ureq::Error| self.failed(error.to_string());
        let url = format!("{}{path}", self.base);
        let login = self.login.as_deref().map(|login| ("authorization", login));
        let answer = match method {
            "GET" | "DELETE" => {
                let mut request = match method {
                    "GET" => agent.get(&url),
                    _ => agent.delete(&url),
                };
                if let Some((name, login)) = login {
                    request = request.header(name, login);
                }
                request.call()
            }
            _ => {
                let mut request = match method {
                    "PUT" => agent.put(&url),
                    _ => agent.post(&url),
                };
                request = request.header("content-type", "application/json");
                if let Some((name, login)) = login {
                    request = request.header(name, login);
                }
                request.send(body)
            }
        };
        let mut answer = answer.map_err(failed)?;
        let status = answer.status().as_u16();
        let config = answer.body_mut().with_config();
        let body = config.limit(LONGEST_ANSWER).read_to_vec();
        Ok(Answer {
            status,
            body: body.map_err(failed)?,
        })
    }

    /// As [`Endpoint::send`]; fails unless the status says that it was done.
    pub fn expect(
        &self,
        agent: &Agent,
        (method, path): (&str, &str),
        body: &[u8],
    ) -> Result<Vec<u8>, BenchError> {
        let answer = self.send(agent, (method, path), body)?;
        match answer.status {
            200..300 => Ok(answer.body),
            status => Err(self.failed(format!("{method} {path} is answered with {status}"))),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_apart_and_its_login_is_not_shown() {
        let target = Endpoint::database("http://ann:p%40ss@127.0.0.1:5984/db/?x=1").unwrap();
        assert_eq!(target.shown(), "http://127.0.0.1:5984/db");
        assert_eq!(target.login.as_deref(), Some("Basic YW5uOnBAc3M="));
        assert_eq!(target.local_port(), Some(5984));
        assert_eq!(target.child("a").shown(), "http://127.0.0.1:5984/db/a");
        let far = Endpoint::database("http://example.org/db").unwrap();
        assert_eq!((far.local_port(), far.login), (None, None));
        let server = Endpoint::server("http://ann:x@localhost:5984/db").unwrap();
        assert_eq!(server.shown(), "http://localhost:5984");
        for wrong in [
            "https://localhost/db",
            "http://localhost:5984",
            "db",
            "file:///db",
        ] {
            assert!(
                matches!(Endpoint::database(wrong), Err(BenchError::Server { .. })),
                "{wrong}"
            );
        }
    }
}
