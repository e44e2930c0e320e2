//! Random databases before and after a compaction, and attachments that are equal.

use super::*;
use crate::attaching;
use proptest::prelude::*;

/// Change of one of few documents.
#[derive(Clone, Debug)]
enum Step {
    /// An edit of a leaf, with some attachments.
    Put {
        document: u8,
        leaf: prop::sample::Index,
        body: u16,
        attached: Vec<u8>,
    },
    Delete {
        document: u8,
        leaf: prop::sample::Index,
    },
    /// A branch that comes in by replication.
    Branch {
        document: u8,
        generation: u8,
        digest: u8,
        deleted: bool,
    },
    Local {
        document: u8,
        len: u16,
        deleted: bool,
    },
    Limit(u8),
    Compact,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let index = any::<prop::sample::Index>;
    let put = (
        0..6u8,
        index(),
        any::<u16>(),
        prop::collection::vec(0..5u8, 0..3),
    );
    let put = put.prop_map(|(document, leaf, body, attached)| Step::Put {
        document,
        leaf,
        body,
        attached,
    });
    let delete = (0..6u8, index()).prop_map(|(document, leaf)| Step::Delete { document, leaf });
    let branch = (0..6u8, 1..5u8, 0..4u8, prop::bool::weighted(0.3));
    let branch = branch.prop_map(|(document, generation, digest, deleted)| Step::Branch {
        document,
        generation,
        digest,
        deleted,
    });
    let local = (0..4u8, 0..5000u16, prop::bool::weighted(0.2));
    let local = local.prop_map(|(document, len, deleted)| Step::Local {
        document,
        len,
        deleted,
    });
    let step = prop_oneof![
        6 => put,
        2 => delete,
        3 => branch,
        2 => local,
        1 => (2..9u8).prop_map(Step::Limit),
        1 => Just(Step::Compact),
    ];
    prop::collection::vec(step, 1..60)
}

/// Texts are stored as gzip, others as they are; some pairs of names hold the same.
fn attachments(numbers: &[u8]) -> String {
    let members = numbers.iter().map(|number| {
        let kind = if number % 2 == 0 {
            "text/plain"
        } else {
            "image/png"
        };
        let data = ["QUJDREVGRw==", "AAECAwQF"][usize::from(number / 3)];
        format!(r#""{number}":{{"content_type":"{kind}","data":"{data}"}}"#)
    });
    let members: std::collections::BTreeSet<_> = members.collect();
    members.into_iter().collect::<Vec<_>>().join(",")
}

fn apply(db: &Database, step: &Step) {
    let leaf_of = |document: u8, leaf: &prop::sample::Index| {
        let document = db.snapshot().document(&format!("doc{document}")).unwrap();
        document.map(|document| {
            let leaves = document.tree().ranked_leaves();
            (leaf.get(&leaves).rev.to_string(), document.is_deleted())
        })
    };
    match step {
        Step::Put {
            document,
            leaf,
            body,
            attached,
        } => {
            let mut text = format!(r#"{{"_id":"doc{document}","n":{body}"#);
            if let Some((rev, false)) = leaf_of(*document, leaf) {
                text += &format!(r#","_rev":"{rev}""#);
            }
            text += &format!(r#","_attachments":{{{}}}}}"#, attachments(attached));
            // An edit of a deleted conflict is refused, on both alike.
            let _ = put(db, &text);
        }
        Step::Delete { document, leaf } => {
            if let Some((rev, _)) = leaf_of(*document, leaf) {
                let edit = Edit::deletion(&format!("doc{document}"), &rev).unwrap();
                let _ = db.update_one(edit, Mode::Interactive).unwrap();
            }
        }
        Step::Branch {
            document,
            generation,
            digest,
            deleted,
        } => {
            let ids: Vec<_> = (0..*generation)
                .map(|age| format!("\"{:02x}\"", u32::from(digest + age) * 7 % 16))
                .collect();
            let text = format!(
                r#"{{"_id":"doc{document}","_deleted":{deleted},"b":{digest},
                    "_revisions":{{"start":{generation},"ids":[{}]}}}}"#,
                ids.join(",")
            );
            replicate(db, &[&text]);
        }
        Step::Local {
            document,
            len,
            deleted,
        } => {
            let text = "x".repeat(usize::from(*len));
            let text =
                format!(r#"{{"_id":"_local/{document}","_deleted":{deleted},"text":"{text}"}}"#);
            put(db, &text).unwrap();
        }
        Step::Limit(limit) => db.set_revs_limit(u64::from(*limit)).unwrap(),
        Step::Compact => {}
    }
}

/// Answers of a database without those that are random in each.
fn comparable(db: &Database) -> Vec<String> {
    answers(&db.snapshot()).split_off(1)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn nothing_changes_by_compaction(steps in steps()) {
        let (compacted, plain) = (memory(), memory());
        for step in &steps {
            if matches!(step, Step::Compact) {
                let before = answers(&compacted.snapshot());
                compact(&compacted);
                prop_assert_eq!(answers(&compacted.snapshot()), before);
            }
            apply(&compacted, step);
            apply(&plain, step);
        }
        prop_assert_eq!(comparable(&compacted), comparable(&plain));
        let before = compacted.snapshot().info().unwrap();
        compact(&compacted);
        prop_assert_eq!(comparable(&compacted), comparable(&plain));
        let after = compacted.snapshot().info().unwrap();
        prop_assert_eq!(after.external, before.external);
        prop_assert!(after.documents_active <= before.documents_active);
        let sizes = compacted.sizes().unwrap();
        prop_assert!(sizes.active <= sizes.file);
    }
}

fn attach(db: &Database, id: &str, data: &[u8]) {
    let edit = attaching(db, id, None, "it", Some(("image/png", data)));
    db.update_one(edit, Mode::Interactive).unwrap().unwrap();
}

#[test]
fn equal_attachments_are_stored_once() {
    let db = memory();
    let long = varve_testkit::repos::noise(3_000_000, 1);
    for number in 0..5 {
        attach(&db, &format!("same{number}"), &long);
    }
    let mut other = long.clone();
    other[2_500_000] ^= 1;
    attach(&db, "other", &other);
    let before = answers(&db.snapshot());
    let done = compact(&db);
    assert_eq!(answers(&db.snapshot()), before);
    assert!(done.before > 18_000_000, "{done:?}");
    assert!((6_000_000..6_100_000).contains(&done.after), "{done:?}");
    assert_eq!(compact(&db).after, done.after);
}

#[test]
fn many_documents_in_any_order_of_ids() {
    let db = memory();
    for round in 0..5_u32 {
        let edits = (0..4000_u32).map(|number| {
            let id = (round * 4000 + number).wrapping_mul(2_654_435_761);
            edit(&format!(r#"{{"_id":"{id:08x}","n":{number}}}"#))
        });
        for outcome in db.update(edits.collect(), Mode::Interactive).unwrap() {
            outcome.unwrap();
        }
    }
    let before = answers(&db.snapshot());
    let done = compact(&db);
    assert!(done.after < done.before, "{done:?}");
    assert_eq!(answers(&db.snapshot()), before);
}
