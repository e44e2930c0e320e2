//! Repositories below a directory, in the order in which `hg serve` lists them.
//!
//! Links to directories are followed outside of repositories, and come before the other directories beside them. No
//! directory is entered twice, which ends loops. Inside a repository, whose links its committers chose, none is followed.

use std::collections::{HashSet, VecDeque};
use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;
use varve_base::Interrupt;

/// Where the repository of patch queues stands.
const PATCHES: &str = ".hg/patches";

/// Remaining work of all walks of one refresh.
#[derive(Debug)]
pub(super) struct WalkBudget<'a> {
    /// Directories that may still be read.
    pub(super) directories: usize,
    /// Repositories that may still be found.
    pub(super) repositories: usize,
    /// Set once a bound was reached.
    pub(super) is_exceeded: bool,
    pub(super) stop: &'a Interrupt,
}

/// Why a walk gives nothing.
#[derive(Debug)]
pub(super) enum WalkError {
    /// Its first directory cannot be read; others are passed over.
    Unreadable(io::Error),
    Interrupted,
}

/// A directory that is being read.
#[derive(Debug)]
struct OpenDirectory {
    /// Relative to the first one.
    path: PathBuf,
    /// Directories and links in it, by name.
    entries: IntoIter<DirEntry>,
    /// Directories to enter once all entries were seen.
    postponed: VecDeque<PathBuf>,
    /// Set in a repository and below, in its working copy.
    is_in_repository: bool,
}

/// Finds the repositories in `root` and below it, relative to it; `is_recursive` also those inside other ones.
pub(super) fn find_repositories(
    root: &Path,
    is_recursive: bool,
    budget: &mut WalkBudget<'_>,
) -> Result<Vec<PathBuf>, WalkError> {
    let mut walk = Walk {
        root,
        is_recursive,
        seen: HashSet::new(),
        found: Vec::new(),
        open: Vec::new(),
        budget,
    };
    walk.is_new(root);
    walk.enter(PathBuf::new(), false)
        .map_err(WalkError::Unreadable)?;
    walk.run()?;
    Ok(walk.found)
}

#[derive(Debug)]
struct Walk<'a, 'b> {
    root: &'a Path,
    is_recursive: bool,
    /// Devices and inodes.
    seen: HashSet<(u64, u64)>,
    found: Vec<PathBuf>,
    open: Vec<OpenDirectory>,
    budget: &'a mut WalkBudget<'b>,
}

impl Walk<'_, '_> {
    fn run(&mut self) -> Result<(), WalkError> {
        while let Some(top) = self.open.last_mut() {
            if self.budget.stop.is_raised() {
                return Err(WalkError::Interrupted);
            }
            let next = match top.entries.next() {
                Some(entry) => self.judge(&entry),
                None => match top.postponed.pop_front() {
                    Some(path) => Some(path),
                    None => {
                        self.open.pop();
                        continue;
                    }
                },
            };
            if let Some(path) = next {
                let is_in_repository = self.open.last().is_some_and(|top| top.is_in_repository);
                // One that cannot be read has nothing for others.
                let _ = self.enter(path, is_in_repository);
            }
        }
        Ok(())
    }

    /// The directory to enter at once; one that is entered later is postponed.
    fn judge(&mut self, entry: &DirEntry) -> Option<PathBuf> {
        let kind = entry.file_type().ok()?;
        let top = self.open.last()?;
        let path = top.path.join(entry.file_name());
        if top.is_in_repository {
            return kind.is_dir().then_some(path);
        }
        let absolute = entry.path();
        if !(kind.is_dir() || kind.is_symlink() && absolute.is_dir()) || !self.is_new(&absolute) {
            return None;
        }
        if kind.is_symlink() {
            return Some(path);
        }
        self.open.last_mut()?.postponed.push_back(path);
        None
    }

    /// Notes a repository, and opens the directory if there may be more in it.
    fn enter(&mut self, path: PathBuf, is_in_repository: bool) -> io::Result<()> {
        let absolute = self.absolute(&path);
        if self.budget.directories == 0 {
            self.budget.is_exceeded = true;
            return Ok(());
        }
        self.budget.directories -= 1;
        let mut entries = fs::read_dir(&absolute)?.flatten().collect::<Vec<_>>();
        let is_repository = absolute.join(".hg").is_dir();
        if is_repository {
            self.note(path.clone());
            if absolute.join(PATCHES).join(".hg").is_dir() {
                self.note(path.join(PATCHES));
            }
            if !self.is_recursive {
                return Ok(());
            }
            entries.retain(|entry| entry.file_name() != ".hg");
        }
        let may_be_directory = |entry: &DirEntry| {
            let kind = entry.file_type();
            kind.is_ok_and(|kind| kind.is_dir() || kind.is_symlink())
        };
        entries.retain(may_be_directory);
        entries.sort_by_key(DirEntry::file_name);
        self.open.push(OpenDirectory {
            path,
            entries: entries.into_iter(),
            postponed: VecDeque::new(),
            is_in_repository: is_repository || is_in_repository,
        });
        Ok(())
    }

    fn note(&mut self, path: PathBuf) {
        if self.budget.repositories == 0 {
            self.budget.is_exceeded = true;
            return;
        }
        self.budget.repositories -= 1;
        self.found.push(path);
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        match path.as_os_str().is_empty() {
            true => self.root.to_owned(),
            false => self.root.join(path),
        }
    }

    /// Notes a directory; false if it was seen before.
    fn is_new(&mut self, path: &Path) -> bool {
        let found = fs::metadata(path);
        found.is_ok_and(|found| self.seen.insert((found.dev(), found.ino())))
    }
}
