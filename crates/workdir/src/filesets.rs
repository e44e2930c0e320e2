//! What filesets ask of the working folder and of changesets.

use crate::{
    Dirstate, Ignore, IgnoreFiles, Listing, Status, StatusRequest, WorkdirError, WorkingFiles,
    copies_between, merge_state, status_against, status_between, working_status,
};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use varve_base::Interrupt;
use varve_lang::patterns::{Matcher, PathPredicate, PatternError};
use varve_repo::fileset::{FileList, FileSource, Paths};
use varve_repo::{FileKind, RepoView, Repository, Rev};

/// A state of all files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesAt {
    /// The working folder.
    Working,
    /// A changeset, or the null revision.
    Rev(Option<Rev>),
}

/// The places that a query for changesets names.
pub type Query = Box<dyn Fn(&[u8]) -> Result<Vec<FilesAt>, PatternError> + Send + Sync>;

/// A repository whose files filesets are about.
pub struct FilesetPlaces {
    /// The repository.
    pub repository: Repository,
    /// What it was when the command began.
    pub view: Arc<RepoView>,
    /// Files with patterns besides `.hgignore`.
    pub ignore_files: Vec<PathBuf>,
    /// Answers queries.
    pub query: Query,
    /// Ends the work early.
    pub stop: Interrupt,
}

/// The files of one place of a repository.
pub struct FilesOf {
    places: Arc<FilesetPlaces>,
    at: FilesAt,
    /// What lists are against, if not the first parent.
    base: Option<FilesAt>,
    status: OnceLock<Status>,
    manifest: OnceLock<Vec<u8>>,
}

impl std::fmt::Debug for FilesOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FilesOf").field("at", &self.at).finish()
    }
}

fn wrong(error: impl Into<WorkdirError>) -> PatternError {
    PatternError::Files(error.into().to_string())
}

impl FilesOf {
    /// The files of a place; reads nothing yet.
    pub fn new(places: Arc<FilesetPlaces>, at: FilesAt) -> FilesOf {
        FilesOf {
            places,
            at,
            base: None,
            status: OnceLock::new(),
            manifest: OnceLock::new(),
        }
    }

    fn other(&self, at: FilesAt) -> FilesOf {
        FilesOf::new(self.places.clone(), at)
    }

    fn status(&self) -> Result<&Status, PatternError> {
        if let Some(status) = self.status.get() {
            return Ok(status);
        }
        let status = match (self.at, self.base) {
            (FilesAt::Working, None | Some(FilesAt::Rev(_))) => self.working_status()?,
            (FilesAt::Rev(rev), base) => {
                let view = &self.places.view;
                let base = match base {
                    Some(FilesAt::Rev(base)) => base,
                    None => rev.and_then(|rev| view.changelog().parents(rev)[0]),
                    Some(FilesAt::Working) => return Err(backwards()),
                };
                status_between(view, base, rev, &Matcher::everything(), true).map_err(wrong)?
            }
            (FilesAt::Working, Some(FilesAt::Working)) => return Err(backwards()),
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
            listing: Listing {
                unknown: true,
                ignored: true,
                clean: true,
            },
            stop: &self.places.stop,
        };
        let status = working_status(&request).map_err(wrong)?.status;
        match self.base {
            Some(FilesAt::Rev(base)) => {
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
        let FilesAt::Rev(_) = self.at else {
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
            FilesAt::Working => {
                let dirstate = Dirstate::read(&self.places.repository).map_err(wrong)?;
                Ok(Arc::new(
                    dirstate.copies().map(|(path, _)| path.to_vec()).collect(),
                ))
            }
            FilesAt::Rev(rev) => {
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
            FilesAt::Rev(rev) => self.places.view.manifest_text(rev).map_err(wrong)?,
            FilesAt::Working => Vec::new(),
        };
        Ok(self.manifest.get_or_init(|| text))
    }

    /// A file of a changeset; what cannot be read is not there.
    fn stored(&self, path: &[u8]) -> Option<(Vec<u8>, FileKind)> {
        let view = &self.places.view;
        let entry = view.find_in_manifest(self.manifest().ok()?, path).ok()??;
        Some((view.file_content(path, &entry.node).ok()?, entry.kind))
    }

    fn on_disk(&self) -> WorkingFiles {
        WorkingFiles::new(self.places.repository.root())
    }
}

fn backwards() -> PatternError {
    PatternError::Files("status() from the working folder is not supported".to_owned())
}

impl FileSource for FilesOf {
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
        if let FilesAt::Rev(_) = self.at {
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
            FilesAt::Rev(_) => Some(self.stored(path)?.0),
            FilesAt::Working => Some(self.on_disk().read(path).ok()?.0),
        }
    }

    fn ignored(&self) -> Result<PathPredicate, PatternError> {
        let ignore = self.ignore()?;
        Ok(PathPredicate::new(move |path| ignore.matches(path)))
    }

    fn at_rev(&self, rev: Option<Rev>) -> Arc<dyn FileSource> {
        Arc::new(self.other(FilesAt::Rev(rev)))
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
        Ok(Arc::new(FilesOf { base, ..files }))
    }

    fn pattern_file(&self, name: &[u8]) -> Result<PathPredicate, PatternError> {
        let root = self.places.repository.root();
        let ignore = IgnoreFiles::of_file(root, name).map_err(wrong)?;
        Ok(PathPredicate::new(move |path| ignore.matches(path)))
    }
}
