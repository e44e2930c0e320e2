//! Tags and bookmarks by changeset.

use crate::ui::encoding::LocalEncoding;
use std::collections::HashMap;
use varve_repo::{RepoError, RepoView, Rev};

/// The names that changesets have.
#[derive(Debug, Default)]
pub(crate) struct ChangesetNames {
    tags: HashMap<Rev, Vec<Vec<u8>>>,
    /// Tags of the null revision: in an empty repository it is the newest one.
    of_null: Vec<Vec<u8>>,
    /// By changeset, or the null revision.
    bookmarks: HashMap<Option<Rev>, Vec<Vec<u8>>>,
}

impl ChangesetNames {
    /// Reads all tags and bookmarks, as they are shown in an encoding.
    pub(crate) fn read(
        view: &RepoView,
        encoding: LocalEncoding,
    ) -> Result<ChangesetNames, RepoError> {
        let mut names = ChangesetNames::default();
        let changelog = view.changelog();
        for (name, node) in view.tags()? {
            if let Some(rev) = changelog.rev(&node) {
                names
                    .tags
                    .entry(rev)
                    .or_default()
                    .push(encoding.show(&name).into_owned());
            }
        }
        if let Some(tip) = view.tip() {
            let tags = names.tags.entry(tip).or_default();
            tags.push(b"tip".to_vec());
            tags.sort_unstable();
        } else {
            names.of_null.push(b"tip".to_vec());
        }
        for (name, node) in view.bookmarks() {
            let rev = changelog.rev(node);
            if rev.is_some() || node.is_null() {
                let name = encoding.show(name).into_owned();
                names.bookmarks.entry(rev).or_default().push(name);
            }
        }
        Ok(names)
    }

    /// Sorted; the newest changeset has `tip` among them.
    pub(crate) fn tags(&self, rev: impl Into<Option<Rev>>) -> &[Vec<u8>] {
        let Some(rev) = rev.into() else {
            return &self.of_null;
        };
        self.tags.get(&rev).map_or(&[], Vec::as_slice)
    }

    /// Sorted.
    pub(crate) fn bookmarks(&self, rev: impl Into<Option<Rev>>) -> &[Vec<u8>] {
        self.bookmarks.get(&rev.into()).map_or(&[], Vec::as_slice)
    }
}
