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
use crate::server::clone_bundles::{check_name, offered_manifest, open_clone_bundle};
use std::sync::Arc;
use varve_base::{StorageFile, varint};
use varve_codec::CodecId;
use varve_repo::hooks::{HookArgs, Hooks};
use varve_repo::{RepoError, RepoView, Repository};

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

/// The command that sends a bundle.
const SEND: &str = "get_cached_bundle_inline";

/// Called before a bundle is sent, with its name; may refuse that.
const HOOK: &str = "pretransmit-inline-clone-bundle";

/// Asks the hook whether the bundle that a request wants may be sent; other requests need no leave.
///
/// # Errors
/// [`RepoError::Hook`] with the words of the refusal; [`ExchangeError::IllegalCloneBundle`].
pub fn ask_inline_hook(request: &WireRequest, hooks: &dyn Hooks) -> Result<(), ExchangeError> {
    if request.command != SEND {
        return Ok(());
    }
    let path = request.need("path")?.to_vec();
    let name = String::from_utf8_lossy(&path).into_owned();
    let args = HookArgs::from([("clonebundlepath", path)]);
    let asked = hooks.run_now(HOOK, &args, false);
    asked.map_err(RepoError::Hook)?;
    check_name(&name)
}

/// Sends a bundle.
pub(super) fn send(
    repo: &Repository,
    view: &RepoView,
    request: &WireRequest,
    settings: &WireSettings,
) -> Result<WireResponse, ExchangeError> {
    let name = String::from_utf8_lossy(request.need("path")?);
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
