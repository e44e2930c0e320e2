//! Damaged files, files that are written to, and files of versions that were not recorded.

use crate::couch_encoder::{
    CouchWriter, Stored, atom, binary, file_of, integer, list, member, object, root, tuple,
};
use crate::recorded::{check, imported, opened};
use std::path::{Path, PathBuf};
use tempfile::TempDir;
use varve_base::{DiskStorage, Interrupt};
use varve_docdb::Direction;
use varve_replicate::couch_file::CouchFile;
use varve_replicate::{Finding, SourceDatabase, Sources, find};
use varve_testkit::recorded::couch_files;

struct Case {
    directory: TempDir,
}

impl Case {
    fn new() -> Case {
        Case {
            directory: tempfile::tempdir().unwrap(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Imports a file of these bytes; the ids that came, and what was left out.
    fn import(&self, bytes: &[u8]) -> (Vec<String>, Vec<Finding>) {
        let (from, to) = (self.path("db.couch"), self.path("db.varve"));
        std::fs::write(&from, bytes).unwrap();
        let _ = std::fs::remove_file(&to);
        let source = SourceDatabase {
            name: "db".to_owned(),
            files: vec![from],
            findings: Vec::new(),
        };
        let (done, found) = imported(&source, &to);
        check(&to);
        assert_eq!(done.findings, found.len() as u64);
        let snapshot = opened(&to).snapshot();
        let changes = snapshot.changes(0, Direction::Forward).unwrap();
        let ids: Vec<String> = changes.map(|change| change.unwrap().id).collect();
        assert_eq!(done.loaded.documents, ids.len() as u64);
        (ids, found)
    }
}

fn flip(bytes: &mut [u8], at: u64) {
    bytes[usize::try_from(at).unwrap()] ^= 0x55;
}

fn open(path: &Path) -> CouchFile {
    CouchFile::open(&DiskStorage::new("/"), path, &Interrupt::default()).unwrap()
}

#[test]
fn encoded_files_hold_their_documents() {
    let case = Case::new();
    for stored in [Stored::Plain, Stored::Snappy] {
        let (ids, found) = case.import(&file_of(5000, stored));
        assert_eq!((ids.len(), found), (5000, vec![]));
        let snapshot = opened(&case.path("db.varve")).snapshot();
        for (number, change) in (0..).zip(snapshot.changes(0, Direction::Forward).unwrap()) {
            let change = change.unwrap();
            assert_eq!(change.seq, number + 1);
            let mut body = Vec::new();
            snapshot.body(&change.stored, &mut body).unwrap();
            let expected = varve_json::parse(crate::couch_encoder::text(number).as_bytes());
            assert_eq!(varve_json::parse(&body).unwrap(), expected.unwrap());
        }
    }
}

#[test]
fn the_newest_header_that_is_whole_counts() {
    let case = Case::new();
    let old = file_of(100, Stored::Snappy);
    // What CouchDB is about to write: chunks, and a header whose end is not there yet.
    let mut growing = CouchWriter::new(Stored::Snappy);
    growing.bytes = old.clone();
    growing.body(&object("{}"), b"\x83j");
    growing.header(&[member(|out| integer(8, out))]);
    let whole = growing.bytes.len();
    for cut in [whole - 1, whole - 10, old.len() + 3, old.len()] {
        let (ids, found) = case.import(&growing.bytes[..cut]);
        assert_eq!((ids.len(), found), (100, vec![]), "{cut}");
    }
    let mut torn = old.clone();
    torn.extend(std::iter::repeat_n(0xff, 10_000));
    assert_eq!(case.import(&torn).0.len(), 100);
}

#[test]
fn a_damaged_body_costs_its_document_and_is_named() {
    let case = Case::new();
    let mut bytes = file_of(300, Stored::Snappy);
    flip(&mut bytes, 200);
    let (ids, found) = case.import(&bytes);
    assert_eq!((ids.len(), found.len()), (299, 2), "{found:?}");
    let said = found[1].to_string();
    let wanted = format!(
        "{}: byte 0: \"0000000000000000\" 1-",
        case.path("db.couch").display()
    );
    assert!(said.starts_with(&wanted), "{said}");
    assert!(
        said.ends_with("is left out: the checksum does not fit the bytes"),
        "{said}"
    );
}

/// Pieces of attachments have no checksum of their own: the digest of the whole tells.
#[test]
fn a_damaged_attachment_is_left_out_and_its_document_stays() {
    let case = Case::new();
    let shard = couch_files().join("shards/00000000-7fffffff/none-fresh.1795439032.couch");
    let mut bytes = std::fs::read(shard).unwrap();
    let (_, whole) = case.import(&bytes);
    assert_eq!(whole, []);
    // The data of noise.bin.
    flip(&mut bytes, 368_835 + 100);
    let (ids, found) = case.import(&bytes);
    let said: Vec<String> = found.iter().map(Finding::to_string).collect();
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(
        said[0].starts_with("db: the attachment \"noise.bin\" of \"files\" 7-"),
        "{said:?}"
    );
    assert!(
        said[0].ends_with("its data has another MD5 than was noted for it"),
        "{said:?}"
    );
    assert!(ids.contains(&"files".to_owned()));
    let snapshot = opened(&case.path("db.varve")).snapshot();
    let document = snapshot.document("files").unwrap().unwrap();
    let kept = snapshot.attachments(document.winner().unwrap().1).unwrap();
    let names: Vec<&str> = kept
        .iter()
        .map(|attachment| attachment.name.as_str())
        .collect();
    assert_eq!(names, ["sent.gz", "empty", "ünï/cödé.json", "plain.txt"]);
}

/// Whichever node of either tree is damaged, every document is still found through the other tree.
#[test]
fn a_damaged_node_costs_no_document() {
    let case = Case::new();
    let bytes = file_of(400, Stored::Plain);
    let mut damaged_nodes = 0;
    let is_node = |at: &usize| [&b"kv_node"[..], b"kp_node"].contains(&&bytes[*at..*at + 7]);
    for at in (0..bytes.len() - 7).filter(is_node) {
        let mut damaged = bytes.clone();
        flip(&mut damaged, at as u64);
        let (ids, found) = case.import(&damaged);
        assert_eq!(ids.len(), 400, "{at}: {found:?}");
        damaged_nodes += usize::from(!found.is_empty());
    }
    // Ten leaves and a root by sequence; damage to the tree by id is not met.
    assert_eq!(damaged_nodes, 11);
}

#[test]
fn files_that_are_none_and_other_versions_are_refused_by_name() {
    let case = Case::new();
    let path = case.path("db.couch");
    let refused = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        let opened = CouchFile::open(&DiskStorage::new("/"), &path, &Interrupt::default());
        opened.unwrap_err().to_string()
    };
    assert!(refused(b"").ends_with("is no file of a CouchDB database: it has no whole header"));
    assert!(refused(&[1; 20_000]).ends_with("it has no whole header"));
    for version in [5, 9] {
        let mut writer = CouchWriter::new(Stored::Plain);
        writer.header(&old_header(version, (None, None), (0, None)));
        let said = refused(&writer.bytes);
        let wanted = format!("has version {version} of CouchDB's format, and 6, 7 and 8 are read");
        assert!(said.contains(&wanted), "{said}");
    }
}

/// The recorded directory, copied, without what `keep` leaves out.
fn copied(keep: impl Fn(&str) -> bool) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    let from = couch_files();
    let mut waiting = vec![from.clone()];
    while let Some(path) = waiting.pop() {
        let relative = path.strip_prefix(&from).unwrap();
        let to = directory.path().join(relative);
        if path.is_dir() {
            std::fs::create_dir_all(&to).unwrap();
            waiting.extend(
                std::fs::read_dir(&path)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        } else if keep(relative.to_str().unwrap()) {
            std::fs::copy(&path, &to).unwrap();
        }
    }
    directory
}

fn sources(directory: &Path) -> Sources {
    find(&DiskStorage::new("/"), directory, &Interrupt::default()).unwrap()
}

#[test]
fn a_missing_shard_is_named_and_the_others_are_imported() {
    let gone = "shards/40000000-5fffffff/wide.1795439037.couch";
    let directory = copied(|path| path != gone);
    let found = sources(directory.path());
    let wide = found
        .databases
        .iter()
        .find(|source| source.name == "wide")
        .unwrap();
    assert_eq!(wide.files.len(), 7);
    let (done, findings) = imported(wide, &directory.path().join("wide.varve"));
    assert!((50..100).contains(&done.loaded.documents));
    let said = findings[0].to_string();
    assert!(
        said.contains(gone)
            && said.ends_with("the shard 40000000-5fffffff of \"wide\" is not there"),
        "{said}"
    );
}

#[test]
fn without_the_shard_map_the_newest_files_of_a_name_are_taken() {
    let directory = copied(|path| path != "_dbs.couch");
    let shards = directory.path().join("shards/00000000-ffffffff/team");
    std::fs::copy(
        shards.join("notes.1795439037.couch"),
        shards.join("notes.1795439036.couch"),
    )
    .unwrap();
    let found = sources(directory.path());
    assert_eq!((found.databases.len(), found.findings), (12, vec![]));
    assert_eq!(found.passed_over.len(), 1);
    assert!(found.passed_over[0].0.ends_with("notes.1795439036.couch"));
    // With the map, that one is a database that was deleted.
    std::fs::copy(
        couch_files().join("_dbs.couch"),
        directory.path().join("_dbs.couch"),
    )
    .unwrap();
    let found = sources(directory.path());
    assert_eq!((found.databases.len(), found.passed_over.len()), (12, 1));
}

#[test]
fn databases_in_one_file_are_found_with_their_slashes() {
    let directory = tempfile::tempdir().unwrap();
    let from = couch_files().join("shards/00000000-ffffffff/team/notes.1795439037.couch");
    for to in [
        "notes.couch",
        "team/notes.couch",
        ".delete/x.couch",
        ".team_design/i.couch",
    ] {
        let to = directory.path().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(&from, to).unwrap();
    }
    let found = sources(directory.path());
    let names: Vec<&str> = found
        .databases
        .iter()
        .map(|source| source.name.as_str())
        .collect();
    assert_eq!(names, ["notes", "team/notes"]);
    assert_eq!(sources(&from).databases[0].name, "notes");
    let nothing = tempfile::tempdir().unwrap();
    let refused = find(
        &DiskStorage::new("/"),
        nothing.path(),
        &Interrupt::default(),
    );
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("has no CouchDB databases")
    );
}

/// Members of a header as version 6 has them.
fn old_header(
    version: u64,
    (by_id, by_seq): (Option<Vec<u8>>, Option<Vec<u8>>),
    (purge_seq, purged): (u64, Option<u64>),
) -> Vec<Vec<u8>> {
    let nil = || member(|out| atom("nil", out));
    vec![
        member(|out| integer(version, out)),
        member(|out| integer(7, out)),
        member(|out| integer(0, out)),
        root(by_id),
        root(by_seq),
        nil(),
        member(|out| integer(purge_seq, out)),
        purged.map_or_else(nil, |at| member(|out| integer(at, out))),
        nil(),
        member(|out| integer(500, out)),
    ]
}

/// Members of a header as CouchDB 2.3 has them: purges in trees, an identity, and a limit of purges.
fn header_7(by_seq: Option<Vec<u8>>) -> Vec<Vec<u8>> {
    let nil = || member(|out| atom("nil", out));
    let mut members = old_header(7, (None, by_seq), (0, None));
    members[6] = nil();
    members.extend([
        member(|out| binary(b"0123456789abcdef0123456789abcdef", out)),
        member(|out| list(&[], out)),
        member(|out| integer(0, out)),
        member(|out| integer(77, out)),
    ]);
    members
}

/// A file as CouchDB 1 kept it: no sizes, an attachment without an encoding, and its piece without a length. `header` gets
/// the tree by sequence, and where the last purge stands.
fn old_file(header: impl Fn(Option<Vec<u8>>, u64) -> Vec<Vec<u8>>) -> Vec<u8> {
    let mut writer = CouchWriter::new(Stored::Snappy);
    let piece = writer.piece(b"some bytes");
    let attachment = member(|out| {
        tuple(6, out);
        binary(b"a.bin", out);
        binary(b"application/octet-stream", out);
        list(&[member(|out| integer(piece, out))], out);
        integer(10, out);
        integer(1, out);
        binary(&md5(b"some bytes"), out);
    });
    let attachments = member(|out| {
        out.push(131);
        list(&[attachment], out);
    });
    let body = writer.body(&object("{\"old\":true}"), &attachments);
    let node = member(|out| {
        tuple(2, out);
        integer(1, out);
        tuple(3, out);
        binary(&[7; 16], out);
        tuple(3, out);
        atom("false", out);
        integer(body, out);
        integer(7, out);
        list(&[], out);
    });
    let key = member(|out| integer(7, out));
    let item = member(|out| {
        tuple(2, out);
        integer(7, out);
        tuple(3, out);
        binary(b"old", out);
        integer(0, out);
        list(&[node], out);
    });
    let by_seq = writer.tree(&[(key, item)], &member(|out| integer(1, out)));
    let rev = member(|out| {
        tuple(2, out);
        integer(1, out);
        binary(&[9; 16], out);
    });
    let gone = member(|out| {
        tuple(2, out);
        binary(b"gone", out);
        list(&[rev], out);
    });
    let purged = member(|out| {
        out.push(131);
        list(&[gone], out);
    });
    let purged = writer.term(&purged);
    writer.header(&header(by_seq, purged));
    writer.bytes
}

#[test]
fn version_7_is_read() {
    let case = Case::new();
    let (ids, found) = case.import(&old_file(|by_seq, _| header_7(by_seq)));
    assert_eq!((ids, found), (vec!["old".to_owned()], vec![]));
    let snapshot = opened(&case.path("db.varve")).snapshot();
    assert_eq!((snapshot.update_seq(), snapshot.revs_limit()), (7, 500));
    assert_eq!(
        (snapshot.purge_seq(), snapshot.purges_limit().unwrap()),
        (0, 77)
    );
    let file = open(&case.path("db.couch"));
    assert_eq!(file.header().version, 7);
}

#[test]
fn version_6_is_read() {
    let case = Case::new();
    let bytes = old_file(|by_seq, purged| old_header(6, (None, by_seq), (3, Some(purged))));
    let (ids, found) = case.import(&bytes);
    assert_eq!((ids, found), (vec!["old".to_owned()], vec![]));
    let snapshot = opened(&case.path("db.varve")).snapshot();
    assert_eq!(snapshot.update_seq(), 7);
    assert_eq!((snapshot.revs_limit(), snapshot.purge_seq()), (500, 3));
    let document = snapshot.document("old").unwrap().unwrap();
    let (rev, stored) = document.winner().unwrap();
    assert_eq!(rev.to_string(), "1-07070707070707070707070707070707");
    let kept = snapshot.attachments(stored).unwrap();
    let mut data = Vec::new();
    snapshot.attachment_data(&kept[0], &mut data).unwrap();
    assert_eq!(data, b"some bytes");
    let purges = snapshot.purges(0).unwrap();
    let purges: Vec<_> = purges.map(|purge| purge.unwrap().id).collect();
    assert_eq!(purges, ["gone"]);
    // Without a security object, everybody may read and write: as in that CouchDB.
    assert_eq!(snapshot.security().unwrap().unwrap(), b"{}");
    assert_eq!(open(&case.path("db.couch")).header().version, 6);
}

fn md5(bytes: &[u8]) -> [u8; 16] {
    use md5::{Digest, Md5};
    Md5::digest(bytes).into()
}
