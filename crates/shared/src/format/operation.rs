//! Changes of files, in the order in which they were made.

use super::SegmentName;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use varve_base::varint::{self, Reader};

/// The longest path that a record may name, in bytes.
const PATH_LIMIT: usize = 4096;

/// The bytes of an append, or their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AppendedBytes {
    /// In the record.
    Inline(Vec<u8>),
    /// A range of a segment.
    Segment {
        /// Name of the segment.
        name: SegmentName,
        /// Begin of the bytes in the segment.
        offset: u64,
        /// Number of the bytes.
        len: u64,
    },
}

impl AppendedBytes {
    pub(crate) fn len(&self) -> u64 {
        match self {
            AppendedBytes::Inline(bytes) => bytes.len() as u64,
            AppendedBytes::Segment { len, .. } => *len,
        }
    }
}

/// One change of the tree of files. Paths are relative and have no `.` or `..`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create(PathBuf),
    Append {
        path: PathBuf,
        /// The length that the file has before.
        offset: u64,
        bytes: AppendedBytes,
    },
    Truncate {
        path: PathBuf,
        len: u64,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    Exchange {
        one: PathBuf,
        other: PathBuf,
    },
    Remove(PathBuf),
    RemoveTree(PathBuf),
    CreateDirectory(PathBuf),
    Link {
        from: PathBuf,
        to: PathBuf,
    },
    Symlink {
        target: String,
        path: PathBuf,
    },
}

const CREATE: u8 = 1;
const APPEND_INLINE: u8 = 2;
const APPEND_SEGMENT: u8 = 3;
const TRUNCATE: u8 = 4;
const RENAME: u8 = 5;
const EXCHANGE: u8 = 6;
const REMOVE: u8 = 7;
const REMOVE_TREE: u8 = 8;
const CREATE_DIRECTORY: u8 = 9;
const LINK: u8 = 10;
const SYMLINK: u8 = 11;

pub(super) fn put_path(path: &Path, out: &mut Vec<u8>) {
    varint::put_counted(path.as_os_str().as_bytes(), out);
}

/// A path below the root; the root itself is empty.
pub(super) fn read_path(reader: &mut Reader<'_>) -> Option<PathBuf> {
    let bytes = reader.counted()?;
    if bytes.len() > PATH_LIMIT || bytes.contains(&0) {
        return None;
    }
    let path = PathBuf::from(std::ffi::OsString::from_vec(bytes.to_vec()));
    is_plain(&path).then_some(path)
}

/// True for a path that is below the root, and spelled as all others are: no doubled or final slashes.
fn is_plain(path: &Path) -> bool {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => plain.push(name),
            _ => return false,
        }
    }
    plain.as_os_str() == path.as_os_str() && path.as_os_str().len() <= PATH_LIMIT
}

pub(super) fn put_segment(name: &SegmentName, out: &mut Vec<u8>) {
    varint::put(name.slot, out);
    out.extend_from_slice(&name.hash);
    out.extend_from_slice(&name.nonce);
}

pub(super) fn read_segment(reader: &mut Reader<'_>) -> Option<SegmentName> {
    Some(SegmentName {
        slot: reader.u64()?,
        hash: *reader.array()?,
        nonce: *reader.array()?,
    })
}

impl Operation {
    /// The one or two paths that it names.
    fn paths(&self) -> (&Path, Option<&Path>) {
        match self {
            Operation::Rename {
                from: one,
                to: other,
            }
            | Operation::Link {
                from: one,
                to: other,
            }
            | Operation::Exchange { one, other } => (one, Some(other)),
            Operation::Create(path)
            | Operation::Remove(path)
            | Operation::RemoveTree(path)
            | Operation::CreateDirectory(path)
            | Operation::Append { path, .. }
            | Operation::Truncate { path, .. }
            | Operation::Symlink { path, .. } => (path, None),
        }
    }

    /// True if a reader accepts all paths.
    pub(crate) fn has_plain_paths(&self) -> bool {
        let (one, other) = self.paths();
        is_plain(one) && other.is_none_or(is_plain)
    }

    /// True if it changes a file that `is_wanted` names.
    pub(crate) fn changes(&self, is_wanted: impl Fn(&Path) -> bool) -> bool {
        match (self, self.paths()) {
            (Operation::Link { to, .. }, _) => is_wanted(to),
            (_, (one, other)) => is_wanted(one) || other.is_some_and(is_wanted),
        }
    }

    pub(super) fn put(&self, out: &mut Vec<u8>) {
        let two = |tag, one: &Path, other: &Path, out: &mut Vec<u8>| {
            out.push(tag);
            put_path(one, out);
            put_path(other, out);
        };
        let one = |tag, path: &Path, out: &mut Vec<u8>| {
            out.push(tag);
            put_path(path, out);
        };
        match self {
            Operation::Create(path) => one(CREATE, path, out),
            Operation::Append {
                path,
                offset,
                bytes,
            } => put_append(path, *offset, bytes, out),
            Operation::Truncate { path, len } => {
                one(TRUNCATE, path, out);
                varint::put(*len, out);
            }
            Operation::Rename { from, to } => two(RENAME, from, to, out),
            Operation::Exchange { one, other } => two(EXCHANGE, one, other, out),
            Operation::Remove(path) => one(REMOVE, path, out),
            Operation::RemoveTree(path) => one(REMOVE_TREE, path, out),
            Operation::CreateDirectory(path) => one(CREATE_DIRECTORY, path, out),
            Operation::Link { from, to } => two(LINK, from, to, out),
            Operation::Symlink { target, path } => {
                one(SYMLINK, path, out);
                varint::put_counted(target.as_bytes(), out);
            }
        }
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Option<Operation> {
        let tag = reader.byte()?;
        let path = read_path(reader)?;
        Some(match tag {
            CREATE => Operation::Create(path),
            APPEND_INLINE => Operation::Append {
                path,
                offset: reader.u64()?,
                bytes: AppendedBytes::Inline(reader.counted()?.to_vec()),
            },
            APPEND_SEGMENT => Operation::Append {
                path,
                offset: reader.u64()?,
                bytes: AppendedBytes::Segment {
                    name: read_segment(reader)?,
                    offset: reader.u64()?,
                    len: reader.u64()?,
                },
            },
            TRUNCATE => Operation::Truncate {
                path,
                len: reader.u64()?,
            },
            RENAME => Operation::Rename {
                from: path,
                to: read_path(reader)?,
            },
            EXCHANGE => Operation::Exchange {
                one: path,
                other: read_path(reader)?,
            },
            REMOVE => Operation::Remove(path),
            REMOVE_TREE => Operation::RemoveTree(path),
            CREATE_DIRECTORY => Operation::CreateDirectory(path),
            LINK => Operation::Link {
                from: path,
                to: read_path(reader)?,
            },
            SYMLINK => Operation::Symlink {
                path,
                target: String::from_utf8(reader.counted()?.to_vec()).ok()?,
            },
            _ => return None,
        })
    }
}

fn put_append(path: &Path, offset: u64, bytes: &AppendedBytes, out: &mut Vec<u8>) {
    match bytes {
        AppendedBytes::Inline(bytes) => {
            out.push(APPEND_INLINE);
            put_path(path, out);
            varint::put(offset, out);
            varint::put_counted(bytes, out);
        }
        AppendedBytes::Segment {
            name,
            offset: at,
            len,
        } => {
            out.push(APPEND_SEGMENT);
            put_path(path, out);
            varint::put(offset, out);
            put_segment(name, out);
            varint::put(*at, out);
            varint::put(*len, out);
        }
    }
}
