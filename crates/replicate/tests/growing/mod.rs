//! A file that its server writes to while it is imported.

use crate::recorded::{check, imported, opened};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use varve_docdb::Direction;
use varve_replicate::SourceDatabase;
use varve_testkit::recorded::couch_files;

/// Enough for the first headers of the recorded file.
const BEGUN: usize = 64 << 10;
/// A document that a later commit of the recorded file takes away again.
const PURGED: &str = "purged";
/// Appends the rest of one file to another, in pieces that end anywhere: `$1` from, `$2` to, `$3` bytes that are there.
const APPEND: &str = r#"
    at=$3
    while [ "$at" -lt "$(wc -c < "$1")" ]; do
        tail -c "+$((at + 1))" "$1" | head -c 1009 >> "$2"
        at=$((at + 1009))
    done
"#;

/// A file of a real CouchDB, as it was written to: it has a header for each commit.
fn written() -> PathBuf {
    let shards = couch_files().join("shards/00000000-7fffffff");
    let mut entries = std::fs::read_dir(shards).unwrap();
    let found = entries.find_map(|entry| {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("snappy-fresh.").then_some(path)
    });
    found.unwrap()
}

/// Ids and revisions that an import of the file has.
fn leaves(from: &Path, to: &Path) -> BTreeSet<String> {
    let _ = std::fs::remove_file(to);
    let source = SourceDatabase {
        name: "db".to_owned(),
        files: vec![from.to_owned()],
        findings: Vec::new(),
    };
    let (_, found) = imported(&source, to);
    assert_eq!(found, []);
    check(to);
    let snapshot = opened(to).snapshot();
    let changes = snapshot.changes(0, Direction::Forward).unwrap();
    changes.map(|change| change.unwrap().id).collect()
}

#[test]
fn a_file_that_grows_is_imported_as_of_one_of_its_commits() {
    let directory = tempfile::tempdir().unwrap();
    let (growing, to) = (
        directory.path().join("db.couch"),
        directory.path().join("db.varve"),
    );
    let whole = written();
    let bytes = std::fs::read(&whole).unwrap();
    std::fs::write(&growing, &bytes[..BEGUN]).unwrap();
    let mut writer = Command::new("sh")
        .args(["-c", APPEND, "sh"])
        .args([&whole, &growing])
        .arg(BEGUN.to_string())
        .spawn()
        .unwrap();
    let mut seen = leaves(&growing, &to);
    let mut states = BTreeSet::from([seen.len()]);
    loop {
        let is_over = writer.try_wait().unwrap();
        let found = leaves(&growing, &to);
        let lost: Vec<_> = seen.difference(&found).filter(|id| *id != PURGED).collect();
        assert!(lost.is_empty(), "{lost:?}");
        states.insert(found.len());
        seen = found;
        if let Some(status) = is_over {
            assert!(status.success());
            break;
        }
    }
    assert_eq!(std::fs::read(&growing).unwrap(), bytes);
    assert_eq!(seen, leaves(&whole, &to));
    assert!(
        states.len() > 1,
        "nothing was written meanwhile: {states:?}"
    );
}
