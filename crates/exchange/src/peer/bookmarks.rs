//! Bookmarks of the other side beside one's own, and what a pull makes of them.

use std::collections::{BTreeMap, BTreeSet};
use varve_repo::RepoView;
use varve_revlog::{Node, Rev};

/// What becomes of a bookmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BookmarkMove {
    /// There was none of this name.
    Added,
    /// It moves forward.
    Updated,
    /// It was asked for, and moves elsewhere than forward.
    Imported,
    /// Both sides moved theirs apart: the other one is kept under this name.
    Diverged(Vec<u8>),
}

/// A bookmark that a pull changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PulledBookmark {
    /// What the other side calls it.
    pub name: Vec<u8>,
    /// Where it is there.
    pub node: Node,
    /// What becomes of it here.
    pub moves: BookmarkMove,
}

/// How a bookmark here lies to that of the same name there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BookmarkRelation {
    /// Both are on the same changeset.
    Same,
    /// There is none there.
    OnlyHere,
    /// There is none here.
    OnlyThere,
    /// The one here is on a descendant of the other's changeset.
    Ahead,
    /// The one there is on a descendant.
    Behind,
    /// Neither changeset descends from the other.
    Apart,
    /// The one there is on a changeset that is not here.
    Unknown,
}

/// A bookmark of either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedBookmark {
    /// Its name.
    pub name: Vec<u8>,
    /// Where it is here.
    pub here: Option<Node>,
    /// Where it is there.
    pub there: Option<Node>,
    /// How these lie to each other.
    pub relation: BookmarkRelation,
}

/// All bookmarks of both sides, by name.
pub fn compare_bookmarks(
    view: &RepoView,
    remote: &BTreeMap<Vec<u8>, Node>,
) -> Vec<ComparedBookmark> {
    let own = view.bookmarks();
    let names: BTreeSet<&Vec<u8>> = own.keys().chain(remote.keys()).collect();
    let compared = names.into_iter().map(|name| {
        let (here, there) = (own.get(name).copied(), remote.get(name).copied());
        ComparedBookmark {
            name: name.clone(),
            here,
            there,
            relation: relation(view, here, there),
        }
    });
    compared.collect()
}

fn relation(view: &RepoView, here: Option<Node>, there: Option<Node>) -> BookmarkRelation {
    let (here, there) = match (here, there) {
        (_, None) => return BookmarkRelation::OnlyHere,
        (None, _) => return BookmarkRelation::OnlyThere,
        (Some(here), Some(there)) if here == there => return BookmarkRelation::Same,
        (Some(here), Some(there)) => (view.changelog().rev(&here), view.changelog().rev(&there)),
    };
    match (here, there) {
        (Some(here), Some(there)) if is_ancestor(view, there, here) => BookmarkRelation::Ahead,
        (Some(here), Some(there)) if is_ancestor(view, here, there) => BookmarkRelation::Behind,
        (Some(_), Some(_)) => BookmarkRelation::Apart,
        _ => BookmarkRelation::Unknown,
    }
}

/// Compares `remote` with the bookmarks of a repository that has all of the other side's
/// changesets by now; a bookmark on one that did not come is passed over. Those in `wanted` are
/// taken as they are. `path` is the name of the other side, if it has one here.
pub fn pulled_bookmarks(
    view: &RepoView,
    remote: &BTreeMap<Vec<u8>, Node>,
    wanted: &[Vec<u8>],
    path: Option<&[u8]>,
) -> Vec<PulledBookmark> {
    let mut pulled = Vec::new();
    for (name, node) in remote {
        let Some(there) = view.changelog().rev(node) else {
            continue;
        };
        let moves = match view.bookmarks().get(name) {
            None => BookmarkMove::Added,
            Some(here) if here == node => continue,
            Some(here) => match view.changelog().rev(here) {
                None => BookmarkMove::Updated,
                Some(here) if is_ancestor(view, here, there) => BookmarkMove::Updated,
                Some(_) if wanted.contains(name) => BookmarkMove::Imported,
                Some(here) if is_ancestor(view, there, here) => continue,
                Some(_) => match divergent_name(view, name, node, path) {
                    Some(other) => BookmarkMove::Diverged(other),
                    None => continue,
                },
            },
        };
        let (name, node) = (name.clone(), *node);
        pulled.push(PulledBookmark { name, node, moves });
    }
    pulled
}

/// `name@path`, or the first `name@1`, `name@2` and so on that is free or there already.
fn divergent_name(
    view: &RepoView,
    name: &[u8],
    node: &Node,
    path: Option<&[u8]>,
) -> Option<Vec<u8>> {
    let base = if name == b"@" { &b""[..] } else { name };
    let named = |suffix: &[u8]| [base, b"@", suffix].concat();
    if let Some(path) = path {
        return Some(named(path));
    }
    (1..=99)
        .map(|number: u32| named(number.to_string().as_bytes()))
        .find(|name| {
            let there = view.bookmarks().get(name);
            there.is_none_or(|there| there == node)
        })
}

/// Whether `new` is `old` or descends from it.
fn is_ancestor(view: &RepoView, old: Rev, new: Rev) -> bool {
    let mut follows = vec![false; (new.index() + 1).saturating_sub(old.index())];
    let Some(first) = follows.first_mut() else {
        return false;
    };
    *first = true;
    for at in 1..follows.len() {
        let rev = Rev(old.0 + at as u32);
        let parents = view.changelog().parents(rev).into_iter().flatten();
        let mut inside = parents.filter_map(|parent| parent.index().checked_sub(old.index()));
        follows[at] = inside.any(|parent| follows[parent]);
    }
    follows.last().copied().unwrap_or(false)
}
