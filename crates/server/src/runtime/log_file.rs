//! A file of lines that another program may rename: a signal makes the server open it again by its name.

use parking_lot::Mutex;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A log that lines are appended to; clones share it.
#[derive(Clone, Debug)]
pub struct LogFile(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    /// Absolute, as the working directory may change.
    path: PathBuf,
    file: Mutex<Arc<File>>,
    /// Whether the standard error goes there, too.
    is_stderr: AtomicBool,
}

impl LogFile {
    /// Opens or makes a file.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(path: &Path) -> io::Result<LogFile> {
        let path = std::path::absolute(path)?;
        let file = Mutex::new(Arc::new(append_to(&path)?));
        Ok(LogFile(Arc::new(Shared {
            path,
            file,
            is_stderr: AtomicBool::new(false),
        })))
    }

    /// The file that lines go to now.
    pub(crate) fn current(&self) -> Arc<File> {
        Arc::clone(&self.0.file.lock())
    }

    /// The file's name.
    pub(crate) fn path(&self) -> &Path {
        &self.0.path
    }

    /// Makes the standard error go there, also after [`LogFile::reopen`].
    ///
    /// # Errors
    /// Those of the system.
    pub fn redirect_stderr(&self) -> io::Result<()> {
        self.0.is_stderr.store(true, Ordering::SeqCst);
        Ok(rustix::stdio::dup2_stderr(self.current())?)
    }

    /// Opens the name once more; the old file is kept if that fails.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn reopen(&self) -> io::Result<()> {
        let file = Arc::new(append_to(&self.0.path)?);
        if self.0.is_stderr.load(Ordering::SeqCst) {
            rustix::stdio::dup2_stderr(&file)?;
        }
        *self.0.file.lock() = file;
        Ok(())
    }
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.current().write(bytes)
    }

    /// All of `bytes` go to one file.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.current().write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.current().flush()
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    File::options().append(true).create(true).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_renamed_file_is_left_and_kept_if_there_can_be_no_other() {
        let directory = tempfile::tempdir().unwrap();
        let inner = directory.path().join("logs");
        let [name, old] = ["log", "log.1"].map(|name| inner.join(name));
        std::fs::create_dir(&inner).unwrap();
        let mut log = LogFile::open(&name).unwrap();
        log.write_all(b"a").unwrap();
        std::fs::rename(&name, &old).unwrap();
        log.write_all(b"b").unwrap();
        log.reopen().unwrap();
        log.write_all(b"c").unwrap();
        assert_eq!(std::fs::read(&old).unwrap(), b"ab");
        assert_eq!(std::fs::read(&name).unwrap(), b"c");
        let moved = directory.path().join("moved");
        std::fs::rename(&inner, &moved).unwrap();
        log.reopen().unwrap_err();
        log.write_all(b"d").unwrap();
        assert_eq!(std::fs::read(moved.join("log")).unwrap(), b"cd");
    }
}
