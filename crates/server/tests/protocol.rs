//! HTTP itself: connections, HEAD, methods, headers that all answers have.

use crate::client::{ADMIN, Connection, Running};
use std::io::{Read, Write};
use std::net::TcpStream;

#[test]
fn one_connection_serves_many_requests() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    for _ in 0..3 {
        let reply = connection.send("GET", "/_up", &[], "");
        assert_eq!(reply.status, 200);
        assert_eq!(reply.body, "{\"status\":\"ok\",\"seeds\":{}}\n");
        assert_eq!(reply.header("cache-control"), Some("must-revalidate"));
        assert_eq!(reply.header("x-couch-request-id").unwrap().len(), 10);
        assert!(reply.header("server").unwrap().starts_with("Varve/"));
    }
    let head = connection.send("HEAD", "/_up", &[], "");
    assert_eq!(
        (head.status, head.header("content-length")),
        (200, Some("27"))
    );
    assert_eq!(connection.send("GET", "/_up", &[], "").status, 200);
}

#[test]
fn bad_requests_are_told_what_is_wrong() {
    let server = Running::start();
    let nothing = server.get("/nothing/here");
    assert_eq!(nothing.status, 404);
    assert!(nothing.body.contains("\"not_found\""), "{}", nothing.body);
    let claim = [("content-length", "9999999999")];
    let large = server.send("POST", "/_up", &claim, "");
    assert_eq!(
        large.status, 413,
        "unauthenticated clients cannot send much: {}",
        large.body
    );
    assert!(std::fs::read_dir(server.directory.path()).is_ok());
}

#[test]
fn a_body_that_was_asked_for_stays_as_it_is() {
    let server = Running::start();
    assert_eq!(server.send("PUT", "/db", &[ADMIN], "").status, 201);
    let text = "WHAT? \"This\" looks like a request line.";
    let mut socket = TcpStream::connect(server.address).unwrap();
    let head = format!(
        "PUT /db/doc/text HTTP/1.1\r\nhost: varve.test\r\n{}: {}\r\ncontent-type: text/x\r\n\
         content-length: {}\r\nexpect: 100-continue\r\nconnection: close\r\n\r\n",
        ADMIN.0,
        ADMIN.1,
        text.len()
    );
    socket.write_all(head.as_bytes()).unwrap();
    let mut go_on = [0; 25];
    socket.read_exact(&mut go_on).unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    socket.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    socket.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    assert_eq!(server.send("GET", "/db/doc/text", &[ADMIN], "").body, text);
}

/// Clients may send requests before they have the answers to those before; answers come in the order of the requests.
#[test]
fn requests_may_follow_each_other_without_waiting() {
    let server = Running::start();
    server.send("PUT", "/db", &[ADMIN], "");
    let mut socket = TcpStream::connect(server.address).unwrap();
    let mut all = String::new();
    for n in 0..50 {
        let body = format!(r#"{{"n":{n}}}"#);
        all += &format!(
            "PUT /db/d{n:02} HTTP/1.1\r\nhost: varve.test\r\n{}: {}\r\ncontent-length: {}\r\n\r\n{body}",
            ADMIN.0,
            ADMIN.1,
            body.len()
        );
        all += &format!(
            "GET /db/d{n:02} HTTP/1.1\r\nhost: varve.test\r\n{}: {}\r\n\r\n",
            ADMIN.0, ADMIN.1
        );
    }
    all += "GET /_up HTTP/1.1\r\nhost: varve.test\r\nconnection: close\r\n\r\n";
    let mut sending = socket.try_clone().unwrap();
    let writer = std::thread::spawn(move || sending.write_all(all.as_bytes()).unwrap());
    let mut answers = String::new();
    socket.read_to_string(&mut answers).unwrap();
    writer.join().unwrap();
    let statuses = answers.match_indices("HTTP/1.1 ");
    let statuses: Vec<&str> = statuses
        .map(|(at, found)| &answers[at + found.len()..][..3])
        .collect();
    let expected: Vec<&str> = ["201", "200"]
        .repeat(50)
        .into_iter()
        .chain(["200"])
        .collect();
    assert_eq!(statuses, expected);
    let read: Vec<usize> = (0..50)
        .filter_map(|n| answers.find(&format!(r#""n":{n}}}"#)))
        .collect();
    assert!(read.len() == 50 && read.is_sorted(), "{read:?}");
}
