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
/// Where the first record may stand.
const FIRST: u64 = HEADER_LEN as u64;
/// A shorter file without a commit may be one whose creation was cut short.
const SHORT_FILE: u64 = 64 << 10;
/// A power cut may break any number of the commits that were not synced. Before those, a file with so many broken ones
/// is not worth a search.
const MAX_TRIES: usize = 64;

/// A record's head and where it stands.
#[derive(Clone, Copy)]
pub(crate) struct RecordHead {
    at: u64,
    head: Head,
}

impl RecordHead {
    /// Everything before this position was synced before the record was written.
    pub(crate) fn durable(&self) -> u64 {
        self.head.durable
    }

    /// Where the record before it stands.
    pub(crate) fn previous(&self) -> u64 {
        self.head.previous
    }

    pub(crate) fn end(&self) -> u64 {
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
        let Some(found) = last_head(file, header, (FIRST, upto))? else {
            return Err(without_commit(file, len));
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
        let Some(found) = last_head(file, header, (FIRST, upto))? else {
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

/// Why a file has no commit.
fn without_commit(file: &dyn StorageFile, len: u64) -> TreeError {
    let path = file.path();
    match len < SHORT_FILE {
        true => TreeError::Unfinished {
            path: path.to_owned(),
        },
        false => TreeError::damaged(path, FIRST, "the file is long, but no commit is whole"),
    }
}

/// The last head that begins at a multiple of [`ALIGN`] within a range of the file.
pub(crate) fn last_head(
    file: &dyn StorageFile,
    header: &Header,
    range: (u64, u64),
) -> Result<Option<RecordHead>, TreeError> {
    last_piece(file, range, MAGIC, |bytes, at| {
        Head::decode(bytes, header, at).map(|head| RecordHead { at, head })
    })
}

/// Looks backwards at the pieces of [`ALIGN`] bytes within a range of the file that begin with `magic`, until `find`
/// makes something of one.
pub(crate) fn last_piece<T>(
    file: &dyn StorageFile,
    (from, upto): (u64, u64),
    magic: &[u8],
    find: impl Fn(&[u8; HEAD_LEN], u64) -> Option<T>,
) -> Result<Option<T>, TreeError> {
    let first = from.next_multiple_of(ALIGN);
    let mut end = upto - upto % ALIGN;
    let mut step = FIRST_BLOCK;
    let mut block = Vec::new();
    while end > first {
        let start = end.saturating_sub(step).max(first);
        step = BLOCK;
        block.resize((end - start) as usize, 0);
        file.read_exact_at(start, &mut block)?;
        for (index, piece) in block.chunks_exact(HEAD_LEN).enumerate().rev() {
            if !piece.starts_with(magic) {
                continue;
            }
            let at = start + index as u64 * ALIGN;
            if let Some(found) = piece.first_chunk().and_then(|bytes| find(bytes, at)) {
                return Ok(Some(found));
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
    let previous = head_at(file, header, found.head.previous)?;
    Ok(previous.filter(|previous| previous.end() == found.head.span))
}

/// The head of a record at this place, if it is one.
pub(crate) fn head_at(
    file: &dyn StorageFile,
    header: &Header,
    at: u64,
) -> Result<Option<RecordHead>, TreeError> {
    let mut bytes = [0; HEAD_LEN];
    if at < FIRST || file.read_at(at, &mut bytes)? < HEAD_LEN {
        return Ok(None);
    }
    Ok(Head::decode(&bytes, header, at).map(|head| RecordHead { at, head }))
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
