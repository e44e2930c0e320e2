//! Commands with short answers.

use super::between::{between, branches};
use super::capabilities;
use super::request::WireRequest;
use super::{ReadHooks, WireSettings, clone_bundles};
use crate::ExchangeError;
use crate::apply::is_exposed;
use crate::format::batch;
use crate::format::marker_keys::marker_keys;
use crate::format::part::list_keys::{self, Keys};
use crate::format::quoting::QUOTED;
use percent_encoding::percent_encode;
use varve_repo::{LookupError, Phase, RepoView, Repository};
use varve_revlog::{Node, Rev};

/// Answers one command, alone or from a batch; `None` if it is none of the short ones.
pub(super) fn answer(
    (repo, view): (&Repository, &RepoView),
    request: &WireRequest,
    (settings, hooks): (&WireSettings, &ReadHooks),
) -> Result<Option<Vec<u8>>, ExchangeError> {
    let capabilities = || capabilities::capabilities((repo, view), settings);
    Ok(Some(match request.command.as_str() {
        "capabilities" => capabilities()?.into_bytes(),
        "hello" => format!("capabilities: {}\n", capabilities()?).into_bytes(),
        "clonebundles" => clone_bundles::urls_only(repo, view, settings)?,
        "clonebundles_manifest" => clone_bundles::manifest(repo, view, settings)?,
        "heads" => heads(view),
        "known" => known(view, request)?,
        "lookup" => lookup(view, request)?,
        "branchmap" => branchmap(view)?,
        "between" => between(view, request)?,
        "branches" => branches(view, request)?,
        "debugwireargs" => echo(request)?,
        "listkeys" => {
            let namespace = request.need("namespace")?;
            list_keys::encode(&keys_of(view, namespace, (settings, hooks))?)
        }
        _ => return Ok(None),
    }))
}

/// Answers all commands of a batch.
pub(super) fn answer_batch(
    subject: (&Repository, &RepoView),
    request: &WireRequest,
    configured: (&WireSettings, &ReadHooks),
) -> Result<Vec<u8>, ExchangeError> {
    let mut out = Vec::new();
    for (number, command) in batch::parse(request.need("cmds")?)?.into_iter().enumerate() {
        if number > 0 {
            out.push(b';');
        }
        let single = WireRequest {
            command: command.name,
            args: command.args,
            accepts: request.accepts.clone(),
        };
        let answer = answer(subject, &single, configured)?;
        let answer = answer.ok_or(ExchangeError::UnknownCommand {
            command: single.command,
        })?;
        batch::escape(&answer, &mut out);
    }
    Ok(out)
}

/// Nodes in hex with blanks between.
fn push_nodes(nodes: impl IntoIterator<Item = Node>, out: &mut Vec<u8>) {
    for (number, node) in nodes.into_iter().enumerate() {
        if number > 0 {
            out.push(b' ');
        }
        out.extend_from_slice(&node.to_hex());
    }
}

/// The changeset of a node, if the client may see it.
pub(super) fn visible_rev(view: &RepoView, node: &Node) -> Option<Rev> {
    let rev = view.changelog().rev(node)?;
    view.is_visible(rev).then_some(rev)
}

fn heads(view: &RepoView) -> Vec<u8> {
    let mut out = Vec::new();
    let heads = view.heads();
    if heads.is_empty() {
        push_nodes([Node::NULL], &mut out);
    } else {
        push_nodes(nodes_of(view, &heads), &mut out);
    }
    out.push(b'\n');
    out
}

fn nodes_of(view: &RepoView, revs: &[Rev]) -> impl Iterator<Item = Node> {
    revs.iter().map(|rev| view.changelog().node(*rev))
}

/// One digit per node: 1 if the client may see it here.
fn known(view: &RepoView, request: &WireRequest) -> Result<Vec<u8>, ExchangeError> {
    let nodes = request.nodes("nodes")?.unwrap_or_default();
    let digit = |node| match visible_rev(view, &Node(node)) {
        Some(_) => b'1',
        None => b'0',
    };
    Ok(nodes.into_iter().map(digit).collect())
}

/// The arguments themselves, with `None` for those that were not sent; so servers never heard of the fifth.
fn echo(request: &WireRequest) -> Result<Vec<u8>, ExchangeError> {
    let optional = |name| request.get(name).unwrap_or(b"None");
    let words = [
        request.need("one")?,
        request.need("two")?,
        optional("three"),
        optional("four"),
        b"None",
    ];
    Ok(words.join(&b' '))
}

fn lookup(view: &RepoView, request: &WireRequest) -> Result<Vec<u8>, ExchangeError> {
    let answer = match view.lookup(request.need("key")?) {
        Ok(node) => format!("1 {node}\n"),
        Err(LookupError::Repo(error)) => return Err(error.into()),
        Err(refusal) => format!("0 {refusal}\n"),
    };
    Ok(answer.into_bytes())
}

/// Per line a quoted branch and its heads.
fn branchmap(view: &RepoView) -> Result<Vec<u8>, ExchangeError> {
    let mut out = Vec::new();
    for (branch, heads) in view.branchmap()? {
        if !out.is_empty() {
            out.push(b'\n');
        }
        let quoted = percent_encode(branch, QUOTED);
        quoted.for_each(|piece| out.extend_from_slice(piece.as_bytes()));
        out.push(b' ');
        push_nodes(nodes_of(view, &heads.heads), &mut out);
    }
    Ok(out)
}

/// Reads the keys of one namespace for a client. A namespace that is not there has none.
pub(super) fn keys_of(
    view: &RepoView,
    namespace: &[u8],
    (settings, hooks): (&WireSettings, &ReadHooks),
) -> Result<Keys, ExchangeError> {
    hooks.around_keys(namespace, || read_keys(view, namespace, settings))
}

fn read_keys(
    view: &RepoView,
    namespace: &[u8],
    settings: &WireSettings,
) -> Result<Keys, ExchangeError> {
    Ok(match namespace {
        b"namespaces" => {
            let always = ["bookmarks", "namespaces", "phases"];
            let markers = settings.takes_markers.then_some("obsolete");
            let names = always.into_iter().chain(markers);
            names.map(|name| (name.into(), Vec::new())).collect()
        }
        b"bookmarks" => view
            .bookmarks()
            .iter()
            .filter(|(name, _)| is_exposed(name))
            .map(|(name, node)| (name.clone(), node.to_hex().to_vec()))
            .collect(),
        b"phases" => phases(view, settings),
        // Also where they are not exchanged, as with Mercurial: then the namespace is not named.
        b"obsolete" => marker_keys(&view.markers_v0()?),
        _ => Keys::new(),
    })
}

/// Where draft begins, and whether all that is pulled becomes public.
fn phases(view: &RepoView, settings: &WireSettings) -> Keys {
    let roots = view.phases().roots().iter();
    let draft = roots.filter(|(phase, _)| *phase == Phase::Draft);
    let mut keys: Keys = draft
        .map(|(_, rev)| (view.changelog().node(*rev).to_hex().to_vec(), b"1".to_vec()))
        .collect();
    if settings.publishing {
        keys.insert(b"publishing".to_vec(), b"True".to_vec());
    }
    keys
}
