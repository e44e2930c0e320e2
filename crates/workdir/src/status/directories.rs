//! Directories of the working copy that match, for commands that remove the empty ones.

use super::directory::OpenDirectory;
use super::{StatusRequest, on_disk};
use crate::WorkdirError;
use std::os::unix::ffi::OsStrExt;

/// Directories below the root that match, sorted bytewise. As in a status that has the lists of `request`, an
/// ignored directory is left out unless ignored files are listed or files below it are tracked, and so are
/// other repositories and what is behind symbolic links.
///
/// # Errors
/// A directory that cannot be listed, or an interruption.
pub fn matching_directories(request: &StatusRequest<'_>) -> Result<Vec<Vec<u8>>, WorkdirError> {
    let mut found = Vec::new();
    let mut waiting = vec![(Vec::new(), false)];
    while let Some((directory, is_ignored)) = waiting.pop() {
        request.stop.check()?;
        for name in subdirectories(request, &directory)? {
            let path = match &directory[..] {
                [] => name,
                above => [above, b"/", &name].concat(),
            };
            if !request.matcher.is_everything() && !request.matcher.may_match_below(&path) {
                continue;
            }
            let is_ignored = is_ignored || request.ignore.matches(&path);
            let is_tracked = || request.dirstate.below(&path).next().is_some();
            if is_ignored && !request.listing.ignored && !is_tracked() {
                continue;
            }
            waiting.push((path, is_ignored));
        }
        if !directory.is_empty() && request.matcher.matches(&directory) {
            found.push(directory);
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Names of the directories in a directory that are not other repositories.
fn subdirectories(
    request: &StatusRequest<'_>,
    directory: &[u8],
) -> Result<Vec<Vec<u8>>, WorkdirError> {
    let path = on_disk(request.repository.root(), directory);
    // One that cannot be opened has no status either.
    let Ok(mut opened) = OpenDirectory::open(&path) else {
        return Ok(Vec::new());
    };
    let names = opened
        .read()
        .map_err(|error| WorkdirError::io("list", &path)(error.into()))?;
    let names = names.into_iter().filter(|name| name.kind.is_dir());
    let names = names.map(|name| name.bytes).filter(|name| name != b".hg");
    Ok(names
        .filter(|name| {
            let metadata = path
                .join(std::ffi::OsStr::from_bytes(name))
                .join(".hg")
                .symlink_metadata();
            !metadata.is_ok_and(|found| found.is_dir())
        })
        .collect())
}
