//! Whole databases whose bytes or records differ from those that this version writes.

use crate::database::tree_options;
use crate::record::TREES;
use crate::verify::{Watch, verify};
use crate::{Database, DatabaseOptions, DocdbError, Edit, Mode, salvage};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use varve_base::{Interrupt, MemoryStorage, OpenMode, Silent, Storage};
use varve_btree::{Direction, NodeCache, TreeFile};
use varve_codec::EngineSetting;

const PATH: &str = "db.varve";
const NEW: &str = "new.varve";

fn options() -> DatabaseOptions {
    DatabaseOptions::new(EngineSetting::ZSTD, NodeCache::new(1 << 20))
}

/// Checks a database, writes its readable parts into a new one, and checks that: it must be whole.
fn check_and_save(storage: &dyn Storage) {
    let stop = Interrupt::default();
    let mut watch = Watch {
        report: &mut |_| {},
        progress: &Silent,
        stop: &stop,
    };
    let (path, new) = (Path::new(PATH), Path::new(NEW));
    if verify(storage, path, &options(), &mut watch).is_err() {
        return;
    }
    let saved = salvage(storage, (path, new), &options(), &mut watch);
    assert!(saved.is_ok(), "{saved:?}");
    let mut found = Vec::new();
    let mut watch = Watch {
        report: &mut |finding| found.push(finding.to_string()),
        progress: &Silent,
        stop: &stop,
    };
    let checked = verify(storage, new, &options(), &mut watch);
    assert!(checked.is_ok() && found.is_empty(), "{checked:?} {found:?}");
}

/// Takes the bytes as a database's file; never panics.
pub fn database_file(data: &[u8]) {
    check_and_save(&MemoryStorage::with_files([(PATH.into(), data.to_vec())]));
}

/// Changes records of a small database, with right checksums; never panics, and salvaged documents are whole. Each
/// change takes four bytes: tree, item, operation, offset.
pub fn changed_database(data: &[u8]) {
    static SMALL: OnceLock<Vec<u8>> = OnceLock::new();
    let small = SMALL.get_or_init(|| small().unwrap_or_default());
    let storage = MemoryStorage::with_files([(PATH.into(), small.clone())]);
    let changed = change(&storage, data);
    assert!(changed.is_ok(), "{changed:?}");
    check_and_save(&storage);
}

fn change(storage: &MemoryStorage, data: &[u8]) -> Result<(), DocdbError> {
    let file = TreeFile::open(storage, Path::new(PATH), tree_options(&options()))?;
    for &[tree, item, what, place] in data.as_chunks().0.iter().take(64) {
        let tree = usize::from(tree) % TREES;
        let snapshot = file.snapshot();
        let rank = u64::from(item) % snapshot.len(tree)?.max(1);
        let mut items = snapshot.range_by_rank(tree, rank..rank + 1, Direction::Forward)?;
        let Some(item) = items.next().transpose()? else {
            continue;
        };
        let (mut key, mut value) = (item.key().to_vec(), item.value().to_vec());
        let mut txn = file.begin()?;
        if what % 8 == 7 {
            txn.update(tree, &[(&key, None::<&[u8]>)])?;
        }
        let changed = match what % 2 {
            0 => &mut value,
            _ => &mut key,
        };
        let at = usize::from(place) % changed.len().max(1);
        match (changed.get_mut(at), what / 2 % 4) {
            (Some(byte), 0) => *byte ^= 1 << (what % 8),
            (Some(byte), 1) => *byte = what,
            (Some(_), 2) => changed.truncate(at),
            _ => changed.push(what),
        }
        txn.update(tree, &[(&key, Some(&value))])?;
        txn.commit()?;
    }
    Ok(())
}

/// Conflicts, a tombstone, an attachment, local documents, a purge.
fn small() -> Result<Vec<u8>, DocdbError> {
    let storage = MemoryStorage::default();
    let path = Path::new(PATH);
    let db = Database::create(Arc::new(storage.clone()), path, &options())?;
    let long = "word ".repeat(600);
    for text in [
        r#"{"_id":"a","_rev":"2-c","_revisions":{"start":2,"ids":["c","a"]},"x":1}"#.to_owned(),
        r#"{"_id":"a","_rev":"2-b","_revisions":{"start":2,"ids":["b","a"]},"x":2}"#.to_owned(),
        r#"{"_id":"b","_rev":"1-a","_deleted":true}"#.to_owned(),
        r#"{"_id":"c","_rev":"1-a","_attachments":{"t":{"content_type":"text/plain","data":"YWJj"}}}"#
            .to_owned(),
        r#"{"_id":"d","_rev":"1-a"}"#.to_owned(),
        format!(r#"{{"_id":"_local/e","text":"{long}"}}"#),
        r#"{"_id":"_local/f"}"#.to_owned(),
    ] {
        if let Ok(edit) = Edit::parse(None, text.as_bytes()) {
            let mode = match edit.id.starts_with('_') {
                true => Mode::Interactive,
                false => Mode::Replicated,
            };
            let _ = db.update_one(edit, mode)?;
        }
    }
    let rev = crate::Rev {
        generation: 1,
        digest: crate::Digest::from_bytes(b"a"),
    };
    db.purge([("d".to_owned(), vec![rev])].into())?;
    Ok(storage.open(path, OpenMode::Read)?.read_all()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{BY_ID, BY_SEQ};

    #[test]
    fn changed_records_never_panic_and_what_is_salvaged_is_whole() {
        let made = small().unwrap();
        assert!(made.len() > 2000, "{}", made.len());
        changed_database(b"");
        for tree in 0..TREES as u8 {
            for item in 0..4 {
                for what in 0..8 {
                    for place in 0..48 {
                        changed_database(&[tree, item, what, place]);
                    }
                }
            }
        }
        // Several at once.
        let mut state = 88_172_645_463_325_252_u64;
        for _ in 0..300 {
            let mut data = Vec::new();
            for _ in 0..6 {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                data.extend_from_slice(&state.to_le_bytes()[..4]);
            }
            changed_database(&data);
        }
    }

    /// Findings of a check of the small database after a change of one tree.
    fn said(tree: usize, key: &[u8], change: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Vec<String> {
        let storage = MemoryStorage::with_files([(PATH.into(), small().unwrap())]);
        let file = TreeFile::open(&storage, Path::new(PATH), tree_options(&options())).unwrap();
        let mut txn = file.begin().unwrap();
        let item = txn.get(tree, key).unwrap().unwrap();
        txn.update(tree, &[(key, change(item.value()))]).unwrap();
        txn.commit().unwrap();
        let mut found = Vec::new();
        let mut watch = Watch {
            report: &mut |finding| found.push(finding.to_string()),
            progress: &Silent,
            stop: &Interrupt::default(),
        };
        verify(&storage, Path::new(PATH), &options(), &mut watch).unwrap();
        found
    }

    #[test]
    fn trees_that_do_not_agree_are_told_of() {
        let only = |found: Vec<String>, words: &str| {
            assert!(found.len() == 1 && found[0].contains(words), "{found:?}");
        };
        // The first document was changed twice, so its update is the second.
        let second = 2_u64.to_be_bytes();
        let gone = said(BY_SEQ, &second, |_| None);
        only(gone, "change \"a\" at byte");
        only(
            said(BY_SEQ, &second, |_| None),
            "the document's last update is not there",
        );
        only(said(BY_ID, b"b", |_| None), "there is no such document");
        let deleted = said(BY_SEQ, &3_u64.to_be_bytes(), |value| {
            let mut value = value.to_vec();
            value[0] ^= 1;
            Some(value)
        });
        only(deleted, "it is not what the document amounts to");
        let later = said(BY_ID, b"b", |value| {
            let mut value = value.to_vec();
            value[1] = 1;
            Some(value)
        });
        assert_eq!(later.len(), 2, "{later:?}");
        assert!(
            later[1].contains("the document was updated later"),
            "{later:?}"
        );
    }

    #[test]
    fn cut_files_never_panic() {
        let made = small().unwrap();
        for len in (0..made.len()).step_by(7) {
            database_file(&made[..len]);
        }
        database_file(&made);
    }
}
