//! Bodies of requests in a content encoding, and methods that a header names.

use crate::client::{ADMIN, Connection, Reply, Running};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use std::io::Write;

const JSON: (&str, &str) = ("content-type", "application/json");

fn encoded(encoding: &str, plain: &[u8]) -> Vec<u8> {
    match encoding {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        }
        "deflate" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(plain).unwrap();
            encoder.finish().unwrap()
        }
        "zstd" => zstd::encode_all(plain, 3).unwrap(),
        _ => plain.to_vec(),
    }
}

fn send(
    server: &Running,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: &[u8],
) -> Reply {
    let mut connection = Connection::open(server.address);
    let mut reply = connection.begin(method, path, &[&[ADMIN], headers].concat(), body);
    reply.body = String::from_utf8(connection.body(&reply)).unwrap();
    reply
}

#[test]
fn bodies_come_in_every_encoding_and_are_bounded_as_plain_ones() {
    let server = Running::start_with("[couchdb]\nmax_document_size = 100000\n");
    assert_eq!(send(&server, ("PUT", "/d"), &[], b"").status, 201);
    for encoding in ["gzip", "deflate", "zstd", "identity"] {
        let coded = [JSON, ("content-encoding", encoding)];
        let path = format!("/d/{encoding}");
        let put = send(
            &server,
            ("PUT", &path),
            &coded,
            &encoded(encoding, b"{\"a\":1}"),
        );
        assert_eq!(put.status, 201, "{encoding}: {}", put.body);
        let got = send(&server, ("GET", &path), &[], b"");
        assert!(got.body.ends_with("\"a\":1}\n"), "{}", got.body);
        let bulk = encoded(encoding, b"{\"docs\":[{},{}]}");
        let posted = send(&server, ("POST", "/d/_bulk_docs"), &coded, &bulk);
        assert_eq!(posted.status, 201, "{encoding}: {}", posted.body);
        if encoding != "identity" {
            let long = format!("{{\"a\":\"{}\"}}", "x".repeat(100_000_000));
            let long = encoded(encoding, long.as_bytes());
            let refused = send(&server, ("PUT", "/d/long"), &coded, &long);
            assert_eq!(refused.status, 413, "{encoding}: {}", refused.body);
            let broken = send(&server, ("PUT", "/d/broken"), &coded, b"{}");
            assert_eq!(broken.status, 400, "{encoding}: {}", broken.body);
        }
    }
    for unknown in ["br", "gzip, gzip", "compress"] {
        let coded = [JSON, ("content-encoding", unknown)];
        let refused = send(&server, ("PUT", "/d/doc"), &coded, b"{}");
        assert_eq!(refused.status, 415);
        assert!(
            refused.body.contains("gzip, deflate, zstd and identity"),
            "{}",
            refused.body
        );
    }
}

#[test]
fn a_post_stands_for_the_method_that_its_header_names_and_for_its_rights() {
    let server = Running::start();
    let named = |method| ("x-http-method-override", method);
    let put = send(&server, ("POST", "/d"), &[JSON, named("PUT")], b"");
    assert_eq!(put.status, 201, "{}", put.body);
    let put = send(&server, ("POST", "/d/doc"), &[JSON, named("PUT")], b"{}");
    assert_eq!(put.status, 201, "{}", put.body);
    assert_eq!(
        send(&server, ("POST", "/d/doc"), &[named("GET")], b"").status,
        200
    );
    // A GET is what it is.
    assert_eq!(
        send(&server, ("GET", "/d"), &[named("DELETE")], b"").status,
        200
    );
    let anonymous = [JSON, named("DELETE")];
    assert_eq!(server.send("POST", "/d", &anonymous, "").status, 401);
    assert_eq!(
        send(&server, ("POST", "/d"), &[named("DELETE")], b"").status,
        200
    );
    assert_eq!(send(&server, ("GET", "/d"), &[], b"").status, 404);
}
