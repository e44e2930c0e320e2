//! How the working copy differs from its first parent.
//!
//! Most files are known from their size and time alone. What those leave open is read and compared,
//! and what turns out to be clean is remembered, so that the next status need not read it again.

mod compare;
mod listing;
mod revisions;
#[cfg(test)]
mod tests;
mod tracked;
mod walk;

use crate::dirstate::{Dirstate, Item, Match, Seen, State, Timestamp};
use crate::{Ignore, WorkdirError};
use compare::Baseline;
pub use revisions::{copies_against, copies_between, status_against, status_between};
use std::path::Path;
use varve_base::Interrupt;
use varve_lang::patterns::Matcher;
use varve_repo::{LockKind, RepoError, Repository, ViewFilter};

/// Which files are listed besides those that changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Listing {
    /// Not tracked and not ignored.
    pub unknown: bool,
    /// Not tracked and ignored.
    pub ignored: bool,
    /// Tracked and as in the first parent.
    pub clean: bool,
}

/// What a status looks at.
#[derive(Clone, Copy)]
pub struct StatusRequest<'a> {
    /// The repository; its root is the working copy.
    pub repository: &'a Repository,
    /// As read from it.
    pub dirstate: &'a Dirstate,
    /// Only these files.
    pub matcher: &'a Matcher,
    /// What is ignored.
    pub ignore: &'a Ignore,
    /// What is listed.
    pub listing: Listing,
    /// Ends the work early.
    pub stop: &'a Interrupt,
}

/// Paths by what became of them, each list sorted bytewise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Other content or flags than in the first parent.
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

/// A [`Status`] and what was learnt on the way.
#[derive(Clone, Debug, Default)]
pub struct WorkingStatus {
    /// The lists.
    pub status: Status,
    learnt: Vec<(Vec<u8>, Seen)>,
    boundary: Timestamp,
}

/// What one thread has found.
#[derive(Default)]
struct Found {
    status: Status,
    unsure: Vec<(Vec<u8>, Seen)>,
}

impl Found {
    /// Sorts in a tracked or removed file; `seen` is what stands there, if it is a file or link.
    fn tracked(&mut self, path: &[u8], item: &Item, copied: bool, seen: Option<Seen>, clean: bool) {
        let list = match (item.state(), seen) {
            (State::Removed, _) => &mut self.status.removed,
            (_, None) => &mut self.status.deleted,
            (State::Added, _) => &mut self.status.added,
            (_, Some(_)) if copied => &mut self.status.modified,
            (_, Some(seen)) => match item.compare(&seen) {
                Match::Different => &mut self.status.modified,
                Match::Same if clean => &mut self.status.clean,
                Match::Same => return,
                Match::Unsure => {
                    self.unsure.push((path.to_vec(), seen));
                    return;
                }
            },
        };
        list.push(path.to_vec());
    }

    fn append(&mut self, mut other: Found) {
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

/// An entry of the dirstate as the threads see it.
#[derive(Clone, Copy)]
struct Entry<'a> {
    path: &'a [u8],
    item: Item,
}

/// The working copy against its first parent.
///
/// # Errors
/// What cannot be read, or an interruption.
pub fn working_status(request: &StatusRequest<'_>) -> Result<WorkingStatus, WorkdirError> {
    let mut entries = Vec::with_capacity(request.dirstate.most());
    let all = request.dirstate.iter();
    entries.extend(all.map(|(path, item)| Entry { path, item }));
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
    /// Writes what was learnt into the dirstate, unless somebody holds the lock or has changed it
    /// meanwhile: then the next status learns it again.
    ///
    /// # Errors
    /// What the storage answers besides that.
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
            // Held by somebody, or the repository may only be read.
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

    /// Puts what was learnt into the dirstate that was looked at.
    pub fn teach(&self, dirstate: &mut Dirstate) {
        for (path, seen) in &self.learnt {
            dirstate.set_clean(path, seen, self.boundary);
        }
    }
}

/// Threads that a walk is worth.
fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get().min(8))
}

/// A path of the working copy on the disk.
fn on_disk(root: &Path, path: &[u8]) -> std::path::PathBuf {
    use std::os::unix::ffi::OsStrExt;
    root.join(std::ffi::OsStr::from_bytes(path))
}
