//! Walking the folders of the working copy beside the sorted entries of the dirstate.
//!
//! A folder is one task for whichever thread is free. Its tracked files and folders are a run of
//! the dirstate's entries, so that both lists are compared name by name and nothing is looked up.

use super::{Entry, Found, StatusRequest, on_disk, see, threads};
use crate::WorkdirError;
use std::ffi::OsString;
use std::fs::{DirEntry, FileType};
use std::os::unix::ffi::OsStringExt;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ScopedJoinHandle;

/// One folder to be read.
struct Task<'a> {
    /// Its path with a slash behind, or nothing for the root.
    prefix: Vec<u8>,
    /// The entries below it.
    entries: &'a [Entry<'a>],
    /// Whether all that is not tracked in it is ignored.
    ignored: bool,
}

#[derive(Default)]
struct Queue<'a> {
    tasks: Vec<Task<'a>>,
    /// Tasks that are not done, waiting or running.
    open: usize,
    failed: bool,
}

struct Walk<'a> {
    request: &'a StatusRequest<'a>,
    everything: bool,
    queue: Mutex<Queue<'a>>,
    wake: Condvar,
}

/// Walks everything below the root.
pub(super) fn walk(
    request: &StatusRequest<'_>,
    entries: &[Entry<'_>],
) -> Result<Found, WorkdirError> {
    let root = Task {
        prefix: Vec::new(),
        entries,
        ignored: false,
    };
    let walk = Walk {
        request,
        everything: request.matcher.is_everything(),
        queue: Mutex::new(Queue {
            tasks: vec![root],
            open: 1,
            failed: false,
        }),
        wake: Condvar::new(),
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads())
            .map(|_| scope.spawn(|| walk.work()))
            .collect();
        let mut found = walk.work();
        for other in others {
            let theirs = joined(other)?;
            match (&mut found, theirs) {
                (Ok(ours), Ok(theirs)) => ours.append(theirs),
                (Ok(_), Err(error)) => found = Err(error),
                (Err(_), _) => {}
            }
        }
        found
    })
}

/// What a thread gives; its panic becomes ours.
pub(super) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> Result<T, WorkdirError> {
    thread
        .join()
        .map_err(|panic| std::panic::resume_unwind(panic))
}

impl<'a> Walk<'a> {
    fn queue(&self) -> MutexGuard<'_, Queue<'a>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes tasks until all are done.
    fn work(&self) -> Result<Found, WorkdirError> {
        let mut found = Found::default();
        while let Some(task) = self.next() {
            let mut further = Vec::new();
            let done = self.folder(&task, &mut found, &mut further);
            let mut queue = self.queue();
            queue.open = queue.open + further.len() - 1;
            queue.tasks.append(&mut further);
            queue.failed |= done.is_err();
            drop(queue);
            self.wake.notify_all();
            done?;
        }
        Ok(found)
    }

    fn next(&self) -> Option<Task<'a>> {
        let mut queue = self.queue();
        loop {
            if queue.open == 0 || queue.failed {
                return None;
            }
            if let Some(task) = queue.tasks.pop() {
                return Some(task);
            }
            queue = self
                .wake
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Compares one folder with its entries.
    fn folder(
        &self,
        task: &Task<'a>,
        found: &mut Found,
        further: &mut Vec<Task<'a>>,
    ) -> Result<(), WorkdirError> {
        self.request.stop.check()?;
        let names = self.names(task)?;
        let mut tracked = children(task).into_iter().peekable();
        for name in names {
            while let Some(gone) = tracked.next_if(|child| child.name < &name.bytes[..]) {
                self.missing(&gone, found);
            }
            let path = [&task.prefix[..], &name.bytes].concat();
            let child = tracked.next_if(|child| child.name == &name.bytes[..]);
            let child = child.unwrap_or(Child {
                name: b"",
                file: None,
                below: &[],
            });
            if name.kind.is_dir() {
                if let Some(entry) = child.file {
                    self.tracked(entry, None, found);
                }
                further.extend(self.enter(task, path, child.below));
                continue;
            }
            for entry in child.below {
                self.tracked(entry, None, found);
            }
            match child.file {
                Some(entry) => {
                    let metadata = name.entry.metadata().ok();
                    self.tracked(entry, metadata.as_ref().and_then(see), found);
                }
                None => self.untracked(task, path, name.kind, found),
            }
        }
        for gone in tracked {
            self.missing(&gone, found);
        }
        Ok(())
    }

    /// The names in a folder, sorted. None of them counts if the folder is another repository or
    /// cannot be read.
    fn names(&self, task: &Task<'_>) -> Result<Vec<Name>, WorkdirError> {
        let is_root = task.prefix.is_empty();
        let path = on_disk(self.request.repository.root(), &task.prefix);
        let listing = match std::fs::read_dir(&path) {
            Ok(listing) => listing,
            Err(error) if is_root => return Err(WorkdirError::io("list", &path)(error)),
            Err(_) => return Ok(Vec::new()),
        };
        let mut names = Vec::new();
        for entry in listing {
            let entry = entry.map_err(WorkdirError::io("list", &path))?;
            let Ok(kind) = entry.file_type() else {
                continue; // Gone meanwhile.
            };
            let bytes = OsString::into_vec(entry.file_name());
            if bytes == b".hg" && (is_root || kind.is_dir()) {
                if is_root {
                    continue;
                }
                return Ok(Vec::new());
            }
            names.push(Name { bytes, kind, entry });
        }
        names.sort_unstable_by(|a, b| a.bytes.cmp(&b.bytes));
        Ok(names)
    }

    /// The task for a folder below, if there can be anything of interest in it.
    fn enter(&self, task: &Task<'a>, path: Vec<u8>, below: &'a [Entry<'a>]) -> Option<Task<'a>> {
        let request = self.request;
        if !self.everything && !request.matcher.may_match_below(&path) {
            return None;
        }
        let ignored = task.ignored || request.ignore.matches(&path);
        if ignored && below.is_empty() && !request.listing.ignored {
            return None;
        }
        let mut prefix = path;
        prefix.push(b'/');
        Some(Task {
            prefix,
            entries: below,
            ignored,
        })
    }

    fn missing(&self, child: &Child<'_>, found: &mut Found) {
        for entry in child.file.into_iter().chain(child.below) {
            self.tracked(entry, None, found);
        }
    }

    fn tracked(&self, entry: &Entry<'_>, seen: Option<super::Seen>, found: &mut Found) {
        if self.everything || self.request.matcher.matches(entry.path) {
            let copied = self.request.dirstate.copy_source(entry.path).is_some();
            found.tracked(
                entry.path,
                &entry.item,
                copied,
                seen,
                self.request.listing.clean,
            );
        }
    }

    fn untracked(&self, task: &Task<'_>, path: Vec<u8>, kind: FileType, found: &mut Found) {
        let request = self.request;
        if !(kind.is_file() || kind.is_symlink()) {
            return;
        }
        if !self.everything && !request.matcher.matches(&path) {
            return;
        }
        if task.ignored || request.ignore.matches(&path) {
            if request.listing.ignored {
                found.status.ignored.push(path);
            }
        } else if request.listing.unknown {
            found.status.unknown.push(path);
        }
    }
}

struct Name {
    bytes: Vec<u8>,
    kind: FileType,
    entry: DirEntry,
}

/// One name that the dirstate has in a folder: a file, a folder, or a removed file and a folder
/// that took its place.
struct Child<'a> {
    name: &'a [u8],
    file: Option<&'a Entry<'a>>,
    below: &'a [Entry<'a>],
}

/// What the dirstate has directly in a folder, sorted by name.
fn children<'a>(task: &Task<'a>) -> Vec<Child<'a>> {
    let mut found: Vec<Child<'a>> = Vec::new();
    let mut rest = task.entries;
    while let [entry, behind @ ..] = rest {
        let inner = &entry.path[task.prefix.len()..];
        let slash = inner.iter().position(|byte| *byte == b'/');
        let Some(slash) = slash else {
            rest = behind;
            found.push(Child {
                name: inner,
                file: Some(entry),
                below: &[],
            });
            continue;
        };
        let folder = &entry.path[..=task.prefix.len() + slash];
        let count = rest.partition_point(|entry| entry.path.starts_with(folder));
        let (below, behind) = rest.split_at(count);
        rest = behind;
        found.push(Child {
            name: &inner[..slash],
            file: None,
            below,
        });
    }
    found.sort_by(|a, b| a.name.cmp(b.name));
    found.dedup_by(|folder, file| {
        let same = folder.name == file.name;
        if same {
            file.file = file.file.or(folder.file);
            if file.below.is_empty() {
                file.below = folder.below;
            }
        }
        same
    });
    found
}
