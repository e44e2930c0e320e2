//! Thousands of clients that wait for changes.

use super::Site;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

const FEEDS: usize = 2000;
/// Threads beside one for each core that the server may have with all of them open, at the very most:
/// as many as its pool ever gets. A feed that waits holds none.
const THREADS: usize = 600;

fn open(address: &str) -> BufReader<TcpStream> {
    let mut socket = TcpStream::connect(address).unwrap();
    let head = "GET /db/_changes?feed=continuous&heartbeat=true HTTP/1.1\r\nHost: localhost\r\n\
                Authorization: Basic YWRtaW46bGF5ZXJzLW9mLXNpbHQ=\r\n\r\n";
    socket.write_all(head.as_bytes()).unwrap();
    BufReader::with_capacity(512, socket)
}

/// The next line of a feed that tells of a change.
fn change(feed: &mut BufReader<TcpStream>) -> String {
    loop {
        let mut line = String::new();
        assert!(feed.read_line(&mut line).unwrap() > 0, "the feed ended");
        if line.starts_with('{') {
            return line;
        }
    }
}

#[test]
fn two_thousand_feeds_are_told_of_one_write() {
    varve_server::raise_file_limit();
    let site = Site::new();
    let server = site.serve();
    let mut admin = server.admin();
    admin.put("/db", &Value::Null).expect_status(201);
    admin.put("/db/first", &json!({})).expect_status(201);
    let mut feeds = Vec::with_capacity(FEEDS);
    for _ in 0..FEEDS {
        // One after the other: requests that come together may have threads of their own.
        let mut feed = open(server.address());
        assert!(change(&mut feed).contains("\"first\""));
        feeds.push(feed);
    }
    admin.put("/db/second", &json!({})).expect_status(201);
    for feed in &mut feeds {
        assert!(change(feed).contains("\"second\""));
    }
    let threads = server.threads();
    let cores = std::thread::available_parallelism().unwrap().get();
    assert!(threads < THREADS + cores, "{threads} threads");
    admin.get("/db/second").expect_status(200);
}
