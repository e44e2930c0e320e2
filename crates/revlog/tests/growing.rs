//! Files that grow, are split, cut and continued, and the rests of an interruption.

use crate::model::{DATA, Expected, INDEX, bytes_of, check_files, entries, lines, noise, storage};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{OpenMode, Storage};
use varve_codec::EngineSetting;
use varve_revlog::{
    Appender, Content, ENTRY_LEN, LONGEST_INLINE, NewRevision, Rev, Revlog, RevlogError, Written,
};

fn open(storage: &Arc<dyn Storage>) -> Appender {
    Appender::open(
        storage,
        Path::new(INDEX),
        Content::File,
        EngineSetting::ZSTD,
    )
    .unwrap()
}

/// Adds a text as a child of the revision before it.
fn add(appender: &mut Appender, expected: &mut Vec<Expected>, text: Vec<u8>) {
    let number = appender.len() as u32;
    let new = NewRevision {
        text: &text,
        p1: number.checked_sub(1).map(Rev),
        p2: None,
        link: Rev(number),
    };
    let (rev, _) = appender.add(&new).unwrap();
    assert_eq!(rev, Rev(number), "each text of these tests is a new one");
    let parents = [new.p1, None];
    expected.push(Expected {
        text,
        parents,
        link: number,
    });
}

#[test]
fn the_split_comes_with_the_byte_that_is_one_too_many() {
    // The chunk of such a text is the text with a byte before it, unless it begins with a zero byte.
    for (len, is_split) in [(LONGEST_INLINE - 2, false), (LONGEST_INLINE - 1, true)] {
        let storage = storage();
        let mut appender = open(&storage);
        let mut text = noise(1, len);
        text[0] = 1;
        add(&mut appender, &mut Vec::new(), text);
        assert_eq!(appender.buffered_bytes(), len + 1);
        assert_eq!(appender.will_be_split(), is_split);
        let written = appender.write().unwrap();
        assert_eq!(
            written,
            Written {
                created: true,
                split: is_split
            }
        );
        let index = bytes_of(&storage, INDEX).len();
        assert_eq!(
            index,
            if is_split {
                ENTRY_LEN
            } else {
                ENTRY_LEN + len + 1
            }
        );
        assert_eq!(
            bytes_of(&storage, DATA).len(),
            if is_split { len + 1 } else { 0 }
        );
    }
}

#[test]
fn a_split_keeps_every_chunk_as_it_was() {
    let storage = storage();
    let mut expected = Vec::new();
    let mut appender = open(&storage);
    for number in 0..6 {
        add(&mut appender, &mut expected, noise(number, 15_000));
    }
    appender.write().unwrap();
    let (header, before) = entries(&bytes_of(&storage, INDEX), b"");
    assert!(header.inline);
    let mut appender = open(&storage);
    add(&mut appender, &mut expected, noise(99, 60_000));
    assert!(appender.will_replace_index());
    assert_eq!(
        appender.write().unwrap(),
        Written {
            created: false,
            split: true
        }
    );
    let (header, after) = entries(&bytes_of(&storage, INDEX), &bytes_of(&storage, DATA));
    assert!(!header.inline && header.general_delta);
    assert_eq!(after[..6], before[..]);
    check_files(&storage, &expected);
}

/// The lengths that a journal notes are enough to undo later writes.
#[test]
fn cutting_the_files_to_their_lengths_before_undoes_a_write() {
    for first in [20_000, 150_000] {
        let storage = storage();
        let mut expected = Vec::new();
        let mut appender = open(&storage);
        add(&mut appender, &mut expected, noise(1, first));
        appender.write().unwrap();
        let before = (bytes_of(&storage, INDEX), bytes_of(&storage, DATA));
        let mut appender = open(&storage);
        add(&mut appender, &mut expected.clone(), noise(2, 30_000));
        assert!(!appender.will_replace_index());
        let (index, data) = appender.lengths_before();
        assert_eq!(
            (index, data),
            (before.0.len() as u64, before.1.len() as u64)
        );
        appender.write().unwrap();
        assert!(bytes_of(&storage, INDEX).len() > before.0.len());
        for (path, len) in [(INDEX, index), (DATA, data)] {
            if storage.kind(Path::new(path)).unwrap().is_some() {
                let file = storage.open(Path::new(path), OpenMode::Append).unwrap();
                file.truncate(len).unwrap();
            }
        }
        assert_eq!(
            (bytes_of(&storage, INDEX), bytes_of(&storage, DATA)),
            before
        );
        check_files(&storage, &expected);
    }
}

#[test]
fn nothing_is_written_before_write_and_nothing_without_news() {
    let storage = storage();
    let appender = open(&storage);
    assert!(!appender.has_new_revisions());
    assert_eq!(appender.write().unwrap(), Written::default());
    assert_eq!(storage.kind(Path::new(INDEX)).unwrap(), None);
    let mut appender = open(&storage);
    add(&mut appender, &mut Vec::new(), lines(0..10));
    drop(appender);
    assert_eq!(storage.kind(Path::new(INDEX)).unwrap(), None);
}

/// A reader that was opened before sees the old revisions, split or not.
#[test]
fn a_reader_does_not_see_what_is_written_later() {
    let storage = storage();
    let mut expected = Vec::new();
    let mut appender = open(&storage);
    add(&mut appender, &mut expected, lines(0..1000));
    appender.write().unwrap();
    let inline = Revlog::open(&storage, Path::new(INDEX)).unwrap();
    let mut appender = open(&storage);
    add(&mut appender, &mut expected, noise(1, 200_000));
    appender.write().unwrap();
    let split = Revlog::open(&storage, Path::new(INDEX)).unwrap();
    let mut appender = open(&storage);
    add(&mut appender, &mut expected, noise(2, 1000));
    appender.write().unwrap();
    assert_eq!((inline.len(), split.len()), (1, 2));
    assert_eq!(inline.text(Rev(0)).unwrap(), expected[0].text);
    assert_eq!(split.text(Rev(1)).unwrap(), expected[1].text);
    check_files(&storage, &expected);
}

#[test]
fn an_index_that_tells_of_more_data_than_there_is_is_not_continued() {
    let storage = storage();
    let mut expected = Vec::new();
    let mut appender = open(&storage);
    add(&mut appender, &mut expected, noise(1, 200_000));
    appender.write().unwrap();
    let data = storage.open(Path::new(DATA), OpenMode::Append).unwrap();
    data.truncate(199_000).unwrap();
    let index = bytes_of(&storage, INDEX);
    let mut appender = open(&storage);
    add(&mut appender, &mut expected, lines(0..10));
    let refused = appender.write();
    assert!(
        matches!(refused, Err(RevlogError::CannotAppend { .. })),
        "{refused:?}"
    );
    assert_eq!(bytes_of(&storage, INDEX), index);
}

/// The pending index for hooks: it stands in another file, its chunks behind the known end.
#[test]
fn a_pending_index_shows_what_the_real_one_does_not_yet() {
    for before in [0, 1000, 200_000] {
        let storage = storage();
        let mut expected = Vec::new();
        if before > 0 {
            let mut appender = open(&storage);
            add(&mut appender, &mut expected, noise(1, before));
            appender.write().unwrap();
        }
        storage.create_directory(Path::new("data")).unwrap();
        let known = expected.clone();
        let mut appender = open(&storage);
        add(&mut appender, &mut expected, noise(2, 1000));
        let pending = PathBuf::from("data/x.i.a");
        appender.write_pending_index(&pending).unwrap();
        let shown = Revlog::open_with_index(&storage, Path::new(INDEX), &pending).unwrap();
        for (rev, wanted) in shown.revs().zip(&expected) {
            assert_eq!(shown.text(rev).unwrap(), wanted.text);
        }
        assert_eq!(shown.len(), expected.len());
        check_files(&storage, &known);
        appender.write().unwrap();
        check_files(&storage, &expected);
    }
}

#[test]
fn a_revlog_is_continued_without_being_read_again() {
    let storage = storage();
    let mut expected = Vec::new();
    let mut appender = open(&storage);
    for number in 0..5 {
        add(&mut appender, &mut expected, lines(0..200 + number));
    }
    appender.write().unwrap();
    let revlog = Revlog::open(&storage, Path::new(INDEX)).unwrap();
    let mut appender =
        Appender::continue_from(&storage, &revlog, Content::File, EngineSetting::ZSTD).unwrap();
    add(&mut appender, &mut expected, lines(0..300));
    appender.write().unwrap();
    assert_eq!(revlog.len(), 5, "the revlog that was read stays as it is");
    check_files(&storage, &expected);
}

/// The contexts of one appender serve the next, whatever it writes.
#[test]
fn what_an_appender_leaves_serves_another_revlog() {
    let storage = storage();
    let mut first = open(&storage);
    let mut expected = Vec::new();
    add(&mut first, &mut expected, lines(0..400));
    let (written, state) = first.write_and_reuse().unwrap();
    assert!(written.created);
    for engine in [EngineSetting::ZSTD, EngineSetting::ZLIB] {
        let other = crate::model::storage();
        let path = Path::new(INDEX);
        let mut second = Appender::open(&other, path, Content::File, engine).unwrap();
        let mut own = Vec::new();
        add(&mut second, &mut own, lines(3..400));
        second.write().unwrap();
        check_files(&other, &own);
    }
    let path = Path::new("data/y.i");
    let mut second =
        Appender::open_with(&storage, path, Content::File, EngineSetting::ZLIB, state).unwrap();
    let text = lines(7..500);
    let new = NewRevision {
        text: &text,
        p1: None,
        p2: None,
        link: Rev(0),
    };
    second.add(&new).unwrap();
    second.write_unsynced().unwrap();
    let revlog = Revlog::open(&storage, path).unwrap();
    assert_eq!(revlog.text(Rev(0)).unwrap(), text);
    assert_eq!(
        revlog.reader().stored_chunk(Rev(0)).unwrap().first(),
        Some(&b'x')
    );
    check_files(&storage, &expected);
}

/// One action of a test on a revlog.
#[derive(Clone, Debug)]
enum Action {
    /// Lines that compress, or bytes that do not.
    Add { len: usize, noisy: bool },
    /// Writes and opens again.
    Write,
    /// Writes the chunks that are in memory.
    Spill,
    /// Lets go of texts.
    DropCaches,
    /// Keeps a part of the written bytes, and adds something behind it.
    Cut(prop::sample::Index),
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let add = (1_usize..30_000, any::<bool>()).prop_map(|(len, noisy)| Action::Add { len, noisy });
    let action = prop_oneof![
        8 => add,
        2 => Just(Action::Write),
        2 => Just(Action::Spill),
        1 => Just(Action::DropCaches),
        1 => any::<prop::sample::Index>().prop_map(Action::Cut),
    ];
    proptest::collection::vec(action, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_is_done_to_a_revlog_it_reads_as_it_should(actions in actions(), manifest in any::<bool>()) {
        let storage = storage();
        let content = if manifest { Content::Manifest } else { Content::File };
        let open = || Appender::open(&storage, Path::new(INDEX), content, EngineSetting::ZSTD).unwrap();
        // A revlog that is cut has its directory.
        storage.create_directory(Path::new("data")).unwrap();
        let (mut appender, mut expected) = (open(), Vec::new());
        for (number, action) in (0_u32..).zip(actions) {
            match action {
                Action::Add { len, noisy: true } => {
                    let mut text = noise(u64::from(number), len);
                    text.extend_from_slice(format!("\n{number}\n").as_bytes());
                    add(&mut appender, &mut expected, text);
                }
                Action::Add { len, noisy: false } => {
                    let last = 1 + len as u32 / 9;
                    add(&mut appender, &mut expected, lines((0..last).chain([1_000_000 + number])));
                }
                Action::Spill => appender.spill().unwrap(),
                Action::DropCaches => appender.drop_caches(),
                Action::Write => {
                    appender.write().unwrap();
                    check_files(&storage, &expected);
                    appender = open();
                }
                Action::Cut(kept) => {
                    appender.write().unwrap();
                    let kept = kept.index(expected.len() + 1);
                    expected.truncate(kept);
                    let path = Path::new(INDEX);
                    let mut cut =
                        Appender::open_truncated(&storage, path, content, EngineSetting::ZSTD, kept).unwrap();
                    add(&mut cut, &mut expected, lines([2_000_000 + number]));
                    cut.rewrite().unwrap();
                    check_files(&storage, &expected);
                    appender = open();
                }
            }
            for at in (0..expected.len()).rev().take(3) {
                prop_assert_eq!(&appender.text(Rev(at as u32)).unwrap(), &expected[at].text);
            }
        }
        appender.write().unwrap();
        check_files(&storage, &expected);
    }
}
