//! Walking the directories of the working copy beside the sorted entries of the dirstate.
//!
//! A directory is one task for whichever thread is free. Its tracked files and directories are a run of
//! the dirstate's entries, so that both lists are compared name by name and nothing is looked up.

use super::directory::{Name, OpenDirectory};
use super::{EntryRef, PartialStatus, StatusRequest, on_disk, threads};
use crate::WorkdirError;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::thread::ScopedJoinHandle;

/// One directory to be read.
struct DirectoryTask<'a> {
    /// Its path with a slash behind, or nothing for the root.
    prefix: Vec<u8>,
    /// The entries below it.
    entries: &'a [EntryRef<'a>],
    /// Whether all that is not tracked in it is ignored.
    ignored: bool,
}

#[derive(Default)]
struct Queue<'a> {
    tasks: Vec<DirectoryTask<'a>>,
    /// Tasks that are not done, waiting or running.
    open: usize,
    /// Threads that wait for a task.
    idle: usize,
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
    entries: &[EntryRef<'_>],
) -> Result<PartialStatus, WorkdirError> {
    let root = DirectoryTask {
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
            ..Queue::default()
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

/// The result of a thread; its panic is propagated.
pub(super) fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> Result<T, WorkdirError> {
    thread
        .join()
        .map_err(|panic| std::panic::resume_unwind(panic))
}

impl<'a> Walk<'a> {
    fn queue(&self) -> MutexGuard<'_, Queue<'a>> {
        self.queue.lock()
    }

    /// Takes tasks until all are done.
    fn work(&self) -> Result<PartialStatus, WorkdirError> {
        let mut found = PartialStatus::default();
        let mut further = Vec::new();
        let mut task = self.next(0);
        while let Some(directory) = task {
            let done = self.directory(&directory, &mut found, &mut further);
            let mut queue = self.queue();
            queue.open += further.len();
            queue.tasks.append(&mut further);
            queue.failed |= done.is_err();
            drop(queue);
            task = self.next(1);
            done?;
        }
        Ok(found)
    }

    /// The next task, after `done` have been done. Others are woken if there are more, or if this
    /// was the last one.
    fn next(&self, done: usize) -> Option<DirectoryTask<'a>> {
        let mut queue = self.queue();
        queue.open -= done;
        loop {
            let ended = queue.open == 0 || queue.failed;
            let task = if ended { None } else { queue.tasks.pop() };
            if queue.idle > 0 && (ended || !queue.tasks.is_empty()) {
                self.wake.notify_all();
            }
            if ended || task.is_some() {
                return task;
            }
            queue.idle += 1;
            self.wake.wait(&mut queue);
            queue.idle -= 1;
        }
    }

    /// Compares one directory with its entries.
    fn directory(
        &self,
        task: &DirectoryTask<'a>,
        found: &mut PartialStatus,
        further: &mut Vec<DirectoryTask<'a>>,
    ) -> Result<(), WorkdirError> {
        self.request.stop.check()?;
        let listed = self.list(task)?;
        let names = listed
            .iter()
            .flat_map(|(listing, names)| names.iter().map(move |name| (name, listing)));
        let mut tracked = children(task).into_iter().peekable();
        for (name, listing) in names {
            while let Some(gone) = tracked.next_if(|child| child.name < &name.bytes[..]) {
                self.missing(&gone, found);
            }
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
                further.extend(self.enter(task, name, child.below));
                continue;
            }
            for entry in child.below {
                self.tracked(entry, None, found);
            }
            match child.file {
                Some(entry) => self.tracked(entry, listing.see(&name.bytes), found),
                None => self.untracked(task, name, found),
            }
        }
        for gone in tracked {
            self.missing(&gone, found);
        }
        Ok(())
    }

    /// The names in a directory; none if it is another repository or cannot be read.
    fn list(&self, task: &DirectoryTask<'_>) -> Result<Option<Listed>, WorkdirError> {
        let is_root = task.prefix.is_empty();
        let path = on_disk(self.request.repository.root(), &task.prefix);
        let wrong = |error: rustix::io::Errno| WorkdirError::io("list", &path)(error.into());
        let mut listing = match OpenDirectory::open(&path) {
            Ok(listing) => listing,
            Err(error) if is_root => return Err(wrong(error)),
            Err(_) => return Ok(None),
        };
        let mut names = listing.read().map_err(wrong)?;
        let hg = names.iter().position(|name| name.bytes == b".hg");
        if is_root {
            hg.map(|hg| names.remove(hg));
        } else if hg.is_some_and(|hg| names[hg].kind.is_dir()) {
            return Ok(None);
        }
        Ok(Some((listing, names)))
    }

    /// The task for a directory below, if there can be anything of interest in it.
    fn enter(
        &self,
        task: &DirectoryTask<'a>,
        name: &Name,
        below: &'a [EntryRef<'a>],
    ) -> Option<DirectoryTask<'a>> {
        let request = self.request;
        let mut path = [&task.prefix[..], &name.bytes].concat();
        if !self.everything && !request.matcher.may_match_below(&path) {
            return None;
        }
        let ignored = task.ignored || request.ignore.matches(&path);
        if ignored && below.is_empty() && !request.listing.ignored {
            return None;
        }
        path.push(b'/');
        Some(DirectoryTask {
            prefix: path,
            entries: below,
            ignored,
        })
    }

    fn missing(&self, child: &Child<'_>, found: &mut PartialStatus) {
        for entry in child.file.into_iter().chain(child.below) {
            self.tracked(entry, None, found);
        }
    }

    fn tracked(&self, entry: &EntryRef<'_>, seen: Option<super::Stat>, found: &mut PartialStatus) {
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

    fn untracked(&self, task: &DirectoryTask<'_>, name: &Name, found: &mut PartialStatus) {
        let request = self.request;
        if !(name.kind.is_file() || name.kind.is_symlink()) {
            return;
        }
        let path = [&task.prefix[..], &name.bytes].concat();
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

/// An open directory and its names.
type Listed = (OpenDirectory, Vec<Name>);

/// One name that the dirstate has in a directory: a file, a directory, or a removed file and a directory
/// that took its place.
struct Child<'a> {
    name: &'a [u8],
    file: Option<&'a EntryRef<'a>>,
    below: &'a [EntryRef<'a>],
}

/// The entries of the dirstate directly in a directory, sorted by name.
fn children<'a>(task: &DirectoryTask<'a>) -> Vec<Child<'a>> {
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
        let directory = &entry.path[..=task.prefix.len() + slash];
        let count = rest.partition_point(|entry| entry.path.starts_with(directory));
        let (below, behind) = rest.split_at(count);
        rest = behind;
        found.push(Child {
            name: &inner[..slash],
            file: None,
            below,
        });
    }
    found.sort_by(|a, b| a.name.cmp(b.name));
    found.dedup_by(|directory, file| {
        let same = directory.name == file.name;
        if same {
            file.file = file.file.or(directory.file);
            if file.below.is_empty() {
                file.below = directory.below;
            }
        }
        same
    });
    found
}
