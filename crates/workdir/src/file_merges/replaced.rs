//! Backups of untracked files that an update or a merge replaces.

use crate::untracked::ReplacedFile;
use crate::{Backups, UpdateEvent, UpdateObserver, WorkdirError, WorkingFiles};

/// Keeps the files that are replaced as backups.
pub(crate) fn keep_replaced(
    replaced: &[ReplacedFile],
    files: &WorkingFiles,
    backups: &Backups,
    observer: &mut dyn UpdateObserver,
) -> Result<(), WorkdirError> {
    for file in replaced {
        if file.is_told {
            observer.on_event(&UpdateEvent::ReplacingUntracked(&file.path));
        }
        files.back_up(&file.path, backups)?;
    }
    Ok(())
}
