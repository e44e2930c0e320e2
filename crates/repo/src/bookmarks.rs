//! Bookmarks: lines `<node> <name>` of `.hg/bookmarks`.

use crate::RepoError;
use crate::journal::Place;
use crate::pending;
use crate::repository::Shared;
use crate::requirements::Requirements;
use crate::transaction::Transaction;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use varve_base::storage::read_if_there;
use varve_revlog::{Node, Revlog};

impl Transaction {
    /// Replaces all bookmarks.
    ///
    /// # Errors
    /// If those that are there are damaged.
    pub fn set_bookmarks(&mut self, bookmarks: &BTreeMap<Vec<u8>, Node>) -> Result<(), RepoError> {
        let mut bytes = Vec::new();
        for (name, node) in bookmarks {
            bytes.extend_from_slice(&node.to_hex());
            bytes.extend_from_slice(&[b" ", &name[..], b"\n"].concat());
        }
        self.note_bookmarks(bookmarks)?;
        let place = if self.shared.requirements.has("bookmarksinstore") {
            Place::Store
        } else {
            Place::Hg
        };
        self.replace(place, b"bookmarks", bytes);
        Ok(())
    }

    /// Keeps for hooks what changes.
    fn note_bookmarks(&mut self, after: &BTreeMap<Vec<u8>, Node>) -> Result<(), RepoError> {
        let Some(moments) = &mut self.moments else {
            return Ok(());
        };
        let shared = &self.shared;
        let path = path(&shared.hg(), &shared.requirements);
        let bytes = read_if_there(shared.storage.as_ref(), &path)?;
        let before = parse(&bytes.unwrap_or_default(), &path)?;
        moments.bookmarks(&before, after);
        Ok(())
    }
}

fn path(hg: &Path, requirements: &Requirements) -> PathBuf {
    let in_store = requirements.has("bookmarksinstore");
    hg.join(if in_store {
        "store/bookmarks"
    } else {
        "bookmarks"
    })
}

/// Name to changeset, of those that are in the changelog.
pub(crate) fn read(
    shared: &Shared,
    changelog: &Revlog,
) -> Result<BTreeMap<Vec<u8>, Node>, RepoError> {
    let path = path(&shared.hg(), &shared.requirements);
    let bytes = pending::read_small(shared.storage.as_ref(), &path, shared.opening.pending)?;
    let mut bookmarks = parse(&bytes, &path)?;
    bookmarks.retain(|_, node| changelog.rev(node).is_some());
    Ok(bookmarks)
}

fn parse(bytes: &[u8], path: &Path) -> Result<BTreeMap<Vec<u8>, Node>, RepoError> {
    let mut bookmarks = BTreeMap::new();
    for (number, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        if line.trim_ascii().is_empty() {
            continue;
        }
        let node = line.get(..2 * Node::LEN).and_then(Node::from_hex);
        let name = line
            .get(2 * Node::LEN..)
            .and_then(|rest| rest.strip_prefix(b" "));
        let (node, name) = node.zip(name).ok_or(RepoError::DamagedLine {
            path: path.to_owned(),
            line: number + 1,
            reason: "not a node and a name",
        })?;
        bookmarks.insert(name.to_vec(), node);
    }
    Ok(bookmarks)
}
