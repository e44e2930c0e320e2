//! Files that changesets name and the store's list (`fncache`) lacks.
//!
//! A list that lost a line, by damage or by a writer that died, still has the right form. Copies that follow the list
//! alone would lose the history of a file without any sign, so the list is compared with the changesets first.

use crate::format::RepoError;
use crate::read::RepoView;
use std::collections::{BTreeSet, HashSet};

/// See [`RepoView::all_store_names`].
pub(crate) struct StoreNames {
    /// Sorted.
    pub(crate) listed: Vec<Vec<u8>>,
    /// Files of unlisted histories, and data files whose index alone is listed. Most are not there: a short history is
    /// in its index.
    pub(crate) unlisted: Vec<Vec<u8>>,
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
        if let Some(known) = self.known_unlisted().get() {
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
        Ok(self.known_unlisted().get_or_init(|| unlisted))
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

    /// Names of the store's files below `data/` without any encoding, listed and unlisted ones.
    pub(crate) fn all_store_names(&self) -> Result<StoreNames, RepoError> {
        let listed = self.store_names()?;
        let mut unlisted = Vec::new();
        for file in self.unlisted_files()? {
            unlisted.extend([b".i", b".d"].map(|end| [b"data/", &file[..], end].concat()));
        }
        let indexes = listed.iter().filter_map(|name| name.strip_suffix(b".i"));
        let data = indexes.map(|name| [name, b".d"].concat());
        unlisted.extend(data.filter(|name| listed.binary_search(name).is_err()));
        Ok(StoreNames { listed, unlisted })
    }
}
