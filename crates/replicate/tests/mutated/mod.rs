//! The bodies of the fuzz targets over recorded files, as they are and with bytes changed.

use crate::couch_encoder::{Stored, file_of, object};
use proptest::prelude::*;
use varve_replicate::fuzzing::{couch_file, couch_term};
use varve_testkit::recorded::couch_files;

/// Small recorded files: a partitioned database, one with two shards, and users.
fn small_files() -> Vec<Vec<u8>> {
    let shards = couch_files().join("shards/00000000-7fffffff");
    let mut paths: Vec<_> = std::fs::read_dir(shards)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    let files = paths.iter().map(|path| std::fs::read(path).unwrap());
    files.filter(|bytes| bytes.len() < 20_000).collect()
}

/// Gives every chunk of a changed input a chance: terms are checked by no checksum.
#[test]
fn recorded_files_are_read_whole_and_cut_anywhere() {
    let files = small_files();
    assert!(files.len() >= 3);
    for bytes in files {
        couch_file(&bytes);
        for len in (0..bytes.len()).step_by(509) {
            couch_file(&bytes[..len]);
        }
    }
}

#[test]
fn a_tree_that_leads_to_itself_comes_to_an_end() {
    // The checksums stay right where the pointers do not: the file is encoded with a root that is its own child.
    use crate::couch_encoder::{CouchWriter, atom, integer, list, member, tuple};
    let mut writer = CouchWriter::new(Stored::Plain);
    writer.chunk(b"\x83j");
    let at = writer.bytes.len() as u64;
    let child = member(|out| {
        tuple(2, out);
        integer(5, out);
        tuple(3, out);
        integer(at, out);
        integer(1, out);
        integer(1, out);
    });
    let node = member(|out| {
        out.push(131);
        tuple(2, out);
        atom("kp_node", out);
        list(&vec![child; 50], out);
    });
    assert_eq!(writer.term(&node), at);
    let root = member(|out| {
        tuple(2, out);
        integer(at, out);
        integer(1, out);
    });
    let mut members = vec![member(|out| atom("nil", out)); 15];
    for (position, value) in [(0, 8), (1, 5), (2, 0), (9, 1000)] {
        members[position] = member(|out| integer(value, out));
    }
    members[4] = root;
    writer.header(&members);
    couch_file(&writer.bytes);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn changed_files_do_not_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let mut bytes = file_of(60, Stored::Plain);
        for (at, with) in &flips {
            let at = at.index(bytes.len());
            bytes[at] ^= with;
        }
        couch_file(&bytes);
    }

    #[test]
    fn changed_terms_do_not_panic(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let body = object(r#"{"a":[1,2,{"b":"text"},[]],"n":123456789012345678901234567890,"f":1.5}"#);
        let chunk = [
            &b"\x83h\x02m"[..],
            &(body.len() as u32).to_be_bytes(),
            &body,
            b"m\0\0\0\x02\x83j",
        ].concat();
        for mut term in [body, chunk] {
            couch_term(&term);
            for (at, with) in &flips {
                let at = at.index(term.len());
                term[at] ^= with;
            }
            couch_term(&term);
            couch_term(&term[..cut.index(term.len())]);
        }
    }
}
