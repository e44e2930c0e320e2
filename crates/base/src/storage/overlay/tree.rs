//! Entries of an overlay by path: one of its own, a removal of the base's, or none, which shows the base's.

use super::super::{EntryKind, Storage, StorageError};
use super::content::Content;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound::{Included, Unbounded};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Entry that replaces the base's at a path.
#[derive(Clone, Debug)]
pub(super) enum OverlayEntry {
    File(Arc<Content>),
    Link(String),
    /// A directory of which nothing of the base shows.
    Directory,
    Gone,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Tree {
    over: BTreeMap<PathBuf, OverlayEntry>,
    /// Files of the base that are open for reading: their readers see bytes that are appended here.
    open: HashMap<PathBuf, Weak<Content>>,
    /// When something last happened in a directory, by the count of all that happened.
    changed: HashMap<PathBuf, u64>,
    changes: u64,
}

impl Tree {
    pub(super) fn get(&self, path: &Path) -> Option<&OverlayEntry> {
        self.over.get(path)
    }

    /// Whether the base's entry at a path counts.
    pub(super) fn shows_base(&self, path: &Path) -> bool {
        !path.ancestors().any(|above| self.over.contains_key(above))
    }

    pub(super) fn kind(
        &self,
        base: &dyn Storage,
        path: &Path,
    ) -> Result<Option<EntryKind>, StorageError> {
        match self.over.get(path) {
            Some(OverlayEntry::File(_)) => Ok(Some(EntryKind::File)),
            Some(OverlayEntry::Link(_)) => Ok(Some(EntryKind::Other)),
            Some(OverlayEntry::Directory) => Ok(Some(EntryKind::Directory)),
            Some(OverlayEntry::Gone) => Ok(None),
            None if self.shows_base(path) => base.kind(path),
            None => Ok(None),
        }
    }

    /// The overlay's own entries directly in a directory.
    pub(super) fn children(
        &self,
        directory: &Path,
    ) -> impl Iterator<Item = (&Path, &OverlayEntry)> {
        let below = self.below(directory);
        below.filter(move |(path, _)| path.parent() == Some(directory))
    }

    fn below(&self, directory: &Path) -> impl Iterator<Item = (&Path, &OverlayEntry)> {
        let from = self.over.range::<Path, _>((Included(directory), Unbounded));
        let from = from.map(|(path, over)| (path.as_path(), over));
        let directory = directory.to_owned();
        from.take_while(move |(path, _)| path.starts_with(&directory))
    }

    /// Puts something at a path.
    pub(super) fn put(&mut self, path: &Path, over: OverlayEntry) {
        if let OverlayEntry::File(content) = &over {
            content.named();
        }
        if let Some(OverlayEntry::File(before)) = self.over.insert(path.to_owned(), over) {
            before.unnamed();
        }
        self.touch(path);
    }

    /// Notes that something happened to a name.
    pub(super) fn touch(&mut self, path: &Path) {
        self.changes += 1;
        for directory in [path, path.parent().unwrap_or(Path::new(""))] {
            self.changed.insert(directory.to_owned(), self.changes);
        }
    }

    /// Shift of the base's time of a directory.
    pub(super) fn shift(&self, directory: &Path) -> Duration {
        Duration::from_micros(self.changed.get(directory).copied().unwrap_or_default())
    }

    /// Removes the entries at a path and below.
    pub(super) fn clear(&mut self, base: &dyn Storage, path: &Path) -> Result<(), StorageError> {
        let own: Vec<PathBuf> = self.below(path).map(|(path, _)| path.to_owned()).collect();
        for path in own {
            if let Some(OverlayEntry::File(content)) = self.over.remove(&path) {
                content.unnamed();
            }
        }
        if self.shows_base(path) && base.kind(path)?.is_some() {
            self.over.insert(path.to_owned(), OverlayEntry::Gone);
        }
        self.touch(path);
        Ok(())
    }

    /// Makes the base's entry at a path, and all below it, the overlay's own.
    pub(super) fn adopt(&mut self, base: &dyn Storage, path: &Path) -> Result<(), StorageError> {
        let (mut left, mut found) = (vec![path.to_owned()], Vec::new());
        while let Some(path) = left.pop() {
            if !self.shows_base(&path) {
                continue;
            }
            let over = match base.kind(&path)? {
                None => continue,
                Some(EntryKind::File) => OverlayEntry::File(self.of_base(base, &path)?),
                Some(EntryKind::Other) => {
                    OverlayEntry::Link(base.read_symlink(&path)?.unwrap_or_default())
                }
                Some(EntryKind::Directory) => {
                    let entries = base.list(&path)?.into_iter();
                    left.extend(entries.map(|entry| path.join(entry.name)));
                    OverlayEntry::Directory
                }
            };
            found.push((path, over));
        }
        // Last, because a directory hides the base's entries below it.
        for (path, over) in found {
            self.put(&path, over);
        }
        Ok(())
    }

    /// The content of a file that the base has; open handles of it see the same.
    pub(super) fn of_base(
        &mut self,
        base: &dyn Storage,
        path: &Path,
    ) -> Result<Arc<Content>, StorageError> {
        if let Some(content) = self.open.get(path).and_then(Weak::upgrade) {
            return Ok(content);
        }
        let len = base.file_len(path)?.unwrap_or_default();
        let content = Arc::new(Content::of_base(path, len));
        self.open.insert(path.to_owned(), Arc::downgrade(&content));
        Ok(content)
    }

    /// Moves the overlay's own entries at some paths to others.
    pub(super) fn move_own(&mut self, moved: impl Fn(&Path) -> Option<PathBuf>) {
        let mut places = Vec::new();
        for (path, over) in std::mem::take(&mut self.over) {
            match moved(&path) {
                Some(new) => places.push((new, over)),
                None => {
                    self.over.insert(path, over);
                }
            }
        }
        // Last: the entries that stood there meanwhile only hid the base's.
        self.over.extend(places);
    }
}
