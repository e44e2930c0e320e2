//! Tags: lines `<node> <name>` in the tracked file `.hgtags` of every head, and in
//! `.hg/localtags`.
//!
//! A later line for a name replaces an earlier one; the null node removes the tag. Where heads
//! disagree, the node wins that the other head's history of that name already knows of.

use crate::file_text::FileText;
use crate::manifest::ManifestEntries;
use crate::{RepoError, RepoView};
use std::collections::{BTreeMap, HashSet};
use varve_base::storage::read_if_there;
use varve_revlog::Node;

/// All nodes that a name had, oldest first; the last one counts.
type History = BTreeMap<Vec<u8>, Vec<Node>>;

pub(crate) fn read(view: &RepoView) -> Result<BTreeMap<Vec<u8>, Node>, RepoError> {
    let mut all = History::new();
    let mut seen = HashSet::new();
    // Oldest head first.
    for head in view.heads().into_iter().rev() {
        let manifest = view.with_changeset(head, |changeset| changeset.manifest)?;
        if let Some(node) = tags_file(view, &manifest)?
            && seen.insert(node)
        {
            let filelog = view.filelog(b".hgtags")?;
            let rev = filelog.rev(&node).ok_or(RepoError::MissingNode {
                what: "revision",
                node,
                path: filelog.path().to_owned(),
            })?;
            let text = filelog.text(rev)?;
            merge(&mut all, parse(FileText::parse(&text).content));
        }
    }
    all.extend(local(view)?);
    let changelog = view.changelog();
    let shown = |node: &Node| changelog.rev(node).is_some_and(|rev| view.is_visible(rev));
    let newest = |(name, nodes): (Vec<u8>, Vec<Node>)| {
        let node = nodes.last().copied().filter(shown)?;
        Some((name, node))
    };
    Ok(all.into_iter().filter_map(newest).collect())
}

/// Names in `.hg/localtags`.
pub(crate) fn local_names(view: &RepoView) -> Result<Vec<Vec<u8>>, RepoError> {
    Ok(local(view)?.into_keys().collect())
}

fn local(view: &RepoView) -> Result<History, RepoError> {
    let path = view.shared.hg().join("localtags");
    let bytes = read_if_there(view.storage(), &path)?.unwrap_or_default();
    Ok(parse(&bytes))
}

/// The revision of `.hgtags` in a manifest.
fn tags_file(view: &RepoView, manifest: &Node) -> Result<Option<Node>, RepoError> {
    if manifest.is_null() {
        return Ok(None);
    }
    let revlog = view.manifest()?;
    let rev = revlog.rev(manifest).ok_or(RepoError::MissingNode {
        what: "manifest",
        node: *manifest,
        path: revlog.path().to_owned(),
    })?;
    let text = revlog.text(rev)?;
    let found = ManifestEntries::find(&text, b".hgtags");
    let found = found.map_err(|(offset, reason)| RepoError::DamagedManifest {
        path: view.root().to_owned(),
        node: *manifest,
        offset,
        reason,
    })?;
    Ok(found.map(|entry| entry.node))
}

/// Lines that are not tags are passed over: users edit this file.
fn parse(text: &[u8]) -> History {
    let mut tags = History::new();
    for line in text.split(|byte| *byte == b'\n') {
        let node = line.get(..2 * Node::LEN).and_then(Node::from_hex);
        let name = line
            .get(2 * Node::LEN..)
            .and_then(|rest| rest.strip_prefix(b" "));
        if let Some((node, name)) = node.zip(name) {
            tags.entry(name.trim_ascii().to_vec())
                .or_default()
                .push(node);
        }
    }
    tags
}

/// Adds the tags of a newer head.
fn merge(all: &mut History, newer: History) {
    for (name, mut nodes) in newer {
        let known = all.remove(&name).unwrap_or_default();
        let (old, new) = (known.last().copied(), nodes.last().copied());
        let old_knows_new = new.is_some_and(|new| known.contains(&new));
        let new_knows_old = old.is_some_and(|old| nodes.contains(&old));
        let old_wins = old != new && old_knows_new && (!new_knows_old || known.len() > nodes.len());
        let missing: Vec<_> = known
            .iter()
            .filter(|node| !nodes.contains(node))
            .copied()
            .collect();
        if old_wins {
            nodes.extend(missing);
            nodes.extend(old);
        } else {
            nodes.splice(..0, missing);
        }
        all.insert(name, nodes);
    }
}
