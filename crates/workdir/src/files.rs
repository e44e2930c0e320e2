//! Files of the working copy: reading, writing and removing them, never through a symbolic link
//! and never outside of the repository.

use crate::{PathAuditor, Stat, WorkdirError};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_lang::patterns::PathCheck;
use varve_repo::hooks::FileFilters;
use varve_repo::{FileKind, RepoView, Repository};

/// Modes of new files, executable and not; the system applies the umask.
const MODE_EXECUTABLE: u32 = 0o777;
const MODE_PLAIN: u32 = 0o666;
/// Permissions to execute; only the owner's makes a tracked file executable.
const EXECUTE_BITS: u32 = 0o111;
const READ_BITS: u32 = 0o444;
/// From a bit for reading to the one for executing.
const READ_TO_EXECUTE: u32 = 2;

/// The new content of a file until it takes the place of the old one.
const REPLACEMENT: &str = ".hg/replacement~";

/// The files below one root.
#[derive(Debug)]
pub struct WorkingFiles {
    root: PathBuf,
    auditor: PathAuditor,
    /// Between the contents on the disk and those that are read and written here.
    filters: Option<Arc<dyn FileFilters>>,
}

impl WorkingFiles {
    /// Those of the repository whose `.hg` lies in `root`, as they are on the disk.
    pub fn new(root: &Path) -> Self {
        WorkingFiles {
            root: root.to_owned(),
            auditor: PathAuditor::new(root),
            filters: None,
        }
    }

    /// Those of a repository, as they are stored: what is read is encoded, what is written is decoded.
    pub fn of(repository: &Repository) -> Self {
        WorkingFiles {
            filters: repository.file_filters().cloned(),
            ..WorkingFiles::new(repository.root())
        }
    }

    /// The same, of the repository of a view.
    pub fn of_view(view: &RepoView) -> Self {
        WorkingFiles {
            filters: view.file_filters().cloned(),
            ..WorkingFiles::new(view.root())
        }
    }

    /// The same files as they are on the disk.
    pub fn unfiltered(&self) -> Self {
        WorkingFiles::new(&self.root)
    }

    /// The content to store for one on the disk.
    fn encoded(&self, file: &[u8], content: Vec<u8>) -> Result<Vec<u8>, WorkdirError> {
        match &self.filters {
            Some(filters) => filters.encode(file, content).map_err(WorkdirError::Filter),
            None => Ok(content),
        }
    }

    /// The content on the disk for one that is stored.
    ///
    /// # Errors
    /// A filter that fails.
    pub fn decoded<'c>(
        &self,
        file: &[u8],
        content: &'c [u8],
    ) -> Result<Cow<'c, [u8]>, WorkdirError> {
        match &self.filters {
            Some(filters) => {
                let decoded = filters.decode(file, content.to_vec());
                Ok(Cow::Owned(decoded.map_err(WorkdirError::Filter)?))
            }
            None => Ok(Cow::Borrowed(content)),
        }
    }

    /// Where a tracked file lies.
    pub fn path(&self, file: &[u8]) -> PathBuf {
        self.root.join(OsStr::from_bytes(file))
    }

    /// Refuses a path that leads through a symbolic link, into another repository or into `.hg`.
    ///
    /// # Errors
    /// [`WorkdirError::Path`], in Mercurial's words.
    pub fn audit(&self, file: &[u8]) -> Result<(), WorkdirError> {
        Ok(self.auditor.check(file)?)
    }

    /// Metadata of a path, without following a link; `None` if it does not exist.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn look(&self, file: &[u8]) -> Result<Option<Metadata>, WorkdirError> {
        let path = self.path(file);
        match fs::symlink_metadata(&path) {
            Ok(found) => Ok(Some(found)),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(WorkdirError::io("look at", &path)(error)),
        }
    }

    /// Returns whether a file or a link is there; what lies behind a link is elsewhere.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn has_file(&self, file: &[u8]) -> Result<bool, WorkdirError> {
        Ok(self.exists(file) && self.look(file)?.is_some_and(|found| !found.is_dir()))
    }

    /// Returns whether anything is there, a link that leads nowhere too; what lies behind a link is elsewhere.
    pub fn exists(&self, file: &[u8]) -> bool {
        self.audit(file).is_ok() && matches!(self.look(file), Ok(Some(_)))
    }

    /// Whether a directory that leads to a file is a symbolic link.
    ///
    /// # Errors
    /// A failure of the file system.
    pub(crate) fn is_behind_link(&self, file: &[u8]) -> Result<bool, WorkdirError> {
        for directory in directories_above(file) {
            match self.look(directory)? {
                Some(found) if found.is_symlink() => return Ok(true),
                Some(_) => {}
                None => return Ok(false),
            }
        }
        Ok(false)
    }

    /// The stat of a file or link; `None` if there is neither.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn stat(&self, file: &[u8]) -> Result<Option<Stat>, WorkdirError> {
        let found = self.look(file)?;
        let is_tracked = |found: &Metadata| found.is_file() || found.is_symlink();
        Ok(found.filter(is_tracked).map(|found| Stat::from(&found)))
    }

    /// A file's content, or the target of a link.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn read(&self, file: &[u8]) -> Result<(Vec<u8>, FileKind), WorkdirError> {
        let path = self.path(file);
        let wrong = |error| WorkdirError::io("read", &path)(error);
        let found = fs::symlink_metadata(&path).map_err(wrong)?;
        if found.is_symlink() {
            let target = fs::read_link(&path).map_err(wrong)?;
            let target = self.encoded(file, target.into_os_string().into_vec())?;
            return Ok((target, FileKind::Symlink));
        }
        let content = fs::read(&path).map_err(wrong)?;
        Ok((self.encoded(file, content)?, kind_of(&found)))
    }

    /// Makes the directories above a file.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn make_directories(&self, file: &[u8]) -> Result<(), WorkdirError> {
        let path = self.path(file);
        match path.parent() {
            Some(directory) => {
                fs::create_dir_all(directory).map_err(WorkdirError::io("make directory", directory))
            }
            None => Ok(()),
        }
    }

    /// Writes a whole file, or makes a link, and returns its stat. The path was audited
    /// and its directory is there.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn write(&self, file: &[u8], content: &[u8], kind: FileKind) -> Result<Stat, WorkdirError> {
        let path = self.path(file);
        let wrong = |error| WorkdirError::io("write", &path)(error);
        let content = &*self.decoded(file, content)?;
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
            return Ok(Stat::from(&found));
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
        Ok(Stat::from(&opened.metadata().map_err(wrong)?))
    }

    /// Replaces a plain file by one of the same mode. If that fails or the program is killed, the file has its old content
    /// or the new one. The caller holds the lock of the working copy.
    ///
    /// # Errors
    /// A failure of the file system; the file is gone.
    pub fn replace(&self, file: &[u8], content: &[u8]) -> Result<(), WorkdirError> {
        let path = self.path(file);
        let wrong = |error| WorkdirError::io("replace", &path)(error);
        let before = fs::symlink_metadata(&path).map_err(wrong)?;
        let new = self.root.join(REPLACEMENT);
        let decoded = self.decoded(file, content)?;
        let written = fs::write(&new, &*decoded)
            .and_then(|()| fs::set_permissions(&new, before.permissions()))
            .and_then(|()| fs::rename(&new, &path));
        let Err(error) = written else {
            return Ok(());
        };
        // Nothing is left to do if even that fails.
        let _ = fs::remove_file(&new);
        match error.kind() {
            // A part of the working copy is another file system.
            io::ErrorKind::CrossesDevices => {
                self.write(file, content, kind_of(&before))?;
                Ok(())
            }
            _ => Err(wrong(error)),
        }
    }

    /// Lets a file be executed, or not.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn set_kind(&self, file: &[u8], kind: FileKind) -> Result<(), WorkdirError> {
        let path = self.path(file);
        let wrong = |error| WorkdirError::io("change the mode of", &path)(error);
        let opened = File::open(&path).map_err(wrong)?;
        let before = opened.metadata().map_err(wrong)?;
        set_executable(&opened, &before, kind).map_err(wrong)
    }

    /// Removes a file if it is there, then the directories above it that became empty. Says whether
    /// it was there.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn remove(&self, file: &[u8]) -> Result<bool, WorkdirError> {
        let path = self.path(file);
        let was_there = match fs::remove_file(&path) {
            Ok(()) => true,
            Err(error) if is_missing(&error) => false,
            Err(error) => return Err(WorkdirError::io("remove", &path)(error)),
        };
        for directory in directories_above(file).iter().rev() {
            // The first one that is not empty ends it.
            if fs::remove_dir(self.path(directory)).is_err() {
                break;
            }
        }
        Ok(was_there)
    }

    /// Moves a file out of the way, to `backup`.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn keep_original(&self, file: &[u8], backup: &[u8]) -> Result<(), WorkdirError> {
        self.make_directories(backup)?;
        let path = self.path(file);
        fs::rename(&path, self.path(backup)).map_err(WorkdirError::io("rename", &path))
    }

    /// Copies a file to the place of its backup, if both are there.
    ///
    /// # Errors
    /// A failure of the file system.
    pub(crate) fn back_up(&self, file: &[u8], backups: &Backups) -> Result<(), WorkdirError> {
        let there = self.look(file)?;
        let Some(place) = backups.place(file).filter(|_| there.is_some()) else {
            return Ok(());
        };
        let disk = self.unfiltered();
        let (content, kind) = disk.read(file)?;
        disk.make_directories(&place)?;
        disk.write(&place, &content, kind)?;
        Ok(())
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
    /// Below a directory, which is itself below the root unless it is absolute.
    Below(PathBuf),
}

impl Backups {
    /// The place for one file.
    pub fn place(&self, file: &[u8]) -> Option<Vec<u8>> {
        match self {
            Backups::None => None,
            Backups::Beside => Some([file, b".orig"].concat()),
            Backups::Below(directory) => {
                Some([directory.as_os_str().as_bytes(), b"/", file].concat())
            }
        }
    }
}

/// The kind of a tracked file.
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

/// Grants permission to execute wherever there is permission to read, or revokes all.
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

/// The directories that lead to a file, outermost first.
pub(crate) fn directories_above(file: &[u8]) -> Vec<&[u8]> {
    let slashes = file.iter().enumerate().filter(|(_, byte)| **byte == b'/');
    slashes.map(|(at, _)| &file[..at]).collect()
}

/// Nothing of this name, or a file where a directory would have to be.
pub(crate) fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

pub(crate) fn shown(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
