//! Functions that answer requests.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use varve_js::{
    FilterEngine, HostEnded, JsError, Limits, ListHost, Listed, RenderEngine, Rendered, Rewritten,
};

fn engine(source: &str) -> RenderEngine {
    RenderEngine::compile(source, b"{\"word\":\"here\"}", Limits::default()).unwrap()
}

fn request(accept: Option<&str>, format: Option<&str>, segments: usize) -> String {
    let accept = accept.map_or(String::new(), |accept| format!("\"Accept\":\"{accept}\""));
    let format = format.map_or(String::new(), |format| format!("\"format\":\"{format}\""));
    let path = vec!["\"x\""; segments].join(",");
    format!("{{\"headers\":{{{accept}}},\"query\":{{{format}}},\"path\":[{path}]}}")
}

/// The answer of a show to a document, or to none.
fn shown(source: &str, document: Option<&str>, request: &str) -> Result<Rendered, JsError> {
    engine(source).show(document.map(str::as_bytes), request.as_bytes())
}

fn returned(text: &str) -> Result<Rendered, JsError> {
    Ok(Rendered::Returned(text.to_owned()))
}

fn refused(text: &str) -> Result<Rendered, JsError> {
    Ok(Rendered::Refused(text.to_owned()))
}

#[test]
fn shows_return_texts_objects_and_what_they_sent() {
    for (source, response) in [
        ("function () { return 'a' }", r#"{"body":"a"}"#),
        (
            "function () { return {code: 201, json: [1]} }",
            r#"{"code":201,"json":[1]}"#,
        ),
        ("function () {}", "{}"),
        ("function () { return '' }", "{}"),
        ("function () { return this.word }", r#"{"body":"here"}"#),
        (
            "function () { return {body: '' + getRow()} }",
            r#"{"body":"null"}"#,
        ),
        (
            "function () { start({'X-A': 'yes'}); send('a'); send(1); return 'b' }",
            r#"{"body":"a1b","headers":{"X-A":"yes"}}"#,
        ),
        (
            "function () { start({'X-A': 'yes'}); send('a'); return {headers: {'X-B': 'b'}, body: 'c'} }",
            r#"{"headers":{"X-B":"b","X-A":"yes"},"body":"ac"}"#,
        ),
    ] {
        let shown = shown(source, Some("{}"), &request(None, None, 6));
        assert_eq!(shown, returned(response), "{source}");
    }
}

#[test]
fn shows_fail_with_their_own_words_and_as_missing_where_they_expect_a_document() {
    let fails = "function (doc) { return doc._id }";
    let missing = refused(r#"["not_found","document not found"]"#);
    assert_eq!(shown(fails, None, &request(None, None, 6)), missing);
    let message = "TypeError: cannot read property '_id' of null".to_owned();
    let thrown = Err(JsError::Thrown { message });
    assert_eq!(shown(fails, None, &request(None, None, 5)), thrown);
    let own = "function () { throw ['error', 'gone', 'away'] }";
    let gone = refused(r#"["gone","away"]"#);
    assert_eq!(shown(own, Some("{}"), &request(None, None, 6)), gone);
    for other in ["function () { return 5 }", "function () { return [] }"] {
        let undefined = refused(r#"["render_error","undefined response from show function"]"#);
        let shown = shown(other, None, &request(None, None, 5));
        assert_eq!(shown, undefined, "{other}");
    }
}

/// A show that provides three types, one of its own.
const PROVIDES: &str = "function () { \
    registerType('foo', 'application/foo', 'application/x-foo'); \
    provides('html', function () { return 'html' + this.word }); \
    provides('foo', function () { send('f'); return 'oo' }); \
    provides('json', function () { return {body: '{}', code: 404} }) }";

#[test]
fn the_provided_type_that_fits_best_is_chosen() {
    let html = "text/html; charset=utf-8";
    for (accept, format, expected, body) in [
        (None, None, html, "htmlhere"),
        (Some("*/*"), None, html, "htmlhere"),
        (Some("*"), None, html, "htmlhere"),
        (Some("text/html;text/plain;*/*"), None, html, "htmlhere"),
        (Some("application/foo"), None, "application/foo", "foo"),
        (
            Some("application/x-foo, text/*;q=0.2"),
            None,
            "application/x-foo",
            "foo",
        ),
        (
            Some("text/x-json;q=0.3, text/html;q=0.2"),
            None,
            "text/x-json",
            "{}",
        ),
        (
            Some("image/png, application/json;q=0.1"),
            None,
            "application/json",
            "{}",
        ),
        (
            Some("application/*, text/html;q=0.5"),
            None,
            html,
            "htmlhere",
        ),
        (Some("image/png"), Some("json"), "application/json", "{}"),
    ] {
        let shown = shown(PROVIDES, Some("{}"), &request(accept, format, 6));
        let body = body.replace('"', "\\\"");
        let response =
            format!("{{\"body\":\"{body}\",\"headers\":{{\"Content-Type\":\"{expected}\"}}}}");
        assert_eq!(shown, returned(&response), "{accept:?} {format:?}");
    }
    let words = "not supported, try one of: application/json, text/x-json, application/foo, \
                 application/x-foo, text/html; charset=utf-8";
    for accept in ["image/png", "text/html;q=0"] {
        let shown = shown(PROVIDES, Some("{}"), &request(Some(accept), None, 6));
        let text = format!("[\"not_acceptable\",\"Content-Type {accept} {words}\"]");
        assert_eq!(shown, refused(&text));
    }
    let known = shown(PROVIDES, Some("{}"), &request(None, Some("css"), 6));
    assert!(matches!(known, Ok(Rendered::Refused(_))), "{known:?}");
    let unknown = shown(PROVIDES, Some("{}"), &request(None, Some("nothing"), 6));
    assert!(
        matches!(unknown, Err(JsError::Thrown { .. })),
        "{unknown:?}"
    );
    let order = "function () { provides('text', function () { send('4'); send('5'); return '6' }); \
        send('1'); send('2'); return '3' }";
    let shown = shown(order, None, &request(None, Some("text"), 6));
    let Ok(Rendered::Returned(response)) = shown else {
        panic!("{shown:?}");
    };
    assert!(response.contains("\"body\":\"123456\""), "{response}");
}

#[test]
fn calls_leave_nothing_behind() {
    let source = "function (doc) { if (doc.first) { registerType('mine', 'a/b'); \
        provides('mine', function () { return 'mine' }); send('rest'); start({A: 'a'}); throw 'no' } \
        try { provides('mine', function () {}); return 'x' } finally { send = getRow = null } }";
    let mut engine = engine(source);
    let request = request(None, None, 6);
    engine
        .show(Some(b"{\"first\":true}"), request.as_bytes())
        .unwrap_err();
    let second = engine.show(Some(b"{}"), request.as_bytes());
    let message = "TypeError: cannot read property '0' of undefined".to_owned();
    assert_eq!(
        second,
        Err(JsError::Thrown { message }),
        "the type is unknown again"
    );
    let logs = "function (doc) { log(new Array(1 << 20).join('x')); return true }";
    let mut filter = FilterEngine::compile(logs, b"{}", Limits::default()).unwrap();
    for _ in 0..100 {
        assert_eq!(filter.passes(b"{}", b"{}"), Ok(true));
    }
}

/// Rows from 0 on; keeps what it gets.
#[derive(Debug, Default)]
struct Host {
    rows: usize,
    given: usize,
    ends_at: Option<usize>,
    /// Responses and pieces in order.
    got: Vec<String>,
}

impl ListHost for Host {
    fn next_row(&mut self, row: &mut Vec<u8>) -> Result<bool, HostEnded> {
        if self.ends_at == Some(self.given) {
            return Err(HostEnded);
        }
        let has_more = self.given < self.rows;
        if has_more {
            row.extend_from_slice(format!("{{\"key\":{}}}", self.given).as_bytes());
            self.given += 1;
        }
        Ok(has_more)
    }

    fn open(&mut self, response: &str) -> Result<(), HostEnded> {
        self.got.push(response.to_owned());
        Ok(())
    }

    fn write(&mut self, text: &str) -> Result<(), HostEnded> {
        self.got.push(text.to_owned());
        Ok(())
    }
}

fn listed(source: &str, host: Host) -> (Result<Listed, JsError>, Host) {
    let host = Rc::new(RefCell::new(host));
    let shared: Rc<RefCell<dyn ListHost>> = Rc::<RefCell<Host>>::clone(&host);
    let request = request(Some("text/html"), None, 6);
    let outcome = engine(source).list((shared, true), b"{\"total_rows\":3}", request.as_bytes());
    (outcome, Rc::try_unwrap(host).unwrap().into_inner())
}

fn rows(rows: usize) -> Host {
    Host {
        rows,
        ..Host::default()
    }
}

#[test]
fn lists_pull_rows_and_send_as_they_go() {
    let all = "var row; while (row = getRow()) send(row.key);";
    for (source, count, got) in [
        (
            format!("function (head) {{ send(head.total_rows); {all} return 'e' }}"),
            3,
            vec!["{}", "3012e"],
        ),
        (
            format!("function () {{ {all} getRow(); return toJSON(getRow()) }}"),
            1,
            vec!["{}", "0null"],
        ),
        ("function () { return ' ' }".to_owned(), 3, vec!["{}", " "]),
        ("function () {}".to_owned(), 3, vec!["{}"]),
        (
            "function () { send('a'); for (var i = 0; i < 2; i++) getRow() }".to_owned(),
            9,
            vec!["{}", "a"],
        ),
        (
            "function () { getRow(); start({code: 400}); send('bad') }".to_owned(),
            3,
            vec!["{\"code\":400}", "bad"],
        ),
        (
            "function () { send('a'); getRow(); start({code: 400}); send('bad') }".to_owned(),
            3,
            vec!["{}", "abad"],
        ),
        (
            format!("function () {{ provides('html', function () {{ {all} return 't' }}) }}"),
            2,
            vec![
                "{\"headers\":{\"Content-Type\":\"text/html; charset=utf-8\"}}",
                "01t",
            ],
        ),
        (
            "function () { send('\\ud800') }".to_owned(),
            0,
            vec!["{}", "\u{fffd}"],
        ),
    ] {
        let (outcome, host) = listed(&source, rows(count));
        let (response, body) = host.got.split_first().unwrap();
        let (wanted, text) = got.split_first().unwrap();
        assert_eq!(outcome, Ok(Listed::Whole), "{source}");
        assert_eq!(
            (response.as_str(), body.concat()),
            (*wanted, text.concat()),
            "{source}"
        );
    }
    // Long output comes in pieces.
    let long = "function () { while (getRow()) send(new Array(1001).join('x')) }";
    let (outcome, host) = listed(long, rows(100));
    assert_eq!(outcome, Ok(Listed::Whole));
    assert!(host.got.len() > 4, "{}", host.got.len());
    assert_eq!(host.got[1..].concat().len(), 100_000);
}

#[test]
fn a_failing_list_keeps_what_it_had_sent_before_its_last_row() {
    let source = "function () { send('head'); getRow(); send('lost'); send(nothing) }";
    let (outcome, host) = listed(source, rows(1));
    assert_eq!(
        outcome.unwrap_err().to_string(),
        "ReferenceError: nothing is not defined"
    );
    assert_eq!(host.got, ["{}", "head"]);
    let (outcome, host) = listed(
        "function () { send('lost'); throw {error: 'a', reason: 'b'} }",
        rows(1),
    );
    assert_eq!(outcome, Ok(Listed::Refused("[\"a\",\"b\"]".to_owned())));
    assert!(host.got.is_empty());
}

#[test]
fn a_list_has_its_time_for_each_row_and_ends_with_its_host() {
    let limits = Limits {
        time: Duration::from_millis(200),
        ..Limits::default()
    };
    let run = |source: &str, mut host: Host, renews| {
        host.rows = host.rows.max(3);
        let host = Rc::new(RefCell::new(host));
        let shared: Rc<RefCell<dyn ListHost>> = Rc::<RefCell<Host>>::clone(&host);
        let mut engine = RenderEngine::compile(source, b"{}", limits).unwrap();
        let outcome = engine.list((shared, renews), b"{}", b"{}");
        (outcome, host.borrow().given)
    };
    let works = "function () { var row; while (row = getRow()) for (var i = 0; i < 300000; i++) row.key += i }";
    let (outcome, given) = run(works, rows(60), true);
    assert_eq!((outcome, given), (Ok(Listed::Whole), 60));
    let time = Err(JsError::Time { limit: limits.time });
    let (outcome, given) = run(works, rows(6000), false);
    assert_eq!(outcome, time);
    assert!(given < 6000, "{given}");
    for endless in [
        "function () { while (getRow() || true) ; }",
        "function () { while (true) try { getRow() } catch (e) {} }",
    ] {
        assert_eq!(run(endless, rows(3), true).0, time, "{endless}");
    }
    let mut ends = rows(9);
    ends.ends_at = Some(2);
    let catches =
        "function () { for (var i = 0; i < 99; i++) try { getRow() } catch (e) {} return 'x' }";
    assert_eq!(run(catches, ends, true), (Err(JsError::Interrupted), 2));
}

#[test]
fn rewrites_name_another_request_or_refuse() {
    for (source, expected) in [
        (
            "function (r) { return '_show/' + r.path[4] }",
            Ok(Rewritten::To("{\"path\":\"_show/x\"}".into())),
        ),
        (
            "function () { return {path: 'a', method: 'PUT'} }",
            Ok(Rewritten::To("{\"path\":\"a\",\"method\":\"PUT\"}".into())),
        ),
        ("function () {}", Ok(Rewritten::Nowhere)),
        (
            "function () { throw {forbidden: 'no'} }",
            Ok(Rewritten::Forbidden("no".into())),
        ),
        (
            "function () { throw {unauthorized: 'who'} }",
            Ok(Rewritten::Unauthorized("who".into())),
        ),
        (
            "function () { throw ['error', 'a', 'b'] }",
            Ok(Rewritten::Refused("[\"a\",\"b\"]".into())),
        ),
        (
            "function () { throw new Error('e') }",
            Err(JsError::Thrown {
                message: "Error: e".into(),
            }),
        ),
    ] {
        let request = request(None, None, 5);
        assert_eq!(
            engine(source).rewrite(request.as_bytes()),
            expected,
            "{source}"
        );
    }
}
