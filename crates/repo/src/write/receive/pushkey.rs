//! Keys and origins of pushes by clients.

use super::Receiver;
use crate::format::Phase;
use crate::hooks::{ExchangeOrigin, PushKey};
use varve_revlog::Node;

impl Receiver {
    /// Names the origin of the received data, for hooks, also without changesets.
    pub fn set_origin(&mut self, origin: &ExchangeOrigin) {
        if let Some(hooks) = &mut self.transaction.hooks {
            hooks.set_origin(origin);
        }
    }

    /// Runs the hooks for a key that a client sets; `part` is the number of the
    /// part of a bundle that it came in, unless other than as a key.
    pub fn add_pushkey(&mut self, key: &PushKey, part: Option<u32>) {
        if let Some(hooks) = &mut self.transaction.hooks {
            hooks.add_pushkey(key, part, self.phases_moved);
        }
    }

    /// The changeset that the bookmark is on by now.
    pub fn bookmark(&self, name: &[u8]) -> Option<&Node> {
        let all = self.bookmarks.as_ref().unwrap_or(self.view.bookmarks());
        all.get(name)
    }

    /// True for the null changeset, and for those that are there by now.
    pub fn takes_bookmark_at(&self, node: &Node) -> bool {
        node.is_null() || self.knows(node)
    }

    /// The phase that a changeset is in by now; `None` if it is not there. All that has come must
    /// be [ended](Receiver::end_changegroup).
    pub fn phase(&mut self, node: &Node) -> Option<Phase> {
        let rev = self.number(node)?;
        self.changesets.handler().phases.get(rev.index()).copied()
    }
}
