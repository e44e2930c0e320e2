//! Filters of feeds: an index of all changes that pass shows users nothing more.

use super::{ADMIN, ANN, BOB, EVE, Login, get, ok, put, send, with_access};
use crate::client::Running;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// Far more than any build takes.
const LIMIT: Duration = Duration::from_secs(120);

/// The answer to a feed with a selector, as text.
fn feed(server: &Running, by: Login, query: &str) -> String {
    let path = format!("/db/_changes?filter=_selector&{query}");
    send(server, by, "POST", &path, &json!({"selector": {"v": 1}})).body
}

fn looked_at(server: &Running) -> u64 {
    let path = "/_node/_local/_prometheus";
    let reply = server.send("GET", path, &[ADMIN], "");
    let mut lines = reply.body.lines();
    let count = lines.find_map(|line| line.strip_prefix("varve_feed_changes_total "));
    count.unwrap().parse().unwrap()
}

fn has_index(server: &Running) -> bool {
    let directory = server.directory.path().join("indexes/db");
    let Ok(entries) = std::fs::read_dir(directory) else {
        return false;
    };
    let mut names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.any(|name| name.ends_with(".changes"))
}

#[test]
fn an_index_of_a_filter_shows_users_what_they_saw_without_it() {
    let server = with_access();
    let setting = "/_node/_local/_config/views/filter_index_after";
    ok(&server, ADMIN, "PUT", setting, &json!("20"));
    for number in 0..60 {
        let reader = ["ann", "team", "zoe"][number % 3];
        let v = u8::from(number < 6);
        let doc = json!({"_access": [reader], "v": v});
        put(&server, ADMIN, &format!("d{number:02}"), &doc);
    }
    let queries = ["", "limit=1", "style=all_docs&descending=true", "since=3"];
    let asked = |by| queries.map(|query| feed(&server, by, query));
    let before = [ANN, BOB, EVE].map(asked);
    let ids = |text: &str| -> Vec<String> {
        let answer: Value = serde_json::from_str(text).unwrap();
        let rows = answer["results"].as_array().unwrap().iter();
        rows.map(|row| row["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(ids(&before[0][0]), ["d00", "d01", "d03", "d04"]);
    assert_eq!(ids(&before[1][0]), ["d01", "d04"]);
    assert!(ids(&before[2][0]).is_empty());
    // Feeds of users are not worth an index, however many changes they look at.
    assert!(!has_index(&server));
    let begin = Instant::now();
    loop {
        let count = looked_at(&server);
        assert_eq!(ids(&feed(&server, ADMIN, "")).len(), 6);
        if looked_at(&server) - count == 6 {
            break;
        }
        assert!(begin.elapsed() < LIMIT);
        std::thread::sleep(Duration::from_millis(3));
    }
    assert!(has_index(&server));
    assert_eq!([ANN, BOB, EVE].map(asked), before);
    // A document that comes to a user comes in the user's feed.
    let rev = get(&server, ADMIN, "/db/d02")["_rev"].clone();
    let doc = json!({"_rev": rev, "_access": ["eve"], "v": 1});
    put(&server, ADMIN, "d02", &doc);
    assert_eq!(ids(&feed(&server, EVE, "")), ["d02"]);
    assert_eq!(ids(&feed(&server, ADMIN, "")).len(), 6);
}
