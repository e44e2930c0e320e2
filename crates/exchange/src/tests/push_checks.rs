//! Checks of a push before it sends anything, and the phases and bookmarks that it settles afterwards.

use super::history::{History, histories, some_heads};
use crate::client::push::{
    BookmarkPlan, BranchHeads, PushChecks, SettledPhases, common_after, common_below, count_drafts,
};
use crate::{ExchangeError, NewHeads, PushRefusal};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use varve_repo::{LockKind, NewMarker, Node, Phase, RepoView, Repository, Rev, ViewFilter};

/// Changesets 0 - 1 - 2 and 0 - 3.
fn forked() -> (History, Repository) {
    let history = History::new(vec![vec![], vec![0], vec![1], vec![0]]);
    let repository = history.repository(&(0..4).collect());
    (history, repository)
}

fn views(repository: &Repository) -> (Arc<RepoView>, Arc<RepoView>) {
    let view = |filter| repository.view_for(filter).unwrap();
    (view(ViewFilter::Visible), view(ViewFilter::Unfiltered))
}

fn all(repository: &Repository) -> Arc<RepoView> {
    views(repository).1
}

fn refusal<T: std::fmt::Debug>(result: Result<T, ExchangeError>) -> PushRefusal {
    match result.unwrap_err() {
        ExchangeError::PushRefused(refusal) => refusal,
        other => panic!("{other}"),
    }
}

fn name(text: &str) -> Vec<u8> {
    text.as_bytes().to_vec()
}

fn set_bookmark(repository: &Repository, name: &str, node: Node) {
    let lock = repository.try_lock(LockKind::Store).unwrap();
    repository
        .set_bookmark(lock, name.as_bytes(), node)
        .unwrap();
}

fn move_phase(repository: &Repository, rev: u32, phase: Phase) {
    let lock = repository.try_lock(LockKind::Store).unwrap();
    let moved = repository.move_phases(lock, &[Rev(rev)], phase, true);
    assert!(moved.unwrap().changed > 0);
}

fn mark_obsolete(repository: &Repository, old: Node, new: Node) {
    let lock = repository.try_lock(LockKind::Store).unwrap();
    let mut transaction = repository.transaction(lock, "mark").unwrap();
    let metadata = &[(&b"user"[..], &b"Ada"[..])];
    let date = (0, 0);
    let marker = NewMarker {
        flags: 0,
        old,
        successors: &[new],
        parents: None,
        date,
        metadata,
    };
    transaction.add_markers(&[marker]).unwrap();
    transaction.finish().unwrap();
}

/// Nodes of `revs`, sorted.
fn nodes(view: &RepoView, revs: &[Rev]) -> Vec<Node> {
    let nodes = revs.iter().map(|rev| view.changelog().node(*rev));
    nodes.collect::<BTreeSet<Node>>().into_iter().collect()
}

/// Numbers of changesets in the history of `repository`, which holds all of them.
fn revs(history: &History, view: &RepoView, numbers: &BTreeSet<usize>) -> Vec<Rev> {
    let nodes = numbers.iter().map(|number| history.node(*number));
    nodes
        .map(|node| view.changelog().rev(&node).unwrap())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn common_history_below_heads_is_that_of_both(
        history in histories(20), heads in some_heads(), common in some_heads(),
    ) {
        let repository = history.repository(&(0..history.len()).collect());
        let view = all(&repository);
        let (heads, common) = (history.closure(&heads), history.closure(&common));
        let both: BTreeSet<usize> = heads.intersection(&common).copied().collect();
        let found = common_below(&view, &revs(&history, &view, &heads), &revs(&history, &view, &common));
        prop_assert!(found.is_sorted());
        prop_assert_eq!(nodes(&view, &found), history.heads_of(&both));
    }

    #[test]
    fn after_a_push_both_sides_have_what_was_sent(
        history in histories(20), heads in some_heads(), common in some_heads(),
    ) {
        let repository = history.repository(&(0..history.len()).collect());
        let view = all(&repository);
        let before = history.closure(&common);
        let after: BTreeSet<usize> = before.union(&history.closure(&heads)).copied().collect();
        let missing: BTreeSet<usize> = after.difference(&before).copied().collect();
        let heads_before = common_below(
            &view, &revs(&history, &view, &before), &revs(&history, &view, &before),
        );
        let found = common_after(&view, &heads_before, &revs(&history, &view, &missing));
        prop_assert_eq!(nodes(&view, &found), history.heads_of(&after));
    }
}

/// Bookmarks here: `ahead` 2 (there 1), `same` 1, `behind` 1 (there 2), `here` 3; `there` on 3, only there.
fn bookmarked() -> (History, Repository, BTreeMap<Vec<u8>, Node>) {
    let (history, repository) = forked();
    for (bookmark, at) in [("ahead", 2), ("same", 1), ("behind", 1), ("here", 3)] {
        set_bookmark(&repository, bookmark, history.node(at));
    }
    let there = [("ahead", 1), ("same", 1), ("behind", 2), ("there", 3)];
    let there = there.map(|(bookmark, at)| (name(bookmark), history.node(at)));
    (history, repository, there.into())
}

fn plan(heads: Option<&[Rev]>, named: &[&str]) -> (History, BookmarkPlan) {
    let (history, repository, there) = bookmarked();
    let (view, all) = views(&repository);
    let named = named.iter().map(|bookmark| name(bookmark)).collect();
    let plan = BookmarkPlan::new((&view, &all), heads, &named, &there).unwrap();
    (history, plan)
}

fn pushed(plan: &BookmarkPlan) -> Vec<String> {
    let names = plan.pushed.iter();
    names
        .map(|push| String::from_utf8(push.name.clone()).unwrap())
        .collect()
}

#[test]
fn a_push_moves_bookmarks_that_are_ahead() {
    let (history, plan) = plan(None, &[]);
    assert_eq!(pushed(&plan), ["ahead"]);
    let push = &plan.pushed[0];
    assert_eq!(push.before, Some(history.node(1)));
    assert_eq!(push.after, Some(history.node(2)));
    assert_eq!((&plan.unsent[..], &plan.unknown[..]), (&[][..], &[][..]));
    let accepted = [1, 2].map(|number| history.node(number));
    assert_eq!(plan.accepted_heads, accepted.into());
}

#[test]
fn named_bookmarks_are_created_moved_back_and_removed() {
    let (history, plan) = plan(None, &["here", "behind", "there", "none"]);
    assert_eq!(pushed(&plan), ["ahead", "behind", "here", "there"]);
    let after: Vec<Option<Node>> = plan.pushed.iter().map(|push| push.after).collect();
    let node = |number: usize| Some(history.node(number));
    assert_eq!(after, [node(2), node(1), node(3), None]);
    assert_eq!(plan.unknown, [name("none")]);
    assert!(plan.accepted_heads.contains(&history.node(3)));
}

#[test]
fn a_bookmark_whose_changeset_is_not_pushed_stays() {
    let (_, named) = plan(Some(&[Rev(1)]), &["here"]);
    assert_eq!(named.unsent, [name("here")]);
    assert_eq!(pushed(&named), [""; 0]);
    let (_, with_head) = plan(Some(&[Rev(2)]), &[]);
    assert_eq!(pushed(&with_head), ["ahead"]);
    // Heads that amount to nothing do not limit the push.
    let (_, without) = plan(Some(&[]), &["here"]);
    assert_eq!(pushed(&without), ["ahead", "here"]);
}

#[test]
fn bookmarks_on_secret_changesets_are_refused() {
    let (_, repository, there) = bookmarked();
    move_phase(&repository, 3, Phase::Secret);
    let (view, all) = views(&repository);
    let plan = |named: &str| {
        let named = BTreeSet::from([name(named)]);
        BookmarkPlan::new((&view, &all), None, &named, &there).unwrap()
    };
    plan("ahead").refuse_secret(&all).unwrap();
    let refused = refusal(plan("here").refuse_secret(&all));
    assert_eq!(refused, PushRefusal::SecretBookmark("here".to_owned()));
    // To remove a bookmark there shows nothing of its changeset.
    plan("there").refuse_secret(&all).unwrap();
}

#[test]
fn unstable_heads_are_refused_and_the_newest_is_named() {
    let (history, repository) = forked();
    mark_obsolete(&repository, history.node(1), history.node(3));
    let (view, all) = views(&repository);
    let check = |missing: &[u32]| {
        let missing: Vec<Rev> = missing.iter().copied().map(Rev).collect();
        let checks = PushChecks {
            view: &view,
            all: &all,
            missing: &missing,
        };
        checks.refuse_unstable()
    };
    check(&[0, 3]).unwrap();
    let unstable = |number: usize, instability| PushRefusal::Unstable {
        node: history.node(number),
        instability,
    };
    assert_eq!(refusal(check(&[0, 1])), unstable(1, "obsolete"));
    assert_eq!(refusal(check(&[0, 1, 2, 3])), unstable(2, "orphan"));
}

fn branch(before: Option<&[Node]>, after: &[Node]) -> BranchHeads {
    BranchHeads {
        name: name("default"),
        before: before.map(<[Node]>::to_vec),
        after: after.to_vec(),
        ..BranchHeads::default()
    }
}

fn new_heads(repository: &Repository, branch: &BranchHeads, accepted: &[Node]) -> Option<NewHeads> {
    let (view, all) = views(repository);
    let checks = PushChecks {
        view: &view,
        all: &all,
        missing: &[],
    };
    checks.new_heads(branch, &accepted.iter().copied().collect())
}

#[test]
fn a_branch_must_not_get_more_heads_than_it_has() {
    let (history, repository) = forked();
    let [one, two, three] = [1, 2, 3].map(|number| history.node(number));
    let found = |branch: &BranchHeads, accepted: &[Node]| {
        new_heads(&repository, branch, accepted).map(|new| new.heads)
    };
    let mut both = vec![two, three];
    both.sort_unstable();
    assert_eq!(found(&branch(Some(&[one]), &[two]), &[]), None);
    assert_eq!(found(&branch(Some(&[one]), &[two, three]), &[]), Some(both));
    let kept = branch(Some(&[two]), &[two, three]);
    assert_eq!(found(&kept, &[]), Some(vec![three]));
    assert_eq!(found(&kept, &[three]), None);
    // A new branch has one head, whatever bookmarks are on the others.
    assert_eq!(found(&branch(None, &[two]), &[]), None);
    assert_eq!(
        found(&branch(None, &[two, three]), &[two, three]),
        Some(vec![two, three])
    );
}

/// The words are those of `hg push` 7.2.
#[test]
fn refusals_name_branches_heads_and_bookmarks() {
    let (history, repository) = forked();
    let three = history.node(3);
    let short = &three.to_string()[..12];
    let message = |branch: &BranchHeads| new_heads(&repository, branch, &[]).unwrap().to_string();
    let mut added = branch(Some(&[history.node(2)]), &[history.node(2), three]);
    let head = format!("push creates new remote head {short}");
    assert_eq!(message(&added), head);
    set_bookmark(&repository, "book", three);
    assert_eq!(message(&added), format!("{head} with bookmark 'book'"));
    added.name = name("stable");
    assert_eq!(message(&added), format!("{head} on branch 'stable'"));
    added.before = None;
    let expected = "push creates new branch 'stable' with multiple heads";
    assert_eq!(message(&added), expected);
    let new = |closed| PushRefusal::NewBranches {
        names: vec![name("a"), name("b")],
        closed,
    };
    let expected = "push creates new remote branches: a, b";
    assert_eq!(new(0).to_string(), expected);
    assert_eq!(new(1).to_string(), format!("{expected} (1 closed)"));
}

#[test]
fn only_branches_that_are_new_there_are_refused() {
    let (_, repository) = forked();
    let (view, all) = views(&repository);
    let checks = PushChecks {
        view: &view,
        all: &all,
        missing: &[],
    };
    checks
        .refuse_new_branches(&[branch(Some(&[]), &[])])
        .unwrap();
    let refused = checks.refuse_new_branches(&[branch(Some(&[]), &[]), branch(None, &[])]);
    let expected = PushRefusal::NewBranches {
        names: vec![name("default")],
        closed: 0,
    };
    assert_eq!(refusal(refused), expected);
}

fn keys(of: &[(&str, &str)]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    of.iter()
        .map(|(key, value)| (name(key), name(value)))
        .collect()
}

#[test]
fn phases_settle_as_the_other_side_has_them() {
    let publishing = keys(&[("publishing", "True")]);
    for (keys, expected) in [
        (&publishing, [Phase::Public, Phase::Public, Phase::Public]),
        (&keys(&[]), [Phase::Public, Phase::Public, Phase::Public]),
    ] {
        let (_, repository) = forked();
        let settled = SettledPhases::new(&all(&repository), keys, &[Rev(2)]);
        assert!(settled.lowers);
        let lock = repository.try_lock(LockKind::Store).unwrap();
        settled.store(&repository, lock, Vec::new()).unwrap();
        let view = all(&repository);
        let phases = [0, 1, 2].map(|rev| view.phases().of(Rev(rev)));
        assert_eq!(phases, expected);
        assert_eq!(view.phases().of(Rev(3)), Phase::Draft, "not pushed");
        let again = SettledPhases::new(&view, keys, &[Rev(2)]);
        assert!(!again.lowers);
    }
}

#[test]
fn drafts_of_the_other_side_lower_secret_changesets_only() {
    let (history, repository) = forked();
    move_phase(&repository, 2, Phase::Secret);
    let root = history.node(1).to_string();
    let keys = keys(&[(&root, "1")]);
    let settled = SettledPhases::new(&all(&repository), &keys, &[Rev(2)]);
    assert_eq!(settled.public, [history.node(0)]);
    let lock = repository.try_lock(LockKind::Store).unwrap();
    settled.store(&repository, lock, Vec::new()).unwrap();
    let view = all(&repository);
    let phases = [0, 1, 2, 3].map(|rev| view.phases().of(Rev(rev)));
    let draft = Phase::Draft;
    assert_eq!(phases, [Phase::Public, draft, draft, draft]);
}

#[test]
fn drafts_are_counted_with_their_ancestors() {
    let (_, repository) = forked();
    assert_eq!(count_drafts(&all(&repository), &[Rev(2)]), 3);
    move_phase(&repository, 1, Phase::Public);
    assert_eq!(count_drafts(&all(&repository), &[Rev(2), Rev(3)]), 2);
    assert_eq!(count_drafts(&all(&repository), &[]), 0);
}
