//! `_find`, `_explain` and `_index`.

use super::{ask, error, put_all, replicate, text_of, with_database};
use crate::client::Running;
use serde_json::{Value, json};

const WARNING: &str = "No matching index found, create an index to optimize query time.";

fn found(server: &Running, selector: &Value) -> Value {
    let body = json!({"selector": selector, "fields": ["_id"]});
    let (status, answer) = ask(server, "POST", "/db/_find", &body);
    assert_eq!(status, 200, "{answer}");
    let docs = answer["docs"].as_array().unwrap().iter();
    docs.map(|doc| doc["_id"].clone()).collect()
}

#[test]
fn ids_are_above_all_that_is_no_text_and_compare_by_bytes() {
    let server = with_database();
    put_all(&server, &[json!({"_id": "B"}), json!({"_id": "a"})]);
    for (condition, expected) in [
        (json!({"$gt": {}}), json!(["B", "a"])),
        (json!({"$lt": {}}), json!([])),
        (json!({"$lte": []}), json!([])),
        (json!({"$gt": "B"}), json!(["a"])),
        (json!({"$lte": "B"}), json!(["B"])),
    ] {
        let ids = found(&server, &json!({"_id": condition}));
        assert_eq!(ids, expected, "{condition}");
    }
}

#[test]
fn a_field_may_begin_like_an_operator() {
    let server = with_database();
    put_all(&server, &[json!({"_id": "dd", "$foobar": "a"})]);
    assert_eq!(found(&server, &json!({"\\$foobar": "a"})), json!(["dd"]));
}

#[test]
fn conditions_on_conflicts_find_documents_with_conflicts() {
    let server = with_database();
    let docs = json!([{"_id": "cc", "_rev": "1-b"}, {"_id": "cc", "_rev": "1-a"}, {"_id": "dd", "_rev": "1-a"}]);
    replicate(&server, &docs);
    let index = json!({"index": {"fields": ["_conflicts"]}});
    assert_eq!(ask(&server, "POST", "/db/_index", &index).0, 200);
    let body = json!({"selector": {"_conflicts": {"$exists": true}}, "conflicts": true});
    let (_, answer) = ask(&server, "POST", "/db/_find", &body);
    let expected = json!([{"_id": "cc", "_rev": "1-b", "_conflicts": ["1-a"]}]);
    assert_eq!(answer["docs"], expected, "{answer}");
}

#[test]
fn answers_have_the_spaces_and_line_ends_of_couchdb() {
    let server = with_database();
    let ask = |body: &Value| text_of(&server, "POST", "/db/_find", body);
    let none = json!({"selector": {"v": {"$in": []}}});
    let expected = format!(
        "{{\"docs\":[\r\n],\r\n\"bookmark\": \"nil\",\r\n\"warning\": \"{WARNING}\"}}\r\n\n"
    );
    assert_eq!(ask(&none), (200, expected));
    let empty = "{\"docs\":[\r\n]}\r\n\n".to_owned();
    assert_eq!(ask(&json!({"selector": {"$or": []}})), (200, empty));
    put_all(&server, &[json!({"_id": "b"}), json!({"_id": "c"})]);
    let two = ask(&json!({"selector": {}, "fields": ["_id"], "execution_stats": true})).1;
    let begin = "{\"docs\":[\r\n{\"_id\":\"b\"},\r\n{\"_id\":\"c\"}\r\n],\r\n\"bookmark\": \"";
    assert!(two.starts_with(begin), "{two}");
    let stats = ",\r\n\"execution_stats\": {\"total_keys_examined\":2,\"total_docs_examined\":2,\
                 \"total_quorum_docs_examined\":0,\"results_returned\":2,\"execution_time_ms\":";
    assert!(two.contains(stats), "{two}");
}

#[test]
fn reads_of_several_copies_look_one_document_further() {
    let server = with_database();
    let docs: Vec<_> = ["AND", "AUS", "CAN", "DEN"]
        .iter()
        .map(|at| json!({"location": at}))
        .collect();
    put_all(&server, &docs);
    let index = json!({"index": {"fields": ["location"]}});
    assert_eq!(ask(&server, "POST", "/db/_index", &index).0, 200);
    let stats = |r: u64| {
        let body = json!({"selector": {"location": {"$gt": "A"}}, "r": r, "execution_stats": true, "limit": 2});
        let (_, answer) = ask(&server, "POST", "/db/_find", &body);
        assert_eq!(answer["docs"].as_array().unwrap().len(), 2);
        let stats = &answer["execution_stats"];
        let names = [
            "total_keys_examined",
            "total_docs_examined",
            "total_quorum_docs_examined",
            "results_returned",
        ];
        names.map(|name| stats[name].as_u64().unwrap())
    };
    assert_eq!(stats(3), [3, 0, 3, 2]);
    assert_eq!(stats(1), [2, 2, 0, 2]);
}

#[test]
fn a_query_that_no_index_can_answer_is_explained() {
    let server = with_database();
    let body = json!({"selector": {"age": 23}, "sort": ["company"]});
    let (status, told) = ask(&server, "POST", "/db/_explain", &body);
    assert_eq!((status, &told["index"]), (200, &Value::Null));
    assert_eq!(told["selector"], json!({"age": {"$eq": 23}}));
    assert_eq!(told["opts"]["sort"], json!({"company": "asc"}));
    let candidates = told["index_candidates"].as_array().unwrap();
    assert_eq!(candidates[0]["index"]["name"], "_all_docs");
    assert_eq!(candidates[0]["analysis"]["usable"], false);
    let refused = ask(&server, "POST", "/db/_find", &body);
    let reason = "No index exists for this sort, try indexing by the sort fields.";
    assert_eq!(refused, (400, error("no_usable_index", reason)));
    let wrong = json!({"selector": {"v": {"$beginsWith": 1}}});
    let operator = error("invalid_operator", "Invalid operator: $beginsWith");
    assert_eq!(
        ask(&server, "POST", "/db/_explain", &wrong),
        (400, operator)
    );
}

#[test]
fn the_range_of_a_beginning_is_explained() {
    let server = with_database();
    let index = json!({"index": {"fields": ["name", "location"]}});
    assert_eq!(ask(&server, "POST", "/db/_index", &index).0, 200);
    let range = |selector: Value| {
        let body = json!({"selector": selector});
        let told = ask(&server, "POST", "/db/_explain", &body).1;
        let edge = |name: &str| told["mrargs"][name].clone();
        json!([edge("start_key"), edge("end_key")])
    };
    let begins = json!({"$beginsWith": "A"});
    let both = range(json!({"name": "Eddie", "location": begins}));
    assert_eq!(
        both,
        json!([["Eddie", "A"], ["Eddie", "A\u{ffff}", "<MAX>"]])
    );
    let first = range(json!({"name": begins, "location": {"$gt": null}}));
    assert_eq!(first, json!([["A"], ["A\u{ffff}", "<MAX>"]]));
    let ids = range(json!({"_id": {"$beginsWith": "a"}}));
    assert_eq!(ids, json!(["a", "a\u{ffff}"]));
}

#[test]
fn definitions_of_indexes_are_refused_in_couchdbs_words() {
    let server = with_database();
    let empty = (
        "invalid_empty_string",
        "Index name or ddoc cannot be empty string",
    );
    let named = |name: &str, value: Value| {
        let mut body = json!({"index": {"fields": ["foo"]}, "type": "json"});
        body[name] = value;
        body
    };
    for (body, (word, reason)) in [
        (
            json!({"index": {"fields": "bing"}}),
            (
                "invalid_sort_json",
                "Sort must be an array of sort specs, not: <<\"bing\">>",
            ),
        ),
        (
            json!({"index": {"fields": [""]}}),
            ("invalid_sort_field", "Invalid sort field: <<>>"),
        ),
        (named("name", json!("")), empty),
        (named("ddoc", json!("")), empty),
        (
            named("ddoc", json!("_design/")),
            ("illegal_docid", "Illegal document id `_design/`"),
        ),
        (
            named("name", json!({"foo": "bar"})),
            (
                "invalid_string",
                "Invalid string: {[{<<102,111,111>>,<<98,97,114>>}]}",
            ),
        ),
        (
            named("ddoc", json!(1.5)),
            ("invalid_string", "Invalid string: 1.5"),
        ),
    ] {
        let refused = ask(&server, "POST", "/db/_index", &body);
        assert_eq!(refused, (400, error(word, reason)), "{body}");
    }
}

#[test]
fn an_index_of_another_name_is_another_index() {
    let server = with_database();
    let make = |name: &str| {
        let body = json!({"index": {"fields": ["foo"]}, "name": name});
        ask(&server, "POST", "/db/_index", &body).1
    };
    let (one, other) = (make("foo-index"), make("bar-index"));
    assert_eq!(
        (&one["result"], &other["result"]),
        (&json!("created"), &json!("created"))
    );
    assert_ne!(one["id"], other["id"]);
    assert_eq!(make("foo-index")["result"], "exists");
    let listed = ask(&server, "GET", "/db/_index?limit=2;", &Value::Null);
    assert_eq!(listed.1["total_rows"], 3);
    assert_eq!(listed.1["indexes"].as_array().unwrap().len(), 2);
}

#[test]
fn other_paths_below_the_indexes_are_missing() {
    let server = with_database();
    let missing = (404, error("not_found", "missing"));
    for (method, path) in [
        ("OPTIONS", "a"),
        ("PUT", "a"),
        ("POST", "a"),
        ("PUT", "a/b"),
        ("GET", "a"),
    ] {
        let path = format!("/db/_index/{path}");
        assert_eq!(
            ask(&server, method, &path, &json!({})),
            missing,
            "{method} {path}"
        );
    }
}
