//! How much memory the bodies of requests may take.

use crate::VARVE;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use varve_testkit::varve::Server;

const JSON: (&str, &str) = ("Content-Type", "application/json");
const GZIP: (&str, &str) = ("Content-Encoding", "gzip");
/// Far less than what the bodies claim, far more than what a server needs: two bodies of 64 MiB, their values, and
/// what the allocator keeps.
const BOUND: u64 = 400 << 20;

/// The text of `count` items, as gzip.
fn packed(begin: &str, item: &str, count: usize, end: &str) -> Vec<u8> {
    let mut gzip = Command::new("gzip")
        .arg("-c")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = gzip.stdin.take().unwrap();
    let (begin, items, end) = (begin.to_owned(), item.repeat(10_000), end.to_owned());
    let writer = std::thread::spawn(move || {
        input.write_all(begin.as_bytes()).unwrap();
        for _ in 0..count / 10_000 {
            input.write_all(items.as_bytes()).unwrap();
        }
        input.write_all(end.as_bytes()).unwrap();
    });
    let mut packed = Vec::new();
    gzip.stdout
        .take()
        .unwrap()
        .read_to_end(&mut packed)
        .unwrap();
    writer.join().unwrap();
    assert!(gzip.wait().unwrap().success());
    packed
}

#[test]
fn short_bodies_do_not_become_much_memory() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(VARVE, directory.path());
    let mut admin = server.admin();
    admin.put("/d", &serde_json::Value::Null).expect_status(201);
    let before = server.peak_memory();
    let lists = packed("{\"keys\":[", "[],", 30_000_000, "0]}");
    let long = packed("{\"keys\":[\"", "xxxxxxxxxxxxxxxx", 60_000_000, "\"]}");
    for body in [&lists, &long] {
        assert!(body.len() < 2_000_000);
        for path in [
            "/d/_all_docs",
            "/d/_find",
            "/d/_bulk_get",
            "/d/_revs_diff",
            "/d/_bulk_docs",
        ] {
            let anonymous = server
                .anonymous()
                .request("POST", path, &[JSON, GZIP], body);
            assert_eq!(anonymous.unwrap().status, 401, "{path}");
        }
    }
    let growth = server.peak_memory() - before;
    assert!(
        growth < 32 << 20,
        "{growth} bytes for clients without rights"
    );
    for body in [&lists, &long] {
        for path in [
            "/d/_all_docs",
            "/d/_find",
            "/d/_bulk_get",
            "/d/_revs_diff",
            "/d/_bulk_docs",
        ] {
            let answer = admin.request("POST", path, &[JSON, GZIP], body).unwrap();
            assert_eq!(answer.status, 413, "{path}: {}", answer.text());
        }
    }
    let growth = server.peak_memory() - before;
    assert!(growth < BOUND, "{growth} bytes");
}

#[test]
fn long_documents_are_refused_before_they_come() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(VARVE, directory.path());
    let mut admin = server.admin();
    admin.put("/d", &serde_json::Value::Null).expect_status(201);
    let login = "Authorization: Basic YWRtaW46bGF5ZXJzLW9mLXNpbHQ=";
    for (path, status) in [
        ("/d/doc", "413"),
        ("/d/_security", "413"),
        ("/d/_local/a", "413"),
    ] {
        let mut socket = TcpStream::connect(server.address()).unwrap();
        let head = format!(
            "PUT {path} HTTP/1.1\r\nHost: localhost\r\n{login}\r\nContent-Length: 1073741824\r\n\
             Expect: 100-continue\r\n\r\n"
        );
        socket.write_all(head.as_bytes()).unwrap();
        let mut answer = [0; 12];
        socket.read_exact(&mut answer).unwrap();
        assert_eq!(std::str::from_utf8(&answer[9..]).unwrap(), status, "{path}");
    }
    let long = serde_json::json!({"text": "x".repeat(9_000_000)});
    for path in ["/d/doc", "/d/_local/a", "/d/_security"] {
        let refused = admin.put(path, &long);
        assert_eq!(refused.status, 413, "{path}: {}", refused.text());
    }
}
