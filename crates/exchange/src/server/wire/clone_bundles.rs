//! The commands about clone bundles: which there are, and one of them.
//!
//! ```text
//! get_cached_bundle_inline   uvarint length  the bundle, as it is in its file
//! ```

use super::compressed::CompressedWriter;
use super::{BodySteps, ReadHooks, StreamBody, WireRequest, WireResponse, WireSettings};
use crate::ChunkSink;
use crate::ExchangeError;
use crate::format::clone_bundle_manifest::CloneBundleManifest;
use crate::server::clone_bundles::{offered_manifest, open_clone_bundle};
use std::sync::Arc;
use varve_base::{StorageFile, varint};
use varve_codec::CodecId;
use varve_repo::{RepoView, Repository};

/// The whole list.
pub(super) fn manifest(
    repo: &Repository,
    view: &RepoView,
    settings: &WireSettings,
) -> Result<Vec<u8>, ExchangeError> {
    let offered = offered_manifest(repo, view, &settings.bundle_cache)?.unwrap_or_default();
    Ok(offered.located(settings.clone_bundles_at.as_deref()))
}

/// The list for clients that only know bundles that have a place of their own.
pub(super) fn urls_only(
    repo: &Repository,
    view: &RepoView,
    settings: &WireSettings,
) -> Result<Vec<u8>, ExchangeError> {
    Ok(CloneBundleManifest::new(manifest(repo, view, settings)?).without_inline())
}

/// Sends a bundle.
pub(super) fn send(
    repo: &Repository,
    view: &RepoView,
    request: &WireRequest,
    (settings, hooks): (&WireSettings, &ReadHooks),
) -> Result<WireResponse, ExchangeError> {
    let path = request.need("path")?;
    hooks.before_clone_bundle(path)?;
    let name = String::from_utf8_lossy(path);
    let file = open_clone_bundle(repo, view, &settings.bundle_cache, &name)?;
    let file = file.ok_or_else(|| ExchangeError::NoCloneBundle(name.clone().into_owned()))?;
    let mut head = Vec::new();
    varint::put(file.len()?, &mut head);
    Ok(respond_with_file(request, settings, head, file))
}

/// An answer that is a file, compressed only for clients that read nothing else.
pub(super) fn respond_with_file(
    request: &WireRequest,
    settings: &WireSettings,
    head: Vec<u8>,
    file: Arc<dyn StorageFile>,
) -> WireResponse {
    let media = request.accepts.uncompressed();
    let settings = settings.clone();
    WireResponse::Stream {
        repeatable: None,
        content_type: media.content_type,
        body: match media.codec {
            CodecId::None => StreamBody::InSteps(Box::new(PlainFile {
                head: [media.prefix, &head].concat(),
                file,
            })),
            _ => StreamBody::OnePass(Arc::new(move |sink: &mut dyn ChunkSink| {
                let mut compressing = CompressedWriter::new(media, &settings, sink)?;
                send_file(head.clone(), &file, &mut compressing)?;
                compressing.finish()
            })),
        },
    }
}

/// A bundle that is handed over as a file, in one step.
struct PlainFile {
    /// Bytes in front of it.
    head: Vec<u8>,
    file: Arc<dyn StorageFile>,
}

impl BodySteps for PlainFile {
    fn step(&mut self, sink: &mut dyn ChunkSink) -> Result<bool, ExchangeError> {
        send_file(std::mem::take(&mut self.head), &self.file, sink)?;
        Ok(false)
    }
}

fn send_file(
    head: Vec<u8>,
    file: &Arc<dyn StorageFile>,
    sink: &mut dyn ChunkSink,
) -> Result<(), ExchangeError> {
    let len = file.len()?;
    if !head.is_empty() {
        sink.send(head)?;
    }
    sink.send_file(file, 0, len)
}
