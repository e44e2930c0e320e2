//! Limits for clients that are too many or too slow.

use crate::client::{ADMIN, Connection, Reply, Running};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Until then something must have happened; it takes a few seconds.
const DEADLINE: Duration = Duration::from_secs(120);

const BYTES: (&str, &str) = ("content-type", "application/octet-stream");

fn connect(server: &Running) -> TcpStream {
    let socket = TcpStream::connect(server.address).unwrap();
    socket.set_read_timeout(Some(DEADLINE)).unwrap();
    socket
}

/// All that the server sends before it closes the connection.
fn read_to_end(mut socket: TcpStream) -> String {
    let mut text = Vec::new();
    match socket.read_to_end(&mut text) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::ConnectionReset => {}
        Err(error) => panic!("the connection stays open: {error}"),
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Tries until the server has room for one more connection.
fn wait_for_room(server: &Running) {
    let begun = Instant::now();
    while server.get("/_up").status != 200 {
        assert!(begun.elapsed() < DEADLINE, "no connection was closed");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn put(server: &Running, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
    server.send("PUT", path, &[&[ADMIN], headers].concat(), body)
}

fn assert_refused(reply: &Reply, reason: &str) {
    assert_eq!(reply.status, 503);
    assert_eq!(reply.header("retry-after"), Some("1"));
    let expected = format!("{{\"error\":\"service_unavailable\",\"reason\":\"{reason}\"}}\n");
    assert_eq!(reply.body, expected);
}

#[test]
fn a_connection_too_many_is_refused_until_another_one_ends() {
    for setting in [
        "[chttpd]\nmax_connections = 2",
        "[limits]\nconnections_per_address = 2",
    ] {
        let server = Running::start_with(setting);
        let mut held = [(); 2].map(|()| Connection::open(server.address));
        for connection in &mut held {
            assert_eq!(connection.send("GET", "/_up", &[], "").status, 200);
        }
        let refused = server.get("/_up");
        assert_refused(&refused, "too many connections");
        assert_eq!(refused.header("connection"), Some("close"));
        for connection in &mut held {
            assert_eq!(connection.send("GET", "/_up", &[], "").status, 200);
        }
        drop(held);
        wait_for_room(&server);
    }
}

#[test]
fn a_query_too_many_is_refused_and_other_requests_are_not() {
    let server = Running::start_with("[limits]\nqueries = 1\n[views]\ncompile = false\n");
    assert_eq!(put(&server, "/d", &[], "").status, 201);
    let map = "function (doc) { var end = Date.now() + 3000; while (Date.now() < end); emit(1) }";
    let design = format!("{{\"views\":{{\"v\":{{\"map\":\"{map}\"}}}}}}");
    assert_eq!(put(&server, "/d/_design/s", &[], &design).status, 201);
    assert_eq!(put(&server, "/d/a", &[], "{}").status, 201);
    let query = "/d/_design/s/_view/v";
    let waiting = {
        let address = server.address;
        std::thread::spawn(move || Connection::open(address).send("GET", query, &[ADMIN], ""))
    };
    let begun = Instant::now();
    while server
        .send("GET", "/_active_tasks", &[ADMIN], "")
        .body
        .len()
        < 10
    {
        assert!(begun.elapsed() < DEADLINE, "the index is not built");
    }
    assert_refused(
        &server.send("GET", query, &[ADMIN], ""),
        "too many requests of this kind",
    );
    assert_eq!(server.send("GET", "/d/a", &[ADMIN], "").status, 200);
    assert_eq!(put(&server, "/d/b", &[], "{}").status, 201);
    assert_eq!(waiting.join().unwrap().status, 200);
    assert_eq!(server.send("GET", query, &[ADMIN], "").status, 200);
}

#[test]
fn a_body_that_does_not_come_in_time_is_ended() {
    let server = Running::start_with("[limits]\nbody_timeout = 1\n");
    assert_eq!(put(&server, "/d", &[], "").status, 201);
    let related = "content-type: multipart/related; boundary=x\r\n";
    for (path, more) in [("/d/a", ""), ("/d/a/long", ""), ("/d/a", related)] {
        for length in [100, 10_000_000] {
            let mut socket = connect(&server);
            let (key, value) = ADMIN;
            let head =
                format!("PUT {path} HTTP/1.1\r\nhost: varve.test\r\n{key}: {value}\r\n{more}");
            let request = format!("{head}content-length: {length}\r\n\r\n--x\r\n");
            socket.write_all(request.as_bytes()).unwrap();
            let answer = read_to_end(socket);
            assert!(
                answer.starts_with("HTTP/1.1 408 "),
                "{path} {more}: {answer}"
            );
            assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
        }
    }
    let info = server.send("GET", "/d", &[ADMIN], "").body;
    assert!(info.contains("\"doc_count\":0"), "{info}");
}

#[test]
fn a_silent_connection_is_closed() {
    let server = Running::start_with("[limits]\nidle_timeout = 1\nhead_timeout = 2\n");
    for sent in ["", "GET /_up HTTP/1.1\r\nhost"] {
        let mut socket = connect(&server);
        socket.write_all(sent.as_bytes()).unwrap();
        assert_eq!(read_to_end(socket), "", "{sent}");
    }
    let mut socket = connect(&server);
    socket
        .write_all(b"GET /_up HTTP/1.1\r\nhost: varve.test\r\n\r\n")
        .unwrap();
    let answer = read_to_end(socket);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn a_client_that_takes_nothing_is_disconnected() {
    let server = Running::start_with(
        "[chttpd]\nmax_connections = 2\n[limits]\nwrite_timeout = 1\nidle_timeout = 600\n",
    );
    let mut connection = Connection::open(server.address);
    let admin = [ADMIN];
    assert_eq!(connection.send("PUT", "/d", &admin, "").status, 201);
    let data = "x".repeat(32 << 20);
    let stored = connection.send("PUT", "/d/a/long", &[ADMIN, BYTES], &data);
    assert_eq!(stored.status, 201);
    let mut stalled = connect(&server);
    let (key, value) = ADMIN;
    let request = format!("GET /d/a/long HTTP/1.1\r\nhost: varve.test\r\n{key}: {value}\r\n\r\n");
    stalled.write_all(request.as_bytes()).unwrap();
    // The head shows that the connection was admitted.
    stalled.read_exact(&mut [0; 12]).unwrap();
    assert_eq!(server.get("/_up").status, 503);
    wait_for_room(&server);
    let answer = read_to_end(stalled);
    assert!(answer.len() < data.len(), "the answer came to its end");
    assert_eq!(connection.send("GET", "/d", &admin, "").status, 200);
}
