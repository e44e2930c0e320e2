//! Backups of untracked files that an update or a merge replaces.

use crate::untracked::ReplacedFile;
use crate::{Backups, UpdateEvent, UpdateObserver, WorkdirError, WorkingFiles};

/// Tells which files are about to be replaced.
pub(crate) fn tell_replaced(replaced: &[ReplacedFile], observer: &mut dyn UpdateObserver) {
    for file in replaced.iter().filter(|file| file.is_told) {
        observer.on_event(&UpdateEvent::ReplacingUntracked(&file.path));
    }
}

/// Keeps the files that are replaced as backups.
pub(crate) fn keep_replaced(
    replaced: &[ReplacedFile],
    files: &WorkingFiles,
    backups: &Backups,
) -> Result<(), WorkdirError> {
    for file in replaced {
        files.back_up(&file.path, backups)?;
    }
    Ok(())
}
