//! Revlogs that a real `hg` writes with each of its settings, and ours as it reads them.

use crate::model::{
    DATA, Expected, INDEX, bytes_of, check_files, entries, lines, noise, storage, storage_with,
};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use varve_base::{DiskStorage, Storage};
use varve_codec::EngineSetting;
use varve_revlog::{Appender, Content, ENTRY_LEN, NewRevision, Rev, Revlog, WriteOptions};
use varve_testkit::peers::hg;

/// Revisions of one file on two branches that are committed in turns, the later ones long enough for a split.
fn contents() -> Vec<Vec<u8>> {
    let mut branches = [(0..900).collect::<Vec<u32>>(), (400..1300).collect()];
    let mut texts = Vec::new();
    for number in 0..8_u32 {
        let branch = &mut branches[number as usize % 2];
        branch[number as usize * 97] = 100_000 + number;
        let mut text = lines(branch.iter().copied());
        if number >= 6 {
            let hex: String = noise(9, 140_000)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            text.extend_from_slice(hex.as_bytes());
        }
        texts.push(text);
    }
    texts
}

#[test]
fn what_hg_writes_with_each_setting_reads_back() {
    let settings: [(&[&str], bool, u8); 5] = [
        (&["format.revlog-compression=zstd"], true, b'('),
        (&["format.revlog-compression=zlib"], true, b'x'),
        (&["format.revlog-compression=none"], true, b'u'),
        (
            &["format.revlog-compression=zlib", "format.sparse-revlog=no"],
            true,
            b'x',
        ),
        (
            &[
                "format.revlog-compression=zlib",
                "format.sparse-revlog=no",
                "format.usegeneraldelta=no",
            ],
            false,
            b'x',
        ),
    ];
    for (settings, general_delta, kind) in settings {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let hg = hg().with_config(settings);
        hg.ok(root, &["init"]);
        let texts = contents();
        for (number, text) in texts.iter().enumerate() {
            // Each commit follows the one before the last.
            if number >= 2 {
                let parent = (number - 2).to_string();
                hg.ok(root, &["update", "-q", "-C", &parent]);
            }
            fs::write(root.join("f"), text).unwrap();
            hg.ok(
                root,
                &["commit", "-q", "-A", "-m", &format!("commit {number}")],
            );
            if number == 0 {
                hg.ok(root, &["update", "-q", "null"]);
            }
        }
        let storage: Arc<dyn Storage> = Arc::new(DiskStorage::new(root.join(".hg/store")));
        let revlog = Revlog::open(&storage, Path::new("data/f.i")).unwrap();
        assert_eq!(revlog.header().general_delta, general_delta, "{settings:?}");
        assert!(!revlog.header().inline, "{settings:?}");
        assert_eq!(revlog.len(), texts.len());
        let mut deltas = 0;
        for (rev, text) in revlog.revs().zip(&texts) {
            assert_eq!(&revlog.text(rev).unwrap(), text, "{settings:?} {rev}");
            assert_eq!(revlog.linkrev(rev), i64::from(rev.0));
            let parent = rev.0.checked_sub(2).map(Rev);
            assert_eq!(revlog.parents(rev), [parent, None]);
            deltas += usize::from(revlog.delta_parent(rev).is_some());
        }
        assert!(deltas >= 3, "{settings:?}: {deltas} deltas");
        let mut reader = revlog.reader();
        let first = reader.stored_chunk(Rev(0)).unwrap();
        assert_eq!(first.first(), Some(&kind), "{settings:?}");
    }
}

/// A filelog in the store of a repository without changesets: `hg debugdata` reads it all the same.
#[test]
fn hg_reads_what_an_appender_writes() {
    let engines = [
        EngineSetting::NONE,
        EngineSetting::ZLIB,
        EngineSetting::ZSTD,
    ];
    for (engine, sparse) in engines
        .into_iter()
        .flat_map(|engine| [(engine, true), (engine, false)])
    {
        let directory = tempfile::tempdir().unwrap();
        hg().ok(directory.path(), &["init"]);
        let storage: Arc<dyn Storage> =
            Arc::new(DiskStorage::new(directory.path().join(".hg/store")));
        let options = WriteOptions {
            sparse,
            ..engine.into()
        };
        let texts = contents();
        for part in [0..3, 3..6, 6..8] {
            let path = Path::new("data/x.i");
            let mut appender = Appender::open(&storage, path, Content::File, options).unwrap();
            for number in part {
                let new = NewRevision {
                    text: &texts[number],
                    p1: (number as u32).checked_sub(2).map(Rev),
                    p2: None,
                    link: Rev(number as u32),
                };
                appender.add(&new).unwrap();
            }
            appender.write().unwrap();
        }
        assert!(directory.path().join(".hg/store/data/x.d").exists());
        for (number, text) in texts.iter().enumerate() {
            let read = hg().ok(directory.path(), &["debugdata", "x", &number.to_string()]);
            assert!(read.as_bytes() == text, "{options:?} revision {number}");
        }
        let listed = hg().ok(directory.path(), &["debugindex", "x"]);
        assert_eq!(listed.lines().count(), 1 + texts.len(), "{listed}");
    }
}

/// A filelog of one revision as `hg` 7.2.4 wrote it with zlib, in hexadecimal.
const ZLIB: &str = "00030001000000000000003c000000c60000000000000000ffffffffffffffffda54d1e8436e30c496b59b3fa74182c83096\
     737a000000000000000000000000789ccbc9cc4b553050c84f5348542849ad285128c9482c5148cecf2d284a2d2e4e2de6ca\
     01293024a4c088900263420a4c082930c5a30000dbf4457c";

/// The same with zstd.
const ZSTD: &str = "000300010000000000000040000000c60000000000000000ffffffffffffffffda54d1e8436e30c496b59b3fa74182c83096\
     737a00000000000000000000000028b52ffd20c6bd010064026c696e652030206f6620612074657874207468617420636f6d\
     707265737365730a313233343506002014801fc019c005e01b22a827";

/// The bytes of hexadecimal digits.
fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex
        .bytes()
        .map(|digit| char::from(digit).to_digit(16).unwrap() as u8);
    let digits: Vec<u8> = digits.collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair[1])
        .collect()
}

#[test]
fn golden_filelogs_of_hg_decode_to_known_fields_and_text() {
    let text: String = (0..6)
        .map(|line| format!("line {line} of a text that compresses\n"))
        .collect();
    let node = "da54d1e8436e30c496b59b3fa74182c83096737a";
    for (golden, kind, stored_len) in [(ZLIB, b'x', 60), (ZSTD, b'(', 64)] {
        let golden = bytes(golden);
        let (header, entries) = entries(&golden, b"");
        assert!(header.inline && header.general_delta);
        let [(entry, stored)] = &entries[..] else {
            panic!("{entries:?}");
        };
        assert_eq!(entry.node.to_string(), node);
        assert_eq!(
            (entry.stored_len, entry.raw_len),
            (stored_len, Some(text.len() as u32))
        );
        assert_eq!(
            (entry.p1, entry.p2, entry.base, entry.link),
            (None, None, Some(Rev(0)), 0)
        );
        assert_eq!(stored.first(), Some(&kind));
        let storage = storage_with(&golden, b"");
        let revlog = Revlog::open(&storage, Path::new(INDEX)).unwrap();
        assert_eq!(revlog.text(Rev(0)).unwrap(), text.as_bytes());
        // The entry encodes back to the bytes of the file, but for the header over the first four.
        assert_eq!(entry.encode()[4..], golden[4..ENTRY_LEN]);
        assert_eq!(header.encode(), golden[..4]);
    }
}

#[test]
fn an_appender_writes_the_entry_that_hg_writes() {
    let text: String = (0..6)
        .map(|line| format!("line {line} of a text that compresses\n"))
        .collect();
    let storage = storage();
    let path = Path::new(INDEX);
    let mut appender = Appender::open(&storage, path, Content::File, EngineSetting::ZLIB).unwrap();
    let new = NewRevision {
        text: text.as_bytes(),
        p1: None,
        p2: None,
        link: Rev(0),
    };
    appender.add(&new).unwrap();
    appender.write().unwrap();
    let written = bytes_of(&storage, INDEX);
    let golden = bytes(ZLIB);
    // Header, lengths, base, link, parents and node; the length of the chunk is the encoder's.
    assert_eq!(written[..8], golden[..8]);
    assert_eq!(written[12..ENTRY_LEN], golden[12..ENTRY_LEN]);
    let (_, entries) = entries(&written, b"");
    assert!(entries[0].0.stored_len <= 60, "{}", entries[0].0.stored_len);
}

#[test]
fn a_history_that_hg_could_write_is_written_the_same_twice() {
    let write = || {
        let storage = storage();
        let mut expected = Vec::new();
        let path = Path::new(INDEX);
        let mut appender =
            Appender::open(&storage, path, Content::File, EngineSetting::ZSTD).unwrap();
        for (number, text) in (0_u32..).zip(contents()) {
            let parents = [number.checked_sub(2).map(Rev), None];
            let new = NewRevision {
                text: &text,
                p1: parents[0],
                p2: None,
                link: Rev(number),
            };
            appender.add(&new).unwrap();
            expected.push(Expected {
                text,
                parents,
                link: number,
            });
        }
        appender.write().unwrap();
        check_files(&storage, &expected);
        (bytes_of(&storage, INDEX), bytes_of(&storage, DATA))
    };
    assert_eq!(write(), write());
}
