//! Bookmarks: lines `<node> <name>` of `.hg/bookmarks`.

use crate::format::context::RepoContext;
use crate::format::{RepoError, Requirements, pending};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use varve_revlog::{Node, Revlog};

pub(crate) fn path(hg: &Path, requirements: &Requirements) -> PathBuf {
    let in_store = requirements.has("bookmarksinstore");
    hg.join(if in_store {
        "store/bookmarks"
    } else {
        "bookmarks"
    })
}

/// Name to changeset, of those that are in the changelog, and of the null revision: that is where the
/// bookmarks of an empty repository are.
pub(crate) fn read(
    context: &RepoContext,
    changelog: &Revlog,
) -> Result<BTreeMap<Vec<u8>, Node>, RepoError> {
    let path = path(&context.hg(), &context.requirements);
    let bytes =
        pending::read_with_pending(context.storage.as_ref(), &path, context.opening.pending)?;
    let mut bookmarks = parse(&bytes, &path)?;
    bookmarks.retain(|_, node| node.is_null() || changelog.rev(node).is_some());
    Ok(bookmarks)
}

pub(crate) fn encode(bookmarks: &BTreeMap<Vec<u8>, Node>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, node) in bookmarks {
        bytes.extend_from_slice(&node.to_hex());
        bytes.extend_from_slice(&[b" ", &name[..], b"\n"].concat());
    }
    bytes
}

pub(crate) fn parse(bytes: &[u8], path: &Path) -> Result<BTreeMap<Vec<u8>, Node>, RepoError> {
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
