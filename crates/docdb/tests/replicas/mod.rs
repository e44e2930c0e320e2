//! Replicas that exchange their revisions in any order end equal.

use crate::{memory, put};
use proptest::prelude::*;
use varve_btree::Direction;
use varve_docdb::{Database, DocumentText, Edit, Mode, Rev, write_revisions};

/// One random edit on one of the replicas.
#[derive(Clone, Debug)]
struct Step {
    replica: usize,
    document: u8,
    /// Which leaf is edited.
    leaf: prop::sample::Index,
    deletes: bool,
    body: u8,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (
        0..3usize,
        0..3u8,
        any::<prop::sample::Index>(),
        prop::bool::weighted(0.2),
        0..4u8,
    );
    let step = step.prop_map(|(replica, document, leaf, deletes, body)| Step {
        replica,
        document,
        leaf,
        deletes,
        body,
    });
    prop::collection::vec(step, 1..40)
}

fn apply(db: &Database, step: &Step) {
    let id = format!("doc{}", step.document);
    let document = db.snapshot().document(&id).unwrap();
    let mut text = format!(r#"{{"_id":"{id}","n":{}"#, step.body);
    if let Some(document) = document.filter(|document| !document.is_deleted()) {
        let leaves = document.tree().ranked_leaves();
        text += &format!(r#","_rev":"{}""#, step.leaf.get(&leaves).rev);
        if step.deletes {
            text += r#","_deleted":true"#;
        }
    }
    put(db, &(text + "}")).unwrap();
}

/// All leaves of all documents with their histories, as replication sends them.
fn leaves(db: &Database, direction: Direction) -> Vec<String> {
    let snapshot = db.snapshot();
    let mut texts = Vec::new();
    for change in snapshot.changes(0, direction).unwrap() {
        let document = snapshot.document(&change.unwrap().id).unwrap().unwrap();
        let mut revs: Vec<Rev> = document
            .tree()
            .leaves()
            .map(|leaf| leaf.rev.clone())
            .collect();
        if direction == Direction::Backward {
            revs.reverse();
        }
        for rev in revs {
            let stored = document.revision(&rev).unwrap().1;
            let (mut body, mut text) = (Vec::new(), Vec::new());
            snapshot.body(stored, &mut body).unwrap();
            let mut rendered =
                DocumentText::begin(document.id(), &rev, stored.deleted, &body, &mut text);
            let history = document.tree().history(&rev);
            rendered.member("_revisions", |out| {
                write_revisions(rev.generation, &history, out)
            });
            rendered.end();
            texts.push(String::from_utf8(text).unwrap());
        }
    }
    texts
}

fn push(from: &Database, to: &Database, direction: Direction) {
    let texts = leaves(from, direction);
    let edits = texts
        .iter()
        .map(|text| Edit::parse(None, text.as_bytes()).unwrap());
    for outcome in to.update(edits.collect(), Mode::Replicated).unwrap() {
        outcome.unwrap();
    }
}

/// The state that two replicas must agree on.
fn state(db: &Database) -> Vec<(String, String, Vec<String>)> {
    let snapshot = db.snapshot();
    let mut all: Vec<_> = snapshot
        .changes(0, Direction::Forward)
        .unwrap()
        .map(|change| {
            let document = snapshot.document(&change.unwrap().id).unwrap().unwrap();
            let winner = document.winner().unwrap().0.to_string();
            let leaves = document.tree().ranked_leaves();
            let leaves = leaves.into_iter().map(|leaf| {
                format!(
                    "{} {} {:?}",
                    leaf.rev,
                    leaf.is_deleted(),
                    document.tree().history(&leaf.rev)
                )
            });
            (document.id().to_owned(), winner, leaves.collect())
        })
        .collect();
    all.sort();
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn replicas_end_equal(steps in steps(), pushes in prop::collection::vec((0..3usize, 0..3usize, any::<bool>()), 0..10)) {
        let replicas = [memory(), memory(), memory()];
        let mut pushes = pushes.into_iter();
        for (number, step) in steps.iter().enumerate() {
            apply(&replicas[step.replica], step);
            if number % 4 == 3 && let Some((from, to, backward)) = pushes.next() {
                let direction = if backward { Direction::Backward } else { Direction::Forward };
                push(&replicas[from], &replicas[to], direction);
            }
        }
        for round in 0..2 {
            for (from, to) in [(0, 1), (1, 2), (2, 0), (0, 1), (2, 1), (1, 0)] {
                let direction = if round == from % 2 { Direction::Backward } else { Direction::Forward };
                push(&replicas[from], &replicas[to], direction);
            }
        }
        let expected = state(&replicas[0]);
        prop_assert_eq!(&state(&replicas[1]), &expected);
        prop_assert_eq!(&state(&replicas[2]), &expected);
        for db in &replicas {
            let info = db.snapshot().info().unwrap();
            prop_assert_eq!(info.doc_count + info.doc_del_count, expected.len() as u64);
        }
    }
}
