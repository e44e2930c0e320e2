//! The form in which a revision is stored: its base, and the limits of its chain.

use crate::model::{INDEX, bytes_of, lines, noise, plain_texts, storage};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use varve_base::Storage;
use varve_codec::EngineSetting;
use varve_revlog::{
    Appender, Content, NewRevision, Node, Rev, RevisionHints, Revlog, WriteOptions, flag,
};

/// An open appender of a filelog, in memory.
fn filelog(storage: &Arc<dyn Storage>, options: impl Into<WriteOptions>) -> Appender {
    Appender::open(storage, Path::new(INDEX), Content::File, options).unwrap()
}

fn add(appender: &mut Appender, text: &[u8], p1: Option<u32>, p2: Option<u32>) -> Rev {
    let link = Rev(appender.len() as u32);
    let (p1, p2) = (p1.map(Rev), p2.map(Rev));
    appender.add(&NewRevision { text, p1, p2, link }).unwrap().0
}

/// Writes the added revisions and opens the revlog.
fn written(storage: &Arc<dyn Storage>, appender: Appender) -> Revlog {
    appender.write().unwrap();
    Revlog::open(storage, Path::new(INDEX)).unwrap()
}

/// A delta that is against no parent: then it is a snapshot, with its depth. A revision with an empty chunk has the
/// text of its base and counts as that one.
fn snapshot_depth(revlog: &Revlog, rev: Rev) -> Option<u32> {
    let Some(base) = revlog.delta_parent(rev) else {
        return Some(0);
    };
    let parents = revlog.parents(rev).into_iter().flatten();
    let parents = parents.filter_map(|parent| {
        let mut at = parent;
        while revlog.entry(at).stored_len == 0 {
            at = revlog.delta_parent(at)?;
        }
        Some(at)
    });
    if parents.into_iter().any(|parent| parent == base) {
        return None;
    }
    snapshot_depth(revlog, base).map(|depth| depth + 1)
}

/// Asserts the limits of sparse-revlog for every revision; returns the depth of the deepest snapshot.
fn check_limits(revlog: &Revlog) -> u32 {
    let mut deepest = 0;
    for rev in revlog.revs() {
        let entry = revlog.entry(rev);
        let raw_len = u64::from(entry.raw_len.unwrap());
        let (mut bytes, mut deltas, mut at) = (u64::from(entry.stored_len), 0, rev);
        while let Some(base) = revlog.delta_parent(at) {
            assert!(base < at, "{at} is a delta against {base}");
            bytes += u64::from(revlog.entry(base).stored_len);
            (at, deltas) = (base, deltas + 1);
        }
        assert!(deltas <= 1000, "{rev}: {deltas} deltas");
        assert!(
            deltas == 0 || bytes <= 2 * raw_len,
            "{rev}: {bytes} bytes for {raw_len}"
        );
        let base = revlog.delta_parent(rev);
        if let (Some(depth), Some(base)) = (snapshot_depth(revlog, rev), base) {
            let stored = u64::from(entry.stored_len);
            assert!(
                stored <= raw_len >> depth,
                "{rev}: {stored} at depth {depth}"
            );
            assert!(
                stored <= u64::from(revlog.entry(base).stored_len),
                "{rev}: {stored}"
            );
            deepest = deepest.max(depth);
        }
    }
    deepest
}

#[test]
fn of_two_parents_the_nearer_one_is_the_base() {
    let (one, other) = (lines(0..600), lines(300..900));
    for (near, merged) in [(0, lines(0..610)), (1, lines(290..900))] {
        let storage = storage();
        let mut appender = filelog(&storage, EngineSetting::NONE);
        add(&mut appender, &one, None, None);
        add(&mut appender, &other, None, None);
        let merge = add(&mut appender, &merged, Some(0), Some(1));
        let revlog = written(&storage, appender);
        assert_eq!(revlog.delta_parent(merge), Some(Rev(near)));
    }
}

#[test]
fn a_text_that_shares_nothing_is_stored_whole() {
    let storage = storage();
    let mut appender = filelog(&storage, EngineSetting::ZSTD);
    add(&mut appender, &noise(1, 4000), None, None);
    let rev = add(&mut appender, &noise(2, 4000), Some(0), None);
    let revlog = written(&storage, appender);
    assert_eq!(revlog.delta_parent(rev), None);
    // The type byte and the text itself, at most.
    assert!((4000..=4001).contains(&revlog.entry(rev).stored_len));
}

#[test]
fn the_empty_text_takes_no_bytes_and_is_no_base() {
    let storage = storage();
    let mut appender = filelog(&storage, EngineSetting::ZSTD);
    let empty = add(&mut appender, b"", None, None);
    let next = add(&mut appender, &lines(0..50), Some(empty.0), None);
    let emptied = add(&mut appender, b"", Some(next.0), None);
    let revlog = written(&storage, appender);
    assert_eq!(revlog.entry(empty).stored_len, 0);
    assert_eq!(revlog.delta_parent(next), None);
    assert_eq!(revlog.entry(emptied).stored_len, 0);
    assert_eq!(revlog.delta_parent(emptied), None);
    assert_eq!(revlog.text(emptied).unwrap(), b"");
}

#[test]
fn the_same_text_under_other_parents_is_an_empty_delta() {
    let storage = storage();
    let mut appender = filelog(&storage, EngineSetting::ZSTD);
    let text = noise(3, 3000);
    add(&mut appender, &text, None, None);
    let mut other = text.clone();
    other[7] ^= 1;
    add(&mut appender, &other, Some(0), None);
    let back = add(&mut appender, &text, Some(0), Some(1));
    let revlog = written(&storage, appender);
    assert_eq!(revlog.delta_parent(back), Some(Rev(0)));
    assert_eq!(revlog.entry(back).stored_len, 0);
    assert_ne!(revlog.node(back), revlog.node(Rev(0)));
}

#[test]
fn a_base_500_times_shorter_than_the_text_is_not_tried() {
    // A text of equal bytes: with the engine "none" a delta that inserts nearly all of it is still shorter than
    // the text by the length of the base.
    for (base_len, is_tried) in [(99, false), (100, true)] {
        let storage = storage();
        let mut appender = filelog(&storage, EngineSetting::NONE);
        let text = noise(4, 50_000);
        add(&mut appender, &text[..base_len], None, None);
        let rev = add(&mut appender, &text, Some(0), None);
        let revlog = written(&storage, appender);
        assert_eq!(revlog.delta_parent(rev).is_some(), is_tried, "{base_len}");
    }
}

/// Such a revision stores a note or a pointer, not its text.
#[test]
fn a_revision_without_an_ordinary_text_is_no_base_and_no_delta() {
    for flags in [flag::CENSORED, flag::STORED_OUTSIDE, flag::ELLIPSIS] {
        let storage = storage();
        let mut appender = filelog(&storage, EngineSetting::ZSTD);
        let text = lines(0..200);
        add(&mut appender, &lines(0..190), None, None);
        let new = NewRevision {
            text: &text,
            p1: Some(Rev(0)),
            p2: None,
            link: Rev(1),
        };
        let hints = RevisionHints {
            node: Some(Node([7; 20])),
            flags,
            delta: None,
        };
        let (special, _) = appender.add_with_hints(&new, &hints).unwrap();
        let child = add(&mut appender, &lines(0..201), Some(special.0), None);
        let revlog = written(&storage, appender);
        assert_eq!(revlog.flags(special), flags);
        assert_eq!(revlog.delta_parent(special), None, "{flags:#06x}");
        assert_ne!(revlog.delta_parent(child), Some(special), "{flags:#06x}");
        assert_eq!(revlog.text(child).unwrap(), lines(0..201));
        assert!(revlog.text(special).is_err(), "{flags:#06x}");
        assert_eq!(revlog.reader().unchecked_text(special).unwrap(), text);
    }
}

#[test]
fn the_revision_that_a_given_delta_is_against_is_tried_first() {
    let texts = [lines(0..400), lines(0..401), lines(0..402)];
    let mut far = Vec::new();
    // Correct against revision 0, and shorter than its text.
    varve_delta::push_hunk(&mut far, 3600, 3600, &texts[2][3600..]);
    for (reuse_delta_parent, base) in [(true, Rev(0)), (false, Rev(1))] {
        let storage = storage();
        let options = WriteOptions {
            reuse_delta_parent,
            ..EngineSetting::NONE.into()
        };
        let mut appender = filelog(&storage, options);
        add(&mut appender, &texts[0], None, None);
        add(&mut appender, &texts[1], Some(0), None);
        let new = NewRevision {
            text: &texts[2],
            p1: Some(Rev(1)),
            p2: None,
            link: Rev(2),
        };
        let hints = RevisionHints {
            delta: Some((Some(Rev(0)), &far)),
            ..RevisionHints::default()
        };
        let (rev, _) = appender.add_with_hints(&new, &hints).unwrap();
        let revlog = written(&storage, appender);
        assert_eq!(revlog.delta_parent(rev), Some(base));
        assert_eq!(revlog.text(rev).unwrap(), texts[2]);
    }
}

/// Branches that are committed in turns, so that no revision follows the one before it. Returns the revlog.
fn branches_in_turns(count: u32, revisions: u32, options: WriteOptions) -> Revlog {
    let storage = storage();
    let mut appender = filelog(&storage, options);
    let mut branches: Vec<Vec<u32>> = (0..count)
        .map(|branch| {
            (0..1500)
                .chain(branch * 10_000..branch * 10_000 + 400)
                .collect()
        })
        .collect();
    for number in 0..revisions {
        let lines_of = &mut branches[(number % count) as usize];
        let at = number as usize * 7919 % lines_of.len();
        lines_of[at] = 1_000_000 + number;
        let text = lines(lines_of.iter().copied());
        add(&mut appender, &text, number.checked_sub(count), None);
    }
    written(&storage, appender)
}

#[test]
fn snapshots_may_be_deltas_only_with_sparse_revlog() {
    let options = WriteOptions::from(EngineSetting::ZSTD);
    let sparse = branches_in_turns(5, 300, options);
    assert!(check_limits(&sparse) >= 1, "no intermediate snapshot");
    let plain = WriteOptions {
        sparse: false,
        ..options
    };
    let plain = branches_in_turns(5, 300, plain);
    for rev in plain.revs() {
        // Parents and the revision before: nothing else is tried.
        let base = plain.delta_parent(rev);
        let near = plain.parents(rev).contains(&base) || base.map(|base| base.0 + 1) == Some(rev.0);
        assert!(base.is_none() || near, "{rev} is against {base:?}");
    }
    assert!(sparse.data_len() <= plain.data_len());
}

/// Small edits of one text in turns with texts that share nothing, so that chains get long gaps and few bytes.
fn edits_between_large_texts(options: WriteOptions) -> Revlog {
    let storage = storage();
    let mut appender = filelog(&storage, options);
    let mut text = noise(6, 5000);
    for number in 0..30_u32 {
        if number % 2 == 0 {
            text[number as usize * 100] ^= 0xff;
            add(&mut appender, &text, number.checked_sub(2), None);
        } else {
            let other = noise(u64::from(number) + 100, 5000);
            add(&mut appender, &other, None, None);
        }
    }
    written(&storage, appender)
}

/// The longest distance from the start of a chain to its end, in multiples of 5000 bytes.
fn longest_span(revlog: &Revlog) -> u64 {
    let spans = revlog.revs().map(|rev| {
        let mut start = rev;
        while let Some(base) = revlog.delta_parent(start) {
            start = base;
        }
        revlog.entry(rev).end() - revlog.entry(start).offset
    });
    spans.max().unwrap() / 5000
}

/// Without sparse reading a chain is read with all that lies between its chunks.
#[test]
fn without_sparse_reading_no_chain_spans_more_than_four_texts() {
    let options = WriteOptions::from(EngineSetting::NONE);
    let plain = WriteOptions {
        sparse: false,
        ..options
    };
    assert_eq!(longest_span(&edits_between_large_texts(plain)), 3);
    assert!(longest_span(&edits_between_large_texts(options)) >= 14);
}

#[test]
fn a_chain_is_cut_when_it_takes_twice_its_text() {
    let storage = storage();
    let mut appender = filelog(&storage, EngineSetting::NONE);
    let mut text = noise(5, 8000);
    add(&mut appender, &text, None, None);
    // Each delta takes about a tenth of the text.
    for number in 1..60_u32 {
        let at = number as usize * 700 % 7000;
        text[at..at + 800].copy_from_slice(&noise(u64::from(number) + 100, 800));
        add(&mut appender, &text, Some(number - 1), None);
    }
    let revlog = written(&storage, appender);
    check_limits(&revlog);
    let whole = revlog
        .revs()
        .filter(|rev| revlog.delta_parent(*rev).is_none());
    let whole = whole.count();
    assert!((4..=12).contains(&whole), "{whole} full texts");
}

/// One revision of a random history: a parent, a second one or none, and an edit.
type Step = (
    prop::sample::Index,
    Option<prop::sample::Index>,
    (u16, u8, u8),
);

/// Replaces `removed` lines by `added` other ones.
fn edit(text: &[u32], (at, removed, added): (u16, u8, u8), number: u32) -> Vec<u32> {
    let at = usize::from(at) % (text.len() + 1);
    let end = (at + usize::from(removed)).min(text.len());
    let new = (0..u32::from(added)).map(|line| number * 1000 + line + 1_000_000);
    let (before, after) = (&text[..at], &text[end..]);
    before
        .iter()
        .copied()
        .chain(new)
        .chain(after.iter().copied())
        .collect()
}

fn engines() -> impl Strategy<Value = EngineSetting> {
    prop_oneof![
        Just(EngineSetting::NONE),
        Just(EngineSetting::ZLIB),
        Just(EngineSetting::ZSTD)
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_history_keeps_the_limits_and_reads_back(
        steps in proptest::collection::vec(any::<Step>(), 1..60),
        engine in engines(), sparse in any::<bool>(), manifest in any::<bool>(),
    ) {
        let storage = storage();
        let content = if manifest { Content::Manifest } else { Content::File };
        let options = WriteOptions { sparse, ..engine.into() };
        let mut appender = Appender::open(&storage, Path::new(INDEX), content, options).unwrap();
        let mut histories: Vec<Vec<u32>> = vec![(0..200).collect()];
        // Numbers of the revisions; a text that is there already under the same parents is not stored twice.
        let mut revs = vec![add(&mut appender, &lines(histories[0].iter().copied()), None, None)];
        for (number, (parent, second, change)) in steps.iter().enumerate() {
            let parent = parent.index(histories.len());
            let second = second.map(|second| revs[second.index(revs.len())].0);
            let new = edit(&histories[parent], *change, number as u32);
            let mut sorted = new;
            if manifest {
                sorted.sort_unstable_by_key(|line| line.wrapping_mul(0x9e37_79b9));
                sorted.dedup();
            }
            let text = lines(sorted.iter().copied());
            revs.push(add(&mut appender, &text, Some(revs[parent].0), second));
            histories.push(sorted);
        }
        let revlog = written(&storage, appender);
        if sparse {
            check_limits(&revlog);
        }
        let plain = plain_texts(&bytes_of(&storage, INDEX), &bytes_of(&storage, crate::model::DATA));
        for (rev, history) in revs.iter().zip(&histories) {
            let text = lines(history.iter().copied());
            prop_assert_eq!(&revlog.text(*rev).unwrap(), &text);
            prop_assert_eq!(&plain[rev.index()], &text);
        }
    }
}
