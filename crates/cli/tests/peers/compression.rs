//! `file_compression` is honoured by databases and views, and their `sizes` show it, of databases
//! after a compaction. `storage.revlog` is honoured by what is pushed.

use super::Site;
use crate::VARVE;
use serde_json::{Value, json};
use std::time::Duration;
use varve_testkit::peers::hg;
use varve_testkit::repos::write;
use varve_testkit::varve::{Server, configure};

const SETTINGS: &[&str] = &[
    "none",
    "snappy",
    "deflate_1",
    "deflate_9",
    "zstd_1",
    "zstd_22",
];

/// Sizes of the files of a database and of its view with one setting.
fn sizes(setting: &str) -> (u64, u64) {
    let site = Site::new();
    configure(
        site.path(),
        &format!("\n[couchdb]\nfile_compression = {setting}\n"),
    );
    let server = site.serve();
    let mut admin = server.admin();
    admin.put("/db", &Value::Null).expect_status(201);
    let map = "function (doc) { emit(doc.n, doc.text); }";
    let design = json!({"views": {"texts": {"map": map}}});
    admin.put("/db/_design/d", &design).expect_status(201);
    for batch in 0..4 {
        let docs: Vec<Value> = (batch * 250..(batch + 1) * 250).map(body).collect();
        admin
            .post("/db/_bulk_docs", &json!({"docs": docs}))
            .expect_status(201);
    }
    let rows = admin
        .get("/db/_design/d/_view/texts?limit=1")
        .expect_status(200)
        .json();
    assert_eq!(rows["total_rows"], 1000);
    // Until then the nodes of trees are compressed faster than the setting says.
    admin.post("/db/_compact", &json!({})).expect_status(202);
    while admin.get("/db").json()["compact_running"] == true {
        std::thread::sleep(Duration::from_millis(20));
    }
    let database = admin.get("/db").expect_status(200).json();
    let view = admin.get("/db/_design/d/_info").expect_status(200).json();
    let file = |sizes: &Value| sizes["file"].as_u64().unwrap_or_else(|| panic!("{sizes}"));
    let found = (file(&database["sizes"]), file(&view["view_index"]["sizes"]));
    // All of it comes back, whatever it was stored as.
    assert!(server.stop("TERM").status.success());
    let server = site.serve();
    let mut admin = server.admin();
    for n in [0, 499, 999] {
        let doc = admin.get(&format!("/db/d{n:04}")).expect_status(200).json();
        assert_eq!(doc["text"], body(n)["text"]);
    }
    found
}

/// Text that compresses as prose does.
fn body(n: usize) -> Value {
    let words = [
        "silt", "clay", "summer", "winter", "melt", "layer", "lake", "count",
    ];
    let text: Vec<String> = (0..120)
        .map(|at| {
            format!(
                "{}{}",
                words[(n * 7 + at * at) % 8],
                (n * 31 + at * 17) % 97
            )
        })
        .collect();
    json!({"_id": format!("d{n:04}"), "n": n, "text": text.join(" ")})
}

#[test]
fn sizes_follow_the_setting() {
    let measured: Vec<(u64, u64)> = SETTINGS.iter().map(|setting| sizes(setting)).collect();
    let of = |setting: &str| measured[SETTINGS.iter().position(|s| *s == setting).unwrap()];
    for (smaller, larger) in [
        ("snappy", "none"),
        ("deflate_1", "snappy"),
        ("deflate_9", "deflate_1"),
        ("zstd_1", "snappy"),
        ("zstd_22", "zstd_1"),
    ] {
        let ((a, view_a), (b, view_b)) = (of(smaller), of(larger));
        assert!(
            a < b && view_a < view_b,
            "{smaller} {:?}, {larger} {:?}",
            of(smaller),
            of(larger)
        );
    }
}

#[test]
fn a_bad_value_stops_the_start_with_file_line_and_key() {
    for bad in ["zstd_23", "deflate_0", "brotli", "9"] {
        let site = Site::new();
        configure(
            site.path(),
            &format!("[couchdb]\nfile_compression = {bad}\n"),
        );
        let refused = Server::try_start(VARVE, site.path()).unwrap_err();
        assert!(!refused.status.success());
        let said = &refused.printed;
        assert!(said.contains("varve.ini:4"), "{bad}: {said}");
        assert!(said.contains("file_compression"), "{bad}: {said}");
        assert!(!said.contains("panicked"), "{said}");
    }
}

/// Bytes of a file's revisions after a push, as `[storage]` of the server and of the repository says.
fn pushed(server: &str, repository: &str) -> u64 {
    let site = Site::new();
    let section = |line: &str| format!("\n[storage]\n{line}\n");
    configure(site.path(), &section(server));
    let (hg, served) = (hg(), site.repository("r"));
    std::fs::create_dir_all(&served).unwrap();
    hg.ok(&served, &["init"]);
    let open = "[web]\npush_ssl = no\nallow-push = *";
    let hgrc = format!("{open}{}", section(repository));
    write(&served, ".hg/hgrc", hgrc.as_bytes());
    let client = site.path().join("client");
    std::fs::create_dir(&client).unwrap();
    hg.ok(&client, &["init"]);
    let text: Vec<String> = (0..400).map(|n| body(n)["text"].to_string()).collect();
    write(&client, "text", text.concat().as_bytes());
    hg.ok(&client, &["commit", "-qAm", "text"]);
    let running = site.serve();
    hg.ok(&client, &["push", "-q", &running.url("/hg/r")]);
    hg.ok(&served, &["verify", "-q"]);
    let file = served.join(".hg/store/data/text");
    let len =
        |end: &str| std::fs::metadata(file.with_extension(end)).map_or(0, |found| found.len());
    len("i") + len("d")
}

#[test]
fn pushes_are_stored_as_the_server_says_where_the_repository_says_nothing() {
    let level = |level: u32| format!("revlog.zstd.level = {level}");
    let (fast, small) = (pushed(&level(1), ""), pushed(&level(19), ""));
    assert!(small < fast, "{small} {fast}");
    assert_eq!(pushed(&level(19), &level(1)), fast);
}
