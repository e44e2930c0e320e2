//! Data of pages, taken from a view of the repository into plain structs. Texts are bytes: each renderer has its own way with
//! those that are no UTF-8.

pub(super) mod annotation;
pub(super) mod changesets;
pub(super) mod comparison;
pub(super) mod diff;
pub(super) mod file;
pub(super) mod graph;
pub(super) mod labels;
pub(super) mod search;
pub(super) mod tree;

use super::error::PageError;
use std::collections::HashMap;
use varve_base::Interrupt;
use varve_repo::{LookupError, Node, RepoView, Rev};

/// A text of the repository.
pub(super) type Text = Vec<u8>;

/// Longest text of a file, in bytes, that is shown in lines or compared.
pub(super) const LONGEST_FILE: usize = 16 << 20;

/// A view with the names that changesets have.
pub(super) struct PageReader<'v> {
    pub(super) view: &'v RepoView,
    pub(super) stop: &'v Interrupt,
    /// Names of tags with `tip`, in order.
    tags: HashMap<Node, Vec<Text>>,
    bookmarks: HashMap<Node, Vec<Text>>,
}

impl<'v> PageReader<'v> {
    pub(super) fn new(
        view: &'v RepoView,
        stop: &'v Interrupt,
    ) -> Result<PageReader<'v>, PageError> {
        let mut tags: HashMap<Node, Vec<Text>> = HashMap::new();
        for (name, node) in labels::all_tags(view)? {
            tags.entry(node).or_default().push(name);
        }
        let mut bookmarks: HashMap<Node, Vec<Text>> = HashMap::new();
        for (name, node) in view.bookmarks() {
            bookmarks.entry(*node).or_default().push(name.clone());
        }
        Ok(PageReader {
            view,
            stop,
            tags,
            bookmarks,
        })
    }

    /// The changeset that was typed, or the tip; `None` is the null revision.
    ///
    /// # Errors
    /// 404 for one that there is not, or that clients cannot pull.
    pub(super) fn changeset(&self, typed: Option<&str>) -> Result<Option<Rev>, PageError> {
        let Some(typed) = typed else {
            return Ok(self.view.tip());
        };
        match self.view.lookup(typed.as_bytes()) {
            Ok(node) => Ok(self.view.changelog().rev(&node)),
            Err(error @ LookupError::Repo(_)) => Err(error.into()),
            Err(error) => match search::last_of(self.view, typed) {
                Some(found) => Ok(found),
                None => Err(error.into()),
            },
        }
    }

    pub(super) fn node(&self, rev: Option<Rev>) -> Node {
        self.view.changelog().node_or_null(rev)
    }

    /// Visible changesets from one downward, by their numbers.
    pub(super) fn downward(&self, from: Option<Rev>) -> impl Iterator<Item = Rev> + '_ {
        let end = from.map_or(0, |rev| rev.0 + 1);
        (0..end)
            .rev()
            .map(Rev)
            .filter(|rev| self.view.is_visible(*rev))
    }

    /// Number of the changesets that clients see.
    pub(super) fn count(&self) -> usize {
        match self.view.hides_anything() {
            true => self.downward(self.view.changelog().tip()).count(),
            false => self.view.changelog().len(),
        }
    }

    fn labels_of<'a>(map: &'a HashMap<Node, Vec<Text>>, node: &Node) -> &'a [Text] {
        map.get(node).map(Vec::as_slice).unwrap_or_default()
    }
}
