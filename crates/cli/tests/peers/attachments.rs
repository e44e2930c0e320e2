//! Attachments that are longer than the memory they may take.

use super::Site;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use varve_testkit::varve::Server;

/// Bytes of the long attachment.
const LONG: usize = 300 << 20;
/// Memory that a server may take for it beside its memory before.
const MEMORY: u64 = 40 << 20;
const SHARE: usize = 1 << 18;
const LOGIN: &str = "YWRtaW46bGF5ZXJzLW9mLXNpbHQ=";

/// Bytes that do not repeat, made again for the comparison instead of being kept.
struct Stuff {
    state: u64,
    left: usize,
}

impl Stuff {
    fn new(len: usize) -> Stuff {
        Stuff {
            state: 88_172_645_463_325_252,
            left: len,
        }
    }

    fn next(&mut self) -> Option<Vec<u8>> {
        let len = self.left.min(SHARE);
        self.left -= len;
        let mut out = Vec::with_capacity(len + 8);
        while out.len() < len {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            out.extend_from_slice(&self.state.to_le_bytes());
        }
        out.truncate(len);
        (len > 0).then_some(out)
    }
}

fn begin(server: &Server, request: &str, headers: &str) -> TcpStream {
    let mut socket = TcpStream::connect(server.address()).unwrap();
    let head = format!(
        "{request} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {LOGIN}\r\n\
         Connection: close\r\n{headers}\r\n"
    );
    socket.write_all(head.as_bytes()).unwrap();
    socket
}

/// Status and whether the body is chunked; the body is still to be read.
fn head(socket: TcpStream) -> (u16, bool, BufReader<TcpStream>) {
    let mut reader = BufReader::new(socket);
    let (mut first, mut is_chunked) = (String::new(), false);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        is_chunked |= line.to_ascii_lowercase().starts_with("transfer-encoding");
        if line.trim().is_empty() {
            break;
        }
    }
    let status = first.split(' ').nth(1).expect("a status").parse().unwrap();
    (status, is_chunked, reader)
}

fn put(server: &Server, path: &str, kind: &str, around: (&str, &str), data: Stuff) {
    let len = around.0.len() + data.left + around.1.len();
    let headers = format!("Content-Type: {kind}\r\nContent-Length: {len}\r\n");
    let mut socket = begin(server, &format!("PUT {path}"), &headers);
    socket.write_all(around.0.as_bytes()).unwrap();
    let mut data = data;
    while let Some(share) = data.next() {
        socket.write_all(&share).unwrap();
    }
    socket.write_all(around.1.as_bytes()).unwrap();
    let (status, _, mut answer) = head(socket);
    let mut text = String::new();
    answer.read_to_string(&mut text).unwrap();
    assert_eq!(status, 201, "{text}");
}

/// Reads a body that must be the stuff, whole.
fn expect(mut from: impl Read, mut stuff: Stuff) {
    let mut got = vec![0; SHARE];
    while let Some(share) = stuff.next() {
        from.read_exact(&mut got[..share.len()]).unwrap();
        assert!(got[..share.len()] == share[..], "{} left", stuff.left);
    }
}

#[test]
fn long_attachments_take_little_memory_both_ways() {
    let site = Site::new();
    let server = site.serve();
    let mut admin = server.admin();
    admin.put("/db", &Value::Null).expect_status(201);
    admin.put("/db/small", &json!({})).expect_status(201);
    let before = server.peak_memory();
    let kind = "application/octet-stream";
    put(&server, "/db/a/long", kind, ("", ""), Stuff::new(LONG));
    let document = json!({"_attachments": {"long": {"follows": true, "content_type": kind}}});
    let begin_parts = format!("--b\r\n\r\n{document}\r\n--b\r\n\r\n");
    let related = "multipart/related; boundary=b";
    let around = (&*begin_parts, "\r\n--b--");
    put(&server, "/db/b", related, around, Stuff::new(LONG / 2));
    let text = Stuff::new(LONG / 30);
    put(&server, "/db/c/text", "text/plain", ("", ""), text);

    let (status, _, body) = head(begin(&server, "GET /db/a/long", ""));
    assert_eq!(status, 200);
    expect(body, Stuff::new(LONG));
    let (_, _, body) = head(begin(&server, "GET /db/c/text", ""));
    expect(body, Stuff::new(LONG / 30));
    // In chunks, so only their sum is looked at.
    for (path, accept, least) in [
        ("/db/a?attachments=true", "application/json", LONG / 3 * 4),
        ("/db/b?attachments=true", "*/*", LONG / 2),
        ("/db/b?open_revs=all", "multipart/mixed", LONG / 2),
        (
            "/db/_all_docs?include_docs=true&attachments=true",
            "*/*",
            LONG * 2,
        ),
    ] {
        let accept = format!("Accept: {accept}\r\n");
        let (status, is_chunked, mut body) = head(begin(&server, &format!("GET {path}"), &accept));
        assert_eq!((status, is_chunked), (200, true), "{path}");
        let read = std::io::copy(&mut body, &mut std::io::sink()).unwrap();
        assert!(read >= least as u64, "{path}: {read}");
    }
    let growth = server.peak_memory() - before;
    assert!(growth < MEMORY, "{growth} bytes more");
}

#[test]
fn a_client_that_breaks_off_leaves_nothing() {
    let site = Site::new();
    let server = site.serve();
    let mut admin = server.admin();
    admin.put("/db", &Value::Null).expect_status(201);
    let headers = "Content-Length: 9000000\r\n";
    let mut socket = begin(&server, "PUT /db/a/long", headers);
    let mut stuff = Stuff::new(5_000_000);
    while let Some(share) = stuff.next() {
        socket.write_all(&share).unwrap();
    }
    socket.shutdown(Shutdown::Both).unwrap();
    drop(socket);
    put(
        &server,
        "/db/b/short",
        "image/png",
        ("", ""),
        Stuff::new(2_000_000),
    );
    admin.get("/db/a").expect_status(404);
    let info = admin.get("/db").expect_status(200).json();
    assert_eq!(
        (&info["doc_count"], &info["doc_del_count"]),
        (&json!(1), &json!(0))
    );
    server.kill();
    let server = site.serve();
    let (_, _, body) = head(begin(&server, "GET /db/b/short", ""));
    expect(body, Stuff::new(2_000_000));
    server.admin().get("/db/a").expect_status(404);
}
