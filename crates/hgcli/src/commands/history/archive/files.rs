//! Plain files in a directory.

use crate::ui::Abort;
use std::ffi::OsStr;
use std::fs::{File, Permissions};
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::time::{Duration, SystemTime};
use varve_repo::FileKind;

/// Permissions of a file in an archive.
pub(super) fn mode(kind: FileKind) -> u32 {
    match kind {
        FileKind::Executable => 0o755,
        _ => 0o644,
    }
}

/// Writes files, all of which have one time.
pub(super) struct DirectoryWriter {
    root: PathBuf,
    time: SystemTime,
}

impl DirectoryWriter {
    pub(super) fn new(root: PathBuf, time: i64) -> Self {
        let distance = Duration::from_secs(time.unsigned_abs());
        let time = match time < 0 {
            true => SystemTime::UNIX_EPOCH.checked_sub(distance),
            false => SystemTime::UNIX_EPOCH.checked_add(distance),
        };
        DirectoryWriter {
            root,
            time: time.unwrap_or(SystemTime::UNIX_EPOCH),
        }
    }

    pub(super) fn add(&self, path: &[u8], kind: FileKind, content: &[u8]) -> Result<(), Abort> {
        let path = self.root.join(OsStr::from_bytes(path));
        let failed = |error: std::io::Error| Abort::file(&error, &path);
        if let Some(directory) = path.parent() {
            std::fs::create_dir_all(directory).map_err(failed)?;
        }
        let there = path.symlink_metadata();
        if there.is_ok_and(|there| there.is_symlink() || kind == FileKind::Symlink) {
            std::fs::remove_file(&path).map_err(failed)?;
        }
        if kind == FileKind::Symlink {
            return symlink(OsStr::from_bytes(content), &path).map_err(failed);
        }
        let mut file = File::create(&path).map_err(failed)?;
        file.write_all(content).map_err(failed)?;
        let permissions = Permissions::from_mode(mode(kind));
        file.set_permissions(permissions).map_err(failed)?;
        file.set_modified(self.time).map_err(failed)
    }
}
