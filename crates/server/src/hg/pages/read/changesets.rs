//! Changesets with their names.

use super::{PageReader, Text};
use crate::hg::pages::error::PageError;
use varve_lang::date::Date;
use varve_repo::{DEFAULT_BRANCH, Node, Rev};

/// A changeset, or the null revision.
#[derive(Clone, Debug)]
pub(in crate::hg::pages) struct ChangesetEntry {
    /// `None` for the null revision.
    pub(in crate::hg::pages) rev: Option<Rev>,
    pub(in crate::hg::pages) node: Node,
    pub(in crate::hg::pages) date: Date,
    pub(in crate::hg::pages) description: Text,
    pub(in crate::hg::pages) branch: Text,
    /// Set if no later changeset is on its branch.
    pub(in crate::hg::pages) is_branch_tip: bool,
    pub(in crate::hg::pages) bookmarks: Vec<Text>,
    pub(in crate::hg::pages) tags: Vec<Text>,
    pub(in crate::hg::pages) user: Text,
    pub(in crate::hg::pages) phase: &'static str,
    pub(in crate::hg::pages) parents: Vec<Node>,
    /// As the changeset lists them.
    pub(in crate::hg::pages) files: Vec<Text>,
}

impl ChangesetEntry {
    fn null() -> ChangesetEntry {
        ChangesetEntry {
            rev: None,
            node: Node::NULL,
            date: Date::default(),
            description: Vec::new(),
            branch: DEFAULT_BRANCH.to_vec(),
            is_branch_tip: false,
            bookmarks: Vec::new(),
            tags: Vec::new(),
            user: Vec::new(),
            phase: "public",
            parents: Vec::new(),
            files: Vec::new(),
        }
    }

    /// The first line of the description.
    pub(in crate::hg::pages) fn summary(&self) -> &[u8] {
        self.description
            .split(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default()
    }
}

impl PageReader<'_> {
    /// A changeset, or the null revision.
    ///
    /// # Errors
    /// A damaged repository.
    pub(in crate::hg::pages) fn entry(
        &self,
        rev: Option<Rev>,
    ) -> Result<ChangesetEntry, PageError> {
        let view = self.view;
        let node = self.node(rev);
        let Some(known) = rev else {
            return Ok(ChangesetEntry::null());
        };
        let mut entry = view.with_changeset(known, |changeset| ChangesetEntry {
            rev,
            node,
            date: Date {
                time: changeset.time,
                zone: changeset.zone,
            },
            description: changeset.description.to_vec(),
            branch: changeset.branch().into_owned(),
            user: changeset.user.to_vec(),
            files: changeset.files().map(<[u8]>::to_vec).collect(),
            ..ChangesetEntry::null()
        })?;
        let branch = view.branchmap()?.get(&entry.branch);
        entry.is_branch_tip = branch.and_then(varve_repo::BranchHeads::tip) == rev;
        entry.bookmarks = PageReader::labels_of(&self.bookmarks, &node).to_vec();
        entry.tags = PageReader::labels_of(&self.tags, &node).to_vec();
        entry.phase = view.phases().of(known).name();
        entry.parents = self.parents(rev);
        Ok(entry)
    }

    /// Some changesets in this order.
    ///
    /// # Errors
    /// A damaged repository; interruption.
    pub(in crate::hg::pages) fn entries(
        &self,
        revs: impl IntoIterator<Item = Rev>,
    ) -> Result<Vec<ChangesetEntry>, PageError> {
        let read = |rev| {
            self.check_stop()?;
            self.entry(Some(rev))
        };
        revs.into_iter().map(read).collect()
    }

    pub(in crate::hg::pages) fn check_stop(&self) -> Result<(), PageError> {
        let stopped = |_| PageError::Failed(crate::Failure::internal("interrupted"));
        self.stop.check().map_err(stopped)
    }

    /// Nodes of the parents.
    pub(in crate::hg::pages) fn parents(&self, rev: Option<Rev>) -> Vec<Node> {
        let changelog = self.view.changelog();
        let parents = rev.map(|rev| changelog.parents(rev)).unwrap_or_default();
        let parents = parents.into_iter().flatten();
        parents.map(|parent| changelog.node(parent)).collect()
    }

    /// The first parent.
    pub(in crate::hg::pages) fn first_parent(&self, rev: Option<Rev>) -> Option<Rev> {
        self.view.changelog().parents(rev?)[0]
    }

    /// Nodes of the visible children, oldest first.
    pub(in crate::hg::pages) fn children(&self, rev: Option<Rev>) -> Vec<Node> {
        let changelog = self.view.changelog();
        let first = rev.map_or(0, |rev| rev.0 + 1);
        let is_child = |child: &Rev| match rev {
            Some(_) => changelog.parents(*child).contains(&rev),
            None => changelog.parents(*child) == [None, None],
        };
        let end = changelog.len() as u32;
        (first..end)
            .map(Rev)
            .filter(|child| self.view.is_visible(*child) && is_child(child))
            .map(|child| changelog.node(child))
            .collect()
    }
}
