//! Bookmarks of the other side beside one's own, and the effect of a pull on them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use varve_repo::{PendingHistory, RepoError, RepoView};
use varve_revlog::{Node, Rev};

/// Effect of a pull on a bookmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BookmarkMove {
    /// There was none of this name.
    Added,
    /// The bookmark moves forward.
    Updated,
    /// The bookmark was requested by name, and moves elsewhere than forward.
    Imported,
    /// Both sides moved theirs apart: the other one is kept under this name.
    Diverged(Vec<u8>),
    /// The same, where all numbered names are in use: nothing is kept.
    Unnameable,
    /// Set as it is there, whatever it was, because the path is mirrored.
    Mirrored,
    /// Removed, because the path is mirrored and has none of this name.
    Removed,
}

/// How a pull treats the bookmarks of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BookmarkExchange {
    /// They move forward, and those that moved apart are kept beside.
    #[default]
    Merge,
    /// All become as they are there, and others are removed.
    Mirror,
    /// They stay as they are.
    Ignore,
}

/// A bookmark that a pull changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PulledBookmark {
    /// Name of the bookmark on the other side.
    pub name: Vec<u8>,
    /// Its changeset there; `None` removes it.
    pub node: Option<Node>,
    /// Its move here.
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
    /// The one here is on a descendant of the other's changeset, or in the place of a descendant that is obsolete.
    Ahead,
    /// The one there is, seen from the one here.
    Behind,
    /// Neither changeset descends from the other or stands in its place.
    Apart,
    /// The one there is on a changeset that is not here.
    Unknown,
}

/// A bookmark of either side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedBookmark {
    /// Name of the bookmark, as the repository stores it.
    pub name: Vec<u8>,
    /// Where it is here.
    pub here: Option<Node>,
    /// Where it is there.
    pub there: Option<Node>,
    /// How these lie to each other.
    pub relation: BookmarkRelation,
}

/// Changesets with bookmarks on them.
pub trait BookmarkedHistory {
    /// Where the bookmarks are.
    fn bookmarks(&self) -> &BTreeMap<Vec<u8>, Node>;

    /// The number of a changeset.
    fn rev(&self, node: &Node) -> Option<Rev>;

    /// Parents of a changeset.
    fn parents(&self, rev: Rev) -> [Option<Rev>; 2];

    /// How many changesets there are.
    fn changeset_count(&self) -> usize;

    /// Successors of each changeset, as obsolescence markers name them.
    ///
    /// # Errors
    /// If the markers are damaged.
    fn successors(&self) -> Result<Cow<'_, Successors>, RepoError>;
}

/// Successors by changeset.
pub type Successors = HashMap<Node, Vec<Node>>;

impl BookmarkedHistory for RepoView {
    fn bookmarks(&self) -> &BTreeMap<Vec<u8>, Node> {
        self.bookmarks()
    }

    fn rev(&self, node: &Node) -> Option<Rev> {
        self.changelog().rev(node)
    }

    fn parents(&self, rev: Rev) -> [Option<Rev>; 2] {
        self.changelog().parents(rev)
    }

    fn changeset_count(&self) -> usize {
        self.changelog().len()
    }

    fn successors(&self) -> Result<Cow<'_, Successors>, RepoError> {
        self.successors_by_changeset().map(Cow::Owned)
    }
}

impl BookmarkedHistory for PendingHistory<'_> {
    fn bookmarks(&self) -> &BTreeMap<Vec<u8>, Node> {
        self.bookmarks()
    }

    fn rev(&self, node: &Node) -> Option<Rev> {
        self.rev(node)
    }

    fn parents(&self, rev: Rev) -> [Option<Rev>; 2] {
        self.parents(rev)
    }

    fn changeset_count(&self) -> usize {
        self.len()
    }

    fn successors(&self) -> Result<Cow<'_, Successors>, RepoError> {
        Ok(Cow::Borrowed(self.successors()))
    }
}

/// All bookmarks of both sides, by name.
///
/// # Errors
/// As of [`BookmarkedHistory::successors`].
pub fn compare_bookmarks(
    view: &impl BookmarkedHistory,
    remote: &BTreeMap<Vec<u8>, Node>,
) -> Result<Vec<ComparedBookmark>, RepoError> {
    let own = view.bookmarks();
    let names: BTreeSet<&Vec<u8>> = own.keys().chain(remote.keys()).collect();
    let mut compared: Vec<ComparedBookmark> = Vec::with_capacity(names.len());
    let (mut places, mut pairs) = (Vec::new(), Vec::new());
    for name in names {
        let (here, there) = (own.get(name).copied(), remote.get(name).copied());
        let rev = |node: Option<Node>| view.rev(&node?);
        let relation = match (here, there) {
            (_, None) => BookmarkRelation::OnlyHere,
            (None, _) => BookmarkRelation::OnlyThere,
            (here, there) if here == there => BookmarkRelation::Same,
            // From the null changeset every way leads forward.
            (Some(Node::NULL), _) if rev(there).is_some() => BookmarkRelation::Behind,
            (_, Some(Node::NULL)) if rev(here).is_some() => BookmarkRelation::Ahead,
            _ => BookmarkRelation::Unknown,
        };
        if let (BookmarkRelation::Unknown, Some(here), Some(there)) =
            (relation, rev(here), rev(there))
        {
            places.push((compared.len(), here > there));
            pairs.push((here.min(there), here.max(there)));
        }
        let name = name.clone();
        compared.push(ComparedBookmark {
            name,
            here,
            there,
            relation,
        });
    }
    let mut leads_on = descents(view, &pairs);
    let diverged: Vec<usize> = (0..pairs.len()).filter(|pair| !leads_on[*pair]).collect();
    if !diverged.is_empty() {
        let successors = view.successors()?;
        let asked: Vec<(Rev, Rev)> = diverged.iter().map(|pair| pairs[*pair]).collect();
        let replaced = are_in_foreground(view, &successors, &asked);
        for (pair, replaced) in diverged.into_iter().zip(replaced) {
            leads_on[pair] = replaced;
        }
    }
    for ((at, is_newer), leads_on) in places.into_iter().zip(leads_on) {
        compared[at].relation = match (leads_on, is_newer) {
            (true, true) => BookmarkRelation::Ahead,
            (true, false) => BookmarkRelation::Behind,
            (false, _) => BookmarkRelation::Apart,
        };
    }
    Ok(compared)
}

/// For each pair, true if the second changeset descends from a successor of the first one or of its descendants: 64 pairs
/// in two passes over the changesets.
fn are_in_foreground(
    view: &impl BookmarkedHistory,
    successors: &Successors,
    pairs: &[(Rev, Rev)],
) -> Vec<bool> {
    if successors.is_empty() {
        return vec![false; pairs.len()];
    }
    let mut found = Vec::with_capacity(pairs.len());
    for batch in pairs.chunks(64) {
        let mut later = vec![0_u64; view.changeset_count()];
        for (bit, (first, _)) in batch.iter().enumerate() {
            later[first.index()] |= 1 << bit;
        }
        pass_to_descendants(view, &mut later);
        let mut roots = replacements(view, successors, &later);
        pass_to_descendants(view, &mut roots);
        let bits = batch.iter().enumerate();
        found.extend(bits.map(|(bit, (_, second))| roots[second.index()] >> bit & 1 == 1));
    }
    found
}

/// For each changeset, the bits of those that it is a successor of, over any number of steps.
fn replacements(view: &impl BookmarkedHistory, successors: &Successors, bits: &[u64]) -> Vec<u64> {
    let of_node = |node: &Node| view.rev(node).map_or(0, |rev| bits[rev.index()]);
    let replaced = successors.keys().map(|node| (node, of_node(node)));
    let mut waiting: Vec<(&Node, u64)> = replaced.filter(|(_, bits)| *bits != 0).collect();
    let mut known: HashMap<&Node, u64> = waiting.iter().copied().collect();
    let mut found = vec![0; bits.len()];
    while let Some((node, bits)) = waiting.pop() {
        for successor in successors.get(node).into_iter().flatten() {
            let known = known.entry(successor).or_default();
            let new = bits & !*known;
            if new == 0 {
                continue;
            }
            *known |= new;
            if let Some(rev) = view.rev(successor) {
                found[rev.index()] |= new;
            }
            waiting.push((successor, new));
        }
    }
    found
}

/// Gives the bits of each changeset to its descendants.
fn pass_to_descendants(view: &impl BookmarkedHistory, bits: &mut [u64]) {
    let Some(first) = bits.iter().position(|bits| *bits != 0) else {
        return;
    };
    for at in first + 1..bits.len() {
        for parent in view.parents(Rev(at as u32)).into_iter().flatten() {
            bits[at] |= bits[parent.index()];
        }
    }
}

/// For each pair whether the second, newer changeset descends from the first: 64 pairs in one pass
/// over the changesets between.
fn descents(view: &impl BookmarkedHistory, pairs: &[(Rev, Rev)]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..pairs.len()).collect();
    order.sort_unstable_by_key(|at| pairs[*at]);
    let mut found = vec![false; pairs.len()];
    for batch in order.chunks(64) {
        let inside = |at: &usize| pairs[*at];
        let first = batch.iter().map(|at| inside(at).0).min().unwrap_or(Rev(0));
        let last = batch.iter().map(|at| inside(at).1).max().unwrap_or(Rev(0));
        let mut masks = vec![0_u64; last.index() - first.index() + 1];
        for (bit, at) in batch.iter().enumerate() {
            masks[inside(at).0.index() - first.index()] |= 1 << bit;
        }
        for at in 0..masks.len() {
            let parents = view.parents(Rev(first.0 + at as u32));
            for parent in parents.into_iter().flatten() {
                let below = parent.index().checked_sub(first.index());
                masks[at] |= below.map_or(0, |below| masks[below]);
            }
        }
        for (bit, at) in batch.iter().enumerate() {
            found[*at] = masks[inside(at).1.index() - first.index()] >> bit & 1 == 1;
        }
    }
    found
}

/// Compares `remote` with the bookmarks of a repository that has all of the other side's
/// changesets by now; a bookmark on one that did not come is passed over. Those in `wanted` are
/// taken as they are. `path` is the name of the other side, if it has one here. Those without a free name come first.
///
/// # Errors
/// As of [`compare_bookmarks`].
pub fn pulled_bookmarks(
    view: &impl BookmarkedHistory,
    remote: &BTreeMap<Vec<u8>, Node>,
    wanted: &[Vec<u8>],
    path: Option<&[u8]>,
) -> Result<Vec<PulledBookmark>, RepoError> {
    let wanted: BTreeSet<&Vec<u8>> = wanted.iter().collect();
    let mut pulled = Vec::new();
    for compared in compare_bookmarks(view, remote)? {
        let ComparedBookmark { name, there, .. } = compared;
        let is_here = |node: &Node| node.is_null() || view.rev(node).is_some();
        let Some(node) = there.filter(is_here) else {
            continue;
        };
        let is_wanted = wanted.contains(&name);
        let moves = match compared.relation {
            BookmarkRelation::Same | BookmarkRelation::OnlyHere => continue,
            BookmarkRelation::OnlyThere => BookmarkMove::Added,
            // The changeset that it was on is gone.
            BookmarkRelation::Behind | BookmarkRelation::Unknown => BookmarkMove::Updated,
            BookmarkRelation::Ahead | BookmarkRelation::Apart if is_wanted => {
                BookmarkMove::Imported
            }
            BookmarkRelation::Ahead => continue,
            BookmarkRelation::Apart => match divergent_name(view, &name, &node, path) {
                Some(other) => BookmarkMove::Diverged(other),
                None => BookmarkMove::Unnameable,
            },
        };
        let node = Some(node);
        pulled.push(PulledBookmark { name, node, moves });
    }
    pulled.sort_by_key(|pulled| pulled.moves != BookmarkMove::Unnameable);
    Ok(pulled)
}

/// The moves that make all bookmarks as they are in `remote`, but for those on changesets that did not come.
///
/// # Errors
/// As of [`compare_bookmarks`].
pub fn mirrored_bookmarks(
    view: &impl BookmarkedHistory,
    remote: &BTreeMap<Vec<u8>, Node>,
) -> Result<Vec<PulledBookmark>, RepoError> {
    let moved = |compared: ComparedBookmark| {
        let (node, moves) = match (compared.relation, compared.there) {
            (BookmarkRelation::Same, _) => return None,
            (_, None) => (None, BookmarkMove::Removed),
            (_, Some(there)) if there.is_null() => (Some(there), BookmarkMove::Mirrored),
            (_, Some(there)) => {
                view.rev(&there)?;
                (Some(there), BookmarkMove::Mirrored)
            }
        };
        Some(PulledBookmark {
            name: compared.name,
            node,
            moves,
        })
    };
    let compared = compare_bookmarks(view, remote)?.into_iter();
    Ok(compared.filter_map(moved).collect())
}

/// True for a bookmark that others see; those that a pull has kept beside another, such as `name@path`, are private.
pub(crate) fn is_exposed(name: &[u8]) -> bool {
    !name.contains(&b'@') || name.ends_with(b"@")
}

/// `name@path`, or the first `name@1`, `name@2` and so on that is free or there already.
fn divergent_name(
    view: &impl BookmarkedHistory,
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
