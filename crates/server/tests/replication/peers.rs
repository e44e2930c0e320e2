//! Peers that misbehave.

use super::{ask, get, put_docs, replicate, url};
use crate::client::Running;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// Behaviour of a peer between client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Answers with this status and header, and passes nothing on.
    Answer(u16, &'static str),
    /// Answers 200 with this JSON, and passes nothing on.
    Json(&'static str),
    /// Passes the request on, and closes the connection within the answer.
    Cut(usize),
    None,
}

/// Passes requests on to a server, but for some, of a connection each.
struct Proxy {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// `fault` gets the first line of each request and how many of the same path there were before.
    fn start(
        server: &Running,
        fault: impl Fn(&str, usize) -> Fault + Send + Sync + 'static,
    ) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (address, to) = (listener.local_addr().unwrap(), server.address);
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
        Proxy { address, seen }
    }

    fn url(&self, database: &str) -> String {
        format!("http://adm:pass@{}/{database}", self.address)
    }

    fn count(&self, part: &str) -> usize {
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
    let mut reader = BufReader::new(client.try_clone()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let start = head.len();
        if reader.read_line(&mut head)? == 0 {
            return Ok(());
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
    let first = head.lines().next().unwrap_or_default().to_owned();
    let path = first.split('?').next().unwrap_or_default().to_owned();
    let before = {
        let mut seen = seen.lock().unwrap();
        let before = seen.iter().filter(|line| line.starts_with(&path)).count();
        seen.push(first.clone());
        before
    };
    let mut client = client;
    let mut limit = usize::MAX;
    match fault(&first, before) {
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
        Fault::None => {}
    }
    let mut server = TcpStream::connect(to)?;
    let head = head.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    server.write_all(head.as_bytes())?;
    server.write_all(&body)?;
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

fn source(count: usize) -> Running {
    let server = Running::start();
    assert_eq!(ask(&server, "PUT", "/a", &Value::Null).0, 201);
    let docs: Vec<Value> = (0..count)
        .map(|n| json!({"_id": n.to_string(), "text": "x".repeat(200)}))
        .collect();
    put_docs(&server, "a", &json!(docs));
    server
}

fn pull(from: &Proxy, into: &Running) -> (u16, Value) {
    let answer = replicate(
        into,
        &from.url("a"),
        &url(into, "b"),
        &json!({"create_target": true}),
    );
    assert_eq!(answer.0, 200, "{}", answer.1);
    answer
}

#[test]
fn a_source_without_bulk_get_is_read_document_by_document() {
    let (server, into) = (source(30), Running::start());
    let proxy = Proxy::start(&server, |line, _| match line.contains("_bulk_get") {
        true => Fault::Answer(404, ""),
        false => Fault::None,
    });
    let (_, answer) = pull(&proxy, &into);
    assert_eq!(answer["history"][0]["docs_written"], 30, "{answer}");
    assert_eq!(proxy.count("_bulk_get"), 1);
    assert_eq!(super::leaves(&server, "a"), super::leaves(&into, "b"));
}

#[test]
fn answers_that_are_cut_and_refusals_that_may_pass_are_asked_for_again() {
    let (server, into) = (source(300), Running::start());
    let calls = AtomicUsize::new(0);
    let proxy = Proxy::start(&server, move |_, before| match before {
        0 => match calls.fetch_add(1, Ordering::SeqCst) % 4 {
            0 => Fault::Answer(503, "retry-after: 0\r\n"),
            1 => Fault::Cut(300),
            2 => Fault::Answer(429, "retry-after: 0\r\n"),
            _ => Fault::Cut(0),
        },
        _ => Fault::None,
    });
    let (_, answer) = pull(&proxy, &into);
    assert_eq!(answer["history"][0]["docs_written"], 300, "{answer}");
    assert_eq!(super::leaves(&server, "a"), super::leaves(&into, "b"));
}

#[test]
fn redirects_are_followed_and_another_host_gets_no_password() {
    let (server, into) = (source(5), Running::start());
    let target = format!("location: http://{}/a/\r\n", server.address);
    let header: &'static str = Box::leak(target.into_boxed_str());
    let proxy = Proxy::start(&server, move |line, _| {
        match line.starts_with("GET /moved/ ") {
            true => Fault::Answer(302, header),
            false => Fault::None,
        }
    });
    let moved = proxy.url("moved");
    let (status, answer) = replicate(
        &into,
        &moved,
        &url(&into, "b"),
        &json!({"create_target": true}),
    );
    assert_eq!(
        (status, &answer["error"]),
        (401, &json!("unauthorized")),
        "{answer}"
    );
    assert_eq!(get(&into, "/b")["error"], "not_found");
}

#[test]
fn a_peer_that_never_answers_as_couchdb_ends_the_run() {
    let (server, into) = (source(1), Running::start());
    let proxy = Proxy::start(&server, |line, _| match line.contains("_changes") {
        true => Fault::Answer(200, ""),
        false => Fault::None,
    });
    let (status, answer) = replicate(
        &into,
        &proxy.url("a"),
        &url(&into, "b"),
        &json!({"create_target": true}),
    );
    assert_eq!(
        (status, &answer["error"]),
        (500, &json!("replication_error")),
        "{answer}"
    );
    assert!(
        answer["reason"]
            .as_str()
            .unwrap()
            .contains("without results"),
        "{answer}"
    );
}

#[test]
fn ids_of_a_source_lead_to_nothing_but_documents() {
    let (server, into) = (source(1), Running::start());
    let open =
        json!({"admins": {"names": ["eve"], "roles": []}, "members": {"names": [], "roles": []}});
    assert_eq!(ask(&server, "PUT", "/a/_security", &open).0, 200);
    let proxy = Proxy::start(&server, |line, _| {
        if line.contains("_bulk_get") {
            Fault::Answer(404, "")
        } else if line.contains("_changes") {
            Fault::Json(
                r#"{"results":[
                    {"seq":1,"id":"_security","changes":[{"rev":"1-a"}]},
                    {"seq":2,"id":"..","changes":[{"rev":"1-a"}]},
                    {"seq":3,"id":"_design/..","changes":[{"rev":"1-a"}]},
                    {"seq":4,"id":"x","changes":[{"rev":"1-a"}]}],"last_seq":4,"pending":0}"#,
            )
        } else if line.contains("/a/x?") {
            Fault::Json(r#"{"_id":"x","_rev":"1-a","_revisions":{"start":1,"ids":["a"]}}"#)
        } else {
            Fault::None
        }
    });
    assert_eq!(ask(&into, "PUT", "/b", &Value::Null).0, 201);
    let before = get(&into, "/b/_security");
    let (status, answer) = replicate(&into, &proxy.url("a"), &url(&into, "b"), &json!({}));
    assert_eq!(get(&into, "/b/_security"), before, "{answer}");
    assert_eq!(status, 200, "{answer}");
    let entry = &answer["history"][0];
    assert_eq!(
        (&entry["docs_written"], &entry["doc_write_failures"]),
        (&json!(1), &json!(3)),
        "{answer}"
    );
    assert_eq!(get(&into, "/b/x")["_rev"], "1-a");
    assert_eq!(proxy.count("/a/_security"), 0);
}

#[test]
fn a_source_whose_sequence_stands_still_ends_the_run() {
    let (server, into) = (source(1), Running::start());
    let proxy = Proxy::start(&server, |line, _| match line.contains("_changes") {
        true => Fault::Json(
            r#"{"results":[{"seq":0,"id":"x","changes":[{"rev":"1-a"}]}],"last_seq":0}"#,
        ),
        false => Fault::None,
    });
    let more = json!({"create_target": true});
    let (status, answer) = replicate(&into, &proxy.url("a"), &url(&into, "b"), &more);
    assert_eq!(status, 500, "{answer}");
    assert!(
        answer["reason"].to_string().contains("stands still"),
        "{answer}"
    );
    assert_eq!(proxy.count("_changes"), 1);
}
