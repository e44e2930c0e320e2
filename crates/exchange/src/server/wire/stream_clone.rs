//! Stream clones: the files of the store as they are.
//!
//! The files only grow: of each, as many bytes are sent as it had when the list was made. Version 1
//! begins with a line `0` and a line with the number of files and of bytes; for the files see
//! [`crate::format::stream`].

use super::compressed::CompressedWriter;
use super::frames::Frames;
use super::{StreamMedia, WireSettings};
use crate::format::bundle20::BundleWriter;
use crate::format::part::{Part, stream2};
use crate::format::stream::{StreamLocation, StreamVersion};
use crate::{ChunkSink, ExchangeError};
use std::sync::Arc;
use varve_base::{OpenMode, Storage};
use varve_codec::CodecId;
use varve_repo::{RepoView, Repository, StoreFile};

/// A stream clone that is ready to be sent.
pub(crate) struct StreamClone {
    storage: Arc<dyn Storage>,
    requirements: String,
    files: Vec<StoreFile>,
    /// In front of them in version 2, with the directory of each.
    small: Vec<(StreamLocation, Vec<u8>, Vec<u8>)>,
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
        let mut state = repo.store_snapshot()?;
        if state.markers.is_some() && !reads_markers {
            return Err(ExchangeError::StreamWithMarkers);
        }
        // The changelog's index stays the last one.
        state.files.splice(0..0, state.markers);
        let mut clone = StreamClone::of(repo, view, state.files);
        if !settings.publishing && !state.phase_roots.is_empty() {
            let name = b"phaseroots".to_vec();
            clone
                .small
                .push((StreamLocation::Store, name, state.phase_roots));
        }
        for (name, bytes) in repo.streamed_caches() {
            clone
                .small
                .push((StreamLocation::Cache, name.into_bytes(), bytes));
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
        parts: &[Part<Vec<u8>>],
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
        parts: &[Part<Vec<u8>>],
        sink: &mut dyn ChunkSink,
    ) -> Result<(), ExchangeError> {
        let mut bundle = BundleWriter::new(Vec::new())?;
        let files = self.files.len() + self.small.len();
        bundle.start_part(stream2::header(self.bytes(), files, &self.requirements))?;
        sink.send(std::mem::take(bundle.get_mut()))?;
        let mut frames = Frames::new(true);
        let mut head = Vec::new();
        for (location, name, bytes) in &self.small {
            head.clear();
            StreamVersion::V2.encode(*location, (name, bytes.len() as u64), &mut head);
            frames.put(&head);
            frames.put(bytes);
            frames.send(sink)?;
        }
        self.send_files(frames, StreamVersion::V2, sink)?;
        bundle.get_mut().extend_from_slice(&0_u32.to_be_bytes());
        for part in parts {
            bundle.write_part(part)?;
        }
        Ok(sink.send(bundle.finish()?)?)
    }

    /// Sends version 1.
    pub(crate) fn send_v1(&self, sink: &mut dyn ChunkSink) -> Result<(), ExchangeError> {
        let mut frames = Frames::new(false);
        let head = format!("0\n{} {}\n", self.files.len(), self.bytes());
        frames.put(head.as_bytes());
        self.send_files(frames, StreamVersion::V1, sink)
    }

    fn send_files(
        &self,
        mut frames: Frames,
        version: StreamVersion,
        sink: &mut dyn ChunkSink,
    ) -> Result<(), ExchangeError> {
        let mut bytes = Vec::new();
        for file in &self.files {
            bytes.clear();
            version.encode(StreamLocation::Store, (&file.name, file.len), &mut bytes);
            frames.put(&bytes);
            let open = self.storage.open(&file.path, OpenMode::Read)?;
            frames.put_file(&open, file.len, sink)?;
        }
        frames.finish(sink)
    }
}
