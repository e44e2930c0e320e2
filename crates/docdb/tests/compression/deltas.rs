//! Edits of long documents are stored as deltas of the revision before.

use super::dictionaries::{create, open};
use super::{check_counts, chunks};
use crate::compaction::{answers, compact};
use crate::{edit, get, put_rev, replicate};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use varve_base::{MemoryStorage, ReadMode};
use varve_codec::EngineSetting;
use varve_docdb::{ChunkForm, Database, DocdbError, Mode, ReadyEdit, Rev, Snapshot};
use varve_testkit::watched::{Call, Cold, Watched, Watcher};

const LONG: usize = 100_000;
const CHANGED: usize = 50;

/// Text that does not become much shorter by itself, and can be edited.
struct Text {
    bytes: Vec<u8>,
    state: u64,
}

impl Text {
    fn new() -> Text {
        let mut text = Text {
            bytes: vec![0; LONG],
            state: 88_172_645_463_325_252,
        };
        text.change(0, LONG);
        text
    }

    fn next(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    fn change(&mut self, at: usize, len: usize) {
        for position in at..at + len {
            self.bytes[position] =
                b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
                    [self.next() as usize % 64];
        }
    }

    /// Changes fifty characters somewhere.
    fn edit(&mut self) {
        let at = self.next() as usize % (LONG - CHANGED);
        self.change(at, CHANGED);
    }

    fn document(&self, id: &str, rev: Option<&str>) -> String {
        let text = std::str::from_utf8(&self.bytes).unwrap();
        let rev = rev.map_or(String::new(), |rev| format!(r#""_rev":"{rev}","#));
        format!(r#"{{"_id":"{id}",{rev}"text":"{text}"}}"#)
    }
}

fn file(db: &Database) -> u64 {
    db.sizes().unwrap().file
}

/// The body of any revision that is still there.
fn body_of(snapshot: &Snapshot, id: &str, rev: &str) -> Option<Vec<u8>> {
    let document = snapshot.document(id).unwrap().unwrap();
    let rev: Rev = rev.parse().unwrap();
    let (_, stored) = document.revision(&rev)?;
    let mut body = Vec::new();
    snapshot.body(stored, &mut body).unwrap();
    Some(body)
}

#[test]
fn a_thousand_small_edits_take_little() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    let mut text = Text::new();
    let mut rev = put_rev(&db, &text.document("long", None));
    let first = file(&db);
    let mut history = Vec::new();
    for number in 0..1000 {
        text.edit();
        rev = put_rev(&db, &text.document("long", Some(&rev)));
        if number % 97 == 0 {
            history.push((rev.clone(), text.bytes.clone()));
        }
    }
    let grown = file(&db) - first;
    assert!(grown < 3_000_000, "{grown} bytes");
    let chunk_stats = db.compression().unwrap().chunk_stats.unwrap();
    let bodies = chunk_stats.of(ChunkForm::Delta).bytes;
    assert!(bodies < 500_000, "{bodies} of {grown} bytes");
    assert!(chunks(&db, "zstd_delta") > 950);
    check_counts(&db, &storage);
    let snapshot = db.snapshot();
    for (rev, bytes) in &history {
        let body = body_of(&snapshot, "long", rev).unwrap();
        let expected = format!(r#"{{"text":"{}"}}"#, std::str::from_utf8(bytes).unwrap());
        assert!(body == expected.as_bytes(), "{rev}");
    }
    let sizes = db.sizes().unwrap();
    assert!(sizes.active > 70_000, "its bases are needed too: {sizes:?}");
    let before = answers(&snapshot);
    drop((db, snapshot));

    let db = open(&storage);
    assert_eq!(answers(&db.snapshot()), before);
    compact(&db);
    assert_eq!(answers(&db.snapshot()), before);
    assert_eq!(chunks(&db, "zstd_delta"), 0, "without bases it is whole");
    assert!(file(&db) < 2 * LONG as u64);
    check_counts(&db, &storage);
    // It goes on from the whole chunk.
    text.edit();
    put_rev(&db, &text.document("long", Some(&rev)));
    let chunk_stats = db.compression().unwrap().chunk_stats.unwrap();
    let deltas = chunk_stats.of(ChunkForm::Delta);
    assert!(deltas.chunks == 1 && deltas.bytes < 500, "{deltas:?}");
    compact(&db);
    let now = get(&db.snapshot(), "long").unwrap();
    assert!(now.ends_with(&format!(
        "{}\"}}",
        std::str::from_utf8(&text.bytes).unwrap()
    )));
}

#[test]
fn branches_and_replicated_edits_share_their_bases() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    let mut text = Text::new();
    replicate(&db, &[&text.document("d", Some("1-aa"))]);
    let mut bodies = Vec::new();
    for (rev, ancestors) in [
        ("2-bb", "\"bb\",\"aa\""),
        ("2-cc", "\"cc\",\"aa\""),
        ("3-dd", "\"dd\",\"cc\",\"aa\""),
        // Its parent is not known here, the one before is.
        ("4-ee", "\"ee\",\"0e\",\"bb\",\"aa\""),
    ] {
        text.edit();
        let start = &rev[..1];
        let revisions = format!(r#"{{"_revisions":{{"start":{start},"ids":[{ancestors}]}},"#);
        let document = text.document("d", None).replacen('{', &revisions, 1);
        replicate(&db, &[&document]);
        bodies.push((rev, text.bytes.clone()));
    }
    assert_eq!(chunks(&db, "zstd_delta"), 4);
    let check = |db: &Database, revs: &[&str]| {
        for (rev, bytes) in bodies.iter().filter(|(rev, _)| revs.contains(rev)) {
            let body = body_of(&db.snapshot(), "d", rev).unwrap();
            assert!(body.ends_with(&[bytes, &b"\"}"[..]].concat()), "{rev}");
        }
    };
    check(&db, &["2-bb", "2-cc", "3-dd", "4-ee"]);
    compact(&db);
    check(&db, &["3-dd", "4-ee"]);
    assert!(body_of(&db.snapshot(), "d", "2-bb").is_none());
    check_counts(&db, &storage);
}

#[test]
fn what_is_new_or_short_or_not_for_zstd_is_whole() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    let mut text = Text::new();
    let rev = put_rev(&db, &text.document("d", None));
    text.change(0, LONG);
    let rev = put_rev(&db, &text.document("d", Some(&rev)));
    let short = put_rev(&db, r#"{"_id":"s","text":"short"}"#);
    put_rev(
        &db,
        &format!(r#"{{"_id":"s","_rev":"{short}","text":"shorter"}}"#),
    );
    let local = "x".repeat(9000);
    for n in 0..2 {
        let text = format!(r#"{{"_id":"_local/l","_rev":"0-{n}","text":"{local}"}}"#);
        put_rev(&db, &text);
    }
    assert_eq!(chunks(&db, "zstd_delta"), 0);
    db.set_compression(Some(EngineSetting::SNAPPY)).unwrap();
    text.edit();
    put_rev(&db, &text.document("d", Some(&rev)));
    assert_eq!(chunks(&db, "zstd_delta"), 0);
}

/// Stores a document of that length; returns an edit of it that shortens it to 9000 characters.
fn base_of(db: &Database, id: &str, text: &Text, len: usize) -> String {
    let base = std::str::from_utf8(&text.bytes[..len]).unwrap();
    let rev = put_rev(db, &format!(r#"{{"_id":"{id}","text":"{base}"}}"#));
    let part = &base[..9000];
    format!(r#"{{"_id":"{id}","_rev":"{rev}","text":"{part}"}}"#)
}

fn commit(db: &Database, ready: ReadyEdit) {
    let (done, outcome) = std::sync::mpsc::channel();
    db.update_later(ready, move |outcome| done.send(outcome).unwrap());
    assert!(outcome.recv().unwrap().unwrap().is_ok());
}

#[test]
fn a_cached_edit_expands_short_bases_only() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    let text = Text::new();
    let prepare = |document: &str, reads| db.prepare(edit(document), Mode::Interactive, reads);
    let short = base_of(&db, "short", &text, 9000);
    commit(&db, prepare(&short, ReadMode::CachedOnly).unwrap());
    let long = base_of(&db, "long", &text, LONG);
    let refused = prepare(&long, ReadMode::CachedOnly).unwrap_err();
    assert!(matches!(refused, DocdbError::WouldBlock), "{refused}");
    commit(&db, prepare(&long, ReadMode::Blocking).unwrap());
    let part = std::str::from_utf8(&text.bytes[..9000]).unwrap();
    for id in ["short", "long"] {
        assert!(get(&db.snapshot(), id).unwrap().contains(part), "{id}");
    }
}

/// Bytes that were read from files.
#[derive(Debug, Default)]
struct BytesRead(AtomicUsize);

impl Watcher for BytesRead {
    fn before(&self, call: Call, _: &Path) -> Result<(), ErrorKind> {
        if let Call::Read(_, len) | Call::CachedRead(_, len) = call {
            self.0.fetch_add(len, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[test]
fn a_cached_edit_does_not_even_read_a_long_base() {
    let disk = Watched::new(MemoryStorage::default(), BytesRead::default());
    let db = create(disk.clone());
    let document = base_of(&db, "long", &Text::new(), LONG);
    let read_by = |reads| {
        let before = disk.watcher().0.load(Ordering::Relaxed);
        let made = db.prepare(edit(&document), Mode::Interactive, reads);
        let read = disk.watcher().0.load(Ordering::Relaxed) - before;
        (made, read)
    };
    // The record of the document is in the cache of nodes by then.
    let (ready, read) = read_by(ReadMode::Blocking);
    assert!(read > LONG / 2, "{read} bytes");
    let (refused, read) = read_by(ReadMode::CachedOnly);
    assert_eq!((refused.unwrap_err().is_would_block(), read), (true, 0));
    commit(&db, ready.unwrap());
    assert_eq!(chunks(&db, "zstd_delta"), 1);
}

#[test]
fn a_base_that_is_not_cached_would_block() {
    let disk = Watched::new(MemoryStorage::default(), Cold::default());
    let db = create(disk.clone());
    let document = base_of(&db, "short", &Text::new(), 9000);
    let prepare = |reads| db.prepare(edit(&document), Mode::Interactive, reads);
    disk.watcher().begin();
    let refused = prepare(ReadMode::CachedOnly).unwrap_err();
    assert!(refused.is_would_block(), "{refused}");
    commit(&db, prepare(ReadMode::Blocking).unwrap());
    assert_eq!(chunks(&db, "zstd_delta"), 1);
}
