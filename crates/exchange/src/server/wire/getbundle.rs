//! `getbundle`: everything that a client lacks, in one bundle.

use super::answers::{keys_of, visible_rev};
use super::bundle_caps;
use super::compressed::CompressedWriter;
use super::phase_heads::encode_phase_heads;
use super::planned_bundle::{BundleParts, PlannedBundle};
use super::pull_bundles;
use super::request::WireRequest;
use super::roots::between_roots_and_heads;
use super::stream_clone::StreamClone;
use super::{ReadHooks, StreamBody, WireResponse, WireSettings};
use crate::ChunkSink;
use crate::ExchangeError;
use crate::apply::is_exposed;
use crate::format::bundle20::BundleWriter;
use crate::format::changegroup::ChangegroupVersion;
use crate::format::part::capabilities::Bundle2Capabilities;
use crate::format::part::{Part, PartHeader, PartType, bookmarks, error, list_keys};
use crate::generate::{Selection, tags_fnodes};
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::Arc;
use varve_repo::{RepoView, Repository, encode_markers_v0};
use varve_revlog::{Node, Rev};

/// Plans the answer. Everything that the request may be refused for is found here, before the
/// first byte leaves.
pub(super) fn respond(
    repo: &Repository,
    view: Arc<RepoView>,
    request: &WireRequest,
    (settings, hooks): (&WireSettings, &ReadHooks),
) -> Result<WireResponse, ExchangeError> {
    if let Some(bundle) = pull_bundles::respond(repo, &view, request, settings)? {
        return Ok(bundle);
    }
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
        let parts = listed_parts(&view, request, caps, (settings, hooks))?;
        let media = request.accepts.uncompressed();
        let settings = settings.clone();
        return Ok(WireResponse::Stream {
            repeatable: None,
            content_type: media.content_type,
            body: clone.into_bundle(media, settings, parts),
        });
    }
    if caps.is_none() && !settings.bundle1 {
        return Err(ExchangeError::Bundle2Required);
    }
    let requested = RequestedChangesets::of(&view, request)?;
    if !settings.full_bundles && requested.are_everything(&view, request)? {
        return Err(ExchangeError::FullBundleDisabled);
    }
    let parts = match &caps {
        Some(caps) => {
            let configured = (settings, hooks);
            Some(plan_parts(&view, (request, caps), &requested, configured)?)
        }
        None => {
            hooks.before_changegroup()?;
            None
        }
    };
    let bundle = PlannedBundle {
        view,
        is_clone: requested.is_clone,
        selection: requested.selection,
        parts,
        hooks: hooks.clone(),
    };
    Ok(bundle.answer(request, settings))
}

/// Plans the answer to `changegroup` and `changegroupsubset`, with which old clients ask.
pub(super) fn changegroup(
    view: Arc<RepoView>,
    request: &WireRequest,
    (settings, hooks): (&WireSettings, &ReadHooks),
) -> Result<WireResponse, ExchangeError> {
    let revs = between_roots_and_heads(&view, request)?;
    let selection = Selection::exactly(view.changelog(), &revs, &[]);
    hooks.before_changegroup()?;
    let bundle = PlannedBundle {
        is_clone: selection.is_everything(),
        view,
        selection,
        parts: None,
        hooks: hooks.clone(),
    };
    Ok(bundle.answer(request, settings))
}

/// The reason why there is no bundle: in a bundle, which is not compressed, if the client reads bundle2.
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
    let mut bundle = BundleWriter::new(Vec::new())?;
    bundle.start_part(error::encode(error))?.end()?;
    let bundle = bundle.finish()?;
    Ok(WireResponse::Stream {
        repeatable: None,
        content_type: media.content_type,
        body: StreamBody::OnePass(Arc::new(move |sink: &mut dyn ChunkSink| {
            let mut out = CompressedWriter::new(media, &settings, sink)?;
            out.write_all(&bundle)?;
            out.finish()
        })),
    })
}

/// Changesets that a request leads to.
struct RequestedChangesets {
    heads: Vec<Rev>,
    selection: Selection,
    /// True if the client has nothing yet.
    is_clone: bool,
}

impl RequestedChangesets {
    fn of(view: &RepoView, request: &WireRequest) -> Result<Self, ExchangeError> {
        let heads = requested_heads(view, request)?;
        let common = request.nodes("common")?.unwrap_or_default();
        // Unknown nodes tell nothing about the client's changesets of this repository.
        let common = common
            .iter()
            .filter_map(|node| visible_rev(view, &Node(*node)));
        let common: Vec<Rev> = common.collect();
        Ok(RequestedChangesets {
            selection: Selection::new(view.changelog(), &heads, &common),
            heads,
            is_clone: common.is_empty(),
        })
    }

    /// True if a client that has nothing asks for all heads by their names.
    fn are_everything(
        &self,
        view: &RepoView,
        request: &WireRequest,
    ) -> Result<bool, ExchangeError> {
        let asked = request.nodes("heads")?.unwrap_or_default();
        let asked: BTreeSet<Node> = asked.into_iter().map(Node).collect();
        let all = view.heads();
        let all: BTreeSet<Node> = all.iter().map(|rev| view.changelog().node(*rev)).collect();
        Ok(self.is_clone && asked == all)
    }
}

/// Makes all parts but the changegroup.
fn plan_parts(
    view: &RepoView,
    (request, caps): (&WireRequest, &Bundle2Capabilities),
    requested: &RequestedChangesets,
    (settings, hooks): (&WireSettings, &ReadHooks),
) -> Result<BundleParts, ExchangeError> {
    let sends_changes = wants_changes(request)? && requested.selection.sent_len() > 0;
    let version =
        ChangegroupVersion::best_of(caps.values("changegroup")).unwrap_or(ChangegroupVersion::V1);
    if sends_changes {
        hooks.before_changegroup()?;
    }
    let heads = &requested.heads;
    let mut small = small_parts(view, (request, caps), heads, (settings, hooks))?;
    if wants_changes(request)? && caps.has("hgtagsfnodes") {
        let mut heads = heads.clone();
        // In Mercurial's order: requested heads are sorted where changesets are sent.
        match request.get("heads") {
            None => heads.sort_unstable(),
            Some(_) if sends_changes => {
                heads.sort_unstable_by_key(|rev| view.changelog().node(*rev))
            }
            Some(_) => {}
        }
        let payload = tags_fnodes(view, &heads)?;
        let header = PartHeader::advisory(PartType::TagsFnodes);
        small.extend((!payload.is_empty()).then_some(Part { header, payload }));
    }
    Ok(BundleParts {
        changegroup: sends_changes.then_some(version),
        small,
    })
}

/// Whether the client wants a changegroup and the parts that belong to it.
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
    (request, caps): (&WireRequest, &Bundle2Capabilities),
    heads: &[Rev],
    (settings, hooks): (&WireSettings, &ReadHooks),
) -> Result<Vec<Part<Vec<u8>>>, ExchangeError> {
    let mut parts = listed_parts(view, request, caps, (settings, hooks))?;
    let mut by_node = heads.to_vec();
    by_node.sort_unstable_by_key(|rev| view.changelog().node(*rev));
    if settings.takes_markers
        && let Some(version) = reads_markers(request, caps)?
    {
        let markers = relevant_markers(view, heads, version)?;
        parts.extend((!markers.is_empty()).then(|| mandatory(PartType::Obsmarkers, markers)));
    }
    if request.flag("phases")? && caps.values("phases").any(|value| value == "heads") {
        parts.push(mandatory(
            PartType::PhaseHeads,
            encode_phase_heads(view, &by_node, settings),
        ));
    }
    Ok(parts)
}

fn mandatory(part_type: PartType, payload: Vec<u8>) -> Part<Vec<u8>> {
    Part {
        header: PartHeader::mandatory(part_type),
        payload,
    }
}

/// The best version of markers that a client reads, if it wants any.
fn reads_markers(
    request: &WireRequest,
    caps: &Bundle2Capabilities,
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
    caps: &Bundle2Capabilities,
    configured: (&WireSettings, &ReadHooks),
) -> Result<Vec<Part<Vec<u8>>>, ExchangeError> {
    let mut parts = Vec::new();
    if request.flag("bookmarks")? && caps.has("bookmarks") {
        // A longer name does not fit a record.
        let exposed = view.bookmarks().iter().filter(|(name, _)| is_exposed(name));
        let fitting = exposed.filter(|(name, _)| u16::try_from(name.len()).is_ok());
        let records = fitting.map(|(name, node)| (&name[..], Some(*node)));
        let payload = bookmarks::encode(records)?;
        parts.extend((!payload.is_empty()).then(|| mandatory(PartType::Bookmarks, payload)));
    }
    if caps.has("listkeys") {
        let namespaces = request.get("listkeys").unwrap_or_default();
        for namespace in namespaces.split(|&b| b == b',').filter(|n| !n.is_empty()) {
            let keys = keys_of(view, namespace, configured)?;
            parts.push(list_keys::part(namespace, &keys));
        }
    }
    Ok(parts)
}

/// Markers that led to the heads and to their ancestors.
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
