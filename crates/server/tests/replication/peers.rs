//! Peers that misbehave.

use super::{ask, get, put_docs, replicate, url};
use crate::client::Running;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What a peer between client and server does with a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// Answers with this status and header, and passes nothing on.
    Answer(u16, &'static str),
    /// Answers 200 with this JSON, and passes nothing on.
    Json(&'static str),
    /// Passes the request on, and closes the connection within the answer.
    Cut(usize),
    /// Passes the request on with the admin's password in the place of its cookie.
    LogIn,
    None,
}

/// Passes requests on to a server, but for some, of a connection each.
struct Proxy {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// `fault` gets the first line of each request and how many of the same path there were before. Requests for sessions
    /// pass.
    fn start(
        server: &Running,
        fault: impl Fn(&str, usize) -> Fault + Send + Sync + 'static,
    ) -> Proxy {
        Proxy::start_seeing(server, move |head, before| {
            let line = head.lines().next().unwrap_or_default();
            match line.contains("/_session ") {
                true => Fault::None,
                false => fault(line, before),
            }
        })
    }

    /// The same with the whole head of each request.
    fn start_seeing(
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
    let mut limit = usize::MAX;
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
        Fault::LogIn => {
            let lines = head.split_inclusive("\r\n");
            let others = lines.filter(|line| !line.to_ascii_lowercase().starts_with("cookie:"));
            let (name, value) = super::ADMIN;
            head =
                others
                    .collect::<String>()
                    .replacen("\r\n", &format!("\r\n{name}: {value}\r\n"), 1);
        }
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
    if head
        .to_ascii_lowercase()
        .contains("\r\ntransfer-encoding: chunked")
    {
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

/// A peer that takes cookies in the place of passwords, and whose sessions end after some requests each.
#[test]
fn a_session_that_expires_is_begun_anew() {
    let (server, into) = (source(1200), Running::start());
    for n in 0..12 {
        let path = format!(
            "/a/{n}/f?rev={}",
            get(&server, &format!("/a/{n}"))["_rev"].as_str().unwrap()
        );
        assert_eq!(
            server
                .send(
                    "PUT",
                    &path,
                    &[super::ADMIN, ("content-type", "a/b")],
                    "data"
                )
                .status,
            201
        );
    }
    // How often each cookie was used.
    let sessions = Mutex::new(Vec::<usize>::new());
    let proxy = Proxy::start_seeing(&server, move |head, _| {
        let mut sessions = sessions.lock().unwrap();
        if head.contains("/_session ") {
            let cookie = format!("set-cookie: AuthSession=s{}; HttpOnly\r\n", sessions.len());
            sessions.push(0);
            return Fault::Answer(200, Box::leak(cookie.into_boxed_str()));
        }
        let number = head.split("AuthSession=s").nth(1).and_then(|rest| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse::<usize>().ok()
        });
        match number.and_then(|number| sessions.get_mut(number)) {
            Some(used) if *used < 8 => {
                *used += 1;
                Fault::LogIn
            }
            _ => Fault::Answer(401, ""),
        }
    });
    let more = json!({"create_target": true, "worker_batch_size": 100});
    let (status, answer) = replicate(&into, &proxy.url("a"), &url(&into, "b"), &more);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["history"][0]["docs_written"], 1200, "{answer}");
    assert_eq!(super::leaves(&server, "a"), super::leaves(&into, "b"));
    assert!(
        proxy.count("POST /_session") > 3,
        "{}",
        proxy.count("POST /_session")
    );
    // The other way round, documents with attachments are streams that cannot be sent twice.
    let (status, answer) = replicate(&into, &url(&into, "b"), &proxy.url("c"), &more);
    assert_eq!(status, 200, "{answer}");
    let entry = &answer["history"][0];
    assert_eq!(
        (&entry["docs_written"], &entry["doc_write_failures"]),
        (&json!(1200), &json!(0)),
        "{answer}"
    );
    assert_eq!(super::leaves(&server, "a"), super::leaves(&server, "c"));
}

#[test]
fn a_peer_without_sessions_gets_the_password() {
    for (status, header) in [(404, ""), (405, ""), (500, ""), (200, "")] {
        let (server, into) = (source(20), Running::start());
        let proxy = Proxy::start_seeing(&server, move |head, _| {
            if head.contains("/_session") {
                return Fault::Answer(status, header);
            }
            match head
                .to_ascii_lowercase()
                .contains("\r\nauthorization: basic ")
            {
                true => Fault::None,
                false => Fault::Answer(401, ""),
            }
        });
        let (_, answer) = pull(&proxy, &into);
        assert_eq!(answer["history"][0]["docs_written"], 20, "{answer}");
        assert_eq!(proxy.count("POST /_session"), 1, "asked once: {status}");
    }
    // Cookies that do not count are not asked for again and again.
    let (server, into) = (source(20), Running::start());
    let proxy = Proxy::start_seeing(&server, |head, _| {
        let is_session = head.contains("/_session");
        match is_session
            || head
                .to_ascii_lowercase()
                .contains("\r\nauthorization: basic ")
        {
            true => Fault::None,
            false => Fault::Answer(401, ""),
        }
    });
    let (_, answer) = pull(&proxy, &into);
    assert_eq!(answer["history"][0]["docs_written"], 20, "{answer}");
    assert_eq!(proxy.count("POST /_session"), 1);
    // Without the plugin, nothing asks for a session.
    let plain = Running::start_with("[replicator]\nauth_plugins = couch_replicator_auth_noop\n");
    pull(&proxy, &plain);
    assert_eq!(proxy.count("POST /_session"), 1);
}
