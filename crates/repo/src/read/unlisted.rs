//! Files that changesets name and the store's list (`fncache`) lacks.
//!
//! A list that lost a line, by damage or by a writer that died, still has the right form. Copies that follow the list
//! alone would lose the history of a file without any sign, so the list is compared with the changesets first.

use crate::format::RepoError;
use crate::read::RepoView;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use varve_base::Storage;
use varve_base::storage::EntryKind;

/// What a view found that the list of the store lacks, searched once.
#[derive(Debug, Default)]
pub(crate) struct Unlisted {
    files: OnceLock<Vec<Vec<u8>>>,
    store_names: OnceLock<Vec<Vec<u8>>>,
}

impl RepoView {
    /// Every file that a changeset of this view names as changed.
    ///
    /// A changeset that cannot be read names no files here: whatever needs its text reports the damage.
    fn named_files(&self, wanted: &mut dyn FnMut(&[u8])) {
        let mut reader = self.changelog().reader();
        for rev in self.changelog().revs() {
            let text = reader.text(rev);
            if let Some(changeset) = text.ok().and_then(|t| self.parse_changeset(rev, t).ok()) {
                changeset.files().for_each(&mut *wanted);
            }
        }
    }

    /// Whether any changeset names this file as changed.
    pub fn is_named(&self, file: &[u8]) -> bool {
        let mut found = false;
        self.named_files(&mut |named| found |= named == file);
        found
    }

    /// Files that a changeset names as changed and the list of the store lacks, sorted; none in a sound repository.
    /// They are searched once for each view.
    ///
    /// # Errors
    /// If the list is damaged.
    pub fn unlisted_files(&self) -> Result<&[Vec<u8>], RepoError> {
        if let Some(known) = self.unlisted().files.get() {
            return Ok(known);
        }
        let listed: HashSet<Vec<u8>> = self.tracked_files()?.into_iter().collect();
        let mut unlisted = BTreeSet::new();
        self.named_files(&mut |file| {
            if !listed.contains(file) && !unlisted.contains(file) {
                unlisted.insert(file.to_vec());
            }
        });
        let unlisted = unlisted.into_iter().collect();
        Ok(self.unlisted().files.get_or_init(|| unlisted))
    }

    /// Every file that the list of the store or a changeset names, sorted bytewise.
    ///
    /// # Errors
    /// If the list is damaged.
    pub fn files_with_history(&self) -> Result<Vec<Vec<u8>>, RepoError> {
        let mut files = self.tracked_files()?;
        let unlisted = self.unlisted_files()?;
        if !unlisted.is_empty() {
            files.extend_from_slice(unlisted);
            files.sort_unstable();
        }
        Ok(files)
    }

    /// Names of files below `data/` that are in the store although the list lacks them, without any encoding: files of
    /// unlisted histories, and data files whose index alone is listed. None in a sound repository.
    pub(crate) fn unlisted_store_names(&self) -> Result<Vec<Vec<u8>>, RepoError> {
        if let Some(known) = self.unlisted().store_names.get() {
            return Ok(known.clone());
        }
        let listed = self.store_names()?;
        let mut names = Vec::new();
        for file in self.unlisted_files()? {
            names.extend([b".i", b".d"].map(|end| [b"data/", &file[..], end].concat()));
        }
        let indexes = listed.iter().filter_map(|name| name.strip_suffix(b".i"));
        let data = indexes.map(|name| [name, b".d"].concat());
        names.extend(data.filter(|name| listed.binary_search(name).is_err()));
        let mut entries = Entries::of(self.storage());
        let mut found = Vec::new();
        for name in names {
            if entries.has(&self.store_path(&name))? {
                found.push(name);
            }
        }
        Ok(self.unlisted().store_names.get_or_init(|| found).clone())
    }
}

/// Tells which files are there, one look at each directory: most of the names that it is asked for are of no file, and
/// a look for each would double the cost of a list.
struct Entries<'a> {
    storage: &'a dyn Storage,
    known: HashMap<PathBuf, HashSet<OsString>>,
}

impl<'a> Entries<'a> {
    fn of(storage: &'a dyn Storage) -> Self {
        let known = HashMap::new();
        Entries { storage, known }
    }

    fn has(&mut self, path: &Path) -> Result<bool, RepoError> {
        let (Some(directory), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(false);
        };
        if !self.known.contains_key(directory) {
            let is_there = self.storage.kind(directory)? == Some(EntryKind::Directory);
            let entries = match is_there {
                true => self.storage.list(directory)?,
                false => Vec::new(),
            };
            let names = entries.into_iter().map(|entry| entry.name).collect();
            self.known.insert(directory.to_owned(), names);
        }
        let names = self.known.get(directory);
        Ok(names.is_some_and(|names| names.contains(name)))
    }
}
