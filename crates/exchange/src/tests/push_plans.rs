//! Facts that a push finds out about the other side before it sends anything, over random histories and against definitions:
//! the heads of its branches, its phases and its bookmarks.

use super::history::{History, histories, some_heads};
use crate::client::push::{BookmarkPlan, RemotePhases, branch_heads};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use varve_base::MemoryStorage;
use varve_codec::EngineSetting;
use varve_repo::{
    LockKind, NewChangeset, NewMarker, Node, Phase, RepoView, Repository, Rev, ViewFilter,
};

type Numbers = BTreeSet<usize>;

/// A bookmark as it is here and there; a push may name it.
type BookmarkPlaces = (Option<usize>, Option<usize>, bool);

/// The shape of `history`, with its changesets on two branches, and those public that are numbered so.
struct Local {
    repository: Repository,
    nodes: Vec<Node>,
}

impl Local {
    fn new(history: &History, branches: &[bool], public: &Numbers) -> Local {
        let storage = Arc::new(MemoryStorage::default());
        let repository = Repository::create(storage, Path::new("r")).unwrap();
        let mut batch = repository.begin(EngineSetting::ZLIB).unwrap();
        let mut nodes: Vec<Node> = Vec::new();
        for number in 0..history.len() {
            let parents = history.parents_of(number);
            let parent = |at: usize| parents.get(at).map_or(Node::NULL, |parent| nodes[*parent]);
            let new = NewChangeset {
                parents: [parent(0), parent(1)],
                user: b"Ada",
                date: (number as i64, 0),
                branch: if is_on_side(branches, number) {
                    b"side"
                } else {
                    b"default"
                },
                extras: &[],
                description: b"one of many",
                phase: if public.contains(&number) {
                    Phase::Public
                } else {
                    Phase::Draft
                },
                changes: &[],
            };
            nodes.push(batch.commit(&new).unwrap());
        }
        batch.finish().unwrap();
        Local { repository, nodes }
    }

    fn view(&self) -> Arc<RepoView> {
        self.repository.view_for(ViewFilter::Unfiltered).unwrap()
    }

    fn mark(&self, markers: &BTreeMap<usize, usize>) {
        for (old, new) in markers {
            let lock = self.repository.try_lock(LockKind::Store).unwrap();
            let mut transaction = self.repository.transaction(lock, "mark").unwrap();
            let marker = NewMarker {
                flags: 0,
                old: self.nodes[*old],
                successors: &[self.nodes[*new]],
                parents: None,
                date: (0, 0),
                metadata: &[],
            };
            transaction.add_markers(&[marker]).unwrap();
            transaction.finish().unwrap();
        }
    }

    fn numbers(&self, nodes: &[Node]) -> Numbers {
        let place = |node: &Node| self.nodes.iter().position(|other| other == node);
        nodes.iter().map(|node| place(node).unwrap()).collect()
    }
}

fn is_on_side(branches: &[bool], number: usize) -> bool {
    branches[number % branches.len()]
}

fn revs(numbers: &Numbers) -> Vec<Rev> {
    numbers.iter().map(|number| Rev(*number as u32)).collect()
}

/// Those of a set from which no other one of it descends.
fn heads(history: &History, set: &Numbers) -> Numbers {
    let is_below = |number: &usize| {
        let mut others = set.iter().filter(|other| *other != number);
        others.any(|other| history.closure(&[*other]).contains(number))
    };
    set.iter()
        .copied()
        .filter(|number| !is_below(number))
        .collect()
}

/// Everything from which all of `roots` are not ancestors, within `all`.
fn below(history: &History, roots: &Numbers, all: &Numbers) -> Numbers {
    let follows = |number: &usize| !history.closure(&[*number]).is_disjoint(roots);
    all.iter().copied().filter(follows).collect()
}

/// True if all that only `head` keeps, down to the public ones, is replaced by something that is sent.
fn is_replaced(
    history: &History,
    (head, others): (usize, &Numbers),
    (missing, public): (&Numbers, &Numbers),
    markers: &BTreeMap<usize, usize>,
) -> bool {
    let mutable = |numbers: &Numbers| numbers - public;
    let mut kept = Numbers::new();
    for other in mutable(others).into_iter().filter(|other| *other != head) {
        kept.extend(history.closure(&[other]));
    }
    let own = &mutable(&history.closure(&[head])) - &kept;
    let is_sent = |number: &usize| {
        // A changeset counts as its own successor.
        let mut at = Some(*number);
        while let Some(number) = at {
            if missing.contains(&number) {
                return true;
            }
            at = markers.get(&number).copied();
        }
        false
    };
    markers.contains_key(&head) && !public.contains(&head) && own.iter().all(is_sent)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Without markers, a branch there ends with the heads of what it had and gets, and with those that are unknown here.
    #[test]
    fn branches_end_with_the_heads_of_what_both_sides_have(
        history in histories(25), branches in proptest::collection::vec(any::<bool>(), 1..9), there in some_heads(), unknown: bool,
    ) {
        let local = Local::new(&history, &branches, &Numbers::new());
        let all: Numbers = (0..history.len()).collect();
        let there = history.closure(&there);
        let missing = &all - &there;
        let foreign = Node([0xab; 20]);
        let mut remote: BTreeMap<Vec<u8>, Vec<Node>> = BTreeMap::new();
        let on = |numbers: &Numbers, side: bool| -> Numbers {
            numbers.iter().copied().filter(|number| is_on_side(&branches, *number) == side).collect()
        };
        for (name, side) in [("default", false), ("side", true)] {
            let mut nodes: Vec<Node> = heads(&history, &on(&there, side)).iter().map(|number| local.nodes[*number]).collect();
            nodes.extend(unknown.then_some(foreign));
            if !nodes.is_empty() {
                remote.insert(name.into(), nodes);
            }
        }
        let found = branch_heads(&local.view(), &revs(&missing), &remote).unwrap();
        let touched = [("default", false), ("side", true)].into_iter().filter(|(_, side)| !on(&missing, *side).is_empty());
        prop_assert_eq!(found.len(), touched.clone().count());
        for (branch, (name, side)) in found.iter().zip(touched) {
            prop_assert_eq!(&branch.name, name.as_bytes());
            prop_assert_eq!(branch.before.as_ref(), remote.get(name.as_bytes()));
            prop_assert_eq!(&branch.unknown, &Vec::from_iter(unknown.then_some(foreign)));
            let known: Vec<Node> = branch.after.iter().copied().filter(|node| *node != foreign).collect();
            let before = heads(&history, &on(&there, side));
            // A head of the branch may go on in changesets of another one.
            prop_assert_eq!(local.numbers(&known), heads(&history, &(&before | &on(&missing, side))));
            prop_assert_eq!(branch.after.len(), known.len() + usize::from(unknown));
            let added: Vec<Node> = branch.added().copied().collect();
            prop_assert_eq!(local.numbers(&added), &local.numbers(&known) - &before);
            let gone: Vec<Node> = branch.changed().filter(|node| *node != foreign).collect();
            prop_assert_eq!(local.numbers(&gone), &before - &local.numbers(&known));
        }
    }

    /// A head there that is obsolete with all that only it keeps does not count where its successors come.
    #[test]
    fn heads_whose_successors_are_sent_do_not_count(
        history in histories(20), there in some_heads(), public in some_heads(),
        rewritten in proptest::collection::vec((0..20_usize, 0..20_usize), 0..8),
    ) {
        let all: Numbers = (0..history.len()).collect();
        let there = history.closure(&there);
        let missing = &all - &there;
        let public = &history.closure(&public) & &there;
        let pairs = rewritten.into_iter().map(|(old, new)| (old % history.len(), new % history.len()));
        let markers: BTreeMap<usize, usize> = pairs.filter(|(old, new)| old < new).collect();
        let local = Local::new(&history, &[false], &public);
        local.mark(&markers);
        let before = heads(&history, &there);
        prop_assume!(!before.is_empty() && !missing.is_empty());
        let nodes = before.iter().map(|number| local.nodes[*number]).collect();
        let remote = BTreeMap::from([(b"default".to_vec(), nodes)]);
        let found = branch_heads(&local.view(), &revs(&missing), &remote).unwrap();
        let mut expected = heads(&history, &(&before | &missing));
        let mut replaced = Numbers::new();
        for head in before {
            let place = (head, &expected);
            if expected.contains(&head) && is_replaced(&history, place, (&missing, &public), &markers) {
                expected.remove(&head);
                replaced.insert(head);
            }
        }
        prop_assert_eq!(local.numbers(&found[0].after), expected);
        prop_assert_eq!(local.numbers(&found[0].replaced), replaced);
    }

    /// Of what both sides have, public there is all that does not follow from a draft root; what is draft there and public
    /// here is out of date, and everything is that where the other side publishes.
    #[test]
    fn phases_there_follow_from_their_draft_roots(
        history in histories(25), there in some_heads(), public in some_heads(), remote_public in some_heads(),
        publishes: bool, publish: bool,
    ) {
        let all: Numbers = (0..history.len()).collect();
        let (there, public) = (history.closure(&there), history.closure(&public));
        let local = Local::new(&history, &[false], &public);
        let view = local.view();
        let drafts = &there - &history.closure(&remote_public);
        let is_root = |number: &usize| history.parents_of(*number).iter().all(|parent| !drafts.contains(parent));
        let roots: Numbers = drafts.iter().copied().filter(is_root).collect();
        let mut keys: BTreeMap<Vec<u8>, Vec<u8>> =
            roots.iter().map(|root| (local.nodes[*root].to_hex().to_vec(), b"1".to_vec())).collect();
        // Neither changesets that are not here nor other keys count.
        keys.insert([b'7'; 40].to_vec(), b"1".to_vec());
        keys.insert(local.nodes[0].to_hex()[..20].to_vec(), b"1".to_vec());
        if publishes {
            keys.insert(b"publishing".to_vec(), b"True".to_vec());
        }
        let common = heads(&history, &there);
        let phases = RemotePhases::read(&view, &keys, &revs(&common));
        prop_assert_eq!(phases.publishes, publishes);
        prop_assert_eq!(&phases.draft_roots, &revs(&roots));
        let heads_there: Vec<usize> = phases.public_heads.iter().map(|rev| rev.index()).collect();
        prop_assert_eq!(history.closure(&heads_there), &there - &drafts);
        let missing = &all - &there;
        let starts = &roots | &missing;
        let late = below(&history, &starts, &all);
        let late = if publishes || publish { late } else { &late & &public };
        let outdated = phases.outdated(&view, (&revs(&heads(&history, &all)), &revs(&missing)), publish);
        prop_assert_eq!(local.numbers(&outdated), heads(&history, &late));
    }

    /// A bookmark moves there if it was named, or is ahead here and its changeset goes along; names of neither side are told.
    #[test]
    fn bookmarks_move_that_are_named_or_ahead(
        history in histories(20), pushed in prop::option::of(some_heads()),
        places in proptest::collection::vec((prop::option::of(0..20_usize), prop::option::of(0..20_usize), any::<bool>()), 1..8),
    ) {
        let local = Local::new(&history, &[false], &Numbers::new());
        let name = |number: usize| format!("bookmark {number}").into_bytes();
        let places: Vec<BookmarkPlaces> = places.into_iter()
            .map(|(here, there, named)| (here.map(|at| at % history.len()), there.map(|at| at % history.len()), named)).collect();
        let side = |of: fn(&BookmarkPlaces) -> Option<usize>| -> BTreeMap<Vec<u8>, Node> {
            let set = places.iter().enumerate().filter_map(|(number, all)| Some((name(number), local.nodes[of(all)?])));
            set.collect()
        };
        let lock = local.repository.try_lock(LockKind::Store).unwrap();
        let mut transaction = local.repository.transaction(lock, "bookmark").unwrap();
        transaction.set_bookmarks(&side(|all| all.0)).unwrap();
        transaction.finish().unwrap();
        let view = local.view();
        let closure = pushed.as_ref().map(|heads| history.closure(heads)).filter(|all| !all.is_empty());
        let heads: Option<Vec<Rev>> = pushed.map(|heads| heads.iter().map(|head| Rev((head % history.len()) as u32)).collect());
        let named = places.iter().enumerate().filter(|(_, all)| all.2).map(|(number, _)| name(number));
        let named: BTreeSet<Vec<u8>> = named.chain([b"nowhere".to_vec()]).collect();
        let plan = BookmarkPlan::new((&view, &view), heads.as_deref(), &named, &side(|all| all.1)).unwrap();
        let (mut moved, mut unsent, mut unknown) = (Vec::new(), Vec::new(), vec![b"nowhere".to_vec()]);
        for (number, (here, there, is_named)) in places.iter().enumerate() {
            let is_sent = here.is_none_or(|here| closure.as_ref().is_none_or(|all| all.contains(&here)));
            let is_ahead = here.zip(*there).is_some_and(|(here, there)| here != there && history.closure(&[here]).contains(&there));
            match (here, there) {
                (None, None) => unknown.extend(is_named.then(|| name(number))),
                (here, there) if here == there => {}
                _ if *is_named && !is_sent => unsent.push(name(number)),
                (here, there) if *is_named || (is_ahead && is_sent) => {
                    moved.push((name(number), there.map(|at| local.nodes[at]), here.map(|at| local.nodes[at])));
                }
                _ => {}
            }
        }
        unknown.sort_unstable();
        let found: Vec<_> = plan.pushed.iter().map(|push| (push.name.clone(), push.before, push.after)).collect();
        prop_assert_eq!(found, moved);
        prop_assert_eq!(plan.unsent, unsent);
        prop_assert_eq!(plan.unknown, unknown);
    }
}
