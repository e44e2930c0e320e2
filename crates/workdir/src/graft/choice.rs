//! The changesets among those named that are grafted: no merges, none that the working copy has, none that were grafted
//! to it before.

use crate::WorkdirError;
use std::collections::HashMap;
use varve_repo::{Changeset, Node, RepoView, Rev};

/// Extra key that names the changeset which was grafted first.
const SOURCE: &[u8] = b"source";
/// Extra key that names the grafted changeset if that was a graft itself.
const INTERMEDIATE_SOURCE: &[u8] = b"intermediate-source";

/// A changeset that is not grafted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraftSkip {
    /// The changeset.
    pub rev: Rev,
    /// Why it is not grafted.
    pub reason: GraftSkipReason,
}

/// Reason why a changeset is not grafted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraftSkipReason {
    /// The changeset is a merge.
    Merge,
    /// The changeset is an ancestor of the first parent.
    Ancestor,
    /// This ancestor of the first parent is a graft of the changeset.
    GraftedTo(Rev),
    /// The changeset is a graft of this ancestor of the first parent.
    GraftedFrom(Rev),
    /// The changeset and an ancestor of the first parent, the first number, are grafts of the second.
    SameOrigin(Rev, Rev),
    /// The same; the repository lacks their origin, which is named in hexadecimal.
    UnknownOrigin(Rev, Vec<u8>),
}

/// How changesets are chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GraftOptions {
    /// Merges are grafted too, as with a chosen base.
    pub merges: bool,
    /// Ancestors, and what was grafted before, are grafted too.
    pub force: bool,
}

/// The result of a choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraftChoice {
    /// Changesets to graft, in the order in which they were named.
    pub revs: Vec<Rev>,
    /// The others.
    pub skipped: Vec<GraftSkip>,
}

/// Chooses among `revs` those to be grafted onto `onto`.
///
/// # Errors
/// Damage in the repository.
pub fn choose_grafts(
    view: &RepoView,
    onto: Option<Rev>,
    revs: &[Rev],
    options: GraftOptions,
) -> Result<GraftChoice, WorkdirError> {
    let mut choice = GraftChoice::default();
    for rev in revs {
        let is_merge = view.changelog().parents(*rev)[1].is_some();
        match is_merge && !options.merges {
            true => choice.skip(*rev, GraftSkipReason::Merge),
            false => choice.revs.push(*rev),
        }
    }
    let Some(onto) = onto.filter(|_| !options.force && !choice.revs.is_empty()) else {
        return Ok(choice);
    };
    let is_ancestor = |rev: &Rev| *rev == onto || view.is_descendant(onto, *rev);
    let (ancestors, revs) = choice.revs.into_iter().partition(is_ancestor);
    choice.revs = revs;
    let ancestors: Vec<Rev> = ancestors;
    for rev in ancestors {
        choice.skip(rev, GraftSkipReason::Ancestor);
    }
    if !choice.revs.is_empty() {
        skip_grafted(view, onto, &mut choice)?;
    }
    Ok(choice)
}

/// Skips what is in the history of `onto` by another name.
fn skip_grafted(view: &RepoView, onto: Rev, choice: &mut GraftChoice) -> Result<(), WorkdirError> {
    let changelog = view.changelog();
    // By the name of a changeset, and by that of its origin.
    let mut candidates: HashMap<Node, Rev> = HashMap::new();
    for rev in &choice.revs {
        candidates.insert(changelog.node(*rev), *rev);
        if let Some(source) = source(view, *rev)?.and_then(|hex| Node::from_hex(&hex)) {
            candidates.insert(source, *rev);
        }
    }
    // A changeset that grafts one of them, or that one of them grafts, may be no ancestor of all of them.
    let common = common_ancestors(view, &choice.revs);
    for ancestor in view.missing_ancestors(&[onto], &common) {
        let of_ancestor = source(view, ancestor)?;
        let origin = of_ancestor.as_deref().and_then(Node::from_hex);
        let by_origin = origin.and_then(|origin| Some((origin, *candidates.get(&origin)?)));
        let (rev, reason) = match by_origin {
            Some((origin, candidate)) => match changelog.rev(&origin) {
                Some(rev) if choice.revs.contains(&rev) => {
                    (rev, GraftSkipReason::GraftedTo(ancestor))
                }
                Some(rev) => (candidate, GraftSkipReason::SameOrigin(ancestor, rev)),
                None => {
                    let hex = of_ancestor.unwrap_or_default();
                    (candidate, GraftSkipReason::UnknownOrigin(ancestor, hex))
                }
            },
            None => match candidates.get(&changelog.node(ancestor)) {
                Some(rev) => (*rev, GraftSkipReason::GraftedFrom(ancestor)),
                None => continue,
            },
        };
        if choice.revs.contains(&rev) {
            choice.revs.retain(|other| *other != rev);
            choice.skip(rev, reason);
        }
    }
    Ok(())
}

impl GraftChoice {
    fn skip(&mut self, rev: Rev, reason: GraftSkipReason) {
        self.skipped.push(GraftSkip { rev, reason });
    }
}

/// The heads of what all of `revs` have in common.
fn common_ancestors(view: &RepoView, revs: &[Rev]) -> Vec<Rev> {
    let parents = |rev: &Rev| view.changelog().parents(*rev).into_iter().flatten();
    // A changeset whose parent is among them has all ancestors of that one.
    let mut roots = revs
        .iter()
        .filter(|rev| !parents(rev).any(|parent| revs.contains(&parent)));
    let mut common: Vec<Rev> = roots.next().copied().into_iter().collect();
    for root in roots {
        let with_root = common
            .iter()
            .flat_map(|head| view.common_ancestor_heads(*head, *root));
        let mut found: Vec<Rev> = with_root.collect();
        found.sort_unstable();
        found.dedup();
        common = found;
    }
    common
}

/// The name of the changeset that `rev` is a graft of, in hexadecimal.
fn source(view: &RepoView, rev: Rev) -> Result<Option<Vec<u8>>, WorkdirError> {
    let read = |changeset: Changeset<'_>| {
        let mut extras = changeset.extras();
        extras
            .find(|(key, _)| **key == *SOURCE)
            .map(|(_, value)| value.into_owned())
    };
    Ok(view.with_changeset(rev, read)?)
}

/// Keys and values.
type Extras = Vec<(Vec<u8>, Vec<u8>)>;

/// The extras of a graft of `rev`.
///
/// # Errors
/// Damage in the repository.
pub fn graft_extras(view: &RepoView, rev: Rev) -> Result<Extras, WorkdirError> {
    let hex = view.changelog().node(rev).to_hex().to_vec();
    Ok(match source(view, rev)? {
        Some(source) => vec![
            (SOURCE.to_vec(), source),
            (INTERMEDIATE_SOURCE.to_vec(), hex),
        ],
        None => vec![(SOURCE.to_vec(), hex)],
    })
}
