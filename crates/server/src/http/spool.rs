//! A body that is kept until it is whole: in memory, and beyond some size in a file without a name.

use crate::Failure;
use hyper::body::Bytes;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_base::storage::scratch_file;
use varve_base::{StorageError, StorageFile};

/// The file is read in buffers of this size.
const READ_BUFFER: usize = 128 << 10;

/// A body that is being written down.
pub(super) struct Spooling {
    /// Bytes that may be in memory.
    memory: u64,
    directory: PathBuf,
    start: Vec<u8>,
    /// Has all of the body once it is there.
    file: Option<Arc<dyn StorageFile>>,
}

/// A body that is whole; clones share it.
#[derive(Clone)]
pub(super) enum SpooledBody {
    Memory(Bytes),
    File(Arc<dyn StorageFile>),
}

impl Spooling {
    pub(super) fn new(memory: u64, directory: &Path) -> Spooling {
        Spooling {
            memory,
            directory: directory.to_owned(),
            start: Vec::new(),
            file: None,
        }
    }

    /// # Errors
    /// 500 if the file cannot be made or written.
    pub(super) fn append(mut self, batch: Vec<Bytes>) -> Result<Spooling, Failure> {
        let added: usize = batch.iter().map(Bytes::len).sum();
        if self.file.is_none() && (self.start.len() + added) as u64 > self.memory {
            let file = scratch_file(&self.directory).map_err(|error| failed(&error))?;
            append(file.as_ref(), &std::mem::take(&mut self.start))?;
            self.file = Some(file);
        }
        for piece in &batch {
            match &self.file {
                Some(file) => append(file.as_ref(), piece)?,
                None => self.start.extend_from_slice(piece),
            }
        }
        Ok(self)
    }

    pub(super) fn finish(self) -> SpooledBody {
        match self.file {
            Some(file) => SpooledBody::File(file),
            None => SpooledBody::Memory(self.start.into()),
        }
    }
}

fn append(file: &dyn StorageFile, bytes: &[u8]) -> Result<(), Failure> {
    let appended = file.append(bytes).map(drop);
    appended.map_err(|error| failed(&error))
}

/// The file has no name that a client need know.
fn failed(error: &StorageError) -> Failure {
    Failure::internal(match error {
        StorageError::Io { op, source, .. } => {
            format!("cannot {op} the file that holds the body: {source}")
        }
        StorageError::Short { .. } | StorageError::WouldBlock => {
            "the file that holds the body cannot be read".to_owned()
        }
    })
}

impl SpooledBody {
    /// Reads it from its beginning.
    pub(super) fn reader(self) -> Box<dyn Read + Send> {
        match self {
            SpooledBody::Memory(body) => Box::new(Cursor::new(body)),
            SpooledBody::File(file) => {
                let reader = FileReader { file, offset: 0 };
                Box::new(BufReader::with_capacity(READ_BUFFER, reader))
            }
        }
    }
}

struct FileReader {
    file: Arc<dyn StorageFile>,
    offset: u64,
}

impl Read for FileReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(self.offset, buffer);
        let read = read.map_err(|error| io::Error::other(failed(&error)))?;
        self.offset += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spooled(memory: u64, pieces: &[&'static [u8]]) -> (SpooledBody, tempfile::TempDir) {
        let directory = tempfile::tempdir().unwrap();
        let mut spooling = Spooling::new(memory, directory.path());
        for piece in pieces {
            spooling = spooling.append(vec![Bytes::from_static(piece)]).unwrap();
        }
        (spooling.finish(), directory)
    }

    fn text(body: SpooledBody) -> String {
        let mut text = String::new();
        body.reader().read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_long_body_goes_to_a_file_with_all_its_bytes() {
        for memory in 0..8 {
            let (body, directory) = spooled(memory, &[b"ab", b"cd", b"ef"]);
            assert_eq!(matches!(body, SpooledBody::File(_)), memory < 6, "{memory}");
            assert_eq!(
                directory.path().read_dir().unwrap().count(),
                0,
                "it has no name"
            );
            assert_eq!(text(body), "abcdef", "{memory}");
        }
        let (empty, _directory) = spooled(0, &[]);
        assert_eq!(text(empty), "");
    }

    #[test]
    fn a_body_that_cannot_be_written_is_refused() {
        let spooling = Spooling::new(1, Path::new("/nowhere"));
        let refused = spooling
            .append(vec![Bytes::from_static(b"ab")])
            .err()
            .unwrap();
        assert_eq!(refused.kind, crate::http::FailureKind::Internal);
        let words = "cannot create the file that holds the body: ";
        assert!(refused.reason.starts_with(words), "{refused}");
        assert!(!refused.reason.contains("nowhere"), "{refused}");
    }
}
