//! Bookmarks: lines `<node> <name>` of `.hg/bookmarks`.

use crate::RepoError;
use crate::journal::Place;
use crate::requirements::Requirements;
use crate::transaction::Transaction;
use std::collections::BTreeMap;
use std::path::Path;
use varve_base::Storage;
use varve_base::storage::read_if_there;
use varve_revlog::{Node, Revlog};

impl Transaction {
    /// Replaces all bookmarks.
    pub fn set_bookmarks(&mut self, bookmarks: &BTreeMap<Vec<u8>, Node>) {
        let mut bytes = Vec::new();
        for (name, node) in bookmarks {
            bytes.extend_from_slice(&node.to_hex());
            bytes.extend_from_slice(&[b" ", &name[..], b"\n"].concat());
        }
        let place = if self.shared.requirements.has("bookmarksinstore") {
            Place::Store
        } else {
            Place::Hg
        };
        self.replace(place, b"bookmarks", bytes);
    }
}

/// Name to changeset, of those that are in the changelog.
pub(crate) fn read(
    storage: &dyn Storage,
    hg: &Path,
    requirements: &Requirements,
    changelog: &Revlog,
) -> Result<BTreeMap<Vec<u8>, Node>, RepoError> {
    let path = if requirements.has("bookmarksinstore") {
        hg.join("store/bookmarks")
    } else {
        hg.join("bookmarks")
    };
    let bytes = read_if_there(storage, &path)?.unwrap_or_default();
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
            path: path.clone(),
            line: number + 1,
            reason: "not a node and a name",
        })?;
        if changelog.rev(&node).is_some() {
            bookmarks.insert(name.to_vec(), node);
        }
    }
    Ok(bookmarks)
}
