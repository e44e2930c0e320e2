//! What is in one folder, and how its files look, asked of the open folder: a path from the root
//! would be looked up again for every name.

use super::Seen;
use crate::WorkdirError;
use crate::dirstate::Timestamp;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, openat, statat};
use rustix::io::Result;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// An open folder.
pub(super) struct Listing {
    folder: Dir,
}

/// One name in a folder.
pub(super) struct Name {
    pub(super) bytes: Vec<u8>,
    pub(super) kind: FileType,
}

impl Listing {
    /// Opens a folder.
    pub(super) fn open(path: &Path) -> Result<Listing> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = Dir::new(openat(CWD, path, flags, Mode::empty())?)?;
        Ok(Listing { folder })
    }

    /// Reads everything in it but itself and its parent, sorted by name.
    pub(super) fn read(&mut self) -> Result<Vec<Name>> {
        let mut names = Vec::new();
        while let Some(entry) = self.folder.read() {
            let entry = entry?;
            let bytes = entry.file_name().to_bytes();
            if bytes == b"." || bytes == b".." {
                continue;
            }
            let mut kind = entry.file_type();
            if kind == FileType::Unknown {
                // Some file systems only tell when asked.
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

    fn stat(&self, name: &[u8]) -> Option<Stat> {
        stat(self.folder.fd().ok()?, name)
    }

    /// How a file or link looks; nothing if it is neither, or gone meanwhile.
    pub(super) fn see(&self, name: &[u8]) -> Option<Seen> {
        seen(&self.stat(name)?)
    }
}

/// Looks at files whose paths come in order: the folders on the way to the last one stay open.
pub(super) struct Onlooker {
    root: OwnedFd,
    /// Folders below the root, each below the one before.
    open: Vec<Folder>,
}

struct Folder {
    /// From the root on, with a slash behind.
    path: Vec<u8>,
    /// Nothing if there is no such folder.
    folder: Option<OwnedFd>,
}

impl Onlooker {
    /// Looks at what is below `root`.
    ///
    /// # Errors
    /// If there is no such folder.
    pub(super) fn new(root: &Path) -> std::result::Result<Onlooker, WorkdirError> {
        let opened = openat(CWD, root, ON_THE_WAY, Mode::empty());
        Ok(Onlooker {
            root: opened.map_err(|errno| WorkdirError::io("open", root)(errno.into()))?,
            open: Vec::new(),
        })
    }

    /// How the file or link with this path below the root looks; nothing if it is neither. Anything
    /// that keeps it from being seen makes it missing.
    pub(super) fn see(&mut self, path: &[u8]) -> Option<Seen> {
        while self
            .open
            .pop_if(|last| !path.starts_with(&last.path))
            .is_some()
        {}
        let name = path.iter().rposition(|&byte| byte == b'/');
        let name = name.map_or(0, |slash| slash + 1);
        if name > self.depth() && self.open.len() < MOST_OPEN {
            let folder = self.nearest().and_then(|nearest| {
                let further = &path[self.depth()..name];
                openat(nearest, further, ON_THE_WAY, Mode::empty()).ok()
            });
            let path = path[..name].to_vec();
            self.open.push(Folder { path, folder });
        }
        seen(&stat(self.nearest()?, &path[self.depth()..])?)
    }

    /// How many bytes of the path lead to the innermost open folder.
    fn depth(&self) -> usize {
        self.open.last().map_or(0, |last| last.path.len())
    }

    fn nearest(&self) -> Option<&OwnedFd> {
        match self.open.last() {
            Some(last) => last.folder.as_ref(),
            None => Some(&self.root),
        }
    }
}

/// Folders that one onlooker has open, at most.
const MOST_OPEN: usize = 32;

/// Folders that are passed through need not be readable.
const ON_THE_WAY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

fn stat(folder: impl AsFd, name: &[u8]) -> Option<Stat> {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()
}

fn seen(stat: &Stat) -> Option<Seen> {
    let kind = FileType::from_raw_mode(stat.st_mode);
    (kind.is_file() || kind.is_symlink()).then(|| Seen {
        mode: stat.st_mode,
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mtime: Timestamp {
            seconds: stat.st_mtime,
            nanos: u32::try_from(stat.st_mtime_nsec).unwrap_or(0),
        },
    })
}
