//! Appended revisions read back, in all forms and across reopening.

use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_codec::EngineSetting;
use varve_revlog::{
    Appender, Content, NewRevision, Rev, RevisionHints, Revlog, RevlogError, WriteOptions, Written,
};

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

/// Stored bytes and number of deltas of the chain that ends at a revision.
fn chain(revlog: &Revlog, rev: Rev) -> (u64, usize) {
    let (mut bytes, mut deltas, mut at) = (0, 0, rev);
    loop {
        bytes += u64::from(revlog.entry(at).stored_len);
        match revlog.delta_parent(at) {
            None => return (bytes, deltas),
            Some(base) => (at, deltas) = (base, deltas + 1),
        }
    }
}

fn check_limits(revlog: &Revlog) {
    for rev in revlog.revs() {
        let (bytes, deltas) = chain(revlog, rev);
        let raw_len = u64::from(revlog.entry(rev).raw_len.unwrap());
        assert!(deltas <= 1000, "{rev}: {deltas} deltas");
        assert!(
            deltas == 0 || bytes <= 2 * raw_len,
            "{rev}: {bytes} of {raw_len}"
        );
    }
}

/// Each text has a number of its own in one of its lines.
fn edited(lines: &mut [u32], number: u32) -> Vec<u8> {
    let at = number as usize * 7919 % lines.len();
    lines[at] = 1_000_000 + number;
    self::lines(lines.iter().copied())
}

#[test]
fn two_branches_committed_in_turns_share_their_snapshots() {
    let storage = storage();
    let path = Path::new(PATH);
    let mut appender = Appender::open(&storage, path, Content::File, EngineSetting::ZSTD).unwrap();
    let mut branches = [(0..4000).collect::<Vec<u32>>(), (0..4000).collect()];
    for number in 0..2400_u32 {
        let text = edited(&mut branches[number as usize % 2], number);
        let new = NewRevision {
            text: &text,
            p1: number.checked_sub(2).map(Rev),
            p2: None,
            link: Rev(number),
        };
        appender.add(&new).unwrap();
    }
    appender.write().unwrap();
    let revlog = Revlog::open(&storage, path).unwrap();
    check_limits(&revlog);
    let is_full = |rev: &Rev| revlog.delta_parent(*rev).is_none();
    assert_eq!(revlog.revs().filter(is_full).count(), 1);
    let longest = revlog.revs().map(|rev| chain(&revlog, rev).1).max();
    assert_eq!(longest, Some(1000));
    let largest = revlog
        .revs()
        .skip(1)
        .map(|rev| revlog.entry(rev).stored_len);
    let large = largest.filter(|len| *len > 1000).count();
    assert!(large <= 4, "{large} large deltas");
}

#[test]
fn a_given_delta_is_stored_as_it_is_unless_that_is_switched_off() {
    let text = lines(0..500);
    let mut other = text.clone();
    other.extend_from_slice(b"one more\n");
    // Correct, but longer than it must be.
    let mut given = Vec::new();
    varve_delta::push_hunk(&mut given, 4000, text.len() as u32, &other[4000..]);
    for reuse_delta in [true, false] {
        let storage = storage();
        let options = WriteOptions {
            reuse_delta,
            ..EngineSetting::NONE.into()
        };
        let path = Path::new(PATH);
        let mut appender = Appender::open(&storage, path, Content::File, options).unwrap();
        let new = |text, p1| NewRevision {
            text,
            p1,
            p2: None,
            link: Rev(0),
        };
        appender.add(&new(&text, None)).unwrap();
        let delta = RevisionHints {
            delta: Some((Some(Rev(0)), &given)),
            ..RevisionHints::default()
        };
        let (rev, _) = appender
            .add_with_hints(&new(&other, Some(Rev(0))), &delta)
            .unwrap();
        assert_eq!(appender.text(rev).unwrap(), other);
        appender.write().unwrap();
        let revlog = Revlog::open(&storage, path).unwrap();
        let mut stored = Vec::new();
        revlog.reader().stored_delta(rev, &mut stored).unwrap();
        assert_eq!(revlog.delta_parent(rev), Some(Rev(0)));
        assert_eq!(stored == given, reuse_delta);
    }
}

#[test]
fn threads_see_every_revision_once() {
    let storage = storage();
    let texts: Vec<_> = (0..700).map(|n| lines(n..n + 40)).collect();
    append(&storage, Content::File, &texts);
    let revlog = Revlog::open(&storage, Path::new(PATH)).unwrap();
    let revs: Vec<_> = revlog.revs().rev().collect();
    let seen = std::sync::Mutex::new(Vec::new());
    let work = |rev: Rev, text: &[u8]| -> Result<(), RevlogError> {
        assert_eq!(text, texts[rev.index()]);
        seen.lock().unwrap().push(rev);
        Ok(())
    };
    revlog.for_each_text(&revs, 3, &work).unwrap();
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    assert_eq!(seen, revlog.revs().collect::<Vec<_>>());
    let fail = |rev: Rev, _: &[u8]| -> Result<(), RevlogError> {
        Err(RevlogError::CannotAppend {
            path: PATH.into(),
            reason: format!("{rev}"),
        })
    };
    assert!(matches!(
        revlog.for_each_text(&revs, 3, &fail),
        Err(RevlogError::CannotAppend { .. })
    ));
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
        check_limits(&revlog);
        prop_assert_eq!(revlog.len(), texts.len());
        for (rev, text) in revlog.revs().zip(&texts).rev() {
            prop_assert_eq!(&revlog.text(rev).unwrap(), text);
        }
    }
}
