//! `hgtagsfnodes1`: which revision of `.hgtags` a changeset has.
//!
//! ```text
//! one record per changeset
//! byte 0          4             24
//!      +----------+-------------+     node: the first bytes of the changeset's node
//!      | node     | file node   |     file node: all zero if the changeset has no `.hgtags`
//!      | 4 B      | 20 B        |     all ff: not known
//!      +----------+-------------+
//! ```

use super::Prefix;
use crate::format::lock::LockKind;
use crate::read::RepoView;
use std::collections::BTreeMap;
use varve_revlog::{Node, Rev};

const FILE: &str = "hgtagsfnodes1";
const RECORD: usize = 24;
const PREFIX: usize = 4;
const UNKNOWN: [u8; RECORD] = [0xff; RECORD];
const _: () = assert!(PREFIX + Node::LEN == RECORD && PREFIX == size_of::<Prefix>());

/// The revisions of `.hgtags` that some changesets have.
#[derive(Debug)]
pub(crate) struct TagFiles<'a> {
    view: &'a RepoView,
    found: BTreeMap<Rev, Node>,
    /// Changesets with records to be written.
    new_revs: Vec<Rev>,
}

impl<'a> TagFiles<'a> {
    /// Knows nothing.
    pub fn new(view: &'a RepoView) -> TagFiles<'a> {
        TagFiles {
            view,
            found: BTreeMap::new(),
            new_revs: Vec::new(),
        }
    }

    /// Reads the records of some changesets.
    pub fn load(&mut self, revs: &[Rev]) {
        let places: Vec<u64> = revs.iter().map(|rev| place(*rev)).collect();
        let parts = self.view.caches().read_parts(FILE, RECORD, &places);
        for (rev, part) in revs.iter().zip(parts) {
            let prefix = prefix(&self.view.changelog().node(*rev));
            if let Some(node) = part.and_then(|part| TagFiles::decode(&part, prefix)) {
                self.found.insert(*rev, node);
            }
        }
    }

    /// The revision of `.hgtags`; the null node if there is no such file, `None` if that is not
    /// known.
    pub fn get(&self, rev: Rev) -> Option<Node> {
        self.found.get(&rev).copied()
    }

    /// Notes the `.hgtags` of a changeset.
    pub fn set(&mut self, rev: Rev, node: Node) {
        if self.found.insert(rev, node) != Some(node) {
            self.new_revs.push(rev);
        }
    }

    /// Writes the notes, unless another process is writing to the store.
    pub fn save(mut self) {
        let directory = self.view.caches();
        self.new_revs.sort_unstable();
        self.new_revs.dedup();
        let Some(first) = self.new_revs.first().copied() else {
            return;
        };
        let Some(_guard) = directory.guard(LockKind::Store) else {
            return;
        };
        let len = directory.len(FILE);
        if len.is_multiple_of(RECORD as u64) && len <= place(first) && len > 0 {
            let mut bytes = Vec::new();
            self.put_into(&mut bytes, len);
            directory.append(FILE, len, &bytes);
            return;
        }
        let whole = self.view.changelog().len().saturating_mul(RECORD);
        let mut bytes = directory.read(FILE, whole);
        bytes.truncate(bytes.len() / RECORD * RECORD);
        self.put_into(&mut bytes, 0);
        directory.replace(FILE, &bytes);
    }

    /// The file node in the record of the changeset with this prefix.
    pub fn decode(record: &[u8], prefix: Prefix) -> Option<Node> {
        let (of, node) = record.split_first_chunk::<PREFIX>()?;
        let node = Node(node.try_into().ok()?);
        (*of == prefix && node.0 != [0xff; Node::LEN]).then_some(node)
    }

    /// A changeset's record.
    pub fn encode(prefix: Prefix, node: &Node) -> [u8; RECORD] {
        let mut record = UNKNOWN;
        record[..PREFIX].copy_from_slice(&prefix);
        record[PREFIX..].copy_from_slice(&node.0);
        record
    }

    /// Puts the new entries into `bytes`, which begin at place `from` of the file.
    fn put_into(&self, bytes: &mut Vec<u8>, from: u64) {
        for rev in &self.new_revs {
            let at = (place(*rev) - from) as usize;
            while bytes.len() < at + RECORD {
                bytes.extend_from_slice(&UNKNOWN);
            }
            let prefix = prefix(&self.view.changelog().node(*rev));
            let node = self.found.get(rev).copied().unwrap_or(Node::NULL);
            bytes[at..at + RECORD].copy_from_slice(&TagFiles::encode(prefix, &node));
        }
    }
}

fn place(rev: Rev) -> u64 {
    u64::from(rev.0) * RECORD as u64
}

fn prefix(node: &Node) -> Prefix {
    let [a, b, c, d, ..] = node.0;
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_hg_decode_and_encode_back() {
        // As `hg` 7.2 wrote it.
        let record = [
            0x8f, 0x17, 0xe1, 0x53, 0x9b, 0xb9, 0x6c, 0x9e, 0x0f, 0xa2, 0x12, 0xd3, 0xd8, 0xfb,
            0x31, 0x98, 0x0f, 0xc5, 0xda, 0x7e, 0xb6, 0xb2, 0x22, 0x5a,
        ];
        let prefix = [0x8f, 0x17, 0xe1, 0x53];
        let node = TagFiles::decode(&record, prefix).unwrap();
        assert_eq!(node.to_string(), "9bb96c9e0fa212d3d8fb31980fc5da7eb6b2225a");
        assert_eq!(TagFiles::encode(prefix, &node), record);
        assert_eq!(TagFiles::decode(&record, [0x8f, 0x17, 0xe1, 0x54]), None);
        assert_eq!(TagFiles::decode(&record[..23], prefix), None);
        assert_eq!(TagFiles::decode(&UNKNOWN, [0xff; PREFIX]), None);
    }
}
