//! Changesets that came after a view was read.

use crate::format::RepoError;
use crate::read::RepoView;
use std::time::Duration;
use varve_revlog::{Node, Rev, Revlog};

/// How often an index is read that another process appends to.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);

impl RepoView {
    /// The newest of a changeset's first parents that this view has, for a changeset that it lacks.
    /// Small files such as the dirstate are read when they are needed, and may name a changeset that was
    /// committed since; until the journal of that commit is gone, a new view would lack it too.
    ///
    /// # Errors
    /// [`RepoError::MissingNode`] if there is no such changeset; a damaged changelog.
    pub fn newest_known_ancestor(&self, node: &Node) -> Result<Option<Rev>, RepoError> {
        let path = self.changelog().path();
        let mut read = Revlog::open_or_empty(&self.context.storage, path);
        for _ in 1..TRIES {
            if read.is_ok() {
                break;
            }
            std::thread::sleep(PAUSE);
            read = Revlog::open_or_empty(&self.context.storage, path);
        }
        let now = read?;
        let mut next = Some(now.rev(node).ok_or_else(|| RepoError::MissingNode {
            what: "changeset",
            node: *node,
            path: path.to_owned(),
        })?);
        while let Some(rev) = next.filter(|rev| rev.index() >= self.changelog().len()) {
            next = now.parents(rev)[0];
        }
        Ok(next)
    }
}
