//! Finding the newest whole commit of a file that may end in a torn append.
//!
//! The file is read backwards until a position holds a record's head whose checksum, seeded with
//! file and position, is right. The record is believed if everything it covers that is not known
//! to have been synced before it has the right checksums: its own span, and, as long as a record's
//! predecessor was not durable when it was written, the predecessor's span as well. If one of them
//! is broken, the newest commit before it counts. So work is bounded by the torn end of the file
//! plus what one open file may leave unsynced.

use crate::TreeError;
use crate::commit::{ALIGN, Commit, HEAD_LEN, Head, MAGIC};
use crate::header::{HEADER_LEN, Header};
use crate::snapshot::CommitState;
use varve_base::StorageFile;
use xxhash_rust::xxh3::Xxh3;

/// How much is read at once.
const BLOCK: u64 = 1 << 20;
/// The first step backwards, in which a file that was closed in peace has its record.
const FIRST_BLOCK: u64 = 8 << 10;
/// A power cut may break any number of the commits that were not synced. Before those, a file with so many broken ones
/// is not worth a search.
const MAX_TRIES: usize = 64;

/// A record's head and where it stands.
#[derive(Clone, Copy)]
struct RecordHead {
    at: u64,
    head: Head,
}

impl RecordHead {
    fn end(&self) -> u64 {
        self.at.saturating_add(u64::from(self.head.len))
    }
}

/// Outcome of checking a candidate and its predecessors.
enum Verdict {
    Newest(CommitState),
    /// None of the commits from this position on is whole.
    BrokenFrom(u64),
}

/// The newest whole commit among the first `len` bytes of the file.
pub(crate) fn newest_commit(
    file: &dyn StorageFile,
    header: &Header,
    len: u64,
) -> Result<CommitState, TreeError> {
    let mut upto = len;
    let mut durable = None;
    let mut tries = 0;
    while tries < MAX_TRIES {
        let Some(found) = last_head(file, header, upto)? else {
            let path = file.path().to_owned();
            return Err(TreeError::Unfinished { path });
        };
        tries += usize::from(found.end() <= *durable.get_or_insert(found.head.durable));
        match judge(file, header, found, len)? {
            Verdict::Newest(state) => return Ok(state),
            Verdict::BrokenFrom(at) => upto = at,
        }
    }
    Err(TreeError::damaged(
        file.path(),
        upto,
        "too many commits in a row are broken",
    ))
}

/// The newest commit whose record is whole, whatever became of the bytes that it covers.
pub(crate) fn newest_record(
    file: &dyn StorageFile,
    header: &Header,
    len: u64,
) -> Result<Option<CommitState>, TreeError> {
    let mut upto = len;
    for _ in 0..MAX_TRIES {
        let Some(found) = last_head(file, header, upto)? else {
            break;
        };
        let (at, end) = (found.at, found.end());
        if end <= len
            && let Some(commit) = body_of(file, found)?
        {
            return Ok(Some(CommitState { commit, at, end }));
        }
        upto = at;
    }
    Ok(None)
}

/// The last head that begins at a multiple of [`ALIGN`] and ends before `upto`.
fn last_head(
    file: &dyn StorageFile,
    header: &Header,
    upto: u64,
) -> Result<Option<RecordHead>, TreeError> {
    let first = (HEADER_LEN as u64).next_multiple_of(ALIGN);
    let mut end = upto - upto % ALIGN;
    let mut step = FIRST_BLOCK;
    let mut block = Vec::new();
    while end > first {
        let start = end.saturating_sub(step).max(first);
        step = BLOCK;
        block.resize((end - start) as usize, 0);
        file.read_exact_at(start, &mut block)?;
        for (index, piece) in block.chunks_exact(HEAD_LEN).enumerate().rev() {
            if !piece.starts_with(MAGIC) {
                continue;
            }
            let at = start + index as u64 * ALIGN;
            let head = piece
                .first_chunk()
                .and_then(|bytes| Head::decode(bytes, header, at));
            if let Some(head) = head {
                return Ok(Some(RecordHead { at, head }));
            }
        }
        end = start;
    }
    Ok(None)
}

fn judge(
    file: &dyn StorageFile,
    header: &Header,
    found: RecordHead,
    len: u64,
) -> Result<Verdict, TreeError> {
    let mut chain = vec![found];
    let mut oldest = found;
    while oldest.head.span > oldest.head.durable {
        match predecessor(file, header, oldest)? {
            Some(previous) => oldest = previous,
            None => return Ok(Verdict::BrokenFrom(oldest.at)),
        }
        chain.push(oldest);
    }
    let mut newest = None;
    for found in chain.into_iter().rev() {
        match whole(file, found, len)? {
            Some(commit) => {
                newest = Some(CommitState {
                    commit,
                    at: found.at,
                    end: found.end(),
                });
            }
            None => break,
        }
    }
    Ok(match newest {
        Some(state) => Verdict::Newest(state),
        None => Verdict::BrokenFrom(oldest.at),
    })
}

/// The record before, which must end where this one's span begins.
fn predecessor(
    file: &dyn StorageFile,
    header: &Header,
    found: RecordHead,
) -> Result<Option<RecordHead>, TreeError> {
    let at = found.head.previous;
    let mut bytes = [0; HEAD_LEN];
    if at < HEADER_LEN as u64 || file.read_at(at, &mut bytes)? < HEAD_LEN {
        return Ok(None);
    }
    let previous = Head::decode(&bytes, header, at).map(|head| RecordHead { at, head });
    Ok(previous.filter(|previous| previous.end() == found.head.span))
}

/// The commit, if its body and all bytes of its span have the right checksums.
fn whole(file: &dyn StorageFile, found: RecordHead, len: u64) -> Result<Option<Commit>, TreeError> {
    if found.end() > len {
        return Ok(None);
    }
    let mut hash = Xxh3::new();
    let mut at = found.head.span;
    let mut block = Vec::new();
    while at < found.at {
        block.resize((found.at - at).min(BLOCK) as usize, 0);
        file.read_exact_at(at, &mut block)?;
        hash.update(&block);
        at += block.len() as u64;
    }
    if hash.digest() != found.head.span_sum {
        return Ok(None);
    }
    body_of(file, found)
}

/// The commit of a record that ends within the file.
fn body_of(file: &dyn StorageFile, found: RecordHead) -> Result<Option<Commit>, TreeError> {
    // The length is at most MAX_RECORD and within the file.
    let body_len = found.head.len as usize - HEAD_LEN;
    let body = file.read_vec(found.at + HEAD_LEN as u64, body_len)?;
    Ok(Commit::decode(&found.head, &body).ok())
}
