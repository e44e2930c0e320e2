//! Views over HTTP: builds, and the influence of functions on them.

use crate::client::{ADMIN, Connection, Running};
use crate::compaction::{JSON, call, until};
use serde_json::{Value, json};

/// A database with documents `a` to `e`, of which `b` and `d` are bad, and a map function that does
/// `bad` with them.
fn with_bad(server: &Running, bad: &str) -> Connection {
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    let docs = ["a", "b", "c", "d", "e"].map(|id| json!({"_id": id, "bad": "bd".contains(id)}));
    call(
        &mut connection,
        "POST",
        "/db/_bulk_docs",
        &json!({"docs": docs}),
    );
    let map = format!("function (doc) {{ if (doc.bad) {{ {bad} }} emit(doc._id) }}");
    let design = json!({"views": {"v": {"map": map}}});
    call(&mut connection, "PUT", "/db/_design/d", &design);
    connection
}

fn ids(answer: &Value) -> String {
    let rows = answer["rows"].as_array().unwrap().iter();
    rows.map(|row| row["id"].as_str().unwrap()).collect()
}

#[test]
fn what_map_functions_say_is_told_to_the_operator() {
    let server = Running::start();
    let mut connection = with_bad(&server, "log('hm'); throw new Error('no')");
    let answer = call(
        &mut connection,
        "GET",
        "/db/_design/d/_view/v",
        &Value::Null,
    );
    assert_eq!(ids(&answer), "ace");
    let mut told = server.told();
    told.sort();
    let about = |document: &str, what: &str| {
        format!(
            "the index of _design/d in db: {}",
            what.replace("ID", document)
        )
    };
    let failed = "document \"ID\" has no rows in view v: \"Error: no\"";
    assert_eq!(told, [about("b", failed), about("d", failed)]);
}

#[test]
fn an_endless_loop_and_an_allocation_bomb_fail_their_documents_only() {
    // Its time is that of a processor, which the machine may give to others.
    let settings = "[views]\nskip_failed = true\n[couchdb]\nos_process_timeout = 500\n";
    for (bad, words) in [
        ("while (true) {}", "ran longer than 500ms"),
        (
            "var a = ['x']; while (true) a.push(a.join())",
            "bytes of memory",
        ),
    ] {
        let server = Running::start_with(settings);
        let mut connection = with_bad(&server, bad);
        let answer = call(
            &mut connection,
            "GET",
            "/db/_design/d/_view/v",
            &Value::Null,
        );
        assert_eq!(ids(&answer), "ace", "{bad}");
        let told = server.told();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told.iter().all(|line| line.contains(words)), "{told:?}");
    }
}

#[test]
fn failures_are_counted_by_the_task_and_a_function_that_always_fails_does_not_fill_the_log() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    let docs: Vec<_> = (0..3000).map(|n| json!({"n": n})).collect();
    call(
        &mut connection,
        "POST",
        "/db/_bulk_docs",
        &json!({"docs": docs}),
    );
    // The last documents take a while.
    let map = "function (doc) { if (doc.n > 2900) for (var i = 0; i < 1e6; i++); throw 'no' }";
    let design = json!({"views": {"v": {"map": map}}});
    call(&mut connection, "PUT", "/db/_design/d", &design);
    let address = server.address;
    let query = std::thread::spawn(move || {
        let mut connection = Connection::open(address);
        call(
            &mut connection,
            "GET",
            "/db/_design/d/_view/v",
            &Value::Null,
        )
    });
    let counts = |tasks: &Value| tasks[0]["failures"].as_u64() > Some(1000);
    let tasks = until(&mut connection, "/_active_tasks", counts);
    assert_eq!(tasks[0]["type"], "indexer");
    assert_eq!(query.join().unwrap()["total_rows"], 0);
    let told = server.told();
    assert!((21..40).contains(&told.len()), "{}", told.len());
    let last = told.last().unwrap();
    let left_out = last.rsplit_once(": ").unwrap().1.split(' ').next().unwrap();
    let left_out: usize = left_out.parse().unwrap();
    assert_eq!(left_out + told.len() - 1, 3000, "{last}");
}

#[test]
fn a_database_that_goes_ends_what_is_built_and_compacted_of_it_silently() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    for round in 0..3 {
        call(&mut connection, "PUT", "/db", &Value::Null);
        let docs: Vec<_> = (0..20_000).map(|n| json!({"n": n})).collect();
        call(
            &mut connection,
            "POST",
            "/db/_bulk_docs",
            &json!({"docs": docs}),
        );
        for (name, extra) in [("d", ""), ("slow", "for (var i = 0; i < 1e5; i++);")] {
            let map = format!("function (doc) {{ {extra} emit([doc.n, 'a long enough key']) }}");
            let path = format!("/db/_design/{name}");
            call(
                &mut connection,
                "PUT",
                &path,
                &json!({"views": {"v": {"map": map}}}),
            );
        }
        call(
            &mut connection,
            "GET",
            "/db/_design/d/_view/v?limit=1",
            &Value::Null,
        );
        call(&mut connection, "POST", "/db/_compact/d", &json!({}));
        let address = server.address;
        let query = std::thread::spawn(move || {
            let mut connection = Connection::open(address);
            connection.send("GET", "/db/_design/slow/_view/v", &[ADMIN], "")
        });
        let is_built = |tasks: &Value| tasks.to_string().contains("indexer");
        until(&mut connection, "/_active_tasks", is_built);
        call(&mut connection, "DELETE", "/db", &Value::Null);
        let reply = query.join().unwrap();
        assert_eq!(reply.status, 404, "round {round}: {reply:?}");
        until(&mut connection, "/_active_tasks", |tasks| {
            tasks == &json!([])
        });
        let directory = server.directory.path().join("indexes/db");
        let left: Vec<_> = std::fs::read_dir(&directory).unwrap().collect();
        assert!(left.is_empty(), "round {round}: {left:?}");
    }
    assert_eq!(server.told(), Vec::<String>::new());
}

#[test]
fn the_language_of_views_is_told() {
    let server = Running::start();
    let mut connection = with_bad(&server, "");
    let index = json!({"index": {"fields": ["bad"]}, "ddoc": "i"});
    connection.send("POST", "/db/_index", &[ADMIN, JSON], &index.to_string());
    for (design, language) in [("d", "javascript"), ("i", "query")] {
        let path = format!("/db/_design/{design}/_info");
        let info = call(&mut connection, "GET", &path, &Value::Null);
        assert_eq!(info["view_index"]["language"], language);
    }
}

#[test]
fn which_functions_run_compiled_is_told_and_can_be_switched_off() {
    let views = json!({"views": {
        "simple": {"map": "function (doc) { emit(doc.bad, 1); }"},
        "other": {"map": "function (doc) { emit(new Array(0), 1); }"},
    }});
    for (settings, compiled) in [
        ("", json!(["simple"])),
        ("[views]\ncompile = false\n", json!([])),
    ] {
        let server = Running::start_with(settings);
        let mut connection = with_bad(&server, "");
        call(&mut connection, "PUT", "/db/_design/two", &views);
        let info = call(
            &mut connection,
            "GET",
            "/db/_design/two/_info",
            &Value::Null,
        );
        assert_eq!(info["view_index"]["compiled"], compiled);
        let view = "/db/_design/two/_view/simple?limit=1";
        let rows = call(&mut connection, "GET", view, &Value::Null);
        assert_eq!(rows["rows"][0]["value"], 1, "{rows}");
    }
}

/// The rows of a query as keys and values.
#[test]
fn a_design_document_that_is_mended_ends_what_is_built_for_the_one_before() {
    let server = Running::start_with("[views]\nskip_failed = true\n");
    let mut connection = with_bad(&server, "");
    let docs: Vec<_> = (0..1000).map(|n| json!({"n": n})).collect();
    call(
        &mut connection,
        "POST",
        "/db/_bulk_docs",
        &json!({"docs": docs}),
    );
    let endless = json!({"views": {"v": {"map": "function (doc) { while (true) {} }"}}});
    let made = call(&mut connection, "PUT", "/db/_design/e", &endless);
    let address = server.address;
    let query = std::thread::spawn(move || {
        let mut connection = Connection::open(address);
        connection.send("GET", "/db/_design/e/_view/v", &[ADMIN], "")
    });
    until(&mut connection, "/_active_tasks", |tasks| {
        tasks[0]["type"] == "indexer"
    });
    // A change outside of its views does not interrupt the build.
    let mut other = endless;
    other["filters"] = json!({"f": "function () {}"});
    let path = format!("/db/_design/e?rev={}", made["rev"].as_str().unwrap());
    let made = call(&mut connection, "PUT", &path, &other);
    let building = call(&mut connection, "GET", "/_active_tasks", &Value::Null);
    assert_eq!(building[0]["type"], "indexer");
    assert!(!query.is_finished());
    let mended = json!({"views": {"v": {"map": "function (doc) { emit(1) }"}}});
    let path = format!("/db/_design/e?rev={}", made["rev"].as_str().unwrap());
    call(&mut connection, "PUT", &path, &mended);
    let answer = call(
        &mut connection,
        "GET",
        "/db/_design/e/_view/v?limit=0",
        &Value::Null,
    );
    assert_eq!(answer["total_rows"], 1005);
    let reply = query.join().unwrap();
    assert_eq!(reply.status, 503, "{reply:?}");
    until(&mut connection, "/_active_tasks", |tasks| {
        tasks == &json!([])
    });
}

#[test]
fn short_and_long_answers_are_the_same_before_and_after_the_index_is_fresh() {
    let server = Running::start();
    let mut connection = Connection::open(server.address);
    call(&mut connection, "PUT", "/db", &Value::Null);
    let docs: Vec<Value> = (0..700)
        .map(|n| json!({"_id": format!("d{n:03}"), "n": n}))
        .collect();
    call(
        &mut connection,
        "POST",
        "/db/_bulk_docs",
        &json!({"docs": docs}),
    );
    let map = "function (doc) { emit([doc.n % 600, doc.n], doc.n); }";
    let views = json!({"views": {
        "stats": {"map": map, "reduce": "_stats"},
        "script": {"map": map, "reduce": "function (keys, values) { return sum(values); }"},
    }});
    call(&mut connection, "PUT", "/db/_design/d", &views);
    let questions = [
        "stats?limit=3&reduce=false",
        "stats?reduce=false",
        "stats?group_level=1",
        "stats?group_level=1&limit=2&skip=99",
        "stats",
        "script?group_level=1&limit=4",
        "script?reduce=false&include_docs=true&limit=2",
    ];
    let mut ask = |question: &str| {
        let path = format!("/db/_design/d/_view/{question}");
        call(&mut connection, "GET", &path, &Value::Null)
    };
    for question in questions {
        let first = ask(question);
        // The next two requests find the rows kept from the first answer.
        for _ in 0..2 {
            assert_eq!(ask(question), first, "{question}");
        }
    }
    assert_eq!(
        ask("stats?reduce=false")["rows"].as_array().unwrap().len(),
        700
    );
    assert_eq!(
        ask("stats?group_level=1")["rows"].as_array().unwrap().len(),
        600
    );
    assert_eq!(ask("stats")["rows"][0]["value"]["sum"], 699 * 350);
    // A value that was kept does not outlive the state that it is of.
    let changed = json!({"docs": [{"_id": "new", "n": 1000}]});
    let before = ask("stats?group_level=1&limit=1");
    call(&mut connection, "POST", "/db/_bulk_docs", &changed);
    let path = "/db/_design/d/_view/";
    let mut ask = |question: &str| {
        call(
            &mut connection,
            "GET",
            &format!("{path}{question}"),
            &Value::Null,
        )
    };
    assert_eq!(ask("stats")["rows"][0]["value"]["sum"], 699 * 350 + 1000);
    assert_eq!(ask("stats?group_level=1&limit=1"), before);
    assert_eq!(ask("script")["rows"][0]["value"], 699 * 350 + 1000);
}
