//! The second format of the dirstate, part one: the docket, and the nodes of the tree.
//!
//! ```text
//! .hg/dirstate, the docket; all numbers with the highest byte first:
//! byte 0               12        44        76                              120    124  125
//!      +---------------+---------+---------+-------------------------------+------+----+----+
//!      | "dirstate-v2\n" | parent1 | parent2 | tree: see below             | used | n  | id |
//!      | 12 B          | 32 B    | 32 B    | 44 B                          | u32  | u8 | n B|
//!      +---------------+---------+---------+-------------------------------+------+----+----+
//!
//! the tree, from byte 76 on:
//! byte 0       4       8        12      16      20       24                44
//!      +-------+-------+--------+-------+-------+--------+-----------------+
//!      | roots | how   | files  | copies| unused| zero   | hash of ignore  |
//!      | u32   | many  | u32    | u32   | u32   |        | patterns, or 0  |
//!      +-------+-------+--------+-------+-------+--------+-----------------+
//!
//! .hg/dirstate.ID, the data: paths, and nodes of 44 bytes; siblings are adjacent and sorted:
//! byte 0      4      6       8      12     14       18       22     26       30    32    36   40
//!      +------+------+-------+------+------+--------+--------+------+--------+-----+-----+----+----+
//!      | path | its  | base  | copy | its  | first  | how    | files| tracked|flags| size| s  | ns |
//!      | u32  | len  | name  | u32  | len  | child  | many   | below| below  | u16 | u32 | u32| u32|
//!      +------+------+-------+------+------+--------+--------+------+--------+-----+-----+----+----+
//! ```

use super::entry::{DirstateEntry, MASK_31, Tracking};
use super::table::{Record, Table};
use super::{Damage, Parents, node_at};
use std::collections::BTreeMap;

pub(super) const MAGIC: &[u8] = b"dirstate-v2\n";

pub(super) mod at {
    pub const PARENT1: usize = super::MAGIC.len();
    pub const PARENT2: usize = PARENT1 + 32;
    pub const TREE: usize = PARENT2 + 32;
    pub const ROOTS: usize = TREE;
    pub const ROOT_COUNT: usize = ROOTS + 4;
    pub const USED: usize = TREE + 44;
    pub const ID_LEN: usize = USED + 4;
    pub const ID: usize = ID_LEN + 1;
}
const _: () = assert!(at::TREE == 76 && at::USED == 120 && at::ID == 125);

pub(super) mod node {
    pub const PATH: usize = 0;
    pub const PATH_LEN: usize = PATH + 4;
    pub const BASE: usize = PATH_LEN + 2;
    pub const COPY: usize = BASE + 2;
    pub const COPY_LEN: usize = COPY + 4;
    pub const CHILDREN: usize = COPY_LEN + 2;
    pub const CHILD_COUNT: usize = CHILDREN + 4;
    pub const FILES_BELOW: usize = CHILD_COUNT + 4;
    pub const TRACKED_BELOW: usize = FILES_BELOW + 4;
    pub const FLAGS: usize = TRACKED_BELOW + 4;
    pub const SIZE: usize = FLAGS + 2;
    pub const SECONDS: usize = SIZE + 4;
    pub const NANOS: usize = SECONDS + 4;
    pub const LEN: usize = NANOS + 4;
}
const _: () = assert!(node::LEN == 44);

/// Bits of a node's flags.
pub(super) mod flag {
    pub const WORKING: u16 = 1;
    pub const P1: u16 = 1 << 1;
    pub const P2_INFO: u16 = 1 << 2;
    pub const EXECUTABLE: u16 = 1 << 3;
    pub const LINK: u16 = 1 << 4;
    /// The size and time that follow are those of a file known to be modified.
    pub const IS_MODIFIED: u16 = 1 << 9;
    pub const HAS_SIZE: u16 = 1 << 10;
    pub const HAS_MTIME: u16 = 1 << 11;
    pub const SECOND_AMBIGUOUS: u16 = 1 << 12;
    pub const DIRECTORY: u16 = 1 << 13;
}

/// The content of `.hg/dirstate`.
#[derive(Debug)]
pub(super) struct Docket {
    pub parents: Parents,
    pub roots: u32,
    pub root_count: u32,
    /// Bytes of the data file that count.
    pub used: u32,
    /// The data file is `.hg/dirstate.ID`.
    pub id: Vec<u8>,
}

pub(super) fn number(bytes: &[u8], place: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(place..)?.first_chunk()?))
}

fn short_number(bytes: &[u8], place: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(place..)?.first_chunk()?))
}

impl Docket {
    pub(super) fn parse(bytes: &[u8]) -> Result<Docket, Damage> {
        let cut = || Damage(bytes.len(), "the docket is cut off");
        if !bytes.starts_with(MAGIC) {
            return Err(Damage(0, "no docket of this format"));
        }
        let field = |place| number(bytes, place).ok_or_else(cut);
        let id_len = usize::from(*bytes.get(at::ID_LEN).ok_or_else(cut)?);
        let id = bytes[at::ID..].get(..id_len).ok_or_else(cut)?;
        if !id.iter().all(u8::is_ascii_alphanumeric) {
            return Err(Damage(at::ID, "no name of a data file"));
        }
        Ok(Docket {
            parents: [node_at(bytes, at::PARENT1)?, node_at(bytes, at::PARENT2)?],
            roots: field(at::ROOTS)?,
            root_count: field(at::ROOT_COUNT)?,
            used: field(at::USED)?,
            id: id.to_vec(),
        })
    }
}

/// Reads the tree. Each node is visited once in a sound file, so more visits than nodes fit into
/// the file mean that nodes share children or contain themselves.
pub(super) fn parse(docket: &Docket, mut data: Vec<u8>) -> Result<Table, Damage> {
    if data.len() < docket.used as usize {
        return Err(Damage(data.len(), "the data file is cut off"));
    }
    data.truncate(docket.used as usize);
    let mut left = data.len() / node::LEN;
    let mut groups = vec![(docket.roots as usize, docket.root_count as usize)];
    let mut records = Vec::new();
    let mut copies = BTreeMap::new();
    while let Some((start, count)) = groups.pop() {
        left = left
            .checked_sub(count)
            .ok_or(Damage(start, "more nodes than fit"))?;
        let end = start.checked_add(count * node::LEN);
        let group = end.and_then(|end| data.get(start..end));
        let group = group.ok_or(Damage(start, "nodes outside of the file"))?;
        for bytes in group.chunks_exact(node::LEN) {
            let read = Node::read(bytes).ok_or(Damage(start, "a node is cut off"))?;
            if read.child_count > 0 {
                groups.push((read.children as usize, read.child_count as usize));
            }
            if !read.entry.exists() {
                continue;
            }
            let outside = Damage(start, "a path outside of the file");
            let path = slice(&data, read.path).ok_or(outside)?;
            if read.copy.1 > 0 {
                let outside = Damage(start, "a copy's path outside of the file");
                let source = slice(&data, read.copy).ok_or(outside)?;
                copies.insert(path.to_vec(), source.to_vec());
            }
            let (start, len) = (read.path.0, u32::from(read.path.1));
            records.push(Record {
                start,
                len,
                entry: read.entry,
            });
        }
    }
    Ok(Table::new(data, records, copies))
}

fn slice(data: &[u8], (start, len): (u32, u16)) -> Option<&[u8]> {
    data.get(start as usize..)?.get(..usize::from(len))
}

struct Node {
    path: (u32, u16),
    copy: (u32, u16),
    children: u32,
    child_count: u32,
    entry: DirstateEntry,
}

impl Node {
    fn read(bytes: &[u8]) -> Option<Node> {
        let flags = short_number(bytes, node::FLAGS)?;
        let mut entry = entry(flags);
        if entry.has_size {
            entry.size = number(bytes, node::SIZE)? & MASK_31;
        }
        if entry.has_mtime {
            entry.seconds = number(bytes, node::SECONDS)? & MASK_31;
            entry.nanos = number(bytes, node::NANOS)?;
        }
        Some(Node {
            path: (
                number(bytes, node::PATH)?,
                short_number(bytes, node::PATH_LEN)?,
            ),
            copy: (
                number(bytes, node::COPY)?,
                short_number(bytes, node::COPY_LEN)?,
            ),
            children: number(bytes, node::CHILDREN)?,
            child_count: number(bytes, node::CHILD_COUNT)?,
            entry,
        })
    }
}

fn entry(flags: u16) -> DirstateEntry {
    let has = |bit| flags & bit != 0;
    let tracking = Tracking {
        working: has(flag::WORKING),
        p1: has(flag::P1),
        p2_info: has(flag::P2_INFO),
    };
    let mut entry = DirstateEntry::of(tracking);
    // The time of a directory, or of a file known to be modified, says nothing about a clean file.
    let sound = entry.exists() && !has(flag::IS_MODIFIED);
    entry.has_size = sound && has(flag::HAS_SIZE);
    entry.has_mtime = entry.has_size && has(flag::HAS_MTIME);
    entry.second_ambiguous = entry.has_mtime && has(flag::SECOND_AMBIGUOUS);
    if entry.has_size {
        entry.mode = match (has(flag::LINK), has(flag::EXECUTABLE)) {
            (true, _) => 0o120_777,
            (false, true) => 0o100_755,
            (false, false) => 0o100_644,
        };
    }
    entry
}

/// The opposite of [`entry`].
pub(super) fn flags(entry: &DirstateEntry) -> u16 {
    let Tracking {
        working,
        p1,
        p2_info,
    } = entry.tracking;
    [
        (working, flag::WORKING),
        (p1, flag::P1),
        (p2_info, flag::P2_INFO),
        (entry.has_size && entry.is_executable(), flag::EXECUTABLE),
        (entry.has_size && entry.is_link(), flag::LINK),
        (entry.has_size, flag::HAS_SIZE),
        (entry.has_mtime, flag::HAS_MTIME),
        (entry.second_ambiguous, flag::SECOND_AMBIGUOUS),
    ]
    .into_iter()
    .filter(|(set, _)| *set)
    .fold(0, |all, (_, bit)| all | bit)
}
