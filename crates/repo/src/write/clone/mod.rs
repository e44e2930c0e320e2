//! Making a repository out of another one on the same storage.

mod finish;
mod select;
mod share;

pub use select::CloneCounts;

use crate::format::lock::Lock;
use crate::format::{DEFAULT_BRANCH, RepoError, Requirements, fncache};
use crate::read::{Repository, ViewFilter};
use crate::write::create::{DUMMY_CHANGELOG, write_requirements};
use std::path::Path;
use std::sync::Arc;
use varve_base::storage::{read_if_there, replace};
use varve_base::{Interrupt, OpenMode, Progress, Storage, Unit};

/// Bytes that are copied at a time.
const SPAN: usize = 1 << 20;

impl Repository {
    /// Whether a clone may take the store's files as they are: others may see all that is in them.
    ///
    /// # Errors
    /// A damaged file of the repository.
    pub fn can_clone_by_copying(&self) -> Result<bool, RepoError> {
        Ok(!self.view_for(ViewFilter::Served)?.hides_anything())
    }

    /// Makes a repository in the directory `root`, with the `requirements` that [`Requirements::of_copy`] gives, that shares the files of this one: they get second
    /// names, and a later append to one makes a copy first. With `link` false they are
    /// copied. All changesets are public unless `phases` asks for those of this repository.
    ///
    /// `_lock` is that of this store.
    ///
    /// # Errors
    /// Errors of the storage; [`RepoError::Interrupted`].
    pub fn clone_by_copying(
        &self,
        _lock: &Lock,
        (root, requirements): (&Path, &Requirements),
        (link, phases): (bool, bool),
        progress: &dyn Progress,
        stop: &Interrupt,
    ) -> Result<Repository, RepoError> {
        let storage = self.storage();
        let (from, to) = (self.context().store(), root.join(".hg/store"));
        self.create_clone(root, requirements)?;
        let files = self.store_files()?;
        progress.begin("cloning", Unit::Items, Some(files.len() as u64));
        for file in &files {
            stop.check()?;
            let inside = file.path.strip_prefix(&from).unwrap_or(&file.path);
            let target = to.join(inside);
            if let Some(directory) = target.parent() {
                storage.create_directory(directory)?;
            }
            if link {
                storage.link(&file.path, &target)?;
            } else {
                copy(storage.as_ref(), &file.path, &target, file.len)?;
            }
            progress.advance(1);
        }
        progress.end();
        if self.requirements().has("fncache") {
            let names = files.iter().map(|file| &file.name[..]);
            let list = fncache::encode(names.filter(|name| name.starts_with(b"data/")));
            if !list.is_empty() {
                write_new(storage.as_ref(), &to.join(fncache::FILE), &list)?;
            }
        }
        let kept = [Some("obsstore"), phases.then_some("phaseroots")];
        for name in kept.into_iter().flatten() {
            if let Some(bytes) = read_if_there(storage.as_ref(), &from.join(name))? {
                write_new(storage.as_ref(), &to.join(name), &bytes)?;
            }
        }
        // Mercurial names the branch of the next commit here even if it is the usual one.
        let branch = [DEFAULT_BRANCH, b"\n"].concat();
        write_new(storage.as_ref(), &root.join(".hg/branch"), &branch)?;
        Repository::open(Arc::clone(storage), root)
    }

    /// Makes the directories and requirements of a clone, which has no history yet.
    fn create_clone(&self, root: &Path, requirements: &Requirements) -> Result<(), RepoError> {
        let storage = self.storage().as_ref();
        let hg = root.join(".hg");
        for directory in ["store", "cache", "wcache"] {
            storage.create_directory(&hg.join(directory))?;
        }
        write_requirements(storage, &hg, requirements)?;
        Ok(replace(
            storage,
            &hg.join("00changelog.i"),
            DUMMY_CHANGELOG,
        )?)
    }
}

fn copy(storage: &dyn Storage, from: &Path, to: &Path, len: u64) -> Result<(), RepoError> {
    let source = storage.open(from, OpenMode::Read)?;
    let target = storage.open(to, OpenMode::CreateNew)?;
    let mut at = 0;
    while at < len {
        let span = usize::try_from(len - at).unwrap_or(SPAN).min(SPAN);
        target.append(&source.read_vec(at, span)?)?;
        at += span as u64;
    }
    Ok(())
}

fn write_new(storage: &dyn Storage, path: &Path, bytes: &[u8]) -> Result<(), RepoError> {
    storage.open(path, OpenMode::CreateNew)?.append(bytes)?;
    Ok(())
}
