//! Copies and renames between any two changesets, and up to the working copy.
//!
//! On the way forward, a file that is new comes from an older path if one of its ancestors is just the
//! revision that the older changeset has there. On the way back only renames count. Between two lines of
//! descent the way goes back to their common ancestor and then forward.

use crate::manifest_merge::FileAncestry;
use crate::tree::Tree;
use crate::{Dirstate, WorkdirError};
use std::collections::BTreeMap;
use varve_repo::{RepoView, Rev};

/// Destination and source.
type Copies = BTreeMap<Vec<u8>, Vec<u8>>;

/// For files of `new`, the files of `old` that they come from by copies and renames.
///
/// # Errors
/// Damage in the repository.
pub fn path_copies(
    view: &RepoView,
    old: Option<Rev>,
    new: Option<Rev>,
) -> Result<Copies, WorkdirError> {
    let trees = (Tree::of(view, old)?, Tree::of(view, new)?);
    let copies = unfiltered(view, old, new)?;
    kept(copies, &trees.0, |path| Ok(trees.1.get(path)?.is_some()))
}

/// The same for tracked files of the working copy.
///
/// # Errors
/// Damage in the repository.
pub fn path_copies_to_working_copy(
    view: &RepoView,
    old: Option<Rev>,
    dirstate: &Dirstate,
) -> Result<Copies, WorkdirError> {
    let tracked = dirstate
        .copies()
        .filter(|(path, _)| dirstate.is_tracked(path));
    let own: Copies = tracked
        .map(|(path, source)| (path.to_vec(), source.to_vec()))
        .collect();
    let parent = view.changelog().rev(&dirstate.parents()[0]);
    if parent == old {
        return Ok(own);
    }
    let copies = chained(unfiltered(view, old, parent)?, own);
    kept(copies, &Tree::of(view, old)?, |path| {
        Ok(dirstate.is_tracked(path))
    })
}

fn unfiltered(view: &RepoView, old: Option<Rev>, new: Option<Rev>) -> Result<Copies, WorkdirError> {
    if old == new {
        return Ok(Copies::new());
    }
    let ancestor = match (old, new) {
        (Some(old), Some(new)) => {
            // Of several, Mercurial takes the one with the smallest hash.
            let heads = view.common_ancestor_heads(old, new).into_iter();
            heads.min_by_key(|rev| view.changelog().node(*rev))
        }
        _ => None,
    };
    let (old_tree, new_tree) = (Tree::of(view, old)?, Tree::of(view, new)?);
    let mut ancestry = FileAncestry::new(view);
    if ancestor == old {
        return forward(&old_tree, None, &new_tree, &mut ancestry);
    }
    if ancestor == new {
        let copies = forward(&new_tree, None, &old_tree, &mut ancestry)?;
        return reversed(copies, &old_tree);
    }
    let common = Tree::of(view, ancestor)?;
    let mut back = forward(&common, None, &old_tree, &mut ancestry)?;
    let beside = ancestor.map(|_| &old_tree);
    let mut on = forward(&common, beside, &new_tree, &mut ancestry)?;
    // What both sides did is no difference.
    back.retain(|path, source| match on.get(path) == Some(source) {
        true => on.remove(path).is_none(),
        false => true,
    });
    Ok(chained(reversed(back, &old_tree)?, on))
}

/// Sources, in `old` or under the same revision in `beside`, of files that `new` has and `old` has not.
fn forward(
    old: &Tree<'_>,
    beside: Option<&Tree<'_>>,
    new: &Tree<'_>,
    ancestry: &mut FileAncestry<'_>,
) -> Result<Copies, WorkdirError> {
    let mut copies = Copies::new();
    let mut before = old.iter().peekable();
    for entry in new.iter() {
        let entry = entry?;
        let is_earlier = |other: &Result<varve_repo::ManifestEntry<'_>, WorkdirError>| {
            other.as_ref().is_ok_and(|other| other.path < entry.path)
        };
        while before.next_if(is_earlier).is_some() {}
        match before.peek() {
            Some(Ok(other)) if other.path == entry.path => continue,
            Some(Err(_)) => {
                before.next().transpose()?;
            }
            _ => {}
        }
        if let Some(source) = ancestry.origin_in(entry.path, entry.node, &[Some(old), beside])? {
            copies.insert(entry.path.to_vec(), source);
        }
    }
    Ok(copies)
}

/// Renames turned round: sources that `side` has no longer, with the first of their new names.
fn reversed(copies: Copies, side: &Tree<'_>) -> Result<Copies, WorkdirError> {
    let mut found = Copies::new();
    for (path, source) in copies {
        if side.get(&source)?.is_none() {
            found.insert(source, path);
        }
    }
    Ok(found)
}

/// Copies of `first` and then those of `second`.
fn chained(first: Copies, second: Copies) -> Copies {
    let mut all = first.clone();
    for (path, source) in second {
        let source = first.get(&source).cloned().unwrap_or(source);
        all.insert(path, source);
    }
    all
}

/// Copies whose source and destination exist and differ.
fn kept(
    copies: Copies,
    old: &Tree<'_>,
    is_there: impl Fn(&[u8]) -> Result<bool, WorkdirError>,
) -> Result<Copies, WorkdirError> {
    let mut found = Copies::new();
    for (path, source) in copies {
        if path != source && old.get(&source)?.is_some() && is_there(&path)? {
            found.insert(path, source);
        }
    }
    Ok(found)
}
