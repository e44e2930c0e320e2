//! Clients that ask for a long answer and do not read it: they hold no thread, and lose nothing of the answer.

use crate::client::{ADMIN, Connection, Running};
use std::fs;

/// Readers of each kind, many more together than a server has threads.
const READERS: usize = 25;

const DOCUMENTS: usize = 256;

/// A kind of answer: method, path, headers and body of its request.
type Kind = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
    String,
);

const JSON: &[(&str, &str)] = &[ADMIN, ("content-type", "application/json")];
const MIXED: &[(&str, &str)] = &[
    ADMIN,
    ("content-type", "application/json"),
    ("accept", "multipart/mixed"),
];
const READER: &[(&str, &str)] = &[ADMIN, ("accept", "application/json")];
const PARTS: &[(&str, &str)] = &[ADMIN, ("accept", "multipart/related")];
const UNCOMPRESSED: &[(&str, &str)] = &[("x-hgproto-1", "0.1 0.2 comp=none")];

const STREAM2: &str = "/hg/big?cmd=getbundle&stream=1&bundlecaps=HG20%2Cbundle2%3DHG20%250Astream%253Dv2\
    &common=0000000000000000000000000000000000000000\
    &heads=0000000000000000000000000000000000000000";

fn kinds() -> Vec<Kind> {
    let ids: Vec<String> = (0..DOCUMENTS)
        .map(|n| format!(r#"{{"id":"d{n:04}"}}"#))
        .collect();
    let bulk = format!(r#"{{"docs":[{},{{"id":"file"}}]}}"#, ids.join(","));
    let find = r#"{"selector":{"_id":{"$gt":null}},"limit":1000}"#.to_owned();
    let queries = r#"{"queries":[{"include_docs":true},{"include_docs":true}]}"#.to_owned();
    let none = String::new;
    vec![
        ("GET", "/db/_all_docs?include_docs=true", READER, none()),
        ("POST", "/db/_all_docs/queries", JSON, queries),
        ("GET", "/db/_changes?include_docs=true", READER, none()),
        (
            "GET",
            "/db/_changes?include_docs=true&feed=continuous&timeout=60000",
            READER,
            none(),
        ),
        (
            "GET",
            "/db/_design/v/_view/all?include_docs=true",
            READER,
            none(),
        ),
        ("POST", "/db/_find", JSON, find),
        ("POST", "/db/_bulk_get?attachments=true", JSON, bulk.clone()),
        ("POST", "/db/_bulk_get?attachments=true", MIXED, bulk),
        ("GET", "/db/file/noise", READER, none()),
        ("GET", "/db/file?attachments=true", READER, none()),
        ("GET", "/db/file?attachments=true", PARTS, none()),
        ("GET", "/hg/big?cmd=stream_out", &[], none()),
        ("GET", STREAM2, UNCOMPRESSED, none()),
        // zlib, made in one pass into a file.
        ("GET", STREAM2, &[], none()),
    ]
}

/// Bytes that do not compress.
fn noise(len: usize) -> Vec<u8> {
    let mut state = 88_172_645_463_325_252_u64;
    let mut out = Vec::with_capacity(len + 8);
    while out.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend(state.to_le_bytes());
    }
    out.truncate(len);
    out
}

/// A server with a database and a repository whose answers are longer than sockets take in.
fn scene() -> Running {
    let server = Running::start();
    let text = "0123456789abcdef".repeat(1 << 10);
    assert_eq!(server.send("PUT", "/db", &[ADMIN], "").status, 201);
    for first in (0..DOCUMENTS).step_by(64) {
        let documents: Vec<String> = (first..first + 64)
            .map(|n| format!(r#"{{"_id":"d{n:04}","text":"{text}"}}"#))
            .collect();
        let bulk = format!(r#"{{"docs":[{}]}}"#, documents.join(","));
        assert_eq!(
            server.send("POST", "/db/_bulk_docs", JSON, &bulk).status,
            201
        );
    }
    let design = r#"{"views":{"all":{"map":"function(doc){emit(doc._id,null)}"}}}"#;
    assert_eq!(
        server.send("PUT", "/db/_design/v", JSON, design).status,
        201
    );
    assert_eq!(
        server
            .send("GET", "/db/_design/v/_view/all?limit=1", &[ADMIN], "")
            .status,
        200
    );
    let noise = noise(5 << 20);
    let put = Connection::open(server.address).begin("PUT", "/db/file/noise", &[ADMIN], &noise);
    assert_eq!(put.status, 201);
    let store = server.directory.path().join("repos/big/.hg/store");
    fs::create_dir_all(store.join("data")).unwrap();
    let requires = "dotencode\nfncache\ngeneraldelta\nrevlogv1\nstore\n";
    fs::write(store.join("../requires"), requires).unwrap();
    let mut names = String::new();
    for (n, part) in noise.chunks(40_000).enumerate() {
        fs::write(store.join(format!("data/f{n}.d")), part).unwrap();
        names += &format!("data/f{n}.d\n");
    }
    fs::write(store.join("data/big.d"), &noise).unwrap();
    fs::write(store.join("fncache"), names + "data/big.d\n").unwrap();
    server
}

/// The body of an answer, without its random boundaries.
fn body(connection: &mut Connection, reply: &crate::client::Reply) -> Vec<u8> {
    let body = connection.body(reply);
    let boundaries: Vec<&[u8]> = reply
        .header("content-type")
        .and_then(|value| value.split_once("boundary=\""))
        .map(|(_, boundary)| boundary.trim_end_matches('"').as_bytes())
        .into_iter()
        .collect();
    let Some(outer) = boundaries.first() else {
        return body;
    };
    let text = String::from_utf8_lossy(&body).into_owned();
    let inner = text
        .split_once("boundary=\"")
        .and_then(|(_, rest)| rest.split_once('"'));
    let inner = inner.map(|(inner, _)| inner.to_owned()).unwrap_or_default();
    let text = text.replace(&*String::from_utf8_lossy(outer), "OUTER");
    match inner.is_empty() {
        true => text.into_bytes(),
        false => text.replace(&inner, "INNER").into_bytes(),
    }
}

#[test]
fn stalled_readers_of_every_kind_hold_no_thread_and_lose_nothing() {
    let server = scene();
    let mut stalled = Vec::new();
    for (number, (method, path, headers, sent)) in kinds().into_iter().enumerate() {
        for _ in 0..READERS {
            let mut connection = Connection::open_narrow(server.address);
            let reply = connection.begin(method, path, headers, &sent);
            assert_eq!(reply.status, 200, "{method} {path}");
            stalled.push((number, connection, reply));
        }
    }
    // Each of these goes through a pool that the readers above would have filled many times over.
    for round in 0..20 {
        let one = format!("/db/_all_docs?include_docs=true&key=\"d{round:04}\"");
        assert!(
            server
                .send("GET", &one, &[ADMIN], "")
                .body
                .contains("0123456789abcdef")
        );
        let bulk = format!(r#"{{"docs":[{{"_id":"new{round}"}}]}}"#);
        assert_eq!(
            server.send("POST", "/other/_bulk_docs", JSON, &bulk).status,
            404
        );
        let security = server.send("PUT", "/db/_security", JSON, "{}");
        assert_eq!(security.status, 200);
        assert_eq!(server.get("/hg/big?cmd=capabilities").status, 200);
    }
    // One of each kind reads on, and its answer is that of a client that did not stall.
    for (number, (method, path, headers, sent)) in kinds().into_iter().enumerate() {
        if path.contains("feed=continuous") {
            continue;
        }
        let last = stalled
            .iter()
            .rposition(|(kind, ..)| *kind == number)
            .unwrap();
        let (_, mut late, late_reply) = stalled.remove(last);
        let mut fresh = Connection::open(server.address);
        let fresh_reply = fresh.begin(method, path, headers, &sent);
        let (late, fresh) = (body(&mut late, &late_reply), body(&mut fresh, &fresh_reply));
        assert!(late.len() > 2 << 20, "{method} {path}: {}", late.len());
        assert!(late == fresh, "{method} {path}");
    }
}
