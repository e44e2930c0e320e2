//! Differences between the working copy and its first parent.
//!
//! For most files size and time decide. The others are read and compared, and the stats of those
//! that are clean are written to the dirstate, so that the next status need not read them again.

mod compare;
mod directories;
mod directory;
mod revisions;
#[cfg(test)]
mod tests;
mod tracked;
mod walk;

use crate::dirstate::{Dirstate, DirstateEntry, EntryState, Stat, StatMatch, Timestamp};
use crate::{Ignore, WorkdirError};
use compare::Baseline;
pub use directories::matching_directories;
pub use revisions::{copies_against, copies_between, status_against, status_between};
use std::path::Path;
use varve_base::Interrupt;
use varve_lang::patterns::Matcher;
use varve_repo::{LockKind, RepoError, Repository, ViewFilter};

/// The lists that a status has besides those of changed files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatusLists {
    /// Not tracked and not ignored.
    pub unknown: bool,
    /// Not tracked and ignored.
    pub ignored: bool,
    /// Tracked and as in the first parent.
    pub clean: bool,
}

/// The input of a status.
#[derive(Clone, Copy)]
pub struct StatusRequest<'a> {
    /// The repository; its root is the working copy.
    pub repository: &'a Repository,
    /// The dirstate of that repository.
    pub dirstate: &'a Dirstate,
    /// Only these files.
    pub matcher: &'a Matcher,
    /// The ignore patterns.
    pub ignore: &'a Ignore,
    /// The wanted lists.
    pub listing: StatusLists,
    /// Interrupts the walk.
    pub stop: &'a Interrupt,
}

/// Paths by state, each list sorted bytewise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Content or flags differ from the first parent.
    pub modified: Vec<Vec<u8>>,
    /// Tracked since the first parent.
    pub added: Vec<Vec<u8>>,
    /// Not tracked any more.
    pub removed: Vec<Vec<u8>>,
    /// Tracked, but not there.
    pub deleted: Vec<Vec<u8>>,
    /// Not tracked.
    pub unknown: Vec<Vec<u8>>,
    /// Not tracked and ignored.
    pub ignored: Vec<Vec<u8>>,
    /// As in the first parent.
    pub clean: Vec<Vec<u8>>,
}

/// A [`Status`], with stats that can be written to the dirstate.
#[derive(Clone, Debug, Default)]
pub struct WorkingStatus {
    /// The lists.
    pub status: Status,
    learnt: Vec<(Vec<u8>, Stat)>,
    boundary: Timestamp,
}

/// The result of one thread.
#[derive(Default)]
struct PartialStatus {
    status: Status,
    unsure: Vec<(Vec<u8>, Stat)>,
}

impl PartialStatus {
    /// Adds a tracked or removed file to its list; `seen` is its stat, if it is a file or link.
    fn tracked(
        &mut self,
        path: &[u8],
        item: &DirstateEntry,
        copied: bool,
        seen: Option<Stat>,
        clean: bool,
    ) {
        let list = match (item.state(), seen) {
            (EntryState::Removed, _) => &mut self.status.removed,
            (_, None) => &mut self.status.deleted,
            (EntryState::Added, _) => &mut self.status.added,
            (_, Some(_)) if copied => &mut self.status.modified,
            (_, Some(seen)) => match item.compare(&seen) {
                StatMatch::Different => &mut self.status.modified,
                StatMatch::Same if clean => &mut self.status.clean,
                StatMatch::Same => return,
                StatMatch::Unsure => {
                    self.unsure.push((path.to_vec(), seen));
                    return;
                }
            },
        };
        list.push(path.to_vec());
    }

    fn append(&mut self, mut other: PartialStatus) {
        self.unsure.append(&mut other.unsure);
        let theirs = other.status.lists_mut();
        for (ours, theirs) in self.status.lists_mut().into_iter().zip(theirs) {
            ours.append(theirs);
        }
    }
}

impl Status {
    fn lists_mut(&mut self) -> [&mut Vec<Vec<u8>>; 7] {
        [
            &mut self.modified,
            &mut self.added,
            &mut self.removed,
            &mut self.deleted,
            &mut self.unknown,
            &mut self.ignored,
            &mut self.clean,
        ]
    }

    /// Whether no tracked file changed.
    pub fn is_unchanged(&self) -> bool {
        [&self.modified, &self.added, &self.removed, &self.deleted]
            .iter()
            .all(|list| list.is_empty())
    }
}

/// An entry of the dirstate with its path.
#[derive(Clone, Copy)]
struct EntryRef<'a> {
    path: &'a [u8],
    item: DirstateEntry,
}

/// The working copy against its first parent.
///
/// # Errors
/// A failure to read, or an interruption.
pub fn working_status(request: &StatusRequest<'_>) -> Result<WorkingStatus, WorkdirError> {
    let mut entries = Vec::with_capacity(request.dirstate.max_len());
    let all = request.dirstate.iter();
    entries.extend(all.map(|(path, item)| EntryRef { path, item }));
    let listing = request.listing;
    let mut found = if listing.unknown || listing.ignored {
        walk::walk(request, &entries)?
    } else {
        tracked::look_at(request, &entries)?
    };
    let mut unsure = std::mem::take(&mut found.unsure);
    unsure.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    let mut status = found.status;
    let (mut learnt, mut boundary) = (Vec::new(), Timestamp::default());
    if !unsure.is_empty() {
        // From before the files are read. Without a writable `.hg` nothing will be remembered.
        boundary = Dirstate::clock(request.repository).unwrap_or_default();
        let view = request.repository.view_for(ViewFilter::Unfiltered)?;
        let first = view.changelog().rev(&request.dirstate.parents()[0]);
        let text = view.manifest_text(first)?;
        let baseline = Baseline::of_text(request.repository.root(), &view, &text);
        let is_clean = baseline.compare_all(&unsure, request.stop)?;
        for ((path, seen), is_clean) in unsure.into_iter().zip(is_clean) {
            if !is_clean {
                status.modified.push(path);
                continue;
            }
            if listing.clean {
                status.clean.push(path.clone());
            }
            learnt.push((path, seen));
        }
    }
    for list in status.lists_mut() {
        list.sort_unstable();
    }
    Ok(WorkingStatus {
        status,
        learnt,
        boundary,
    })
}

impl WorkingStatus {
    /// Writes the stats of clean files to the dirstate, unless the lock is held or the dirstate has
    /// changed meanwhile: then the next status reads these files again.
    ///
    /// # Errors
    /// Any other failure of the storage.
    pub fn remember(&self, request: &StatusRequest<'_>) -> Result<(), WorkdirError> {
        let useful = self
            .learnt
            .iter()
            .any(|(_, seen)| seen.mtime < self.boundary);
        if !useful {
            return Ok(());
        }
        let lock = match request.repository.try_lock(LockKind::WorkingCopy) {
            Ok(lock) => lock,
            // The lock is held, or the repository is read-only.
            Err(RepoError::LockHeld { .. } | RepoError::Storage(_)) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        if request.dirstate.is_current(request.repository)? {
            let mut dirstate = request.dirstate.clone();
            self.teach(&mut dirstate);
            dirstate.write(request.repository)?;
        }
        drop(lock);
        Ok(())
    }

    /// Records the stats of clean files in the dirstate that the status used.
    pub fn teach(&self, dirstate: &mut Dirstate) {
        for (path, seen) in &self.learnt {
            dirstate.set_clean(path, seen, self.boundary);
        }
    }
}

/// Most threads of a walk.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get().min(8))
}

/// A path of the working copy on the disk.
fn on_disk(root: &Path, path: &[u8]) -> std::path::PathBuf {
    use std::os::unix::ffi::OsStrExt;
    root.join(std::ffi::OsStr::from_bytes(path))
}
