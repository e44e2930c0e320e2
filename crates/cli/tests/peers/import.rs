//! `varve import` of the directory that CouchDB wrote, served, and compared with what CouchDB answered.

use super::Site;
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output};
use varve_testkit::http::Client;
use varve_testkit::peers::run_script;
use varve_testkit::recorded::{couch_files, couch_files_expected};

pub(super) fn import(from: &Path, to: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(crate::VARVE);
    command.arg("import").args(options).args([from, to]);
    command.env("HGRCPATH", "").output().unwrap()
}

pub(super) fn said(output: &Output) -> String {
    let both = [&output.stdout[..], &output.stderr[..]].concat();
    String::from_utf8(both).unwrap()
}

/// A name or id as it stands in a URL.
pub(super) fn escaped(text: &str) -> String {
    let letters = text.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        byte => format!("%{byte:02X}"),
    });
    letters.collect()
}

pub(super) fn get(client: &mut Client, path: &str) -> Value {
    let accept = [("Accept", "application/json")];
    let answer = client.request("GET", path, &accept, b"").unwrap();
    answer.expect_status(200).json()
}

/// Without what `att_encoding_info` adds: with it, Varve sends attachments as they are stored.
pub(super) fn without_encodings(mut documents: Value) -> Value {
    let all = documents.as_object_mut().unwrap().values_mut();
    let leaves = all.flat_map(|document| document["leaves"].as_array_mut().unwrap());
    for attachments in leaves.filter_map(|leaf| leaf.get_mut("_attachments")) {
        for attachment in attachments.as_object_mut().unwrap().values_mut() {
            let members = attachment.as_object_mut().unwrap();
            members.remove("encoding");
            members.remove("encoded_length");
        }
    }
    documents
}

/// The same requests, put together in the same way, as when CouchDB's answers were recorded.
pub(super) fn shown(client: &mut Client, name: &str) -> Value {
    let database = format!("/{}", escaped(name));
    let mut documents = json!({});
    let changes = get(client, &format!("{database}/_changes?style=all_docs"));
    for row in changes["results"].as_array().unwrap() {
        let id = row["id"].as_str().unwrap();
        let path = match id.strip_prefix("_design/") {
            Some(name) => format!("{database}/_design/{}", escaped(name)),
            None => format!("{database}/{}", escaped(id)),
        };
        let query = "open_revs=all&revs=true&attachments=true";
        let leaves = get(client, &format!("{path}?{query}"));
        let leaves = leaves
            .as_array()
            .unwrap()
            .iter()
            .map(|leaf| leaf["ok"].clone());
        let mut leaves: Vec<Value> = leaves.collect();
        leaves.sort_by_key(|leaf| leaf["_rev"].as_str().unwrap().to_owned());
        documents[id] = json!({
            "winner": row["changes"][0]["rev"],
            "deleted": row.get("deleted").is_some_and(|it| it == true),
            "leaves": leaves,
        });
    }
    let mut local = json!({});
    let locals = get(client, &format!("{database}/_local_docs?include_docs=true"));
    for row in locals["rows"].as_array().unwrap() {
        local[row["id"].as_str().unwrap()] = row["doc"].clone();
    }
    json!({
        "security": get(client, &format!("{database}/_security")),
        "revs_limit": get(client, &format!("{database}/_revs_limit")),
        "purged": get(client, &format!("{database}/_purged_infos")),
        "documents": documents,
        "local": local,
    })
}

#[test]
fn an_imported_directory_answers_as_couchdb_did() {
    let site = Site::new();
    let done = import(&couch_files(), site.path(), &[]);
    let words = said(&done);
    assert_eq!(done.status.code(), Some(0), "{words}");
    assert!(words.contains("\n12 databases "), "{words}");
    let mut server = site.serve();
    let mut admin = server.admin();
    for (name, expected) in couch_files_expected() {
        let shown = shown(&mut admin, &name);
        for part in ["security", "revs_limit", "purged", "local"] {
            assert_eq!(shown[part], expected[part], "{part} of {name}");
        }
        let documents = without_encodings(expected["documents"].clone());
        for (id, document) in documents.as_object().unwrap() {
            assert_eq!(shown["documents"][id], *document, "{id} of {name}");
        }
        let info = get(&mut admin, &format!("/{}", escaped(&name)));
        for part in ["doc_count", "doc_del_count", "props"] {
            assert_eq!(info[part], expected["info"][part], "{part} of {name}");
        }
    }
    // A checkpoint that a client has from CouchDB: nothing is missed, so the feed begins anew.
    let since = "476-g1AAAACOeJzLYWBgYMpgTmHgLUpNdjA0MtczAELDHJBwHguQZGgAUv-BICuDOYmBgVEkFyjGnpiabGxhkIquDQ";
    let all = get(&mut admin, "/snappy-compacted/_changes");
    let again = get(
        &mut admin,
        &format!("/snappy-compacted/_changes?since={since}"),
    );
    assert_eq!(all["results"], again["results"]);
    // A user of that CouchDB still has her password.
    let login = json!({"name": "ada", "password": "count the layers"});
    let session = server
        .anonymous()
        .post("/_session", &login)
        .expect_status(200)
        .json();
    assert_eq!(session["roles"], json!(["crew"]));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/npm/imported.js");
    run_script(&path, &[("SERVER", &server.admin_url(""))]);
    assert!(server.is_running(), "{}", server.printed());
}

#[test]
fn a_served_directory_and_existing_databases_are_refused() {
    let site = Site::new();
    let only = ["--db", "wide"];
    assert_eq!(
        import(&couch_files(), site.path(), &only).status.code(),
        Some(0)
    );
    let done = import(&couch_files(), site.path(), &[]);
    assert_eq!(done.status.code(), Some(255));
    assert!(
        said(&done).contains("has databases of these names already: wide"),
        "{}",
        said(&done)
    );
    let databases = site.path().join("databases");
    assert_eq!(std::fs::read_dir(&databases).unwrap().count(), 1);
    let done = import(
        &couch_files(),
        site.path(),
        &["--skip-existing", "--db", "wide", "--db", "empty"],
    );
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    assert_eq!(std::fs::read_dir(&databases).unwrap().count(), 2);
    let server = site.serve();
    let done = import(&couch_files(), site.path(), &["--db", "parts"]);
    assert_eq!(done.status.code(), Some(255));
    assert!(
        said(&done).contains("is served by another process"),
        "{}",
        said(&done)
    );
    drop(server);
}

#[test]
fn damage_is_named_and_ends_with_1() {
    let site = Site::new();
    let shard = couch_files().join("shards/00000000-ffffffff/team/notes.1795439037.couch");
    let whole = std::fs::read(shard).unwrap();
    // The body of the only document: the checksum does not fit any more.
    let body = [&b"m\x00\x00\x00\x01x"[..], b"a\x01"].concat();
    let at = whole
        .windows(body.len())
        .position(|part| part == body)
        .unwrap();
    let mut bytes = whole.clone();
    bytes[at + body.len() - 1] ^= 0x40;
    let file = site.path().join("notes.couch");
    std::fs::write(&file, &bytes).unwrap();
    let done = import(&file, &site.path().join("to"), &[]);
    let words = said(&done);
    assert_eq!(done.status.code(), Some(1), "{words}");
    let line = words
        .lines()
        .find(|line| line.contains("\"a\" 1-"))
        .unwrap();
    assert!(line.contains("notes.couch: byte "), "{line}");
    assert!(
        line.ends_with("is left out: the checksum does not fit the bytes"),
        "{line}"
    );
}

pub(super) fn run(directory: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(crate::VARVE);
    command
        .args(words)
        .current_dir(directory)
        .env("HGRCPATH", "")
        .output()
        .unwrap()
}

/// Documents, revisions, attachments, bytes before and after of all databases, as the table's last row has them.
fn sums(words: &str) -> Vec<u64> {
    let row = words.lines().find(|line| line.contains(" databases  "));
    let cells = row.unwrap_or_else(|| panic!("{words}")).split_whitespace();
    cells.skip(2).map(|cell| cell.parse().unwrap()).collect()
}

/// Exports two of a directory's databases; a served one has `_users`, too.
fn export(site: &Site, more: &[&str]) -> Output {
    let words = ["export", "--db", "snappy-fresh", "--db", "team/notes"];
    run(site.path(), &[&words[..], more].concat())
}

#[test]
fn an_export_of_a_served_directory_loads_and_exports_the_same() {
    let (from, to) = (Site::new(), Site::new());
    let only = ["--db", "snappy-fresh", "--db", "team/notes"];
    assert_eq!(
        import(&couch_files(), from.path(), &only).status.code(),
        Some(0)
    );
    // Writes go on meanwhile; the export is of one commit.
    let server = from.serve();
    let first = export(&from, &["first.ndjson"]);
    assert_eq!(first.status.code(), Some(0), "{}", said(&first));
    let counts = sums(&said(&first));
    assert_eq!(counts[..3], [310, 469, 6], "{}", said(&first));
    let lines = std::fs::metadata(from.path().join("first.ndjson")).unwrap();
    assert_eq!(counts[4], lines.len());
    server
        .admin()
        .put("/team%2Fnotes/later", &json!({}))
        .expect_status(201);
    let again = export(&from, &["first.ndjson"]);
    assert!(
        said(&again).contains("is there already"),
        "{}",
        said(&again)
    );
    let lines = std::fs::read(from.path().join("first.ndjson")).unwrap();
    let piped = export(&from, &["-"]);
    assert!(piped.stdout.len() > lines.len());
    let shown = run(
        from.path(),
        &["export", "--db", "snappy-fresh", "--doc", "conflict", "-"],
    );
    let shown: Value = serde_json::from_slice(&shown.stdout).unwrap();
    assert_eq!(shown["leaves"].as_array().unwrap().len(), 2);

    let file = from.path().join("first.ndjson");
    let loaded = run(to.path(), &["load", file.to_str().unwrap()]);
    assert_eq!(loaded.status.code(), Some(0), "{}", said(&loaded));
    let loaded = sums(&said(&loaded));
    assert_eq!(loaded[..4], [310, 469, 6, lines.len() as u64]);
    let second = export(&to, &["-"]);
    assert!(second.stdout == lines, "{}", said(&second));
    let loaded = run(to.path(), &["load", file.to_str().unwrap()]);
    assert_eq!(loaded.status.code(), Some(255), "{}", said(&loaded));
    let loaded = run(
        to.path(),
        &["load", "--skip-existing", file.to_str().unwrap()],
    );
    assert!(
        said(&loaded).contains("\n0 databases "),
        "{}",
        said(&loaded)
    );
}

/// An import that is killed leaves whole databases only, and the next one goes on.
#[test]
fn a_stopped_import_goes_on_where_it_was() {
    let site = Site::new();
    let mut child = Command::new(crate::VARVE)
        .arg("import")
        .args([&couch_files(), site.path()])
        .spawn()
        .unwrap();
    let databases = site.path().join("databases");
    let names = || -> Vec<String> {
        let listing = std::fs::read_dir(&databases).into_iter().flatten();
        listing
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    };
    while !names().iter().any(|name| name.ends_with(".varve"))
        && child.try_wait().unwrap().is_none()
    {
        std::thread::yield_now();
    }
    let _ = child.kill();
    child.wait().unwrap();
    let done = import(&couch_files(), site.path(), &["--skip-existing"]);
    assert_eq!(done.status.code(), Some(0), "{}", said(&done));
    let mut names = names();
    names.sort();
    assert_eq!(names.len(), 12, "{names:?}");
    for name in names {
        assert!(name.ends_with(".varve"), "{name}");
        let verified = run(&databases, &["verify", &name]);
        assert_eq!(verified.status.code(), Some(0), "{}", said(&verified));
    }
}
