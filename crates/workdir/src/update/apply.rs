//! Doing what an update has planned, with all cores.

use super::plan::{Plan, Step};
use crate::tree::Tracked;
use crate::{Seen, WorkdirError, WorkingFiles};
use std::num::NonZero;
use std::path::Path;
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

/// Files that were written and what they look like.
pub(crate) type Written<'a> = Vec<(&'a [u8], Seen)>;

/// Removes and writes files. What fails leaves the dirstate as it is, so that the next look at
/// the working copy finds what was done until then.
pub(crate) fn apply<'a>(
    plan: &'a Plan,
    view: &RepoView,
    root: &Path,
    (progress, stop): (&dyn Progress, &Interrupt),
) -> Result<Written<'a>, WorkdirError> {
    let writes: Vec<(&[u8], Tracked)> = plan
        .steps
        .iter()
        .filter_map(|(path, step)| match step {
            Step::Write(tracked) => Some((&path[..], *tracked)),
            _ => None,
        })
        .collect();
    progress.begin("updating", Unit::Items, Some(plan.steps.len() as u64));
    let files = WorkingFiles::new(root);
    for (path, step) in &plan.steps {
        stop.check()?;
        match step {
            Step::Remove => drop(files.remove(path)?),
            Step::Mode(kind) => files.set_kind(path, *kind)?,
            _ => continue,
        }
        progress.advance(1);
    }
    // What stood in the way is gone, so that folders are looked at anew.
    let files = WorkingFiles::new(root);
    let mut last: &[u8] = b"";
    for (path, _) in &writes {
        let folder = path
            .rsplitn(2, |byte| *byte == b'/')
            .nth(1)
            .unwrap_or_default();
        if folder != last {
            files.audit(path)?;
            files.make_folders(path)?;
            last = folder;
        }
        if files.look(path)?.is_some_and(|found| found.is_dir()) {
            clear_folder(&files, path)?;
        }
    }
    let written = write_all(&writes, view, &files, (progress, stop))?;
    progress.end();
    Ok(written)
}

/// Takes away a folder without files in it.
fn clear_folder(files: &WorkingFiles, folder: &[u8]) -> Result<(), WorkdirError> {
    let path = files.path(folder);
    let wrong = |error| WorkdirError::io("remove", &path)(error);
    for entry in std::fs::read_dir(&path).map_err(wrong)? {
        let name = entry.map_err(wrong)?.file_name();
        let name = std::os::unix::ffi::OsStrExt::as_bytes(&*name);
        clear_folder(files, &[folder, b"/", name].concat())?;
    }
    std::fs::remove_dir(&path).map_err(wrong)
}

fn write_all<'a>(
    writes: &[(&'a [u8], Tracked)],
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
            for (path, (node, kind)) in &rest[..rest.len().min(SHARE)] {
                stop.check()?;
                let content = view.file_content_with(path, node, &mut state)?;
                written.push((*path, files.write(path, &content, *kind)?));
            }
            progress.advance(rest.len().min(SHARE) as u64);
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
