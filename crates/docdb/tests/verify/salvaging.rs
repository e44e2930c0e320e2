//! Salvaged content of a damaged file.

use super::sample::{self, PATH, document, findings, noise, options, salvaged, storage_of};
use crate::{attaching, put_rev, replicate};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use varve_base::{MemoryStorage, Storage};
use varve_codec::EngineSetting;
use varve_docdb::verify::Part;
use varve_docdb::{Database, Mode, Snapshot};
use varve_testkit::Recorder;
use varve_testkit::watched::{Call, Watched, Watcher};

const NEW: &str = "new.varve";

/// A database whose bodies stand in the file as they are.
fn create(storage: &MemoryStorage) -> Database {
    let options = varve_docdb::DatabaseOptions {
        setting: EngineSetting::NONE,
        ..options()
    };
    Database::create(Arc::new(storage.clone()), Path::new(PATH), &options).unwrap()
}

/// The file with one bit flipped in each of some texts.
fn damaged(storage: &MemoryStorage, texts: &[&str]) -> MemoryStorage {
    let mut bytes = sample::bytes(storage, PATH);
    for text in texts {
        let found = bytes
            .windows(text.len())
            .position(|part| part == text.as_bytes());
        bytes[found.unwrap()] ^= 1;
    }
    storage_of(&bytes)
}

fn opened(storage: &dyn Storage) -> Snapshot {
    assert_eq!(findings(storage, NEW).unwrap().1, []);
    Database::read_only(storage, Path::new(NEW), &options()).unwrap()
}

fn leaves(snapshot: &Snapshot, id: &str) -> Vec<(String, bool)> {
    let document = snapshot.document(id).unwrap().unwrap();
    let leaves = document.tree().ranked_leaves().into_iter();
    leaves
        .map(|leaf| (leaf.rev.to_string(), leaf.is_deleted()))
        .collect()
}

#[test]
fn an_older_revision_stands_for_a_lost_one_and_a_deletion_stays() {
    let storage = MemoryStorage::default();
    let db = create(&storage);
    let first = put_rev(&db, r#"{"_id":"a","text":"the first"}"#);
    let second = format!(r#"{{"_id":"a","_rev":"{first}","text":"the second"}}"#);
    put_rev(&db, &second);
    let made = put_rev(&db, r#"{"_id":"b"}"#);
    let gone = format!(r#"{{"_id":"b","_rev":"{made}","_deleted":true,"why":"so old"}}"#);
    let gone = put_rev(&db, &gone);
    replicate(
        &db,
        &[
            r#"{"_id":"c","_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]},"text":"one branch"}"#,
            r#"{"_id":"c","_rev":"2-c","_revisions":{"start":2,"ids":["c","a"]},"text":"other branch"}"#,
        ],
    );
    put_rev(&db, r#"{"_id":"d"}"#);
    let texts = ["the second", "so old", "other branch"];
    let storage = damaged(&storage, &texts);
    let (done, told) = salvaged(&storage, NEW).unwrap();
    let told: Vec<_> = told.iter().map(ToString::to_string).collect();
    assert_eq!((done.documents, told.len()), (4, 4), "{told:#?}");
    let older = format!(
        "document \"a\" {first}: an older revision stands for the document: what came after it cannot be read"
    );
    assert_eq!(told[1], older);
    assert!(told[2].contains("the deletion stays"), "{told:#?}");
    let snapshot = opened(&storage);
    assert_eq!(leaves(&snapshot, "a"), [(first, false)]);
    assert_eq!(leaves(&snapshot, "b"), [(gone, true)]);
    assert_eq!(leaves(&snapshot, "c"), [("2-b".to_owned(), false)]);
    // A replica that has the lost revisions can bring them back.
    let db = Database::open(Arc::new(storage), Path::new(NEW), &options()).unwrap();
    let mut lost = sample::documents(&snapshot);
    replicate(
        &db,
        &[
            r#"{"_id":"c","_rev":"2-c","_revisions":{"start":2,"ids":["c","a"]},"text":"other branch"}"#,
        ],
    );
    assert_eq!(leaves(&db.snapshot(), "c").len(), 2);
    lost.remove("c");
    for (id, text) in lost {
        assert_eq!(document(&db.snapshot(), &id).unwrap(), Some(text));
    }
}

#[test]
fn a_revision_stays_without_an_attachment_that_is_lost() {
    let storage = MemoryStorage::default();
    let db = create(&storage);
    let data = noise(3000, 3);
    for (name, data) in [("lost", &data[..]), ("kept", "short")] {
        let found = db.snapshot().document("a").unwrap();
        let rev = found.map(|found| found.winner().unwrap().0.clone());
        let data = Some(("application/x-data", data.as_bytes()));
        let edit = attaching(&db, "a", rev.as_ref(), name, data);
        db.update_one(edit, Mode::Interactive).unwrap().unwrap();
    }
    put_rev(&db, r#"{"_id":"b"}"#);
    let storage = damaged(&storage, &[&data[..500]]);
    let (_, told) = salvaged(&storage, NEW).unwrap();
    assert_eq!(told.len(), 1, "{told:#?}");
    assert!(
        told[0]
            .to_string()
            .starts_with("attachment \"lost\" of \"a\" 2-")
    );
    let snapshot = opened(&storage);
    let document = snapshot.document("a").unwrap().unwrap();
    let kept = snapshot.attachments(document.winner().unwrap().1).unwrap();
    assert_eq!(kept.len(), 1);
    assert_eq!((kept[0].name.as_str(), kept[0].length), ("kept", 5));
}

#[test]
fn the_tree_by_sequence_tells_of_documents_below_a_lost_node() {
    let bytes = sample::larger();
    let whole = super::sample::snapshot_of(&storage_of(&bytes)).unwrap();
    let texts = sample::documents(&whole);
    // A node of the tree by id that is neither its root nor of the last commit.
    let mut seen = 0;
    for at in (0..bytes.len()).step_by(997) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 4;
        let storage = storage_of(&bytes);
        let (_, found) = findings(&storage, PATH).unwrap();
        if !found.iter().any(|finding| finding.part == Part::NodeById) {
            continue;
        }
        seen += 1;
        let (done, told) = salvaged(&storage, NEW).unwrap();
        assert_eq!(done.documents, 1713);
        let snapshot = opened(&storage);
        let other = texts
            .iter()
            .filter(|(id, text)| document(&snapshot, id).unwrap().as_ref() != Some(*text));
        let other: Vec<_> = other.map(|(id, _)| id.clone()).collect();
        let is_told = |id: &str| {
            let quoted = format!("{id:?} ");
            told.iter().any(|told| told.to_string().contains(&quoted))
        };
        assert!(other.iter().all(|id| is_told(id)), "{other:?} {told:#?}");
        if seen == 3 {
            break;
        }
    }
    assert_eq!(seen, 3);
}

#[test]
fn what_stands_there_is_not_replaced() {
    let storage = storage_of(&sample::small());
    let refused = salvaged(&storage, PATH).unwrap_err();
    assert!(refused.is_already_there(), "{refused}");
    // The remains of an interrupted salvage are no hindrance.
    let rest = Path::new("new.varve.salvage");
    varve_base::storage::replace(&storage, rest, b"half").unwrap();
    salvaged(&storage, NEW).unwrap();
    assert_eq!(storage.kind(rest).unwrap(), None);
    opened(&storage);
}

#[test]
fn a_cut_leaves_the_new_file_whole_or_not_at_all() {
    let disk = Recorder::default();
    varve_base::storage::replace(&disk, Path::new(PATH), &sample::small()).unwrap();
    disk.acknowledge();
    salvaged(&disk, NEW).unwrap();
    disk.acknowledge();
    let images = disk.for_each_image(400, |image| {
        let is_there = image.storage.kind(Path::new(NEW)).unwrap().is_some();
        assert!(is_there || image.acknowledged < 2, "{}", image.cut);
        if is_there {
            let (report, found) = findings(&image.storage, NEW).unwrap();
            assert_eq!((report.documents, found.len()), (13, 0), "{}", image.cut);
        }
    });
    assert!(images > 50, "only {images} images");
}

/// Refuses one call of those that change something.
#[derive(Debug)]
struct Refuses(AtomicUsize);

impl Watcher for Refuses {
    fn before(&self, call: Call, _: &Path) -> Result<(), ErrorKind> {
        if matches!(call, Call::Read(..) | Call::Open(_)) {
            return Ok(());
        }
        match self.0.fetch_sub(1, Relaxed) {
            1 => Err(ErrorKind::StorageFull),
            _ => Ok(()),
        }
    }
}

#[test]
fn a_disk_that_refuses_leaves_nothing() {
    let mut refused = 0;
    for nth in 1.. {
        let memory = storage_of(&sample::small());
        let disk = Watched::new(memory.clone(), Refuses(AtomicUsize::new(nth)));
        match salvaged(&disk, NEW) {
            Ok(_) => break,
            Err(error) => {
                refused += 1;
                let left = memory.kind(Path::new(NEW)).unwrap();
                // Only the directory may not be durable yet.
                assert!(
                    left.is_none() || error.to_string().contains("sync"),
                    "{error}"
                );
            }
        }
    }
    assert!(refused >= 8, "{refused}");
}
