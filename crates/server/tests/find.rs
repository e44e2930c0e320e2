//! `_find`, `_index` and `_explain` over HTTP.

use crate::client::{ADMIN, Reply, Running};
use serde_json::{Value, json};

const JSON: (&str, &str) = ("content-type", "application/json");

fn post(server: &Running, path: &str, body: &Value) -> Reply {
    server.send("POST", path, &[ADMIN, JSON], &body.to_string())
}

/// The answer of a request that must succeed.
fn ask(server: &Running, path: &str, body: &Value) -> Value {
    let reply = post(server, path, body);
    assert!(reply.status < 300, "{path} {body}: {reply:?}");
    serde_json::from_str(&reply.body).unwrap()
}

fn get(server: &Running, path: &str) -> Value {
    let reply = server.send("GET", path, &[ADMIN], "");
    assert_eq!(reply.status, 200, "{path}: {reply:?}");
    serde_json::from_str(&reply.body).unwrap()
}

/// Status and error of a request that must fail.
fn refused(server: &Running, path: &str, body: &Value) -> String {
    let reply = post(server, path, body);
    let answer: Value = serde_json::from_str(&reply.body).unwrap();
    format!("{} {}", reply.status, answer["error"].as_str().unwrap())
}

/// A server with a database of fruit.
fn server() -> Running {
    let server = Running::start();
    assert_eq!(server.send("PUT", "/d", &[ADMIN], "").status, 201);
    let docs = json!([
        {"_id": "a", "kind": "apple", "n": 3},
        {"_id": "b", "kind": "berry", "n": 1, "at": {"x": 1}},
        {"_id": "c", "kind": "cherry", "n": 2},
        {"_id": "d", "kind": "apple", "n": 1},
        {"_id": "e", "n": [1, 7]},
        {"_id": "_design/view", "views": {"v": {"map": "function(doc) { emit(doc.n) }"}}},
    ]);
    ask(&server, "/d/_bulk_docs", &json!({"docs": docs}));
    server
}

fn make(server: &Running, name: &str, index: &Value) -> Value {
    let body = json!({"index": index, "name": name, "ddoc": "i"});
    ask(server, "/d/_index", &body)
}

/// Ids of the found documents.
fn ids(server: &Running, query: &Value) -> String {
    ids_of(&ask(server, "/d/_find", query))
}

fn ids_of(answer: &Value) -> String {
    let docs = answer["docs"].as_array().unwrap().iter();
    docs.map(|doc| doc["_id"].as_str().unwrap()).collect()
}

#[test]
fn indexes_are_design_documents() {
    let server = server();
    let made = make(&server, "kind-n", &json!({"fields": ["kind", "n"]}));
    let expected = json!({"result": "created", "id": "_design/i", "name": "kind-n"});
    assert_eq!(made, expected);
    let made = make(&server, "kind-n", &json!({"fields": ["kind", "n"]}));
    assert_eq!(made["result"], "exists");
    let filter = json!({"fields": ["n"], "partial_filter_selector": {"kind": "apple"}});
    make(&server, "apples", &filter);
    let design = get(&server, "/d/_design/i");
    assert_eq!(design["language"], "query");
    assert_eq!(
        design["views"]["kind-n"],
        json!({
            "map": {"fields": {"kind": "asc", "n": "asc"}, "partial_filter_selector": {}},
            "reduce": "_count",
            "options": {"def": {"fields": ["kind", "n"]}},
        })
    );
    // An index without names is named by its definition.
    let unnamed = json!({"index": {"fields": ["at.x"]}});
    let first = ask(&server, "/d/_index", &unnamed);
    assert_eq!(
        first["id"],
        format!("_design/{}", first["name"].as_str().unwrap())
    );
    assert_eq!(ask(&server, "/d/_index", &unnamed)["result"], "exists");
    let list = get(&server, "/d/_index");
    assert_eq!(list["total_rows"], 4);
    let names = |list: &Value| {
        let names = list["indexes"].as_array().unwrap().iter();
        names.map(|index| index["name"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        names(&list),
        [
            json!("_all_docs"),
            first["name"].clone(),
            json!("kind-n"),
            json!("apples")
        ]
    );
    assert_eq!(
        list["indexes"][3]["def"],
        json!({"fields": [{"n": "asc"}], "partial_filter_selector": {"kind": {"$eq": "apple"}}})
    );
    assert_eq!(
        names(&get(&server, "/d/_index?skip=1&limit=1")),
        [first["name"].clone()]
    );
    let information = get(&server, "/d/_design/i/_info");
    assert_eq!(information["view_index"]["updates_pending"]["total"], 8);
}

#[test]
fn a_design_document_that_came_from_elsewhere_is_an_index() {
    let server = server();
    let design = json!({
        "_id": "_design/r",
        "_rev": "1-abc",
        "language": "query",
        "views": {
            "n": {"map": {"fields": {"n": "asc"}}, "reduce": "_count", "options": {"def": {"fields": ["n"]}}},
            "broken": {"map": {}},
        },
    });
    ask(
        &server,
        "/d/_bulk_docs",
        &json!({"docs": [design], "new_edits": false}),
    );
    assert_eq!(get(&server, "/d/_index")["total_rows"], 2);
    let query =
        json!({"selector": {"n": {"$gt": 1}}, "use_index": ["r", "n"], "allow_fallback": false});
    assert_eq!(ids(&server, &query), "cae");
    let rows = get(&server, "/d/_design/r/_view/n?reduce=false&limit=1");
    assert_eq!(
        rows["rows"],
        json!([{"id": "b", "key": [1], "value": null}])
    );
    assert_eq!(get(&server, "/d/_design/r/_view/n")["rows"][0]["value"], 5);
}

#[test]
fn indexes_are_removed_one_by_one_and_together() {
    let server = server();
    make(&server, "n", &json!({"fields": ["n"]}));
    make(&server, "kind", &json!({"fields": ["kind"]}));
    let delete = |path: &str| server.send("DELETE", path, &[ADMIN], "").status;
    assert_eq!(delete("/d/_index/i/json/none"), 404);
    assert_eq!(delete("/d/_index/i/text/n"), 404);
    assert_eq!(delete("/d/_index/view/json/v"), 404);
    assert_eq!(delete("/d/_index/i/json/n"), 200);
    assert_eq!(get(&server, "/d/_index")["total_rows"], 2);
    assert_eq!(delete("/d/_index/_design/i/json/kind"), 200);
    assert_eq!(server.send("GET", "/d/_design/i", &[ADMIN], "").status, 404);
    // It can be made anew.
    make(&server, "n", &json!({"fields": ["n"]}));
    let many = json!({"docids": ["i", "_design/view", "_design/none"]});
    assert_eq!(
        ask(&server, "/d/_index/_bulk_delete", &many),
        json!({
            "success": [{"id": "i", "ok": true}],
            "fail": [
                {"id": "_design/view", "error": "invalid_query_ddoc_language"},
                {"id": "_design/none", "error": "not_found"},
            ],
        })
    );
    assert_eq!(get(&server, "/d/_index")["total_rows"], 1);
    assert_eq!(
        server.send("GET", "/d/_design/view", &[ADMIN], "").status,
        200
    );
    let path = "/d/_index/_bulk_delete";
    assert_eq!(
        refused(&server, path, &json!({"docids": [1]})),
        "400 invalid_index_name"
    );
    assert_eq!(
        refused(&server, path, &json!({"docids": "i"})),
        "400 invalid_bulk_docs"
    );
    assert_eq!(
        refused(&server, path, &json!({"docids": [], "w": 1, "x": 1})),
        "400 invalid_key"
    );
    assert_eq!(
        refused(&server, path, &json!({})),
        "400 missing_required_key"
    );
}

#[test]
fn documents_are_found_sorted_and_cut() {
    let server = server();
    make(&server, "kind-n", &json!({"fields": ["kind", "n"]}));
    make(&server, "n", &json!({"fields": ["n"]}));
    for (query, expected) in [
        (
            json!({"selector": {"kind": "apple"}, "sort": ["kind", "n"]}),
            "da",
        ),
        (
            json!({"selector": {"kind": "apple"}, "sort": [{"n": "desc"}]}),
            "ad",
        ),
        (
            json!({"selector": {"n": {"$gt": 0}}, "sort": ["n"], "skip": 1, "limit": 2}),
            "dc",
        ),
        (json!({"selector": {"n": {"$in": [7, 3]}}}), "ae"),
        (json!({"selector": {"$or": [{"n": 1}, {"n": 3}]}}), "bda"),
        (json!({"selector": {"at.x": {"$exists": true}}}), "b"),
        (json!({"selector": {"kind": {"$regex": "rr"}}}), "bc"),
        // Design documents are not found.
        (json!({"selector": {}}), "abcde"),
        (
            json!({"selector": {}, "sort": [{"_id": "desc"}], "limit": 2}),
            "ed",
        ),
    ] {
        assert_eq!(ids(&server, &query), expected, "{query}");
    }
    let fields = json!({"selector": {"at.x": 1}, "fields": ["at.x", "n", "none"]});
    let answer = ask(&server, "/d/_find", &fields);
    assert_eq!(answer["docs"], json!([{"at": {"x": 1}, "n": 1}]));
}

#[test]
fn pages_follow_each_other() {
    let server = server();
    make(&server, "n", &json!({"fields": ["n"]}));
    for (base, expected) in [
        (json!({"selector": {"n": {"$gt": null}}}), "bdcae"),
        (
            json!({"selector": {"n": {"$gt": null}}, "sort": [{"n": "desc"}]}),
            "eacdb",
        ),
        (json!({"selector": {"_id": {"$gt": null}}}), "abcde"),
        (json!({"selector": {}, "sort": [{"_id": "desc"}]}), "edcba"),
    ] {
        let (mut found, mut bookmark) = (String::new(), Value::Null);
        loop {
            let mut query = base.clone();
            query["limit"] = json!(2);
            query["bookmark"] = bookmark;
            let page = ask(&server, "/d/_find", &query);
            if page["docs"] == json!([]) {
                break;
            }
            found.push_str(&ids_of(&page));
            bookmark = page["bookmark"].clone();
        }
        assert_eq!(found, expected, "{base}");
    }
    let wrong = json!({"selector": {}, "bookmark": "x"});
    assert_eq!(refused(&server, "/d/_find", &wrong), "400 invalid_bookmark");
}

#[test]
fn answers_say_what_they_cost_and_what_is_missing() {
    let server = server();
    make(&server, "n", &json!({"fields": ["n"]}));
    let stats = |query: &Value| {
        let answer = ask(&server, "/d/_find", query);
        let stats = &answer["execution_stats"];
        assert!(stats["execution_time_ms"].is_number());
        assert_eq!(stats["total_quorum_docs_examined"], 0);
        [
            "total_keys_examined",
            "total_docs_examined",
            "results_returned",
        ]
        .map(|name| stats[name].as_u64().unwrap())
    };
    let query = json!({"selector": {"n": {"$gt": 1}, "kind": "apple"}, "execution_stats": true});
    assert_eq!(stats(&query), [3, 3, 1]);
    let covered = json!({"selector": {"n": 1}, "fields": ["_id", "n"], "execution_stats": true});
    assert_eq!(stats(&covered), [2, 0, 2]);
    let warning = |query: &Value| ask(&server, "/d/_find", query)["warning"].clone();
    assert_eq!(warning(&json!({"selector": {"n": 1}})), Value::Null);
    let words = "No matching index found, create an index to optimize query time.";
    assert_eq!(warning(&json!({"selector": {"kind": "x"}})), words);
    let many: Vec<_> = (0..20).map(|n| json!({"n": 9, "m": n})).collect();
    ask(&server, "/d/_bulk_docs", &json!({"docs": many}));
    let high = warning(&json!({"selector": {"n": 9, "m": 1}}));
    assert!(
        high.as_str()
            .unwrap()
            .contains("documents examined is high"),
        "{high}"
    );
    let strict = json!({"selector": {"kind": "x"}, "allow_fallback": false});
    assert_eq!(refused(&server, "/d/_find", &strict), "400 no_usable_index");
}

#[test]
fn an_index_follows_the_documents() {
    let server = server();
    make(&server, "n", &json!({"fields": ["n"]}));
    let query = json!({"selector": {"n": {"$gte": 2}}});
    assert_eq!(ids(&server, &query), "cae");
    let rev = get(&server, "/d/c")["_rev"].clone();
    let docs = json!([
        {"_id": "c", "_rev": rev, "_deleted": true},
        {"_id": "f", "n": 4},
    ]);
    ask(&server, "/d/_bulk_docs", &json!({"docs": docs}));
    // Rows of the old index for deleted documents are not shown.
    for old in [json!({"update": false}), json!({"stale": "ok"})] {
        let mut query = query.clone();
        query
            .as_object_mut()
            .unwrap()
            .extend(old.as_object().unwrap().clone());
        assert_eq!(ids(&server, &query), "ae");
    }
    assert_eq!(ids(&server, &query), "afe");
    let conflict = json!({"docs": [{"_id": "f", "_rev": "1-abc", "n": 5}], "new_edits": false});
    ask(&server, "/d/_bulk_docs", &conflict);
    let query = json!({"selector": {"_id": "f"}, "conflicts": true});
    let found = ask(&server, "/d/_find", &query);
    assert_eq!(found["docs"][0]["_conflicts"].as_array().unwrap().len(), 1);
}

#[test]
fn partial_indexes_are_used_when_they_are_named() {
    let server = server();
    let filter = json!({"fields": ["n"], "partial_filter_selector": {"kind": "apple"}});
    make(&server, "apples", &filter);
    let used = |query: &Value| ask(&server, "/d/_explain", query)["index"]["name"].clone();
    assert_eq!(used(&json!({"selector": {"n": {"$gt": 0}}})), "_all_docs");
    let named = json!({"selector": {"n": {"$gt": 0}}, "use_index": "_design/i"});
    assert_eq!(used(&named), "apples");
    assert_eq!(ids(&server, &named), "da");
}

/// Nor do those that name no language.
#[test]
fn design_documents_with_functions_take_no_indexes() {
    let server = server();
    ask(
        &server,
        "/d/_bulk_docs",
        &json!({"docs": [{"_id": "_design/js", "language": "javascript"}]}),
    );
    for (design, language) in [("js", "\"javascript\""), ("view", "false")] {
        let script = json!({"index": {"fields": ["a"]}, "ddoc": design});
        let reply = post(&server, "/d/_index", &script);
        let reason = format!("Existing design doc has an invalid language: {language}");
        let expected = json!({"error": "invalid_ddoc_lang", "reason": reason});
        let answer: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!((reply.status, answer), (400, expected));
    }
    let view = get(&server, "/d/_design/view");
    assert_eq!(view["views"].as_object().unwrap().len(), 1);
}

#[test]
fn what_cannot_be_used_is_refused() {
    let server = server();
    for (query, expected) in [
        (json!([]), "400 bad_request"),
        (
            json!({"selector": {}, "limit": -1}),
            "400 invalid_non_neg_integer",
        ),
        (json!({"selector": {}, "r": 0}), "400 invalid_pos_integer"),
        (
            json!({"selector": {}, "conflicts": 1}),
            "400 invalid_boolean",
        ),
        (
            json!({"selector": {}, "use_index": 1}),
            "400 invalid_index_name",
        ),
        (
            json!({"selector": {}, "sort": "a"}),
            "400 invalid_sort_json",
        ),
        (json!({"selector": {}, "fields": [1]}), "400 invalid_field"),
        (
            json!({"selector": {}, "stale": 1}),
            "400 invalid_ok_or_false_value",
        ),
        (json!({"selector": {}, "partition": "x"}), "400 bad_request"),
        (json!({"selector": {}, "nope": 1}), "400 invalid_key"),
        (json!({"selector": {"a": {"$regex": "("}}}), "400 bad_arg"),
        (
            json!({"selector": {}, "sort": [{"a": "asc"}, {"b": "desc"}]}),
            "400 unsupported_mixed_sort",
        ),
    ] {
        assert_eq!(refused(&server, "/d/_find", &query), expected, "{query}");
        assert_eq!(refused(&server, "/d/_explain", &query), expected, "{query}");
    }
    let text = json!({"index": {"fields": ["a"]}, "type": "text"});
    let word = "503 required_index_service_unavailable";
    assert_eq!(refused(&server, "/d/_index", &text), word);
    let script = json!({"selector": {"a": {"$where": "true"}}});
    assert_eq!(refused(&server, "/d/_find", &script), "400 not_supported");
    for (method, path) in [
        ("GET", "/d/_find"),
        ("PUT", "/d/_index"),
        ("GET", "/d/_explain"),
        ("GET", "/d/_index/i/json/n"),
    ] {
        assert_eq!(
            server.send(method, path, &[ADMIN], "").status,
            405,
            "{method} {path}"
        );
    }
    // A user who may not read the database finds nothing, and makes no index.
    for path in ["/d/_find", "/d/_index", "/d/_explain"] {
        let body = json!({"selector": {}, "index": {"fields": []}}).to_string();
        assert_eq!(
            server.send("POST", path, &[JSON], &body).status,
            401,
            "{path}"
        );
    }
}

#[test]
fn what_needs_no_waiting_is_answered_at_once() {
    let server = server();
    make(&server, "n", &json!({"fields": ["n"]}));
    let many: Vec<_> = (0..700).map(|n| json!({"n": 9, "m": n})).collect();
    ask(&server, "/d/_bulk_docs", &json!({"docs": many}));
    let is_whole = |query: &Value| {
        let reply = post(&server, "/d/_find", query);
        let answer: Value = serde_json::from_str(&reply.body).unwrap();
        let streamed = reply.header("transfer-encoding") == Some("chunked");
        (!streamed, answer["docs"].as_array().unwrap().len())
    };
    let few = json!({"selector": {"n": 1}});
    // The first to come brings the index up to date.
    assert_eq!(is_whole(&few), (false, 2));
    assert_eq!(is_whole(&few), (true, 2));
    let limited = json!({"selector": {"n": 9}, "limit": 3});
    assert_eq!(is_whole(&limited), (true, 3));
    let scan = json!({"selector": {"n": 9, "m": 699}});
    assert_eq!(is_whole(&scan), (false, 1));
    let covered = json!({"selector": {"n": 9}, "fields": ["n"], "limit": 600});
    assert_eq!(is_whole(&covered), (false, 600));
    let missing = json!({"selector": {"n": 1}, "sort": ["m"]});
    assert_eq!(
        refused(&server, "/d/_find", &missing),
        "400 no_usable_index"
    );
}
