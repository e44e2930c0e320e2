//! The newest tag below a changeset.

use std::collections::HashMap;
use varve_repo::{RepoError, RepoView, Rev};
use varve_revset::{TextMatcher, WORKING_COPY};

use crate::ui::Abort;

/// The tags of the nearest tagged ancestor.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LatestTag {
    /// When the tagged changeset was made; 0 without one.
    date: i64,
    /// Changesets on the longest way to it.
    pub(super) distance: usize,
    /// Sorted; `null` without any.
    pub(super) tags: Vec<Vec<u8>>,
    /// The tagged changeset.
    rev: Option<Rev>,
}

/// All tags that count, by changeset.
pub(super) struct Latest<'a> {
    view: &'a RepoView,
    /// Parents of the working copy.
    working: Vec<Rev>,
    tags: HashMap<Rev, Vec<Vec<u8>>>,
    dates: HashMap<Rev, i64>,
}

impl<'a> Latest<'a> {
    /// Reads the tags whose names match; those of this repository only do not count.
    pub(super) fn new(
        view: &'a RepoView,
        working: Vec<Rev>,
        pattern: Option<&[u8]>,
    ) -> Result<Latest<'a>, Abort> {
        let matcher = pattern
            .map(|pattern| TextMatcher::new(pattern, true))
            .transpose()?;
        let local = view.local_tag_names()?;
        let (mut tags, mut dates) = (HashMap::new(), HashMap::new());
        for (name, node) in view.tags()? {
            let counts = matcher
                .as_ref()
                .is_none_or(|matcher| matcher.is_match(&name));
            let rev = view.changelog().rev(&node);
            let Some(rev) = rev.filter(|_| counts && !local.contains(&name)) else {
                continue;
            };
            let date = view.with_changeset(rev, |changeset| changeset.time);
            dates.insert(rev, date.map_err(|error: RepoError| Abort::from(error))?);
            tags.entry(rev).or_insert_with(Vec::new).push(name);
        }
        Ok(Latest {
            view,
            working,
            tags,
            dates,
        })
    }

    /// The nearest tags at a changeset or below it.
    pub(super) fn of(&self, rev: Option<Rev>) -> LatestTag {
        let nothing = LatestTag {
            date: 0,
            distance: 0,
            tags: vec![b"null".to_vec()],
            rev: None,
        };
        let Some(start) = rev else { return nothing };
        let mut known: HashMap<Rev, LatestTag> = HashMap::new();
        let mut open = vec![start];
        while let Some(rev) = open.last().copied() {
            if let Some(tags) = self.tags.get(&rev) {
                let found = LatestTag {
                    date: self.dates.get(&rev).copied().unwrap_or_default(),
                    distance: 0,
                    tags: tags.clone(),
                    rev: Some(rev),
                };
                known.insert(rev, found);
                open.pop();
                continue;
            }
            let parents: Vec<Rev> = self.parents(rev);
            let missing = parents.iter().filter(|parent| !known.contains_key(parent));
            let missing: Vec<Rev> = missing.copied().collect();
            if !missing.is_empty() {
                open.extend(missing);
                continue;
            }
            let mut below = parents.iter().filter_map(|parent| known.get(parent));
            let mut best = match (below.next(), below.next()) {
                (None, _) => nothing.clone(),
                (Some(only), None) => only.clone(),
                (Some(a), Some(b)) => self.better(rev, a, b).clone(),
            };
            best.distance += 1;
            known.insert(rev, best);
            open.pop();
        }
        known.remove(&start).unwrap_or(nothing)
    }

    fn parents(&self, rev: Rev) -> Vec<Rev> {
        if rev == WORKING_COPY {
            return self.working.clone();
        }
        let parents = self.view.changelog().parents(rev);
        parents.into_iter().flatten().collect()
    }

    /// Of two ways down, the longer one to the same tag, or the one with fewer changes since.
    fn better<'f>(&self, rev: Rev, a: &'f LatestTag, b: &'f LatestTag) -> &'f LatestTag {
        let key = |found: &LatestTag| {
            if a.tags == b.tags {
                return (0, found.date, found.distance);
            }
            let changes = self.changes(Some(rev), found);
            (-i64::try_from(changes).unwrap_or(i64::MAX), found.date, 0)
        };
        if key(b) > key(a) { b } else { a }
    }

    /// Ancestors of a changeset that are none of the tag's.
    pub(super) fn changes(&self, rev: Option<Rev>, found: &LatestTag) -> usize {
        let of = self.ancestors(rev);
        let below = self.ancestors(found.rev);
        let newer = of
            .iter()
            .enumerate()
            .filter(|(index, is)| **is && !below.get(*index).copied().unwrap_or_default());
        newer.count() + usize::from(rev == Some(WORKING_COPY))
    }

    fn ancestors(&self, rev: Option<Rev>) -> Vec<bool> {
        let starts = match rev {
            None => Vec::new(),
            Some(WORKING_COPY) => self.working.clone(),
            Some(rev) => vec![rev],
        };
        let count = starts.iter().map(|rev| rev.index() + 1).max();
        let mut is = vec![false; count.unwrap_or(0)];
        starts.iter().for_each(|rev| is[rev.index()] = true);
        for index in (0..is.len()).rev() {
            if is[index] {
                for parent in self.parents(Rev(index as u32)) {
                    is[parent.index()] = true;
                }
            }
        }
        is
    }
}
