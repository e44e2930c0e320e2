//! Files in memory: for tests, and as the state that the recorder's images are made of.

use super::{Entry, EntryKind, Hole, OpenMode, Storage, StorageError, StorageFile};
use parking_lot::{Mutex, MutexGuard, RwLock};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

type Content = Arc<RwLock<Vec<u8>>>;

/// A tree of files in memory; clones share it.
#[derive(Clone, Debug, Default)]
pub struct MemoryStorage(Arc<Mutex<Tree>>);

#[derive(Debug, Default)]
struct Tree {
    files: BTreeMap<PathBuf, Content>,
    directories: BTreeSet<PathBuf>,
    links: BTreeMap<PathBuf, String>,
    /// How often a name came, went or changed its file.
    changes: u64,
}

impl MemoryStorage {
    /// A storage that holds these files, with the directories they need.
    pub fn with_files(files: impl IntoIterator<Item = (PathBuf, Vec<u8>)>) -> Self {
        let storage = MemoryStorage::default();
        {
            let mut tree = storage.tree();
            for (path, bytes) in files {
                tree.directories
                    .extend(path.ancestors().skip(1).map(Path::to_owned));
                tree.files.insert(path, Arc::new(RwLock::new(bytes)));
            }
        }
        storage
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.0.lock()
    }
}

fn not_found(op: &'static str, path: &Path) -> StorageError {
    StorageError::io(op, path, io::ErrorKind::NotFound.into())
}

fn swap_keys<T>(
    map: BTreeMap<PathBuf, T>,
    swapped: impl Fn(PathBuf) -> PathBuf,
) -> BTreeMap<PathBuf, T> {
    map.into_iter()
        .map(|(path, value)| (swapped(path), value))
        .collect()
}

fn already_there(op: &'static str, path: &Path) -> StorageError {
    StorageError::io(op, path, io::ErrorKind::AlreadyExists.into())
}

impl Storage for MemoryStorage {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn StorageFile>, StorageError> {
        let mut tree = self.tree();
        let content = match (tree.files.get(path), mode) {
            (Some(_), OpenMode::CreateNew) => {
                return Err(already_there("create", path));
            }
            (Some(content), OpenMode::Append) => {
                let shared = content.clone();
                let same = |other: &&Content| Arc::ptr_eq(other, &shared);
                if tree.files.values().filter(same).count() < 2 {
                    shared
                } else {
                    let bytes = shared.read();
                    let own: Content = Arc::new(RwLock::new(bytes.clone()));
                    tree.files.insert(path.to_owned(), own.clone());
                    own
                }
            }
            (Some(content), OpenMode::Read) => content.clone(),
            (None, OpenMode::CreateNew) => {
                let directory = path.parent().unwrap_or(Path::new(""));
                if !directory.as_os_str().is_empty() && !tree.directories.contains(directory) {
                    return Err(not_found("create", path));
                }
                let content = Content::default();
                tree.changes += 1;
                tree.files.insert(path.to_owned(), content.clone());
                content
            }
            (None, _) => return Err(not_found("open", path)),
        };
        let writable = mode != OpenMode::Read;
        Ok(Arc::new(MemoryFile {
            path: path.to_owned(),
            content,
            writable,
        }))
    }

    fn kind(&self, path: &Path) -> Result<Option<EntryKind>, StorageError> {
        let tree = self.tree();
        let is_root = path.as_os_str().is_empty();
        Ok(if tree.files.contains_key(path) {
            Some(EntryKind::File)
        } else if tree.links.contains_key(path) {
            Some(EntryKind::Other)
        } else if is_root || tree.directories.contains(path) {
            Some(EntryKind::Directory)
        } else {
            None
        })
    }

    fn file_len(&self, path: &Path) -> Result<Option<u64>, StorageError> {
        let content = self.tree().files.get(path).cloned();
        let len = |content: Content| {
            let bytes = content.read();
            bytes.len() as u64
        };
        Ok(content.map(len))
    }

    fn modified(&self, directory: &Path) -> Result<Option<SystemTime>, StorageError> {
        if self.kind(directory)? != Some(EntryKind::Directory) {
            return Ok(None);
        }
        // One count for all directories: a change is never missed, at times seen where none was.
        Ok(Some(
            SystemTime::UNIX_EPOCH + Duration::from_millis(self.tree().changes),
        ))
    }

    fn list(&self, directory: &Path) -> Result<Vec<Entry>, StorageError> {
        let tree = self.tree();
        if !directory.as_os_str().is_empty() && !tree.directories.contains(directory) {
            return Err(not_found("list", directory));
        }
        let inside = |path: &&PathBuf| path.parent() == Some(directory);
        let files = tree
            .files
            .keys()
            .filter(inside)
            .map(|path| (path, EntryKind::File));
        let directories = tree
            .directories
            .iter()
            .filter(inside)
            .map(|path| (path, EntryKind::Directory));
        let entry = |(path, kind): (&PathBuf, _)| {
            Some(Entry {
                name: path.file_name()?.to_owned(),
                kind,
            })
        };
        let links = tree.links.keys().filter(inside);
        let links = links.map(|path| (path, EntryKind::Other));
        Ok(files
            .chain(directories)
            .chain(links)
            .filter_map(entry)
            .collect())
    }

    fn create_directory(&self, directory: &Path) -> Result<(), StorageError> {
        self.tree()
            .directories
            .extend(directory.ancestors().map(Path::to_owned));
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        let mut tree = self.tree();
        tree.changes += 1;
        if let Some(content) = tree.files.remove(from) {
            tree.files.insert(to.to_owned(), content);
            return Ok(());
        }
        if !tree.directories.contains(from) {
            return Err(not_found("rename", from));
        }
        let moved = |path: &Path| path.strip_prefix(from).ok().map(|rest| to.join(rest));
        let links = std::mem::take(&mut tree.links);
        tree.links = swap_keys(links, |path| moved(&path).unwrap_or(path));
        let files = std::mem::take(&mut tree.files);
        tree.files = files
            .into_iter()
            .map(|(path, c)| (moved(&path).unwrap_or(path), c))
            .collect();
        let directories = std::mem::take(&mut tree.directories);
        tree.directories = directories
            .into_iter()
            .map(|path| moved(&path).unwrap_or(path))
            .collect();
        Ok(())
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<(), StorageError> {
        for path in [one, other] {
            if self.kind(path)?.is_none() {
                return Err(not_found("exchange", path));
            }
        }
        let mut tree = self.tree();
        tree.changes += 1;
        let swapped = |path: PathBuf| match (path.strip_prefix(one), path.strip_prefix(other)) {
            (Ok(rest), _) => other.join(rest),
            (_, Ok(rest)) => one.join(rest),
            _ => path,
        };
        tree.files = swap_keys(std::mem::take(&mut tree.files), swapped);
        tree.links = swap_keys(std::mem::take(&mut tree.links), swapped);
        let directories = std::mem::take(&mut tree.directories);
        tree.directories = directories.into_iter().map(swapped).collect();
        Ok(())
    }

    fn remove_tree(&self, directory: &Path) -> Result<(), StorageError> {
        let mut tree = self.tree();
        tree.changes += 1;
        tree.files.retain(|path, _| !path.starts_with(directory));
        tree.links.retain(|path, _| !path.starts_with(directory));
        tree.directories.retain(|path| !path.starts_with(directory));
        Ok(())
    }

    fn sync_tree(&self, _directory: &Path) -> Result<(), StorageError> {
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<(), StorageError> {
        let mut tree = self.tree();
        tree.changes += 1;
        if tree.links.remove(path).is_some() {
            return Ok(());
        }
        let removed = tree.files.remove(path);
        removed.map(|_| ()).ok_or_else(|| not_found("remove", path))
    }

    fn link(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        let mut tree = self.tree();
        let content = tree.files.get(from).cloned();
        let content = content.ok_or_else(|| not_found("link", from))?;
        if tree.files.contains_key(to) || tree.links.contains_key(to) {
            return Err(already_there("link", to));
        }
        tree.changes += 1;
        tree.files.insert(to.to_owned(), content);
        Ok(())
    }

    fn create_symlink(&self, target: &str, path: &Path) -> Result<(), StorageError> {
        let mut tree = self.tree();
        if tree.files.contains_key(path) || tree.links.contains_key(path) {
            return Err(already_there("create", path));
        }
        tree.changes += 1;
        tree.links.insert(path.to_owned(), target.to_owned());
        Ok(())
    }

    fn read_symlink(&self, path: &Path) -> Result<Option<String>, StorageError> {
        let link = self.tree().links.get(path).cloned();
        if link.is_some() {
            return Ok(link);
        }
        let text = super::read_if_there(self, path)?;
        Ok(text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn sync_directory(&self, _directory: &Path) -> Result<(), StorageError> {
        Ok(())
    }
}

#[derive(Debug)]
struct MemoryFile {
    path: PathBuf,
    content: Content,
    writable: bool,
}

impl MemoryFile {
    fn writable(&self, op: &'static str) -> Result<(), StorageError> {
        let denied = || StorageError::io(op, &self.path, io::ErrorKind::PermissionDenied.into());
        if self.writable { Ok(()) } else { Err(denied()) }
    }
}

impl StorageFile for MemoryFile {
    fn path(&self) -> &Path {
        &self.path
    }

    fn len(&self) -> Result<u64, StorageError> {
        Ok(self.content.read().len() as u64)
    }

    fn read_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        let content = self.content.read();
        let start = usize::try_from(offset)
            .unwrap_or(usize::MAX)
            .min(content.len());
        let got = buf.len().min(content.len() - start);
        buf[..got].copy_from_slice(&content[start..start + got]);
        Ok(got)
    }

    /// All bytes are in memory.
    fn read_cached_at(&self, offset: u64, buf: &mut [u8]) -> Result<usize, StorageError> {
        self.read_at(offset, buf)
    }

    fn append(&self, bytes: &[u8]) -> Result<u64, StorageError> {
        self.writable("append to")?;
        let mut content = self.content.write();
        let start = content.len() as u64;
        content.extend_from_slice(bytes);
        Ok(start)
    }

    fn truncate(&self, len: u64) -> Result<(), StorageError> {
        self.writable("truncate")?;
        let mut content = self.content.write();
        content.truncate(usize::try_from(len).unwrap_or(usize::MAX));
        Ok(())
    }

    fn extend(&self, len: u64) -> Result<bool, StorageError> {
        self.writable("extend")?;
        let mut content = self.content.write();
        let len = usize::try_from(len).unwrap_or(usize::MAX);
        if len > content.len() {
            content.resize(len, 0);
        }
        Ok(true)
    }

    fn fill(&self, offset: u64, bytes: &[u8]) -> Result<(), StorageError> {
        self.writable("fill")?;
        let mut content = self.content.write();
        let range = usize::try_from(offset)
            .ok()
            .map(|at| at..at.saturating_add(bytes.len()));
        match range.and_then(|range| content.get_mut(range)) {
            Some(room) => {
                room.copy_from_slice(bytes);
                Ok(())
            }
            None => Err(StorageError::io(
                "fill",
                &self.path,
                io::ErrorKind::UnexpectedEof.into(),
            )),
        }
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.writable("sync")
    }

    fn punch_hole(&self, bytes: Range<u64>) -> Result<Hole, StorageError> {
        self.writable("make a hole in")?;
        let mut content = self.content.write();
        let at = |offset| {
            usize::try_from(offset)
                .unwrap_or(usize::MAX)
                .min(content.len())
        };
        let hole = at(bytes.start)..at(bytes.end);
        if let Some(hole) = content.get_mut(hole) {
            hole.fill(0);
        }
        Ok(Hole::Made)
    }
}
