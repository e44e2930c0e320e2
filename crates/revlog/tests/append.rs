//! What is appended reads back, in all forms and across reopening.

use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_codec::EngineSetting;
use varve_revlog::{Appender, Content, NewRevision, Rev, Revlog, Written};

const PATH: &str = "data/x.i";

fn storage() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::default())
}

fn append(storage: &Arc<dyn Storage>, content: Content, texts: &[Vec<u8>]) -> Written {
    let mut appender =
        Appender::open(storage, Path::new(PATH), content, EngineSetting::ZSTD).unwrap();
    for text in texts {
        let number = appender.len() as u32;
        let new = NewRevision {
            text,
            p1: number.checked_sub(1).map(Rev),
            p2: number.checked_sub(3).map(Rev),
            link: Rev(number),
        };
        let (rev, node) = appender.add(&new).unwrap();
        assert_eq!(appender.add(&new).unwrap(), (rev, node), "not stored twice");
        assert_eq!(appender.text(rev).unwrap(), *text);
    }
    appender.write().unwrap()
}

fn lines(numbers: impl Iterator<Item = u32>) -> Vec<u8> {
    let text: String = numbers
        .map(|n| format!("{:x}\n", n.wrapping_mul(0x9e37_79b9)))
        .collect();
    text.into_bytes()
}

#[test]
fn a_growing_filelog_is_split_when_mercurial_would() {
    let storage = storage();
    let first = append(&storage, Content::File, &[lines(0..100), lines(0..110)]);
    assert_eq!((first.created, first.split), (true, false));
    let second = append(&storage, Content::File, &[lines(0..50_000)]);
    assert_eq!((second.created, second.split), (false, true));
    let third = append(&storage, Content::File, &[lines(1..50_000)]);
    assert_eq!((third.created, third.split), (false, false));
    let revlog = Revlog::open(&storage, Path::new(PATH)).unwrap();
    assert!(!revlog.header().inline && revlog.header().general_delta);
    assert_eq!(revlog.delta_parent(Rev(3)), Some(Rev(2)));
    for (rev, range) in [(0, 0..100), (1, 0..110), (2, 0..50_000), (3, 1..50_000)] {
        assert_eq!(revlog.text(Rev(rev)).unwrap(), lines(range));
    }
}

#[test]
fn a_changelog_is_split_at_once_and_has_no_deltas() {
    let storage = storage();
    let texts: Vec<_> = (0..5).map(|n| lines(n..200)).collect();
    let written = append(&storage, Content::Changelog, &texts);
    assert_eq!((written.created, written.split), (true, true));
    let revlog = Revlog::open(&storage, Path::new(PATH)).unwrap();
    assert!(!revlog.header().inline && !revlog.header().general_delta);
    assert!(revlog.revs().all(|rev| revlog.delta_parent(rev).is_none()));
}

#[test]
fn what_an_interrupted_writer_left_is_cut_off() {
    let storage = storage();
    append(&storage, Content::Changelog, &[lines(0..100)]);
    let data = Path::new("data/x.d");
    let torn = storage.open(data, OpenMode::Append).unwrap();
    torn.append(b"torn bytes").unwrap();
    append(&storage, Content::Changelog, &[lines(1..100)]);
    let revlog = Revlog::open(&storage, Path::new(PATH)).unwrap();
    assert_eq!(revlog.text(Rev(1)).unwrap(), lines(1..100));
    assert_eq!(storage.file_len(data).unwrap(), Some(revlog.data_len()));
}

/// A filelog without general deltas grows by the old rule.
#[test]
fn an_old_filelog_is_continued_by_its_own_rule() {
    let old = include_bytes!("golden/filelog-zlib-no-generaldelta.i");
    let files = [(PATH.into(), old.to_vec())];
    let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::with_files(files));
    let before = Revlog::open(&storage, Path::new(PATH)).unwrap();
    let mut text = before.text(Rev(4)).unwrap();
    text.extend_from_slice(b"one more line\n");
    let mut appender = Appender::open(
        &storage,
        Path::new(PATH),
        Content::File,
        EngineSetting::ZLIB,
    )
    .unwrap();
    // The delta is against the revision before, whatever the parent.
    let new = NewRevision {
        text: &text,
        p1: Some(Rev(0)),
        p2: None,
        link: Rev(5),
    };
    appender.add(&new).unwrap();
    appender.write().unwrap();
    let revlog = Revlog::open(&storage, Path::new(PATH)).unwrap();
    assert_eq!(revlog.delta_parent(Rev(5)), Some(Rev(4)));
    assert_eq!(revlog.entry(Rev(5)).base, revlog.entry(Rev(4)).base);
    assert_eq!(revlog.text(Rev(5)).unwrap(), text);
}

proptest! {
    #[test]
    fn what_is_appended_in_pieces_reads_back(
        texts in proptest::collection::vec(proptest::collection::vec(0_u32..40, 0..60), 1..20),
        cut in any::<prop::sample::Index>(), file in any::<bool>(),
    ) {
        let storage = storage();
        let content = if file { Content::File } else { Content::Manifest };
        let mut texts: Vec<_> = texts.into_iter().map(|t| lines(t.into_iter())).collect();
        texts.sort();
        texts.dedup();
        let (first, second) = texts.split_at(cut.index(texts.len() + 1));
        append(&storage, content, first);
        append(&storage, content, second);
        let revlog = Revlog::open(&storage, Path::new(PATH)).unwrap();
        prop_assert_eq!(revlog.len(), texts.len());
        for (rev, text) in revlog.revs().zip(&texts).rev() {
            prop_assert_eq!(&revlog.text(rev).unwrap(), text);
        }
    }
}
