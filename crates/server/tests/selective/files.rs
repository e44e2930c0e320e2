//! Index files of filters: how many there are, and when they go.

use super::{Client, Feed, documents, filled, has_v};
use crate::client::Running;
use serde_json::{Value, json};

/// Names of the index files of filters.
pub(super) fn of_filters(server: &Running, database: &str) -> Vec<String> {
    let directory = server.directory.path().join("indexes").join(database);
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".changes")).collect();
    names.sort();
    names
}

#[test]
fn the_least_recently_used_index_makes_room() {
    let mut client = Client::start(500, "filter_indexes = 2\n");
    client.call("PUT", "/db", &Value::Null);
    client.write(&documents(2000));
    let feeds = [1, 2, 3].map(|v| Feed::of_selector(&json!({"v": v})));
    client.ask_until_indexed(&feeds[0], 1);
    let first = of_filters(&client.server, "db");
    client.ask_until_indexed(&feeds[1], 1);
    let both = of_filters(&client.server, "db");
    assert_eq!((first.len(), both.len()), (1, 2));
    // Another way to write it is the same selector.
    let same = Feed::of_selector(&json!({"v": {"$eq": 1}}));
    assert_eq!(client.ask_and_count(&same).1, 1);
    client.ask_until_indexed(&feeds[2], 1);
    let left = of_filters(&client.server, "db");
    assert_eq!(left.len(), 2);
    assert!(left.contains(&first[0]) && left != both);
    assert_eq!(client.ask_and_count(&feeds[0]).1, 1);
    assert_eq!(client.ask_and_count(&feeds[1]).1, 2000);
}

#[test]
fn a_clean_up_removes_what_was_not_used_since_the_last_one() {
    let mut client = filled();
    let feed = Feed::of_selector(&has_v());
    client.ask_until_indexed(&feed, 20);
    // The index is there after a start, and other design documents are no reason to remove it.
    let mut client = Client::of(client.server.restart(|_| {}));
    assert_eq!(client.ask_and_count(&feed).1, 20);
    let clean_up = |client: &mut Client| {
        client.call("POST", "/db/_view_cleanup", &json!({}));
        of_filters(&client.server, "db").len()
    };
    assert_eq!(clean_up(&mut client), 1);
    assert_eq!(client.ask_and_count(&feed).1, 20);
    assert_eq!(clean_up(&mut client), 1);
    assert_eq!(clean_up(&mut client), 0);
    assert_eq!(client.ask_and_count(&feed).1, 2001);
    client.ask_until_indexed(&feed, 20);
    // A server that was not asked for it does not remove it by itself; the next clean-up does.
    let mut client = Client::of(client.server.restart(|_| {}));
    assert_eq!(clean_up(&mut client), 0);
}

#[test]
fn indexes_go_with_their_database_and_damaged_ones_are_built_anew() {
    let mut client = filled();
    let feed = Feed::of_selector(&has_v());
    let answer = client.ask_until_indexed(&feed, 20);
    let name = of_filters(&client.server, "db").remove(0);
    let spoil = |directory: &std::path::Path| {
        let path = directory.join("indexes/db").join(&name);
        std::fs::write(path, b"not an index").unwrap();
    };
    let mut client = Client::of(client.server.restart(spoil));
    assert_eq!(client.ask_until_indexed(&feed, 20), answer);
    assert!(
        client
            .server
            .told()
            .iter()
            .any(|line| line.contains("damaged"))
    );
    client.call("DELETE", "/db", &Value::Null);
    assert!(of_filters(&client.server, "db").is_empty());
    // Another database of that name has nothing of it.
    client.call("PUT", "/db", &Value::Null);
    client.write(&documents(1000));
    let (_, count) = client.ask_and_count(&feed);
    assert_eq!(count, 1000);
}
