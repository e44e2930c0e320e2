//! A planned bundle, and how it is sent.

use super::compressed::CompressedWriter;
use super::repeatable::RepeatableResponse;
use super::request::WireRequest;
use super::{ReadHooks, StreamBody, WireResponse, WireSettings, WriteBody};
use crate::ChunkSink;
use crate::ExchangeError;
use crate::format::bundle20::BundleWriter;
use crate::format::changegroup::ChangegroupVersion;
use crate::format::part::{Part, changegroup as changegroup_part, error};
use crate::generate::{Selection, write_changegroup};
use std::io::Write;
use std::sync::Arc;
use varve_codec::CodecId;
use varve_repo::RepoView;

/// A bundle that is ready to be written.
pub(super) struct PlannedBundle {
    pub(super) view: Arc<RepoView>,
    /// True if the client has nothing yet.
    pub(super) is_clone: bool,
    pub(super) selection: Selection,
    /// `None` for a client that reads only bundle1: then nothing but a changegroup is sent.
    pub(super) parts: Option<BundleParts>,
    /// Called when the changegroup is written.
    pub(super) hooks: ReadHooks,
}

/// Parts of a bundle2.
pub(super) struct BundleParts {
    pub(super) changegroup: Option<ChangegroupVersion>,
    pub(super) small: Vec<Part<Vec<u8>>>,
}

impl PlannedBundle {
    /// The answer that it is, compressed as the client reads it.
    pub(super) fn answer(self, request: &WireRequest, settings: &WireSettings) -> WireResponse {
        let media = request.accepts.compressed(&settings.engines);
        let (view, is_clone) = (Arc::clone(&self.view), self.is_clone);
        let has_hook = self.hooks.has_outgoing();
        let used = settings.clone();
        let write = move |sink: &mut dyn ChunkSink| {
            let mut out = CompressedWriter::new(media, &used, sink)?;
            let failed = self.write(&mut out)?;
            out.finish()?;
            if let Some(error) = failed {
                sink.broke_off(&error);
            }
            Ok(())
        };
        let content_type = media.content_type;
        // An uncompressed answer is made as fast as it would be read again. A hook is called for each client.
        if !is_clone || media.codec == CodecId::None || has_hook {
            return WireResponse::Stream {
                content_type,
                body: StreamBody::OnePass(Arc::new(write)),
                repeatable: None,
            };
        }
        let write: Arc<WriteBody> = Arc::new(write);
        let repeatable = RepeatableResponse::new(view, request, settings, Arc::clone(&write));
        WireResponse::Stream {
            content_type,
            body: StreamBody::OnePass(write),
            repeatable: Some(repeatable),
        }
    }

    /// Writes the bundle, up to its end or to a failure, which is then written into the bundle and returned.
    fn write<W: Write>(&self, mut out: W) -> Result<Option<ExchangeError>, ExchangeError> {
        let Some(parts) = &self.parts else {
            write_changegroup(
                &self.view,
                &self.selection,
                ChangegroupVersion::V1,
                &mut out,
            )?;
            self.notify_outgoing();
            return Ok(None);
        };
        let mut bundle = BundleWriter::new(out)?;
        if let Some(version) = parts.changegroup
            && let Some(error) = self.write_changegroup_part(version, &mut bundle)?
        {
            return Ok(Some(error));
        }
        for part in &parts.small {
            bundle.write_part(part)?;
        }
        bundle.finish()?;
        Ok(None)
    }

    fn write_changegroup_part<W: Write>(
        &self,
        version: ChangegroupVersion,
        bundle: &mut BundleWriter<W>,
    ) -> Result<Option<ExchangeError>, ExchangeError> {
        let count = self.selection.sent_len();
        let header = changegroup_part::header(version, Some(count), None);
        let mut payload = bundle.start_part(header)?;
        let written = write_changegroup(&self.view, &self.selection, version, &mut payload);
        let Err(error) = written else {
            payload.end()?;
            self.notify_outgoing();
            return Ok(None);
        };
        payload.interrupt(error::encode_interruption(&error))?;
        Ok(Some(error))
    }
    fn notify_outgoing(&self) {
        let first = self.selection.sent().next();
        let node = |rev| self.view.changelog().node(rev);
        self.hooks.after_changegroup(first.map(node));
    }
}
