//! How one database is compressed, as its admins see and set it.

use crate::client::{ADMIN, Connection, Running};
use crate::compaction::{JSON, call, until};
use serde_json::{Value, json};

fn fill(connection: &mut Connection, prefix: &str) {
    let text = "layers of silt and clay, ".repeat(12);
    let docs: Vec<_> = (0..200)
        .map(|number| json!({"_id": format!("{prefix}{number:03}"), "text": text}))
        .collect();
    call(connection, "POST", "/db/_bulk_docs", &json!({"docs": docs}));
}

fn about(connection: &mut Connection) -> Value {
    call(connection, "GET", "/db/_compression", &Value::Null)
}

#[test]
fn a_database_is_compressed_as_its_admin_says() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(
        &mut connection,
        "PUT",
        "/db?compression=deflate_9",
        &Value::Null,
    );
    fill(&mut connection, "a");
    let first = about(&mut connection);
    assert_eq!(first["compression"], "deflate_9");
    assert_eq!(
        (&first["codec"], &first["level"]),
        (&json!("deflate"), &json!(9))
    );
    assert_eq!(
        (&first["set_for"], &first["bodies"]),
        (&json!("database"), &json!("deflate_9"))
    );
    assert!(first["ratio"].as_f64().unwrap() > 2.0, "{first}");
    assert!(
        first["chunks"]["deflate"]["chunks"].as_u64().unwrap() >= 200,
        "{first}"
    );

    let ok = call(&mut connection, "PUT", "/db/_compression", &json!("snappy"));
    assert_eq!(ok, json!({"ok": true}));
    fill(&mut connection, "b");
    let mixed = about(&mut connection);
    assert_eq!(
        (&mixed["level"], &mixed["bodies"]),
        (&Value::Null, &Value::Null)
    );
    for codec in ["deflate", "snappy"] {
        let count = mixed["chunks"][codec]["chunks"].as_u64().unwrap();
        assert!(count >= 200, "{mixed}");
    }
    let rows = "/db/_all_docs?include_docs=true";
    let before = call(&mut connection, "GET", rows, &Value::Null);
    call(&mut connection, "POST", "/db/_compact", &Value::Null);
    let whole = until(&mut connection, "/db/_compression", |now| {
        now["bodies"] == "snappy"
    });
    assert_eq!(whole["chunks"]["deflate"], Value::Null, "{whole}");
    assert_eq!(call(&mut connection, "GET", rows, &Value::Null), before);

    let back = connection.send("PUT", "/db/_compression", &[ADMIN, JSON], "null");
    assert_eq!(back.status, 200);
    let last = about(&mut connection);
    assert_eq!(
        (&last["compression"], &last["set_for"]),
        (&json!("zstd_3"), &json!("server"))
    );
}

#[test]
fn wrong_settings_are_told_the_right_ones_and_only_admins_set_them() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    let possible = "`compression` must be one of none, snappy, deflate_1 to deflate_9, zstd or \
                    zstd_1 to zstd_22";
    let wrong = json!({"error": "bad_request", "reason": possible});
    let refused = connection.send("PUT", "/db?compression=gzip", &[ADMIN], "");
    assert_eq!(refused.status, 400);
    assert_eq!(serde_json::from_str::<Value>(&refused.body).unwrap(), wrong);
    assert_eq!(connection.send("GET", "/db", &[ADMIN], "").status, 404);
    call(&mut connection, "PUT", "/db", &Value::Null);
    for body in [r#""zstd_23""#, "7", "{}"] {
        let refused = connection.send("PUT", "/db/_compression", &[ADMIN, JSON], body);
        assert_eq!(refused.status, 400, "{body}");
        assert_eq!(serde_json::from_str::<Value>(&refused.body).unwrap(), wrong);
    }
    let security = json!({"members": {"roles": []}, "admins": {"roles": ["_admin"]}});
    call(&mut connection, "PUT", "/db/_security", &security);
    let anonymous = server.send("PUT", "/db/_compression", &[JSON], "\"none\"");
    assert_eq!(anonymous.status, 401);
    let wrong = server.send("POST", "/db/_compression", &[ADMIN], "");
    assert_eq!(
        (wrong.status, wrong.header("allow")),
        (405, Some("PUT,GET"))
    );
    assert_eq!(about(&mut connection)["set_for"], "server");
}

#[test]
fn dictionaries_come_by_themselves_and_are_shown() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    assert_eq!(about(&mut connection)["dictionaries"], json!([]));
    let mut batch = 0;
    let known = loop {
        fill(&mut connection, &format!("{batch:04}-"));
        batch += 1;
        let known = about(&mut connection)["dictionaries"].clone();
        if known != json!([]) {
            break known;
        }
    };
    assert!(batch > 5, "{batch} batches of 200");
    assert_eq!(known[0]["number"], 1);
    assert!(known[0]["bytes"].as_u64().unwrap() > 100, "{known}");
    assert!(known[0]["documents"].as_u64().unwrap() >= 1000, "{known}");
    assert!(known[0]["age"].as_u64().is_some(), "{known}");
    fill(&mut connection, "last");
    let chunks = about(&mut connection)["chunks"].clone();
    assert!(
        chunks["zstd_dictionary"]["chunks"].as_u64().unwrap() >= 200,
        "{chunks}"
    );
    let doc = call(&mut connection, "GET", "/db/last007", &Value::Null);
    assert!(doc["text"].as_str().unwrap().starts_with("layers of silt"));
}
