//! The commands about clone bundles: which there are, and one of them.
//!
//! ```text
//! get_cached_bundle_inline   uvarint length  the bundle, as it is in its file
//! ```

use super::compressed::CompressedWriter;
use super::{BodySteps, StreamBody, WireRequest, WireResponse, WireSettings};
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
    let offered = offered_manifest(repo, view)?.unwrap_or_default();
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
    settings: &WireSettings,
) -> Result<WireResponse, ExchangeError> {
    let name = String::from_utf8_lossy(request.need("path")?);
    let file = open_clone_bundle(repo, view, &name)?;
    let file = file.ok_or_else(|| ExchangeError::NoCloneBundle(name.clone().into_owned()))?;
    let media = request.accepts.uncompressed();
    let settings = settings.clone();
    Ok(WireResponse::Stream {
        repeatable: None,
        content_type: media.content_type,
        body: match media.codec {
            CodecId::None => StreamBody::InSteps(Box::new(PlainFile {
                prefix: media.prefix,
                file,
            })),
            _ => StreamBody::OnePass(Arc::new(move |sink: &mut dyn ChunkSink| {
                let mut compressing = CompressedWriter::new(media, &settings, sink)?;
                send_file(&file, &mut compressing)?;
                compressing.finish()
            })),
        },
    })
}

/// A bundle that is handed over as a file, in one step.
struct PlainFile {
    prefix: &'static [u8],
    file: Arc<dyn StorageFile>,
}

impl BodySteps for PlainFile {
    fn step(&mut self, sink: &mut dyn ChunkSink) -> Result<bool, ExchangeError> {
        sink.send(self.prefix.to_vec())?;
        send_file(&self.file, sink)?;
        Ok(false)
    }
}

fn send_file(file: &Arc<dyn StorageFile>, sink: &mut dyn ChunkSink) -> Result<(), ExchangeError> {
    let len = file.len()?;
    let mut head = Vec::new();
    varint::put(len, &mut head);
    sink.send(head)?;
    sink.send_file(file, 0, len)
}
