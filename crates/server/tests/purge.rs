//! `_purge` and the requests that list purges.

use crate::client::{ADMIN, Running};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("content-type", "application/json");

fn send(server: &Running, method: &str, path: &str, body: &Value) -> (u16, Value) {
    let body = match body {
        Value::Null => String::new(),
        body => body.to_string(),
    };
    let reply = server.send(method, path, &[ADMIN, JSON], &body);
    let text = &reply.body;
    let value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"));
    (reply.status, value)
}

fn get(server: &Running, path: &str) -> Value {
    send(server, "GET", path, &Value::Null).1
}

#[test]
fn purged_revisions_are_gone_from_documents_changes_and_views() {
    let server = Running::start();
    send(&server, "PUT", "/d", &Value::Null);
    let map = json!({"views": {"v": {"map": "function (d) { emit(d.n) }"}}});
    send(&server, "PUT", "/d/_design/v", &map);
    let docs = json!({"new_edits": false, "docs": [
        {"_id": "a", "_rev": "1-a", "n": 1},
        {"_id": "b", "_rev": "1-a", "n": 2},
        {"_id": "b", "_rev": "1-b", "n": 3},
    ]});
    send(&server, "POST", "/d/_bulk_docs", &docs);
    let view = "/d/_design/v/_view/v";
    assert_eq!(get(&server, view)["total_rows"], 2);
    let asked = json!({"b": ["1-b", "1-x"], "a": ["1-a"], "none": ["1-a"]});
    let (status, answer) = send(&server, "POST", "/d/_purge", &asked);
    let purged = json!({"b": ["1-b"], "a": ["1-a"], "none": []});
    let expected = json!({"purge_seq": null, "purged": purged});
    assert_eq!((status, answer), (201, expected));
    assert_eq!(get(&server, "/d/a")["reason"], "missing");
    assert_eq!(
        get(&server, "/d/b?conflicts=true"),
        json!({"_id": "b", "_rev": "1-a", "n": 2})
    );
    let rows = get(&server, view);
    assert_eq!(rows["rows"], json!([{"id": "b", "key": 2, "value": null}]));
    let changes = get(&server, "/d/_changes");
    assert_eq!(changes["results"].as_array().unwrap().len(), 2);
    let info = get(&server, "/d");
    assert_eq!(info["doc_count"], 2);
    assert!(info["purge_seq"].as_str().unwrap().starts_with("3-"));
    assert!(info["update_seq"].as_str().unwrap().starts_with("5-"));
    assert_eq!(
        get(&server, "/d/_design/v/_info")["view_index"]["purge_seq"],
        3
    );
    let infos = get(&server, "/d/_purged_infos");
    assert_eq!(
        infos["purged_infos"][1],
        json!({"id": "b", "revs": ["1-b", "1-x"]})
    );
}

#[test]
fn limits_and_wrong_requests_are_told() {
    let server = Running::start();
    send(&server, "PUT", "/d", &Value::Null);
    assert_eq!(get(&server, "/d/_purged_infos_limit"), 1000);
    for wrong in [json!("x"), json!(0), json!(-1), json!({})] {
        let (status, answer) = send(&server, "PUT", "/d/_purged_infos_limit", &wrong);
        assert_eq!(status, 400, "{answer}");
    }
    let (status, _) = send(&server, "PUT", "/d/_purged_infos_limit", &json!(1));
    assert_eq!(
        (status, get(&server, "/d/_purged_infos_limit")),
        (200, json!(1))
    );
    send(
        &server,
        "POST",
        "/d/_purge",
        &json!({"a": ["1-a"], "b": ["1-b"]}),
    );
    let infos = get(&server, "/d/_purged_infos");
    assert_eq!(
        infos,
        json!({"purged_infos": [{"id": "b", "revs": ["1-b"]}]})
    );
    let many = (0..101).map(|n| (n.to_string(), json!([])));
    let many = Value::Object(many.collect());
    let revs: Vec<String> = (0..1001).map(|n| format!("1-{n:04}")).collect();
    for (body, reason) in [
        (json!([]), "Request body must be a JSON object"),
        (json!({"a": ["x"]}), "Invalid rev format"),
        (many, "Exceeded maximum number of documents."),
        (json!({"a": revs}), "Exceeded maximum number of revisions."),
    ] {
        let (status, answer) = send(&server, "POST", "/d/_purge", &body);
        assert_eq!((status, &answer["reason"]), (400, &json!(reason)));
    }
    let anonymous = server.send("POST", "/d/_purge", &[JSON], "{}");
    assert_eq!(anonymous.status, 401);
}
