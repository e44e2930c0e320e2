//! Taking the files of a store into an empty repository; see the pictures in [`super`].

use crate::ExchangeError;
use crate::bundle::{Packed, PartHeader, read_array, read_into};
use percent_encoding::percent_decode;
use std::io::Read;
use varve_base::Interrupt;
use varve_repo::{
    ArrivedCaches, Audience, Lock, NewStore, RepoError, Repository, Requirements, decode_folders,
};

/// Longest name of a file, and longest line before one of the first version.
const LONGEST_NAME: usize = 64 << 10;
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

/// One file: where it belongs, and how long it is.
struct Header {
    in_store: bool,
    /// The letter that says so, where there is one.
    kind: Option<char>,
    name: Vec<u8>,
    len: u64,
}

/// Reads what stands before a file.
type NextFile<R> = fn(&mut R) -> Result<Header, ExchangeError>;

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
        self.take(lock, load, &requirements, (&mut packed.input, header_v1))
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
        self.take(lock, load, &requirements, (payload, header_v2))
    }

    fn is_empty(&self) -> Result<bool, ExchangeError> {
        let view = self.repository.view_for(Audience::Everything)?;
        Ok(view.changelog().is_empty())
    }

    fn take<R: Read>(
        self,
        lock: Lock,
        load: Load,
        requirements: &[String],
        input: (&mut R, NextFile<R>),
    ) -> Result<(Load, Lock), ExchangeError> {
        (self.tell)(StreamNews::Load(load));
        let streamed = requirements.iter().map(String::as_str);
        let mut store = self.repository.new_store(lock, streamed)?;
        let filled = fill(&mut store, self.stop, (load, self.tell), input);
        match filled {
            Ok(caches) => {
                let lock = store.finish()?;
                self.repository.take_over(&caches);
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
    (input, next): (&mut R, NextFile<R>),
) -> Result<ArrivedCaches, ExchangeError> {
    let mut left = load.bytes;
    let mut caches = ArrivedCaches::default();
    for _ in 0..load.files {
        let header = next(input)?;
        left = left
            .checked_sub(header.len)
            .ok_or_else(|| damaged("the files are longer than announced".to_owned()))?;
        tell(StreamNews::File {
            kind: header.kind,
            name: &header.name,
            len: header.len,
        });
        if header.in_store {
            store.begin(&header.name)?;
        }
        let is_kept = !header.in_store && caches.wants(&header.name, header.len);
        let mut cache = Vec::new();
        let mut rest = header.len;
        while rest > 0 {
            stop.check().map_err(RepoError::from)?;
            let piece = rest.min(BUFFER);
            let mut bytes = Vec::new();
            read_into(input, piece as usize, &mut bytes)?;
            if header.in_store {
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

/// `name \0 length \n`, the folders in the name encoded.
fn header_v1(input: &mut impl Read) -> Result<Header, ExchangeError> {
    let mut line = Vec::new();
    loop {
        match read_array::<1>(input)? {
            [b'\n'] => break,
            _ if line.len() == LONGEST_NAME => return Err(damaged("a name never ends".to_owned())),
            [byte] => line.push(byte),
        }
    }
    let sides = line.iter().position(|byte| *byte == 0);
    let header = sides.and_then(|zero| {
        let len = std::str::from_utf8(line.get(zero + 1..)?).ok()?;
        let name = decode_folders(line.get(..zero)?).into_owned();
        let len = len.parse().ok()?;
        Some(Header {
            in_store: true,
            kind: None,
            name,
            len,
        })
    });
    header.ok_or_else(|| damaged("a file has no sound name and length".to_owned()))
}

/// A letter, two numbers, and the name.
fn header_v2(input: &mut impl Read) -> Result<Header, ExchangeError> {
    let in_store = match read_array::<1>(input)? {
        [b's'] => true,
        [b'c'] => false,
        [other] => return Err(damaged(format!("a file belongs to {other:#04x}"))),
    };
    let name_len = usize::try_from(varint(input)?).unwrap_or(usize::MAX);
    if name_len > LONGEST_NAME {
        return Err(damaged(format!("a name has {name_len} bytes")));
    }
    let len = varint(input)?;
    let mut name = Vec::new();
    read_into(input, name_len, &mut name)?;
    Ok(Header {
        in_store,
        kind: Some(if in_store { 's' } else { 'c' }),
        name,
        len,
    })
}

fn varint(input: &mut impl Read) -> Result<u64, ExchangeError> {
    let mut value = 0_u64;
    for shift in (0..63).step_by(7) {
        let [byte] = read_array::<1>(input)?;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(damaged("a length never ends".to_owned()))
}
