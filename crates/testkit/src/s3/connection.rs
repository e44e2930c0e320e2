//! HTTP/1.1 for one connection.

use super::operations::{Answer, answer};
use super::{BucketState, Fault};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::Weak;

/// One request.
pub(super) struct Request {
    pub method: String,
    /// Path and query, as they came.
    pub target: String,
    /// Names in lower case.
    pub headers: HashMap<String, String>,
    pub body: Vec<u8>,
}

impl Request {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// Answers until the client or the server goes.
pub(super) fn serve(client: TcpStream, state: &Weak<Mutex<BucketState>>) {
    let mut reader = BufReader::new(client);
    while let Ok(Some(request)) = read(&mut reader) {
        let Some(state) = state.upgrade() else { break };
        let fault = next_fault(&mut state.lock(), &request);
        let answered = match fault {
            Some(Fault::LoseRequest) => break,
            Some(Fault::Refuse(status, code)) => Answer::error(status, code),
            Some(Fault::Answer(bytes)) => Answer::of(200, bytes.to_vec()),
            Some(Fault::LoseAnswer | Fault::Cut(_)) | None => answer(&mut state.lock(), &request),
        };
        let sent = match fault {
            Some(Fault::LoseAnswer) => break,
            Some(Fault::Cut(bytes)) => write(reader.get_mut(), &request, &answered, bytes),
            _ => write(reader.get_mut(), &request, &answered, usize::MAX),
        };
        if sent.is_err() || matches!(fault, Some(Fault::Cut(_))) {
            break;
        }
    }
}

fn next_fault(state: &mut BucketState, request: &Request) -> Option<Fault> {
    let path = request.target.split('?').next().unwrap_or_default();
    state.seen.push(format!("{} {path}", request.method));
    let mut of_method = state.faults.iter_mut();
    of_method.find_map(|(method, faults)| match *method == request.method {
        true => faults.pop_front(),
        false => None,
    })
}

/// `None` at the end of the connection.
fn read(reader: &mut BufReader<TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let mut word = || words.next().unwrap_or_default().to_owned();
    let (method, target) = (word(), word());
    let mut headers = HashMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|it| it.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body)?;
    Ok(Some(Request {
        method,
        target,
        headers,
        body,
    }))
}

/// Sends the head and at most `most` bytes of the body.
fn write(
    client: &mut TcpStream,
    request: &Request,
    answer: &Answer,
    most: usize,
) -> io::Result<()> {
    let mut out = format!(
        "HTTP/1.1 {} Fake\r\nETag: \"etag\"\r\nLast-Modified: Fri, 01 Aug 2025 12:00:00 GMT\r\nContent-Length: {}\r\n",
        answer.status,
        answer.body.len()
    )
    .into_bytes();
    if let Some(range) = &answer.range {
        out.extend(format!("Content-Range: {range}\r\n").bytes());
    }
    out.extend(b"\r\n");
    if request.method != "HEAD" {
        out.extend(&answer.body[..answer.body.len().min(most)]);
    }
    client.write_all(&out)
}
