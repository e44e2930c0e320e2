//! Stream clones: the files of the store as they are.
//!
//! ```text
//! version 1:  "0\n"  files " " bytes "\n"   then per file   name \0 size \n  contents
//!
//! version 2, the payload of a bundle2 part STREAM2, per file:
//! +-----+---------------------+--------------+------+----------
//! | "s" | uvarint name length | uvarint size | name | contents
//! +-----+---------------------+--------------+------+----------
//! ```
//!
//! With "c" for "s" it is a file of the cache, and not of the store.
//!
//! Names have their folders encoded in version 1, as in `fncache`, and nothing in version 2. The
//! files only grow: of each, as many bytes are sent as it had at the moment that was chosen.
//!
//! Source: Mercurial `streamclone.py` (the format only).

mod bundle;
mod frames;
mod take;

pub use bundle::{StreamBundle, StreamExtras};
pub use take::{Load, StreamArrival, StreamNews};

use crate::bundle2::{BundleWriter, PartParams, Payload, SmallPart, write_small_parts};
use crate::sink::CompressedWriter;
use crate::wire::{QUOTED, StreamMedia, WireSettings};
use crate::{ChunkSink, ExchangeError};
use frames::Frames;
use percent_encoding::utf8_percent_encode;
use std::io::{self, Write};
use std::sync::Arc;
use varve_base::{OpenMode, Storage, varint};
use varve_codec::CodecId;
use varve_repo::{RepoView, Repository, StoreFile, encode_folders};

/// A stream clone that is ready to be sent.
pub(crate) struct StreamClone {
    storage: Arc<dyn Storage>,
    requirements: String,
    files: Vec<StoreFile>,
    /// In front of them in version 2, with the letter of each.
    small: Vec<(u8, Vec<u8>, Vec<u8>)>,
}

impl StreamClone {
    /// Whether the files may be shown: they hold all changesets, secret ones too.
    pub(crate) fn is_allowed(view: &RepoView, settings: &WireSettings) -> bool {
        settings.stream_clones && (settings.streams_secret || !view.phases().any_secret())
    }

    /// Lists and measures the files for version 1.
    ///
    /// # Errors
    /// [`ExchangeError::NoStreamClone`], or what cannot be read.
    pub(crate) fn plan(
        repo: &Repository,
        view: &RepoView,
        settings: &WireSettings,
    ) -> Result<Self, ExchangeError> {
        if !Self::is_allowed(view, settings) {
            return Err(ExchangeError::NoStreamClone);
        }
        Ok(StreamClone::of(repo, view, repo.store_files()?))
    }

    /// Lists and measures the files for version 2. Clients ask for nothing else, so all that is known
    /// of the changesets goes along: phases, where they do not become public, and caches. Markers
    /// must be wanted, because without them what is obsolete would look as if it was not.
    ///
    /// # Errors
    /// [`ExchangeError::NoStreamClone`], [`ExchangeError::StreamWithMarkers`], or what cannot be read.
    pub(crate) fn plan_whole(
        repo: &Repository,
        view: &RepoView,
        settings: &WireSettings,
        reads_markers: bool,
    ) -> Result<Self, ExchangeError> {
        if !Self::is_allowed(view, settings) {
            return Err(ExchangeError::NoStreamClone);
        }
        let mut state = repo.store_state()?;
        if state.markers.is_some() && !reads_markers {
            return Err(ExchangeError::StreamWithMarkers);
        }
        // The changelog's index stays the last one.
        state.files.splice(0..0, state.markers);
        let mut clone = StreamClone::of(repo, view, state.files);
        if !settings.publishing && !state.phase_roots.is_empty() {
            let name = b"phaseroots".to_vec();
            clone.small.push((b's', name, state.phase_roots));
        }
        for (name, bytes) in repo.caches_that_travel() {
            clone.small.push((b'c', name.into_bytes(), bytes));
        }
        Ok(clone)
    }

    fn of(repo: &Repository, view: &RepoView, mut files: Vec<StoreFile>) -> StreamClone {
        files.retain(|file| file.len > 0);
        let requirements: Vec<&str> = view.requirements().streamed().collect();
        StreamClone {
            storage: repo.storage().clone(),
            requirements: requirements.join(","),
            files,
            small: Vec::new(),
        }
    }

    fn bytes(&self) -> u64 {
        let files = self.files.iter().map(|file| file.len);
        let small = self.small.iter().map(|(_, _, bytes)| bytes.len() as u64);
        files.chain(small).sum()
    }

    /// Sends version 2 in a bundle2, with `parts` behind.
    pub(crate) fn send_bundle(
        &self,
        media: StreamMedia,
        settings: &WireSettings,
        parts: &[SmallPart],
        sink: &mut dyn ChunkSink,
    ) -> Result<(), ExchangeError> {
        if media.codec == CodecId::None {
            sink.send(media.prefix.to_vec())?;
            return self.send_parts(parts, sink);
        }
        let mut compressing = CompressedWriter::new(media, settings, sink)?;
        self.send_parts(parts, &mut compressing)?;
        compressing.finish()
    }

    fn send_parts(
        &self,
        parts: &[SmallPart],
        sink: &mut dyn ChunkSink,
    ) -> Result<(), ExchangeError> {
        let mut bundle = BundleWriter::new(Vec::new())?;
        stream_part(
            &mut bundle,
            self.bytes(),
            self.files.len() + self.small.len(),
            &self.requirements,
        )?;
        sink.send(std::mem::take(bundle.get_mut()))?;
        let mut frames = Frames::new(true);
        let mut head = Vec::new();
        for (letter, name, bytes) in &self.small {
            head.clear();
            header_v2(*letter, (name, bytes.len() as u64), &mut head);
            frames.put(&head);
            frames.put(bytes);
            frames.send(sink)?;
        }
        let header = |file: &StoreFile, out: &mut Vec<u8>| {
            header_v2(b's', (&file.name, file.len), out);
        };
        self.send_files(frames, header, sink)?;
        bundle.get_mut().extend_from_slice(&0_u32.to_be_bytes());
        write_small_parts(parts, &mut bundle)?;
        Ok(sink.send(bundle.finish()?)?)
    }

    /// Sends version 1.
    pub(crate) fn send_v1(&self, sink: &mut dyn ChunkSink) -> Result<(), ExchangeError> {
        let mut frames = Frames::new(false);
        let head = format!("0\n{} {}\n", self.files.len(), self.bytes());
        frames.put(head.as_bytes());
        self.send_files(frames, header_v1, sink)
    }

    fn send_files(
        &self,
        mut frames: Frames,
        header: fn(&StoreFile, &mut Vec<u8>),
        sink: &mut dyn ChunkSink,
    ) -> Result<(), ExchangeError> {
        let mut bytes = Vec::new();
        for file in &self.files {
            bytes.clear();
            header(file, &mut bytes);
            frames.put(&bytes);
            let open = self.storage.open(&file.path, OpenMode::Read)?;
            frames.put_file(&open, file.len, sink)?;
        }
        frames.finish(sink)
    }
}

/// Starts the part of version 2.
fn stream_part<'b, W: Write>(
    bundle: &'b mut BundleWriter<W>,
    bytes: u64,
    files: usize,
    requirements: &str,
) -> io::Result<Payload<'b, W>> {
    let requirements = utf8_percent_encode(requirements, QUOTED).to_string();
    let (bytes, count) = (bytes.to_string(), files.to_string());
    let params = PartParams {
        mandatory: &[
            (b"bytecount", bytes.as_bytes()),
            (b"filecount", count.as_bytes()),
            (b"requirements", requirements.as_bytes()),
        ],
        advisory: &[],
    };
    bundle.part("STREAM2", &params)
}

fn header_v1(file: &StoreFile, out: &mut Vec<u8>) {
    out.extend_from_slice(&encode_folders(&file.name));
    out.push(0);
    out.extend_from_slice(file.len.to_string().as_bytes());
    out.push(b'\n');
}

fn header_v2(letter: u8, (name, len): (&[u8], u64), out: &mut Vec<u8>) {
    out.push(letter);
    varint::put(name.len() as u64, out);
    varint::put(len, out);
    out.extend_from_slice(name);
}
