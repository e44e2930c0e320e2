//! Everything that comes over, and all that is refused.

use super::{LOGIN, fill, import, leaves};
use crate::peers::Site;
use crate::peers::import::{escaped, get, import as import_files, run, said, shown};
use serde_json::{Value, json};
use std::path::Path;
use varve_testkit::recorded::{couch_files, couch_files_expected};
use varve_testkit::varve::{Server, configure};

/// CouchDB's own files become databases of a server, which another directory is made of: it answers as CouchDB did.
#[test]
fn all_databases_of_a_server_come_over_as_they_are() {
    let (from, to) = (Site::new(), Site::new());
    assert!(
        import_files(&couch_files(), from.path(), &[])
            .status
            .success()
    );
    let old = from.serve();
    let (status, words) = import(&old.admin_url(""), to.path(), &[]);
    assert_eq!(status, Some(0), "{words}");
    assert!(words.contains("\n12 databases "), "{words}");
    assert!(words.ends_with("both sides have the same documents and leaf revisions\n"));
    drop(old);

    let server = to.serve();
    let mut admin = server.admin();
    for (name, expected) in couch_files_expected() {
        let mut shown = shown(&mut admin, &name);
        let checkpoint = shown["local"]
            .as_object_mut()
            .unwrap()
            .remove("_local/varve-import");
        assert!(checkpoint.unwrap()["source_last_seq"].is_string());
        for part in ["security", "revs_limit", "local"] {
            assert_eq!(shown[part], expected[part], "{part} of {name}");
        }
        let documents = expected["documents"].clone();
        for (id, document) in documents.as_object().unwrap() {
            assert_eq!(shown["documents"][id], *document, "{id} of {name}");
        }
        let info = get(&mut admin, &format!("/{}", escaped(&name)));
        for part in ["doc_count", "doc_del_count", "props"] {
            assert_eq!(info[part], expected["info"][part], "{part} of {name}");
        }
    }
    let login = json!({"name": "ada", "password": "count the layers"});
    server
        .anonymous()
        .post("/_session", &login)
        .expect_status(200);
    server.stop("TERM");
    let databases = to.path().join("databases");
    for entry in std::fs::read_dir(&databases).unwrap() {
        let verified = run(
            &databases,
            &["verify", entry.unwrap().file_name().to_str().unwrap()],
        );
        assert!(verified.status.success(), "{}", said(&verified));
    }
}

/// A second run copies what is new, and takes over what has changed beside documents.
#[test]
fn the_same_command_copies_what_is_new() {
    let (from, to) = (Site::new(), Site::new());
    let old = from.serve();
    let mut admin = old.admin();
    fill(&mut admin, "a", 30);
    let locals: Vec<Value> = (0..450)
        .map(|n| json!({"_id": format!("_local/{n:03}"), "n": n}))
        .collect();
    admin
        .post("/a/_bulk_docs", &json!({"docs": locals}))
        .expect_status(201);
    let (status, words) = import(&old.admin_url(""), to.path(), &["--db", "a"]);
    assert_eq!(status, Some(0), "{words}");
    admin.put("/a/later", &json!({"x": 1})).expect_status(201);
    admin
        .put("/a/_security", &json!({"members": {"names": ["ada"]}}))
        .expect_status(200);
    admin.put("/a/_revs_limit", &json!(7)).expect_status(200);
    let (status, words) = import(&old.admin_url(""), to.path(), &["--db", "a"]);
    assert_eq!(status, Some(0), "{words}");
    let server = to.serve();
    let mut client = server.admin();
    assert_eq!(leaves(&mut admin, "a"), leaves(&mut client, "a"));
    assert_eq!(leaves(&mut client, "a").len(), 31);
    let security = get(&mut client, "/a/_security");
    assert_eq!(security, json!({"members": {"names": ["ada"]}}));
    assert_eq!(get(&mut client, "/a/_revs_limit"), 7);
    let local = get(&mut client, "/a/_local_docs");
    assert_eq!(local["rows"].as_array().unwrap().len(), 451);
    assert_eq!(get(&mut client, "/a/_local/449")["n"], 449);
}

#[test]
fn names_options_and_databases_from_elsewhere_are_refused() {
    let (from, to) = (Site::new(), Site::new());
    let old = from.serve();
    fill(&mut old.admin(), "a", 3);
    fill(&mut old.admin(), "wide", 3);
    let (status, words) = import(&old.admin_url(""), to.path(), &["--db", "b"]);
    assert_eq!(status, Some(255), "{words}");
    assert!(words.contains("there is no database \"b\""), "{words}");
    let (status, words) = import(&old.url(""), to.path(), &[]);
    assert_eq!(status, Some(255), "{words}");
    assert!(words.contains("/_all_dbs: 401"), "{words}");
    let wrong = old
        .admin_url("")
        .replace("layers-of-silt", "secret-and-wrong");
    let (_, words) = import(&wrong, to.path(), &[]);
    assert!(
        words.contains("401") && !words.contains("secret"),
        "{words}"
    );
    let (status, words) = import(&old.admin_url(""), to.path(), &["--jobs", "0"]);
    assert_eq!(status, Some(255));
    assert!(
        words.contains("--jobs must be a number from 1 to 100"),
        "{words}"
    );
    let path = couch_files();
    let (status, words) = import(path.to_str().unwrap(), to.path(), &["--keep"]);
    assert_eq!(status, Some(255));
    assert!(
        words.contains("--keep counts only for a running server"),
        "{words}"
    );

    assert!(
        import_files(&couch_files(), to.path(), &["--db", "wide"])
            .status
            .success()
    );
    let (status, words) = import(&old.admin_url(""), to.path(), &[]);
    assert_eq!(status, Some(255), "{words}");
    assert!(
        words.contains("\"wide\" is in the directory already"),
        "{words}"
    );
    let (status, words) = import(&old.admin_url(""), to.path(), &["--skip-existing"]);
    assert_eq!(status, Some(0), "{words}");
    assert!(words.contains("wide: left alone"), "{words}");
    let server = to.serve();
    assert_eq!(leaves(&mut server.admin(), "wide").len(), 100);
    assert_eq!(leaves(&mut server.admin(), "a").len(), 3);
}

/// Documents that name their readers come over with these names, by import, and by export and load.
#[test]
fn databases_with_access_keep_it() {
    let (from, to, third) = (Site::new(), Site::new(), Site::new());
    let old = from.serve();
    let mut admin = old.admin();
    admin.put("/s?access=true", &Value::Null).expect_status(201);
    let user = json!({"name": "ada", "password": "layers", "roles": [], "type": "user"});
    admin
        .put("/_users/org.couchdb.user:ada", &user)
        .expect_status(201);
    admin.put("/s/_security", &json!({})).expect_status(200);
    admin
        .put("/s/hers", &json!({"_access": ["ada"], "x": 1}))
        .expect_status(201);
    admin
        .put("/s/other", &json!({"_access": ["bob"]}))
        .expect_status(201);
    admin.put("/s/unnamed", &json!({"x": 2})).expect_status(201);
    let gone = admin
        .put("/s/gone", &json!({"_access": ["ada"]}))
        .expect_status(201)
        .json();
    let rev = gone["rev"].as_str().unwrap();
    admin
        .delete(&format!("/s/gone?rev={rev}"))
        .expect_status(200);
    let (status, words) = import(
        &old.admin_url(""),
        to.path(),
        &["--db", "s", "--db", "_users"],
    );
    assert_eq!(status, Some(0), "{words}");
    let hers = |server: &Server| {
        let mut ada = server.anonymous().with_basic("ada", "layers");
        let seen = leaves(&mut ada, "s");
        let ids: Vec<String> = seen.into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids, ["gone", "hers"]);
        assert_eq!(get(&mut ada, "/s/hers")["_access"], json!(["ada"]));
        ada.get("/s/other").expect_status(404);
    };
    hers(&old);
    hers(&to.serve());

    let first = run(to.path(), &["export", "-q", "first.ndjson"]);
    assert!(first.status.success(), "{}", said(&first));
    let file = to.path().join("first.ndjson");
    let loaded = run(third.path(), &["load", file.to_str().unwrap()]);
    assert!(loaded.status.success(), "{}", said(&loaded));
    let again = run(third.path(), &["export", "-q", "-"]);
    assert!(again.stdout == std::fs::read(&file).unwrap());
    for site in [&to, &third] {
        let verified = run(&site.path().join("databases"), &["verify", "s.varve"]);
        assert!(verified.status.success(), "{}", said(&verified));
    }
    hers(&third.serve());
}

/// A certificate is believed if its authority is given, and not otherwise.
#[test]
fn a_private_authority_is_trusted_where_it_is_given() {
    let (from, to) = (Site::new(), Site::new());
    let pem = |name: &str| {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/hgcli/tls")
            .join(name);
        path.to_str().unwrap().to_owned()
    };
    configure(from.path(), "");
    let options = ["--certificate", &pem("server.pem")];
    let old = Server::start_with(crate::VARVE, from.path(), &options);
    let old = old.unwrap_or_else(|ended| panic!("{ended:?}"));
    let url = format!(
        "https://{LOGIN}@{}/",
        old.address().replace("127.0.0.1", "localhost")
    );
    let (status, words) = import(&url, to.path(), &["--retries", "0"]);
    assert_eq!(status, Some(255), "{words}");
    assert!(words.contains("certificate"), "{words}");
    let trusted = ["--ssl-trusted-certificates-file", &pem("authority.pem")];
    let (status, words) = import(&url, to.path(), &trusted);
    assert_eq!(status, Some(0), "{words}");
    let (status, words) = import(&url, to.path(), &["--insecure"]);
    assert_eq!(status, Some(0), "{words}");
}

#[test]
fn a_document_is_dumped_with_all_of_its_leaves() {
    let site = Site::new();
    let only = ["--db", "snappy-fresh"];
    assert!(
        import_files(&couch_files(), site.path(), &only)
            .status
            .success()
    );
    let directory = site.path().to_str().unwrap();
    let dump = |id: &str| run(Path::new("/"), &["dump", directory, "snappy-fresh", id]);
    let (c, d) = ("c".repeat(32), "d".repeat(32));
    let words = said(&dump("conflict"));
    for line in [
        "document   \"conflict\"".to_owned(),
        format!("* 2-{c}  winner\n  1-{}", "a".repeat(32)),
        format!("* 2-{d}  deleted conflict\n  1-{}", "b".repeat(32)),
        format!("\n2-{c} winner\n{{\n  \"v\": \"c\"\n}}\n"),
    ] {
        assert!(words.contains(&line), "{line} in {words}");
    }
    let none = dump("none");
    assert_eq!(none.status.code(), Some(255));
    assert!(said(&none).contains("snappy-fresh has no document \"none\""));
}
