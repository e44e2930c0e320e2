//! Looking at tracked files only: no folder needs to be read.

use super::listing::Onlooker;
use super::{Entry, Found, StatusRequest, threads};
use crate::WorkdirError;

/// Fewer files than this are not worth another thread.
const PER_THREAD: usize = 500;

pub(super) fn look_at(
    request: &StatusRequest<'_>,
    entries: &[Entry<'_>],
) -> Result<Found, WorkdirError> {
    let threads = threads().min(entries.len() / PER_THREAD).max(1);
    let mut found = Found::default();
    if threads == 1 {
        look_at_some(request, entries, &mut found)?;
        return Ok(found);
    }
    let shares = entries.chunks(entries.len().div_ceil(threads));
    std::thread::scope(|scope| {
        let share = |entries| {
            scope.spawn(move || {
                let mut found = Found::default();
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
    entries: &[Entry<'_>],
    found: &mut Found,
) -> Result<(), WorkdirError> {
    let everything = request.matcher.is_everything();
    let mut onlooker = Onlooker::new(request.repository.root())?;
    for Entry { path, item } in entries {
        if !everything && !request.matcher.matches(path) {
            continue;
        }
        request.stop.check()?;
        let seen = onlooker.see(path);
        let copied = request.dirstate.copy_source(path).is_some();
        found.tracked(path, item, copied, seen, request.listing.clean);
    }
    Ok(())
}
