//! Index and data files that no writer makes: every one is refused with place and reason, and none costs more memory
//! or time than its bytes.

use crate::model::{DATA, INDEX, lines, noise, plain_texts, storage_with};
use proptest::prelude::*;
use std::path::Path;
use varve_codec::{Compressor, EngineSetting};
use varve_revlog::{
    ENTRY_LEN, Entry, Header, Node, PrefixMatch, Rev, Revlog, RevlogError, chunk, flag, hash,
};

const SPLIT: Header = Header {
    inline: false,
    general_delta: true,
};
const INLINE: Header = Header {
    inline: true,
    general_delta: true,
};

/// A full text without parents, stored plain.
fn entry(text: &[u8], offset: u64) -> Entry {
    Entry {
        offset,
        flags: 0,
        stored_len: text.len() as u32 + 1,
        raw_len: Some(text.len() as u32),
        base: None,
        link: 0,
        p1: None,
        p2: None,
        node: hash(&Node::NULL, &Node::NULL, text),
    }
}

/// The chunk of [`entry`].
fn plain(text: &[u8]) -> Vec<u8> {
    [b"u", text].concat()
}

/// The bytes of an index; chunks stand between the entries if it is inline.
fn index(header: Header, parts: &[(Entry, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (number, (entry, chunk)) in parts.iter().enumerate() {
        let mut encoded = entry.encode();
        if number == 0 {
            encoded[..Header::LEN].copy_from_slice(&header.encode());
        }
        bytes.extend_from_slice(&encoded);
        if header.inline {
            bytes.extend_from_slice(chunk);
        }
    }
    bytes
}

fn open(index: &[u8], data: &[u8]) -> Result<Revlog, RevlogError> {
    Revlog::open(&storage_with(index, data), Path::new(INDEX))
}

/// Two revisions of a split revlog, the second one changed by `change`.
fn with_second(change: impl Fn(&mut Entry)) -> Result<Revlog, RevlogError> {
    let first = entry(b"one", 0);
    let mut second = entry(b"two", 4);
    change(&mut second);
    let index = index(SPLIT, &[(first, Vec::new()), (second, Vec::new())]);
    open(&index, &[plain(b"one"), plain(b"two")].concat())
}

fn reason_of<T>(result: Result<T, RevlogError>) -> String {
    match result {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_parent_or_a_base_comes_before_its_revision() {
    assert!(with_second(|_| {}).is_ok());
    assert!(with_second(|entry| entry.p2 = Some(Rev(0))).is_ok());
    let refused = [
        (
            reason_of(with_second(|entry| entry.p1 = Some(Rev(1)))),
            "a parent that comes after",
        ),
        (
            reason_of(with_second(|entry| entry.p2 = Some(Rev(7)))),
            "a parent that comes after",
        ),
        (
            reason_of(with_second(|entry| entry.base = Some(Rev(2)))),
            "a base that comes after",
        ),
    ];
    for (message, reason) in refused {
        assert!(
            message.starts_with("data/x.i is damaged at byte 64: revision 1 "),
            "{message}"
        );
        assert!(message.contains(reason), "{message}");
    }
}

/// The fields are signed on the disk; no reader may take -2 for a large number.
#[test]
fn negative_fields_are_refused_by_name() {
    let fields = [
        (8, "chunk length"),
        (12, "text length"),
        (16, "base"),
        (24, "first parent"),
        (28, "second parent"),
    ];
    for (at, field) in fields {
        let first = entry(b"one", 0);
        let mut bytes = index(
            SPLIT,
            &[(first, Vec::new()), (entry(b"two", 4), Vec::new())],
        );
        bytes[ENTRY_LEN + at..ENTRY_LEN + at + 4].copy_from_slice(&(-2_i32).to_be_bytes());
        let message = reason_of(open(&bytes, b""));
        let expected =
            format!("data/x.i is damaged at byte 64: revision 1 has an impossible {field}");
        assert_eq!(message, expected);
    }
}

#[test]
fn versions_and_features_that_are_not_known_are_refused_whole() {
    for header in [
        0_u32,
        2,
        0x0002_0002,
        0x0004_0001,
        0x8000_0001,
        0x0001_dead,
        u32::MAX,
    ] {
        let mut bytes = index(SPLIT, &[(entry(b"one", 0), Vec::new())]);
        bytes[..4].copy_from_slice(&header.to_be_bytes());
        let found = open(&bytes, b"uone");
        let is_it = matches!(&found, Err(RevlogError::UnknownFormat { header: named, .. }) if *named == header);
        assert!(is_it, "{header:#010x}");
    }
}

#[test]
fn chunks_of_an_inline_revlog_stand_where_their_entries_say() {
    let parts = [
        (entry(b"one", 0), plain(b"one")),
        (entry(b"two", 4), plain(b"two")),
    ];
    let good = open(&index(INLINE, &parts), b"").unwrap();
    assert_eq!(good.text(Rev(1)).unwrap(), b"two");
    for offset in [0, 3, 5, u64::MAX >> 16] {
        let mut wrong = parts.clone();
        wrong[1].0.offset = offset;
        let message = reason_of(open(&index(INLINE, &wrong), b""));
        assert!(
            message.ends_with(&format!("chunk of revision 1 is at 4, not {offset}")),
            "{message}"
        );
    }
    let mut long = parts.clone();
    long[1].0.stored_len = i32::MAX as u32;
    let message = reason_of(open(&index(INLINE, &long), b""));
    assert!(
        message.ends_with("chunk of revision 1 has 4 of 2147483647 bytes"),
        "{message}"
    );
}

#[test]
fn a_chunk_outside_of_the_data_file_is_named_when_it_is_read() {
    for (offset, len) in [(4, 5), (5, 4), (u64::MAX >> 16, 4), (0, i32::MAX as u32)] {
        let revlog = with_second(|entry| {
            entry.offset = offset;
            entry.stored_len = len;
        });
        let revlog = revlog.unwrap();
        assert_eq!(revlog.text(Rev(0)).unwrap(), b"one");
        let message = reason_of(revlog.text(Rev(1)));
        assert!(
            message.contains("revision 1") && message.contains("outside the file"),
            "{message}"
        );
        let mut reader = revlog.reader();
        assert!(reader.stored_chunk(Rev(1)).is_err());
        assert!(reader.stored_delta(Rev(1), &mut Vec::new()).is_err());
        assert_eq!(reader.text(Rev(0)).unwrap(), b"one", "the reader goes on");
    }
}

/// A few bytes that expand to gigabytes: nothing beyond the length that the entry tells of is made.
#[test]
fn a_chunk_expands_to_its_text_at_most() {
    let zeros = vec![b'0'; 8 << 20];
    for engine in [EngineSetting::ZLIB, EngineSetting::ZSTD] {
        let mut packed = Vec::new();
        chunk::pack(&zeros, &mut Compressor::new(engine).unwrap(), &mut packed).unwrap();
        assert!(packed.len() < 20_000, "{}", packed.len());
        let mut bomb = entry(b"", 0);
        bomb.stored_len = packed.len() as u32;
        bomb.raw_len = Some(100);
        let bytes = index(INLINE, &[(bomb, packed.clone())]);
        let revlog = open(&bytes, b"").unwrap();
        let mut out = Vec::new();
        assert!(revlog.reader().stored_delta(Rev(0), &mut out).is_err());
        assert!(
            out.capacity() < 1 << 20,
            "{} bytes were reserved",
            out.capacity()
        );
        assert!(matches!(
            revlog.text(Rev(0)),
            Err(RevlogError::DamagedChunk { .. })
        ));
    }
}

/// The entry claims two gigabytes; the chunk has four bytes.
#[test]
fn a_claimed_length_reserves_nothing() {
    let mut huge = entry(b"one", 0);
    huge.raw_len = Some(i32::MAX as u32);
    let revlog = open(&index(INLINE, &[(huge, plain(b"one"))]), b"").unwrap();
    let mut out = Vec::new();
    revlog.reader().stored_delta(Rev(0), &mut out).unwrap();
    assert_eq!(out, b"one");
    assert!(out.capacity() < 1 << 20);
}

#[test]
fn a_patch_that_does_not_fit_its_base_is_damage_of_that_revision() {
    let base = lines(0..20);
    let hunk = |start: u32, end: u32, new: &[u8]| {
        let mut patch = Vec::new();
        varve_delta::push_hunk(&mut patch, start, end, new);
        patch
    };
    let patches = [
        hunk(100, 181, b"x"),
        hunk(50, 40, b"x"),
        hunk(0, 5, b"x")[..12].to_vec(),
        hunk(0, 5, b"x")[..7].to_vec(),
        [hunk(50, 60, b"x"), hunk(55, 70, b"y")].concat(),
    ];
    for patch in patches {
        let mut delta = entry(b"", 181);
        delta.stored_len = patch.len() as u32;
        delta.raw_len = Some(base.len() as u32);
        delta.base = Some(Rev(0));
        delta.p1 = Some(Rev(0));
        let parts = [(entry(&base, 0), plain(&base)), (delta, patch)];
        let revlog = open(&index(INLINE, &parts), b"").unwrap();
        let refused = revlog.text(Rev(1));
        let is_it = matches!(refused, Err(RevlogError::DamagedChain { rev: Rev(1), .. }));
        assert!(is_it, "{refused:?}");
        assert_eq!(revlog.text(Rev(0)).unwrap(), base);
    }
}

#[test]
fn a_text_that_is_not_the_one_of_its_name_is_refused() {
    let mut other = entry(b"one", 0);
    other.node = hash(&Node::NULL, &Node::NULL, b"two");
    let revlog = open(&index(INLINE, &[(other, plain(b"one"))]), b"").unwrap();
    assert!(matches!(
        revlog.text(Rev(0)),
        Err(RevlogError::WrongHash { rev: Rev(0), .. })
    ));
    assert_eq!(revlog.reader().unchecked_text(Rev(0)).unwrap(), b"one");
}

#[test]
fn flags_are_refused_by_what_they_mean_and_hints_are_not() {
    for (flags, what) in [
        (flag::CENSORED, "censored"),
        (flag::ELLIPSIS, "an ellipsis revision"),
        (flag::STORED_OUTSIDE, "stored outside the repository"),
        (0x0001, "marked with unknown flags 0x0001"),
        (flag::CENSORED | 0x0020, "censored"),
    ] {
        let mut flagged = entry(b"one", 0);
        flagged.flags = flags;
        // The first entry's flags stand beside the header.
        let parts = [
            (entry(b"", 0), plain(b"")),
            (
                Entry {
                    offset: 1,
                    ..flagged
                },
                plain(b"one"),
            ),
        ];
        let revlog = open(&index(INLINE, &parts), b"").unwrap();
        assert_eq!(revlog.flags(Rev(1)), flags);
        let message = reason_of(revlog.text(Rev(1)));
        assert!(message.contains(what), "{message}");
    }
    let hinted = Entry {
        offset: 1,
        flags: flag::HINTS,
        ..entry(b"one", 0)
    };
    let parts = [(entry(b"", 0), plain(b"")), (hinted, plain(b"one"))];
    let revlog = open(&index(INLINE, &parts), b"").unwrap();
    assert_eq!(revlog.text(Rev(1)).unwrap(), b"one");
}

/// Without general deltas the base field names the start of the chain, and a delta is against the revision before.
#[test]
fn without_general_deltas_the_first_revision_has_no_base_and_others_follow_in_turn() {
    let old = Header {
        inline: true,
        general_delta: false,
    };
    let texts = [lines(0..30), lines(0..31), lines(0..32)];
    let mut parts = vec![(entry(&texts[0], 0), plain(&texts[0]))];
    for number in 1..3 {
        let mut patch = Vec::new();
        let (before, after) = (&texts[number - 1], &texts[number]);
        let end = before.len() as u32;
        varve_delta::push_hunk(&mut patch, end, end, &after[before.len()..]);
        let last = &parts[number - 1].0;
        let mut delta = entry(after, last.end());
        delta.stored_len = patch.len() as u32;
        delta.base = Some(Rev(0));
        parts.push((delta, patch));
    }
    parts[0].0.base = Some(Rev(0));
    let bytes = index(old, &parts);
    let revlog = open(&bytes, b"").unwrap();
    assert_eq!(revlog.delta_parent(Rev(2)), Some(Rev(1)));
    assert_eq!(revlog.text(Rev(2)).unwrap(), texts[2]);
    assert_eq!(plain_texts(&bytes, b""), texts);
}

#[test]
fn nodes_that_begin_alike_are_told_apart() {
    let named = |first: &[u8], last: u8| {
        let mut node = Node([0x11; 20]);
        node.0[..first.len()].copy_from_slice(first);
        node.0[19] = last;
        node
    };
    // The first eight bytes, by which the table is sorted, are the same in three of them.
    let nodes = [
        named(&[0xab; 8], 1),
        named(&[0xab; 8], 2),
        named(&[0xab, 0xac], 3),
        named(&[0xab; 8], 4),
        named(&[0x00], 5),
        named(&[0xff; 12], 6),
    ];
    let parts: Vec<_> = (0_u64..)
        .zip(nodes)
        .map(|(number, node)| {
            (
                Entry {
                    node,
                    ..entry(b"one", 4 * number)
                },
                plain(b"one"),
            )
        })
        .collect();
    let revlog = open(&index(INLINE, &parts), b"").unwrap();
    for (rev, node) in revlog.revs().zip(nodes) {
        let hex = node.to_hex();
        assert_eq!(revlog.rev(&node), Some(rev));
        assert_eq!(revlog.rev_by_prefix(&hex), PrefixMatch::One(rev));
        let upper = hex.to_ascii_uppercase();
        assert_eq!(revlog.rev_by_prefix(&upper), PrefixMatch::One(rev));
        let too_long = [&hex[..], b"0"].concat();
        assert_eq!(revlog.rev_by_prefix(&too_long), PrefixMatch::None);
    }
    let prefix = |hex: &[u8]| revlog.rev_by_prefix(hex);
    assert_eq!(prefix(b"ab"), PrefixMatch::Ambiguous);
    assert_eq!(prefix(b"aba"), PrefixMatch::Ambiguous);
    assert_eq!(prefix(b"abac"), PrefixMatch::One(Rev(2)));
    assert_eq!(prefix(b"abab"), PrefixMatch::Ambiguous);
    assert_eq!(prefix(&[b'a', b'b'].repeat(8)), PrefixMatch::Ambiguous);
    assert_eq!(prefix(b"abad"), PrefixMatch::None);
    assert_eq!(prefix(b"f"), PrefixMatch::One(Rev(5)));
    assert_eq!(prefix(b"0"), PrefixMatch::One(Rev(4)));
    assert_eq!(prefix(b"ag"), PrefixMatch::None);
}

/// Any fields whatever, in a file of the right length.
fn any_entry() -> impl Strategy<Value = [u8; ENTRY_LEN]> {
    let small = -2_i32..6;
    let fields = (
        0_u64..40,
        any::<u16>(),
        small.clone(),
        small.clone(),
        small.clone(),
        small.clone(),
        small.clone(),
        small,
    );
    fields.prop_map(|(offset, flags, stored, raw, base, link, p1, p2)| {
        let mut bytes = [0; ENTRY_LEN];
        bytes[..8].copy_from_slice(&(offset << 16 | u64::from(flags)).to_be_bytes());
        for (at, field) in [stored, raw, base, link, p1, p2].into_iter().enumerate() {
            bytes[8 + 4 * at..12 + 4 * at].copy_from_slice(&field.to_be_bytes());
        }
        bytes
    })
}

proptest! {
    #[test]
    fn what_opens_has_only_older_parents_and_bases(
        entries in proptest::collection::vec(any_entry(), 1..6), inline in any::<bool>(),
        data in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut bytes = entries.concat();
        let header = Header { inline, general_delta: true };
        bytes[..4].copy_from_slice(&header.encode());
        let Ok(revlog) = open(&bytes, &data) else {
            return Ok(());
        };
        for rev in revlog.revs() {
            prop_assert!(revlog.parents(rev).into_iter().flatten().all(|parent| parent < rev));
            prop_assert!(revlog.delta_parent(rev).is_none_or(|base| base < rev));
            if let Ok(text) = revlog.text(rev) {
                let [p1, p2] = revlog.parents(rev).map(|parent| revlog.node_or_null(parent));
                prop_assert_eq!(hash(&p1, &p2, &text), revlog.node(rev));
            }
        }
    }

    /// Damage in the chunk of one revision is seen in that one and in deltas above it, and nowhere else.
    #[test]
    fn a_damaged_chunk_spoils_its_chain_only(
        seed in any::<u64>(), which in 0_usize..6, at in any::<prop::sample::Index>(),
    ) {
        let texts: Vec<Vec<u8>> = (0..6).map(|number| noise(seed ^ number, 100)).collect();
        let mut parts: Vec<_> = Vec::new();
        for text in &texts {
            let offset = parts.last().map_or(0, |(entry, _): &(Entry, Vec<u8>)| entry.end());
            parts.push((entry(text, offset), plain(text)));
        }
        let chunks: Vec<&[u8]> = parts.iter().map(|(_, chunk)| &chunk[..]).collect();
        let mut data = chunks.concat();
        let (start, len) = (parts[which].0.offset as usize, chunks[which].len());
        data[start + at.index(len)] ^= 0x55;
        let revlog = open(&index(SPLIT, &parts), &data).unwrap();
        for (rev, text) in revlog.revs().zip(&texts) {
            let read = revlog.text(rev);
            prop_assert_eq!(read.is_ok(), rev.index() != which, "{}", rev);
            if let Ok(read) = read {
                prop_assert_eq!(&read, text);
            }
        }
        prop_assert_eq!(revlog.data_path(), Path::new(DATA));
    }
}
