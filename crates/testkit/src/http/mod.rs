//! A small blocking HTTP/1.1 client: one connection kept open, chunked answers, basic login.
//!
//! The server is built on another one, so that a mistake in framing cannot cancel itself out.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

mod answer_form;
mod proxy;
mod stream;

pub use answer_form::AnswerForm;
pub use proxy::{Fault, Proxy};
pub use stream::Stream;
use stream::{Framing, read_head};

/// Longest wait for the next byte of an answer: a server that hangs fails its test.
const READ_TIMEOUT: Duration = Duration::from_secs(120);

/// A client of one address, such as `127.0.0.1:5984`.
#[derive(Debug)]
pub struct Client {
    address: String,
    headers: Vec<(String, String)>,
    connection: Option<BufReader<TcpStream>>,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Answer {
    /// Status code of the answer's first line.
    pub status: u16,
    /// Headers in order; names in lower case.
    pub headers: Vec<(String, String)>,
    /// Body with any chunking taken off.
    pub body: Vec<u8>,
}

impl Answer {
    /// First header of that name (given in lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(n, _)| n == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Body as JSON; panics with the body if it is not.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|e| panic!("not JSON ({e}): {} {}", self.status, self.text()))
    }

    /// The answer itself if its status is `status`; panics with the body if not.
    #[track_caller]
    pub fn expect_status(self, status: u16) -> Answer {
        assert_eq!(self.status, status, "answer: {}", self.text());
        self
    }
}

impl Client {
    /// A client without a login. Connects at the first request.
    pub fn new(address: &str) -> Client {
        Client {
            address: address.to_owned(),
            headers: Vec::new(),
            connection: None,
        }
    }

    /// Sends this header with every request from now on.
    pub fn with_header(mut self, name: &str, value: &str) -> Client {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Logs in with every request from now on.
    pub fn with_basic(self, name: &str, password: &str) -> Client {
        let token = STANDARD.encode(format!("{name}:{password}"));
        self.with_header("Authorization", &format!("Basic {token}"))
    }

    /// Sends a request and reads the whole answer.
    ///
    /// # Errors
    /// When the connection breaks, for example because the server was killed. A kept connection
    /// that the server had closed meanwhile is opened anew once, if nothing of an answer had come.
    pub fn request(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<Answer> {
        let kept = self.connection.is_some();
        let mut stream = self.send(method, path, headers, body);
        let idle_close = |e: &io::Error| {
            use io::ErrorKind::{BrokenPipe, ConnectionReset, UnexpectedEof};
            matches!(e.kind(), BrokenPipe | ConnectionReset | UnexpectedEof)
        };
        if kept && stream.as_ref().is_err_and(idle_close) {
            stream = self.send(method, path, headers, body);
        }
        let mut stream = stream?;
        let mut bytes = Vec::new();
        if method != "HEAD" {
            stream.read_to_end(&mut bytes)?;
        }
        let Stream {
            status,
            headers,
            connection,
            framing,
        } = stream;
        let answer = Answer {
            status,
            headers,
            body: bytes,
        };
        let closing = answer.header("connection").is_some_and(|v| v == "close");
        if !closing && !matches!(framing, Framing::ToEnd) {
            self.connection = Some(connection);
        }
        Ok(answer)
    }

    /// Sends a request and returns as soon as the head of the answer is there, for feeds.
    ///
    /// # Errors
    /// When the connection breaks or the answer is not HTTP.
    pub fn send(
        &mut self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> io::Result<Stream> {
        let mut connection = match self.connection.take() {
            Some(open) => open,
            None => {
                let stream = TcpStream::connect(&self.address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(READ_TIMEOUT))?;
                BufReader::with_capacity(64 << 10, stream)
            }
        };
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.address);
        let own = self.headers.iter().map(|(n, v)| (n.as_str(), v.as_str()));
        for (name, value) in own.chain(headers.iter().copied()) {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        let mut whole = head.into_bytes();
        whole.extend_from_slice(body);
        connection.get_mut().write_all(&whole)?;
        let (status, headers) = read_head(&mut connection)?;
        let framing = Framing::of(status, &headers)?;
        Ok(Stream {
            status,
            headers,
            connection,
            framing,
        })
    }

    /// GET; panics if the connection breaks.
    pub fn get(&mut self, path: &str) -> Answer {
        self.must("GET", path, &[], b"")
    }

    /// DELETE; panics if the connection breaks.
    pub fn delete(&mut self, path: &str) -> Answer {
        self.must("DELETE", path, &[], b"")
    }

    /// PUT of JSON (`Value::Null` sends no body); panics if the connection breaks.
    pub fn put(&mut self, path: &str, body: &Value) -> Answer {
        self.must_json("PUT", path, body)
    }

    /// POST of JSON; panics if the connection breaks.
    pub fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.must_json("POST", path, body)
    }

    fn must_json(&mut self, method: &str, path: &str, body: &Value) -> Answer {
        if body.is_null() {
            return self.must(method, path, &[], b"");
        }
        let json = [("Content-Type", "application/json")];
        self.must(method, path, &json, body.to_string().as_bytes())
    }

    fn must(&mut self, method: &str, path: &str, h: &[(&str, &str)], body: &[u8]) -> Answer {
        self.request(method, path, h, body)
            .unwrap_or_else(|e| panic!("{method} {path}: {e}"))
    }
}

#[cfg(test)]
mod tests {
    use super::stream::read_line;
    use super::*;
    use std::net::TcpListener;

    /// A server that answers every connection's requests with the same bytes.
    fn serve(answers: &'static [&'static [u8]]) -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            for answer in answers {
                let mut head = BufReader::new(stream.try_clone().unwrap());
                while !read_line(&mut head).unwrap().is_empty() {}
                stream.write_all(answer).unwrap();
            }
        });
        Client::new(&address)
    }

    #[test]
    fn lengths_chunks_and_kept_connections_are_read() {
        let mut client = serve(&[
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Made\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab\ncd\r\n1\r\n!\r\n0\r\n\r\n",
            b"HTTP/1.1 304 Same\r\nETag: \"x\"\r\n\r\n",
            b"HTTP/1.1 404 Not\r\n\r\n{\"to\":\"end\"}",
        ]);
        assert_eq!(client.get("/").expect_status(200).body, b"hi");
        assert_eq!(client.get("/").expect_status(201).body, b"ab\ncd!");
        assert_eq!(client.get("/").header("etag"), Some("\"x\""));
        assert_eq!(client.get("/").json()["to"], "end");
    }

    #[test]
    fn a_cut_answer_is_an_error() {
        let mut client = serve(&[b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\nhi"]);
        assert!(client.request("GET", "/", &[], b"").is_err());
    }
}
