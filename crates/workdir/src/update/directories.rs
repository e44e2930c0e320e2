//! Checks that directories and files do not collide with the files that an update writes.

use super::plan::Plan;
use crate::files::directories_above;
use crate::{WorkdirError, WorkingFiles};
use std::collections::{BTreeMap, HashSet};

/// Changed paths; `true` if the path is written, `false` if it is removed.
type ChangedPaths<'p> = BTreeMap<&'p [u8], bool>;

/// Refuses to write below a non-directory, unless the plan removes it; into another repository;
/// and over a directory that will not be empty.
pub(crate) fn check(files: &WorkingFiles, plan: &Plan) -> Result<(), WorkdirError> {
    let changed_paths = plan.changed_paths();
    let goes = |path: &[u8]| changed_paths.get(path) == Some(&false);
    let mut seen: HashSet<&[u8]> = HashSet::new();
    for (path, is_written) in &changed_paths {
        let mut link_goes = false;
        for directory in directories_above(path) {
            link_goes |= goes(directory);
            if !is_written || !seen.insert(directory) || link_goes {
                continue;
            }
            if let Some(found) = files.look(directory)?
                && found.is_file()
            {
                return Err(WorkdirError::NotADirectory {
                    path: files.path(path),
                });
            }
        }
        if !link_goes {
            files.audit(path)?;
        }
        if *is_written && files.look(path)?.is_some_and(|found| found.is_dir()) {
            check_goes_away(files, path, &changed_paths)?;
        }
    }
    Ok(())
}

/// Everything in a directory must be a file that the plan removes.
fn check_goes_away(
    files: &WorkingFiles,
    directory: &[u8],
    changed_paths: &ChangedPaths<'_>,
) -> Result<(), WorkdirError> {
    let path = files.path(directory);
    let wrong = |error| WorkdirError::io("list", &path)(error);
    for entry in std::fs::read_dir(&path).map_err(wrong)? {
        let name = entry.map_err(wrong)?.file_name();
        let inside = [
            directory,
            b"/",
            std::os::unix::ffi::OsStrExt::as_bytes(&*name),
        ]
        .concat();
        let found = files.look(&inside)?;
        if found.is_some_and(|found| found.is_dir()) {
            check_goes_away(files, &inside, changed_paths)?;
        } else if changed_paths.get(&inside[..]) != Some(&false) {
            return Err(WorkdirError::DirectoryInTheWay { path });
        }
    }
    Ok(())
}
