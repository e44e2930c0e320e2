//! `getbundle`: everything that a client lacks, in one bundle.

use super::answers::{encode_keys, list_keys, visible_rev};
use super::bundle_caps::{self, BundleCaps};
use super::compressed::CompressedWriter;
use super::phase_heads::encode_phase_heads;
use super::repeatable::Repeatable;
use super::request::WireRequest;
use super::roots::between_roots_and_heads;
use super::stream_clone::StreamClone;
use super::{WireResponse, WireSettings};
use crate::ChunkSink;
use crate::ExchangeError;
use crate::format::bundle20::{BundleWriter, PartParams, SmallPart, write_small_parts};
use crate::format::changegroup::Version;
use crate::generate::encode_tag_files;
use crate::generate::{Selection, write_changegroup};
use crate::server::unbundle::failure;
use std::io::Write;
use std::sync::Arc;
use varve_codec::CodecId;
use varve_repo::{RepoView, Repository, encode_markers_v0};
use varve_revlog::{Node, Rev};

/// Plans the answer. Everything that the request may be refused for is found here, before the
/// first byte leaves.
pub(super) fn respond(
    repo: &Repository,
    view: Arc<RepoView>,
    request: &WireRequest,
    settings: &WireSettings,
) -> Result<WireResponse, ExchangeError> {
    let caps = bundle_caps::parse(request.get("bundlecaps").unwrap_or_default());
    if let Some(caps) = caps
        .as_ref()
        .filter(|_| request.get("stream") == Some(b"1"))
    {
        let reads_markers = reads_markers(request, caps)?.is_some();
        let clone = StreamClone::plan_whole(repo, &view, settings, reads_markers)?;
        if !caps.values("stream").any(|version| version == "v2") {
            return Err(ExchangeError::NoStreamVersion);
        }
        let parts = listed_parts(&view, request, caps, settings)?;
        let media = request.accepts.uncompressed();
        let settings = settings.clone();
        return Ok(WireResponse::Stream {
            again: None,
            content_type: media.content_type,
            body: Box::new(move |sink| clone.send_bundle(media, &settings, &parts, sink)),
        });
    }
    if caps.is_none() && !settings.bundle1 {
        return Err(ExchangeError::Bundle2Required);
    }
    let bundle = Bundle::plan(Arc::clone(&view), request, caps, settings)?;
    Ok(bundle.answer(request, settings))
}

/// Plans the answer to `changegroup` and `changegroupsubset`, with which old clients ask.
pub(super) fn changegroup(
    view: Arc<RepoView>,
    request: &WireRequest,
    settings: &WireSettings,
) -> Result<WireResponse, ExchangeError> {
    let revs = between_roots_and_heads(&view, request)?;
    let selection = Selection::exactly(view.changelog(), &revs, &[]);
    let bundle = Bundle {
        is_clone: selection.is_everything(),
        view,
        selection,
        parts: None,
    };
    Ok(bundle.answer(request, settings))
}
/// Says why there is no bundle: in a bundle, if the client reads that. It is not compressed.
pub(super) fn refusal(
    request: &WireRequest,
    error: &ExchangeError,
) -> Result<WireResponse, ExchangeError> {
    let caps = bundle_caps::parse(request.get("bundlecaps").unwrap_or_default());
    if caps.is_none() {
        return Ok(WireResponse::refusal(error));
    }
    let media = request.accepts.uncompressed();
    let settings = WireSettings::default();
    let bundle = failure(error)?;
    Ok(WireResponse::Stream {
        again: None,
        content_type: media.content_type,
        body: Box::new(move |sink| {
            let mut out = CompressedWriter::new(media, &settings, sink)?;
            out.write_all(&bundle)?;
            out.finish()
        }),
    })
}

/// A bundle that is ready to be written.
struct Bundle {
    view: Arc<RepoView>,
    /// Whether the client has nothing yet.
    is_clone: bool,
    selection: Selection,
    /// `None` for a client that reads only bundle1: then nothing but a changegroup is sent.
    parts: Option<Parts>,
}

/// What a bundle2 holds.
struct Parts {
    changegroup: Option<Version>,
    small: Vec<SmallPart>,
}

impl Bundle {
    fn plan(
        view: Arc<RepoView>,
        request: &WireRequest,
        caps: Option<BundleCaps>,
        settings: &WireSettings,
    ) -> Result<Self, ExchangeError> {
        let heads = requested_heads(&view, request)?;
        let common = request.nodes("common")?.unwrap_or_default();
        // Nodes that this repository does not have are no news to it.
        let common = common
            .iter()
            .filter_map(|node| visible_rev(&view, &Node(*node)));
        let common: Vec<Rev> = common.collect();
        let selection = Selection::new(view.changelog(), &heads, &common);
        let parts = match caps {
            Some(caps) => Some(Parts::plan(
                &view, request, &caps, &selection, &heads, settings,
            )?),
            None => None,
        };
        Ok(Bundle {
            view,
            is_clone: common.is_empty(),
            selection,
            parts,
        })
    }

    /// The answer that it is, compressed as the client reads it.
    fn answer(self, request: &WireRequest, settings: &WireSettings) -> WireResponse {
        let media = request.accepts.compressed(&settings.engines);
        let (view, is_clone) = (Arc::clone(&self.view), self.is_clone);
        let used = settings.clone();
        let write = move |sink: &mut dyn ChunkSink| {
            let mut out = CompressedWriter::new(media, &used, sink)?;
            let told = self.write(&mut out)?;
            out.finish()?;
            if let Some(error) = told {
                sink.broke_off(&error);
            }
            Ok(())
        };
        let content_type = media.content_type;
        // What is not compressed is made as fast as it would be read again.
        if !is_clone || media.codec == CodecId::None {
            return WireResponse::Stream {
                content_type,
                body: Box::new(write),
                again: None,
            };
        }
        let again = Repeatable::new(view, request, settings, Arc::new(write));
        let twin = again.clone();
        WireResponse::Stream {
            content_type,
            body: Box::new(move |sink| twin.write(sink)),
            again: Some(again),
        }
    }

    /// Writes it all, or up to a failure that the bundle itself then tells: that is returned.
    fn write<W: Write>(&self, mut out: W) -> Result<Option<ExchangeError>, ExchangeError> {
        let Some(parts) = &self.parts else {
            write_changegroup(&self.view, &self.selection, Version::V1, &mut out)?;
            return Ok(None);
        };
        let mut bundle = BundleWriter::new(out)?;
        if let Some(version) = parts.changegroup
            && let Some(error) = self.write_changegroup_part(version, &mut bundle)?
        {
            return Ok(Some(error));
        }
        write_small_parts(&parts.small, &mut bundle)?;
        bundle.finish()?;
        Ok(None)
    }

    fn write_changegroup_part<W: Write>(
        &self,
        version: Version,
        bundle: &mut BundleWriter<W>,
    ) -> Result<Option<ExchangeError>, ExchangeError> {
        let count = self.selection.sent_len().to_string();
        let params = PartParams {
            mandatory: &[(b"version", version.name().as_bytes())],
            advisory: &[(b"nbchanges", count.as_bytes())],
        };
        let mut payload = bundle.part("CHANGEGROUP", &params)?;
        let written = write_changegroup(&self.view, &self.selection, version, &mut payload);
        let Err(error) = written else {
            payload.end()?;
            return Ok(None);
        };
        payload.abort(&error.with_causes())?;
        Ok(Some(error))
    }
}

impl Parts {
    fn plan(
        view: &RepoView,
        request: &WireRequest,
        caps: &BundleCaps,
        selection: &Selection,
        heads: &[Rev],
        settings: &WireSettings,
    ) -> Result<Self, ExchangeError> {
        let sends_changes = wants_changes(request)? && selection.sent_len() > 0;
        let version = Version::best_of(caps.values("changegroup")).unwrap_or(Version::V1);
        let mut small = small_parts(view, request, caps, heads, settings)?;
        if wants_changes(request)? && caps.knows("hgtagsfnodes") {
            let mut heads = heads.to_vec();
            // In Mercurial's order: what is asked for is sorted where changesets are sent.
            match request.get("heads") {
                None => heads.sort_unstable(),
                Some(_) if sends_changes => {
                    heads.sort_unstable_by_key(|rev| view.changelog().node(*rev))
                }
                Some(_) => {}
            }
            let known = encode_tag_files(view, &heads)?;
            small.extend((!known.is_empty()).then(|| plain("hgtagsfnodes", known)));
        }
        Ok(Parts {
            changegroup: sends_changes.then_some(version),
            small,
        })
    }
}

/// Whether the client wants changesets, and what belongs to them.
fn wants_changes(request: &WireRequest) -> Result<bool, ExchangeError> {
    Ok(request.get("cg").is_none() || request.flag("cg")?)
}

/// How markers are written.
#[derive(Clone, Copy)]
enum MarkerVersion {
    Zero,
    One,
}

/// The parts behind the changegroup, as far as the client asks for them and knows them.
fn small_parts(
    view: &RepoView,
    request: &WireRequest,
    caps: &BundleCaps,
    heads: &[Rev],
    settings: &WireSettings,
) -> Result<Vec<SmallPart>, ExchangeError> {
    let mut parts = listed_parts(view, request, caps, settings)?;
    let mut by_node = heads.to_vec();
    by_node.sort_unstable_by_key(|rev| view.changelog().node(*rev));
    if settings.takes_markers
        && let Some(version) = reads_markers(request, caps)?
    {
        let markers = relevant_markers(view, heads, version)?;
        parts.extend((!markers.is_empty()).then(|| plain("OBSMARKERS", markers)));
    }
    if request.flag("phases")? && caps.values("phases").any(|value| value == "heads") {
        parts.push(plain(
            "PHASE-HEADS",
            encode_phase_heads(view, &by_node, settings),
        ));
    }
    Ok(parts)
}

fn plain(name: &'static str, payload: Vec<u8>) -> SmallPart {
    SmallPart {
        name,
        namespace: None,
        payload,
    }
}

/// The best version of markers that a client reads, if it wants any.
fn reads_markers(
    request: &WireRequest,
    caps: &BundleCaps,
) -> Result<Option<MarkerVersion>, ExchangeError> {
    if !request.flag("obsmarkers")? {
        return Ok(None);
    }
    let versions = [("V1", MarkerVersion::One), ("V0", MarkerVersion::Zero)];
    let read = |name| caps.values("obsmarkers").any(|value| value == name);
    let best = versions.into_iter().find(|(name, _)| read(*name));
    Ok(best.map(|(_, version)| version))
}

/// The parts of bookmarks and of keys.
fn listed_parts(
    view: &RepoView,
    request: &WireRequest,
    caps: &BundleCaps,
    settings: &WireSettings,
) -> Result<Vec<SmallPart>, ExchangeError> {
    let mut parts = Vec::new();
    if request.flag("bookmarks")? && caps.knows("bookmarks") {
        parts.push(plain("BOOKMARKS", encode_bookmarks(view)));
    }
    if caps.knows("listkeys") {
        let namespaces = request.get("listkeys").unwrap_or_default();
        for namespace in namespaces.split(|&b| b == b',').filter(|n| !n.is_empty()) {
            parts.push(SmallPart {
                name: "LISTKEYS",
                namespace: Some(String::from_utf8_lossy(namespace).into_owned()),
                payload: encode_keys(&list_keys(view, namespace, settings)?),
            });
        }
    }
    Ok(parts)
}

/// What led to the heads and to what they follow.
fn relevant_markers(
    view: &RepoView,
    heads: &[Rev],
    version: MarkerVersion,
) -> Result<Vec<u8>, ExchangeError> {
    let selection = Selection::new(view.changelog(), heads, &[]);
    let nodes = selection.sent().map(|rev| view.changelog().node(rev));
    let markers = view.relevant_markers(&nodes.collect::<Vec<_>>())?;
    Ok(match version {
        MarkerVersion::One => markers,
        MarkerVersion::Zero => encode_markers_v0(&markers)?,
    })
}

/// The heads asked for, or all that may be seen.
fn requested_heads(view: &RepoView, request: &WireRequest) -> Result<Vec<Rev>, ExchangeError> {
    let Some(nodes) = request.nodes("heads")? else {
        return Ok(view.heads());
    };
    let asked = nodes.into_iter().map(Node).filter(|node| !node.is_null());
    asked
        .map(|node| {
            let visible = visible_rev(view, &node);
            visible.ok_or_else(|| ExchangeError::UnknownRevision(node.to_string()))
        })
        .collect()
}

/// Per bookmark: node, u16 length of the name, name.
fn encode_bookmarks(view: &RepoView) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, node) in view.bookmarks() {
        let Ok(len) = u16::try_from(name.len()) else {
            continue;
        };
        out.extend_from_slice(&node.0);
        out.extend_from_slice(&len.to_be_bytes());
        out.extend_from_slice(name);
    }
    out
}
