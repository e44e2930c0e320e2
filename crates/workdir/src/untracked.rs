//! Untracked files in the way of those that an update or a merge brings.

use crate::{IgnoreFiles, WorkdirError};
use std::path::{Path, PathBuf};

/// The treatment of an untracked file that differs from the tracked one that would take its place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnUntracked {
    /// Nothing is changed; where files are merged without a check for changes, it is merged.
    #[default]
    Refuse,
    /// The file is kept as a backup and replaced, and the user is told.
    Warn,
    /// The same without a word.
    Replace,
}

impl OnUntracked {
    /// The values of the setting, in the order of messages.
    pub const SETTINGS: [(&'static str, OnUntracked); 3] = [
        ("abort", OnUntracked::Refuse),
        ("ignore", OnUntracked::Replace),
        ("warn", OnUntracked::Warn),
    ];
}

/// The treatment of all untracked files that are in the way.
#[derive(Clone, Debug, Default)]
pub struct UntrackedFiles {
    /// That of files that are not ignored.
    pub unknown: OnUntracked,
    /// That of ignored files.
    pub ignored: OnUntracked,
    /// The files besides `.hgignore` that say what is ignored.
    pub ignore_files: Vec<PathBuf>,
}

impl UntrackedFiles {
    /// True if no file is ever replaced.
    pub(crate) fn refuse_all(&self) -> bool {
        [self.unknown, self.ignored] == [OnUntracked::Refuse; 2]
    }

    /// Each path with its treatment, sorted.
    pub(crate) fn treatments(
        &self,
        root: &Path,
        mut paths: Vec<Vec<u8>>,
    ) -> Result<Vec<(Vec<u8>, OnUntracked)>, WorkdirError> {
        paths.sort();
        // Only to tell the kinds apart the patterns must be read.
        let ignore = match self.unknown == self.ignored || paths.is_empty() {
            true => None,
            false => Some(IgnoreFiles::read(root, &self.ignore_files)?.ignore),
        };
        let of = |path: &[u8]| match &ignore {
            Some(ignore) if ignore.matches_from_above(path) => self.ignored,
            _ => self.unknown,
        };
        let with_treatment = paths.into_iter().map(|path| {
            let treatment = of(&path);
            (path, treatment)
        });
        Ok(with_treatment.collect())
    }

    /// Those of `colliding` that are replaced.
    ///
    /// # Errors
    /// [`WorkdirError::UntrackedDiffer`] with the others, if there are any.
    pub(crate) fn permit(
        &self,
        root: &Path,
        colliding: Vec<Vec<u8>>,
    ) -> Result<Vec<ReplacedFile>, WorkdirError> {
        let treatments = self.treatments(root, colliding)?;
        let is_refused = |treatment: &OnUntracked| *treatment == OnUntracked::Refuse;
        let refused = treatments.iter().filter(|(_, how)| is_refused(how));
        let refused: Vec<String> = refused.map(|(path, _)| crate::files::shown(path)).collect();
        if !refused.is_empty() {
            return Err(WorkdirError::UntrackedDiffer(refused));
        }
        let replaced = treatments.into_iter().map(|(path, how)| ReplacedFile {
            path,
            is_told: how == OnUntracked::Warn,
        });
        Ok(replaced.collect())
    }
}

/// An untracked file that another one replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReplacedFile {
    /// Its path.
    pub path: Vec<u8>,
    /// True if the user is told.
    pub is_told: bool,
}
