//! Answers to a user from a database with many documents of others are, byte for byte, those from one without them.

use super::{ANN, BOB, EVE, Login, ok, put, send, with_access};
use crate::client::{ADMIN, Running};
use serde_json::{Value, json};

/// Asked by GET.
const READS: [&str; 51] = [
    "_design/d/_view/n",
    "_design/d/_view/n?reduce=false",
    "_design/d/_view/n?reduce=false&descending=true",
    "_design/d/_view/n?reduce=false&skip=1&limit=2",
    "_design/d/_view/n?reduce=false&skip=100",
    "_design/d/_view/n?reduce=false&limit=0",
    "_design/d/_view/n?reduce=false&key=3",
    "_design/d/_view/n?reduce=false&key=77",
    "_design/d/_view/n?reduce=false&keys=[3,77,1,3]",
    "_design/d/_view/n?reduce=false&startkey=2&endkey=5",
    "_design/d/_view/n?reduce=false&startkey=5&endkey=2&descending=true&inclusive_end=false",
    "_design/d/_view/n?reduce=false&startkey=3&startkey_docid=o",
    "_design/d/_view/n?reduce=false&include_docs=true",
    "_design/d/_view/n?reduce=false&include_docs=true&conflicts=true&attachments=true",
    "_design/d/_view/n?reduce=false&sorted=false",
    "_design/d/_view/n?reduce=false&update=false",
    "_design/d/_view/n?reduce=false&stale=ok",
    "_design/d/_view/n?reduce=false&stable=true&update=true",
    "_design/d/_view/n?group=true",
    "_design/d/_view/n?group=true&skip=1&limit=2&descending=true",
    "_design/d/_view/n?startkey=2",
    "_design/d/_view/n?key=77",
    "_design/d/_view/linked?include_docs=true",
    "_design/d/_view/linked?key=%22foreign%22&include_docs=true",
    "_design/d/_view/levels?group_level=1",
    "_design/d/_view/levels?group_level=2",
    "_design/d/_view/levels?group=true",
    "_design/d/_view/script?group=true",
    "_design/d/_view/script",
    "_design/d/_view/stats",
    "_design/d/_view/conflicts",
    "_design/d/_view/none",
    "_design/d/_view/designs",
    "_design/none/_view/n",
    "_design/own/_view/n",
    "_index",
    "_design/d/_show/s/own1",
    "_design/d/_show/s/foreign1",
    "_design/d/_show/s",
    "_design/d/_show/none/own1",
    "_design/d/_list/l/n?reduce=false",
    "_design/d/_list/l/n?group=true",
    "_design/d/_list/l/n?reduce=false&include_docs=true&startkey=2",
    "_design/d/_list/l/_all_docs?include_docs=true",
    "_design/d/_rewrite/rows",
    "_design/d/_rewrite/doc/foreign1",
    "_design/d/_rewrite/doc/own1",
    "_changes?filter=_view&view=d/n&include_docs=true",
    "_changes?filter=d/big",
    "_design_docs",
    "_local_docs",
];

/// Selectors and other members of `_find`, and of `_explain`.
fn finds() -> Vec<Value> {
    vec![
        json!({"selector": {}, "execution_stats": true}),
        json!({"selector": {"n": {"$gt": 2}}, "execution_stats": true}),
        json!({"selector": {"n": 77}, "execution_stats": true}),
        json!({"selector": {"n": {"$gt": 0}}, "sort": [{"n": "desc"}], "limit": 2, "skip": 1, "execution_stats": true}),
        json!({"selector": {"n": {"$gt": 0}}, "fields": ["_id", "n"], "execution_stats": true}),
        json!({"selector": {"n": {"$in": [1, 3, 77]}}, "fields": ["n"], "conflicts": true}),
        json!({"selector": {"n": {"$gt": 0}}, "use_index": ["byn", "n"], "update": false}),
        json!({"selector": {"n": {"$gt": 0}}, "use_index": "none"}),
        json!({"selector": {"_id": {"$gte": "f"}}, "execution_stats": true}),
        json!({"selector": {"_id": "foreign1"}, "execution_stats": true}),
        json!({"selector": {"of": "ann"}, "r": 2, "execution_stats": true}),
        json!({"selector": {"n": {"$gt": 0}}, "sort": ["none"]}),
    ]
}

fn designs(server: &Running) {
    let map = |body: &str| format!("function (doc) {{ {body} }}");
    let sum = "function (keys, values, rereduce) { return sum(values); }";
    put(
        server,
        ADMIN,
        "_design/d",
        &json!({
            "views": {
                "n": {"map": map("emit(doc.n, doc.n);"), "reduce": "_sum"},
                "linked": {"map": map("emit(doc._id, {_id: 'foreign1'}); emit('foreign', {_id: 'own1'});")},
                "levels": {"map": map("emit([doc.n % 2, doc.n, doc._id], null);"), "reduce": "_count"},
                "script": {"map": map("emit(doc.n % 3, doc.n);"), "reduce": sum},
                "stats": {"map": map("emit(null, doc.n);"), "reduce": "_stats"},
                "conflicts": {"map": map("if (doc._conflicts) emit(doc._id, doc._conflicts);")},
            },
            "filters": {"big": "function (doc) { return doc.n > 2; }"},
            "shows": {"s": "function (doc, req) { return toJSON([doc, req.info.doc_count, req.info.sizes]); }"},
            "lists": {"l": "function (head, req) {
                send(toJSON([head.total_rows, head.offset, req.info.doc_count]));
                for (var row = getRow(); row; row = getRow()) send(toJSON(row));
            }"},
            "updates": {"u": "function (doc, req) { return [null, toJSON([doc, req.info.doc_count])]; }"},
            "rewrites": [
                {"from": "rows", "to": "_view/n", "query": {"reduce": "false"}},
                {"from": "doc/:id", "to": "../../:id"},
            ],
        }),
    );
    put(
        server,
        ADMIN,
        "_design/e",
        &json!({
            "options": {"include_design": true},
            "views": {"designs": {"map": map("emit(doc._id);")}},
        }),
    );
    ok(
        server,
        ADMIN,
        "POST",
        "/db/_index",
        &json!({"index": {"fields": ["n"]}, "ddoc": "byn", "name": "n"}),
    );
}

/// Documents that the user sees; each by itself, or with others of the user's names.
fn own(server: &Running, name: &str) {
    for n in 1..=6 {
        let access = match n % 3 {
            0 => json!([name]),
            1 => json!([name, "_users"]),
            _ => json!(["_users"]),
        };
        let doc = json!({"_access": access, "n": n, "of": name});
        put(server, ADMIN, &format!("own{n}"), &doc);
    }
    let data = json!({"_access": [name], "views": {"n": {"map": "function (doc) { emit(1); }"}}});
    put(server, ADMIN, "_design/own", &data);
}

/// Documents of others, leaves of others on documents that the user sees, and documents that were taken from the user.
fn foreign(server: &Running, name: &str) {
    for n in 0..8 {
        let access = if n % 2 == 0 {
            json!(["others"])
        } else {
            json!([])
        };
        let doc = json!({"_access": access, "n": n, "of": "ann", "_attachments": {"a": {"data": "eA=="}}});
        put(server, ADMIN, &format!("foreign{n}"), &doc);
        put(
            server,
            ADMIN,
            &format!("a{n}"),
            &json!({"_access": ["others"], "n": 77}),
        );
        let leaf = json!({"_access": ["others"], "_rev": "9-ff", "n": 77});
        let path = format!("own{n}?new_edits=false");
        if n > 0 && n < 7 && n % 2 == 0 {
            put(server, ADMIN, &path, &leaf);
        }
        let id = format!("taken{n}");
        let rev = put(
            server,
            ADMIN,
            &id,
            &json!({"_access": [name, "others"], "n": n}),
        );
        put(
            server,
            ADMIN,
            &id,
            &json!({"_access": ["others"], "_rev": rev, "n": n}),
        );
    }
}

/// Status, headers and body, without what differs between any two servers.
fn answer(server: &Running, by: Login, method: &str, path: &str, body: &Value) -> String {
    let reply = send(server, by, method, &format!("/db/{path}"), body);
    let mut headers = reply.headers;
    headers.retain(|(name, _)| !["date", "x-couch-request-id"].contains(&name.as_str()));
    let mut text = reply.body;
    for (name, end) in [
        ("execution_time_ms\":", '}'),
        ("seq\":\"", '"'),
        ("\"etag\", \"", '"'),
    ] {
        let mut rest = text.as_str();
        let mut without = String::new();
        while let Some(at) = rest.find(name) {
            let (before, behind) = rest.split_at(at + name.len());
            without.push_str(before);
            rest = behind.find(end).map_or("", |end| &behind[end..]);
        }
        without.push_str(rest);
        text = without;
    }
    // Tags of functions hold the incarnation of the database; an answer that had to wait is sent in chunks, which may be compressed.
    let differing = [
        "etag",
        "content-length",
        "transfer-encoding",
        "vary",
        "x-couchdb-body-time",
    ];
    headers.retain(|(name, _)| !differing.contains(&name.as_str()));
    format!("{method} {path} {} {headers:?}\n{text}", reply.status)
}

fn answers(server: &Running, by: Login) -> Vec<String> {
    let ask = |method, path: &str, body: &Value| answer(server, by, method, path, body);
    let mut all: Vec<String> = READS
        .iter()
        .map(|path| ask("GET", path, &Value::Null))
        .collect();
    for body in finds() {
        all.push(ask("POST", "_find", &body));
        all.push(ask("POST", "_explain", &body));
    }
    let keys = json!({"keys": [1, 77, 4]});
    all.push(ask("POST", "_design/d/_view/n?reduce=false", &keys));
    all.push(ask("POST", "_design/d/_view/n?group=true", &keys));
    all.push(ask("POST", "_design/d/_list/l/n?reduce=false", &keys));
    let queries = json!({"queries": [{"reduce": false}, {"group": true, "skip": 1}, {"reduce": false, "key": 77}]});
    all.push(ask("POST", "_design/d/_view/n/queries", &queries));
    all.push(ask("POST", "_design/d/_update/u/own1", &Value::Null));
    all.push(ask("POST", "_design/d/_update/u/foreign1", &Value::Null));
    all
}

/// A server with the documents of a user, with or without those of others.
fn server_of(name: &str, with_others: bool) -> Running {
    let server = with_access();
    designs(&server);
    if with_others {
        // Some before and some behind those of the user.
        put(
            &server,
            ADMIN,
            "a-first",
            &json!({"_access": ["others"], "n": 2}),
        );
    }
    own(&server, name);
    if with_others {
        foreign(&server, name);
    }
    server
}

#[test]
fn documents_of_others_change_no_answer() {
    let (alone, among) = (server_of("eve", false), server_of("eve", true));
    let (expected, told) = (answers(&alone, EVE), answers(&among, EVE));
    for (told, expected) in told.iter().zip(&expected) {
        assert_eq!(told, expected);
    }
    let refused = |answer: &&String| answer.split(' ').nth(2) >= Some("500");
    let failed: Vec<&String> = told.iter().filter(refused).collect();
    assert!(failed.is_empty(), "{failed:#?}");
    let found = told.iter().filter(|answer| answer.contains("own")).count();
    assert!(found > 35, "only {found} answers show a document");
    // Admins of the server are told of all that.
    let all = answers(&among, ADMIN);
    let others = all
        .iter()
        .filter(|answer| answer.contains("77") || answer.contains("foreign"));
    assert!(others.count() > 25, "{all:#?}");
}

#[test]
fn admins_of_the_database_see_all_and_others_nothing() {
    let server = server_of("eve", true);
    // Ann and Bob see what is for all users, and Bob is made an admin.
    let security =
        json!({"members": {"names": [], "roles": []}, "admins": {"names": ["bob"], "roles": []}});
    ok(&server, ADMIN, "PUT", "/db/_security", &security);
    let expected = answers(&server, ADMIN);
    for (told, expected) in answers(&server, BOB).iter().zip(&expected) {
        assert_eq!(told, expected);
    }
    let rows = answer(
        &server,
        ANN,
        "GET",
        "_design/d/_view/n?reduce=false",
        &Value::Null,
    );
    assert!(rows.contains("\"total_rows\":4,\"offset\":0"), "{rows}");
    let anonymous = ("x-nothing", "1");
    for answer in answers(&server, anonymous) {
        let is_refused = answer.contains(" 401 ");
        let is_empty = ["_changes", "_design_docs", "_local_docs"]
            .iter()
            .any(|path| answer.contains(path));
        assert!(
            is_refused || is_empty && !answer.contains("own"),
            "{answer}"
        );
    }
}
