//! Paths and requirements of one opened repository.

use crate::format::share::SharedStore;
use crate::format::store_path::StoreLayout;
use crate::format::{Changeset, RepoError, Requirements};
use crate::hooks::{FileFilters, Hooks};
use std::path::PathBuf;
use std::sync::Arc;
use varve_base::Storage;
use varve_revlog::Rev;

#[derive(Debug)]
pub(crate) struct RepoContext {
    pub storage: Arc<dyn Storage>,
    pub root: PathBuf,
    pub requirements: Requirements,
    pub layout: StoreLayout,
    pub opening: OpenOptions,
    /// Where the store lies, if it is that of another repository.
    pub share: Option<SharedStore>,
}

/// How a repository is opened.
#[derive(Clone, Debug, Default)]
pub struct OpenOptions {
    /// Runs the hooks; none run without it.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// Filters files of the working copy; they are as they are stored without it.
    pub filters: Option<Arc<dyn FileFilters>>,
    /// Reads the pending files of a transaction: for a program that a hook started.
    pub pending: bool,
    /// Whether a repository may have its store elsewhere.
    pub shares: ShareAccess,
}

/// Files of another repository that a repository may have in place of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShareAccess {
    /// None: other users may have chosen their place.
    Refused,
    /// The store and its caches.
    #[default]
    Store,
    /// The bookmarks too, where the repository says so.
    Bookmarks,
}

impl RepoContext {
    pub fn hg(&self) -> PathBuf {
        self.root.join(".hg")
    }

    pub fn store(&self) -> PathBuf {
        self.root.join(".hg/store")
    }

    /// Where the history of a tracked file lies.
    pub fn filelog_path(&self, file: &[u8]) -> PathBuf {
        let name = [b"data/", file, b".i"].concat();
        self.store().join(self.layout.path(&name))
    }

    /// Where its chunks lie if they are not in the index: a long name is hashed with its ending.
    pub fn filelog_data_path(&self, file: &[u8]) -> PathBuf {
        let name = [b"data/", file, b".d"].concat();
        self.store().join(self.layout.path(&name))
    }

    /// Takes the text of changeset `rev` apart.
    pub fn parse_changeset<'t>(
        &self,
        rev: Rev,
        text: &'t [u8],
    ) -> Result<Changeset<'t>, RepoError> {
        Changeset::parse(text).map_err(|reason| RepoError::DamagedChangeset {
            path: self.root.clone(),
            rev,
            reason,
        })
    }
}
