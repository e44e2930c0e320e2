//! Receiving the files of a store into an empty repository; for its form see [`crate::format::stream`].

use crate::ExchangeError;
use crate::format::input::read_into;
use crate::format::packed::Packed;
use crate::format::part::{PartHeader, stream2};
use crate::format::stream::{StreamLocation, StreamVersion};
use std::io::Read;
use varve_base::Interrupt;
use varve_repo::{Lock, NewStore, ReceivedCaches, RepoError, Repository, Requirements, ViewFilter};

/// Bytes that are copied at once.
const BUFFER: u64 = 256 << 10;

/// Number and length of the files of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamSize {
    /// Number of files.
    pub files: u64,
    /// Their bytes together.
    pub bytes: u64,
}

/// Progress of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEvent<'a> {
    /// The files follow.
    Begin(StreamSize),
    /// The contents of a file follow.
    File {
        /// The file's kind, in version 2 only: `s` in the store, `c` a cache.
        kind: Option<char>,
        /// Its name, without any encoding.
        name: &'a [u8],
        /// How long it is.
        len: u64,
    },
}

/// Receives the files of a store into an empty repository.
pub struct StreamApplier<'a> {
    /// The repository, which must have no changesets.
    pub repository: &'a Repository,
    /// Ends the work with an error; the repository is then as it was.
    pub stop: &'a Interrupt,
    /// Gets events in order.
    pub on_event: &'a mut dyn FnMut(StreamEvent<'_>),
}

impl StreamApplier<'_> {
    /// Receives a packed bundle.
    ///
    /// # Errors
    /// [`ExchangeError::StreamIntoHistory`], or a damaged bundle; the repository is then as it was.
    pub fn apply_packed(
        self,
        lock: Lock,
        mut packed: Packed<'_>,
    ) -> Result<(StreamSize, Lock), ExchangeError> {
        if !self.is_empty()? {
            return Err(ExchangeError::PackedIntoHistory);
        }
        let mut requirements = requirements(&packed.requirements)?;
        // As in Mercurial, the engine that was chosen here stays; other chunks are read anyway.
        let own = self.repository.requirements().streamed();
        let engine = own.filter(|name| name.contains("-compression-"));
        requirements.extend(engine.map(str::to_owned));
        let size = StreamSize {
            files: packed.files,
            bytes: packed.bytes,
        };
        self.receive(
            lock,
            size,
            &requirements,
            (&mut packed.input, StreamVersion::V1),
        )
    }

    /// Receives the payload of a part `stream2`.
    pub(crate) fn apply_part(
        self,
        lock: Lock,
        header: &PartHeader,
        payload: &mut impl Read,
    ) -> Result<(StreamSize, Lock), ExchangeError> {
        if !self.is_empty()? {
            return Err(ExchangeError::StreamIntoHistory);
        }
        let parameters = stream2::decode(header)?;
        let requirements = requirements(&parameters.requirements)?;
        let size = StreamSize {
            files: parameters.files,
            bytes: parameters.bytes,
        };
        self.receive(lock, size, &requirements, (payload, StreamVersion::V2))
    }

    fn is_empty(&self) -> Result<bool, ExchangeError> {
        let view = self.repository.view_for(ViewFilter::Unfiltered)?;
        Ok(view.changelog().is_empty())
    }

    fn receive<R: Read>(
        self,
        lock: Lock,
        size: StreamSize,
        requirements: &[String],
        input: (&mut R, StreamVersion),
    ) -> Result<(StreamSize, Lock), ExchangeError> {
        (self.on_event)(StreamEvent::Begin(size));
        let streamed = requirements.iter().map(String::as_str);
        let mut store = self.repository.new_store(lock, streamed)?;
        let filled = fill(&mut store, self.stop, (size, self.on_event), input);
        match filled {
            Ok(caches) => {
                let lock = store.finish()?;
                self.repository.install_caches(&caches);
                Ok((size, lock))
            }
            Err(error) => {
                drop(store.abandon());
                Err(error)
            }
        }
    }
}

fn fill<R: Read>(
    store: &mut NewStore,
    stop: &Interrupt,
    (size, on_event): (StreamSize, &mut dyn FnMut(StreamEvent<'_>)),
    (input, version): (&mut R, StreamVersion),
) -> Result<ReceivedCaches, ExchangeError> {
    let mut left = size.bytes;
    let mut caches = ReceivedCaches::default();
    for _ in 0..size.files {
        let header = version.decode(input)?;
        let in_store = header.location == StreamLocation::Store;
        let letter = char::from(header.location.letter());
        left = left
            .checked_sub(header.len)
            .ok_or_else(|| damaged("the files are longer than announced".to_owned()))?;
        on_event(StreamEvent::File {
            kind: (version == StreamVersion::V2).then_some(letter),
            name: &header.name,
            len: header.len,
        });
        if in_store {
            store.begin(&header.name)?;
        }
        let is_kept = !in_store && caches.wants(&header.name, header.len);
        let mut cache = Vec::new();
        let mut rest = header.len;
        while rest > 0 {
            stop.check().map_err(RepoError::from)?;
            let piece = rest.min(BUFFER);
            let mut bytes = Vec::new();
            read_into(input, piece as usize, &mut bytes)?;
            if in_store {
                store.append(bytes)?;
            } else if is_kept {
                cache.append(&mut bytes);
            }
            rest -= piece;
        }
        if is_kept {
            caches.keep(&header.name, cache);
        }
    }
    match left {
        0 => Ok(caches),
        left => Err(damaged(format!("{left} announced bytes did not come"))),
    }
}

fn damaged(reason: String) -> ExchangeError {
    ExchangeError::DamagedBundle(reason)
}

/// Splits a list at its commas; refuses unknown requirements.
fn requirements(list: &[u8]) -> Result<Vec<String>, ExchangeError> {
    let list = String::from_utf8_lossy(list);
    let names = list.split(',').filter(|name| !name.is_empty());
    let (known, unknown): (Vec<&str>, Vec<&str>) =
        names.partition(|name| Requirements::is_streamable(name));
    match unknown.is_empty() {
        true => Ok(known.into_iter().map(str::to_owned).collect()),
        false => Err(ExchangeError::StreamRequirements(unknown.join(", "))),
    }
}
