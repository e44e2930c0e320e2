//! Feeds that wait: they tell of commits, and end when there is nothing left to wait for.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::client::{ADMIN, Running};

const JSON: (&str, &str) = ("content-type", "application/json");

/// A feed that is read line by line as it comes.
struct Feed(BufReader<TcpStream>);

impl Feed {
    fn open(server: &Running, query: &str) -> Feed {
        Feed::of(server, &format!("/db/_changes?{query}"))
    }

    fn of(server: &Running, path: &str) -> Feed {
        let mut stream = TcpStream::connect(server.address).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(30)))
            .unwrap();
        let (name, value) = ADMIN;
        let head = format!("GET {path} HTTP/1.1\r\nhost: varve.test\r\n{name}: {value}\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        Feed(BufReader::new(stream))
    }

    /// The next line that begins with `start`; framing and headers are passed over.
    fn line(&mut self, start: &str) -> String {
        loop {
            let mut line = String::new();
            let read = self.0.read_line(&mut line).unwrap();
            assert!(read > 0, "the feed ended before {start:?}");
            if line.starts_with(start) {
                return line.trim_end().to_owned();
            }
        }
    }
}

fn database() -> Running {
    let server = Running::start();
    assert_eq!(server.send("PUT", "/db", &[ADMIN], "").status, 201);
    server
}

fn put(server: &Running, id: &str, body: &str) {
    let reply = server.send("PUT", &format!("/db/{id}"), &[ADMIN, JSON], body);
    assert_eq!(reply.status, 201, "{reply:?}");
}

#[test]
fn a_continuous_feed_tells_of_commits_and_ends_with_its_database() {
    let server = database();
    put(&server, "before", "{}");
    let mut feed = Feed::open(&server, "feed=continuous&heartbeat=50&include_docs=true");
    assert!(feed.line("{").contains("\"id\":\"before\""));
    // A heartbeat is an empty line, in a chunk of its own.
    assert_eq!(feed.line("1\r"), "1");
    put(&server, "after", r#"{"x":1}"#);
    let line = feed.line("{");
    assert!(
        line.contains("\"seq\":\"2-") && line.ends_with(",\"x\":1}}"),
        "{line}"
    );
    assert_eq!(server.send("DELETE", "/db", &[ADMIN], "").status, 200);
    assert!(feed.line("{").starts_with("{\"last_seq\":\"2-"));
    assert_eq!(feed.line("0"), "0", "the last chunk");
}

#[test]
fn a_longpoll_ends_with_the_first_change_that_passes_its_filter() {
    let server = database();
    let mut feed = Feed::open(
        &server,
        "feed=longpoll&since=now&filter=_doc_ids&doc_ids=[%22b%22]",
    );
    feed.line("{\"results\"");
    put(&server, "a", "{}");
    put(&server, "b", "{}");
    assert!(feed.line("{\"seq\"").contains("\"id\":\"b\""));
    assert!(feed.line("\"last_seq\"").starts_with("\"last_seq\":\"2-"));
}

#[test]
fn filters_choose_among_all_leaves() {
    let server = database();
    put(
        &server,
        "_design/t",
        r#"{"filters":{"f":"function (doc, req) { return doc.v === req.query.v; }"}}"#,
    );
    let docs = r#"{"new_edits":false,"docs":[{"_id":"c","_rev":"1-aa","v":"x"},{"_id":"c","_rev":"1-bb","v":"y"}]}"#;
    let reply = server.send("POST", "/db/_bulk_docs", &[ADMIN, JSON], docs);
    assert_eq!(reply.status, 201);
    let get = |query: &str| {
        let path = format!("/db/_changes?filter=t/f&{query}");
        server.send("GET", &path, &[ADMIN], "").body
    };
    assert!(get("v=y").contains(r#""changes":[{"rev":"1-bb"}]"#));
    assert!(
        get("v=x").contains("\"results\":[\n],"),
        "only the winner is asked for"
    );
    assert!(get("v=x&style=all_docs").contains(r#""changes":[{"rev":"1-aa"}]"#));
}

#[test]
fn a_sequence_of_a_deleted_database_begins_anew() {
    let server = database();
    put(&server, "a", "{}");
    let reply = server.send("GET", "/db/_changes", &[ADMIN], "");
    let (_, rest) = reply.body.split_once("\"last_seq\":\"").unwrap();
    let since = rest.split('"').next().unwrap().to_owned();
    let later = |since: &str| {
        let path = format!("/db/_changes?since={since}");
        server.send("GET", &path, &[ADMIN], "").body
    };
    assert!(!later(&since).contains("\"id\":\"a\""));
    assert_eq!(server.send("DELETE", "/db", &[ADMIN], "").status, 200);
    assert_eq!(server.send("PUT", "/db", &[ADMIN], "").status, 201);
    put(&server, "a", "{}");
    assert!(later(&since).contains("\"id\":\"a\""));
}

#[test]
fn sequences_are_told_as_often_as_asked() {
    let server = database();
    for id in ["a", "b", "c", "d", "e"] {
        put(&server, id, "{}");
    }
    let path = "/db/_changes?seq_interval=2";
    let reply = server.send("GET", path, &[ADMIN], "");
    let answer: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    let results = answer["results"].as_array().unwrap();
    let told: Vec<bool> = results.iter().map(|row| row["seq"].is_string()).collect();
    assert_eq!(told, [true, false, true, false, true]);
    assert!(answer["last_seq"].as_str().unwrap().starts_with("5-"));
    let reply = server.send("GET", "/db/_changes?limit=0", &[ADMIN], "");
    let answer: serde_json::Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(answer["results"].as_array().unwrap().len(), 1);
    assert_eq!(answer["pending"], 4);
}

#[test]
fn an_event_source_goes_on_behind_its_last_event() {
    let server = database();
    put(&server, "a", "{}");
    let mut feed = Feed::open(&server, "feed=eventsource&heartbeat=20");
    assert!(feed.line("data: {").contains("\"id\":\"a\""));
    let id = feed.line("id: ");
    let id = id.trim_start_matches("id: ").trim_matches('"').to_owned();
    feed.line("event: heartbeat");
    put(&server, "b", "{}");
    assert!(feed.line("data: {").contains("\"id\":\"b\""));
    let mut again = Feed::open(
        &server,
        &format!("feed=eventsource&last-event-id={id}&limit=1"),
    );
    assert!(again.line("data: {").contains("\"id\":\"b\""));
}

#[test]
fn what_happens_to_databases_is_told() {
    let server = database();
    let mut feed = Feed::of(
        &server,
        "/_db_updates?feed=continuous&since=now&heartbeat=20",
    );
    assert_eq!(feed.line("1\r"), "1", "a heartbeat");
    assert_eq!(server.send("PUT", "/other", &[ADMIN], "").status, 201);
    let line = feed.line("{");
    assert!(
        line.starts_with(r#"{"db_name":"other","type":"created","seq":""#),
        "{line}"
    );
    put(&server, "a", "{}");
    assert!(
        feed.line("{")
            .starts_with(r#"{"db_name":"db","type":"updated""#)
    );
    assert_eq!(server.send("DELETE", "/other", &[ADMIN], "").status, 200);
    assert!(
        feed.line("{")
            .starts_with(r#"{"db_name":"other","type":"deleted""#)
    );
    let get = |query: &str| -> serde_json::Value {
        let reply = server.send("GET", &format!("/_db_updates?{query}"), &[ADMIN], "");
        serde_json::from_str(&reply.body).unwrap()
    };
    let all = get("");
    let types: Vec<_> = all["results"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| &row["type"])
        .collect();
    assert_eq!(types, ["updated", "deleted"]);
    let since = all["last_seq"].as_str().unwrap();
    assert_eq!(
        get(&format!("since={since}"))["results"],
        serde_json::json!([])
    );
    assert_eq!(get("limit=1")["results"].as_array().unwrap().len(), 1);
    let mut poll = Feed::of(
        &server,
        &format!("/_db_updates?feed=longpoll&since={since}"),
    );
    poll.line("{\"results\"");
    put(&server, "b", "{}");
    assert!(poll.line("{\"db_name\"").contains("\"updated\""));
    poll.line("\"last_seq\"");
    let mut events = Feed::of(&server, "/_db_updates?feed=eventsource&limit=1");
    assert!(events.line("data: {").contains("\"deleted\""));
    events.line("id: \"");
    assert_eq!(server.get("/_db_updates").status, 401);
}

#[test]
fn five_hundred_feeds_see_one_write() {
    let server = database();
    let kinds = ["longpoll", "continuous"];
    let open = |n: usize| Feed::open(&server, &format!("feed={}&since=now", kinds[n % 2]));
    let mut feeds: Vec<Feed> = (0..500).map(open).collect();
    for feed in &mut feeds {
        feed.line("HTTP/1.1 200");
    }
    // Feeds that have not looked at the database yet would not miss it: they begin where it was.
    put(&server, "news", "{}");
    for (number, feed) in feeds.iter_mut().enumerate() {
        let line = feed.line("{\"seq\"");
        assert!(line.contains("\"id\":\"news\""), "{number}: {line}");
    }
    for feed in feeds.iter_mut().step_by(2) {
        assert!(feed.line("\"last_seq\"").contains("\"pending\":0"));
    }
}

#[test]
fn a_number_that_was_never_a_sequence_is_refused() {
    let server = database();
    put(&server, "a", "{}");
    let newest = server.send("GET", "/db/_changes?since=1", &[ADMIN], "");
    assert_eq!(newest.status, 200);
    let malformed = "{\"error\":\"bad_request\",\"reason\":\"Malformed sequence supplied in 'since' parameter.\"}\n";
    let beyond = server.send("GET", "/db/_changes?since=2", &[ADMIN], "");
    assert_eq!((beyond.status, beyond.body.as_str()), (400, malformed));
    let last = ("last-event-id", "99999");
    let path = "/db/_changes?feed=eventsource&timeout=100&since=0";
    let beyond = server.send("GET", path, &[ADMIN, last], "");
    assert_eq!((beyond.status, beyond.body.as_str()), (400, malformed));
}
