//! The console at `/_utils/`, and the policies of pages that hold what others have sent.

use crate::client::{ADMIN, Connection, Reply, Running};
use crate::compaction::{JSON, call};
use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::io::Read;

const GZIP: (&str, &str) = ("accept-encoding", "gzip");
const POLICY: &str = "content-security-policy";

/// The longest script of the page.
fn script(server: &Running) -> String {
    let page = server.get("/_utils/");
    let names = page.body.split("src=\"").skip(1);
    let name = names.filter_map(|rest| rest.split('"').next());
    let name = name.into_iter().find(|name| name.contains("/vendor."));
    format!(
        "/_utils/{}",
        name.unwrap_or_else(|| panic!("{}", page.body))
    )
}

fn fetch(server: &Running, path: &str, headers: &[(&str, &str)]) -> (Reply, Vec<u8>) {
    let mut connection = Connection::open(server.address);
    let reply = connection.begin("GET", path, headers, "");
    let body = connection.body(&reply);
    (reply, body)
}

#[test]
fn the_page_is_below_a_slash() {
    let server = Running::start();
    for (path, to) in [
        ("/_utils", "http://varve.test/_utils/"),
        ("/_utils?a=b", "http://varve.test/_utils/?a=b"),
    ] {
        let moved = server.get(path);
        assert_eq!((moved.status, moved.header("location")), (301, Some(to)));
    }
    for path in ["/_utils/", "/_utils/index.html"] {
        let page = server.get(path);
        assert_eq!(page.status, 200);
        assert_eq!(
            page.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        assert_eq!(page.header("cache-control"), Some("no-cache"));
        assert!(page.body.contains("<title>Project Fauxton</title>"));
    }
    let licence = server.get("/_utils/LICENSE");
    assert!(licence.body.contains("Apache License"));
    let manual = server.get("/_utils/docs/intro/api.html");
    let to = "https://docs.couchdb.org/en/stable/intro/api.html";
    assert_eq!((manual.status, manual.header("location")), (302, Some(to)));
    for path in [
        "/_utils/nothing",
        "/_utils/dashboard.assets/",
        "/_utils/../varve.ini",
        "/_utils/%2e%2e/varve.ini",
    ] {
        assert_eq!(server.get(path).status, 404, "{path}");
    }
    let refused = server.send("POST", "/_utils/", &[ADMIN, JSON], "{}");
    assert_eq!(
        (refused.status, refused.header("allow")),
        (405, Some("GET,HEAD"))
    );
}

#[test]
fn scripts_come_as_gzip_to_clients_that_accept_it() {
    let server = Running::start();
    let path = script(&server);
    let (packed, packed_bytes) = fetch(&server, &path, &[GZIP]);
    let (plain, plain_bytes) = fetch(&server, &path, &[]);
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert_eq!(plain.header("content-encoding"), None);
    assert!(packed_bytes.len() * 3 < plain_bytes.len());
    let mut unpacked = Vec::new();
    GzDecoder::new(&packed_bytes[..])
        .read_to_end(&mut unpacked)
        .unwrap();
    assert!(unpacked == plain_bytes, "the forms differ");
    for reply in [&packed, &plain] {
        assert_eq!(reply.header("vary"), Some("Accept-Encoding"));
        let kept = "public, max-age=31536000, immutable";
        assert_eq!(reply.header("cache-control"), Some(kept));
        assert_eq!(
            reply.header("content-type"),
            Some("text/javascript; charset=utf-8")
        );
    }
    // Each form has its tag, and only that is answered without a body.
    let (of_packed, of_plain) = (
        packed.header("etag").unwrap(),
        plain.header("etag").unwrap(),
    );
    assert_ne!(of_packed, of_plain);
    for (tag, headers, status) in [
        (of_packed, vec![GZIP], 304),
        (of_plain, vec![], 304),
        (of_plain, vec![GZIP], 200),
    ] {
        let headers = [headers, vec![("if-none-match", tag)]].concat();
        let mut connection = Connection::open(server.address);
        let reply = connection.begin("GET", &path, &headers, "");
        assert_eq!(reply.status, status);
    }
    let head = server.send("HEAD", &path, &[GZIP], "");
    assert_eq!(
        head.header("content-length"),
        packed.header("content-length")
    );
    assert_eq!(head.header("etag"), Some(of_packed));
}

#[test]
fn a_login_is_asked_for_where_it_is_required() {
    let server = Running::start_with("[chttpd]\nrequire_valid_user = true\n");
    let refused = server.get("/_utils/");
    assert_eq!(refused.status, 401);
    assert!(
        refused
            .header("www-authenticate")
            .unwrap()
            .starts_with("Basic")
    );
    assert_eq!(server.send("GET", "/_utils/", &[ADMIN], "").status, 200);
}

/// A server with an attachment, a show, a list and rewrites, each with a page.
fn with_pages() -> Running {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    let own = "{ headers: { 'Content-Security-Policy': 'sandbox allow-scripts' }, body: '<p>' }";
    let design = json!({
        "shows": {"page": "function () { return '<p>' }"},
        "lists": {"page": "function () { return '<p>' }"},
        "updates": {"page": "function () { return [null, '<p>'] }"},
        "views": {"all": {"map": "function (doc) { emit(doc._id) }"}},
        "rewrites": format!("function (req) {{ return {own} }}").replace("headers", "code: 200, headers"),
        "_attachments": {"page.html": {"content_type": "text/html", "data": "PHA+"}},
    });
    call(&mut connection, "PUT", "/db/_design/d", &design);
    server
}

const SHOW: &str = "/db/_design/d/_show/page";
const LIST: &str = "/db/_design/d/_list/page/all";
const ATTACHMENT: &str = "/db/_design/d/page.html";
const REWRITE: &str = "/db/_design/d/_rewrite/any";
const UPDATE: &str = "/db/_design/d/_update/page";

/// All values of a header of a page.
fn policies(server: &Running, path: &str, name: &str) -> Vec<String> {
    let method = if path == UPDATE { "POST" } else { "GET" };
    let reply = server.send(method, path, &[ADMIN, JSON], "");
    assert_eq!(reply.status, 200, "{path}: {}", reply.body);
    let found = reply.headers.iter().filter(|(key, _)| key == name);
    found.map(|(_, value)| value.clone()).collect()
}

fn set(server: &Running, key: &str, value: &str) {
    let path = format!("/_node/_local/_config/csp/{key}");
    let reply = server.send("PUT", &path, &[ADMIN, JSON], &json!(value).to_string());
    assert_eq!(reply.status, 200, "{}", reply.body);
    assert_eq!(reply.header("x-varve-restart"), None);
}

#[test]
fn pages_of_others_are_in_a_sandbox_by_default() {
    let server = with_pages();
    for path in [SHOW, LIST, UPDATE, ATTACHMENT] {
        assert_eq!(policies(&server, path, POLICY), ["sandbox"], "{path}");
    }
    // A browser keeps to both, so a function cannot open its sandbox.
    let both = ["sandbox", "sandbox allow-scripts"];
    assert_eq!(policies(&server, REWRITE, POLICY), both);
    let console = policies(&server, "/_utils/", POLICY);
    assert!(console[0].starts_with("default-src 'self'"), "{console:?}");
    assert!(!console[0].contains("unsafe-eval"), "{console:?}");
}

#[test]
fn pages_that_browsers_have_kept_get_the_policy_of_now() {
    let server = with_pages();
    for path in [SHOW, LIST, ATTACHMENT, "/_utils/"] {
        let page = server.send("GET", path, &[ADMIN], "");
        let tag = page.header("etag").unwrap();
        let kept = server.send("GET", path, &[ADMIN, ("if-none-match", tag)], "");
        assert_eq!(kept.status, 304, "{path}");
        assert_eq!(kept.header(POLICY), page.header(POLICY), "{path}");
        assert!(kept.header(POLICY).is_some(), "{path}");
    }
}

#[test]
fn each_policy_can_be_changed_while_the_server_runs() {
    let server = with_pages();
    let groups = [
        ("utils", vec!["/_utils/", "/_utils/index.html"]),
        ("attachments", vec![ATTACHMENT]),
        ("showlist", vec![SHOW, LIST, UPDATE]),
    ];
    for (name, paths) in &groups {
        set(
            &server,
            &format!("{name}_header_value"),
            &format!("img-src {name}.test"),
        );
        for path in paths {
            assert_eq!(
                policies(&server, path, POLICY),
                [format!("img-src {name}.test")]
            );
        }
    }
    set(&server, "report_only", "true");
    for (name, paths) in &groups {
        for path in paths {
            assert_eq!(policies(&server, path, POLICY), [""; 0]);
            let reported = policies(&server, path, "content-security-policy-report-only");
            assert_eq!(reported, [format!("img-src {name}.test")]);
        }
        set(&server, &format!("{name}_enable"), "false");
    }
    for path in groups.iter().flat_map(|(_, paths)| paths) {
        for name in [POLICY, "content-security-policy-report-only"] {
            assert_eq!(policies(&server, path, name), [""; 0], "{path}");
        }
    }
    // What a function sets by itself stays.
    assert_eq!(
        policies(&server, REWRITE, POLICY),
        ["sandbox allow-scripts"]
    );
    for (key, value) in [("utils_header_value", "\u{e9}"), ("report_only", "maybe")] {
        let path = format!("/_node/_local/_config/csp/{key}");
        let reply = server.send("PUT", &path, &[ADMIN, JSON], &json!(value).to_string());
        assert_eq!(reply.status, 400, "{key}: {}", reply.body);
    }
}
