//! Bookmarks of two sides: how they lie to each other, and the effect of a pull, against definitions over
//! random histories.

use super::history::{History, histories};
use crate::apply::{
    BookmarkMove, BookmarkRelation, BookmarkedHistory, Successors, compare_bookmarks,
    pulled_bookmarks,
};
use proptest::collection::vec;
use proptest::prelude::*;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use varve_repo::{Node, RepoError, Rev};

/// Bookmarks by name.
type Bookmarks = BTreeMap<Vec<u8>, Node>;

/// A history of which the first changesets are here.
struct Local<'h> {
    history: &'h History,
    len: usize,
    bookmarks: Bookmarks,
    successors: Successors,
}

impl BookmarkedHistory for Local<'_> {
    fn bookmarks(&self) -> &Bookmarks {
        &self.bookmarks
    }

    fn rev(&self, node: &Node) -> Option<Rev> {
        let mut all = 0..self.len;
        let found = all.find(|number| self.history.node(*number) == *node)?;
        Some(Rev(found as u32))
    }

    fn parents(&self, rev: Rev) -> [Option<Rev>; 2] {
        let parents = self.history.parents_of(rev.index());
        [0, 1].map(|at| parents.get(at).map(|parent| Rev(*parent as u32)))
    }

    fn changeset_count(&self) -> usize {
        self.len
    }

    fn successors(&self) -> Result<Cow<'_, Successors>, RepoError> {
        Ok(Cow::Borrowed(&self.successors))
    }
}

/// Places of one bookmark here and there, as numbers of changesets.
type Places = (Option<usize>, Option<usize>);

/// More bookmarks than are compared in one pass.
fn places() -> impl Strategy<Value = Vec<Places>> {
    let place = || prop::option::weighted(0.8, 0_usize..1000);
    vec((place(), place()), 0..150)
}

fn name(number: usize) -> Vec<u8> {
    format!("bookmark {number:03}").into_bytes()
}

/// Bookmarks here, on changesets that are here, and there, on any.
fn both_sides<'h>(history: &'h History, len: usize, places: &[Places]) -> (Local<'h>, Bookmarks) {
    let side = |at: fn(&Places) -> Option<usize>, len: usize| {
        let numbered = places.iter().enumerate();
        let set = numbered
            .filter_map(|(number, both)| Some((name(number), history.node(at(both)? % len))));
        set.collect::<Bookmarks>()
    };
    let bookmarks = side(|both| both.0, len);
    let there = side(|both| both.1, history.len());
    let local = Local {
        history,
        len,
        bookmarks,
        successors: Successors::new(),
    };
    (local, there)
}

fn relation(history: &History, len: usize, (here, there): Places) -> BookmarkRelation {
    let (Some(here), Some(there)) = (here, there) else {
        return match here {
            Some(_) => BookmarkRelation::OnlyHere,
            None => BookmarkRelation::OnlyThere,
        };
    };
    let (here, there) = (here % len, there % history.len());
    match (here == there, there < len) {
        (true, _) => BookmarkRelation::Same,
        (_, false) => BookmarkRelation::Unknown,
        _ if history.closure(&[here]).contains(&there) => BookmarkRelation::Ahead,
        _ if history.closure(&[there]).contains(&here) => BookmarkRelation::Behind,
        _ => BookmarkRelation::Apart,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn relations_follow_from_descent(
        history in histories(60), part in any::<prop::sample::Index>(), places in places(),
    ) {
        let len = 1 + part.index(history.len());
        let (local, remote) = both_sides(&history, len, &places);
        let compared = compare_bookmarks(&local, &remote).unwrap();
        let set = places.iter().enumerate().filter(|(_, both)| **both != (None, None));
        prop_assert_eq!(compared.len(), set.clone().count());
        for (found, (number, both)) in compared.iter().zip(set) {
            prop_assert_eq!(&found.name, &name(number));
            prop_assert_eq!(found.here, local.bookmarks.get(&found.name).copied());
            prop_assert_eq!(found.there, remote.get(&found.name).copied());
            prop_assert_eq!(found.relation, relation(&history, len, *both), "{:?}", both);
        }
    }

    #[test]
    fn a_pull_moves_bookmarks_forward_only(
        history in histories(60), places in places(), wanted in proptest::collection::btree_set(0_usize..150, 0..20),
        has_path: bool,
    ) {
        let len = history.len();
        let (local, remote) = both_sides(&history, len, &places);
        let names: Vec<Vec<u8>> = wanted.iter().map(|number| name(*number)).collect();
        let path = has_path.then_some(&b"there"[..]);
        let pulled = pulled_bookmarks(&local, &remote, &names, path).unwrap();
        let mut expected = Vec::new();
        for (number, both) in places.iter().enumerate().filter(|(_, both)| both.1.is_some()) {
            let suffix = if has_path { "there" } else { "1" };
            let moves = match relation(&history, len, *both) {
                BookmarkRelation::OnlyThere => BookmarkMove::Added,
                BookmarkRelation::Behind => BookmarkMove::Updated,
                BookmarkRelation::Ahead | BookmarkRelation::Apart if wanted.contains(&number) => BookmarkMove::Imported,
                BookmarkRelation::Apart => {
                    BookmarkMove::Diverged(format!("bookmark {number:03}@{suffix}").into_bytes())
                }
                _ => continue,
            };
            expected.push((name(number), moves));
        }
        let found: Vec<_> = pulled.iter().map(|pulled| (pulled.name.clone(), pulled.moves.clone())).collect();
        prop_assert_eq!(found, expected);
        prop_assert!(pulled.iter().all(|pulled| Some(remote[&pulled.name]) == pulled.node));
    }

    /// Bookmarks on changesets that did not come are passed over, even when they are wanted.
    #[test]
    fn what_did_not_come_is_passed_over(
        history in histories(60), part in any::<prop::sample::Index>(), places in places(),
    ) {
        let len = 1 + part.index(history.len());
        let (local, remote) = both_sides(&history, len, &places);
        let all: Vec<Vec<u8>> = (0..places.len()).map(name).collect();
        let here: BTreeSet<Node> = (0..len).map(|number| history.node(number)).collect();
        for pulled in pulled_bookmarks(&local, &remote, &all, None).unwrap() {
            prop_assert!(here.contains(&pulled.node.unwrap()));
        }
    }
}

/// Two roots: `name` is on one here, and on the other there.
fn diverged(own: &[(&str, usize)], name: &str) -> Option<String> {
    let history = History::new(vec![Vec::new(); 3]);
    let bookmarks = own
        .iter()
        .map(|(name, number)| (name.as_bytes().to_vec(), history.node(*number)));
    let local = Local {
        history: &history,
        len: 3,
        bookmarks: bookmarks.collect(),
        successors: Successors::new(),
    };
    let remote = Bookmarks::from([(name.as_bytes().to_vec(), history.node(1))]);
    let pulled = pulled_bookmarks(&local, &remote, &[], None).unwrap();
    match &pulled.first()?.moves {
        BookmarkMove::Diverged(name) => Some(String::from_utf8(name.clone()).unwrap()),
        BookmarkMove::Unnameable => None,
        other => panic!("{other:?}"),
    }
}

/// The relation of a bookmark on 1 here to one on 2 there, neither of which descends from the other. 3 descends from 2.
fn relation_with(successors: &[(usize, usize)], there: usize) -> BookmarkRelation {
    let history = History::new(vec![vec![], vec![0], vec![0], vec![2]]);
    let mut all = Successors::new();
    for (old, new) in successors {
        let new = history.node(*new);
        all.entry(history.node(*old)).or_default().push(new);
    }
    let local = Local {
        history: &history,
        len: 4,
        bookmarks: Bookmarks::from([(b"x".to_vec(), history.node(1))]),
        successors: all,
    };
    let remote = Bookmarks::from([(b"x".to_vec(), history.node(there))]);
    compare_bookmarks(&local, &remote).unwrap()[0].relation
}

#[test]
fn successors_and_their_descendants_lead_forward() {
    assert_eq!(relation_with(&[], 2), BookmarkRelation::Apart);
    assert_eq!(relation_with(&[(1, 2)], 2), BookmarkRelation::Behind);
    assert_eq!(relation_with(&[(1, 2)], 3), BookmarkRelation::Behind);
    // By number, the one here is the older one.
    assert_eq!(relation_with(&[(2, 1)], 2), BookmarkRelation::Apart);
    assert_eq!(relation_with(&[(0, 3)], 3), BookmarkRelation::Apart);
}

#[test]
fn from_the_null_changeset_every_way_leads_forward() {
    let history = History::new(vec![vec![]]);
    let mut local = Local {
        history: &history,
        len: 1,
        bookmarks: Bookmarks::from([(b"x".to_vec(), Node::NULL)]),
        successors: Successors::new(),
    };
    let mut remote = Bookmarks::from([(b"x".to_vec(), history.node(0))]);
    let relation = |local: &Local<'_>, remote: &Bookmarks| {
        compare_bookmarks(local, remote).unwrap()[0].relation
    };
    assert_eq!(relation(&local, &remote), BookmarkRelation::Behind);
    std::mem::swap(&mut local.bookmarks, &mut remote);
    assert_eq!(relation(&local, &remote), BookmarkRelation::Ahead);
}

#[test]
fn divergent_names_are_the_first_that_are_free() {
    let told = |name: &str| Some(name.to_owned());
    assert_eq!(diverged(&[("x", 0)], "x"), told("x@1"));
    assert_eq!(diverged(&[("x", 0), ("x@1", 2)], "x"), told("x@2"));
    // One that is on the other side's changeset already is used again.
    assert_eq!(
        diverged(&[("x", 0), ("x@1", 2), ("x@2", 1)], "x"),
        told("x@2")
    );
    assert_eq!(diverged(&[("@", 0)], "@"), told("@1"));
    let names: Vec<String> = (1..=99).map(|number| format!("x@{number}")).collect();
    let mut own: Vec<(&str, usize)> = names.iter().map(|name| (name.as_str(), 2)).collect();
    own.push(("x", 0));
    assert_eq!(diverged(&own, "x"), None, "no name is left");
}
