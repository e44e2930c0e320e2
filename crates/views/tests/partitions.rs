//! Rows by partition are those that a view over the documents of that partition alone has.

use crate::common::{ask, database, index_options, put, refresh, short};
use std::path::Path;
use std::sync::Arc;
use varve_base::{MemoryStorage, Storage};
use varve_json::parse_object;
use varve_views::{IndexSnapshot, ViewError, ViewGroup, ViewIndex};

const DESIGN: &str = r#"{"views":{
    "n":{"map":"function (doc) { emit(doc.n, doc._id); emit([doc.n % 2, doc.n], 1); }","reduce":"_count"},
    "own":{"map":"function (doc) { emit([doc.n % 3, doc.n], doc.n); }",
           "reduce":"function (keys, values) { return sum(values); }"}}}"#;

/// Names of which some begin as others do, or have the bytes that end names in rows.
const PARTITIONS: [&str; 7] = ["a", "ab", "a\u{1}", "a\0", "\u{1}", "é", "a\u{10ffff}"];

const QUESTIONS: [&str; 14] = [
    "n?reduce=false",
    "n?reduce=false&descending=true&limit=7&skip=2",
    "n?reduce=false&startkey=5&endkey=30",
    "n?reduce=false&startkey=30&endkey=5&descending=true&inclusive_end=false",
    "n?reduce=false&startkey=[1]",
    "n?reduce=false&endkey=20&descending=false",
    "n?reduce=false&keys=[12,3,[0,12],99]",
    "n",
    "n?startkey=5&endkey=[0,30]",
    "n?group=true&limit=3&skip=1",
    "n?group_level=1&startkey=[0]",
    "n?group_level=1&startkey={}&descending=true&limit=2",
    "own?group_level=1",
    "own",
];

fn open(storage: &Arc<dyn Storage>, directory: &str, by_partition: bool) -> ViewIndex {
    let group = ViewGroup::read(&parse_object(DESIGN.as_bytes()).unwrap()).unwrap();
    let group = match by_partition {
        true => group.by_partition(),
        false => group,
    };
    let directory = Path::new(directory);
    ViewIndex::open(
        Arc::clone(storage),
        directory,
        Arc::new(group),
        index_options(),
    )
    .unwrap()
}

fn documents(of: &[&str]) -> Vec<String> {
    let each = (0..140usize).filter_map(|n| {
        let partition = PARTITIONS[n % PARTITIONS.len()];
        let id = varve_json::to_string(&varve_json::Value::from(
            format!("{partition}:{n}").as_str(),
        ));
        of.contains(&partition)
            .then(|| format!("{{\"_id\":{id},\"n\":{n}}}"))
    });
    each.collect()
}

/// The index of a database with the documents of some partitions.
fn index(of: &[&str], by_partition: bool) -> (ViewIndex, IndexSnapshot) {
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
    let db = database(Arc::clone(&storage));
    put(&db, &documents(of));
    let index = open(&storage, "indexes", by_partition);
    let view = refresh(&index, &db);
    (index, view)
}

#[test]
fn a_partition_is_answered_as_if_it_were_alone() {
    let (_index, view) = index(&PARTITIONS, true);
    for partition in PARTITIONS {
        let alone = index(&[partition], false).1;
        for question in QUESTIONS {
            let glue = if question.contains('?') { '&' } else { '?' };
            let of_one = format!("{question}{glue}partition={partition}");
            assert_eq!(short(&view, &of_one), short(&alone, question), "{of_one:?}");
        }
    }
}

#[test]
fn a_view_by_partition_is_not_asked_without_one() {
    let (_index, view) = index(&["a"], true);
    let refused = ask(&view, "n").unwrap_err();
    assert!(matches!(refused, ViewError::Options(_)), "{refused}");
    let (_index, view) = index(&["a"], false);
    let refused = ask(&view, "n?partition=a").unwrap_err();
    assert!(matches!(refused, ViewError::Options(_)), "{refused}");
}
