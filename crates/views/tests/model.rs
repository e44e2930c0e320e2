//! Random edits: the index that followed them equals one made from scratch, and both equal the model.

use crate::common::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage, Silent, Storage};

const DESIGN: &str = r#"{"views":{
    "keys":{"map":"function(d){for (var i in d.keys) emit([d.keys[i], d.v], d.v)}","reduce":"_sum"},
    "stats":{"map":"function(d){if (d.v > 3) emit(d.v, d.v)}","reduce":"_stats"},
    "js":{"map":"function(d){if (d.v > 3) emit(d.v, d.v)}",
          "reduce":"function(k, v, r){ return sum(v) }"}}}"#;

/// Questions whose answers are compared.
const QUESTIONS: [&str; 9] = [
    "keys?reduce=false",
    "keys?reduce=false&descending=true&skip=2",
    "keys",
    "keys?group_level=1",
    "keys?group=true&descending=true",
    "stats?group=true",
    "stats",
    "js",
    "js?group=true",
];

#[derive(Clone, Debug)]
enum Step {
    /// Document, value, emitted keys.
    Put(u8, u8, Vec<u8>),
    Delete(u8),
    Refresh,
    Compact,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let keys = proptest::collection::vec(0..4u8, 0..4);
    prop_oneof![
        6 => (0..12u8, 0..9u8, keys).prop_map(|(id, value, keys)| Step::Put(id, value, keys)),
        2 => (0..12u8).prop_map(Step::Delete),
        2 => Just(Step::Refresh),
        1 => Just(Step::Compact),
        1 => Just(Step::Reopen),
    ]
}

/// The expected rows of documents: those of `keys` as the index gives them.
fn rows(model: &BTreeMap<u8, (u8, Vec<u8>)>) -> String {
    let mut rows = Vec::new();
    for (id, (value, keys)) in model {
        rows.extend(keys.iter().map(|key| (*key, *value, *id)));
    }
    rows.sort();
    let rows: Vec<String> = rows
        .iter()
        .map(|(key, value, id)| {
            format!(r#"{{"id":"d{id:02}","key":[{key},{value}],"value":{value}}}"#)
        })
        .collect();
    format!("[{}]", rows.join(","))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn an_index_that_followed_equals_one_made_anew(
        steps in proptest::collection::vec(step(), 1..40),
        writes in any::<bool>(),
    ) {
        let open_index = if writes { open_writing } else { open };
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::default());
        let db = database(Arc::clone(&storage));
        let mut index = open_index(Arc::clone(&storage), DESIGN);
        let mut model = BTreeMap::new();
        for (generation, step) in (1..).zip(steps) {
            match step {
                Step::Put(id, value, keys) => {
                    let text = format!(
                        r#"{{"_id":"d{id:02}","_rev":"{generation}-a","v":{value},"keys":{keys:?}}}"#
                    );
                    replicate(&db, &[text]);
                    model.insert(id, (value, keys));
                }
                Step::Delete(id) => {
                    // Deletes every leaf: otherwise a conflict that lost would win now.
                    delete_leaves(&db, &format!("d{id:02}"));
                    model.remove(&id);
                }
                Step::Refresh => drop(refresh(&index, &db)),
                Step::Compact => index.compact(&Silent, &Interrupt::default()).unwrap(),
                Step::Reopen => index = open_index(Arc::clone(&storage), DESIGN),
            }
        }
        let followed = refresh(&index, &db);
        let anew = refresh(&open(Arc::new(MemoryStorage::default()), DESIGN), &db);
        prop_assert_eq!(short(&followed, QUESTIONS[0]), rows(&model));
        for question in QUESTIONS {
            let answers = (ask(&followed, question).unwrap(), ask(&anew, question).unwrap());
            prop_assert_eq!(&answers.0, &answers.1, "{}", question);
        }
    }
}

/// Writes a tombstone behind every leaf of a document.
fn delete_leaves(db: &varve_docdb::Database, id: &str) {
    let Some(document) = db.snapshot().document(id).unwrap() else {
        return;
    };
    let leaves: Vec<String> = document
        .tree()
        .leaves()
        .filter(|leaf| !leaf.is_deleted())
        .map(|leaf| format!(r#"{{"_id":"{id}","_rev":"{}","_deleted":true}}"#, leaf.rev))
        .collect();
    for leaf in leaves {
        put(db, &[leaf]);
    }
}
