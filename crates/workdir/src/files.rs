//! Files of the working copy: reading, writing and removing them, never through a symbolic link
//! and never outside of the repository.

use crate::{PathAuditor, Seen, WorkdirError};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use varve_lang::patterns::PathCheck;
use varve_repo::FileKind;

/// What the user may do with a file that may be executed, and with another; the system takes away
/// what the umask forbids.
const MODE_EXECUTABLE: u32 = 0o777;
const MODE_PLAIN: u32 = 0o666;
/// Any of these makes a file executable; for the owner counts.
const EXECUTE_BITS: u32 = 0o111;
const READ_BITS: u32 = 0o444;
/// From a bit for reading to the one for executing.
const READ_TO_EXECUTE: u32 = 2;

/// The files below one root.
#[derive(Debug)]
pub struct WorkingFiles {
    root: PathBuf,
    auditor: PathAuditor,
}

impl WorkingFiles {
    /// Those of the repository whose `.hg` lies in `root`.
    pub fn new(root: &Path) -> Self {
        WorkingFiles {
            root: root.to_owned(),
            auditor: PathAuditor::new(root),
        }
    }

    /// Where a tracked file lies.
    pub fn path(&self, file: &[u8]) -> PathBuf {
        self.root.join(OsStr::from_bytes(file))
    }

    /// Refuses a path that leads through a symbolic link, into another repository or into `.hg`.
    ///
    /// # Errors
    /// What is wrong with it, in Mercurial's words.
    pub fn audit(&self, file: &[u8]) -> Result<(), WorkdirError> {
        Ok(self.auditor.check(file)?)
    }

    /// What stands at a path, without following a link; `None` for nothing.
    ///
    /// # Errors
    /// What the system answers.
    pub fn look(&self, file: &[u8]) -> Result<Option<Metadata>, WorkdirError> {
        let path = self.path(file);
        match fs::symlink_metadata(&path) {
            Ok(found) => Ok(Some(found)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(WorkdirError::io("look at", &path)(error)),
        }
    }

    /// What a tracked file looks like: `None` if there is no file or link of this name.
    ///
    /// # Errors
    /// What the system answers.
    pub fn seen(&self, file: &[u8]) -> Result<Option<Seen>, WorkdirError> {
        let found = self.look(file)?;
        let is_tracked = |found: &Metadata| found.is_file() || found.is_symlink();
        Ok(found.filter(is_tracked).map(|found| Seen::from(&found)))
    }

    /// A file's content, or the target of a link.
    ///
    /// # Errors
    /// What the system answers.
    pub fn read(&self, file: &[u8]) -> Result<(Vec<u8>, FileKind), WorkdirError> {
        let path = self.path(file);
        let wrong = |error| WorkdirError::io("read", &path)(error);
        let found = fs::symlink_metadata(&path).map_err(wrong)?;
        if found.is_symlink() {
            let target = fs::read_link(&path).map_err(wrong)?;
            return Ok((target.into_os_string().into_vec(), FileKind::Symlink));
        }
        Ok((fs::read(&path).map_err(wrong)?, kind_of(&found)))
    }

    /// Makes the folders above a file.
    ///
    /// # Errors
    /// What the system answers.
    pub fn make_folders(&self, file: &[u8]) -> Result<(), WorkdirError> {
        let path = self.path(file);
        match path.parent() {
            Some(folder) => {
                fs::create_dir_all(folder).map_err(WorkdirError::io("make folder", folder))
            }
            None => Ok(()),
        }
    }

    /// Writes a file whole, or makes a link; tells what it looks like then. The path was audited
    /// and its folder is there.
    ///
    /// # Errors
    /// What the system answers.
    pub fn write(&self, file: &[u8], content: &[u8], kind: FileKind) -> Result<Seen, WorkdirError> {
        let path = self.path(file);
        let wrong = |error| WorkdirError::io("write", &path)(error);
        let found = self.look(file)?;
        // Another name of the same file, in a copied working copy for instance, must not change.
        let keep = found
            .as_ref()
            .filter(|found| found.is_file() && found.nlink() == 1 && kind != FileKind::Symlink);
        if found.is_some() && keep.is_none() {
            fs::remove_file(&path).map_err(wrong)?;
        }
        if kind == FileKind::Symlink {
            symlink(OsStr::from_bytes(content), &path).map_err(wrong)?;
            let found = fs::symlink_metadata(&path).map_err(wrong)?;
            return Ok(Seen::from(&found));
        }
        let mut options = OpenOptions::new();
        options.write(true);
        let mut opened = if keep.is_some() {
            options.truncate(true).open(&path)
        } else {
            let executable = kind == FileKind::Executable;
            let mode = if executable {
                MODE_EXECUTABLE
            } else {
                MODE_PLAIN
            };
            options.create_new(true).mode(mode).open(&path)
        }
        .map_err(wrong)?;
        opened.write_all(content).map_err(wrong)?;
        if let Some(before) = keep {
            set_executable(&opened, before, kind).map_err(wrong)?;
        }
        Ok(Seen::from(&opened.metadata().map_err(wrong)?))
    }

    /// Lets a file be executed, or not.
    ///
    /// # Errors
    /// What the system answers.
    pub fn set_kind(&self, file: &[u8], kind: FileKind) -> Result<(), WorkdirError> {
        let path = self.path(file);
        let wrong = |error| WorkdirError::io("change the mode of", &path)(error);
        let opened = File::open(&path).map_err(wrong)?;
        let before = opened.metadata().map_err(wrong)?;
        set_executable(&opened, &before, kind).map_err(wrong)
    }

    /// Removes a file if it is there, then the folders above it that became empty. Says whether
    /// it was there.
    ///
    /// # Errors
    /// What the system answers.
    pub fn remove(&self, file: &[u8]) -> Result<bool, WorkdirError> {
        let path = self.path(file);
        let was_there = match fs::remove_file(&path) {
            Ok(()) => true,
            Err(error) if is_missing(&error) => false,
            Err(error) => return Err(WorkdirError::io("remove", &path)(error)),
        };
        for folder in folders_above(file).iter().rev() {
            // The first one that is not empty ends it.
            if fs::remove_dir(self.path(folder)).is_err() {
                break;
            }
        }
        Ok(was_there)
    }

    /// Moves a file out of the way, to `backup`.
    ///
    /// # Errors
    /// What the system answers.
    pub fn keep_original(&self, file: &[u8], backup: &[u8]) -> Result<(), WorkdirError> {
        self.make_folders(backup)?;
        let path = self.path(file);
        fs::rename(&path, self.path(backup)).map_err(WorkdirError::io("rename", &path))
    }
}

/// Where files are kept that are overwritten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Backups {
    /// Nowhere.
    None,
    /// Beside the file, with `.orig` behind its name.
    #[default]
    Beside,
    /// Below a folder, which is itself below the root unless it is absolute.
    Below(PathBuf),
}

impl Backups {
    /// The place for one file.
    pub fn place(&self, file: &[u8]) -> Option<Vec<u8>> {
        match self {
            Backups::None => None,
            Backups::Beside => Some([file, b".orig"].concat()),
            Backups::Below(folder) => Some([folder.as_os_str().as_bytes(), b"/", file].concat()),
        }
    }
}

/// What kind of tracked file this is.
pub(crate) fn kind_of(found: &Metadata) -> FileKind {
    kind_of_mode(found.mode())
}

/// As [`kind_of`], from the mode alone.
pub(crate) fn kind_of_mode(mode: u32) -> FileKind {
    const FILE_TYPE: u32 = 0o170_000;
    const LINK_TYPE: u32 = 0o120_000;
    const OWNER_EXECUTES: u32 = 0o100;
    if mode & FILE_TYPE == LINK_TYPE {
        FileKind::Symlink
    } else if mode & OWNER_EXECUTES != 0 {
        FileKind::Executable
    } else {
        FileKind::Plain
    }
}

/// Who may read may also execute, or nobody may.
fn set_executable(file: &File, before: &Metadata, kind: FileKind) -> io::Result<()> {
    if kind_of(before) == kind {
        return Ok(());
    }
    let mode = before.mode();
    let mode = if kind == FileKind::Executable {
        mode | ((mode & READ_BITS) >> READ_TO_EXECUTE)
    } else {
        mode & !EXECUTE_BITS
    };
    file.set_permissions(Permissions::from_mode(mode))
}

/// The folders that lead to a file, outermost first.
pub(crate) fn folders_above(file: &[u8]) -> Vec<&[u8]> {
    let slashes = file.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &file[..at]).collect()
}

/// Nothing of this name, or a file where a folder would have to be.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

pub(crate) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
