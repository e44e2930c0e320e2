//! Power cuts and damage: an index is whole, older, or made anew, and never wrong.

use crate::common::*;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_docdb::Database;
use varve_testkit::Recorder;
use varve_views::{IndexSnapshot, ViewError, ViewIndex};

const DESIGN: &str = r#"{"views":{"v":{"map":"function(d){emit(d.k, d.n)}","reduce":"_sum"}}}"#;

/// Everything that the questions see.
fn seen(view: &IndexSnapshot) -> Result<String, ViewError> {
    Ok(ask(view, "v?reduce=false")? + &ask(view, "v?group=true")?)
}

/// Changes some documents: round 0 writes them, others change, remove and add.
fn edit(db: &Database, round: u64) {
    let documents: Vec<String> = (0..30)
        .filter(|n| round == 0 || n % 3 == round % 3)
        .map(|n| {
            let (generation, deleted) = (round + 1, round > 0 && n % 4 == 0);
            format!(
                r#"{{"_id":"d{n:02}","_rev":"{generation}-a","_deleted":{deleted},"k":{},"n":{}}}"#,
                (n * 7 + round) % 5,
                n * round
            )
        })
        .collect();
    replicate(db, &documents);
}

#[test]
fn no_power_cut_leaves_a_wrong_index() {
    let db = database(Arc::new(MemoryStorage::default()));
    let recorder = Recorder::default();
    let mut states = BTreeMap::new();
    for round in 0..4 {
        edit(&db, round);
        // A new handle each time, so that some rounds open the file of an earlier one.
        let view = refresh(&open_writing(Arc::new(recorder.clone()), DESIGN), &db);
        states.insert(view.update_seq(), seen(&view).unwrap());
    }
    states.insert(
        0,
        r#"{"total_rows":0,"offset":0,"rows":[]}{"rows":[]}"#.to_owned(),
    );
    let newest = states.values().next_back().unwrap();
    assert_eq!(states.len(), 5);
    let images = recorder.for_each_image(32, |image| {
        let storage: Arc<dyn Storage> = Arc::new(image.storage);
        let index = open(storage, DESIGN);
        let found = index.current(&db.snapshot()).unwrap();
        let expected = states.get(&found.update_seq());
        assert_eq!(Some(&seen(&found).unwrap()), expected, "{}", image.cut);
        assert_eq!(
            &seen(&refresh(&index, &db)).unwrap(),
            newest,
            "{}",
            image.cut
        );
    });
    assert!(images > 100, "only {images} images");
}

#[test]
fn damage_is_an_error_or_a_new_index_and_never_a_wrong_answer() {
    let storage = MemoryStorage::default();
    let db = database(Arc::new(MemoryStorage::default()));
    edit(&db, 0);
    let index = open(Arc::new(storage.clone()), DESIGN);
    let expected = seen(&refresh(&index, &db)).unwrap();
    let name = format!("{}.view", group(DESIGN).signature());
    let path: PathBuf = Path::new(DIRECTORY).join(name);
    let whole = storage
        .open(&path, OpenMode::Read)
        .unwrap()
        .read_all()
        .unwrap();
    let (mut errors, mut answers) = (0, 0);
    for at in (0..whole.len()).step_by(3) {
        let damaged = MemoryStorage::default();
        damaged.create_directory(Path::new(DIRECTORY)).unwrap();
        let mut bytes = whole.clone();
        bytes[at] ^= 0x11;
        damaged
            .open(&path, OpenMode::CreateNew)
            .unwrap()
            .append(&bytes)
            .unwrap();
        let index: ViewIndex = open(Arc::new(damaged), DESIGN);
        match seen(&refresh(&index, &db)) {
            Ok(answer) => {
                answers += 1;
                assert_eq!(answer, expected, "byte {at}");
            }
            Err(error) => {
                errors += 1;
                assert!(matches!(error, ViewError::Index(_)), "{error}");
                let read = index.current(&db.snapshot()).unwrap();
                index.discard(&read, error.to_string()).unwrap();
                assert_eq!(seen(&refresh(&index, &db)).unwrap(), expected, "byte {at}");
            }
        }
    }
    assert!(errors + answers > 100, "{errors} errors, {answers} answers");
}
