//! Tags, from the tracked file `.hgtags` of every head and from `.hg/localtags`.
//!
//! Where heads disagree, the node wins that the other head's history of that name already knows of.

use crate::format::manifest::ManifestEntries;
use crate::format::tags::{TAGS_FILE, TagHistory, parse};
use crate::format::{Changeset, FileText, RepoError};
use crate::read::RepoView;
use crate::read::caches::{self, TagFiles};
use std::collections::{BTreeMap, HashSet};
use varve_base::storage::read_if_there;
use varve_revlog::{Node, Rev, Revlog, RevlogError};

pub(crate) fn read(view: &RepoView) -> Result<BTreeMap<Vec<u8>, Node>, RepoError> {
    let mut all = global(view)?;
    all.extend(local(view)?);
    let changelog = view.changelog();
    let shown = |node: &Node| changelog.rev(node).is_some_and(|rev| view.is_visible(rev));
    let newest = |(name, nodes): (Vec<u8>, Vec<Node>)| {
        let node = nodes.last().copied().filter(shown)?;
        Some((name, node))
    };
    Ok(all.into_iter().filter_map(newest).collect())
}

/// Tags of the tracked files.
fn global(view: &RepoView) -> Result<TagHistory, RepoError> {
    // Oldest head first.
    let mut heads: Vec<Rev> = view.heads().into_iter().rev().collect();
    let (mut files, mut filelog) = (TagFiles::new(view), None);
    if open_once(view, &mut filelog)?.is_none() {
        heads.clear();
    }
    files.load(&heads);
    let mut missing = Vec::new();
    for head in &heads {
        if !is_sure(view, &files, *head, &mut filelog)? && files.get(*head) != Some(Node::NULL) {
            missing.push(*head);
        }
    }
    find(view, &missing, &mut files, &mut filelog)?;
    let mut all = merged(view, &heads, &files, &mut filelog)?;
    if !caches::has_tags(view, &all) {
        // Bytes that were never written also say that a changeset has no such file.
        let is_none = |head: &&Rev| files.get(**head) == Some(Node::NULL);
        let none: Vec<Rev> = heads.iter().filter(is_none).copied().collect();
        let mut changed = false;
        for head in none.iter().filter(|head| !missing.contains(head)) {
            let node = tags_file(view, *head)?;
            changed |= !node.is_null();
            files.set(*head, node);
        }
        if changed {
            all = merged(view, &heads, &files, &mut filelog)?;
        }
        caches::keep_tags(view, &all);
    }
    files.save();
    Ok(all)
}

impl RepoView {
    /// Which revision of `.hgtags` some changesets have, as far as the cache knows it; the null
    /// node for those that have no such file.
    ///
    /// # Errors
    /// If the history of the file is damaged.
    pub fn cached_tag_files(&self, revs: &[Rev]) -> Result<Vec<(Rev, Node)>, RepoError> {
        let (mut files, mut filelog) = (TagFiles::new(self), None);
        files.load(revs);
        let mut known = Vec::new();
        for rev in revs {
            if let Some(node) = files.get(*rev)
                && (node.is_null() || is_sure(self, &files, *rev, &mut filelog)?)
            {
                known.push((*rev, node));
            }
        }
        Ok(known)
    }

    /// Finds out which revision of `.hgtags` some heads have, and keeps that in the cache.
    ///
    /// # Errors
    /// A damaged changeset or manifest.
    pub fn keep_tag_files(&self, heads: &[Node]) -> Result<(), RepoError> {
        let named: HashSet<&Node> = heads.iter().collect();
        let mut heads = self.heads();
        heads.retain(|rev| named.contains(&self.changelog().node(*rev)));
        let (mut files, mut filelog) = (TagFiles::new(self), None);
        files.load(&heads);
        heads.retain(|rev| files.get(*rev).is_none());
        find(self, &heads, &mut files, &mut filelog)?;
        files.save();
        Ok(())
    }
}

/// Whether a changeset is known to have a revision of the file that there is.
fn is_sure(
    view: &RepoView,
    files: &TagFiles<'_>,
    rev: Rev,
    filelog: &mut Option<Option<Revlog>>,
) -> Result<bool, RepoError> {
    let Some(node) = files.get(rev).filter(|node| !node.is_null()) else {
        return Ok(false);
    };
    let filelog = open_once(view, filelog)?;
    Ok(filelog.is_some_and(|filelog| filelog.rev(&node).is_some()))
}

/// Finds the `.hgtags` of some changesets: their parents', if they do not change it, else
/// that of their manifests.
fn find(
    view: &RepoView,
    revs: &[Rev],
    files: &mut TagFiles<'_>,
    filelog: &mut Option<Option<Revlog>>,
) -> Result<(), RepoError> {
    let mut above = Vec::new();
    for rev in revs {
        let names_it = |changeset: Changeset<'_>| changeset.files().any(|file| file == TAGS_FILE);
        above.push(match view.changelog().parents(*rev) {
            [Some(parent), None] if !view.with_changeset(*rev, names_it)? => Some(parent),
            _ => None,
        });
    }
    files.load(&above.iter().flatten().copied().collect::<Vec<Rev>>());
    for (rev, parent) in revs.iter().zip(above) {
        let inherited = match parent {
            Some(parent) if is_sure(view, files, parent, filelog)? => files.get(parent),
            _ => None,
        };
        let node = match inherited {
            Some(node) => node,
            None => tags_file(view, *rev)?,
        };
        files.set(*rev, node);
    }
    Ok(())
}

/// The history of `.hgtags`; `None` if there is none.
fn open_once<'a>(
    view: &RepoView,
    opened: &'a mut Option<Option<Revlog>>,
) -> Result<Option<&'a Revlog>, RepoError> {
    if opened.is_none() {
        *opened = Some(match view.filelog(TAGS_FILE) {
            Ok(filelog) => Some(filelog),
            Err(RepoError::Revlog(RevlogError::Storage(error))) if error.is_not_found() => None,
            Err(error) => return Err(error),
        });
    }
    Ok(opened.as_ref().and_then(Option::as_ref))
}

/// The tags of all revisions of the file that heads have, each once.
fn merged(
    view: &RepoView,
    heads: &[Rev],
    files: &TagFiles<'_>,
    filelog: &mut Option<Option<Revlog>>,
) -> Result<TagHistory, RepoError> {
    let mut all = TagHistory::new();
    let mut seen = HashSet::new();
    let nodes = heads.iter().filter_map(|head| files.get(*head));
    for node in nodes.filter(|node| !node.is_null()) {
        if !seen.insert(node) {
            continue;
        }
        let filelog = open_once(view, filelog)?;
        let missing = || RepoError::MissingNode {
            what: "revision",
            node,
            path: view.filelog_path(TAGS_FILE),
        };
        let filelog = filelog.ok_or_else(missing)?;
        let rev = filelog.rev(&node).ok_or_else(missing)?;
        let text = filelog.text(rev)?;
        merge(&mut all, parse(FileText::parse(&text).content));
    }
    Ok(all)
}

/// Names in `.hg/localtags`.
/// Whether the tracked files say that this tag was removed.
pub(crate) fn is_removed(view: &RepoView, name: &[u8]) -> Result<bool, RepoError> {
    let last = global(view)?
        .get(name)
        .and_then(|nodes| nodes.last().copied());
    Ok(last.is_some_and(|node| node.is_null()))
}

pub(crate) fn local_names(view: &RepoView) -> Result<Vec<Vec<u8>>, RepoError> {
    Ok(local(view)?.into_keys().collect())
}

/// Changesets that have a local tag.
pub(crate) fn locally_tagged(view: &RepoView) -> Result<Vec<Node>, RepoError> {
    let newest = local(view)?.into_values();
    Ok(newest
        .filter_map(|nodes| nodes.last().copied())
        .filter(|node| !node.is_null())
        .collect())
}

fn local(view: &RepoView) -> Result<TagHistory, RepoError> {
    let path = view.context.hg().join("localtags");
    let bytes = read_if_there(view.storage(), &path)?.unwrap_or_default();
    Ok(parse(&bytes))
}

/// The revision of `.hgtags` that a changeset has; the null node if it has none.
fn tags_file(view: &RepoView, head: Rev) -> Result<Node, RepoError> {
    let manifest = view.with_changeset(head, |changeset| changeset.manifest)?;
    if manifest.is_null() {
        return Ok(Node::NULL);
    }
    let revlog = view.manifest()?;
    let rev = revlog.rev(&manifest).ok_or(RepoError::MissingNode {
        what: "manifest",
        node: manifest,
        path: revlog.path().to_owned(),
    })?;
    let text = revlog.text(rev)?;
    let found = ManifestEntries::find(&text, TAGS_FILE);
    let found = found.map_err(|(offset, reason)| RepoError::DamagedManifest {
        path: view.root().to_owned(),
        node: manifest,
        offset,
        reason,
    })?;
    Ok(found.map_or(Node::NULL, |entry| entry.node))
}

/// Adds the tags of a newer head. Earlier nodes of a name count; its present node in the head that
/// loses does not.
fn merge(all: &mut TagHistory, newer: TagHistory) {
    for (name, mut nodes) in newer {
        if let (Some(known), Some(new)) = (all.get(&name), nodes.last().copied())
            && let Some((old, before)) = known.split_last()
        {
            nodes.pop();
            let old_knows_new = before.contains(&new);
            let longer = !nodes.contains(old) || before.len() > nodes.len();
            let old_wins = *old != new && old_knows_new && longer;
            let missing: Vec<Node> = before
                .iter()
                .filter(|node| !nodes.contains(node))
                .copied()
                .collect();
            nodes.extend(missing);
            nodes.push(if old_wins { *old } else { new });
        }
        all.insert(name, nodes);
    }
}
