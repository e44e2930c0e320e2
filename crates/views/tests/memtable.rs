//! Few changes of an index stay in memory, until there are many or it is compacted.

use crate::common::*;
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage, Silent, Storage};
use varve_docdb::Database;
use varve_views::{IndexOptions, MemtableBudget, ViewIndex};

const ROWS: &str = r#"{"views":{"v":{"map":"function(d){emit(d.n, null)}"}}}"#;
const SUMS: &str = r#"{"views":{"v":{"map":"function(d){emit(d.n % 5, d.n)}","reduce":"_sum"}}}"#;
const SCRIPT: &str =
    r#"{"views":{"v":{"map":"function(d){emit(0, 1)}","reduce":"function(k,v){return sum(v)}"}}}"#;

/// Writes the generation of so many documents.
fn edit(db: &Database, documents: std::ops::Range<u64>, generation: u64) {
    let document = |number| {
        let n = number * 31 + generation;
        format!(r#"{{"_id":"d{number:05}","_rev":"{generation}-a","n":{n}}}"#)
    };
    replicate(db, &documents.map(document).collect::<Vec<_>>());
}

struct Indexed {
    storage: Arc<dyn Storage>,
    db: Database,
    index: ViewIndex,
}

impl Indexed {
    /// An index of 1,000 documents.
    fn new(design: &str) -> Self {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        let db = database(Arc::clone(&storage));
        let index = open(Arc::clone(&storage), design);
        edit(&db, 0..1_000, 1);
        assert!(!refresh(&index, &db).has_memtable());
        Indexed { storage, db, index }
    }

    /// The sequence and the row count that another process would find in the file.
    fn in_file(&self, design: &str) -> (u64, u64) {
        let view = open(Arc::clone(&self.storage), design).current(&self.db.snapshot());
        let view = view.unwrap();
        (view.update_seq(), view.row_count("v").unwrap())
    }
}

#[test]
fn few_changes_are_seen_before_they_are_in_the_file() {
    let it = Indexed::new(ROWS);
    let size = it.index.sizes().file;
    for round in 0..5 {
        edit(&it.db, round * 10..round * 10 + 5, 2);
        edit(&it.db, 2_000 + round..2_001 + round, 1);
        let view = refresh(&it.index, &it.db);
        assert!(view.has_memtable());
        assert_eq!(view.row_count("v").unwrap(), 1_001 + round);
        let other = refresh(&open(Arc::new(MemoryStorage::default()), ROWS), &it.db);
        assert_eq!(ask(&view, "v").unwrap(), ask(&other, "v").unwrap());
    }
    assert_eq!(it.index.sizes().file, size);
    // A process that ends forgets them; the next one maps the documents again.
    assert_eq!(it.in_file(ROWS), (1_000, 1_000));
    let view = refresh(&it.index, &it.db);
    let again = refresh(&open(Arc::clone(&it.storage), ROWS), &it.db);
    assert_eq!(ask(&again, "v").unwrap(), ask(&view, "v").unwrap());
}

#[test]
fn many_changes_go_into_the_file() {
    let it = Indexed::new(ROWS);
    // Each edit changes the old row, the new row, and the document's entry.
    for (generation, documents) in [(2, 0..900), (3, 0..900), (4, 0..900)] {
        edit(&it.db, documents, generation);
        assert!(refresh(&it.index, &it.db).has_memtable());
    }
    edit(&it.db, 3_000..20_000, 1);
    assert!(!refresh(&it.index, &it.db).has_memtable());
    assert_eq!(it.in_file(ROWS), (20_700, 18_000));
}

#[test]
fn where_values_are_reduced_fewer_are_many() {
    let it = Indexed::new(SUMS);
    edit(&it.db, 0..200, 2);
    let view = refresh(&it.index, &it.db);
    assert!(view.has_memtable() && view.reduces_slowly());
    let other = refresh(&open(Arc::new(MemoryStorage::default()), SUMS), &it.db);
    for question in ["v?group=true", "v", "v?startkey=1&endkey=3"] {
        assert_eq!(
            ask(&view, question).unwrap(),
            ask(&other, question).unwrap()
        );
    }
    // Now it is known that values are reduced.
    edit(&it.db, 0..1, 3);
    assert!(!refresh(&it.index, &it.db).has_memtable());
    edit(&it.db, 0..10, 4);
    let view = refresh(&it.index, &it.db);
    assert!(view.has_memtable() && !view.reduces_slowly());
    // Functions are not even tried on many pieces.
    let it = Indexed::new(SCRIPT);
    edit(&it.db, 0..200, 2);
    assert!(!refresh(&it.index, &it.db).has_memtable());
}

#[test]
fn a_compaction_writes_them_too() {
    let it = Indexed::new(ROWS);
    edit(&it.db, 0..10, 2);
    let before = ask(&refresh(&it.index, &it.db), "v").unwrap();
    it.index.compact(&Silent, &Interrupt::default()).unwrap();
    assert_eq!(it.in_file(ROWS), (1_010, 1_000));
    let view = it.index.current(&it.db.snapshot()).unwrap();
    assert!(!view.has_memtable());
    assert_eq!(ask(&view, "v").unwrap(), before);
}

#[test]
fn indexes_share_the_memory() {
    let it = Indexed::new(ROWS);
    let options = IndexOptions {
        memtable_budget: MemtableBudget::new(8_000),
        ..index_options()
    };
    let open = |name: &str| {
        let directory = std::path::Path::new(name);
        let (storage, group) = (Arc::clone(&it.storage), group(ROWS));
        ViewIndex::open(storage, directory, group, options.clone()).unwrap()
    };
    let (one, two) = (open("one"), open("two"));
    refresh(&one, &it.db);
    refresh(&two, &it.db);
    edit(&it.db, 0..30, 2);
    assert!(refresh(&one, &it.db).has_memtable());
    assert!(!refresh(&two, &it.db).has_memtable());
    // One that is closed gives its part back.
    drop(one);
    edit(&it.db, 0..30, 3);
    assert!(refresh(&two, &it.db).has_memtable());
}
