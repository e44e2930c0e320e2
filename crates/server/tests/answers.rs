//! How answers leave the server: compressed, as scripts, buffered.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::client::{ADMIN, Connection, Reply, Running};
use flate2::read::{GzDecoder, ZlibDecoder};

const JSON: (&str, &str) = ("content-type", "application/json");
const GZIP: (&str, &str) = ("accept-encoding", "gzip");

fn database(settings: &str) -> Running {
    let server = Running::start_with(settings);
    assert_eq!(server.send("PUT", "/db", &[ADMIN], "").status, 201);
    let docs: Vec<String> = (0..3000)
        .map(|n| format!("{{\"_id\":\"doc{n:04}\",\"text\":\"the same words\"}}"))
        .collect();
    let docs = format!("{{\"docs\":[{}]}}", docs.join(","));
    let written = server.send("POST", "/db/_bulk_docs", &[ADMIN, JSON], &docs);
    assert_eq!(written.status, 201);
    let long = format!("{{\"text\":\"{}\"}}", "0123456789".repeat(1000));
    assert_eq!(server.send("PUT", "/db/long", &[ADMIN], &long).status, 201);
    server
}

fn set(server: &Running, key: &str, value: &str) {
    let path = format!("/_node/_local/_config/{key}");
    let reply = server.send("PUT", &path, &[ADMIN, JSON], &format!("\"{value}\""));
    assert_eq!(reply.status, 200, "{reply:?}");
}

/// An answer with its body as it was sent.
fn raw(server: &Running, path: &str, headers: &[(&str, &str)]) -> (Reply, Vec<u8>) {
    let mut connection = Connection::open(server.address);
    let reply = connection.begin("GET", path, headers, "");
    let body = connection.body(&reply);
    (reply, body)
}

fn decoded(encoding: &str, body: &[u8]) -> String {
    let mut text = String::new();
    let read = match encoding {
        "gzip" => GzDecoder::new(body).read_to_string(&mut text),
        "deflate" => ZlibDecoder::new(body).read_to_string(&mut text),
        _ => zstd::stream::read::Decoder::new(body)
            .unwrap()
            .read_to_string(&mut text),
    };
    read.unwrap();
    text
}

#[test]
fn bodies_are_compressed_for_clients_that_accept_it() {
    let server = database("");
    for path in [
        "/db/long",
        "/db/_all_docs?include_docs=true",
        "/db/_changes",
    ] {
        let plain = server.send("GET", path, &[ADMIN], "");
        assert_eq!(plain.header("content-encoding"), None, "{path}");
        assert_eq!(plain.header("vary"), Some("accept-encoding"), "{path}");
        for encoding in ["gzip", "deflate", "zstd"] {
            let (reply, body) = raw(&server, path, &[ADMIN, ("accept-encoding", encoding)]);
            assert_eq!(reply.header("content-encoding"), Some(encoding), "{path}");
            assert_eq!(reply.header("vary"), Some("accept-encoding"), "{path}");
            assert_eq!(reply.header("etag"), plain.header("etag"), "{path}");
            assert_eq!(decoded(encoding, &body), plain.body, "{path} {encoding}");
            assert!(body.len() * 3 < plain.body.len(), "{path} {encoding}");
        }
    }
}

#[test]
fn the_tag_of_a_compressed_body_is_that_of_the_plain_one() {
    let server = database("");
    let (reply, _) = raw(&server, "/db/long", &[ADMIN, GZIP]);
    let tag = reply.header("etag").unwrap();
    assert!(tag.starts_with("\"1-"), "a revision: {tag}");
    let known = ("if-none-match", tag);
    let reply = server.send("GET", "/db/long", &[ADMIN, GZIP, known], "");
    assert_eq!(reply.status, 304);
    assert_eq!(reply.header("content-encoding"), None);
    let head = server.send("HEAD", "/db/long", &[ADMIN, GZIP], "");
    let plain = server.send("GET", "/db/long", &[ADMIN], "");
    assert_eq!(head.header("content-encoding"), None);
    let len = plain.body.len().to_string();
    assert_eq!(head.header("content-length"), Some(len.as_str()));
}

#[test]
fn short_bodies_parts_and_attachments_are_not_compressed_on_the_way() {
    let server = database("");
    let png = ("content-type", "image/png");
    let text = "0123456789".repeat(1000);
    let put = server.send("PUT", "/db/a/picture", &[ADMIN, png], &text);
    assert_eq!(put.status, 201);
    let range = ("range", "bytes=0-1999");
    for (path, headers, status) in [
        ("/", &[ADMIN, GZIP][..], 200),
        ("/db/a/picture", &[ADMIN, GZIP], 200),
        ("/db/a/picture", &[ADMIN, GZIP, range], 206),
        ("/db/long", &[ADMIN, ("accept-encoding", "br")], 200),
        ("/db/long", &[ADMIN, ("accept-encoding", "gzip;q=0")], 200),
    ] {
        let reply = server.send("GET", path, headers, "");
        assert_eq!(reply.status, status, "{path}");
        assert_eq!(reply.header("content-encoding"), None, "{path}");
        assert!(reply.header("content-length").is_some(), "{path}");
    }
    // What is stored compressed keeps that encoding.
    let words = ("content-type", "text/plain");
    let put = server.send("PUT", "/db/b/words", &[ADMIN, words], &text);
    assert_eq!(put.status, 201);
    let (reply, body) = raw(&server, "/db/b/words", &[ADMIN, GZIP]);
    assert_eq!(reply.header("content-encoding"), Some("gzip"));
    assert_eq!(decoded("gzip", &body), text);
}

#[test]
fn compression_can_be_switched_off_while_the_server_runs() {
    let server = database("");
    set(&server, "varve/compress_answers", "false");
    let reply = server.send("GET", "/db/long", &[ADMIN, GZIP], "");
    assert_eq!(reply.header("content-encoding"), None);
    set(&server, "varve/compress_answers", "true");
    let (reply, _) = raw(&server, "/db/long", &[ADMIN, GZIP]);
    assert_eq!(reply.header("content-encoding"), Some("gzip"));
}

#[test]
fn a_compressed_feed_shows_changes_and_heartbeats_at_once() {
    let server = database("");
    let mut socket = TcpStream::connect(server.address).unwrap();
    let patience = Some(Duration::from_secs(30));
    socket.set_read_timeout(patience).unwrap();
    let (name, value) = ADMIN;
    let path = "/db/_changes?feed=continuous&since=now&heartbeat=100";
    let head = format!(
        "GET {path} HTTP/1.1\r\nhost: varve.test\r\n{name}: {value}\r\naccept-encoding: gzip\r\n\r\n"
    );
    socket.write_all(head.as_bytes()).unwrap();
    let mut lines = BufReader::new(socket);
    let mut line = String::new();
    let mut is_gzip = false;
    while line != "\r\n" {
        line.clear();
        lines.read_line(&mut line).unwrap();
        is_gzip |= line == "content-encoding: gzip\r\n";
    }
    assert!(is_gzip);
    let mut feed = BufReader::new(GzDecoder::new(Chunks(lines, Vec::new())));
    let mut next = || {
        let mut line = String::new();
        assert!(feed.read_line(&mut line).unwrap() > 0);
        line
    };
    assert_eq!(next(), "\n", "a heartbeat");
    assert_eq!(server.send("PUT", "/db/new", &[ADMIN], "{}").status, 201);
    let change = std::iter::repeat_with(next).find(|line| line != "\n");
    assert!(change.unwrap().contains("\"id\":\"new\""));
}

/// A body in chunks, as it comes.
struct Chunks(BufReader<TcpStream>, Vec<u8>);

impl Read for Chunks {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.1.is_empty() {
            let mut line = String::new();
            self.0.read_line(&mut line)?;
            let len = usize::from_str_radix(line.trim_end(), 16).unwrap();
            self.1.resize(len + 2, 0);
            self.0.read_exact(&mut self.1)?;
            self.1.truncate(len);
        }
        let len = buffer.len().min(self.1.len());
        buffer[..len].copy_from_slice(&self.1[..len]);
        self.1.drain(..len);
        Ok(len)
    }
}

#[test]
fn json_becomes_a_script_where_the_settings_let_it() {
    let server = database("");
    let get = |path: &str| server.send("GET", path, &[ADMIN], "");
    let refused = get("/db?callback=f");
    assert_eq!(refused.header("content-type"), Some("application/json"));
    set(&server, "chttpd/allow_jsonp", "true");
    for path in [
        "/_uuids",
        "/db/_all_docs?limit=2",
        "/db/_all_docs",
        "/nothing",
    ] {
        let and = if path.contains('?') { '&' } else { '?' };
        let reply = get(&format!("{path}{and}callback=a.b%5B0%5D"));
        let kind = reply.header("content-type");
        assert_eq!(kind, Some("application/javascript"), "{path}");
        let call = reply.body.strip_prefix("/* CouchDB */a.b[0](");
        let json = call.and_then(|call| call.strip_suffix(");\n"));
        let json = serde_json::from_str::<serde_json::Value>(json.unwrap());
        assert!(json.unwrap().is_object(), "{path}");
    }
    assert_eq!(get("/nothing?callback=f").status, 404);
    let hostile = get("/db?callback=alert(1)");
    assert_eq!(hostile.status, 400);
    assert_eq!(
        hostile.body,
        "{\"error\":\"bad_request\",\"reason\":\"invalid_callback\"}\n"
    );
    let empty = get("/db?callback=");
    assert_eq!(empty.header("content-type"), Some("application/json"));
}

#[test]
fn a_buffered_answer_is_the_same_one() {
    let server = database("");
    let get = |path: &str| server.send("GET", path, &[ADMIN], "");
    let streamed = get("/db/_all_docs?include_docs=true");
    assert_eq!(streamed.header("content-length"), None);
    assert!(
        streamed.body.len() > 256 << 10,
        "longer than stays in memory"
    );
    let short = get("/db/_all_docs?limit=500&buffer_response=true");
    assert_eq!(short.body.lines().count(), 502);
    let len = short.body.len().to_string();
    assert_eq!(short.header("content-length"), Some(len.as_str()));
    let long = get("/db/_all_docs?include_docs=true&buffer_response=true");
    assert_eq!(long.body, streamed.body);
    set(&server, "chttpd/buffer_response", "true");
    let always = get("/db/_all_docs?limit=500");
    assert_eq!(always.header("content-length"), Some(len.as_str()));
    let path = "/db/_all_docs?limit=500&buffer_response=false";
    assert_eq!(get(path).body, short.body);
    set(&server, "limits/list_output", "100kb");
    assert_eq!(get("/db/_all_docs?include_docs=true").status, 500);
    // A feed that waits has no end to wait for.
    let feed = get("/db/_changes?feed=continuous&since=now&timeout=10");
    assert_eq!(feed.status, 200);
}
