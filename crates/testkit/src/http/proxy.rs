//! A proxy that misbehaves: it answers, cuts and refuses as a test says.

use super::answer_form::AnswerForm;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A mistake that a peer between client and server makes with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Answers with this status and header, and passes nothing on.
    Answer(u16, &'static str),
    /// Answers 200 with this JSON, and passes nothing on.
    Json(&'static str),
    /// Passes the request on, and closes the connection after so many bytes of the answer.
    Cut(usize),
    /// Passes the request on with this header, such as `authorization: …`, in the place of its cookie.
    LogIn(&'static str),
    /// Passes the request on, and the answer in another form.
    As(AnswerForm),
    /// Passes the request on.
    None,
}

/// Passes requests on to a server, but for some, of a connection each.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    login: &'static str,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Stands in front of the server at `to`, whose users log in with `login`, such as `name:password`. `fault` gets the
    /// first line of each request and how many of the same path there were before. Requests for sessions pass.
    #[must_use]
    pub fn start(
        to: SocketAddr,
        login: &'static str,
        fault: impl Fn(&str, usize) -> Fault + Send + Sync + 'static,
    ) -> Proxy {
        Proxy::start_seeing(to, login, move |head, before| {
            let line = head.lines().next().unwrap_or_default();
            match line.contains("/_session ") {
                true => Fault::None,
                false => fault(line, before),
            }
        })
    }

    /// The same with the whole head of each request.
    #[must_use]
    pub fn start_seeing(
        to: SocketAddr,
        login: &'static str,
        fault: impl Fn(&str, usize) -> Fault + Send + Sync + 'static,
    ) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::<Mutex<Vec<String>>>::default();
        let (lines, fault) = (Arc::clone(&seen), Arc::new(fault));
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (lines, fault) = (Arc::clone(&lines), Arc::clone(&fault));
                std::thread::spawn(move || {
                    let _ = pass_on(client.unwrap(), to, &lines, &*fault);
                });
            }
        });
        Proxy {
            address,
            login,
            seen,
        }
    }

    /// URL of a database, or of the server if the name is empty, with the login.
    pub fn url(&self, database: &str) -> String {
        format!("http://{}@{}/{database}", self.login, self.address)
    }

    /// How many requests had this in their first line.
    pub fn count(&self, part: &str) -> usize {
        self.seen
            .lock()
            .unwrap()
            .iter()
            .filter(|line| line.contains(part))
            .count()
    }
}

fn pass_on(
    client: TcpStream,
    to: SocketAddr,
    seen: &Mutex<Vec<String>>,
    fault: &dyn Fn(&str, usize) -> Fault,
) -> std::io::Result<()> {
    let Some((mut head, body)) = read_request(&mut BufReader::new(client.try_clone()?))? else {
        return Ok(());
    };
    let first = head.lines().next().unwrap_or_default().to_owned();
    let path = first.split('?').next().unwrap_or_default().to_owned();
    let before = {
        let mut seen = seen.lock().unwrap();
        let before = seen.iter().filter(|line| line.starts_with(&path)).count();
        seen.push(first.clone());
        before
    };
    let mut client = client;
    let (mut limit, mut form) = (usize::MAX, None);
    match fault(&head, before) {
        Fault::Answer(status, header) => {
            let answer = format!(
                "HTTP/1.1 {status} Fault\r\n{header}content-length: 2\r\nconnection: close\r\n\r\n{{}}"
            );
            client.write_all(answer.as_bytes())?;
            return client.shutdown(Shutdown::Both);
        }
        Fault::Json(body) => {
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
                 connection: close\r\n\r\n{body}"
            );
            client.write_all(answer.as_bytes())?;
            return client.shutdown(Shutdown::Both);
        }
        Fault::Cut(at) => limit = at,
        Fault::LogIn(header) => {
            let lines = head.split_inclusive("\r\n");
            let others = lines.filter(|line| !line.to_ascii_lowercase().starts_with("cookie:"));
            let others: String = others.collect();
            head = others.replacen("\r\n", &format!("\r\n{header}\r\n"), 1);
        }
        Fault::As(other) => {
            head = other.request(&head);
            form = Some(other);
        }
        Fault::None => {}
    }
    let mut server = TcpStream::connect(to)?;
    let head = head.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    server.write_all(head.as_bytes())?;
    server.write_all(&body)?;
    if let Some(form) = form {
        let path = path.split(' ').nth(1).unwrap_or_default();
        form.answer(path, server, &mut client)?;
        return client.shutdown(Shutdown::Both);
    }
    let mut buffer = [0; 4096];
    while limit > 0 {
        let count = server.read(&mut buffer)?.min(limit);
        if count == 0 {
            break;
        }
        limit -= count;
        client.write_all(&buffer[..count])?;
    }
    client.shutdown(Shutdown::Both)
}

/// The head of a request and its body; `None` if the client has left.
fn read_request(reader: &mut impl BufRead) -> std::io::Result<Option<(String, Vec<u8>)>> {
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let start = head.len();
        if reader.read_line(&mut head)? == 0 {
            return Ok(None);
        }
        let line = head[start..].to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let lower = head.to_ascii_lowercase();
    if lower.contains("\r\ntransfer-encoding: chunked") {
        read_chunked(reader, &mut body)?;
    }
    Ok(Some((head, body)))
}

/// Reads a body in chunks as it stands, with the lengths.
fn read_chunked(reader: &mut impl BufRead, body: &mut Vec<u8>) -> std::io::Result<()> {
    loop {
        let start = body.len();
        reader.read_until(b'\n', body)?;
        let line = String::from_utf8_lossy(&body[start..]).trim().to_owned();
        let length = usize::from_str_radix(&line, 16).unwrap();
        let start = body.len();
        body.resize(start + length + 2, 0);
        reader.read_exact(&mut body[start..])?;
        if length == 0 {
            return Ok(());
        }
    }
}
