//! A stopping server waits for running answers, and logs those that it cuts.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};
use varve_testkit::varve::{Server, configure};

const DEADLINE: Duration = Duration::from_secs(60);
/// More than any answer here has before its end.
const LONGEST: usize = 100_000;
/// The base64 form of the administrator's name and password.
const LOGIN: &str = "authorization: Basic YWRtaW46bGF5ZXJzLW9mLXNpbHQ=";

fn serve(directory: &Path, shutdown_timeout: u32) -> Server {
    let settings = format!("[varve]\nshutdown_timeout = {shutdown_timeout}\n");
    configure(directory, &settings);
    let server = Server::start(crate::VARVE, directory);
    server
        .admin()
        .request("PUT", "/db", &[], b"")
        .unwrap()
        .expect_status(201);
    server
}

fn send(server: &Server, head: &str) -> TcpStream {
    let mut connection = TcpStream::connect(server.address()).unwrap();
    connection.set_read_timeout(Some(DEADLINE)).unwrap();
    connection.write_all(head.as_bytes()).unwrap();
    connection
}

fn read_until(connection: &mut TcpStream, end: &str) -> String {
    let mut read = String::new();
    while !read.ends_with(end) {
        let mut byte = [0];
        assert_eq!(connection.read(&mut byte).unwrap(), 1, "{read}");
        read.push(char::from(byte[0]));
        assert!(read.len() < LONGEST, "{read}");
    }
    read
}

/// An upload that the server has begun to read, and that never ends.
fn upload(server: &Server) -> TcpStream {
    let mut connection = send(
        server,
        &format!(
            "PUT /db/doc/file HTTP/1.1\r\nhost: localhost\r\n{LOGIN}\r\ncontent-length: 900000\r\n\
             expect: 100-continue\r\n\r\n"
        ),
    );
    read_until(&mut connection, "100 Continue\r\n\r\n");
    connection.write_all(b"the beginning").unwrap();
    connection
}

fn wait_for_end(server: &mut Server) {
    let begun = Instant::now();
    while server.is_running() {
        assert!(begun.elapsed() < DEADLINE, "{}", server.printed());
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn answers_that_run_too_long_are_cut_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let server = serve(directory.path(), 1);
    let _upload = upload(&server);
    let ended = server.stop("TERM");
    assert!(ended.status.success(), "{}", ended.printed);
    let words = "varve: stopping: running answers had 1s to end; cut: 1\n\
                 varve: cut: PUT /db/doc/file of \"admin\" after ";
    assert!(ended.printed.contains(words), "{}", ended.printed);
}

#[test]
fn feeds_and_connections_without_a_request_end_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let mut server = serve(directory.path(), 86_400);
    let changes = |(feed, heartbeat): (&str, &str)| {
        let head = format!(
            "GET /db/_changes?feed={feed}&timeout=60000&heartbeat=10 HTTP/1.1\r\nhost: localhost\r\n{LOGIN}\r\n\r\n"
        );
        let mut connection = send(&server, &head);
        // The feed waits.
        read_until(&mut connection, heartbeat);
        connection
    };
    let feeds = [
        ("continuous", "\r\n1\r\n\n\r\n"),
        ("longpoll", "\r\n1\r\n\n\r\n"),
        ("eventsource", "event: heartbeat\ndata: \n\n\r\n"),
    ];
    let feeds = feeds.map(changes);
    let mut idle = send(&server, "GET /_up HTTP/1.1\r\nhost: localhost\r\n\r\n");
    read_until(&mut idle, "{\"status\":\"ok\",\"seeds\":{}}\n");
    let _silent = send(&server, "");
    let _half = send(&server, "GET /_up HTTP/1.1\r\nhos");
    server.signal("TERM");
    for mut feed in feeds {
        let mut rest = String::new();
        feed.read_to_string(&mut rest).unwrap();
        assert!(rest.ends_with("0\r\n\r\n"), "{rest:?}");
    }
    wait_for_end(&mut server);
    assert!(!server.printed().contains("cut"), "{}", server.printed());
}

#[test]
fn the_second_signal_ends_it_at_once() {
    for signal in ["TERM", "INT"] {
        let directory = tempfile::tempdir().unwrap();
        let mut server = serve(directory.path(), 86_400);
        let _upload = upload(&server);
        server.signal(signal);
        // The listener closes once the signal has come.
        let begun = Instant::now();
        while TcpStream::connect(server.address()).is_ok() {
            assert!(begun.elapsed() < DEADLINE);
            std::thread::sleep(Duration::from_millis(20));
        }
        assert!(server.is_running());
        let ended = server.stop(signal);
        assert_eq!(ended.status.code(), Some(1), "{}", ended.printed);
    }
}
