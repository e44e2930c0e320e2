//! The header of a file: what it holds, and where its trees begin.
//!
//! ```text
//! {db_header, version, update_seq, unused, by id, by seq, local, purges, purges by seq,   positions 0 to 8
//!  security, revs_limit, uuid, epochs, compacted_seq, purges limit, properties}          positions 9 to 15
//! ```
//! A tree is `nil` or `{offset, reduction}` with or without its size; the security object and the properties are `nil`
//! or an offset. Files of version 6 end behind position 10, 12 or 13, or with the properties at 14, and have at 7 the number of the last purge and at
//! 8 `nil` or the offset of that purge's list `[{id, [rev]}]`.

use super::blocks::{BLOCK, BlockReader, HEADER};
use super::damage::{Damage, Malformed};
use super::term::{TermReader, tag};
use varve_base::Interrupt;

/// Versions of files that are read.
const VERSIONS: std::ops::RangeInclusive<u64> = 6..=8;
const DEFAULT_LIMIT: u64 = 1000;
/// The fewest members: up to the limit of revisions.
const FEWEST: u32 = 11;

/// Root of one tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// Offset of its node.
    pub offset: u64,
    /// Documents below it, deleted ones too, where its reduction counts them.
    pub documents: Option<u64>,
}

/// Place of the purges of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purges {
    /// In a tree by sequence.
    Tree(Option<Root>),
    /// The list of the last one, and its number.
    Last(u64, Option<u64>),
}

/// Contents of a file's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Offset of the header.
    pub offset: u64,
    /// Version of the format.
    pub version: u64,
    /// Number of the last update.
    pub update_seq: u64,
    pub(crate) by_id: Option<Root>,
    pub(crate) by_seq: Option<Root>,
    pub(crate) local: Option<Root>,
    pub(crate) purges: Purges,
    pub(crate) security: Option<u64>,
    /// How many ancestors of a leaf are remembered.
    pub revs_limit: u64,
    /// How many purges are remembered.
    pub purges_limit: u64,
    pub(crate) properties: Option<u64>,
}

/// Why a file has no header that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoHeader {
    /// There is none that is whole.
    None,
    /// The newest is of a version that is not read.
    Version(u64),
    /// The newest has a right checksum and is none that is known.
    Damaged(Damage),
    /// The search was interrupted.
    Interrupted,
}

/// The newest header that is whole; what stands behind it was never committed.
pub(crate) fn newest(reader: &mut BlockReader, stop: &Interrupt) -> Result<Header, NoHeader> {
    let mut term = Vec::new();
    for block in (0..reader.len().div_ceil(BLOCK)).rev() {
        if stop.is_raised() {
            return Err(NoHeader::Interrupted);
        }
        let is_header = reader.marker(block).is_ok_and(|marker| marker == HEADER);
        if !is_header || reader.header(block, &mut term).is_err() {
            continue;
        }
        let offset = block * BLOCK;
        let damaged = |malformed: Malformed| NoHeader::Damaged(malformed.at(offset));
        let version = version(&term).map_err(damaged)?;
        if !VERSIONS.contains(&version) {
            return Err(NoHeader::Version(version));
        }
        return decode(&term, offset).map_err(damaged);
    }
    Err(NoHeader::None)
}

fn enter<'a>(term: &'a [u8]) -> Result<(TermReader<'a>, u32), Malformed> {
    let mut reader = TermReader::new(term)?;
    let arity = reader.tuple()?;
    match reader.atom()? {
        b"db_header" => Ok((reader, arity)),
        _ => Err(Malformed("the header is not that of a database")),
    }
}

fn version(term: &[u8]) -> Result<u64, Malformed> {
    enter(term)?.0.unsigned()
}

/// Reads a header's term.
pub(crate) fn decode(term: &[u8], offset: u64) -> Result<Header, Malformed> {
    let (mut reader, arity) = enter(term)?;
    if arity < FEWEST {
        return Err(Malformed("the header has too few members"));
    }
    let version = reader.unsigned()?;
    let update_seq = reader.unsigned()?;
    reader.skip()?;
    let (by_id, by_seq) = (root(&mut reader)?, root(&mut reader)?);
    let local = root(&mut reader)?;
    let purges = purges(&mut reader)?;
    let security = place(&mut reader)?;
    let revs_limit = reader.unsigned()?;
    let mut header = Header {
        offset,
        version,
        update_seq,
        by_id,
        by_seq,
        local,
        purges,
        security,
        revs_limit,
        purges_limit: DEFAULT_LIMIT,
        properties: None,
    };
    for position in FEWEST..arity {
        match position {
            14 if version > 6 && !reader.is_atom() => header.purges_limit = reader.unsigned()?,
            14 if version == 6 => header.properties = place(&mut reader)?,
            15 => header.properties = place(&mut reader)?,
            _ => reader.skip()?,
        }
    }
    Ok(header)
}

fn purges(reader: &mut TermReader<'_>) -> Result<Purges, Malformed> {
    if matches!(reader.peek()?, tag::SMALL_TUPLE | tag::LARGE_TUPLE) || reader.is_atom() {
        reader.skip()?;
        return Ok(Purges::Tree(root(reader)?));
    }
    let last = reader.unsigned()?;
    Ok(Purges::Last(last, place(reader)?))
}

/// An offset, or an atom for none.
fn place(reader: &mut TermReader<'_>) -> Result<Option<u64>, Malformed> {
    match reader.is_atom() {
        true => reader.skip().map(|()| None),
        false => reader.unsigned().map(Some),
    }
}

fn root(reader: &mut TermReader<'_>) -> Result<Option<Root>, Malformed> {
    if reader.is_atom() {
        return reader.skip().map(|()| None);
    }
    let arity = reader.tuple()?;
    if arity < 2 {
        return Err(Malformed("a root has too few members"));
    }
    let offset = reader.unsigned()?;
    let documents = count(reader.raw()?);
    for _ in 2..arity {
        reader.skip()?;
    }
    Ok(Some(Root { offset, documents }))
}

/// The documents that a reduction counts: `{live, deleted, …}`, or their number.
fn count(reduction: &[u8]) -> Option<u64> {
    let term = [&[super::term::VERSION], reduction].concat();
    let mut reader = TermReader::new(&term).ok()?;
    match reader.peek().ok()? {
        tag::SMALL_TUPLE => {
            reader.tuple().ok()?;
            let live = reader.unsigned().ok()?;
            live.checked_add(reader.unsigned().ok()?)
        }
        _ => reader.unsigned().ok(),
    }
}
