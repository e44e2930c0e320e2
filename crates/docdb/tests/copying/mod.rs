//! Leaves that are copied from one database into another, as they are stored where both compress alike.

use crate::verify::sample::findings;
use crate::{PATH, edit, options, put, put_rev, replicate};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::channel;
use varve_base::{MemoryStorage, Storage};
use varve_btree::NodeCache;
use varve_codec::EngineSetting;
use varve_docdb::{
    ChunkForm, Database, DatabaseOptions, Direction, EditOutcome, Limits, Mode, Snapshot,
    WantedLeaves,
};
use varve_testkit::Recorder;

/// 2,400 bytes that compress badly, in base64.
fn noise(seed: u64) -> String {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let letters = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        char::from(letters[(state >> 20) as usize % letters.len()])
    };
    (0..3200).map(next).collect()
}

fn with_setting(setting: EngineSetting) -> DatabaseOptions {
    DatabaseOptions::new(setting, NodeCache::new(1 << 20))
}

fn memory(setting: EngineSetting) -> (MemoryStorage, Database) {
    let storage = MemoryStorage::default();
    let db = Database::create(
        Arc::new(storage.clone()),
        Path::new(PATH),
        &with_setting(setting),
    );
    (storage, db.unwrap())
}

/// Copies what `target` lacks of the changes behind an update; returns the outcomes.
fn copy_since(source: &Database, target: &Database, since: u64) -> Vec<EditOutcome> {
    let from = source.snapshot();
    let changes = from.changes(since, Direction::Forward).unwrap();
    let wanted: Vec<WantedLeaves> = changes
        .map(|change| {
            let change = change.unwrap();
            let others = change.others.iter().map(|leaf| leaf.rev.clone());
            let revs = std::iter::once(change.rev.clone()).chain(others).collect();
            WantedLeaves { change, revs }
        })
        .collect();
    let missing = target.snapshot().missing_leaves(&from, &wanted).unwrap();
    let ready = target.prepare_copies(&from, missing).unwrap();
    let (done, outcomes) = channel();
    target.copy_later(ready, move |outcomes| done.send(outcomes).unwrap());
    outcomes.recv().unwrap().unwrap()
}

fn copy(source: &Database, target: &Database) -> usize {
    let outcomes = copy_since(source, target, 0);
    outcomes.iter().for_each(|outcome| {
        assert!(outcome.is_ok(), "{outcome:?}");
    });
    outcomes.len()
}

/// All leaves with histories, texts, and attachments with their data.
fn state(snapshot: &Snapshot) -> Vec<String> {
    let mut all = Vec::new();
    for change in snapshot.changes(0, Direction::Forward).unwrap() {
        let document = snapshot.document(&change.unwrap().id).unwrap().unwrap();
        for leaf in document.tree().ranked_leaves() {
            let stored = leaf.stored.as_ref().unwrap();
            let mut body = Vec::new();
            snapshot.body(stored, &mut body).unwrap();
            let history = document.tree().history(&leaf.rev);
            let mut text = format!(
                "{} {} {} {history:?} {} {}",
                document.id(),
                leaf.rev,
                stored.deleted,
                stored.external,
                String::from_utf8(body).unwrap(),
            );
            for attachment in snapshot.attachments(stored).unwrap() {
                let mut data = Vec::new();
                snapshot.attachment_data(&attachment, &mut data).unwrap();
                text += &format!(
                    " {} {} {:?} {} {} {} {data:?}",
                    attachment.name,
                    attachment.content_type,
                    attachment.md5,
                    attachment.revpos,
                    attachment.is_gzip,
                    attachment.stored_length,
                );
            }
            all.push(text);
        }
    }
    all.sort();
    all
}

fn file_bytes(db: &Database) -> u64 {
    db.sizes().unwrap().file
}

/// One random edit of the source.
#[derive(Clone, Debug)]
struct Step {
    document: u8,
    leaf: prop::sample::Index,
    kind: u8,
    seed: u8,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = (0..5u8, any::<prop::sample::Index>(), 0..8u8, 0..4u8);
    let step = step.prop_map(|(document, leaf, kind, seed)| Step {
        document,
        leaf,
        kind,
        seed,
    });
    prop::collection::vec(step, 1..30)
}

fn apply(db: &Database, step: &Step) {
    let id = format!("doc{}", step.document);
    let document = db.snapshot().document(&id).unwrap();
    let leaf = document.as_ref().and_then(|document| {
        let leaves = document.tree().ranked_leaves();
        let leaves: Vec<_> = leaves
            .into_iter()
            .filter(|leaf| !leaf.is_deleted())
            .collect();
        (!leaves.is_empty()).then(|| step.leaf.get(&leaves).rev.to_string())
    });
    let rev = leaf.map_or(String::new(), |rev| format!(r#","_rev":"{rev}""#));
    let noise = noise(u64::from(step.seed));
    let text = match step.kind {
        0 if !rev.is_empty() => format!(r#"{{"_id":"{id}","_deleted":true{rev}}}"#),
        1 => format!(
            r#"{{"_id":"{id}","_attachments":{{"a.bin":{{"content_type":"a/b","data":"{noise}"}},
                "t.txt":{{"content_type":"text/plain","data":"{noise}"}}}}{rev}}}"#
        ),
        // Long texts are stored as deltas of one another.
        2 => format!(
            r#"{{"_id":"{id}","n":{},"long":"{noise}{noise}"{rev}}}"#,
            step.document
        ),
        3 | 4 => {
            let digest = format!("{:x}", u32::from(step.seed) + 0xa0);
            let text = format!(
                r#"{{"_id":"{id}","_rev":"2-{digest}","_revisions":{{"start":2,"ids":["{digest}","{digest}0"]}},"x":{}}}"#,
                step.kind
            );
            return replicate(db, &[&text]);
        }
        _ => format!(r#"{{"_id":"{id}","n":{}{rev}}}"#, step.seed),
    };
    // A random edit may be a conflict.
    let _ = put(db, &text);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn a_copy_has_all_that_the_source_has(
        before in steps(),
        after in steps(),
        settings in prop::sample::select(vec![
            (EngineSetting::SNAPPY, EngineSetting::SNAPPY),
            (EngineSetting::ZSTD, EngineSetting::ZSTD),
            (EngineSetting::ZSTD, EngineSetting::SNAPPY),
            (EngineSetting::NONE, EngineSetting::ZSTD),
        ]),
    ) {
        let (_, source) = memory(settings.0);
        let (storage, target) = memory(settings.1);
        for steps in [&before, &after] {
            steps.iter().for_each(|step| apply(&source, step));
            copy(&source, &target);
            prop_assert_eq!(state(&target.snapshot()), state(&source.snapshot()));
            prop_assert_eq!(copy(&source, &target), 0, "nothing is missing");
        }
        drop(target);
        prop_assert_eq!(findings(&storage, PATH).unwrap().1, []);
    }
}

#[test]
fn bodies_are_taken_over_with_the_dictionary_that_they_need() {
    let (_, source) = memory(EngineSetting::ZSTD);
    let record = |n: u32| {
        let words = "a text that all of them have, and few others do".repeat(3);
        edit(&format!(r#"{{"_id":"{n:05}","words":"{words}","n":{n}}}"#))
    };
    let fill = |numbers: std::ops::Range<u32>| {
        let edits = numbers.map(record).collect();
        source.update(edits, Mode::Interactive).unwrap();
    };
    fill(0..1500);
    assert!(source.train().unwrap());
    fill(1500..3000);
    let (storage, target) = memory(EngineSetting::ZSTD);
    assert_eq!(copy(&source, &target), 3000);
    let (theirs, ours) = (source.compression().unwrap(), target.compression().unwrap());
    assert_eq!(ours.dictionaries.len(), 1);
    assert_eq!(ours.dictionaries[0].number, theirs.dictionaries[0].number);
    let of_form = |form| ours.chunk_stats.unwrap().of(form).chunks;
    assert_eq!(of_form(ChunkForm::Dictionary), 3000);
    assert_eq!(state(&target.snapshot()), state(&source.snapshot()));
    drop(target);
    let target = Database::open(
        Arc::new(storage.clone()),
        Path::new(PATH),
        &with_setting(EngineSetting::ZSTD),
    );
    assert_eq!(
        state(&target.unwrap().snapshot()),
        state(&source.snapshot())
    );
    assert_eq!(findings(&storage, PATH).unwrap().1, []);

    // For few documents it is not worth its bytes, and another one is not replaced.
    let (_, small) = memory(EngineSetting::ZSTD);
    copy_since(&source, &small, 2990);
    assert!(small.compression().unwrap().dictionaries.is_empty());
    let (_, other) = memory(EngineSetting::ZSTD);
    let edits = (0..1500).map(|n| {
        let words = "quite other words, which are of no use elsewhere".repeat(3);
        edit(&format!(r#"{{"_id":"x{n:05}","words":"{words}","n":{n}}}"#))
    });
    other.update(edits.collect(), Mode::Interactive).unwrap();
    assert!(other.train().unwrap());
    assert_eq!(copy(&source, &other), 3000);
    assert_eq!(other.compression().unwrap().dictionaries.len(), 1);
    let copied = state(&other.snapshot());
    assert!(
        state(&source.snapshot())
            .iter()
            .all(|leaf| copied.contains(leaf))
    );
}

#[test]
fn leaves_with_the_same_attachment_share_it_in_the_copy() {
    let (_, source) = memory(EngineSetting::SNAPPY);
    let data = noise(7).repeat(100);
    let stub = r#""_attachments":{"f":{"content_type":"a/b","revpos":1,"stub":true}}"#;
    replicate(
        &source,
        &[&format!(
            r#"{{"_id":"d","_rev":"1-a","_attachments":{{"f":{{"content_type":"a/b","revpos":1,"data":"{data}"}}}}}}"#
        )],
    );
    for branch in ["b", "c"] {
        replicate(
            &source,
            &[&format!(
                r#"{{"_id":"d","_rev":"2-{branch}","_revisions":{{"start":2,"ids":["{branch}","a"]}},{stub}}}"#
            )],
        );
    }
    let (_, target) = memory(EngineSetting::SNAPPY);
    assert_eq!(copy(&source, &target), 2);
    let once = file_bytes(&target);
    assert!(once < 300_000, "{once}");
    // A later revision finds the attachment in the target.
    replicate(
        &source,
        &[&format!(
            r#"{{"_id":"d","_rev":"3-b","_revisions":{{"start":3,"ids":["b","b","a"]}},{stub}}}"#
        )],
    );
    assert_eq!(copy(&source, &target), 1);
    assert!(
        file_bytes(&target) < once + 20_000,
        "{}",
        file_bytes(&target)
    );
    assert_eq!(state(&target.snapshot()), state(&source.snapshot()));
}

/// The ids in the heads of the two files are one, so places of the one look like places of the other.
#[test]
fn a_copied_file_is_not_taken_for_the_file_itself() {
    let storage = MemoryStorage::default();
    let open = |path: &str| Database::open(Arc::new(storage.clone()), Path::new(path), &options());
    let source = Database::create(Arc::new(storage.clone()), Path::new(PATH), &options()).unwrap();
    put_rev(&source, r#"{"_id":"before"}"#);
    source.seal().unwrap();
    // Whichever is appended to first gets bytes of its own.
    storage
        .link(Path::new(PATH), Path::new("twin.varve"))
        .unwrap();
    let target = open("twin.varve").unwrap();
    let long = noise(1).repeat(4000);
    for data in [&noise(3), &long] {
        let data = format!(r#""_attachments":{{"f":{{"content_type":"a/b","data":"{data}"}}}}"#);
        put_rev(&source, &format!(r#"{{"_id":"{}",{data}}}"#, data.len()));
    }
    put_rev(&target, r#"{"_id":"other"}"#);
    assert_eq!(copy(&source, &target), 2);
    let copied = state(&target.snapshot());
    assert!(
        state(&source.snapshot())
            .iter()
            .all(|leaf| copied.contains(leaf))
    );
}

#[test]
fn what_is_too_large_for_the_target_is_refused_and_the_rest_is_copied() {
    let (_, source) = memory(EngineSetting::ZSTD);
    put_rev(&source, r#"{"_id":"a"}"#);
    put_rev(
        &source,
        &format!(r#"{{"_id":"b","text":"{}"}}"#, "x".repeat(5000)),
    );
    let data = noise(1);
    for (id, names) in [("c", &["f"][..]), ("d", &["f", "g", "h"])] {
        let one = |name: &&str| format!(r#""{name}":{{"content_type":"a/b","data":"{data}"}}"#);
        let all: Vec<String> = names.iter().map(one).collect();
        put_rev(
            &source,
            &format!(r#"{{"_id":"{id}","_attachments":{{{}}}}}"#, all.join(",")),
        );
    }
    let limited = |limits: Limits| {
        let options = DatabaseOptions {
            limits,
            ..with_setting(EngineSetting::ZSTD)
        };
        let storage = Arc::new(MemoryStorage::default());
        let target = Database::create(storage, Path::new(PATH), &options).unwrap();
        let outcomes = copy_since(&source, &target, 0);
        let refused = outcomes.iter().map(|outcome| match outcome {
            Ok(accepted) => accepted.id.clone(),
            Err(error) => format!("{error:?}"),
        });
        assert_eq!(
            target.snapshot().info().unwrap().doc_count,
            outcomes.iter().flatten().count() as u64
        );
        refused.collect::<Vec<_>>()
    };
    let usual = Limits::default();
    assert_eq!(limited(usual), ["a", "b", "c", "d"]);
    let document = limited(Limits {
        document: 4000,
        ..usual
    });
    assert!(
        document[1].contains('b') && document[1] != "b",
        "{document:?}"
    );
    assert_eq!(
        (&*document[0], &*document[2], &*document[3]),
        ("a", "c", "d")
    );
    let attachment = limited(Limits {
        attachment: 2000,
        ..usual
    });
    assert!(
        attachment[2] != "c" && attachment[3] != "d",
        "{attachment:?}"
    );
    let count = limited(Limits {
        attachments: 2,
        ..usual
    });
    assert!(count[2] == "c" && count[3] != "d", "{count:?}");
}

#[test]
fn no_cut_leaves_half_of_what_was_copied_together() {
    let (_, source) = memory(EngineSetting::SNAPPY);
    let data = noise(5);
    for n in 0..12 {
        put_rev(
            &source,
            &format!(
                r#"{{"_id":"{n:02}","_attachments":{{"f":{{"content_type":"a/b","data":"{data}"}}}}}}"#
            ),
        );
    }
    let disk = Recorder::default();
    let target = Database::create(Arc::new(disk.clone()), Path::new(PATH), &options()).unwrap();
    disk.acknowledge();
    let from = source.snapshot();
    let changes = from.changes(0, Direction::Forward).unwrap();
    let wanted: Vec<WantedLeaves> = changes
        .map(|change| {
            let change = change.unwrap();
            WantedLeaves {
                revs: vec![change.rev.clone()],
                change,
            }
        })
        .collect();
    for batch in wanted.chunks(3) {
        let missing = target.snapshot().missing_leaves(&from, batch).unwrap();
        let ready = target.prepare_copies(&from, missing).unwrap();
        let (done, outcomes) = channel();
        target.copy_later(ready, move |outcomes| done.send(outcomes).unwrap());
        assert_eq!(outcomes.recv().unwrap().unwrap().len(), 3);
        disk.acknowledge();
    }
    let expected = state(&source.snapshot());
    let images = disk.for_each_image(300, |image| {
        let opened = Database::open(Arc::new(image.storage), Path::new(PATH), &options());
        let Ok(db) = opened else {
            assert_eq!(image.acknowledged, 0, "{}", image.cut);
            return;
        };
        let found = state(&db.snapshot());
        assert_eq!(found.len() % 3, 0, "half a batch: {}", image.cut);
        assert!(
            found.len() >= image.acknowledged.saturating_sub(1) * 3,
            "{}",
            image.cut
        );
        assert!(
            found.iter().all(|leaf| expected.contains(leaf)),
            "{}",
            image.cut
        );
        // The rest comes with the next run, and nothing twice.
        assert_eq!(copy(&source, &db), 12 - found.len(), "{}", image.cut);
        assert_eq!(state(&db.snapshot()), expected, "{}", image.cut);
    });
    assert!(images > 500, "only {images} images");
}
