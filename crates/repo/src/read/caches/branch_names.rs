//! `rbc-names-v2` and `rbc-revs-v2`: on which branch each changeset is.
//!
//! ```text
//! names      name \0 name \0 name …            a branch's number is its place
//!
//! revs, one record per changeset
//! byte 0          4        8
//!      +----------+--------+     node:   the first bytes of the changeset's node
//!      | node     | number |     number: of the branch, big-endian; the highest bit is set if
//!      | 4 B      | u32    |             the changeset closes its branch
//!      +----------+--------+     all zero: not known
//! ```

use super::{AppendedChangeset, CacheDirectory, Prefix};
use crate::format::lock::LockKind;
use crate::read::RepoView;
use std::collections::HashMap;
use varve_revlog::{Node, Rev};

const NAMES: &str = "rbc-names-v2";
const REVS: &str = "rbc-revs-v2";
const RECORD: usize = 8;
/// A file of more names is not looked at.
const MOST_NAMES: usize = 64 << 20;
const CLOSES: u32 = 1 << 31;
const UNKNOWN: u32 = u32::MAX;
const _: () = assert!(size_of::<Prefix>() + size_of::<u32>() == RECORD);

/// The branch of each changeset, as far as it is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct BranchNames {
    names: Vec<Vec<u8>>,
    numbers: HashMap<Vec<u8>, u32>,
    /// One per changeset, with the bit [`CLOSES`], or [`UNKNOWN`].
    records: Vec<u32>,
    /// The file of names as it was read.
    read: Vec<u8>,
    /// How many of `names` stand in it.
    read_names: usize,
    /// How many records from the first on are in the file as they are here.
    same: usize,
}

impl BranchNames {
    /// Reads both files.
    pub fn load(view: &RepoView) -> BranchNames {
        let (directory, len) = (view.caches(), view.changelog().len());
        let names = directory.read(NAMES, MOST_NAMES);
        let revs = directory.read(REVS, len.saturating_mul(RECORD));
        let prefix = |rev: usize| prefix(view, Rev(rev as u32));
        BranchNames::decode(names, &revs, len, &prefix)
    }

    /// Decodes the records of the first `len` changesets; `prefix` gives the first bytes of their
    /// nodes.
    pub fn decode(
        names: Vec<u8>,
        revs: &[u8],
        len: usize,
        prefix: &dyn Fn(usize) -> Prefix,
    ) -> BranchNames {
        let mut found = BranchNames {
            read: names,
            ..BranchNames::default()
        };
        found.parse_names();
        let known = found.names.len() as u32;
        found.records.reserve(len);
        for (rev, record) in revs.as_chunks::<RECORD>().0.iter().take(len).enumerate() {
            let [a, b, c, d, number @ ..] = *record;
            let number = u32::from_be_bytes(number);
            // An empty record would be one of branch 0 where a node begins with zeros.
            let counts = [a, b, c, d] == prefix(rev) && [a, b, c, d] != [0; 4];
            let good = counts && number & !CLOSES < known;
            found.records.push(if good { number } else { UNKNOWN });
        }
        found.same = found.records.len();
        found.records.resize(len, UNKNOWN);
        found
    }

    /// The names, unless one is empty or there twice: then nothing in either file counts.
    fn parse_names(&mut self) {
        if self.read.is_empty() {
            return;
        }
        for name in self.read.split(|byte| *byte == 0) {
            let number = self.names.len() as u32;
            let twice = self.numbers.insert(name.to_vec(), number).is_some();
            if name.is_empty() || twice {
                self.names.clear();
                self.numbers.clear();
                break;
            }
            self.names.push(name.to_vec());
        }
        self.read_names = self.names.len();
    }

    /// Number of the branch of a changeset, and whether that is closed by it.
    pub fn get(&self, rev: Rev) -> Option<(u32, bool)> {
        let record = *self.records.get(rev.index())?;
        (record != UNKNOWN).then_some((record & !CLOSES, record & CLOSES != 0))
    }

    /// Name of a branch that [`BranchNames::get`] gave.
    pub fn name(&self, number: u32) -> &[u8] {
        self.names.get(number as usize).map_or(b"", Vec::as_slice)
    }

    /// How many branches have a number.
    pub fn branches(&self) -> usize {
        self.names.len()
    }

    /// Notes the branch of a changeset, and whether it closes that.
    pub fn set(&mut self, rev: Rev, branch: &[u8], closes: bool) {
        let number = match self.numbers.get(branch) {
            Some(number) => *number,
            None => {
                let number = self.names.len() as u32;
                self.names.push(branch.to_vec());
                self.numbers.insert(branch.to_vec(), number);
                number
            }
        };
        let record = number | if closes { CLOSES } else { 0 };
        if let Some(old) = self.records.get_mut(rev.index())
            && *old != record
        {
            *old = record;
            self.same = self.same.min(rev.index());
        }
    }

    /// Writes the changes since the files were read, unless another process is writing or has
    /// written. Names are only ever added to, so that records in older files stay right.
    pub fn save(&self, view: &RepoView) {
        let directory = view.caches();
        // The file cannot hold odd branch names of a damaged history.
        let is_odd = |name: &Vec<u8>| name.is_empty() || name.contains(&0);
        if self.same == self.records.len() || self.names.iter().any(is_odd) {
            return;
        }
        let Some(_guard) = directory.guard(LockKind::WorkingCopy) else {
            return;
        };
        if directory.read(NAMES, MOST_NAMES) != self.read {
            return;
        }
        if self.names.len() > self.read_names {
            if self.read_names == 0 {
                directory.remove(REVS);
            }
            directory.replace(NAMES, &self.names.join(&0));
        }
        let (same_len, prefix) = ((self.same * RECORD) as u64, |rev| prefix(view, rev));
        let appended = self.encode_from(self.same, &prefix);
        if self.same == 0 || !directory.append(REVS, same_len, &appended) {
            directory.replace(REVS, &self.encode_from(0, &prefix));
        }
    }

    /// The record of a changeset on the branch of its parent; `None` if the files do not cover
    /// all changesets before it, or the parent is on another branch.
    pub fn record_of_child(
        directory: CacheDirectory<'_>,
        new: &AppendedChangeset,
    ) -> Option<[u8; RECORD]> {
        if directory.len(REVS) != u64::from(new.rev.0) * RECORD as u64 {
            return None;
        }
        let (parent, node) = new.parent;
        let place = u64::from(parent.0) * RECORD as u64;
        let parts = directory.read_parts(REVS, RECORD, &[place]);
        let record: [u8; RECORD] = parts.first()?.as_deref()?.try_into().ok()?;
        let [a, b, c, d, number @ ..] = record;
        let number = u32::from_be_bytes(number) & !CLOSES;
        let names = directory.read(NAMES, MOST_NAMES);
        let name = names.split(|byte| *byte == 0).nth(number as usize)?;
        if [a, b, c, d] != prefix_of(&node) || name != new.branch || name.is_empty() {
            return None;
        }
        let [e, f, g, h] = (number | if new.closes { CLOSES } else { 0 }).to_be_bytes();
        let [a, b, c, d] = prefix_of(&new.node);
        Some([a, b, c, d, e, f, g, h])
    }

    /// Adds the record of the newest changeset; the caller keeps others from writing.
    pub fn append(directory: CacheDirectory<'_>, rev: Rev, record: &[u8; RECORD]) {
        directory.append(REVS, u64::from(rev.0) * RECORD as u64, record);
    }

    /// The records from one changeset on.
    fn encode_from(&self, first: usize, prefix: &dyn Fn(Rev) -> Prefix) -> Vec<u8> {
        let records = &self.records[first..];
        let mut bytes = Vec::with_capacity(records.len() * RECORD);
        for (above, record) in records.iter().enumerate() {
            if *record == UNKNOWN {
                bytes.extend_from_slice(&[0; RECORD]);
            } else {
                bytes.extend_from_slice(&prefix(Rev((first + above) as u32)));
                bytes.extend_from_slice(&record.to_be_bytes());
            }
        }
        bytes
    }

    /// Both files as they would be written.
    pub fn encode(&self, prefix: &dyn Fn(Rev) -> Prefix) -> (Vec<u8>, Vec<u8>) {
        (self.names.join(&0), self.encode_from(0, prefix))
    }
}

fn prefix(view: &RepoView, rev: Rev) -> Prefix {
    prefix_of(&view.changelog().node(rev))
}

fn prefix_of(node: &Node) -> Prefix {
    let [a, b, c, d, ..] = node.0;
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `hg` 7.2 wrote them: the fourth changeset is on the second branch, the last closes it.
    const OF_HG: &[u8] = &[
        0x8d, 0x6a, 0x4b, 0xc2, 0, 0, 0, 0, 0x96, 0x4f, 0x79, 0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        0, 0, 0x53, 0x98, 0x82, 0x25, 0, 0, 0, 1, 0x8f, 0x17, 0xe1, 0x53, 0x80, 0, 0, 1,
    ];

    fn of_hg(rev: usize) -> Prefix {
        let nodes: [u32; 5] = [
            0x8d6a_4bc2,
            0x964f_7920,
            0xa35d_3ab3,
            0x5398_8225,
            0x8f17_e153,
        ];
        nodes[rev].to_be_bytes()
    }

    #[test]
    fn records_of_hg_decode_and_encode_back() {
        let found = BranchNames::decode(b"default\0stable".to_vec(), OF_HG, 5, &of_hg);
        let all: Vec<_> = (0..6).map(|rev| found.get(Rev(rev))).collect();
        let default = Some((0, false));
        assert_eq!(
            all,
            [
                default,
                default,
                None,
                Some((1, false)),
                Some((1, true)),
                None
            ]
        );
        assert_eq!(found.name(1), b"stable");
        let again = found.encode(&|rev| of_hg(rev.index()));
        assert_eq!(again, (b"default\0stable".to_vec(), OF_HG.to_vec()));
    }

    #[test]
    fn what_is_not_about_this_history_does_not_count() {
        let decode = |names: &[u8], revs: &[u8]| {
            let found = BranchNames::decode(names.to_vec(), revs, 5, &of_hg);
            (0..5).filter(|rev| found.get(Rev(*rev)).is_some()).count()
        };
        assert_eq!(decode(b"default", OF_HG), 2, "a number without a name");
        assert_eq!(decode(b"default\0default", OF_HG), 0);
        assert_eq!(decode(b"default\0", OF_HG), 0);
        assert_eq!(decode(b"", OF_HG), 0);
        assert_eq!(decode(b"default\0stable", &OF_HG[..15]), 1);
        let mut stale = OF_HG.to_vec();
        stale[0] ^= 1;
        assert_eq!(decode(b"default\0stable", &stale), 3);
    }
}
