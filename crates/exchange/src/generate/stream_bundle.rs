//! The store's files in a bundle that is kept in a file.
//!
//! ```text
//! packed1:  "HGS1UN"  u64 files  u64 bytes  u16 length  requirements \0      version 1 without head
//! streamv2: a bundle2 with one part STREAM2                                   version 2
//! ```
//! In version 2 files of the cache go along, with "c" for "s".

use super::PAYLOAD_CHUNK;
use crate::ExchangeError;
use crate::format::bundle20::BundleWriter;
use crate::format::part::stream2;
use crate::format::stream::{StreamLocation, StreamVersion};
use std::io::{self, Write};
use std::sync::Arc;
use varve_base::{Interrupt, OpenMode, Storage};
use varve_repo::{RepoError, RepoView, Repository, StoreFile, streamed_cache_names};

/// First bytes of a packed1 bundle.
const PACKED: &[u8; 6] = b"HGS1UN";

/// Bytes that are read at once.
const BUFFER: u64 = 256 << 10;

/// Which files go along besides those that hold the history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamExtras {
    /// Whether `phaseroots` goes along.
    pub phases: bool,
    /// Obsolescence markers.
    pub markers: bool,
    /// The caches of branches and tags.
    pub caches: bool,
}

/// A bundle of the store's files that is ready to be written.
pub struct StreamBundle {
    storage: Arc<dyn Storage>,
    requirements: Vec<String>,
    files: Vec<(StreamLocation, StoreFile)>,
}

impl StreamBundle {
    /// Lists and measures the files.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn plan(
        repository: &Repository,
        view: &RepoView,
        extras: StreamExtras,
    ) -> Result<StreamBundle, ExchangeError> {
        let mut files = repository.store_files()?;
        files.retain(|file| file.len > 0);
        let data = files.iter().filter(|file| file.name.starts_with(b"data/"));
        let (first, last) = files.split_at(data.count());
        let mut first = first.to_vec();
        first.sort_by(|a, b| a.name.cmp(&b.name));
        let hg = view.root().join(".hg");
        let others = [("phaseroots", extras.phases), ("obsstore", extras.markers)];
        let storage = repository.storage();
        for (name, _) in others.into_iter().filter(|(_, wanted)| *wanted) {
            first.extend(small_file(storage, &hg.join("store"), name)?);
        }
        let mut files: Vec<(StreamLocation, StoreFile)> = Vec::new();
        files.extend(
            first
                .into_iter()
                .chain(last.to_vec())
                .map(|file| (StreamLocation::Store, file)),
        );
        for name in streamed_cache_names().filter(|_| extras.caches) {
            let file = small_file(storage, &hg.join("cache"), &name)?;
            files.extend(file.map(|file| (StreamLocation::Cache, file)));
        }
        Ok(StreamBundle {
            storage: storage.clone(),
            requirements: view.requirements().streamed().map(str::to_owned).collect(),
            files,
        })
    }

    /// Requirements for a reader, sorted.
    pub fn requirements(&self) -> &[String] {
        &self.requirements
    }

    /// Names and lengths of the files, in order.
    pub fn files(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.files.iter().map(|(_, file)| (&*file.name, file.len))
    }

    /// The length of all files.
    pub fn bytes(&self) -> u64 {
        self.files().map(|(_, len)| len).sum()
    }

    /// Writes version 2 in a bundle2.
    ///
    /// # Errors
    /// Errors of the storage and of `out`; that the user has interrupted.
    pub fn write_bundle2(&self, out: impl Write, stop: &Interrupt) -> Result<(), ExchangeError> {
        let mut bundle = BundleWriter::new(out)?.with_chunk_len(PAYLOAD_CHUNK);
        let requirements = self.requirements.join(",");
        let header = stream2::header(self.bytes(), self.files.len(), &requirements);
        let mut payload = bundle.start_part(header)?;
        for (location, file) in &self.files {
            let mut header = Vec::new();
            StreamVersion::V2.encode(*location, (&file.name, file.len), &mut header);
            payload.write_all(&header)?;
            self.copy(file, &mut payload, stop)?;
        }
        payload.end()?;
        Ok(bundle.finish()?.flush()?)
    }

    /// Writes version 1 behind the header of packed1.
    ///
    /// # Errors
    /// As of [`StreamBundle::write_bundle2`].
    pub fn write_packed1(
        &self,
        mut out: impl Write,
        stop: &Interrupt,
    ) -> Result<(), ExchangeError> {
        let requirements = self.requirements.join(",");
        let len = u16::try_from(requirements.len() + 1)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidInput, "too many requirements"))?;
        out.write_all(PACKED)?;
        out.write_all(&(self.files.len() as u64).to_be_bytes())?;
        out.write_all(&self.bytes().to_be_bytes())?;
        out.write_all(&len.to_be_bytes())?;
        out.write_all(requirements.as_bytes())?;
        out.write_all(b"\0")?;
        for (_, file) in &self.files {
            let mut header = Vec::new();
            StreamVersion::V1.encode(StreamLocation::Store, (&file.name, file.len), &mut header);
            out.write_all(&header)?;
            self.copy(file, &mut out, stop)?;
        }
        Ok(out.flush()?)
    }

    fn copy(
        &self,
        file: &StoreFile,
        out: &mut impl Write,
        stop: &Interrupt,
    ) -> Result<(), ExchangeError> {
        let open = self.storage.open(&file.path, OpenMode::Read)?;
        let mut at = 0;
        while at < file.len {
            stop.check().map_err(RepoError::from)?;
            let piece = BUFFER.min(file.len - at);
            out.write_all(&open.read_vec(at, piece as usize)?)?;
            at += piece;
        }
        Ok(())
    }
}

/// A file that may not be there, or be empty.
fn small_file(
    storage: &Arc<dyn Storage>,
    directory: &std::path::Path,
    name: &str,
) -> Result<Option<StoreFile>, ExchangeError> {
    let path = directory.join(name);
    let len = storage.file_len(&path)?.filter(|len| *len > 0);
    Ok(len.map(|len| StoreFile {
        name: name.as_bytes().to_vec(),
        path,
        len,
    }))
}
