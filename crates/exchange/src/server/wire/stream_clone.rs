//! Stream clones: the files of the store as they are.
//!
//! The files only grow: of each, as many bytes are sent as it had when the list was made. Version 1
//! begins with a line `0` and a line with the number of files and of bytes; for the files see
//! [`crate::format::stream`].

use super::compressed::CompressedWriter;
use super::frames::Frames;
use super::{BodySteps, StreamBody, StreamMedia, WireSettings};
use crate::error::SinkClosed;
use crate::format::bundle20::BundleWriter;
use crate::format::part::{Part, stream2};
use crate::format::stream::{StreamLocation, StreamVersion};
use crate::{ChunkSink, ExchangeError};
use std::sync::Arc;
use varve_base::{OpenMode, Storage, StorageFile};
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
    /// [`ExchangeError::NoStreamClone`], or an unreadable file.
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
    /// of the changesets goes along: phases, where they do not become public, and caches. The client must
    /// want markers, because without them obsolete changesets would look as if they were not.
    ///
    /// # Errors
    /// [`ExchangeError::NoStreamClone`], [`ExchangeError::StreamWithMarkers`], or an unreadable file.
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

    /// Version 2 in a bundle2, with `parts` behind.
    pub(crate) fn into_bundle(
        self,
        media: StreamMedia,
        settings: WireSettings,
        parts: Vec<Part<Vec<u8>>>,
    ) -> StreamBody {
        let parts = Arc::new(parts);
        if media.codec == CodecId::None {
            return StreamBody::InSteps(Box::new(Bundle {
                prefix: media.prefix,
                files: Files::new(Arc::new(self), StreamVersion::V2),
                parts,
                writer: None,
            }));
        }
        let clone = Arc::new(self);
        StreamBody::OnePass(Arc::new(move |sink: &mut dyn ChunkSink| {
            let mut compressing = CompressedWriter::new(media, &settings, sink)?;
            let mut bundle = Bundle {
                prefix: b"",
                files: Files::new(Arc::clone(&clone), StreamVersion::V2),
                parts: Arc::clone(&parts),
                writer: None,
            };
            while bundle.step(&mut compressing)? {}
            compressing.finish()
        }))
    }

    /// Version 1.
    pub(crate) fn into_v1(self) -> impl BodySteps + 'static {
        let head = format!("0\n{} {}\n", self.files.len(), self.bytes());
        let mut files = Files::new(Arc::new(self), StreamVersion::V1);
        files.frames.put(head.as_bytes());
        files
    }
}

/// The files of a stream clone on their way.
struct Files {
    clone: Arc<StreamClone>,
    version: StreamVersion,
    frames: Frames,
    /// Index of the next file.
    next: usize,
}

impl Files {
    fn new(clone: Arc<StreamClone>, version: StreamVersion) -> Files {
        Files {
            clone,
            version,
            frames: Frames::new(version == StreamVersion::V2),
            next: 0,
        }
    }

    /// Sends the small files and headers in front of the files of the store.
    fn send_small(&mut self, sink: &mut dyn ChunkSink) -> Result<(), ExchangeError> {
        let mut head = Vec::new();
        for (location, name, bytes) in &self.clone.small {
            head.clear();
            StreamVersion::V2.encode(*location, (name, bytes.len() as u64), &mut head);
            self.frames.put(&head);
            self.frames.put(bytes);
            self.frames.send(sink)?;
        }
        Ok(())
    }
}

impl BodySteps for Files {
    /// Adds files until a buffer is full or a file is long enough to be handed over.
    fn step(&mut self, sink: &mut dyn ChunkSink) -> Result<bool, ExchangeError> {
        let mut counting = Counting { sink, sent: 0 };
        let mut head = Vec::new();
        while counting.sent == 0 {
            let Some(file) = self.clone.files.get(self.next) else {
                self.frames.finish(&mut counting)?;
                return Ok(false);
            };
            head.clear();
            let named = (&file.name[..], file.len);
            self.version.encode(StreamLocation::Store, named, &mut head);
            self.frames.put(&head);
            let open = self.clone.storage.open(&file.path, OpenMode::Read)?;
            self.frames.put_file(&open, file.len, &mut counting)?;
            self.next += 1;
        }
        Ok(true)
    }
}

/// Counts the bytes that go to a sink.
struct Counting<'a> {
    sink: &'a mut dyn ChunkSink,
    sent: usize,
}

impl ChunkSink for Counting<'_> {
    fn send(&mut self, bytes: Vec<u8>) -> Result<(), SinkClosed> {
        self.sent += 1;
        self.sink.send(bytes)
    }

    fn send_file(
        &mut self,
        file: &Arc<dyn StorageFile>,
        offset: u64,
        len: u64,
    ) -> Result<(), ExchangeError> {
        self.sent += 1;
        self.sink.send_file(file, offset, len)
    }
}

/// A stream clone in a bundle2.
struct Bundle {
    prefix: &'static [u8],
    files: Files,
    /// The parts behind the files.
    parts: Arc<Vec<Part<Vec<u8>>>>,
    /// Of the bundle whose head is sent.
    writer: Option<BundleWriter<Vec<u8>>>,
}

impl Bundle {
    fn begin(&mut self, sink: &mut dyn ChunkSink) -> Result<(), ExchangeError> {
        if !self.prefix.is_empty() {
            sink.send(self.prefix.to_vec())?;
        }
        let mut bundle = BundleWriter::new(Vec::new())?;
        let clone = &self.files.clone;
        let files = clone.files.len() + clone.small.len();
        bundle.start_part(stream2::header(clone.bytes(), files, &clone.requirements))?;
        sink.send(std::mem::take(bundle.get_mut()))?;
        self.writer = Some(bundle);
        self.files.send_small(sink)
    }
}

impl BodySteps for Bundle {
    fn step(&mut self, sink: &mut dyn ChunkSink) -> Result<bool, ExchangeError> {
        if self.writer.is_none() {
            self.begin(sink)?;
        }
        if self.files.step(sink)? {
            return Ok(true);
        }
        if let Some(mut bundle) = self.writer.take() {
            bundle.get_mut().extend_from_slice(&0_u32.to_be_bytes());
            for part in self.parts.iter() {
                bundle.write_part(part)?;
            }
            sink.send(bundle.finish()?)?;
        }
        Ok(false)
    }
}
