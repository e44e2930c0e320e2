//! Private directories for files that other programs read.

use crate::WorkdirError;
use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// A temporary directory that only the user can read; it goes with this value.
#[derive(Debug)]
pub struct ScratchDirectory(PathBuf);

impl ScratchDirectory {
    /// A directory whose name begins with `prefix`, and cannot be guessed.
    ///
    /// # Errors
    /// No randomness; a failure of the file system.
    pub fn new(prefix: &str) -> Result<ScratchDirectory, WorkdirError> {
        const OWNER_ONLY: u32 = 0o700;
        let mut random = [0; 8];
        getrandom::fill(&mut random).map_err(|_| WorkdirError::NoRandomness)?;
        let name = format!("{prefix}-{:016x}", u64::from_ne_bytes(random));
        let path = std::env::temp_dir().join(name);
        let made = fs::DirBuilder::new().mode(OWNER_ONLY).create(&path);
        made.map_err(WorkdirError::io("make directory", &path))?;
        Ok(ScratchDirectory(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScratchDirectory {
    fn drop(&mut self) {
        // The temporary directory keeps what the system does not let go.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn it_is_private_and_goes() {
        let scratch = ScratchDirectory::new("varve-test").unwrap();
        let path = scratch.path().to_owned();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        fs::write(path.join("file"), b"x").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }
}
