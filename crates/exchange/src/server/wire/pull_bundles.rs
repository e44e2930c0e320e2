//! Pulls that are answered with bundles made before, one part of the changesets after the other.
//!
//! ```text
//! .hg/pullbundles.manifest     PATH [KEY=VALUE]… LF     PATH below .hg; the first entry that fits is sent
//!
//! BUNDLESPEC   the client reads its engine; a bundle of the store's files never fits
//! heads        with ';' between: asked for by the client, directly or by a descendant, and not all there already
//! bases        with ';' between: all at the client
//! ```
//! Only clients that pull again until nothing is missing (`partial-pull`) get such a bundle, and they get it whatever
//! else they asked for. A changeset that the client may not see fits nothing.
//!
//! Source: `hg help config.server`, and the answers of Mercurial's server.

use super::answers::visible_rev;
use super::clone_bundles::respond_with_file;
use super::request::{WireRequest, node_from_hex};
use super::{WireResponse, WireSettings};
use crate::ExchangeError;
use crate::format::bundlespec::{BundleSpec, BundleType, SpecDefaults};
use crate::format::clone_bundle_manifest::{CloneBundleManifest, EntryAttributes};
use crate::generate::Selection;
use std::path::{Component, Path};
use std::sync::Arc;
use varve_base::storage::{EntryKind, read_if_there};
use varve_base::{OpenMode, StorageFile};
use varve_codec::StreamEngine;
use varve_repo::{RepoView, Repository};
use varve_revlog::{Node, Rev};

/// Path of the manifest, below the repository.
const MANIFEST: &str = ".hg/pullbundles.manifest";

/// The first bundle that fits the request.
pub(super) fn respond(
    repo: &Repository,
    view: &RepoView,
    request: &WireRequest,
    settings: &WireSettings,
) -> Result<Option<WireResponse>, ExchangeError> {
    if !settings.pull_bundles || !request.accepts.pulls_in_parts() {
        return Ok(None);
    }
    let path = repo.root().join(MANIFEST);
    let Some(text) = read_if_there(repo.storage().as_ref(), &path)? else {
        return Ok(None);
    };
    let pull = Pull::of(view, request)?;
    for (path, attributes) in CloneBundleManifest::new(text).entries() {
        if pull.fits(&attributes)?
            && let Some(file) = open(repo, &path)?
        {
            return Ok(Some(respond_with_file(request, settings, Vec::new(), file)));
        }
    }
    Ok(None)
}

/// A bundle's file; `None` if it is not there.
fn open(repo: &Repository, path: &str) -> Result<Option<Arc<dyn StorageFile>>, ExchangeError> {
    let mut parts = Path::new(path).components();
    if !parts.all(|part| matches!(part, Component::Normal(_))) {
        return Err(ExchangeError::PullBundleManifest(format!(
            "{path} is no path below .hg"
        )));
    }
    let (storage, path) = (repo.storage(), repo.root().join(".hg").join(path));
    match storage.kind(&path)? {
        Some(EntryKind::File) => Ok(Some(storage.open(&path, OpenMode::Read)?)),
        _ => Ok(None),
    }
}

/// A request, and which changesets it leads to.
struct Pull<'a> {
    view: &'a RepoView,
    request: &'a WireRequest,
    selection: Selection,
}

impl<'a> Pull<'a> {
    fn of(view: &'a RepoView, request: &'a WireRequest) -> Result<Self, ExchangeError> {
        let revs = |name| -> Result<Vec<Rev>, ExchangeError> {
            let nodes = request.nodes(name)?.unwrap_or_default();
            let visible = nodes
                .into_iter()
                .filter_map(|node| visible_rev(view, &Node(node)));
            Ok(visible.collect())
        };
        let (heads, common) = (revs("heads")?, revs("common")?);
        let selection = Selection::new(view.changelog(), &heads, &common);
        Ok(Pull {
            view,
            request,
            selection,
        })
    }

    fn fits(&self, attributes: &EntryAttributes) -> Result<bool, ExchangeError> {
        let value = |key: &str| {
            let mut pairs = attributes.iter().rev();
            pairs.find_map(|(name, value)| (name == key).then_some(value.as_str()))
        };
        if value("BUNDLESPEC").is_some_and(|spec| !self.reads(spec)) {
            return Ok(false);
        }
        if let Some(bases) = value("bases") {
            let Some(bases) = self.revs(bases)? else {
                return Ok(false);
            };
            if !bases.iter().all(|rev| self.selection.is_common(*rev)) {
                return Ok(false);
            }
        }
        let Some(heads) = value("heads") else {
            return Ok(true);
        };
        let Some(heads) = self.revs(heads)? else {
            return Ok(false);
        };
        let is_sent = |rev: &Rev| self.selection.is_sent(*rev);
        let is_reached = |rev: &Rev| is_sent(rev) || self.selection.is_common(*rev);
        Ok(heads.iter().all(is_reached) && heads.iter().any(is_sent))
    }

    /// Whether the client reads bundles of this type.
    fn reads(&self, spec: &str) -> bool {
        let usual = SpecDefaults {
            general_delta: true,
        };
        let Ok(spec) = BundleSpec::parse(spec, usual) else {
            return false;
        };
        let is_of_files = spec.kind() == BundleType::Packed1 || spec.contents().stream.is_some();
        let engine = match spec.setting().engine {
            StreamEngine::Gzip => "zlib",
            other => other.name(),
        };
        !is_of_files && self.request.accepts.reads_engine(engine)
    }

    /// The changesets of a list; `None` if there is one that clients do not see.
    fn revs(&self, list: &str) -> Result<Option<Vec<Rev>>, ExchangeError> {
        let mut revs = Vec::new();
        for word in list.split(';') {
            let node = node_from_hex(word.as_bytes()).ok_or_else(|| {
                ExchangeError::PullBundleManifest(format!("'{word}' is no node of 40 hex digits"))
            })?;
            let Some(rev) = visible_rev(self.view, &Node(node)) else {
                return Ok(None);
            };
            revs.push(rev);
        }
        Ok(Some(revs))
    }
}
