//! Applying the plan of an update, on all cores.

use super::plan::{Plan, UpdateStep};
use crate::tree::TreeEntry;
use crate::{Stat, WorkdirError, WorkingFiles};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use varve_base::{Interrupt, Progress, Unit};
use varve_repo::RepoView;
use varve_revlog::ReaderState;

/// Files that one thread takes at a time.
const SHARE: usize = 32;
/// Fewer files are written by one thread: starting another costs more.
const FEW: usize = 64;
const MOST_THREADS: usize = 8;

/// Written files with their stat.
pub(crate) type Written<'a> = Vec<(&'a [u8], Stat)>;

/// Removes and writes files. After a failure the dirstate is unchanged, so that the next status
/// finds the changes made until then.
pub(crate) fn apply<'a>(
    plan: &'a Plan,
    view: &RepoView,
    (progress, stop): (&dyn Progress, &Interrupt),
) -> Result<Written<'a>, WorkdirError> {
    let writes: Vec<(&[u8], TreeEntry)> = plan
        .steps
        .iter()
        .filter_map(|(path, step)| match step {
            UpdateStep::Write(tracked) => Some((&path[..], *tracked)),
            _ => None,
        })
        .collect();
    progress.begin("updating", Unit::Items, Some(plan.steps.len() as u64));
    let files = WorkingFiles::of_view(view);
    for (path, step) in &plan.steps {
        stop.check()?;
        match step {
            UpdateStep::Remove => drop(files.remove(path)?),
            UpdateStep::Mode(kind) => files.set_kind(path, *kind)?,
            _ => continue,
        }
        progress.item(path);
        progress.advance(1);
    }
    // Obstacles are gone, so that the auditor must check directories again.
    let files = WorkingFiles::of_view(view);
    let mut last: &[u8] = b"";
    for (path, _) in &writes {
        let directory = path
            .rsplitn(2, |byte| *byte == b'/')
            .nth(1)
            .unwrap_or_default();
        if directory != last {
            files.audit(path)?;
            files.make_directories(path)?;
            last = directory;
        }
        if files.look(path)?.is_some_and(|found| found.is_dir()) {
            clear_directory(&files, path)?;
        }
    }
    let written = write_all(&writes, view, &files, (progress, stop))?;
    progress.end();
    Ok(written)
}

/// Takes away a directory without files in it.
fn clear_directory(files: &WorkingFiles, directory: &[u8]) -> Result<(), WorkdirError> {
    let path = files.path(directory);
    let wrong = |error| WorkdirError::io("remove", &path)(error);
    for entry in std::fs::read_dir(&path).map_err(wrong)? {
        let name = entry.map_err(wrong)?.file_name();
        let name = std::os::unix::ffi::OsStrExt::as_bytes(&*name);
        clear_directory(files, &[directory, b"/", name].concat())?;
    }
    std::fs::remove_dir(&path).map_err(wrong)
}

fn write_all<'a>(
    writes: &[(&'a [u8], TreeEntry)],
    view: &RepoView,
    files: &WorkingFiles,
    (progress, stop): (&dyn Progress, &Interrupt),
) -> Result<Written<'a>, WorkdirError> {
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut written, mut state) = (Vec::new(), ReaderState::default());
        loop {
            let start = next.fetch_add(SHARE, Ordering::Relaxed);
            let Some(rest) = writes.get(start..).filter(|rest| !rest.is_empty()) else {
                return Ok(written);
            };
            let share = &rest[..rest.len().min(SHARE)];
            for (path, (node, kind)) in share {
                stop.check()?;
                let content = view.file_content_with(path, node, &mut state)?;
                written.push((*path, files.write(path, &content, *kind)?));
            }
            if let Some((path, _)) = share.last() {
                progress.item(path);
            }
            progress.advance(share.len() as u64);
        }
    };
    let threads = if writes.len() < FEW {
        1
    } else {
        thread::available_parallelism()
            .map_or(1, NonZero::get)
            .min(MOST_THREADS)
    };
    if threads == 1 {
        return work();
    }
    thread::scope(|scope| {
        let started: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut all = Vec::with_capacity(writes.len());
        for thread in started {
            let result: Result<Written<'a>, WorkdirError> = match thread.join() {
                Ok(result) => result,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            all.extend(result?);
        }
        Ok(all)
    })
}
