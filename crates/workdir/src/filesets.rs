//! The files of the working copy and of changesets, as filesets see them.

use crate::{
    Dirstate, Ignore, IgnoreFiles, Status, StatusLists, StatusRequest, WorkdirError, WorkingFiles,
    copies_between, merge_state, status_against, status_between, working_status,
};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use varve_base::Interrupt;
use varve_lang::patterns::{Matcher, PathPredicate, PatternError};
use varve_repo::fileset::{FileList, FileSource, Paths};
use varve_repo::{FileKind, RepoView, Repository, Rev};

/// The files that a fileset is evaluated over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesetTarget {
    /// Those of the working copy.
    Working,
    /// Those of a changeset, or of the null revision.
    Rev(Option<Rev>),
}

/// Evaluates a revset.
pub type RevsetQuery = Box<dyn Fn(&[u8]) -> Result<Vec<FilesetTarget>, PatternError> + Send + Sync>;

/// A repository and the settings that filesets over its files need.
pub struct FilesetContext {
    /// The repository whose files are evaluated.
    pub repository: Repository,
    /// The repository when the command began.
    pub view: Arc<RepoView>,
    /// Ignore files besides `.hgignore`.
    pub ignore_files: Vec<PathBuf>,
    /// Evaluates the revsets in `revs()` and `status()`.
    pub query: RevsetQuery,
    /// Interrupts long steps.
    pub stop: Interrupt,
}

/// The files of one target.
pub struct TargetFiles {
    places: Arc<FilesetContext>,
    at: FilesetTarget,
    /// The base of the lists, if it is not the first parent.
    base: Option<FilesetTarget>,
    status: OnceLock<Status>,
    manifest: OnceLock<Vec<u8>>,
}

impl std::fmt::Debug for TargetFiles {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TargetFiles").field("at", &self.at).finish()
    }
}

fn wrong(error: impl Into<WorkdirError>) -> PatternError {
    PatternError::Files(error.into().to_string())
}

impl TargetFiles {
    /// The files of `at`; nothing is read yet.
    pub fn new(places: Arc<FilesetContext>, at: FilesetTarget) -> TargetFiles {
        TargetFiles {
            places,
            at,
            base: None,
            status: OnceLock::new(),
            manifest: OnceLock::new(),
        }
    }

    fn other(&self, at: FilesetTarget) -> TargetFiles {
        TargetFiles::new(self.places.clone(), at)
    }

    fn status(&self) -> Result<&Status, PatternError> {
        if let Some(status) = self.status.get() {
            return Ok(status);
        }
        let status = match (self.at, self.base) {
            (FilesetTarget::Working, None | Some(FilesetTarget::Rev(_))) => {
                self.working_status()?
            }
            (FilesetTarget::Rev(rev), base) => {
                let view = &self.places.view;
                let base = match base {
                    Some(FilesetTarget::Rev(base)) => base,
                    None => rev.and_then(|rev| view.changelog().parents(rev)[0]),
                    Some(FilesetTarget::Working) => return Err(backwards()),
                };
                status_between(view, base, rev, &Matcher::everything(), true).map_err(wrong)?
            }
            (FilesetTarget::Working, Some(FilesetTarget::Working)) => return Err(backwards()),
        };
        Ok(self.status.get_or_init(|| status))
    }

    fn working_status(&self) -> Result<Status, PatternError> {
        let repository = &self.places.repository;
        let dirstate = Dirstate::read(repository).map_err(wrong)?;
        let ignore = self.ignore()?;
        let request = StatusRequest {
            repository,
            dirstate: &dirstate,
            matcher: &Matcher::everything(),
            ignore: &ignore,
            listing: StatusLists {
                unknown: true,
                ignored: true,
                clean: true,
            },
            stop: &self.places.stop,
        };
        let status = working_status(&request).map_err(wrong)?.status;
        match self.base {
            Some(FilesetTarget::Rev(base)) => {
                status_against(&request, &self.places.view, base, status).map_err(wrong)
            }
            _ => Ok(status),
        }
    }

    fn ignore(&self) -> Result<Ignore, PatternError> {
        let root = self.places.repository.root();
        let files = IgnoreFiles::read(root, &self.places.ignore_files).map_err(wrong)?;
        Ok(files.ignore)
    }

    fn tracked(&self) -> Result<Paths, PatternError> {
        let FilesetTarget::Rev(_) = self.at else {
            let dirstate = Dirstate::read(&self.places.repository).map_err(wrong)?;
            let tracked = dirstate.iter().filter(|(_, item)| item.is_tracked());
            return Ok(Arc::new(tracked.map(|(path, _)| path.to_vec()).collect()));
        };
        let entries = self.places.view.manifest_entries(self.manifest()?);
        let paths = entries.map(|entry| Ok(entry.map_err(wrong)?.path.to_vec()));
        Ok(Arc::new(paths.collect::<Result<_, PatternError>>()?))
    }

    fn copied(&self) -> Result<Paths, PatternError> {
        match self.at {
            FilesetTarget::Working => {
                let dirstate = Dirstate::read(&self.places.repository).map_err(wrong)?;
                Ok(Arc::new(
                    dirstate.copies().map(|(path, _)| path.to_vec()).collect(),
                ))
            }
            FilesetTarget::Rev(rev) => {
                let view = &self.places.view;
                let parent = rev.and_then(|rev| view.changelog().parents(rev)[0]);
                let copies = copies_between(view, parent, rev, self.status()?).map_err(wrong)?;
                Ok(Arc::new(copies.into_keys().collect()))
            }
        }
    }

    fn manifest(&self) -> Result<&Vec<u8>, PatternError> {
        if let Some(text) = self.manifest.get() {
            return Ok(text);
        }
        let text = match self.at {
            FilesetTarget::Rev(rev) => self.places.view.manifest_text(rev).map_err(wrong)?,
            FilesetTarget::Working => Vec::new(),
        };
        Ok(self.manifest.get_or_init(|| text))
    }

    /// A file of a changeset; one that cannot be read counts as missing.
    fn stored(&self, path: &[u8]) -> Option<(Vec<u8>, FileKind)> {
        let view = &self.places.view;
        let entry = view.find_in_manifest(self.manifest().ok()?, path).ok()??;
        Some((view.file_content(path, &entry.node).ok()?, entry.kind))
    }

    fn on_disk(&self) -> WorkingFiles {
        WorkingFiles::of(&self.places.repository)
    }
}

fn backwards() -> PatternError {
    PatternError::Files("status() from the working directory is not supported".to_owned())
}

impl FileSource for TargetFiles {
    fn list(&self, list: FileList) -> Result<Paths, PatternError> {
        let of = |paths: &Vec<Vec<u8>>| Ok(Arc::new(paths.iter().cloned().collect()));
        match list {
            FileList::Tracked => self.tracked(),
            FileList::Copied => self.copied(),
            FileList::Resolved | FileList::Unresolved => {
                if merge_state::is_there(&self.places.repository) {
                    let reason = "resolved() and unresolved() are not supported during a merge";
                    return Err(PatternError::Files(reason.to_owned()));
                }
                Ok(Paths::default())
            }
            FileList::Modified => of(&self.status()?.modified),
            FileList::Added => of(&self.status()?.added),
            FileList::Removed => of(&self.status()?.removed),
            FileList::Deleted => of(&self.status()?.deleted),
            FileList::Unknown => of(&self.status()?.unknown),
            FileList::Ignored => of(&self.status()?.ignored),
            FileList::Clean => of(&self.status()?.clean),
        }
    }

    fn metadata(&self, path: &[u8]) -> Option<(u64, FileKind)> {
        if let FilesetTarget::Rev(_) = self.at {
            let (content, kind) = self.stored(path)?;
            return Some((content.len() as u64, kind));
        }
        let metadata = self.on_disk().look(path).ok()??;
        let kind = if metadata.is_symlink() {
            FileKind::Symlink
        } else if std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o100 != 0 {
            FileKind::Executable
        } else {
            FileKind::Plain
        };
        let is_file = metadata.is_symlink() || metadata.is_file();
        is_file.then_some((metadata.len(), kind))
    }

    fn content(&self, path: &[u8]) -> Option<Vec<u8>> {
        match self.at {
            FilesetTarget::Rev(_) => Some(self.stored(path)?.0),
            FilesetTarget::Working => Some(self.on_disk().read(path).ok()?.0),
        }
    }

    fn ignored(&self) -> Result<PathPredicate, PatternError> {
        let ignore = self.ignore()?;
        Ok(PathPredicate::new(move |path| ignore.matches(path)))
    }

    fn at_rev(&self, rev: Option<Rev>) -> Arc<dyn FileSource> {
        Arc::new(self.other(FilesetTarget::Rev(rev)))
    }

    fn at_query(&self, query: &[u8]) -> Result<Vec<Arc<dyn FileSource>>, PatternError> {
        let places = (self.places.query)(query)?.into_iter();
        Ok(places
            .map(|at| Arc::new(self.other(at)) as Arc<dyn FileSource>)
            .collect())
    }

    fn between(&self, base: &[u8], query: &[u8]) -> Result<Arc<dyn FileSource>, PatternError> {
        let single = |query: &[u8]| {
            let empty = || PatternError::Files("empty revision set".to_owned());
            (self.places.query)(query)?.pop().ok_or_else(empty)
        };
        let base = Some(single(base)?);
        let files = self.other(single(query)?);
        Ok(Arc::new(TargetFiles { base, ..files }))
    }

    fn pattern_file(&self, name: &[u8]) -> Result<PathPredicate, PatternError> {
        let root = self.places.repository.root();
        let ignore = IgnoreFiles::of_file(root, name).map_err(wrong)?;
        Ok(PathPredicate::new(move |path| ignore.matches(path)))
    }
}
