//! Tags, bookmarks and branches.

use super::{PageReader, Text};
use crate::hg::pages::error::PageError;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use varve_lang::date::Date;
use varve_repo::{BranchHeads, Node, RepoView, Rev};

/// A name of a changeset.
#[derive(Clone, Debug)]
pub(in crate::hg::pages) struct Label {
    pub(in crate::hg::pages) name: Text,
    pub(in crate::hg::pages) node: Node,
    pub(in crate::hg::pages) date: Date,
    /// Of branches: `open`, `inactive` or `closed`.
    pub(in crate::hg::pages) status: &'static str,
}

/// All tags of changesets that there are, with `tip`.
pub(super) fn all_tags(view: &RepoView) -> Result<BTreeMap<Text, Node>, PageError> {
    let mut tags = view.tags()?;
    let changelog = view.changelog();
    let is_shown = |node: &Node| {
        let rev = changelog.rev(node);
        rev.is_some_and(|rev| view.is_visible(rev))
    };
    tags.retain(|_, node| is_shown(node));
    tags.insert(b"tip".to_vec(), changelog.node_or_null(view.tip()));
    Ok(tags)
}

impl PageReader<'_> {
    /// Tags with `tip`, the newest changeset's first.
    ///
    /// # Errors
    /// A damaged repository.
    pub(in crate::hg::pages) fn all_tags(&self) -> Result<Vec<Label>, PageError> {
        let mut tags: Vec<(Option<Rev>, Text)> = all_tags(self.view)?
            .into_iter()
            .map(|(name, node)| (self.view.changelog().rev(&node), name))
            .collect();
        tags.sort_unstable_by(|a, b| b.cmp(a));
        let label = |(rev, name)| self.label(name, rev, "");
        tags.into_iter().map(label).collect()
    }

    /// Bookmarks, the newest changeset's first.
    ///
    /// # Errors
    /// A damaged repository.
    pub(in crate::hg::pages) fn all_bookmarks(&self) -> Result<Vec<Label>, PageError> {
        let changelog = self.view.changelog();
        let mut bookmarks: Vec<(Reverse<Rev>, Text)> = (self.view.bookmarks().iter())
            .filter_map(|(name, node)| Some((Reverse(changelog.rev(node)?), name.clone())))
            .filter(|(rev, _)| self.view.is_visible(rev.0))
            .collect();
        bookmarks.sort();
        let label = |(Reverse(rev), name)| self.label(name, Some(rev), "");
        bookmarks.into_iter().map(label).collect()
    }

    /// Branches with their tips: open ones first, the newest first.
    ///
    /// # Errors
    /// A damaged repository.
    pub(in crate::hg::pages) fn all_branches(&self) -> Result<Vec<Label>, PageError> {
        let heads = self.view.heads();
        let mut branches: Vec<(bool, Rev, Text, &'static str)> = (self.view.branchmap()?.iter())
            .filter_map(|(name, branch)| {
                let tip = branch.tip()?;
                let status = status(branch, tip, &heads);
                let is_open = !branch.closed.contains(&tip);
                Some((is_open, tip, name.clone(), status))
            })
            .collect();
        branches.sort_unstable_by(|a, b| b.cmp(a));
        let label = |(_, rev, name, status)| self.label(name, Some(rev), status);
        branches.into_iter().map(label).collect()
    }

    fn label(
        &self,
        name: Text,
        rev: Option<Rev>,
        status: &'static str,
    ) -> Result<Label, PageError> {
        Ok(Label {
            name,
            node: self.node(rev),
            date: self.date(rev)?,
            status,
        })
    }

    /// When a changeset was made.
    ///
    /// # Errors
    /// A damaged changeset.
    pub(in crate::hg::pages) fn date(&self, rev: Option<Rev>) -> Result<Date, PageError> {
        let Some(rev) = rev else {
            return Ok(Date::default());
        };
        Ok(self.view.with_changeset(rev, |changeset| Date {
            time: changeset.time,
            zone: changeset.zone,
        })?)
    }
}

fn status(branch: &BranchHeads, tip: Rev, heads: &[Rev]) -> &'static str {
    if branch.closed.contains(&tip) {
        "closed"
    } else if branch.heads.iter().any(|head| heads.contains(head)) {
        "open"
    } else {
        "inactive"
    }
}
