//! Requests that are right, to be changed.

use super::rng::Rng;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use varve_testkit::varve::{ADMIN, PASSWORD};

/// A request: lines of its head without `Content-Length`, and its body.
#[derive(Clone, Debug)]
pub struct Template {
    head: String,
    body: Vec<u8>,
}

impl Template {
    fn new(line: &str, headers: &[&str], body: impl Into<Vec<u8>>) -> Template {
        let login = STANDARD.encode(format!("{ADMIN}:{PASSWORD}"));
        let mut head =
            format!("{line} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic {login}\r\n");
        for header in headers {
            head.push_str(header);
            head.push_str("\r\n");
        }
        let body = body.into();
        Template { head, body }
    }

    /// The request as it is, but for the length of its body.
    pub fn unchanged(&self) -> Vec<u8> {
        let mut head = self.head.clone();
        if !self.head.contains("chunked") {
            head.push_str(&format!("Content-Length: {}\r\n", self.body.len()));
        }
        [head.as_bytes(), b"\r\n", &self.body].concat()
    }

    /// The first line of its head.
    pub fn line(&self) -> &str {
        self.head.lines().next().unwrap()
    }

    /// The bytes of the request with changes in its head or its body. Most say the right length, so that the body is read.
    pub fn changed(&self, rng: &mut Rng) -> Vec<u8> {
        let (mut head, mut body) = (self.head.clone().into_bytes(), self.body.clone());
        if body.is_empty() || rng.one_in(3) {
            rng.mutate(&mut head);
        } else {
            rng.mutate(&mut body);
        }
        let is_chunked = self.head.contains("chunked");
        if !is_chunked && !rng.one_in(8) {
            head.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        [&head[..], b"\r\n", &body].concat()
    }
}

/// Sources of functions, in every role that one may have.
pub fn functions() -> &'static [&'static str] {
    &[
        "function (doc) { emit(doc._id, doc.n); }",
        "function (doc) { for (var i = 0; i < 3; i++) emit([i, doc.n], {a: [1, null, 'x']}); log(doc); }",
        "function (keys, values, rereduce) { return sum(values); }",
        "function (newDoc, oldDoc, userCtx, secObj) { if (!newDoc.n) throw({forbidden: 'no n'}); }",
        "function (doc, req) { doc.n = JSON.parse(req.body).n || 7; return [doc, {headers: {'x-y': 'z'}, json: [1]}]; }",
        "function (doc, req) { return doc.n > 1 && req.query.filter; }",
        "(function () { var re = /^(a|b)+$/; return function (doc) { if (re.test(doc._id)) emit(doc._id.toUpperCase()); }; })()",
    ]
}

const JSON: &str = "Content-Type: application/json";
const RELATED: &str = "--x\r\nContent-Type: application/json\r\n\r\n{\"_attachments\":{\"f\":{\"follows\":true,\
    \"content_type\":\"text/plain\",\"length\":5}}}\r\n--x\r\nContent-Disposition: attachment; filename=\"f\"\r\n\
    Content-MD5: XUFAKrxLKna5cZ2REBfFkg==\r\n\r\nhello\r\n--x--";
const FORM: &str = "--x\r\nContent-Disposition: form-data; name=\"_attachments\"; filename=\"f\"\r\n\
    Content-Type: text/plain\r\n\r\nhello\r\n--x\r\nContent-Disposition: form-data; name=\"_rev\"\r\n\r\n1-a\r\n--x--\r\n";

fn post(path: &str, body: &str) -> Template {
    Template::new(&format!("POST {path}"), &[JSON], body)
}

fn get(path: &str, headers: &[&str]) -> Template {
    Template::new(&format!("GET {path}"), headers, "")
}

/// Requests without a body.
fn heads() -> Vec<Template> {
    vec![
        get(
            "/d/_all_docs?include_docs=true&limit=3&startkey=%22a%22",
            &["Accept: application/json"],
        ),
        get(
            "/d/_changes?since=0&style=all_docs&attachments=true",
            &["If-None-Match: \"x\""],
        ),
        get(
            "/d/a?open_revs=all&revs=true&latest=true",
            &["Accept: multipart/mixed"],
        ),
        get("/d/a/f", &["Range: bytes=1-3", "Accept-Encoding: gzip"]),
        get(
            "/d/_design_docs?keys=[%22a%22]",
            &["X-Forwarded-Proto: https", "Origin: http://x.org"],
        ),
    ]
}

/// Bodies that are no JSON, or come in parts.
fn parts() -> Vec<Template> {
    vec![
        Template::new(
            "PUT /d/a/f?rev=1-a",
            &[
                "Content-Type: text/plain",
                "Content-MD5: XUFAKrxLKna5cZ2REBfFkg==",
            ],
            "hello",
        ),
        Template::new(
            "PUT /d/c",
            &[JSON, "Transfer-Encoding: chunked"],
            "7\r\n{\"a\":1}\r\n0\r\n\r\n",
        ),
        Template::new(
            "PUT /d/m",
            &["Content-Type: multipart/related; boundary=\"x\""],
            RELATED,
        ),
        Template::new(
            "POST /d/m",
            &[
                "Content-Type: multipart/form-data; boundary=x",
                "Origin: http://localhost",
            ],
            FORM,
        ),
        Template::new(
            "POST /_session",
            &["Content-Type: application/x-www-form-urlencoded"],
            format!("name={ADMIN}&password={PASSWORD}&next=%2Fa"),
        ),
    ]
}

/// Bodies in JSON.
fn bodies() -> Vec<Template> {
    vec![
        post(
            "/d/_bulk_get?revs=true&attachments=true",
            r#"{"docs":[{"id":"a","rev":"1-a","atts_since":["1-b"]},{"id":"m"}]}"#,
        ),
        post(
            "/d/_bulk_docs",
            r#"{"new_edits":false,"docs":[{"_id":"a","_rev":"3-c","_revisions":{"start":3,"ids":["c","b","a"]},"x":[1e10]}]}"#,
        ),
        post(
            "/d/_bulk_docs",
            r#"{"docs":[{"_id":"b","_attachments":{"f":{"data":"aGk=","content_type":"a/b"}}},{"_id":"_local/l"}]}"#,
        ),
        post(
            "/d/_find",
            r#"{"selector":{"$or":[{"x":{"$gt":1,"$regex":"^a+$"}},{"y":{"$elemMatch":{"$in":[1,"b"]}}}]},"fields":["_id"],"sort":["_id"]}"#,
        ),
        post(
            "/d/_index",
            r#"{"index":{"fields":[{"x":"asc"}],"partial_filter_selector":{"y":{"$exists":true}}},"type":"json"}"#,
        ),
        post("/d/_revs_diff", r#"{"a":["1-a","2-b"],"b":["3-c"]}"#),
        post("/d/_purge", r#"{"a":["1-a"]}"#),
        post(
            "/d/_all_docs",
            r#"{"queries":[{"keys":["a","b"]},{"limit":1,"descending":true}]}"#,
        ),
        post(
            "/d/_changes?filter=_selector",
            r#"{"selector":{"_id":{"$beginsWith":"a"}}}"#,
        ),
        post(
            "/d/_design/d/_view/v?group=true",
            r#"{"keys":[["a",1],null]}"#,
        ),
    ]
}

/// Commands of Mercurial's protocol.
fn commands() -> Vec<Template> {
    vec![
        get(
            "/hg/r?cmd=batch",
            &["X-HgArg-1: cmds=heads+%3Bknown+nodes%3D0000000000000000000000000000000000000000"],
        ),
        get(
            "/hg/r?cmd=getbundle",
            &["X-HgArg-1: cg=1&bundlecaps=HG20%2Cbundle2%3DHG20%250Achangegroup%253D01%252C02"],
        ),
        get(
            "/hg/r?cmd=stream_out",
            &["X-HgProto-1: 0.1 0.2 comp=zstd,zlib,none"],
        ),
        get("/hg/r?cmd=listkeys&namespace=phases", &[]),
        Template::new(
            "POST /hg/r?cmd=pushkey",
            &["X-HgArgs-Post: 53"],
            "namespace=bookmarks&key=b&old=&new=0000000000000000",
        ),
    ]
}

/// Requests of all kinds; `bundles` are pushed.
pub fn templates(bundles: &[Vec<u8>]) -> Vec<Template> {
    let mut all = [heads(), parts(), bodies(), commands()].concat();
    let push = [
        "Content-Type: application/mercurial-0.1",
        "X-HgArg-1: heads=666f726365",
    ];
    let pushes = bundles
        .iter()
        .map(|bundle| Template::new("POST /hg/r?cmd=unbundle", &push, bundle.clone()));
    all.extend(pushes.cycle().take(2 * bundles.len()));
    all
}
