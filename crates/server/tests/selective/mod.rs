//! Feeds that show few of the changes: what they look at, and that an index changes no answer.

mod equal;
mod files;

use crate::client::{ADMIN, Connection, Running};
use crate::compaction::{JSON, call};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Far more than any build takes.
const LIMIT: Duration = Duration::from_secs(120);

/// A feed: its query, and its body if it is a POST.
#[derive(Clone, Debug)]
struct Feed {
    query: String,
    body: Option<Value>,
}

impl Feed {
    fn get(query: &str) -> Feed {
        let query = query.to_owned();
        Feed { query, body: None }
    }

    fn of_selector(selector: &Value) -> Feed {
        Feed {
            query: "filter=_selector".to_owned(),
            body: Some(json!({"selector": selector})),
        }
    }

    fn with(&self, further: &str) -> Feed {
        Feed {
            query: format!("{}&{further}", self.query),
            body: self.body.clone(),
        }
    }
}

/// A server, and a connection to it.
struct Client {
    server: Running,
    connection: Connection,
}

impl Client {
    /// Filters get an index as soon as they were asked about so many changes.
    fn start(after: u32, settings: &str) -> Client {
        let settings = format!("[views]\nfilter_index_after = {after}\n{settings}");
        Client::of(Running::start_with(&settings))
    }

    fn of(server: Running) -> Client {
        let connection = Connection::open(server.address);
        Client { server, connection }
    }

    fn call(&mut self, method: &str, path: &str, body: &Value) -> Value {
        call(&mut self.connection, method, path, body)
    }

    fn write(&mut self, docs: &[Value]) -> Value {
        self.call("POST", "/db/_bulk_docs", &json!({"docs": docs}))
    }

    /// The answer as text, with its status.
    fn ask(&mut self, feed: &Feed) -> String {
        self.ask_of("db", feed)
    }

    fn ask_of(&mut self, database: &str, feed: &Feed) -> String {
        let path = format!("/{database}/_changes?{}", feed.query);
        let (method, body) = match &feed.body {
            Some(body) => ("POST", body.to_string()),
            None => ("GET", String::new()),
        };
        let reply = self.connection.send(method, &path, &[ADMIN, JSON], &body);
        format!("{} {}", reply.status, reply.body)
    }

    /// Answers to feeds, and how many changes were looked at for each.
    fn ask_and_count(&mut self, feed: &Feed) -> (String, u64) {
        let before = self.looked_at();
        let answer = self.ask(feed);
        (answer, self.looked_at() - before)
    }

    /// Changes that feeds have looked at.
    fn looked_at(&mut self) -> u64 {
        let path = "/_node/_local/_prometheus";
        let reply = self.connection.send("GET", path, &[ADMIN], "");
        let mut lines = reply.body.lines();
        let count = lines.find_map(|line| line.strip_prefix("varve_feed_changes_total "));
        count.unwrap().parse().unwrap()
    }

    /// Asks until few enough changes are looked at; the answer is the same each time.
    fn ask_until_indexed(&mut self, feed: &Feed, few: u64) -> String {
        let begin = Instant::now();
        let first = self.ask(feed);
        loop {
            let (answer, count) = self.ask_and_count(feed);
            assert_eq!(answer, first);
            if count <= few {
                return answer;
            }
            assert!(begin.elapsed() < LIMIT, "{feed:?} looks at {count} changes");
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    /// The answer of a server that keeps no indexes of filters.
    fn ask_without(&mut self, database: &str, feed: &Feed) -> String {
        let setting = "/_node/_local/_config/views/filter_indexes";
        self.call("PUT", setting, &json!("0"));
        let answer = self.ask_of(database, feed);
        self.call("PUT", setting, &json!("8"));
        answer
    }
}

/// Documents `00000` and so on; each hundredth has a `v`.
fn documents(count: usize) -> Vec<Value> {
    let document = |n: usize| match n % 100 {
        0 => json!({"_id": format!("{n:05}"), "v": n / 100}),
        _ => json!({"_id": format!("{n:05}"), "n": n}),
    };
    (0..count).map(document).collect()
}

fn ids(answer: &str) -> Vec<String> {
    let answer: Value = serde_json::from_str(answer.strip_prefix("200 ").unwrap()).unwrap();
    let rows = answer["results"].as_array().unwrap();
    let id = |row: &Value| row["id"].as_str().unwrap().to_owned();
    rows.iter().map(id).collect()
}

/// A server with 2,000 documents, of which 20 have a `v`, and a design document.
fn filled() -> Client {
    let mut client = Client::start(500, "");
    client.call("PUT", "/db", &Value::Null);
    client.write(&documents(2000));
    let map = "function (doc) { if ('v' in doc) emit(doc.v) }";
    let filter = "function (doc, req) { return 'v' in doc }";
    let design = json!({"views": {"v": {"map": map}}, "filters": {"f": filter}});
    client.call("PUT", "/db/_design/d", &design);
    client
}

fn has_v() -> Value {
    json!({"v": {"$exists": true}})
}

#[test]
fn a_filter_is_asked_about_all_changes_once_and_then_about_later_ones() {
    for feed in [
        Feed::of_selector(&has_v()),
        Feed::get("filter=_view&view=d/v"),
    ] {
        let mut client = filled();
        let (first, count) = client.ask_and_count(&feed);
        assert_eq!((ids(&first).len(), count), (20, 2001));
        let answer = client.ask_until_indexed(&feed, 20);
        assert_eq!(answer, first);
        // One joins, one leaves, one moves, one is of no concern.
        let rev = |client: &mut Client, id: &str| {
            client.call("GET", &format!("/db/{id}"), &Value::Null)["_rev"].clone()
        };
        let revs = ["00001", "00100", "00200", "00300", "00002"].map(|id| rev(&mut client, id));
        client.write(&[
            json!({"_id": "00001", "_rev": revs[0], "v": 1}),
            json!({"_id": "00100", "_rev": revs[1]}),
            json!({"_id": "00200", "_rev": revs[2], "v": 9}),
            json!({"_id": "00300", "_rev": revs[3], "_deleted": true}),
            json!({"_id": "00002", "_rev": revs[4], "n": 0}),
        ]);
        let (later, count) = client.ask_and_count(&feed);
        // Those that moved are not found where the index has them.
        assert_eq!(count, 17 + 5, "{feed:?}");
        assert_eq!(later, client.ask_without("db", &feed));
        let found = ids(&later);
        assert_eq!(found.len(), 19);
        assert_eq!(found[17..], ["00001", "00200"]);
        // So it does whatever part of the changes is asked for.
        let (part, count) = client.ask_and_count(&feed.with("since=1000&limit=2"));
        assert_eq!((ids(&part).len(), count), (2, 2));
        let (newest, count) = client.ask_and_count(&feed.with("descending=true&limit=4"));
        assert_eq!((ids(&newest).len(), count), (4, 5 + 2));
    }
}

#[test]
fn many_later_changes_bring_the_index_up_to_date() {
    let mut client = filled();
    let feed = Feed::of_selector(&has_v());
    client.ask_until_indexed(&feed, 20);
    let docs: Vec<_> = (0..600).map(|n| json!({"n": n})).collect();
    client.write(&docs);
    let (_, count) = client.ask_and_count(&feed);
    assert_eq!(count, 20 + 600);
    client.ask_until_indexed(&feed, 20);
}

#[test]
fn named_documents_are_looked_up() {
    let mut client = filled();
    let named = json!({"doc_ids": ["00007", "01234", "missing", "_design/d", "00007"]});
    let feed = Feed {
        query: "filter=_doc_ids".to_owned(),
        body: Some(named),
    };
    let (answer, count) = client.ask_and_count(&feed);
    assert_eq!(ids(&answer), ["00007", "01234", "_design/d"]);
    assert_eq!(count, 3);
    let (answer, count) = client.ask_and_count(&feed.with("descending=true&limit=2"));
    assert_eq!(ids(&answer), ["_design/d", "01234"]);
    assert_eq!(count, 2);
    let (answer, count) = client.ask_and_count(&Feed::get("filter=_design"));
    assert_eq!((ids(&answer).len(), count), (1, 1));
    // Where less is left than is named, all of it is read.
    let (answer, count) = client.ask_and_count(&feed.with("since=1999"));
    assert_eq!((ids(&answer).len(), count), (1, 2));
}

#[test]
fn filters_that_see_the_request_or_pass_many_changes_have_no_index() {
    let mut client = filled();
    for feed in [
        Feed::get("filter=d/f"),
        Feed::of_selector(&json!({"n": {"$gt": 1500}})),
    ] {
        for _ in 0..3 {
            assert_eq!(client.ask_and_count(&feed).1, 2001);
        }
    }
    assert!(files::of_filters(&client.server, "db").is_empty());
}
