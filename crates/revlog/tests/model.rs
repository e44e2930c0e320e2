//! A second, plain reader of revlog files, and the history that they should hold.
//!
//! The reader decodes entry by entry, expands each chunk and applies one patch after the other. It shares no code
//! with [`varve_revlog::Reader`] but the decoding of an entry and of a chunk.

use std::path::Path;
use std::sync::Arc;
use varve_base::{MemoryStorage, OpenMode, Storage};
use varve_codec::Expander;
use varve_revlog::{ENTRY_LEN, Entry, Header, Node, Rev, Revlog, chunk, hash};

/// The index file of every test.
pub(crate) const INDEX: &str = "data/x.i";
/// Its data file.
pub(crate) const DATA: &str = "data/x.d";
/// No text of a test is longer.
const LONGEST_TEXT: usize = 1 << 24;

/// Expected content of a revision.
#[derive(Clone, Debug)]
pub(crate) struct Expected {
    pub text: Vec<u8>,
    pub parents: [Option<Rev>; 2],
    pub link: u32,
}

/// An empty storage.
pub(crate) fn storage() -> Arc<dyn Storage> {
    Arc::new(MemoryStorage::default())
}

/// A storage with an index and, unless it is empty, a data file.
pub(crate) fn storage_with(index: &[u8], data: &[u8]) -> Arc<dyn Storage> {
    let mut files = vec![(INDEX.into(), index.to_vec())];
    if !data.is_empty() {
        files.push((DATA.into(), data.to_vec()));
    }
    Arc::new(MemoryStorage::with_files(files))
}

/// All bytes of a file; none if it does not exist.
pub(crate) fn bytes_of(storage: &Arc<dyn Storage>, path: &str) -> Vec<u8> {
    match storage.open(Path::new(path), OpenMode::Read) {
        Ok(file) => file.read_all().unwrap(),
        Err(error) if error.is_not_found() => Vec::new(),
        Err(error) => panic!("{error}"),
    }
}

/// Bytes that no codec makes shorter; the same for the same seed.
pub(crate) fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_be_bytes()
    };
    let mut bytes: Vec<u8> = (0..len.div_ceil(8)).flat_map(|_| next()).collect();
    bytes.truncate(len);
    bytes
}

/// Lines of hexadecimal digits, one for each number.
pub(crate) fn lines(numbers: impl IntoIterator<Item = u32>) -> Vec<u8> {
    let numbers = numbers.into_iter();
    let text: String = numbers
        .map(|number| format!("{:08x}\n", number.wrapping_mul(0x9e37_79b9)))
        .collect();
    text.into_bytes()
}

/// The entries of a revlog with their chunks as stored.
pub(crate) fn entries(index: &[u8], data: &[u8]) -> (Header, Vec<(Entry, Vec<u8>)>) {
    let header = Header::decode(*index.first_chunk().unwrap()).unwrap();
    let (mut found, mut at) = (Vec::new(), 0);
    while at < index.len() {
        let mut bytes = *index[at..].first_chunk::<ENTRY_LEN>().unwrap();
        if at == 0 {
            bytes[..Header::LEN].fill(0);
        }
        let entry = Entry::decode(&bytes).unwrap();
        let len = entry.stored_len as usize;
        at += ENTRY_LEN;
        let chunk = if header.inline {
            at += len;
            &index[at - len..at]
        } else {
            let start = entry.offset as usize;
            &data[start..start + len]
        };
        found.push((entry, chunk.to_vec()));
    }
    (header, found)
}

/// The texts of all revisions, each made of the one that its delta is against.
pub(crate) fn plain_texts(index: &[u8], data: &[u8]) -> Vec<Vec<u8>> {
    let (header, entries) = entries(index, data);
    let mut texts: Vec<Vec<u8>> = Vec::new();
    for (number, (entry, stored)) in entries.iter().enumerate() {
        let mut raw = Vec::new();
        chunk::expand(stored, LONGEST_TEXT, &mut Expander::new(), &mut raw).unwrap();
        let base = entry.base.filter(|base| base.index() != number);
        let base = base.map(|base| {
            if header.general_delta {
                base.index()
            } else {
                number - 1
            }
        });
        let text = match base {
            None => raw,
            Some(base) => {
                let mut text = Vec::new();
                varve_delta::apply(&raw, &texts[base], &mut text).unwrap();
                text
            }
        };
        assert_eq!(entry.raw_len, Some(text.len() as u32), "revision {number}");
        texts.push(text);
    }
    texts
}

/// Compares the files with the expected ones, by both readers: texts, parents, linkrevs, names.
pub(crate) fn check_files(storage: &Arc<dyn Storage>, expected: &[Expected]) {
    let revlog = Revlog::open_or_empty(storage, Path::new(INDEX)).unwrap();
    assert_eq!(revlog.len(), expected.len());
    if expected.is_empty() {
        return;
    }
    let plain = plain_texts(&bytes_of(storage, INDEX), &bytes_of(storage, DATA));
    let node = |rev: Option<Rev>| rev.map_or(Node::NULL, |rev| revlog.node(rev));
    let mut backwards = revlog.reader();
    for (rev, wanted) in revlog.revs().zip(expected).rev() {
        assert_eq!(plain[rev.index()], wanted.text, "{rev}");
        assert_eq!(backwards.text(rev).unwrap(), wanted.text, "{rev}");
        assert_eq!(revlog.parents(rev), wanted.parents, "{rev}");
        assert_eq!(revlog.linkrev(rev), i64::from(wanted.link), "{rev}");
        let [p1, p2] = wanted.parents.map(node);
        assert_eq!(revlog.node(rev), hash(&p1, &p2, &wanted.text), "{rev}");
        assert_eq!(revlog.rev(&revlog.node(rev)), Some(rev));
    }
    let mut forwards = revlog.reader();
    for (rev, wanted) in revlog.revs().zip(expected) {
        assert_eq!(forwards.text(rev).unwrap(), wanted.text, "{rev}");
    }
}
