//! Import of the files that CouchDB wrote, compared with what its HTTP interface showed of them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{DiskStorage, Interrupt, Silent, Storage};
use varve_codec::EngineSetting;
use varve_docdb::verify::{self, verify};
use varve_docdb::{
    AttachmentForm, Database, DatabaseOptions, Direction, Document, DocumentText, NodeCache,
    Snapshot, write_revisions,
};
use varve_replicate::{Finding, Imported, SourceDatabase, Watch, find, import};
use varve_testkit::recorded::{couch_files, couch_files_expected};

pub fn options() -> DatabaseOptions {
    let setting: EngineSetting = "zstd".parse().unwrap();
    DatabaseOptions::new(setting, NodeCache::new(8 << 20))
}

/// Imports a database; returns what was left out, too.
pub fn imported(source: &SourceDatabase, to: &Path) -> (Imported, Vec<Finding>) {
    let found = Mutex::new(Vec::new());
    let report = |finding| found.lock().push(finding);
    let watch = Watch {
        progress: &Silent,
        stop: &Interrupt::default(),
        report: &report,
    };
    let root = DiskStorage::new("/");
    let done = import((&root, source), (&root, to), &options(), watch).unwrap();
    let mut found = found.into_inner();
    found.sort();
    (done, found)
}

pub fn opened(path: &Path) -> Database {
    let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new("/"));
    Database::open(storage, path, &options()).unwrap()
}

fn parsed(text: &[u8]) -> Value {
    serde_json::from_slice(text).unwrap()
}

/// A leaf as `open_revs=all&revs=true&attachments=true&att_encoding_info=true` shows it.
fn leaf(snapshot: &Snapshot, document: &Document, rev: &varve_docdb::Rev) -> Value {
    let (rev, stored) = document.revision(rev).unwrap();
    let (mut body, mut text) = (Vec::new(), Vec::new());
    snapshot.body(stored, &mut body).unwrap();
    let mut writer = DocumentText::begin(document.id(), rev, stored.deleted, &body, &mut text);
    let history = document.tree().history(rev);
    writer.member("_revisions", |out| {
        write_revisions(rev.generation, &history, out)
    });
    writer.end();
    let mut value = parsed(&text);
    for attachment in snapshot.attachments(stored).unwrap() {
        let mut data = Vec::new();
        snapshot.attachment_data(&attachment, &mut data).unwrap();
        let mut form = Vec::new();
        let mut reader = snapshot.attachment_reader(
            &attachment,
            AttachmentForm::Stored,
            0..attachment.stored_length,
        );
        while reader.read(&mut form, 1 << 20).unwrap() {}
        let mut shown = json!({
            "content_type": attachment.content_type,
            "revpos": attachment.revpos,
            "digest": format!("md5-{}", STANDARD.encode(attachment.md5)),
            "data": STANDARD.encode(&data),
        });
        if attachment.is_gzip {
            shown["encoding"] = "gzip".into();
            shown["encoded_length"] = form.len().into();
        }
        value["_attachments"][&attachment.name] = shown;
    }
    value
}

/// Everything that was recorded of a database.
fn shown(snapshot: &Snapshot) -> Value {
    let mut documents = json!({});
    for change in snapshot.changes(0, Direction::Forward).unwrap() {
        let change = change.unwrap();
        let document = snapshot.document(&change.id).unwrap().unwrap();
        let leaves = document
            .tree()
            .leaves()
            .map(|node| leaf(snapshot, &document, &node.rev));
        let mut leaves: Vec<Value> = leaves.collect();
        leaves.sort_by_key(|leaf| leaf["_rev"].as_str().unwrap().to_owned());
        documents[&change.id] = json!({
            "winner": change.rev.to_string(),
            "deleted": change.is_deleted(),
            "leaves": leaves,
        });
    }
    let mut local = json!({});
    let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
    for document in snapshot
        .local_docs(all.0, all.1, Direction::Forward)
        .unwrap()
    {
        let document = document.unwrap();
        let mut text = Vec::new();
        let rev = |out: &mut Vec<u8>| out.extend_from_slice(document.rev.as_bytes());
        DocumentText::local(&document.id, rev, &document.body, &mut text).end();
        local[&document.id] = parsed(&text);
    }
    let purged = snapshot.purges(0).unwrap().map(|purge| {
        let purge = purge.unwrap();
        let revs = purge.revs.iter().map(ToString::to_string);
        json!({"id": purge.id, "revs": revs.collect::<Vec<_>>()})
    });
    json!({
        "documents": documents,
        "local": local,
        "purged": {"purged_infos": purged.collect::<Vec<_>>()},
        "revs_limit": snapshot.revs_limit(),
        "security": parsed(&snapshot.security().unwrap().unwrap()),
    })
}

/// The number before the opaque part of a sequence.
fn number(sequence: &Value) -> u64 {
    let text = sequence.as_str().unwrap();
    text.split('-').next().unwrap().parse().unwrap()
}

#[test]
fn every_recorded_database_has_after_its_import_what_couchdb_showed() {
    let directory = tempfile::tempdir().unwrap();
    let sources = find(
        &DiskStorage::new("/"),
        &couch_files(),
        &Interrupt::default(),
    )
    .unwrap();
    assert_eq!((sources.findings, sources.passed_over), (vec![], vec![]));
    let expected = couch_files_expected();
    assert_eq!(expected.len(), 12);
    let names: Vec<&String> = sources
        .databases
        .iter()
        .map(|source| &source.name)
        .collect();
    assert_eq!(
        names,
        expected.iter().map(|(name, _)| name).collect::<Vec<_>>()
    );
    for (source, (name, expected)) in sources.databases.iter().zip(&expected) {
        let path = directory
            .path()
            .join(name.replace('/', "%2F"))
            .with_extension("varve");
        let (done, found) = imported(source, &path);
        assert_eq!(found, [], "{name}");
        let database = opened(&path);
        let snapshot = database.snapshot();
        let shown = shown(&snapshot);
        for part in ["security", "revs_limit", "purged", "local"] {
            assert_eq!(shown[part], expected[part], "{part} of {name}");
        }
        let (all, wanted) = (
            &shown["documents"],
            expected["documents"].as_object().unwrap(),
        );
        for (id, document) in wanted {
            assert_eq!(all[id], *document, "{id} of {name}");
        }
        let info = snapshot.info().unwrap();
        assert_eq!(info.doc_count, expected["info"]["doc_count"]);
        assert_eq!(info.doc_del_count, expected["info"]["doc_del_count"]);
        assert_eq!(
            info.update_seq,
            number(&expected["info"]["update_seq"]),
            "{name}"
        );
        assert_eq!(info.purge_seq, number(&expected["info"]["purge_seq"]));
        let is_partitioned = expected["info"]["props"]["partitioned"] == true;
        assert_eq!(snapshot.is_partitioned(), is_partitioned);
        assert_eq!(done.loaded.documents, wanted.len() as u64);
        assert_eq!(done.loaded.documents, info.doc_count + info.doc_del_count);
        drop(database);
        check(&path);
    }
}

/// The new file is as sound as one that was written by edits.
pub fn check(path: &Path) {
    let mut findings = Vec::new();
    let mut report = |finding: &verify::Finding| findings.push(finding.to_string());
    let mut watch = verify::Watch {
        report: &mut report,
        progress: &Silent,
        stop: &Interrupt::default(),
    };
    verify(&DiskStorage::new("/"), path, &options(), &mut watch).unwrap();
    assert_eq!(findings, Vec::<String>::new(), "{}", path.display());
}

#[test]
fn an_import_is_refused_where_something_is_and_leaves_nothing_when_it_is_interrupted() {
    let directory = tempfile::tempdir().unwrap();
    let root = DiskStorage::new("/");
    let sources = find(&root, &couch_files(), &Interrupt::default()).unwrap();
    let wide = sources
        .databases
        .iter()
        .find(|source| source.name == "wide");
    let to = directory.path().join("wide.varve");
    let stop = Interrupt::default();
    let watch = Watch {
        progress: &Silent,
        stop: &stop,
        report: &|finding| panic!("{finding}"),
    };
    let run = || import((&root, wide.unwrap()), (&root, &to), &options(), watch);
    stop.raise();
    assert_eq!(run().unwrap_err().to_string(), "interrupted");
    let left: Vec<PathBuf> = std::fs::read_dir(directory.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    assert_eq!(left, Vec::<PathBuf>::new());
    std::fs::write(&to, b"mine").unwrap();
    let watch = Watch {
        stop: &Interrupt::default(),
        ..watch
    };
    let refused = import((&root, wide.unwrap()), (&root, &to), &options(), watch);
    assert!(refused.unwrap_err().to_string().contains("exist"));
    assert_eq!(std::fs::read(&to).unwrap(), b"mine");
}
