//! A repository: where it lies and what it requires.

use crate::changeset::Changeset;
use crate::hooks::Hooks;
use crate::requirements::Requirements;
use crate::store_path::StoreLayout;
use crate::view::{Audience, RepoView};
use crate::{RepoError, Rev};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use varve_base::Storage;
use varve_base::storage::EntryKind;

/// A Mercurial repository on some storage. Cheap to open and to clone; nothing is read before it
/// is needed.
#[derive(Clone, Debug)]
pub struct Repository {
    shared: Arc<Shared>,
    /// Not in [`Shared`], because views hold that.
    latest: Latest,
}

type Latest = Arc<Mutex<Option<(Stamp, Arc<RepoView>)>>>;

#[derive(Debug)]
pub(crate) struct Shared {
    pub storage: Arc<dyn Storage>,
    pub root: PathBuf,
    pub requirements: Requirements,
    pub layout: StoreLayout,
    pub opening: Opening,
}

/// With whom and for whom a repository is opened.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// Who listens to its changes.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// A hook has called: it may see what is pending.
    pub pending: bool,
}

/// What changes when anybody commits. Two equal stamps with nothing but reading between them mean
/// that one state was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    store: Option<SystemTime>,
    hg: Option<SystemTime>,
    changelog: Option<u64>,
    obsolete: Option<u64>,
    /// Whether a transaction is under way, or was left behind.
    pub journal: bool,
}

/// A folder that changed more recently may change again without another time.
const SETTLED: Duration = Duration::from_millis(50);

/// How often a consistent state is looked for, and the pause between two looks.
const TRIES: u32 = 200;
const PAUSE: Duration = Duration::from_millis(20);

impl Repository {
    /// Opens the repository whose `.hg` lies in the folder `root` of `storage`.
    ///
    /// # Errors
    /// [`RepoError::NotFound`], [`RepoError::UnknownRequirements`], or what the storage answers.
    pub fn open(storage: Arc<dyn Storage>, root: &Path) -> Result<Repository, RepoError> {
        Repository::open_as(storage, root, Opening::default())
    }

    /// As [`Repository::open`], with hooks.
    ///
    /// # Errors
    /// As of [`Repository::open`].
    pub fn open_as(
        storage: Arc<dyn Storage>,
        root: &Path,
        opening: Opening,
    ) -> Result<Repository, RepoError> {
        if storage.kind(&root.join(".hg"))? != Some(EntryKind::Folder) {
            return Err(RepoError::NotFound {
                path: root.to_owned(),
            });
        }
        let requirements = Requirements::read(storage.as_ref(), root)?;
        let shared = Shared {
            layout: StoreLayout::of(&requirements),
            storage,
            root: root.to_owned(),
            requirements,
            opening,
        };
        Ok(Repository::of(&Arc::new(shared)))
    }

    /// The same opened once more, as after its requirements have changed.
    ///
    /// # Errors
    /// As of [`Repository::open`].
    pub fn reopened(&self) -> Result<Repository, RepoError> {
        let Shared {
            storage,
            root,
            opening,
            ..
        } = self.shared.as_ref();
        Repository::open_as(Arc::clone(storage), root, opening.clone())
    }

    /// The repository that something is of.
    pub(crate) fn of(shared: &Arc<Shared>) -> Repository {
        Repository {
            shared: Arc::clone(shared),
            latest: Latest::default(),
        }
    }

    /// The folder that holds `.hg`.
    pub fn root(&self) -> &Path {
        &self.shared.root
    }

    /// What a program must know to work on this repository.
    pub fn requirements(&self) -> &Requirements {
        &self.shared.requirements
    }

    /// Whether what is pending shows.
    pub fn shows_pending(&self) -> bool {
        self.shared.opening.pending
    }

    /// The storage that the repository lies on.
    pub fn storage(&self) -> &Arc<dyn Storage> {
        &self.shared.storage
    }

    /// The repository as it is now. The view stays as it is while others commit; asking again
    /// without a commit in between gives the same view.
    ///
    /// # Errors
    /// What is damaged; [`RepoError::Busy`] if others write all the time.
    pub fn view(&self) -> Result<Arc<RepoView>, RepoError> {
        self.view_for(Audience::Others)
    }

    /// The repository as it is now, as `audience` may see it.
    ///
    /// # Errors
    /// As of [`Repository::view`].
    pub fn view_for(&self, audience: Audience) -> Result<Arc<RepoView>, RepoError> {
        let kept = self.latest().clone();
        if let Some((stamp, view)) = kept
            && view.audience() == audience
            && stamp == self.shared.stamp()?
        {
            return Ok(view);
        }
        let (stamp, view) = self.shared.consistently(|stamp| {
            let view = RepoView::read(self.shared.clone(), stamp, audience)?;
            Ok(Some((stamp.clone(), Arc::new(view))))
        })?;
        if stamp.is_settled() {
            let mut latest = self.latest();
            // Of one state there is one view, also if two have read it at the same time.
            if let Some((known, kept)) = &*latest
                && *known == stamp
                && kept.audience() == audience
            {
                return Ok(kept.clone());
            }
            *latest = Some((stamp, view.clone()));
        }
        Ok(view)
    }

    fn latest(&self) -> MutexGuard<'_, Option<(Stamp, Arc<RepoView>)>> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }
}

impl Shared {
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

    pub fn stamp(&self) -> Result<Stamp, RepoError> {
        let store = self.store();
        Ok(Stamp {
            store: self.storage.modified(&store)?,
            hg: self.storage.modified(&self.hg())?,
            changelog: self.storage.file_len(&store.join("00changelog.i"))?,
            obsolete: self.storage.file_len(&store.join("obsstore"))?,
            journal: self.storage.kind(&store.join("journal"))?.is_some(),
        })
    }

    /// Reads without a lock: what `read` gives counts only if the stamp is the same before and
    /// after, and if `read` did not ask for another try with `None`.
    pub fn consistently<T>(
        &self,
        read: impl Fn(&Stamp) -> Result<Option<T>, RepoError>,
    ) -> Result<T, RepoError> {
        for tried in 0..TRIES {
            if tried > 0 {
                std::thread::sleep(PAUSE);
            }
            let before = self.stamp()?;
            let outcome = read(&before);
            if self.stamp()? != before {
                continue;
            }
            if let Some(found) = outcome? {
                return Ok(found);
            }
        }
        Err(RepoError::Busy {
            path: self.root.clone(),
            tries: TRIES,
        })
    }
}

impl Stamp {
    fn is_settled(&self) -> bool {
        let now = SystemTime::now();
        let old = |time: Option<SystemTime>| {
            time.and_then(|time| now.duration_since(time).ok())
                .is_some_and(|age| age > SETTLED)
        };
        !self.journal && old(self.store) && old(self.hg)
    }
}
