//! Indexes that are asked without waiting for the disk.

use crate::common::{DATABASE, DIRECTORY, ask, group, index_options, put, with_context};
use std::path::Path;
use std::sync::Arc;
use varve_base::{MemoryStorage, ReadMode, Storage};
use varve_codec::EngineSetting;
use varve_docdb::{Database, DatabaseOptions, NodeCache};
use varve_testkit::watched::{Cold, Watched};
use varve_views::{IndexOptions, ViewIndex};

const DESIGN: &str = r#"{"views":{"v":{"map":"function(d){emit(d.n, null)}"}}}"#;

type Disk = Watched<MemoryStorage, Cold>;

/// A database and an index of it that keep no nodes in memory.
fn uncached() -> (Disk, Database, ViewIndex) {
    let disk = Watched::new(MemoryStorage::default(), Cold::default());
    let storage: Arc<dyn Storage> = Arc::new(disk.clone());
    let options = DatabaseOptions::new(EngineSetting::SNAPPY, NodeCache::new(0));
    let db = Database::create(Arc::clone(&storage), Path::new(DATABASE), &options).unwrap();
    let options = IndexOptions {
        cache: NodeCache::new(0),
        ..index_options()
    };
    let index = ViewIndex::open(storage, Path::new(DIRECTORY), group(DESIGN), options).unwrap();
    (disk, db, index)
}

#[test]
fn an_index_is_read_in_the_mode_of_the_snapshot_that_it_is_asked_for() {
    let (disk, db, index) = uncached();
    put(&db, &[r#"{"_id":"a","n":1}"#, r#"{"_id":"b","n":2}"#]);
    with_context(|context| index.update_to(&db.snapshot(), context)).unwrap();
    let cached = db.snapshot().with_mode(ReadMode::CachedOnly);
    let view = index.get_if_current(&cached).unwrap();
    let blocking = index.get_if_current(&db.snapshot()).unwrap();
    assert_eq!(ask(&view, "v").unwrap(), ask(&blocking, "v").unwrap());
    disk.watcher().begin();
    let refused = ask(&view, "v?key=1").unwrap_err();
    assert!(refused.is_would_block(), "{refused}");
    assert!(ask(&blocking, "v?key=1").is_ok());
}

#[test]
fn a_cached_snapshot_starts_no_build() {
    let (_, db, index) = uncached();
    put(&db, &[r#"{"_id":"a","n":1}"#]);
    let cached = db.snapshot().with_mode(ReadMode::CachedOnly);
    assert!(index.get_if_current(&cached).is_none());
    let refused = with_context(|context| index.update_to(&cached, context)).unwrap_err();
    assert!(refused.is_would_block(), "{refused}");
    assert_eq!(index.current(&db.snapshot()).unwrap().update_seq(), 0);
    with_context(|context| index.update_to(&db.snapshot(), context)).unwrap();
    let view = with_context(|context| index.update_to(&cached, context)).unwrap();
    assert_eq!(view.update_seq(), 1);
}
