//! The bytes behind the newest whole commit of a file: what a crash left of an append, or damage.
//!
//! ```text
//! harmless   | … commit | chunks, cut anywhere                         no record: nothing was acknowledged
//!            | … commit | 8 MiB of chunks | mark | 8 MiB … | mark | …  a long transaction, cut anywhere
//! broken     | … commit | chunks | record |                            a power cut lost bytes that were not synced,
//!                                                                      or they are damaged
//! damaged    | … commit | … | record: "synced up to here" ▲ |          what was synced is not whole
//!            | … commit | more bytes than any append, without a mark |
//! ```
//! Records say up to where everything was synced before they were written, and where the record before them stands. If
//! that one was synced and comes behind the newest whole commit, a commit that was durable is not whole.

use crate::TreeError;
use crate::commit::{ALIGN, HEAD_LEN, looks_like_head};
use crate::header::Header;
use crate::recover::{RecordHead, head_at, last_head, last_piece};
use std::path::{Path, PathBuf};
use varve_base::{OpenMode, Storage, StorageError, StorageFile};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// In bytes: no append without a mark is as long. One has at most a spilled buffer, a chunk and a record.
const LONGEST: u64 = 64 << 20;
/// The first bytes of a mark.
const MAGIC: &[u8; 8] = b"\x8bspill\n\0";
/// Bytes that are copied at a time.
const PIECE: u64 = 1 << 20;

/// Kind of the bytes behind the newest whole commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tail {
    /// Nothing.
    #[default]
    None,
    /// A write that was cut short; nothing of it was acknowledged.
    Torn,
    /// A commit that was not known to be synced, and is not whole.
    Broken,
    /// More than a crash explains.
    Damaged(&'static str),
}

impl Tail {
    /// Why the file is not to be written to, if it is not.
    pub fn damage(self) -> Option<&'static str> {
        match self {
            Tail::Damaged(reason) => Some(reason),
            Tail::None | Tail::Torn | Tail::Broken => None,
        }
    }

    /// Judges what stands behind a commit in a file of `len` bytes.
    pub(crate) fn judge(
        file: &dyn StorageFile,
        header: &Header,
        commit: CommitPlace,
        len: u64,
    ) -> Result<Tail, TreeError> {
        let end = commit.end;
        if len <= end {
            return Ok(Tail::None);
        }
        if let Some(found) = last_head(file, header, (end, len))? {
            let is_cut = found.end() > len && found.previous() == commit.at;
            return Ok(match lacks_synced(file, header, commit, found)? {
                true => Tail::Damaged("commits that were synced are not whole"),
                // The file ends within the record.
                false if is_cut => Tail::Torn,
                false => Tail::Broken,
            });
        }
        if has_damaged_head(file, commit, len)? {
            return Ok(Tail::Broken);
        }
        if len - end <= LONGEST || is_marked(file, header, (end, len))? {
            return Ok(Tail::Torn);
        }
        Ok(Tail::Damaged(
            "more bytes stand behind the newest whole commit than a write that was cut short leaves",
        ))
    }
}

/// Where the record of a commit begins and ends.
#[derive(Clone, Copy)]
pub(crate) struct CommitPlace {
    pub(crate) at: u64,
    pub(crate) end: u64,
}

/// Whether one of the records from `newest` back to the commit followed another one behind the commit that was synced.
fn lacks_synced(
    file: &dyn StorageFile,
    header: &Header,
    commit: CommitPlace,
    newest: RecordHead,
) -> Result<bool, TreeError> {
    let mut next = Some(newest);
    while let Some(found) = next.filter(|found| found.previous() > commit.at) {
        // What was known to be synced never ends within a record.
        if found.durable() > found.previous() {
            return Ok(true);
        }
        next = head_at(file, header, found.previous())?;
    }
    Ok(false)
}

/// Whether the tail holds 64 bytes that resemble the head of the record after `commit` but fail its checksum. A kill cannot
/// leave such bytes: it leaves a head as it was written, or only its beginning.
fn has_damaged_head(
    file: &dyn StorageFile,
    commit: CommitPlace,
    len: u64,
) -> Result<bool, TreeError> {
    let found = last_piece(file, (commit.end, len), b"", |bytes, _| {
        looks_like_head(bytes, commit.at, commit.end).then_some(())
    });
    Ok(found?.is_some())
}

/// Whether there is the mark of a transaction on the commit that ends at `end`.
fn is_marked(
    file: &dyn StorageFile,
    header: &Header,
    (end, len): (u64, u64),
) -> Result<bool, TreeError> {
    let found = last_piece(file, (end, len), MAGIC, |bytes, at| {
        (*bytes == mark(header, end, at)).then_some(())
    });
    Ok(found?.is_some())
}

/// The mark at `at`, behind each part of a transaction that is longer than fits in memory; `base` is the end of the
/// commit that it follows.
pub(crate) fn mark(header: &Header, base: u64, at: u64) -> [u8; HEAD_LEN] {
    const SUM: usize = HEAD_LEN - 8;
    let mut bytes = [0; HEAD_LEN];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..16].copy_from_slice(&base.to_le_bytes());
    let sum = xxh3_64_with_seed(&bytes[..SUM], header.seed(at));
    bytes[SUM..].copy_from_slice(&sum.to_le_bytes());
    bytes
}
const _: () = assert!(HEAD_LEN as u64 == ALIGN);

/// The file that keeps the tail that was cut off the file at `path` last.
pub fn kept_tail(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".cut");
    PathBuf::from(name)
}

/// Copies the bytes from `end` on into [`kept_tail`], in the place of those that it had.
pub(crate) fn keep(
    storage: &dyn Storage,
    file: &dyn StorageFile,
    end: u64,
) -> Result<(), StorageError> {
    let path = kept_tail(file.path());
    match storage.remove(&path) {
        Err(error) if !error.is_not_found() => return Err(error),
        _ => {}
    }
    let kept = storage.open(&path, OpenMode::CreateNew)?;
    let (mut at, len) = (end, file.len()?);
    while at < len {
        let piece = file.read_vec(at, (len - at).min(PIECE) as usize)?;
        kept.append(&piece)?;
        at += piece.len() as u64;
    }
    kept.sync()?;
    storage.sync_directory(path.parent().unwrap_or(Path::new("")))
}
