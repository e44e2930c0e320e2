//! A storage laid over another one: all writes stay here, and are gone with it; the base is only read.
//!
//! A file that is appended to keeps its first bytes in the base. All bytes that are written go into
//! one scratch file, so that neither memory nor the number of open files grows with them. A file of
//! the base that is open here, or was appended to, has the length that it had then.

mod content;
mod tree;

use super::{Entry, EntryKind, OpenMode, Storage, StorageError, StorageFile};
use content::Content;
use parking_lot::{Mutex, MutexGuard};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;
use tree::{OverlayEntry, Tree};

/// See the module. The rules for two threads that write are those of [`Storage`].
#[derive(Debug)]
pub struct OverlayStorage {
    base: Arc<dyn Storage>,
    /// Where all bytes go.
    scratch: Arc<dyn StorageFile>,
    tree: Mutex<Tree>,
}

impl OverlayStorage {
    /// Lays an empty one over `base`. `scratch` is an empty file without another writer.
    pub fn new(base: Arc<dyn Storage>, scratch: Arc<dyn StorageFile>) -> OverlayStorage {
        OverlayStorage {
            base,
            scratch,
            tree: Mutex::default(),
        }
    }

    fn tree(&self) -> MutexGuard<'_, Tree> {
        self.tree.lock()
    }

    fn base(&self) -> &dyn Storage {
        self.base.as_ref()
    }

    fn handle(
        &self,
        content: &Arc<Content>,
        path: &Path,
        writable: bool,
    ) -> Result<Arc<dyn StorageFile>, StorageError> {
        Ok(Arc::new(content.open(
            path,
            writable,
            (self.base(), &self.scratch),
        )?))
    }

    /// Fails unless there is a directory for `path` to stand in.
    fn check_directory(
        &self,
        tree: &Tree,
        op: &'static str,
        path: &Path,
    ) -> Result<(), StorageError> {
        let directory = path.parent().unwrap_or(Path::new(""));
        let is_there = directory.as_os_str().is_empty()
            || tree.kind(self.base(), directory)? == Some(EntryKind::Directory);
        is_there.then_some(()).ok_or_else(|| not_found(op, path))
    }

    /// Fails if something stands at `path`, or if there is no directory for it.
    fn check_free(&self, tree: &Tree, op: &'static str, path: &Path) -> Result<(), StorageError> {
        if tree.kind(self.base(), path)?.is_some() {
            return Err(failed(op, path, io::ErrorKind::AlreadyExists));
        }
        self.check_directory(tree, op, path)
    }

    /// The content of a file, made the overlay's own.
    fn own(
        &self,
        tree: &mut Tree,
        op: &'static str,
        path: &Path,
    ) -> Result<Arc<Content>, StorageError> {
        if tree.kind(self.base(), path)? != Some(EntryKind::File) {
            return Err(not_found(op, path));
        }
        tree.adopt(self.base(), path)?;
        match tree.get(path) {
            Some(OverlayEntry::File(content)) => Ok(Arc::clone(content)),
            _ => Err(not_found(op, path)),
        }
    }
}

fn failed(op: &'static str, path: &Path, kind: io::ErrorKind) -> StorageError {
    StorageError::io(op, path, kind.into())
}

fn not_found(op: &'static str, path: &Path) -> StorageError {
    failed(op, path, io::ErrorKind::NotFound)
}

impl Storage for OverlayStorage {
    fn open(&self, path: &Path, mode: OpenMode) -> Result<Arc<dyn StorageFile>, StorageError> {
        let mut tree = self.tree();
        let content = match mode {
            OpenMode::Read => match tree.get(path) {
                Some(OverlayEntry::File(content)) => Arc::clone(content),
                None if tree.shows_base(path) => {
                    // The base refuses anything but a file in its own way.
                    if self.base.kind(path)? != Some(EntryKind::File) {
                        return self.base.open(path, mode);
                    }
                    tree.of_base(self.base(), path)?
                }
                _ => return Err(not_found("open", path)),
            },
            OpenMode::Append => {
                let shared = self.own(&mut tree, "open", path)?;
                if shared.names() < 2 {
                    shared
                } else {
                    let own = Arc::new(shared.detached());
                    tree.put(path, OverlayEntry::File(Arc::clone(&own)));
                    own
                }
            }
            OpenMode::CreateNew => {
                self.check_free(&tree, "create", path)?;
                let content = Arc::new(Content::default());
                tree.put(path, OverlayEntry::File(Arc::clone(&content)));
                content
            }
        };
        self.handle(&content, path, mode != OpenMode::Read)
    }

    fn kind(&self, path: &Path) -> Result<Option<EntryKind>, StorageError> {
        self.tree().kind(self.base(), path)
    }

    fn file_len(&self, path: &Path) -> Result<Option<u64>, StorageError> {
        let tree = self.tree();
        match tree.get(path) {
            Some(OverlayEntry::File(content)) => Ok(Some(content.len())),
            None if tree.shows_base(path) => self.base.file_len(path),
            _ => Ok(None),
        }
    }

    fn modified(&self, directory: &Path) -> Result<Option<SystemTime>, StorageError> {
        let tree = self.tree();
        if tree.kind(self.base(), directory)? != Some(EntryKind::Directory) {
            return Ok(None);
        }
        let of_base = match tree.shows_base(directory) {
            true => self.base.modified(directory)?,
            false => None,
        };
        let time = of_base.unwrap_or(SystemTime::UNIX_EPOCH);
        Ok(Some(time + tree.shift(directory)))
    }

    fn list(&self, directory: &Path) -> Result<Vec<Entry>, StorageError> {
        let tree = self.tree();
        if tree.kind(self.base(), directory)? != Some(EntryKind::Directory) {
            return Err(not_found("list", directory));
        }
        let mut entries = match tree.shows_base(directory) {
            true => self.base.list(directory)?,
            false => Vec::new(),
        };
        entries.retain(|entry| tree.get(&directory.join(&entry.name)).is_none());
        for (path, over) in tree.children(directory) {
            let kind = match over {
                OverlayEntry::File(_) => EntryKind::File,
                OverlayEntry::Link(_) => EntryKind::Other,
                OverlayEntry::Directory => EntryKind::Directory,
                OverlayEntry::Gone => continue,
            };
            let name: OsString = path.file_name().unwrap_or_default().to_owned();
            entries.push(Entry { name, kind });
        }
        Ok(entries)
    }

    fn create_directory(&self, directory: &Path) -> Result<(), StorageError> {
        let mut tree = self.tree();
        let mut missing = Vec::new();
        for path in directory.ancestors().filter(|path| *path != Path::new("")) {
            match tree.kind(self.base(), path)? {
                Some(EntryKind::Directory) => break,
                None => missing.push(path),
                Some(_) => {
                    let kind = io::ErrorKind::AlreadyExists;
                    return Err(failed("create directory", path, kind));
                }
            }
        }
        for path in missing.into_iter().rev() {
            tree.put(path, OverlayEntry::Directory);
        }
        Ok(())
    }

    fn rename(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        let mut tree = self.tree();
        let kind = tree.kind(self.base(), from)?;
        let kind = kind.ok_or_else(|| not_found("rename", from))?;
        if from == to {
            return Ok(());
        }
        self.check_directory(&tree, "rename", to)?;
        let replaced = tree.kind(self.base(), to)?;
        let is_directory = |kind| kind == EntryKind::Directory;
        if replaced.is_some_and(|replaced| is_directory(replaced) || is_directory(kind)) {
            return Err(failed("rename", from, io::ErrorKind::AlreadyExists));
        }
        if to.starts_with(from) {
            return Err(failed("rename", from, io::ErrorKind::InvalidInput));
        }
        tree.adopt(self.base(), from)?;
        tree.clear(self.base(), to)?;
        tree.move_own(|path| path.strip_prefix(from).ok().map(|rest| join(to, rest)));
        tree.clear(self.base(), from)?;
        tree.touch(to);
        Ok(())
    }

    fn exchange(&self, one: &Path, other: &Path) -> Result<(), StorageError> {
        let mut tree = self.tree();
        for path in [one, other] {
            let kind = tree.kind(self.base(), path)?;
            kind.ok_or_else(|| not_found("exchange", path))?;
        }
        if one.starts_with(other) || other.starts_with(one) {
            return Err(failed("exchange", one, io::ErrorKind::InvalidInput));
        }
        tree.adopt(self.base(), one)?;
        tree.adopt(self.base(), other)?;
        tree.move_own(
            |path| match (path.strip_prefix(one), path.strip_prefix(other)) {
                (Ok(rest), _) => Some(join(other, rest)),
                (_, Ok(rest)) => Some(join(one, rest)),
                _ => None,
            },
        );
        tree.touch(one);
        tree.touch(other);
        Ok(())
    }

    fn remove_tree(&self, directory: &Path) -> Result<(), StorageError> {
        let mut tree = self.tree();
        tree.clear(self.base(), directory)
    }

    fn sync_tree(&self, _directory: &Path) -> Result<(), StorageError> {
        Ok(())
    }

    fn remove(&self, path: &Path) -> Result<(), StorageError> {
        let mut tree = self.tree();
        match tree.kind(self.base(), path)? {
            Some(EntryKind::File | EntryKind::Other) => tree.clear(self.base(), path),
            Some(EntryKind::Directory) => Err(failed("remove", path, io::ErrorKind::IsADirectory)),
            None => Err(not_found("remove", path)),
        }
    }

    fn link(&self, from: &Path, to: &Path) -> Result<(), StorageError> {
        let mut tree = self.tree();
        let content = self.own(&mut tree, "link", from)?;
        self.check_free(&tree, "link", to)?;
        tree.put(to, OverlayEntry::File(content));
        Ok(())
    }

    fn create_symlink(&self, target: &str, path: &Path) -> Result<(), StorageError> {
        let mut tree = self.tree();
        self.check_free(&tree, "create", path)?;
        tree.put(path, OverlayEntry::Link(target.to_owned()));
        Ok(())
    }

    fn read_symlink(&self, path: &Path) -> Result<Option<String>, StorageError> {
        {
            let tree = self.tree();
            match tree.get(path) {
                Some(OverlayEntry::Link(target)) => return Ok(Some(target.clone())),
                Some(OverlayEntry::File(_)) => {}
                None if tree.shows_base(path) => return self.base.read_symlink(path),
                _ => return Ok(None),
            }
        }
        let text = super::read_if_there(self, path)?;
        Ok(text.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    fn sync_directory(&self, _directory: &Path) -> Result<(), StorageError> {
        Ok(())
    }
}

/// `directory` itself for the empty rest, without a slash at its end.
fn join(directory: &Path, rest: &Path) -> PathBuf {
    match rest.as_os_str().is_empty() {
        true => directory.to_owned(),
        false => directory.join(rest),
    }
}

#[cfg(test)]
mod tests;
