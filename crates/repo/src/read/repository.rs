//! A repository: its place and its requirements.

use crate::format::context::{OpenOptions, RepoContext, ShareAccess};
use crate::format::share::SharedStore;
use crate::format::store_path::StoreLayout;
use crate::format::{RepoError, Requirements};
use crate::hooks::FileFilters;
use crate::read::stamp::Stamp;
use crate::read::{RepoView, ViewFilter};
use parking_lot::{Mutex, MutexGuard};
use std::path::Path;
use std::sync::Arc;
use varve_base::Storage;
use varve_base::storage::EntryKind;

/// A Mercurial repository on some storage. Cheap to open and to clone; nothing is read before it
/// is needed.
#[derive(Clone, Debug)]
pub struct Repository {
    context: Arc<RepoContext>,
    /// Not in [`RepoContext`], because views hold that.
    latest: Latest,
}

type Latest = Arc<Mutex<Option<(Stamp, Arc<RepoView>)>>>;

impl Repository {
    /// Opens the repository whose `.hg` lies in the directory `root` of `storage`.
    ///
    /// # Errors
    /// [`RepoError::NotFound`], [`RepoError::UnknownRequirements`], or errors of the storage.
    pub fn open(storage: Arc<dyn Storage>, root: &Path) -> Result<Repository, RepoError> {
        Repository::open_with(storage, root, OpenOptions::default())
    }

    /// As [`Repository::open`], with hooks.
    ///
    /// # Errors
    /// As of [`Repository::open`].
    pub fn open_with(
        storage: Arc<dyn Storage>,
        root: &Path,
        opening: OpenOptions,
    ) -> Result<Repository, RepoError> {
        if storage.kind(&root.join(".hg"))? != Some(EntryKind::Directory) {
            return Err(RepoError::NotFound {
                path: root.to_owned(),
            });
        }
        let share = SharedStore::find(&storage, root)?;
        if share.is_some() && opening.shares == ShareAccess::Refused {
            return Err(RepoError::UnknownRequirements {
                path: root.to_owned(),
                features: "shared".to_owned(),
            });
        }
        let storage = match &share {
            Some(share) => share.storage(root, opening.shares)?,
            None => storage,
        };
        let requirements = Requirements::read(storage.as_ref(), root)?;
        let context = RepoContext {
            layout: StoreLayout::of(&requirements),
            storage,
            root: root.to_owned(),
            requirements,
            opening,
            share,
        };
        Ok(Repository::of(&Arc::new(context)))
    }

    /// The same opened once more, as after its requirements have changed.
    ///
    /// # Errors
    /// As of [`Repository::open`].
    pub fn reopen(&self) -> Result<Repository, RepoError> {
        let RepoContext {
            storage,
            root,
            opening,
            share,
            ..
        } = self.context.as_ref();
        let own = share.as_ref().map_or(storage, |share| &share.own);
        Repository::open_with(Arc::clone(own), root, opening.clone())
    }

    /// The repository that something is of.
    pub(crate) fn of(context: &Arc<RepoContext>) -> Repository {
        Repository {
            context: Arc::clone(context),
            latest: Latest::default(),
        }
    }

    /// The directory that holds `.hg`.
    pub fn root(&self) -> &Path {
        &self.context.root
    }

    /// Features that a program must support to work on this repository.
    pub fn requirements(&self) -> &Requirements {
        &self.context.requirements
    }

    /// `.hg` of the repository whose store this one has, if it has none of its own.
    pub fn share_source(&self) -> Option<&Path> {
        self.context.share.as_ref().map(|share| &*share.source)
    }

    /// Whether the data of a pending transaction shows.
    pub fn shows_pending(&self) -> bool {
        self.context.opening.pending
    }

    /// The filters of the working copy's files.
    pub fn file_filters(&self) -> Option<&Arc<dyn FileFilters>> {
        self.context.opening.filters.as_ref()
    }

    /// The storage that the repository lies on.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.context.storage
    }

    /// The repository as it is now. The view stays as it is while others commit; asking again
    /// without a commit in between gives the same view.
    ///
    /// # Errors
    /// A damaged file of the repository; [`RepoError::Busy`] if others write all the time.
    pub fn view(&self) -> Result<Arc<RepoView>, RepoError> {
        self.view_for(ViewFilter::Served)
    }

    /// The repository as it is now, through `filter`.
    ///
    /// # Errors
    /// As of [`Repository::view`].
    pub fn view_for(&self, filter: ViewFilter) -> Result<Arc<RepoView>, RepoError> {
        let kept = self.latest().clone();
        if let Some((stamp, view)) = kept
            && view.filter() == filter
            && stamp == self.context.stamp()?
        {
            return Ok(view);
        }
        let (stamp, view) = self.context.read_consistent(|stamp| {
            let view = RepoView::read(self.context.clone(), stamp, filter)?;
            Ok(Some((stamp.clone(), Arc::new(view))))
        })?;
        if stamp.is_settled() {
            let mut latest = self.latest();
            // Of one state there is one view, also if two have read it at the same time.
            if let Some((known, kept)) = &*latest
                && *known == stamp
                && kept.filter() == filter
            {
                return Ok(kept.clone());
            }
            *latest = Some((stamp, view.clone()));
        }
        Ok(view)
    }

    fn latest(&self) -> MutexGuard<'_, Option<(Stamp, Arc<RepoView>)>> {
        self.latest.lock()
    }

    pub(crate) fn context(&self) -> &Arc<RepoContext> {
        &self.context
    }
}
