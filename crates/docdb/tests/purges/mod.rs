//! Revisions are forgotten for good.

use crate::{PATH, create, memory, options, put_rev, replicate};
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage, Silent};
use varve_btree::Direction;
use varve_docdb::{Database, Rev};

fn purge(db: &Database, id: &str, revs: &[&str]) -> Vec<String> {
    let revs: Vec<Rev> = revs.iter().map(|rev| rev.parse().unwrap()).collect();
    let purged = db.purge([(id.to_owned(), revs)].into()).unwrap();
    purged[id].iter().map(Rev::to_string).collect()
}

fn known(db: &Database, id: &str) -> Vec<String> {
    let document = db.snapshot().document(id).unwrap();
    let leaves = document.iter().flat_map(|found| found.tree().leaves());
    leaves.map(|leaf| leaf.rev.to_string()).collect()
}

fn remembered(db: &Database) -> Vec<(u64, String)> {
    let purges = db.snapshot().purges(0).unwrap();
    purges
        .map(|purge| purge.unwrap())
        .map(|purge| (purge.seq, purge.id))
        .collect()
}

/// A document with two branches, 3-c and 2-d, from 1-a.
fn branched(db: &Database) {
    for (rev, ids) in [("3-c", r#"["c","b","a"]"#), ("2-d", r#"["d","a"]"#)] {
        let start = &rev[..1];
        replicate(
            db,
            &[&format!(
                r#"{{"_id":"a","_rev":"{rev}","_revisions":{{"start":{start},"ids":{ids}}}}}"#
            )],
        );
    }
}

#[test]
fn only_leaves_go_with_what_leads_to_them_alone() {
    let db = memory();
    branched(&db);
    put_rev(&db, r#"{"_id":"b"}"#);
    assert!(purge(&db, "a", &["2-b", "1-a", "9-x"]).is_empty());
    assert_eq!(db.snapshot().update_seq(), 3);
    assert_eq!(purge(&db, "a", &["3-c"]), ["3-c"]);
    assert_eq!(known(&db, "a"), ["2-d"]);
    let snapshot = db.snapshot();
    let document = snapshot.document("a").unwrap().unwrap();
    assert_eq!((document.seq(), document.tree().len()), (4, 2));
    assert_eq!(purge(&db, "a", &["2-d", "2-d"]), ["2-d"]);
    let snapshot = db.snapshot();
    assert!(snapshot.document("a").unwrap().is_none());
    assert_eq!(snapshot.info().unwrap().doc_count, 1);
    assert_eq!((snapshot.update_seq(), snapshot.purge_seq()), (5, 3));
    let changes = snapshot.changes(0, Direction::Forward).unwrap();
    let ids: Vec<_> = changes.map(|change| change.unwrap().id).collect();
    assert_eq!(ids, ["b"]);
    assert!(purge(&db, "nobody", &["1-a"]).is_empty());
    let seqs: Vec<_> = remembered(&db).into_iter().map(|(seq, _)| seq).collect();
    assert_eq!(seqs, [1, 2, 3, 4]);
    // Purged revisions may come again.
    branched(&db);
    assert_eq!(known(&db, "a"), ["3-c", "2-d"]);
}

#[test]
fn as_many_purges_as_the_limit_says_are_remembered_over_compactions() {
    let storage = MemoryStorage::default();
    let db = create(storage.clone());
    assert_eq!(db.snapshot().purges_limit().unwrap(), 1000);
    for number in 0..5 {
        purge(&db, &format!("d{number}"), &["1-a"]);
    }
    db.set_purges_limit(3).unwrap();
    let named = |seqs: std::ops::Range<u64>| -> Vec<_> {
        seqs.map(|seq| (seq, format!("d{}", seq - 1))).collect()
    };
    assert_eq!(remembered(&db), named(3..6));
    db.compact(&Silent, &Interrupt::default()).unwrap();
    let many = (5..12).map(|number| (format!("d{number:02}"), Vec::new()));
    db.purge(many.collect()).unwrap();
    drop(db);
    let db = Database::open(Arc::new(storage), Path::new(PATH), &options()).unwrap();
    let seqs: Vec<_> = remembered(&db).into_iter().map(|(seq, _)| seq).collect();
    assert_eq!(seqs, [10, 11, 12]);
    assert_eq!(db.snapshot().purges_limit().unwrap(), 3);
    assert_eq!(db.snapshot().purge_seq(), 12);
}
