//! Files of a changeset whose changes `-p` and `--stat` show.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use varve_lang::patterns::Matcher;
use varve_repo::Rev;
use varve_revset::{FileHistory, LineHistory};

/// Which files of each changeset.
pub(crate) enum ShownFiles {
    /// In every changeset those that match.
    Matching(Box<Matcher>),
    /// Followed files, under the paths that they have in that changeset.
    Followed(FileHistory),
    /// Hunks around followed lines.
    Lines(LineHistory),
}

impl ShownFiles {
    /// Matches the files of one changeset.
    pub(crate) fn of(&self, rev: Option<Rev>) -> Cow<'_, Matcher> {
        match self {
            ShownFiles::Matching(matcher) => Cow::Borrowed(matcher),
            ShownFiles::Followed(history) => {
                let paths = rev.and_then(|rev| history.get(&rev));
                Cow::Owned(Matcher::exactly(paths.into_iter().flatten().cloned()))
            }
            ShownFiles::Lines(_) => {
                let paths = self.lines_of(rev).into_iter().flat_map(BTreeMap::keys);
                Cow::Owned(Matcher::exactly(paths.cloned()))
            }
        }
    }

    /// Lines of the files of one changeset, to which its hunks are restricted; `None` shows all hunks.
    pub(crate) fn lines_of(
        &self,
        rev: Option<Rev>,
    ) -> Option<&BTreeMap<Vec<u8>, Vec<Range<usize>>>> {
        match self {
            ShownFiles::Lines(history) => rev.and_then(|rev| history.get(&rev)),
            ShownFiles::Matching(_) | ShownFiles::Followed(_) => None,
        }
    }
}
