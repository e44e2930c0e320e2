//! Names and stats of one directory, relative to the open directory: a path from the root would be
//! resolved again for every name.

use super::Stat;
use crate::WorkdirError;
use crate::dirstate::Timestamp;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat as RawStat, openat, statat};
use rustix::io::Result;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

pub(super) struct OpenDirectory {
    directory: Dir,
}

/// One name in a directory.
pub(super) struct Name {
    pub(super) bytes: Vec<u8>,
    pub(super) kind: FileType,
}

impl OpenDirectory {
    /// Opens a directory.
    pub(super) fn open(path: &Path) -> Result<OpenDirectory> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let directory = Dir::new(openat(CWD, path, flags, Mode::empty())?)?;
        Ok(OpenDirectory { directory })
    }

    /// Reads everything in it but itself and its parent, sorted by name.
    pub(super) fn read(&mut self) -> Result<Vec<Name>> {
        let mut names = Vec::new();
        while let Some(entry) = self.directory.read() {
            let entry = entry?;
            let bytes = entry.file_name().to_bytes();
            if bytes == b"." || bytes == b".." {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                // Some file systems give the type only by `stat`.
                let Some(stat) = self.stat(bytes) else {
                    continue; // Gone meanwhile.
                };
                kind = FileType::from_raw_mode(stat.st_mode);
            }
            names.push(Name {
                bytes: bytes.to_vec(),
                kind,
            });
        }
        names.sort_unstable_by(|a, b| a.bytes.cmp(&b.bytes));
        Ok(names)
    }

    fn stat(&self, name: &[u8]) -> Option<RawStat> {
        stat(self.directory.fd().ok()?, name)
    }

    /// The stat of a file or link; `None` if it is neither, or no longer exists.
    pub(super) fn see(&self, name: &[u8]) -> Option<Stat> {
        seen(&self.stat(name)?)
    }
}

/// Stats files in the order of their paths; the directories above the last one stay open.
pub(super) struct StatWalker {
    root: OwnedFd,
    /// Directories below the root, each below the one before.
    open: Vec<ParentDirectory>,
}

struct ParentDirectory {
    /// From the root on, with a slash behind.
    path: Vec<u8>,
    /// Nothing if there is no such directory.
    directory: Option<OwnedFd>,
}

impl StatWalker {
    /// A walker over the files below `root`.
    ///
    /// # Errors
    /// If there is no such directory.
    pub(super) fn new(root: &Path) -> std::result::Result<StatWalker, WorkdirError> {
        let opened = openat(CWD, root, ON_THE_WAY, Mode::empty());
        Ok(StatWalker {
            root: opened.map_err(|errno| WorkdirError::io("open", root)(errno.into()))?,
            open: Vec::new(),
        })
    }

    /// The stat of the file or link with this path below the root; `None` if it is neither. One that
    /// cannot be reached counts as missing.
    pub(super) fn see(&mut self, path: &[u8]) -> Option<Stat> {
        while self
            .open
            .pop_if(|last| !path.starts_with(&last.path))
            .is_some()
        {}
        let name = path.iter().rposition(|&byte| byte == b'/');
        let name = name.map_or(0, |slash| slash + 1);
        if name > self.depth() && self.open.len() < MOST_OPEN {
            let directory = self.nearest().and_then(|nearest| {
                let further = &path[self.depth()..name];
                openat(nearest, further, ON_THE_WAY, Mode::empty()).ok()
            });
            let path = path[..name].to_vec();
            self.open.push(ParentDirectory { path, directory });
        }
        seen(&stat(self.nearest()?, &path[self.depth()..])?)
    }

    /// How many bytes of the path lead to the innermost open directory.
    fn depth(&self) -> usize {
        self.open.last().map_or(0, |last| last.path.len())
    }

    fn nearest(&self) -> Option<&OwnedFd> {
        match self.open.last() {
            Some(last) => last.directory.as_ref(),
            None => Some(&self.root),
        }
    }
}

/// Most directories that one walker has open.
const MOST_OPEN: usize = 32;

/// Directories that are passed through need not be readable.
const ON_THE_WAY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn stat(directory: impl AsFd, name: &[u8]) -> Option<RawStat> {
    statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()
}

fn seen(stat: &RawStat) -> Option<Stat> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    (kind.is_file() || kind.is_symlink()).then(|| Stat {
        mode: stat.st_mode,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mtime: Timestamp {
            seconds: stat.st_mtime,
            nanos: u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
        },
    })
}
