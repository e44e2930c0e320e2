//! The first format of the dirstate: two parents, then one entry per file in any order.
//!
//! ```text
//! byte 0        20        40
//!      +---------+---------+-----------+-----------+--
//!      | parent1 | parent2 | entry     | entry     |
//!      +---------+---------+-----------+-----------+--
//!
//! entry, all numbers with the highest byte first:
//! byte 0       1       5       9       13           17
//!      +-------+-------+-------+-------+------------+-------------------------+
//!      | state | mode  | size  | mtime | length     | path [\0 copied from]   |
//!      | narm  | u32   | i32   | i32   | u32        |                         |
//!      +-------+-------+-------+-------+------------+-------------------------+
//! ```
//!
//! A size of -1 means unknown (or, of a removed file, merged before), one of -2 that the file came
//! from the second parent. A time of -1 means unknown.

use super::entry::{DirstateEntry, EntryState, MASK_31, Tracking};
use super::table::{Record, Table};
use super::{Damage, Parents, node_at};
use std::collections::BTreeMap;
use varve_repo::Node;

mod at {
    pub const STATE: usize = 0;
    pub const MODE: usize = STATE + 1;
    pub const SIZE: usize = MODE + 4;
    pub const MTIME: usize = SIZE + 4;
    pub const LEN: usize = MTIME + 4;
    pub const PATH: usize = LEN + 4;
}
const _: () = assert!(at::PATH == 17);
const ENTRIES: usize = 2 * Node::LEN;

const UNKNOWN: i32 = -1;
const FROM_P2: i32 = -2;

pub(super) fn parse(text: Vec<u8>) -> Result<(Parents, Table), Damage> {
    if text.is_empty() {
        return Ok(([Node::NULL; 2], Table::default()));
    }
    let parents = [node_at(&text, 0)?, node_at(&text, Node::LEN)?];
    let mut records = Vec::with_capacity(text.len() / 40);
    let mut copies = BTreeMap::new();
    let mut place = ENTRIES;
    while place < text.len() {
        let short = Damage(place, "the last entry is cut off");
        let head: &[u8; at::PATH] = text[place..].first_chunk().ok_or(short)?;
        let start = place + at::PATH;
        let len = number(head, at::LEN) as usize;
        let name = text.get(start..).and_then(|rest| rest.get(..len));
        let name = name.ok_or(Damage(place, "the last entry is cut off"))?;
        let entry = entry(head).ok_or(Damage(place, "an unknown state"))?;
        let zero = name.iter().position(|byte| *byte == 0);
        if let Some(zero) = zero {
            copies.insert(name[..zero].to_vec(), name[zero + 1..].to_vec());
        }
        let too_long = Damage(place, "longer than any dirstate");
        records.push(Record {
            start: u32::try_from(start).map_err(|_| too_long)?,
            len: zero.unwrap_or(len) as u32,
            entry,
        });
        place = start + len;
    }
    Ok((parents, Table::new(text, records, copies)))
}

fn number(head: &[u8; at::PATH], place: usize) -> u32 {
    head[place..]
        .first_chunk()
        .map_or(0, |b| u32::from_be_bytes(*b))
}

fn entry(head: &[u8; at::PATH]) -> Option<DirstateEntry> {
    let size = number(head, at::SIZE) as i32;
    let mtime = number(head, at::MTIME) as i32;
    let tracked = |working, p1, p2_info| {
        DirstateEntry::of(Tracking {
            working,
            p1,
            p2_info,
        })
    };
    Some(match (head[at::STATE], size) {
        (b'm', _) => tracked(true, true, true),
        (b'a', _) => tracked(true, false, false),
        (b'r', UNKNOWN) => tracked(false, true, true),
        (b'r', FROM_P2) => tracked(false, false, true),
        (b'r', _) => tracked(false, true, false),
        (b'n', FROM_P2) => tracked(true, false, true),
        (b'n', UNKNOWN) => tracked(true, true, false),
        (b'n', _) => {
            let has_mtime = mtime != UNKNOWN;
            DirstateEntry {
                has_size: true,
                has_mtime,
                mode: number(head, at::MODE) as u16,
                size: size as u32 & MASK_31,
                seconds: if has_mtime { mtime as u32 & MASK_31 } else { 0 },
                ..tracked(true, true, false)
            }
        }
        _ => return None,
    })
}

/// `None` if a path is too long for its number.
pub(super) fn encode(parents: &Parents, table: &Table) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(table.text().len() + 1024);
    parents
        .iter()
        .for_each(|node| out.extend_from_slice(&node.0));
    for (path, entry) in table.iter() {
        let source = table.copies.get(path);
        let len = path.len() + source.map_or(0, |source| 1 + source.len());
        let V1Fields {
            state,
            mode,
            size,
            mtime,
        } = entry.v1_fields();
        out.push(state);
        out.extend_from_slice(&mode.to_be_bytes());
        out.extend_from_slice(&size.to_be_bytes());
        out.extend_from_slice(&mtime.to_be_bytes());
        out.extend_from_slice(&u32::try_from(len).ok()?.to_be_bytes());
        out.extend_from_slice(path);
        if let Some(source) = source {
            out.push(0);
            out.extend_from_slice(source);
        }
    }
    Some(out)
}

/// An entry as this format has it, which `debugdirstate` shows for every format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct V1Fields {
    /// The letter of the state: `n`, `a`, `r` or `m`.
    pub state: u8,
    /// Mode bits of the file.
    pub mode: u32,
    /// Bytes of the file; -1 if they are unknown, -2 if it is from the second parent.
    pub size: i32,
    /// Seconds since 1970; -1 if they are unknown.
    pub mtime: i32,
}

impl DirstateEntry {
    /// The fields that a dirstate of the first version has for it.
    pub fn v1_fields(&self) -> V1Fields {
        let (state, mode, size, mtime) = fields(self);
        V1Fields {
            state,
            mode,
            size,
            mtime,
        }
    }
}

fn fields(entry: &DirstateEntry) -> (u8, u32, i32, i32) {
    let Tracking { p1, p2_info, .. } = entry.tracking;
    match entry.state() {
        EntryState::Merged => (b'm', 0, FROM_P2, UNKNOWN),
        EntryState::Added => (b'a', 0, UNKNOWN, UNKNOWN),
        EntryState::Removed if p1 && p2_info => (b'r', 0, UNKNOWN, 0),
        EntryState::Removed if p2_info => (b'r', 0, FROM_P2, 0),
        EntryState::Removed => (b'r', 0, 0, 0),
        EntryState::Normal if p2_info => (b'n', 0, FROM_P2, UNKNOWN),
        EntryState::Normal if !entry.has_size => (b'n', 0, UNKNOWN, UNKNOWN),
        EntryState::Normal => {
            // Only whole seconds are kept, so a time that is good only to the nanosecond is not.
            let known = entry.has_mtime && !entry.second_ambiguous;
            let mtime = if known { entry.seconds as i32 } else { UNKNOWN };
            (b'n', u32::from(entry.mode), entry.size as i32, mtime)
        }
    }
}
