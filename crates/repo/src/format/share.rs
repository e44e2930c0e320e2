//! Repositories whose store is that of another one:
//!
//! ```text
//! .hg/requires      has "shared", or "relshared" if the path is relative to .hg
//! .hg/sharedpath    path of the other repository's .hg, without a line end
//! .hg/shared        "bookmarks", if these are the other one's too
//! ```

use crate::format::RepoError;
use crate::format::context::ShareAccess;
use crate::format::requirements::add_lines;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use varve_base::Storage;
use varve_base::storage::{EntryKind, RedirectedStorage, read_if_there};

/// File with the place of the store.
pub(crate) const PATH: &str = "sharedpath";
/// File that names what else is shared.
pub(crate) const NAMES: &str = "shared";
/// The name of bookmarks in it.
pub(crate) const BOOKMARKS: &str = "bookmarks";

/// Where the store of a repository lies.
#[derive(Clone, Debug)]
pub(crate) struct SharedStore {
    /// `.hg` of the repository that has it.
    pub source: PathBuf,
    /// Storage in which the store's path is this repository's own.
    pub own: Arc<dyn Storage>,
}

impl SharedStore {
    /// The share that the repository in `root` is, if it is one.
    pub(crate) fn find(
        storage: &Arc<dyn Storage>,
        root: &Path,
    ) -> Result<Option<SharedStore>, RepoError> {
        let hg = root.join(".hg");
        let mut names = BTreeSet::new();
        add_lines(storage.as_ref(), &hg.join("requires"), &mut names)?;
        if !names.contains("shared") && !names.contains("relshared") {
            return Ok(None);
        }
        let bytes = read_if_there(storage.as_ref(), &hg.join(PATH))?.unwrap_or_default();
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let source = normalized(&hg.join(OsStr::from_bytes(bytes)));
        if bytes.is_empty() || storage.kind(&source)? != Some(EntryKind::Directory) {
            return Err(RepoError::NoShareSource { path: source });
        }
        let mut of_source = BTreeSet::new();
        add_lines(storage.as_ref(), &source.join("requires"), &mut of_source)?;
        let is_share_safe = names.contains("share-safe");
        if is_share_safe != of_source.contains("share-safe") {
            return Err(RepoError::ShareMismatch { is_share_safe });
        }
        let own = Arc::clone(storage);
        Ok(Some(SharedStore { source, own }))
    }

    /// Storage in which the shared files are found in this repository's places.
    pub(crate) fn storage(
        &self,
        root: &Path,
        access: ShareAccess,
    ) -> Result<Arc<dyn Storage>, RepoError> {
        let hg = root.join(".hg");
        let mut names = vec!["store", "cache"];
        let listed = read_if_there(self.own.as_ref(), &hg.join(NAMES))?.unwrap_or_default();
        let mut listed = listed.split(|byte| *byte == b'\n');
        if access == ShareAccess::Bookmarks && listed.any(|name| name == BOOKMARKS.as_bytes()) {
            names.push("bookmarks");
        }
        let redirect = |name| (hg.join(name), self.source.join(name));
        let redirects = names.into_iter().map(redirect).collect();
        let storage = RedirectedStorage::new(Arc::clone(&self.own), redirects);
        Ok(Arc::new(storage))
    }
}

/// A path without `.` and, as far as they have a name before them, without `..`.
fn normalized(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        let has_name = matches!(out.components().next_back(), Some(Component::Normal(_)));
        match part {
            Component::CurDir => {}
            Component::ParentDir if has_name => drop(out.pop()),
            part => out.push(part),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_up_are_taken_out() {
        for (path, expected) in [
            ("/a/s/.hg/../../r/.hg", "/a/r/.hg"),
            (".hg/../../r/.hg", "../r/.hg"),
            ("/a/./b", "/a/b"),
            ("/../a", "/../a"),
        ] {
            assert_eq!(normalized(Path::new(path)), Path::new(expected), "{path}");
        }
    }
}
