//! The files of shelved changes, three for each: `NAME.hg` is a bundle with the changeset, `NAME.patch` shows it, and
//! `NAME.shelve` names its node. Used ones move to `.hg/shelve-backup`.

use crate::WorkdirError;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use varve_repo::{Node, Repository};

/// Largest number behind a name that is taken already.
const MOST_OF_ONE_NAME: usize = 99;
/// Key of the node in `NAME.shelve`.
const NODE: &[u8] = b"node=";

/// One of the files of a shelved change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShelfFile {
    /// `.hg`: the bundle.
    Bundle,
    /// `.patch`: the change as a patch with a header.
    Patch,
    /// `.shelve`: the node of the changeset in the bundle.
    Info,
}

impl ShelfFile {
    const ALL: [ShelfFile; 3] = [ShelfFile::Bundle, ShelfFile::Patch, ShelfFile::Info];

    fn suffix(self) -> &'static str {
        match self {
            ShelfFile::Bundle => ".hg",
            ShelfFile::Patch => ".patch",
            ShelfFile::Info => ".shelve",
        }
    }
}

/// A shelved change in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedShelf {
    /// The name without the suffix of a file.
    pub name: Vec<u8>,
    /// When the change was shelved.
    pub modified: SystemTime,
}

/// One shelved change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShelvedChanges<'a> {
    directory: &'a ShelfDirectory,
    name: Vec<u8>,
}

/// The directories of shelved changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShelfDirectory {
    shelved: PathBuf,
    used: PathBuf,
}

fn file_name(name: &[u8], file: ShelfFile) -> OsString {
    let mut joined = OsStr::from_bytes(name).to_owned();
    joined.push(file.suffix());
    joined
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn modified(path: &Path) -> Result<Option<SystemTime>, WorkdirError> {
    match path.symlink_metadata().and_then(|found| found.modified()) {
        Ok(time) => Ok(Some(time)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(WorkdirError::io("read", path)(error)),
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH)
        .map_or(0, |passed| passed.as_secs())
}

/// Names of the files in a directory; none if it is not there.
fn names(directory: &Path) -> Result<Vec<Vec<u8>>, WorkdirError> {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(WorkdirError::io("read", directory)(error)),
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(WorkdirError::io("read", directory))?;
        names.push(entry.file_name().into_vec());
    }
    Ok(names)
}

impl ShelfDirectory {
    /// That of a working copy.
    pub fn of(repository: &Repository) -> ShelfDirectory {
        let hg = repository.root().join(".hg");
        ShelfDirectory {
            shelved: hg.join("shelved"),
            used: hg.join("shelve-backup"),
        }
    }

    /// A shelved change, whether it is there or not.
    pub fn shelf(&self, name: &[u8]) -> ShelvedChanges<'_> {
        ShelvedChanges {
            directory: self,
            name: name.to_vec(),
        }
    }

    /// The path of a file until it is whole. Its name does not end like that of a shelved change: both programs would list
    /// one that was left behind, and Mercurial's list stops at a shelf that lacks a file.
    fn being_written(&self, file: ShelfFile) -> PathBuf {
        self.shelved.join([file.suffix(), ".new"].concat())
    }

    /// Makes the directory.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn create(&self) -> Result<(), WorkdirError> {
        fs::create_dir_all(&self.shelved).map_err(WorkdirError::io("create", &self.shelved))
    }

    /// All shelved changes, the newest first.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn list(&self) -> Result<Vec<ListedShelf>, WorkdirError> {
        let mut found = BTreeMap::new();
        for file in names(&self.shelved)? {
            let shown = [ShelfFile::Patch, ShelfFile::Info];
            let stem = shown
                .iter()
                .find_map(|kind| file.strip_suffix(kind.suffix().as_bytes()));
            let Some(name) = stem.filter(|name| !name.is_empty()) else {
                continue;
            };
            if let Some(modified) = self.shelf(name).modified()? {
                found.insert(name.to_vec(), modified);
            }
        }
        let found = found.into_iter();
        let mut list: Vec<ListedShelf> = found
            .map(|(name, modified)| ListedShelf { name, modified })
            .collect();
        list.sort_by(|a, b| (b.modified, &b.name).cmp(&(a.modified, &a.name)));
        Ok(list)
    }

    /// The first name that is free: `label`, or this with a number; `None` if too many are taken.
    pub fn free_name(&self, label: &[u8]) -> Option<Vec<u8>> {
        let numbered = (1..=MOST_OF_ONE_NAME)
            .map(|number| [label, format!("-{number:02}").as_bytes()].concat());
        let mut names = std::iter::once(label.to_vec()).chain(numbered);
        names.find(|name| !self.shelf(name).exists())
    }

    /// Removes the oldest used ones until `most` are left. One that is as old as the last that stays, by the second,
    /// stays too.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn prune(&self, most: usize) -> Result<(), WorkdirError> {
        let mut used = Vec::new();
        for file in names(&self.used)? {
            if let Some(name) = file.strip_suffix(ShelfFile::Patch.suffix().as_bytes()) {
                let time = modified(&self.used.join(OsStr::from_bytes(&file)))?;
                used.push((time.map_or(0, seconds), name.to_vec()));
            }
        }
        used.sort();
        let Some(count) = used.len().checked_sub(most) else {
            return Ok(());
        };
        let border = used.get(count).map(|(time, _)| *time);
        for (time, name) in used.into_iter().take(count) {
            if Some(time) == border {
                continue;
            }
            for file in ShelfFile::ALL {
                remove(&self.used.join(file_name(&name, file)))?;
            }
        }
        Ok(())
    }
}

fn remove(path: &Path) -> Result<(), WorkdirError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(WorkdirError::io("remove", path)(error))
        }
        _ => Ok(()),
    }
}

impl ShelvedChanges<'_> {
    /// The name without the suffix of a file.
    pub fn name(&self) -> &[u8] {
        &self.name
    }

    /// Where a file of the shelved change is.
    pub fn path(&self, file: ShelfFile) -> PathBuf {
        self.directory.shelved.join(file_name(&self.name, file))
    }

    /// Whether the change is shelved.
    pub fn exists(&self) -> bool {
        is_there(&self.path(ShelfFile::Patch)) || is_there(&self.path(ShelfFile::Info))
    }

    fn modified(&self) -> Result<Option<SystemTime>, WorkdirError> {
        match modified(&self.path(ShelfFile::Info))? {
            Some(time) => Ok(Some(time)),
            None => modified(&self.path(ShelfFile::Patch)),
        }
    }

    /// The changeset in the bundle; `None` in a shelf of before 2014, whose bundle ends with it.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn node(&self) -> Result<Option<Node>, WorkdirError> {
        let path = self.path(ShelfFile::Info);
        let text = match fs::read(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(WorkdirError::io("read", &path)(error)),
        };
        let mut lines = text.split(|byte| *byte == b'\n');
        Ok(lines.find_map(|line| Node::from_hex(line.strip_prefix(NODE)?)))
    }

    /// The bytes of [`ShelfFile::Info`] for a changeset.
    pub fn info(node: &Node) -> Vec<u8> {
        [NODE, &node.to_hex()[..], b"\n"].concat()
    }

    /// Writes one of the files, in one step.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn write(&self, file: ShelfFile, bytes: &[u8]) -> Result<(), WorkdirError> {
        let path = self.path(file);
        let beside = self.directory.being_written(file);
        let written = fs::File::create(&beside).and_then(|mut out| {
            io::Write::write_all(&mut out, bytes)?;
            out.sync_all()
        });
        written.map_err(WorkdirError::io("write", &beside))?;
        fs::rename(&beside, &path).map_err(WorkdirError::io("write", &path))
    }

    /// Moves the files over those of another shelved change.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn take_place_of(&self, other: &ShelvedChanges<'_>) -> Result<(), WorkdirError> {
        // Without the name of a node, the last changeset of a bundle is meant: of either bundle that is the right one.
        remove(&other.path(ShelfFile::Info))?;
        for file in ShelfFile::ALL {
            let path = self.path(file);
            fs::rename(&path, other.path(file)).map_err(WorkdirError::io("move", &path))?;
        }
        Ok(())
    }

    /// Moves the files to those that were used.
    ///
    /// # Errors
    /// A failure of the file system.
    pub fn retire(&self) -> Result<(), WorkdirError> {
        let used = &self.directory.used;
        fs::create_dir_all(used).map_err(WorkdirError::io("create", used))?;
        let mut name = self.name.clone();
        let mut number = 0;
        let is_taken = |name: &[u8]| {
            ShelfFile::ALL
                .iter()
                .any(|file| is_there(&used.join(file_name(name, *file))))
        };
        while is_taken(&name) {
            number += 1;
            name = [&self.name[..], format!("-{number}").as_bytes()].concat();
        }
        // The patch goes last: as long as it is there, the shelf is listed.
        for file in [ShelfFile::Bundle, ShelfFile::Info, ShelfFile::Patch] {
            let path = self.path(file);
            match fs::rename(&path, used.join(file_name(&name, file))) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(WorkdirError::io("move", &path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(root: &Path) -> ShelfDirectory {
        ShelfDirectory {
            shelved: root.join("shelved"),
            used: root.join("shelve-backup"),
        }
    }

    fn shelve(directory: &ShelfDirectory, name: &[u8], age: u64) {
        directory.create().unwrap();
        for file in ShelfFile::ALL {
            let shelf = directory.shelf(name);
            shelf
                .write(file, &ShelvedChanges::info(&Node([7; 20])))
                .unwrap();
            let time = UNIX_EPOCH + std::time::Duration::from_secs(1_000_000 - age);
            let file = fs::File::options().append(true).open(shelf.path(file));
            file.unwrap().set_modified(time).unwrap();
        }
    }

    #[test]
    fn names_get_numbers_once_they_are_taken() {
        let keep = tempfile::tempdir().unwrap();
        let directory = directory(keep.path());
        assert_eq!(directory.free_name(b"x"), Some(b"x".to_vec()));
        shelve(&directory, b"x", 0);
        shelve(&directory, b"x-02", 0);
        assert_eq!(directory.free_name(b"x"), Some(b"x-01".to_vec()));
        for number in 1..100 {
            shelve(&directory, format!("x-{number:02}").as_bytes(), 0);
        }
        assert_eq!(directory.free_name(b"x"), None);
    }

    #[test]
    fn one_shelf_takes_the_place_of_another() {
        let keep = tempfile::tempdir().unwrap();
        let directory = directory(keep.path());
        shelve(&directory, b"x", 9);
        shelve(&directory, b".x", 1);
        let shelf = directory.shelf(b"x");
        let rest = directory.shelf(b".x");
        for file in ShelfFile::ALL {
            rest.write(file, &ShelvedChanges::info(&Node([8; 20])))
                .unwrap();
        }
        rest.take_place_of(&shelf).unwrap();
        assert!(!rest.exists());
        assert_eq!(shelf.node().unwrap(), Some(Node([8; 20])));
        for file in ShelfFile::ALL {
            assert_eq!(
                fs::read(shelf.path(file)).unwrap(),
                ShelvedChanges::info(&Node([8; 20]))
            );
        }
        assert_eq!(names(&directory.shelved).unwrap().len(), 3);
    }

    #[test]
    fn the_newest_is_listed_first_and_nothing_else_is() {
        let keep = tempfile::tempdir().unwrap();
        let directory = directory(keep.path());
        assert_eq!(directory.list().unwrap(), []);
        for (name, age) in [(b"old", 9), (b"new", 1), (b"mid", 5)] {
            shelve(&directory, name, age);
        }
        fs::write(keep.path().join("shelved/other.hg"), b"").unwrap();
        for file in ShelfFile::ALL {
            fs::write(directory.being_written(file), b"cut").unwrap();
        }
        let names = directory.list().unwrap().into_iter();
        let names: Vec<_> = names.map(|shelf| shelf.name).collect();
        assert_eq!(names, [b"new", b"mid", b"old"]);
        let shelf = directory.shelf(b"old");
        assert_eq!(shelf.node().unwrap(), Some(Node([7; 20])));
    }

    #[test]
    fn used_ones_keep_their_names_apart_and_the_oldest_go() {
        let keep = tempfile::tempdir().unwrap();
        let directory = directory(keep.path());
        for age in [9, 7, 5, 5] {
            shelve(&directory, b"x", age);
            directory.shelf(b"x").retire().unwrap();
        }
        let used = |directory: &ShelfDirectory| {
            let mut files = names(&directory.used).unwrap();
            files.retain(|name| name.ends_with(b".hg"));
            files.sort();
            files
        };
        assert_eq!(
            used(&directory),
            [&b"x-1.hg"[..], b"x-2.hg", b"x-3.hg", b"x.hg"]
        );
        directory.prune(1).unwrap();
        assert_eq!(used(&directory), [&b"x-2.hg"[..], b"x-3.hg"]);
        directory.prune(0).unwrap();
        assert!(used(&directory).is_empty());
    }
}
