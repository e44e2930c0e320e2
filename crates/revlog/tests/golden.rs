//! Small files that Mercurial 7.2.4 wrote: five commits of one growing file.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::{MemoryStorage, Storage};
use varve_revlog::{Header, Node, PrefixMatch, Rev, Revlog};

/// A filelog with general deltas.
pub(crate) const FILELOG: &[u8] = include_bytes!("golden/filelog-inline-zstd.i");
const OLD_FILELOG: &[u8] = include_bytes!("golden/filelog-zlib-no-generaldelta.i");
/// A changelog's index.
pub(crate) const CHANGELOG_INDEX: &[u8] = include_bytes!("golden/changelog-split-zstd.i");
/// A changelog's chunks.
pub(crate) const CHANGELOG_DATA: &[u8] = include_bytes!("golden/changelog-split-zstd.d");

/// A storage that holds `x.i` and, unless empty, `x.d`.
pub(crate) fn storage(index: &[u8], data: &[u8]) -> Arc<dyn Storage> {
    let mut files = vec![(PathBuf::from("x.i"), index.to_vec())];
    if !data.is_empty() {
        files.push((PathBuf::from("x.d"), data.to_vec()));
    }
    Arc::new(MemoryStorage::with_files(files))
}

fn open(index: &[u8], data: &[u8]) -> Revlog {
    Revlog::open(&storage(index, data), Path::new("x.i")).unwrap()
}

/// The text of the file at a revision, as the commits made it.
fn file_text(rev: u32) -> Vec<u8> {
    let mut lines: Vec<String> = (0..30)
        .map(|line| format!("line {line} of the file that grows\n"))
        .collect();
    let commit = rev as usize + 1;
    lines[commit * 3] = format!("changed in revision {commit}\n");
    lines[..20 + commit * 2].concat().into_bytes()
}

#[test]
fn filelogs_of_both_delta_rules_give_the_texts_back() {
    for (bytes, general_delta) in [(FILELOG, true), (OLD_FILELOG, false)] {
        let revlog = open(bytes, b"");
        let inline = true;
        assert_eq!(
            revlog.header(),
            Header {
                inline,
                general_delta
            }
        );
        assert_eq!(revlog.len(), 5);
        for rev in revlog.revs() {
            assert_eq!(revlog.text(rev).unwrap(), file_text(rev.0), "{rev}");
            assert_eq!(revlog.linkrev(rev), i64::from(rev.0));
            assert_eq!(revlog.parents(rev), [rev.0.checked_sub(1).map(Rev), None]);
        }
        let mut backwards = revlog.reader();
        for rev in revlog.revs().rev() {
            assert_eq!(backwards.text(rev).unwrap(), file_text(rev.0), "{rev}");
        }
    }
}

#[test]
fn stored_deltas_lead_from_parent_to_revision() {
    let revlog = open(FILELOG, b"");
    let (mut reader, mut delta, mut deltas) = (revlog.reader(), Vec::new(), 0);
    for rev in revlog.revs() {
        reader.stored_delta(rev, &mut delta).unwrap();
        let Some(base) = revlog.delta_parent(rev) else {
            assert_eq!(delta, file_text(rev.0));
            continue;
        };
        let mut text = Vec::new();
        varve_delta::apply(&delta, &file_text(base.0), &mut text).unwrap();
        assert_eq!(text, file_text(rev.0));
        deltas += 1;
    }
    assert!(deltas > 2, "{deltas} deltas");
}

#[test]
fn a_split_changelog_is_read_and_searched() {
    let revlog = open(CHANGELOG_INDEX, CHANGELOG_DATA);
    assert_eq!(
        revlog.text(Rev(4)).unwrap(),
        b"6e73304f01e642d841e7ff07571d3af18717ccf6\ntest\n5 0\na\n\ncommit 5"
    );
    let node = Node(revlog.node(Rev(2)).0);
    assert_eq!(node.to_string().get(..12), Some("7d7a0f6723c3"));
    assert_eq!(revlog.rev(&node), Some(Rev(2)));
    assert_eq!(revlog.rev(&Node::NULL), None);
    assert_eq!(revlog.rev_by_prefix(b"7d7"), PrefixMatch::One(Rev(2)));
    assert_eq!(revlog.rev_by_prefix(b""), PrefixMatch::Ambiguous);
    assert_eq!(revlog.rev_by_prefix(b"7d8"), PrefixMatch::None);
    assert_eq!(revlog.rev_by_prefix(b"xyz"), PrefixMatch::None);
    for rev in revlog.revs() {
        let hex = revlog.node(rev).to_hex();
        assert_eq!(revlog.rev_by_prefix(&hex), PrefixMatch::One(rev));
        assert_eq!(revlog.rev_by_prefix(&hex[..17]), PrefixMatch::One(rev));
    }
}

#[test]
fn the_beginning_of_an_index_is_an_earlier_revlog() {
    let storage = storage(CHANGELOG_INDEX, CHANGELOG_DATA);
    let whole = open(CHANGELOG_INDEX, CHANGELOG_DATA);
    let open = |len| Revlog::open_up_to(&storage, Path::new("x.i"), len).unwrap();
    let revlog = open(4 * varve_revlog::ENTRY_LEN as u64);
    assert_eq!(revlog.len(), 4);
    assert_eq!(revlog.rev(&whole.node(Rev(4))), None);
    assert_eq!(revlog.rev_at(4), None);
    assert!(open(0).is_empty());
    assert_eq!(open(u64::MAX).len(), 5);
}

#[test]
fn no_file_is_an_empty_revlog_only_where_that_is_asked_for() {
    let storage = storage(b"", b"");
    let missing = Path::new("y.i");
    assert!(Revlog::open(&storage, missing).is_err());
    assert!(Revlog::open_or_empty(&storage, missing).unwrap().is_empty());
    assert!(
        Revlog::open(&storage, Path::new("x.i"))
            .unwrap()
            .tip()
            .is_none()
    );
}
