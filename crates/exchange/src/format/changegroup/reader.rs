//! A changegroup from the other side, one delta at a time.

use super::framing::{ChangegroupVersion, DeltaHeader, NodeBytes};
use crate::ExchangeError;
use crate::format::input::{Finish, read_array, read_into};
use std::io::Read;

/// Bytes of a chunk's length, which counts itself.
const LEN: i32 = 4;

/// Which revlog the deltas that follow are for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Group {
    /// The changelog.
    Changesets,
    /// Deltas of the manifest of all directories.
    Manifests,
    /// The file of this path.
    File(Vec<u8>),
}

/// Where the reader stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Start,
    Changesets,
    Manifests,
    Files,
    End,
}

/// Takes a changegroup apart.
#[derive(Debug)]
pub struct ChangegroupReader<R> {
    input: R,
    version: ChangegroupVersion,
    at: At,
    /// Whether the group's end is still to come.
    in_group: bool,
    previous: Option<NodeBytes>,
}

impl<R: Read + Finish> ChangegroupReader<R> {
    /// Begins to read.
    pub fn new(input: R, version: ChangegroupVersion) -> Self {
        ChangegroupReader {
            input,
            version,
            at: At::Start,
            in_group: false,
            previous: None,
        }
    }

    /// Goes to the next group, whatever is left of this one. `None` behind the last, when the
    /// checksum of a compressed bundle of the first version is right as well.
    ///
    /// # Errors
    /// A cut or damaged changegroup.
    pub fn next_group(&mut self) -> Result<Option<Group>, ExchangeError> {
        let mut passed_over = Vec::new();
        while self.next_delta(&mut passed_over)?.is_some() {}
        let (at, group) = match self.at {
            At::Start => (At::Changesets, Group::Changesets),
            At::Changesets => (At::Manifests, Group::Manifests),
            At::Manifests | At::Files => {
                if self.at == At::Manifests && self.version == ChangegroupVersion::V3 {
                    self.refuse_directories()?;
                }
                match self.chunk()? {
                    Some(path) => (At::Files, Group::File(path)),
                    None => {
                        self.at = At::End;
                        self.input.finish()?;
                        return Ok(None);
                    }
                }
            }
            At::End => return Ok(None),
        };
        self.at = at;
        self.in_group = true;
        self.previous = None;
        Ok(Some(group))
    }

    /// The next delta of the group, its patch in `patch`; `None` behind the last.
    ///
    /// # Errors
    /// A cut or damaged changegroup.
    pub fn next_delta(
        &mut self,
        patch: &mut Vec<u8>,
    ) -> Result<Option<DeltaHeader>, ExchangeError> {
        if !self.in_group {
            return Ok(None);
        }
        let len = self.chunk_len()?;
        if len == 0 {
            self.in_group = false;
            return Ok(None);
        }
        let mut bytes = Vec::new();
        let header_len = self.version.header_len();
        read_into(&mut self.input, header_len, &mut bytes)?;
        let header = DeltaHeader::parse(&bytes, self.version, self.previous);
        let patch_len = len.checked_sub(header_len);
        let (Some(header), Some(patch_len)) = (header, patch_len) else {
            let len = i32::try_from(len).unwrap_or(i32::MAX);
            return Err(ExchangeError::ChunkLength(len.saturating_add(LEN)));
        };
        read_into(&mut self.input, patch_len, patch)?;
        self.previous = Some(header.node);
        Ok(Some(header))
    }

    /// Length of the chunk; 0 for an end.
    fn chunk_len(&mut self) -> Result<usize, ExchangeError> {
        let len = i32::from_be_bytes(read_array(&mut self.input)?);
        if len == 0 {
            return Ok(0);
        }
        let payload = len.checked_sub(LEN).filter(|payload| *payload > 0);
        let payload = payload.and_then(|payload| usize::try_from(payload).ok());
        payload.ok_or(ExchangeError::ChunkLength(len))
    }

    /// A chunk that is no delta; `None` for an end.
    fn chunk(&mut self) -> Result<Option<Vec<u8>>, ExchangeError> {
        let len = self.chunk_len()?;
        let mut bytes = Vec::new();
        read_into(&mut self.input, len, &mut bytes)?;
        Ok((len > 0).then_some(bytes))
    }

    fn refuse_directories(&mut self) -> Result<(), ExchangeError> {
        match self.chunk()? {
            None => Ok(()),
            Some(directory) => {
                let directory = String::from_utf8_lossy(&directory);
                let feature = format!("manifest of the directory {directory}");
                Err(ExchangeError::UnknownBundleFeature(feature))
            }
        }
    }
}
