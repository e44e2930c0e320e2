//! Looking at tracked files only: no directory needs to be read.

use super::directory::StatWalker;
use super::{EntryRef, PartialStatus, StatusRequest, threads};
use crate::WorkdirError;

/// Fewer files than this are not worth another thread.
const PER_THREAD: usize = 500;

pub(super) fn look_at(
    request: &StatusRequest<'_>,
    entries: &[EntryRef<'_>],
) -> Result<PartialStatus, WorkdirError> {
    let threads = threads().min(entries.len() / PER_THREAD).max(1);
    let mut found = PartialStatus::default();
    if threads == 1 {
        look_at_some(request, entries, &mut found)?;
        return Ok(found);
    }
    let shares = entries.chunks(entries.len().div_ceil(threads));
    std::thread::scope(|scope| {
        let share = |entries| {
            scope.spawn(move || {
                let mut found = PartialStatus::default();
                look_at_some(request, entries, &mut found).map(|()| found)
            })
        };
        let running: Vec<_> = shares.map(share).collect();
        for thread in running {
            found.append(super::walk::joined(thread)??);
        }
        Ok(found)
    })
}

fn look_at_some(
    request: &StatusRequest<'_>,
    entries: &[EntryRef<'_>],
    found: &mut PartialStatus,
) -> Result<(), WorkdirError> {
    let everything = request.matcher.is_everything();
    let mut walker = StatWalker::new(request.repository.root())?;
    for EntryRef { path, item } in entries {
        if !everything && !request.matcher.matches(path) {
            continue;
        }
        request.stop.check()?;
        let seen = walker.see(path);
        let copied = request.dirstate.copy_source(path).is_some();
        found.tracked(path, item, copied, seen, request.listing.clean);
    }
    Ok(())
}
