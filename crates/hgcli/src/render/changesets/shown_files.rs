//! Files of a changeset whose changes `-p` and `--stat` show.

use std::borrow::Cow;
use varve_lang::patterns::Matcher;
use varve_repo::Rev;
use varve_revset::FileHistory;

/// Which files of each changeset.
pub(crate) enum ShownFiles {
    /// In every changeset those that match.
    Matching(Box<Matcher>),
    /// Followed files, under the paths that they have in that changeset.
    Followed(FileHistory),
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
        }
    }
}
