//! Attachments over HTTP: alone, with their documents, in forms and in parts.

use crate::client::{ADMIN, Connection, Reply, Running};
use serde_json::{Value, json};
use std::io::Write;

const JSON: (&str, &str) = ("content-type", "application/json");
const TEXT: (&str, &str) = ("content-type", "text/plain");
const BYTES: (&str, &str) = ("content-type", "application/octet-stream");

/// A server with a database `d`.
fn served(settings: &str) -> Running {
    let server = Running::start_with(settings);
    assert_eq!(server.send("PUT", "/d", &[ADMIN], "").status, 201);
    server
}

/// A request whose body and answer may hold any bytes.
fn send(
    server: &Running,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> (Reply, Vec<u8>) {
    let mut connection = Connection::open(server.address);
    let headers = [&[ADMIN], headers].concat();
    let reply = connection.begin(method, path, &headers, body);
    let bytes = match method {
        "HEAD" => Vec::new(),
        _ => connection.body(&reply),
    };
    (reply, bytes)
}

fn json_of(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(bytes)))
}

fn put(server: &Running, path: &str, headers: &[(&str, &str)], body: &[u8]) -> String {
    let (reply, bytes) = send(server, "PUT", path, headers, body);
    assert_eq!(reply.status, 201, "{}", String::from_utf8_lossy(&bytes));
    json_of(&bytes)["rev"].as_str().unwrap().to_owned()
}

fn get(server: &Running, path: &str, headers: &[(&str, &str)]) -> (Reply, Vec<u8>) {
    send(server, "GET", path, headers, b"")
}

fn document(server: &Running, path: &str) -> Value {
    json_of(&get(server, path, &[("accept", "application/json")]).1)
}

/// Bytes of many pieces that never repeat.
fn noise(len: usize) -> Vec<u8> {
    varve_testkit::repos::noise(len, 11)
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn a_long_attachment_comes_back_whole_and_in_ranges() {
    let server = served("");
    let data = noise(3_333_333);
    put(&server, "/d/a/long", &[BYTES], &data);
    let (whole, bytes) = get(&server, "/d/a/long", &[]);
    assert!(bytes == data);
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    assert_eq!(whole.header("content-length"), Some("3333333"));
    let digest = document(&server, "/d/a")["_attachments"]["long"]["digest"].clone();
    let md5 = whole.header("content-md5").unwrap();
    assert_eq!(digest, format!("md5-{md5}"));
    assert_eq!(whole.header("etag"), Some(&*format!("\"{md5}\"")));
    for (range, start, end) in [
        ("bytes=0-0", 0, 1),
        ("bytes=1048575-1048577", 1_048_575, 1_048_578),
        ("bytes=2000000-", 2_000_000, 3_333_333),
        ("bytes=-5", 3_333_328, 3_333_333),
    ] {
        let (reply, bytes) = get(&server, "/d/a/long", &[("range", range)]);
        assert_eq!(reply.status, 206);
        let expected = format!("bytes {start}-{}/3333333", end - 1);
        assert_eq!(reply.header("content-range"), Some(&*expected));
        assert!(bytes == data[start..end], "{range}");
    }
    let (head, _) = send(&server, "HEAD", "/d/a/long", &[], b"");
    assert_eq!(head.header("content-length"), Some("3333333"));
    assert_eq!(head.header("content-md5"), Some(md5));
    let (reply, _) = get(&server, "/d/a/long", &[("range", "bytes=3333333-")]);
    assert_eq!(reply.status, 416);
}

#[test]
fn text_is_stored_as_gzip_and_sent_so_to_clients_that_accept_it() {
    let server = served("[attachments]\ncompressible_types = text/*, image/svg+xml\n");
    let data = b"some words, ".repeat(200_000);
    put(&server, "/d/a/t", &[TEXT], &data);
    let (plain, bytes) = get(&server, "/d/a/t", &[]);
    assert!(bytes == data);
    assert_eq!(plain.header("content-encoding"), None);
    assert_eq!(plain.header("accept-ranges"), Some("none"));
    let takes = [("accept-encoding", "br, gzip")];
    let (packed, bytes) = get(&server, "/d/a/t", &takes);
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert!(bytes.len() < data.len() / 10);
    let shown = document(&server, "/d/a?att_encoding_info=true");
    let shown = &shown["_attachments"]["t"];
    assert_eq!(shown["encoding"], "gzip");
    assert_eq!(shown["length"], data.len());
    assert_eq!(shown["encoded_length"], bytes.len());
    let inline = document(&server, "/d/a?attachments=true");
    let inline = inline["_attachments"]["t"]["data"].as_str().unwrap().len();
    assert_eq!(inline, data.len().div_ceil(3) * 4);
    let kind = [("content-type", "application/json")];
    put(&server, "/d/b/t", &kind, b"[1, 1, 1]");
    let shown = document(&server, "/d/b?att_encoding_info=true");
    assert_eq!(shown["_attachments"]["t"]["encoding"], Value::Null);
}

#[test]
fn what_comes_as_gzip_is_kept_so() {
    let server = served("[attachments]\ncompression_level = 0\n");
    let data = noise(2_000_000);
    let packed = gzip(&data);
    let coded = [BYTES, ("content-encoding", "gzip")];
    put(&server, "/d/a/t", &coded, &packed);
    assert!(get(&server, "/d/a/t", &[]).1 == data);
    let takes = [("accept-encoding", "gzip")];
    assert!(get(&server, "/d/a/t", &takes).1 == packed);
    for (body, coding, status) in [
        (&b"no gzip"[..], "gzip", 400),
        (&packed[..packed.len() - 5], "gzip", 400),
        (b"", "br", 415),
    ] {
        let headers = [BYTES, ("content-encoding", coding)];
        let (reply, _) = send(&server, "PUT", "/d/b/t", &headers, body);
        assert_eq!(reply.status, status, "{coding}");
    }
    assert_eq!(get(&server, "/d/b", &[]).0.status, 404);
    put(&server, "/d/c/t", &[TEXT], b"aaaa");
    let shown = document(&server, "/d/c?att_encoding_info=true");
    assert_eq!(shown["_attachments"]["t"]["encoding"], Value::Null);
}

/// A `multipart/related` body.
fn related(document: &Value, parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = b"--xyz\r\nContent-Type: application/json\r\n\r\n".to_vec();
    body.extend(document.to_string().bytes());
    for (headers, data) in parts {
        body.extend(format!("\r\n--xyz\r\n{headers}\r\n").bytes());
        body.extend_from_slice(data);
    }
    body.extend(b"\r\n--xyz--");
    body
}

const RELATED: (&str, &str) = ("content-type", "multipart/related; boundary=\"xyz\"");

fn follows(length: usize, kind: &str) -> Value {
    json!({"follows": true, "length": length, "content_type": kind})
}

/// Headers and bodies of the parts of an answer, whose own parts are taken apart too.
fn parts(content_type: &str, body: &[u8]) -> Vec<(String, Vec<u8>)> {
    let boundary = content_type.split("boundary=\"").nth(1).unwrap();
    let boundary = boundary.trim_end_matches('"');
    let delimiter = format!("\r\n--{boundary}").into_bytes();
    let body = [b"\r\n", body].concat();
    let find = |from: usize, what: &[u8]| {
        let at = body[from..].windows(what.len()).position(|w| w == what);
        at.map(|at| from + at)
    };
    let mut at = find(0, &delimiter).unwrap() + delimiter.len();
    let mut all = Vec::new();
    while &body[at..at + 2] != b"--" {
        let head = find(at, b"\r\n\r\n").unwrap();
        let end = find(head + 2, &delimiter).unwrap();
        let headers = String::from_utf8(body[at + 2..head].to_vec()).unwrap();
        all.push((headers, body[head + 4..end].to_vec()));
        at = end + delimiter.len();
    }
    assert_eq!(at + 2, body.len());
    all
}

#[test]
fn a_document_comes_with_its_attachments_behind_it_both_ways() {
    let server = served("");
    let (long, text) = (noise(1_500_000), b"some text ".repeat(50));
    let document_sent = json!({"x": 1, "_attachments": {
        "long": follows(long.len(), "image/png"),
        "text": follows(text.len(), "text/plain"),
        "inline": {"content_type": "image/gif", "data": "AAEC"},
    }});
    // By name one of them, by its place the other.
    let named = "Content-Disposition: attachment; filename=\"text\"\r\n";
    let body = related(&document_sent, &[("X: y\r\n", &long), (named, &text)]);
    let first = put(&server, "/d/a", &[RELATED], &body);
    assert!(get(&server, "/d/a/long", &[]).1 == long);
    assert!(get(&server, "/d/a/text", &[]).1 == text);
    let in_parts = [("accept", "multipart/related")];
    let (reply, body) = get(&server, "/d/a?attachments=true", &in_parts);
    let content_type = reply.header("content-type").unwrap();
    assert!(content_type.starts_with("multipart/related; boundary="));
    let found = parts(content_type, &body);
    let shown = json_of(&found[0].1);
    assert_eq!(shown["_attachments"]["text"]["follows"], true);
    assert_eq!(shown["_attachments"]["text"]["encoding"], "gzip");
    assert!(found[1].0.contains("filename=\"long\""), "{:?}", found[1].0);
    assert!(found[1].1 == long);
    assert!(found[2].0.contains("Content-Encoding: gzip"));
    assert_eq!(found[3].1, [0, 1, 2]);
    // The parts of an answer can be sent back as they are.
    let body = related(
        &shown,
        &[("", &found[1].1), ("", &found[2].1), ("", &found[3].1)],
    );
    put(
        &server,
        "/d/b",
        &[RELATED],
        &body_without_rev(&body, &first),
    );
    assert!(get(&server, "/d/b/text", &[]).1 == text);
    let stubs = json!({"_rev": first, "_attachments": {
        "long": {"stub": true}, "new": follows(3, "image/gif"),
    }});
    put(
        &server,
        "/d/a",
        &[RELATED],
        &related(&stubs, &[("", b"abc")]),
    );
    let since = format!("/d/a?attachments=true&atts_since=[\"{first}\"]");
    let shown = document(&server, &since);
    assert_eq!(shown["_attachments"]["long"]["stub"], true);
    assert_eq!(shown["_attachments"]["new"]["data"], "YWJj");
    let (reply, body) = get(&server, &since, &in_parts);
    let found = parts(reply.header("content-type").unwrap(), &body);
    assert_eq!((found.len(), &found[1].1[..]), (2, &b"abc"[..]));
}

fn body_without_rev(body: &[u8], rev: &str) -> Vec<u8> {
    let text = format!("\"_rev\":\"{rev}\",").into_bytes();
    let at = body.windows(text.len()).position(|w| w == text);
    let Some(at) = at else {
        let text = format!(",\"_rev\":\"{rev}\"").into_bytes();
        let at = body.windows(text.len()).position(|w| w == text).unwrap();
        return [&body[..at], &body[at + text.len()..]].concat();
    };
    [&body[..at], &body[at + text.len()..]].concat()
}

#[test]
fn parts_that_are_missing_or_cut_leave_nothing() {
    let server = served("");
    let sent =
        json!({"_attachments": {"a": follows(3, "image/gif"), "b": follows(3, "image/gif")}});
    let whole = related(&sent, &[("", b"abc"), ("", b"def")]);
    let lacking = related(&sent, &[("", b"abc")]);
    let other = related(
        &sent,
        &[
            ("", b"abc"),
            ("Content-Disposition: a; filename=x\r\n", b""),
        ],
    );
    for body in [&whole[..whole.len() - 9], &lacking, &other, b"--xyz--", b""] {
        let (reply, _) = send(&server, "PUT", "/d/a", &[RELATED], body);
        assert_eq!(reply.status, 400, "{}", String::from_utf8_lossy(body));
    }
    assert_eq!(document(&server, "/d")["doc_count"], 0);
    put(&server, "/d/a", &[RELATED], &whole);
}

#[test]
fn parts_of_another_length_than_was_said_are_refused() {
    let server = served("");
    let data = b"some text ".repeat(30);
    let packed = gzip(&data);
    let of = |members: Value| {
        let mut sent = follows(0, "text/plain");
        sent.as_object_mut().unwrap().remove("length");
        let members = members.as_object().unwrap().clone();
        sent.as_object_mut().unwrap().extend(members);
        json!({"_attachments": {"a": sent, "b": follows(1, "image/gif")}})
    };
    let gzipped = |stored: usize| {
        of(json!({"encoding": "gzip", "encoded_length": stored, "length": data.len()}))
    };
    let refused = "attachment {} than expected";
    for (sent, part, error) in [
        (of(json!({"length": 299})), &data, "longer"),
        (of(json!({"length": 301})), &data, "shorter"),
        (of(json!({"length": 0})), &data, "longer"),
        (gzipped(packed.len() - 1), &packed, "longer"),
        (gzipped(packed.len() + 1), &packed, "shorter"),
    ] {
        let body = related(&sent, &[("", part), ("", b"x")]);
        let (reply, answer) = send(&server, "PUT", "/d/a", &[RELATED], &body);
        assert_eq!(reply.status, 400, "{sent}");
        let expected = json!({"error": "bad_request", "reason": refused.replace("{}", error)});
        assert_eq!(json_of(&answer), expected);
    }
    assert_eq!(document(&server, "/d")["doc_count"], 0);
    for (id, sent, part) in [
        ("a", of(json!({"length": 300})), &data),
        ("b", of(json!({"length": "300"})), &data),
        ("c", of(json!({})), &data),
        ("d", gzipped(packed.len()), &packed),
        (
            "e",
            of(json!({"encoding": "gzip", "length": packed.len()})),
            &packed,
        ),
    ] {
        let body = related(&sent, &[("", part), ("", b"x")]);
        put(&server, &format!("/d/{id}"), &[RELATED], &body);
        assert!(get(&server, &format!("/d/{id}/a"), &[]).1 == data, "{id}");
    }
}

#[test]
fn several_revisions_come_in_parts() {
    let server = served("");
    let data = b"some text ".repeat(30);
    let first = put(&server, "/d/a/t", &[TEXT], &data);
    let rest = [JSON];
    let (_, _) = send(
        &server,
        "PUT",
        "/d/a?new_edits=false",
        &rest,
        br#"{"_rev":"1-b","x":2}"#,
    );
    let mixed = [("accept", "multipart/mixed")];
    let (reply, body) = get(&server, "/d/a?open_revs=all&revs=true", &mixed);
    let found = parts(reply.header("content-type").unwrap(), &body);
    assert_eq!(found.len(), 2);
    for (headers, body) in &found {
        if headers.contains("multipart/related") {
            let inner = parts(headers, body);
            assert_eq!(json_of(&inner[0].1)["_rev"], first);
            assert_eq!(inner.len(), 2);
        } else {
            assert_eq!(headers, "Content-Type: application/json");
            assert_eq!(json_of(body)["_rev"], "1-b");
        }
    }
    let (reply, body) = get(&server, "/d/a?open_revs=[\"7-x\"]", &mixed);
    let found = parts(reply.header("content-type").unwrap(), &body);
    assert_eq!(found[0].0, "Content-Type: application/json; error=\"true\"");
    assert_eq!(json_of(&found[0].1), json!({"missing": "7-x"}));
    let asked =
        json!({"docs": [{"id": "a", "rev": first}, {"id": "a", "rev": "1-b"}, {"id": "n"}]});
    for media in ["multipart/mixed", "multipart/related"] {
        let (reply, body) = send(
            &server,
            "POST",
            "/d/_bulk_get",
            &[JSON, ("accept", media)],
            asked.to_string().as_bytes(),
        );
        let content_type = reply.header("content-type").unwrap();
        assert!(content_type.starts_with(media));
        let found = parts(content_type, &body);
        assert!(
            found[0]
                .0
                .starts_with(&format!("X-Doc-Id: a\r\nX-Rev-Id: {first}\r\n"))
        );
        assert_eq!(parts(&found[0].0, &found[0].1).len(), 2);
        assert_eq!(json_of(&found[1].1)["x"], 2);
        assert!(found[2].0.contains("error=\"true\""));
        assert_eq!(json_of(&found[2].1)["error"], "not_found");
    }
}

#[test]
fn a_form_brings_files() {
    let server = served("");
    let first = put(&server, "/d/a", &[JSON], br#"{"x":1}"#);
    let kind = [("content-type", "multipart/form-data; boundary=xyz")];
    let field = |name: &str, value: &str| {
        format!("--xyz\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n")
    };
    let file = |name: &str, value: &str| {
        format!(
            "--xyz\r\nContent-Disposition: form-data; name=\"_attachments\"; filename=\"{name}\"\r\n\
             Content-Type: text/plain\r\n\r\n{value}\r\n"
        )
    };
    // The revision may come behind the files.
    let body = file("a.txt", "aa") + &file("b.txt", "bb") + &file("", "") + &field("_rev", &first);
    let (reply, bytes) = send(
        &server,
        "POST",
        "/d/a",
        &kind,
        (body + "--xyz--").as_bytes(),
    );
    assert_eq!(reply.status, 201, "{}", String::from_utf8_lossy(&bytes));
    let shown = document(&server, "/d/a");
    let names: Vec<_> = shown["_attachments"].as_object().unwrap().keys().collect();
    assert_eq!(shown["x"], 1);
    assert_eq!(names, ["a.txt", "b.txt"]);
    assert_eq!(get(&server, "/d/a/b.txt", &[]).1, b"bb");
    let body = field("_rev", &first) + "--xyz--";
    let (reply, _) = send(&server, "POST", "/d/a", &kind, body.as_bytes());
    assert_eq!(reply.status, 409);
    let body = field("_doc", "{\"y\":2}") + &file("c", "cc") + "--xyz--";
    let (reply, _) = send(&server, "POST", "/d/b", &kind, body.as_bytes());
    assert_eq!(reply.status, 201);
    assert_eq!(document(&server, "/d/b")["y"], 2);
    let (reply, _) = send(&server, "POST", "/d/b", &[JSON], b"{}");
    assert_eq!(reply.status, 415);
}

#[test]
fn a_copy_has_the_attachments_of_the_source() {
    let server = served("");
    let data = noise(1_200_000);
    let first = put(&server, "/d/a/long", &[BYTES], &data);
    let second = put(&server, &format!("/d/a?rev={first}"), &[JSON], b"{}");
    let to = [("destination", "b")];
    let (reply, _) = send(&server, "COPY", &format!("/d/a?rev={first}"), &to, b"");
    assert_eq!(reply.status, 201);
    assert!(get(&server, "/d/b/long", &[]).1 == data);
    assert_eq!(
        document(&server, "/d/b")["_attachments"]["long"]["revpos"],
        1
    );
    let far = [("destination", "http://varve.test/d/b")];
    assert_eq!(send(&server, "COPY", "/d/a", &far, b"").0.status, 400);
    let onto = format!("b?rev={second}");
    let (reply, _) = send(&server, "COPY", "/d/a", &[("destination", &*onto)], b"");
    assert_eq!(reply.status, 409);
}

#[test]
fn limits_hold_for_what_is_read_while_it_arrives() {
    let limits = "[couchdb]\nmax_attachment_size = 2mb\nmax_attachments_per_doc = 1\n\
                  [chttpd]\nmax_http_request_size = 3mb\n";
    let server = served(limits);
    for (len, error) in [
        ((2 << 20) + 1, Some("attachment_too_large")),
        ((3 << 20) + 1, Some("too_large")),
        (2 << 20, None),
    ] {
        let (reply, bytes) = send(&server, "PUT", "/d/a/t", &[BYTES], &noise(len));
        let found = json_of(&bytes);
        assert_eq!(found["error"].as_str(), error);
        assert_eq!(reply.status, if error.is_some() { 413 } else { 201 });
    }
    // What comes as gzip counts by what it expands to.
    let packed = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, &vec![0; (2 << 20) + 1]).unwrap();
        encoder.finish().unwrap()
    };
    let headers = [BYTES, ("content-encoding", "gzip")];
    let (reply, bytes) = send(&server, "PUT", "/d/c/t", &headers, &packed);
    let found = json_of(&bytes);
    assert_eq!(
        (reply.status, found["error"].as_str()),
        (413, Some("attachment_too_large"))
    );
    let sent =
        json!({"_attachments": {"a": follows(3, "image/gif"), "b": follows(3, "image/gif")}});
    let body = related(&sent, &[("", b"abc"), ("", b"def")]);
    let (reply, bytes) = send(&server, "PUT", "/d/b", &[RELATED], &body);
    assert_eq!(reply.status, 413);
    assert_eq!(json_of(&bytes)["error"], "too_many_attachments");
    assert_eq!(document(&server, "/d")["doc_count"], 1);
}

#[test]
fn a_digest_that_the_client_sends_must_be_that_of_its_bytes() {
    use base64::Engine;
    use md5::Digest;
    let server = served("");
    let digest = |bytes: &[u8]| {
        let digest = md5::Md5::digest(bytes);
        base64::engine::general_purpose::STANDARD.encode(digest)
    };
    // Read at once, and while it arrives.
    for (name, data) in [("short", b"some text".to_vec()), ("long", noise(300_000))] {
        let refused = |headers: &[(&str, &str)], path: &str, body: &[u8]| {
            let (reply, said) = send(&server, "PUT", path, headers, body);
            assert_eq!(reply.status, 400, "{name}: {headers:?}");
            let words =
                json!({"error": "content_md5_mismatch", "reason": "Possible message corruption."});
            assert_eq!(json_of(&said), words);
            assert_eq!(get(&server, path, &[]).0.status, 404);
        };
        let path = format!("/d/{name}/file");
        for wrong in [&digest(b"other"), "", "x", "AAAA", "="] {
            refused(&[BYTES, ("content-md5", wrong)], &path, &data);
        }
        put(
            &server,
            &path,
            &[TEXT, ("content-md5", &digest(&data))],
            &data,
        );
        // Of the bytes as they come.
        let packed = gzip(&data);
        let headers = [
            TEXT,
            ("content-encoding", "gzip"),
            ("content-md5", &digest(&packed)),
        ];
        put(
            &server,
            &format!("/d/{name}-packed/file"),
            &headers,
            &packed,
        );

        let document = json!({"_attachments": {"file": follows(data.len(), "text/plain")}});
        let header = format!("Content-MD5: {}\r\n", digest(&data));
        let path = format!("/d/{name}-parts");
        let wrong = format!("Content-MD5: {}\r\n", digest(b"other"));
        refused(&[RELATED], &path, &related(&document, &[(&wrong, &data)]));
        put(
            &server,
            &path,
            &[RELATED],
            &related(&document, &[(&header, &data)]),
        );
    }
}
