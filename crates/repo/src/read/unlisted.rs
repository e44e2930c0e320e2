//! Files that changesets name and the store's list (`fncache`) lacks.
//!
//! A list that lost a line, by damage or by a writer that died, still has the right form. Copies that follow the list
//! alone would lose the history of a file without any sign, so the list is compared with the changesets first.

use crate::format::RepoError;
use crate::read::RepoView;
use parking_lot::Mutex;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::Storage;
use varve_base::storage::EntryKind;

/// Names that the list of the store lacks, kept for the list that they were searched with: a list may be damaged under a
/// view, which changes neither the changelog nor the store's directory.
#[derive(Debug, Default)]
pub(crate) struct Unlisted {
    files: KeptNames,
    store_names: KeptNames,
}

/// Names of files, sorted.
type UnlistedNames = Arc<[Vec<u8>]>;

/// Names, behind the hash of the list.
#[derive(Debug, Default)]
struct KeptNames(Mutex<Option<(u64, UnlistedNames)>>);

impl KeptNames {
    /// The names for this list, searched if they are not known.
    fn get(
        &self,
        listed: &[Vec<u8>],
        search: impl FnOnce() -> Result<Vec<Vec<u8>>, RepoError>,
    ) -> Result<UnlistedNames, RepoError> {
        let mut hash = DefaultHasher::new();
        listed.hash(&mut hash);
        let hash = hash.finish();
        if let Some((known, names)) = &*self.0.lock()
            && *known == hash
        {
            return Ok(Arc::clone(names));
        }
        let names: UnlistedNames = search()?.into();
        *self.0.lock() = Some((hash, Arc::clone(&names)));
        Ok(names)
    }
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

    /// Files that a changeset names as changed and that are not listed, sorted; none in a sound repository.
    fn unlisted_files(&self, listed: &[Vec<u8>]) -> Result<UnlistedNames, RepoError> {
        self.unlisted().files.get(listed, || {
            let listed: HashSet<&[u8]> = listed.iter().map(Vec::as_slice).collect();
            let mut unlisted = BTreeSet::new();
            self.named_files(&mut |file| {
                if !listed.contains(file) && !unlisted.contains(file) {
                    unlisted.insert(file.to_vec());
                }
            });
            Ok(unlisted.into_iter().collect())
        })
    }

    /// Every file that the list of the store or a changeset names, sorted bytewise.
    ///
    /// # Errors
    /// If the list is damaged.
    pub fn files_with_history(&self) -> Result<Vec<Vec<u8>>, RepoError> {
        let mut files = self.tracked_files()?;
        let unlisted = self.unlisted_files(&files)?;
        if !unlisted.is_empty() {
            files.extend_from_slice(&unlisted);
            files.sort_unstable();
        }
        Ok(files)
    }

    /// Names of the store's files below `data/`, without any encoding: listed ones, and then those that are there though
    /// the list lacks them, which are files of unlisted histories, and data files whose index alone is listed.
    pub(crate) fn all_store_names(&self) -> Result<Vec<Vec<u8>>, RepoError> {
        let mut names = self.store_names()?;
        let unlisted = self.unlisted().store_names.get(&names, || {
            let mut may_be_there = Vec::new();
            for file in self.unlisted_files(&tracked(&names))?.iter() {
                may_be_there.extend([b".i", b".d"].map(|end| [b"data/", &file[..], end].concat()));
            }
            let indexes = names.iter().filter_map(|name| name.strip_suffix(b".i"));
            let data = indexes.map(|name| [name, b".d"].concat());
            may_be_there.extend(data.filter(|name| names.binary_search(name).is_err()));
            let mut entries = Entries::of(self.storage());
            let mut found = Vec::new();
            for name in may_be_there {
                if entries.has(&self.store_path(&name))? {
                    found.push(name);
                }
            }
            Ok(found)
        })?;
        names.extend_from_slice(&unlisted);
        Ok(names)
    }
}

/// Files whose index a list of the store names, sorted bytewise.
pub(super) fn tracked(store_names: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut files: Vec<Vec<u8>> = store_names
        .iter()
        .filter_map(|name| name.strip_prefix(b"data/")?.strip_suffix(b".i"))
        .map(<[u8]>::to_vec)
        .collect();
    files.sort_unstable();
    files
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
