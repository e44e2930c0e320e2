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

/// Contents of a file of bookmarks.
#[derive(Clone, Debug, Default)]
pub(crate) struct BookmarksFile {
    pub(crate) by_name: BTreeMap<Vec<u8>, Node>,
    /// Lines that are no bookmark. They do not count, as in Mercurial, and are gone after the next change.
    pub(crate) malformed: Vec<Vec<u8>>,
}

/// The bookmarks whose changesets are in the changelog, and those at the null revision: that is where the
/// bookmarks of an empty repository are.
pub(crate) fn read(context: &RepoContext, changelog: &Revlog) -> Result<BookmarksFile, RepoError> {
    let path = path(&context.hg(), &context.requirements);
    let bytes =
        pending::read_with_pending(context.storage.as_ref(), &path, context.opening.pending)?;
    let mut bookmarks = parse(&bytes);
    let is_known = |node: &Node| node.is_null() || changelog.rev(node).is_some();
    bookmarks.by_name.retain(|_, node| is_known(node));
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

pub(crate) fn parse(bytes: &[u8]) -> BookmarksFile {
    let mut bookmarks = BookmarksFile::default();
    for line in bytes.split(|byte| *byte == b'\n') {
        let line = line.trim_ascii();
        let node = line.get(..2 * Node::LEN).and_then(Node::from_hex);
        let rest = line.get(2 * Node::LEN..).unwrap_or_default();
        match (node, rest.strip_prefix(b" ")) {
            _ if line.is_empty() => {}
            (Some(node), Some(name)) => {
                bookmarks.by_name.insert(name.to_vec(), node);
            }
            _ => bookmarks.malformed.push(line.to_vec()),
        }
    }
    bookmarks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_are_no_bookmark_are_set_apart() {
        let node = "0123456789abcdef0123456789abcdef01234567";
        let text = format!("short name\n{node} kept\n\n{node}\n{node} two words\n");
        let read = parse(text.as_bytes());
        let names: Vec<&[u8]> = read.by_name.keys().map(|name| &name[..]).collect();
        assert_eq!(names, [&b"kept"[..], b"two words"]);
        assert_eq!(read.malformed, [&b"short name"[..], node.as_bytes()]);
    }
}
