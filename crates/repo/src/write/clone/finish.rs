//! The small files of a new clone: phases, bookmarks, the default path. No hook is called for them.

use super::write_new;
use crate::format::journal::BaseDir;
use crate::format::{RepoError, bookmarks};
use crate::read::{RepoView, Repository, ViewFilter};
use std::collections::BTreeMap;
use varve_revlog::Node;

/// Bytes of a new clone's `.hg/hgrc` before the path `default`, and behind it: both programs write the same file.
const NOTE_BEFORE: &[u8] = b"# example repository config (see 'hg help config' for more info)
[paths]
default = ";
const NOTES_BEHIND: &[u8] = concat!(
    "

# path aliases to other clones of this repo in URLs or filesystem paths
# (see 'hg help config.paths' for more info)
#
# default:pushurl = ssh://jdoe@example.net/hg/jdoes-fork
# my-fork         = ssh://jdoe@example.net/hg/jdoes-fork
# my-clone        = /",
    // Apart, as whole it looks like a directory of the machine that this was written on.
    "home/jdoe/jdoes-clone

[ui]
# name and email (local to this repository, optional), e.g.
# username = Jane Doe <jdoe@example.com>
"
)
.as_bytes();

impl Repository {
    /// Replaces the phases of this new clone by those that its changesets have in `source`; without this call all of
    /// them are public.
    ///
    /// # Errors
    /// If a lock is held; a failure of the storage.
    pub fn copy_phases(&self, source: &RepoView) -> Result<(), RepoError> {
        let view = self.view_for(ViewFilter::Unfiltered)?;
        let mut text = String::new();
        for (phase, rev) in source.phases().roots() {
            let node = source.changelog().node(*rev);
            if view.changelog().rev(&node).is_some() {
                text += &format!("{} {node}\n", phase.number());
            }
        }
        let mut transaction = self.try_transaction("clone")?;
        transaction.replace(BaseDir::Store, b"phaseroots", text.into_bytes());
        transaction.finish()
    }

    /// Gives this new clone those of `all` bookmarks whose changesets it has.
    ///
    /// # Errors
    /// If there are bookmarks already; a failure of the storage.
    pub fn copy_bookmarks(&self, all: &BTreeMap<Vec<u8>, Node>) -> Result<(), RepoError> {
        let view = self.view_for(ViewFilter::Unfiltered)?;
        let mut known = all.clone();
        known.retain(|_, node| node.is_null() || view.changelog().rev(node).is_some());
        if known.is_empty() {
            return Ok(());
        }
        let path = bookmarks::path(&self.context().hg(), self.requirements());
        let bytes = bookmarks::encode(&known);
        write_new(self.storage().as_ref(), &path, &bytes)
    }

    /// Replaces `.hg/hgrc` by one in which `address` is the path `default`.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn write_default_path(&self, address: &[u8]) -> Result<(), RepoError> {
        self.write_configuration(&[b"[paths]\ndefault = ", address, b"\n"].concat())
    }

    /// The same with the notes on further settings that Mercurial puts into every clone.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn write_configuration_of_clone(&self, address: &[u8]) -> Result<(), RepoError> {
        self.write_configuration(&[NOTE_BEFORE, address, NOTES_BEHIND].concat())
    }

    fn write_configuration(&self, text: &[u8]) -> Result<(), RepoError> {
        let path = self.context().hg().join("hgrc");
        let storage = self.storage().as_ref();
        if storage.kind(&path)?.is_some() {
            storage.remove(&path)?;
        }
        write_new(storage, &path, text)
    }
}
