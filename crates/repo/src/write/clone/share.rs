//! Working copies that share the store of a repository, and giving them a store of their own.

use super::write_new;
use crate::format::context::OpenOptions;
use crate::format::lock::Lock;
use crate::format::share::{BOOKMARKS, NAMES, PATH};
use crate::format::{RepoError, Requirements};
use crate::read::Repository;
use crate::write::create::DUMMY_CHANGELOG;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::storage::{read_if_there, replace};
use varve_base::{Interrupt, Progress};

/// Directory below `.hg` in which a store is made.
const SCRATCH: &str = "unshare";

impl Repository {
    /// Makes a repository in the directory `root` that has the store of this one. Of `new`, the requirements of a new
    /// repository, those of the dirstate are added. Its file of requirements is written
    /// last: without it nothing is a repository.
    ///
    /// # Errors
    /// Errors of the storage.
    pub fn create_share(
        &self,
        (root, new): (&Path, &Requirements),
        (is_relative, shares_bookmarks): (bool, bool),
        opening: OpenOptions,
    ) -> Result<Repository, RepoError> {
        let context = self.context();
        let storage = context
            .share
            .as_ref()
            .map_or(&context.storage, |share| &share.own);
        let hg = root.join(".hg");
        let own = context.hg();
        let source = self.share_source().unwrap_or(&own);
        storage.create_directory(&hg)?;
        let path = match is_relative {
            true => relative(source, &hg),
            false => source.to_owned(),
        };
        write_new(
            storage.as_ref(),
            &hg.join(PATH),
            path.as_os_str().as_bytes(),
        )?;
        if shares_bookmarks {
            let text = format!("{BOOKMARKS}\n");
            write_new(storage.as_ref(), &hg.join(NAMES), text.as_bytes())?;
        }
        let requirements = self.requirements();
        let is_safe = requirements.has("share-safe");
        let place = if is_relative { "relshared" } else { "shared" };
        let kept = requirements.clone().with("relshared", false);
        let added = new.iter().filter(|name| Requirements::is_of_dirstate(name));
        let names: BTreeSet<&str> = kept.iter().chain(added).chain([place]).collect();
        let names = names
            .into_iter()
            .filter(|name| !is_safe || Requirements::is_outside(name));
        let text: String = names.map(|name| format!("{name}\n")).collect();
        replace(storage.as_ref(), &hg.join("requires"), text.as_bytes())?;
        Repository::open_with(Arc::clone(storage), root, opening)
    }

    /// Gives this repository a store of its own, with the phases of the other one if `phases` says so, else all
    /// changesets are public. An interruption leaves it as it was.
    ///
    /// `lock` is that of the shared store.
    ///
    /// # Errors
    /// [`RepoError::NotShared`]; errors of the storage; [`RepoError::Interrupted`].
    pub fn unshare(
        &self,
        lock: &Lock,
        phases: bool,
        progress: &dyn Progress,
        stop: &Interrupt,
    ) -> Result<(), RepoError> {
        let context = self.context();
        let share = context.share.as_ref().ok_or(RepoError::NotShared)?;
        let (own, hg) = (share.own.as_ref(), context.hg());
        let scratch = hg.join(SCRATCH);
        if own.kind(&scratch)?.is_some() {
            own.remove_tree(&scratch)?;
        }
        let own_store = self
            .requirements()
            .clone()
            .with("shared", false)
            .with("relshared", false);
        let place = (scratch.as_path(), &own_store);
        self.clone_by_copying(lock, place, (false, phases), progress, stop)?;
        let store = hg.join("store");
        if own.kind(&store)?.is_some() {
            // Of an attempt that was interrupted.
            own.remove_tree(&store)?;
        }
        own.sync_tree(&scratch)?;
        own.rename(&scratch.join(".hg/store"), &store)?;
        let requires = hg.join("requires");
        let bytes = read_if_there(own, &requires)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let kept = text
            .lines()
            .filter(|line| !["shared", "relshared"].contains(line));
        let text: String = kept.map(|line| format!("{line}\n")).collect();
        if own.kind(&hg.join("00changelog.i"))?.is_none() {
            replace(own, &hg.join("00changelog.i"), DUMMY_CHANGELOG)?;
        }
        replace(own, &requires, text.as_bytes())?;
        own.rename(&hg.join(PATH), &hg.join("sharedpath.old"))?;
        own.remove_tree(&scratch)?;
        Ok(own.sync_directory(&hg)?)
    }
}

/// A path as seen from a directory; both are absolute.
fn relative(path: &Path, from: &Path) -> PathBuf {
    let common = path.components().zip(from.components());
    let common = common.take_while(|(one, other)| one == other).count();
    let up = from.components().skip(common).map(|_| Path::new(".."));
    let down = path.components().skip(common);
    up.chain(down.map(|part| Path::new(part.as_os_str())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_lead_up_and_down() {
        for (path, from, expected) in [
            ("/a/r/.hg", "/a/s/.hg", "../../r/.hg"),
            ("/r/.hg", "/a/s/.hg", "../../../r/.hg"),
            ("/a/.hg", "/a/s/.hg", "../../.hg"),
        ] {
            let found = relative(Path::new(path), Path::new(from));
            assert_eq!(found, Path::new(expected));
        }
    }
}
