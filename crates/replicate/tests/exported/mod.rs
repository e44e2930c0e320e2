//! Export, load, and export again: the same bytes.

use crate::recorded::{check, imported, opened, options};
use serde_json::Value;
use std::path::Path;
use varve_base::{DiskStorage, Interrupt, Silent};
use varve_docdb::{Announced, Database, Edit, Mode};
use varve_replicate::{Finding, ReplicateError, Restore, Watch, export, export_document, find};
use varve_testkit::recorded::couch_files;

fn watch(stop: &Interrupt) -> Watch<'_> {
    Watch {
        progress: &Silent,
        stop,
        report: &|finding: Finding| panic!("{finding}"),
    }
}

fn exported(database: &Database, name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let counts = export(
        &database.snapshot(),
        name,
        &mut out,
        watch(&Interrupt::default()),
    )
    .unwrap();
    assert_eq!(counts.bytes, out.len() as u64);
    out
}

fn restored(mut lines: &[u8], to: &Path) -> Result<Database, ReplicateError> {
    let directory = to.parent().unwrap();
    let mut restore = Restore::new(&mut lines, directory);
    let head = restore.next_head()?.unwrap();
    let root = DiskStorage::new("/");
    let stop = Interrupt::default();
    restore.database(&head, (&root, to), &options(), watch(&stop))?;
    assert!(restore.next_head()?.is_none());
    Ok(opened(to))
}

#[test]
fn every_recorded_database_comes_back_byte_for_byte() {
    let directory = tempfile::tempdir().unwrap();
    let sources = find(
        &DiskStorage::new("/"),
        &couch_files(),
        &Interrupt::default(),
    )
    .unwrap();
    for source in &sources.databases {
        let path = directory.path().join("from.varve");
        imported(source, &path);
        let from = opened(&path);
        let lines = exported(&from, &source.name);
        let to = directory.path().join("to.varve");
        let back = restored(&lines, &to).unwrap();
        assert_eq!(
            back.snapshot().info().unwrap().update_seq,
            from.snapshot().info().unwrap().update_seq
        );
        assert!(exported(&back, &source.name) == lines, "{}", source.name);
        drop((from, back));
        check(&to);
        std::fs::remove_file(path).unwrap();
        std::fs::remove_file(to).unwrap();
    }
}

/// An attachment longer than a line waits in a file, and comes back.
#[test]
fn long_attachments_come_back() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("from.varve");
    let storage = std::sync::Arc::new(DiskStorage::new("/"));
    let database = Database::create(storage, &path, &options()).unwrap();
    let mut edit = Edit::parse(None, br#"{"_id":"long"}"#).unwrap();
    let announced = Announced {
        name: "a".to_owned(),
        content_type: "application/octet-stream".to_owned(),
        is_gzip: false,
        length: None,
    };
    let data: Vec<u8> = (0..3_000_001_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761) >> 13) as u8)
        .collect();
    let mut upload = database.upload(&announced).unwrap();
    upload.write(&data).unwrap().unwrap();
    edit.attach(announced).unwrap();
    edit.bring("a", upload.finish().unwrap().unwrap());
    database
        .update_one(edit, Mode::Interactive)
        .unwrap()
        .unwrap();
    let lines = exported(&database, "db");
    let longest = lines.split(|byte| *byte == b'\n').map(<[u8]>::len).max();
    assert!(longest < Some(1_100_000), "{longest:?}");
    let back = restored(&lines, &directory.path().join("to.varve")).unwrap();
    assert!(exported(&back, "db") == lines);
    let snapshot = back.snapshot();
    let document = snapshot.document("long").unwrap().unwrap();
    let kept = snapshot.attachments(document.winner().unwrap().1).unwrap();
    let mut read = Vec::new();
    snapshot.attachment_data(&kept[0], &mut read).unwrap();
    assert!(read == data);
}

#[test]
fn one_document_is_shown_with_all_of_its_leaves() {
    let directory = tempfile::tempdir().unwrap();
    let sources = find(
        &DiskStorage::new("/"),
        &couch_files(),
        &Interrupt::default(),
    )
    .unwrap();
    let source = sources
        .databases
        .iter()
        .find(|source| source.name == "snappy-fresh");
    let path = directory.path().join("db.varve");
    imported(source.unwrap(), &path);
    let snapshot = opened(&path).snapshot();
    let mut out = Vec::new();
    assert!(export_document(&snapshot, "conflict", &mut out).unwrap());
    let line: Value = serde_json::from_slice(&out).unwrap();
    let leaves = line["leaves"].as_array().unwrap();
    let revs: Vec<&str> = leaves
        .iter()
        .map(|leaf| leaf["_rev"].as_str().unwrap())
        .collect();
    assert_eq!(
        revs,
        [
            format!("2-{}", "c".repeat(32)),
            format!("2-{}", "d".repeat(32))
        ]
    );
    assert_eq!(leaves[1]["_deleted"], true);
    assert!(!export_document(&snapshot, "never", &mut out).unwrap());
}

#[test]
fn lines_that_are_cut_or_wrong_leave_no_database() {
    let directory = tempfile::tempdir().unwrap();
    let sources = find(
        &DiskStorage::new("/"),
        &couch_files(),
        &Interrupt::default(),
    )
    .unwrap();
    let source = sources
        .databases
        .iter()
        .find(|source| source.name == "none-fresh");
    let path = directory.path().join("db.varve");
    imported(source.unwrap(), &path);
    let lines = exported(&opened(&path), "db");
    let text = String::from_utf8(lines.clone()).unwrap();
    let to = directory.path().join("to.varve");
    for cut in [
        lines.len() - 1 - text.lines().last().unwrap().len(),
        lines.len() / 2,
        700,
    ] {
        assert!(restored(&lines[..cut], &to).is_err(), "{cut}");
    }
    for (from, with, said) in [
        ("\"seq\":", "\"sequence\":", "seq must be a number"),
        (
            "\"type\":\"local\"",
            "\"type\":\"other\"",
            "the database must end here",
        ),
        ("\"leaves\":[", "\"leaves\":[7,", "a leaf must be an object"),
        (
            "\"_revisions\":{\"start\"",
            "\"_revisions\":{\"begin\"",
            "_revisions must be a history",
        ),
        (
            "\"number\":1,\"data\"",
            "\"number\":2,\"data\"",
            "attachments must be numbered from 1",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let changed = text.replacen(from, with, 1);
        let error = restored(changed.as_bytes(), &to).unwrap_err().to_string();
        assert!(
            error.starts_with("line ") && error.contains(said),
            "{error}"
        );
    }
    let left = std::fs::read_dir(directory.path()).unwrap().count();
    assert_eq!(left, 1, "only the imported database is there");
}
