//! The permission bits of files and directories that are made.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// All bits that a directory passes on to those made in it: also the one by which they keep its group.
const DIRECTORY_BITS: u32 = 0o7777;
/// A file gets no right to be run by its directory.
const FILE_BITS: u32 = 0o666;

#[derive(Clone, Debug, Default)]
pub(super) struct NewModes {
    private: Vec<PathBuf>,
    model: Option<Model>,
}

/// Below a directory of the name `below`, all is made like its directory `like`.
#[derive(Clone, Debug)]
struct Model {
    below: OsString,
    like: PathBuf,
}

impl NewModes {
    pub(super) fn set_private(&mut self, directories: &[&str]) {
        self.private = directories.iter().map(PathBuf::from).collect();
    }

    pub(super) fn set_model(&mut self, below: &str, like: &str) {
        self.model = Some(Model {
            below: below.into(),
            like: like.into(),
        });
    }

    /// Restricts the file that is about to be made at `path`, relative to the root of the storage.
    pub(super) fn before_file(&self, path: &Path, options: &mut fs::OpenOptions) {
        if self.is_private(path) {
            options.mode(0o600);
        }
    }

    /// Gives a file that was made the bits of its model.
    pub(super) fn after_file(&self, full: &Path, file: &File) -> io::Result<()> {
        let Some(model) = self.model_of(full) else {
            return Ok(());
        };
        let mode = model & FILE_BITS;
        match file.metadata()?.mode() & FILE_BITS == mode {
            true => Ok(()),
            false => settle(file.set_permissions(Permissions::from_mode(mode))),
        }
    }

    /// Makes a directory and those above it that are missing.
    pub(super) fn make_directories(&self, path: &Path, full: &Path) -> io::Result<()> {
        let model = self.model_of(full);
        let missing: Vec<&Path> = match model {
            Some(_) => full.ancestors().take_while(|one| !one.exists()).collect(),
            None => Vec::new(),
        };
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        if self.is_private(path) {
            builder.mode(0o700);
        }
        builder.create(full)?;
        let Some(model) = model else {
            return Ok(());
        };
        for made in missing.into_iter().rev() {
            settle(fs::set_permissions(made, Permissions::from_mode(model)))?;
        }
        Ok(())
    }

    fn is_private(&self, path: &Path) -> bool {
        self.private.iter().any(|known| path.starts_with(known))
    }

    fn model_of(&self, full: &Path) -> Option<u32> {
        let model = self.model.as_ref()?;
        let is_model = |directory: &&Path| directory.file_name() == Some(OsStr::new(&model.below));
        let above = full.ancestors().skip(1).find(is_model)?;
        let found = fs::metadata(above.join(&model.like)).ok()?;
        Some(found.mode() & DIRECTORY_BITS)
    }
}

/// Some file systems keep no bits at all; what is made there is usable all the same.
fn settle(changed: io::Result<()>) -> io::Result<()> {
    match changed {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::Unsupported => Ok(()),
        changed => changed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & DIRECTORY_BITS
    }

    #[test]
    fn what_is_made_below_a_directory_has_the_bits_of_its_model() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("r/.hg");
        fs::create_dir_all(root.join("store")).unwrap();
        fs::set_permissions(root.join("store"), Permissions::from_mode(0o2770)).unwrap();
        let mut modes = NewModes::default();
        modes.set_model(".hg", "store");
        let deep = root.join("store/data/deep");
        modes.make_directories(Path::new(""), &deep).unwrap();
        assert_eq!(mode(&deep), 0o2770);
        assert_eq!(mode(&root.join("store/data")), 0o2770);
        let inside = File::create(deep.join("file")).unwrap();
        modes.after_file(&deep.join("file"), &inside).unwrap();
        assert_eq!(mode(&deep.join("file")), 0o660);
        // Nothing is passed on to what lies beside.
        let outside = directory.path().join("r/file");
        let made = fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&outside)
            .unwrap();
        modes.after_file(&outside, &made).unwrap();
        assert_eq!(mode(&outside), 0o600);
    }
}
