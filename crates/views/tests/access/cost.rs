//! Costs of a user's queries, in reads of the file: those of the user's own rows.

use super::{group, memory, open, refresh, user, with_access};
use crate::common::{DIRECTORY, ask, index_options, put};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use varve_base::MemoryStorage;
use varve_docdb::{NodeCache, Viewer};
use varve_testkit::watched::{Call, Watched, Watcher};
use varve_views::{IndexOptions, ViewIndex};

const DESIGN: &str = r#"{"views":{"v":{"map":"function (d) { emit(d.n, 1); }","reduce":"_sum"}}}"#;

#[derive(Clone, Default)]
struct Reads(Arc<AtomicUsize>);

impl std::fmt::Debug for Reads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reads")
    }
}

impl Watcher for Reads {
    fn before(&self, call: Call, _: &Path) -> Result<(), std::io::ErrorKind> {
        if let Call::Read(..) | Call::CachedRead(..) = call {
            self.0.fetch_add(1, Relaxed);
        }
        Ok(())
    }
}

#[test]
fn a_hundred_rows_among_a_hundred_thousand_cost_the_reads_of_a_hundred() {
    let db = with_access(memory());
    for batch in 0..100u64 {
        let documents = (0..1000u64).map(|n| {
            let owner = if n == 7 {
                "\"ann\",\"team\""
            } else {
                "\"bob\""
            };
            format!(r#"{{"_id":"{n:03}-{batch}","_access":[{owner}],"n":{batch}}}"#)
        });
        put(&db, &documents.collect::<Vec<_>>());
    }
    let storage = MemoryStorage::default();
    refresh(
        &open(Arc::new(storage.clone()), DESIGN, 0),
        &db,
        &Viewer::ALL,
    );
    let reads = Reads::default();
    let watched = Watched::new(storage, reads.clone());
    let cold = IndexOptions {
        cache: NodeCache::new(0),
        ..index_options()
    };
    let index =
        ViewIndex::open(Arc::new(watched), Path::new(DIRECTORY), group(DESIGN), cold).unwrap();
    let cost = |viewer: &Viewer, question: &str, rows: usize| {
        let view = index.current(&db.snapshot().as_seen_by(viewer)).unwrap();
        let before = reads.0.load(Relaxed);
        let answer = ask(&view, question).unwrap();
        assert_eq!(answer.matches("\"key\"").count(), rows, "{question}");
        reads.0.load(Relaxed) - before
    };
    let (ann, bob) = (user("ann", &["team"]), user("bob", &[]));
    // Each of 100 groups is looked up among the rows of two names, without a cache.
    for (question, rows) in [
        ("v?reduce=false", 100),
        ("v?reduce=false&descending=true&limit=10&skip=5", 10),
        ("v?group=true", 100),
        ("v", 1),
    ] {
        let own = cost(&ann, question, rows);
        assert!(own < 2_500, "{question}: {own} reads");
    }
    let (few, many) = (
        cost(&ann, "v?reduce=false", 100),
        cost(&bob, "v?reduce=false", 99_900),
    );
    assert!(
        few < 100 && many > 4 * few,
        "{many} reads for all others, {few} for a hundred"
    );
    // One name has them all: its rows are reduced and skipped in inner nodes.
    let (sum, tail) = (
        cost(&bob, "v", 1),
        cost(&bob, "v?reduce=false&skip=99890", 10),
    );
    assert!(
        sum < 100 && tail < 100,
        "{sum} reads for a sum, {tail} for ten rows at the end"
    );
}
