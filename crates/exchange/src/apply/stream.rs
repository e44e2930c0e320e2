//! Taking the files of a store into an empty repository; for its form see [`crate::format::stream`].

use crate::ExchangeError;
use crate::format::bundle20::PartHeader;
use crate::format::input::read_into;
use crate::format::packed::Packed;
use crate::format::stream::{StreamLocation, StreamVersion};
use percent_encoding::percent_decode;
use std::io::Read;
use varve_base::Interrupt;
use varve_repo::{Lock, NewStore, ReceivedCaches, RepoError, Repository, Requirements, ViewFilter};

/// Bytes that are copied at once.
const BUFFER: u64 = 256 << 10;

/// How much comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Number of files.
    pub files: u64,
    /// What they hold together.
    pub bytes: u64,
}

/// What is heard while they come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamNews<'a> {
    /// This much is about to come.
    Load(Load),
    /// A file comes.
    File {
        /// What kind of file it is, where that is said: `s` in the store, `c` a cache.
        kind: Option<char>,
        /// Its name, without any encoding.
        name: &'a [u8],
        /// How long it is.
        len: u64,
    },
}

/// Files of a store on their way into an empty repository.
pub struct StreamArrival<'a> {
    /// Which repository.
    pub repository: &'a Repository,
    /// Whether to stop.
    pub stop: &'a Interrupt,
    /// Who hears what comes.
    pub tell: &'a mut dyn FnMut(StreamNews<'_>),
}

impl StreamArrival<'_> {
    /// Takes a packed bundle in.
    ///
    /// # Errors
    /// [`ExchangeError::StreamIntoHistory`], or what is wrong with the bundle; the repository is then as
    /// it was.
    pub fn packed(self, lock: Lock, mut packed: Packed<'_>) -> Result<(Load, Lock), ExchangeError> {
        if !self.is_empty()? {
            return Err(ExchangeError::PackedIntoHistory);
        }
        let mut requirements = requirements(&packed.requirements)?;
        // As in Mercurial, the engine that was chosen here stays; other chunks are read anyway.
        let own = self.repository.requirements().streamed();
        let engine = own.filter(|name| name.contains("-compression-"));
        requirements.extend(engine.map(str::to_owned));
        let load = Load {
            files: packed.files,
            bytes: packed.bytes,
        };
        self.take(
            lock,
            load,
            &requirements,
            (&mut packed.input, StreamVersion::V1),
        )
    }

    /// Takes the payload of a part `STREAM2` in.
    pub(crate) fn part(
        self,
        lock: Lock,
        header: &PartHeader,
        payload: &mut impl Read,
    ) -> Result<(Load, Lock), ExchangeError> {
        if !self.is_empty()? {
            return Err(ExchangeError::StreamIntoHistory);
        }
        let quoted = header.value("requirements").unwrap_or_default();
        let requirements = requirements(&percent_decode(quoted).collect::<Vec<u8>>())?;
        let number = |name: &str| {
            let value = header.value(name).unwrap_or_default();
            let number = std::str::from_utf8(value)
                .ok()
                .and_then(|it| it.parse().ok());
            number.ok_or_else(|| damaged(format!("the part stream2 has no sound {name}")))
        };
        let load = Load {
            files: number("filecount")?,
            bytes: number("bytecount")?,
        };
        self.take(lock, load, &requirements, (payload, StreamVersion::V2))
    }

    fn is_empty(&self) -> Result<bool, ExchangeError> {
        let view = self.repository.view_for(ViewFilter::Unfiltered)?;
        Ok(view.changelog().is_empty())
    }

    fn take<R: Read>(
        self,
        lock: Lock,
        load: Load,
        requirements: &[String],
        input: (&mut R, StreamVersion),
    ) -> Result<(Load, Lock), ExchangeError> {
        (self.tell)(StreamNews::Load(load));
        let streamed = requirements.iter().map(String::as_str);
        let mut store = self.repository.new_store(lock, streamed)?;
        let filled = fill(&mut store, self.stop, (load, self.tell), input);
        match filled {
            Ok(caches) => {
                let lock = store.finish()?;
                self.repository.install_caches(&caches);
                Ok((load, lock))
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
    (load, tell): (Load, &mut dyn FnMut(StreamNews<'_>)),
    (input, version): (&mut R, StreamVersion),
) -> Result<ReceivedCaches, ExchangeError> {
    let mut left = load.bytes;
    let mut caches = ReceivedCaches::default();
    for _ in 0..load.files {
        let header = version.decode(input)?;
        let in_store = header.location == StreamLocation::Store;
        let letter = char::from(header.location.letter());
        left = left
            .checked_sub(header.len)
            .ok_or_else(|| damaged("the files are longer than announced".to_owned()))?;
        tell(StreamNews::File {
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

/// What stands between commas; refuses what is not known.
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
