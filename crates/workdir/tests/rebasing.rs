//! Whole rebases of random histories without the working copy, against a naive one; and histories checked after them.

use super::histories::{Graph, History, descendants, graphs};
use super::model::{Files, begin, files_of};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use varve_base::Interrupt;
use varve_repo::{
    FileChange, FileKind, LockKind, Node, Phase, RepoView, Repository, Rev, ViewFilter,
};
use varve_workdir::{
    CommitMetadata, RebaseParents, RebaseRefusal, RebaseTargets, ReplayStep, Replayed, Replayer,
    external_parent, orphan_destinations, rebase_order,
};

fn rev(number: usize) -> Rev {
    Rev(u32::try_from(number).unwrap())
}

fn number(rev: Rev) -> usize {
    rev.0 as usize
}

/// Each changeset adds the file of its number.
fn with_files(graph: &Graph) -> (Repository, Vec<Node>) {
    let mut history = History::new();
    for (number, parents) in graph.iter().enumerate() {
        let name = number.to_string();
        let change = FileChange::Write {
            path: name.as_bytes(),
            content: name.as_bytes(),
            kind: FileKind::Plain,
            copied_from: None,
        };
        history.commit(parents, "default", &[change]);
    }
    history.into_repository()
}

fn view(repository: &Repository) -> std::sync::Arc<RepoView> {
    repository.view_for(ViewFilter::Unfiltered).unwrap()
}

/// Numbers of a changeset and all that it follows from.
fn ancestors(graph: &Graph, of: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::from([of]);
    for number in (0..=of).rev() {
        if found.contains(&number) {
            found.extend(&graph[number]);
        }
    }
    found
}

/// A history, one of its changesets, all that follow from it, and another one as the destination.
fn rebases() -> impl Strategy<Value = (Graph, Vec<usize>, usize)> {
    let picks = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
    (graphs(), picks).prop_map(|(graph, (source, destination))| {
        let (source, destination) = (source.index(graph.len()), destination.index(graph.len()));
        let set = descendants(&graph, &[source]);
        (graph, set, destination)
    })
}

fn errors_of(repository: &Repository) -> Vec<String> {
    let lock = repository.try_lock(LockKind::Store).unwrap();
    let mut events = Vec::new();
    let on_event = &mut |event: varve_repo::VerifyEvent<'_>| events.push(format!("{event:?}"));
    let stop = Interrupt::default();
    let report = repository
        .verify(&lock, true, on_event, &varve_base::Silent, &stop)
        .unwrap();
    match report.errors + report.warnings {
        0 => Vec::new(),
        _ => events,
    }
}

/// A rebase in steps of one transaction each.
struct Rebase {
    repository: Repository,
    targets: RebaseTargets,
}

impl Rebase {
    fn place(&self, rev: Rev) -> Result<RebaseParents, RebaseRefusal> {
        self.targets.parents(&view(&self.repository), rev).unwrap()
    }

    fn step(&mut self, rev: Rev, place: RebaseParents) -> Node {
        let view = view(&self.repository);
        let mut batch = begin(&self.repository);
        let step = ReplayStep {
            rev,
            base: place.base,
            parents: place.parents,
        };
        let metadata = CommitMetadata {
            user: b"Eve",
            date: (i64::from(rev.0), 0),
            branch: b"default",
            extras: &[],
            description: b"rebased",
            phase: Phase::Draft,
        };
        let Replayed::Plan(plan) = Replayer::new(&view).plan(&batch, &step).unwrap() else {
            panic!("no two changesets have a file in common");
        };
        let node = plan.commit(&mut batch, &metadata).unwrap();
        batch.finish().unwrap();
        self.targets.done.insert(rev, Some(node));
        node
    }
}

/// Names of the files of a changeset.
fn names(view: &RepoView, node: &Node) -> BTreeSet<usize> {
    let files: Files = files_of(view, node);
    files.keys().map(|name| name.parse().unwrap()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Ancestors come before what follows from them, and every changeset comes once.
    #[test]
    fn the_order_has_each_changeset_behind_its_parents(
        (graph, _, destination) in rebases(),
        chosen in proptest::collection::btree_set(0..14_usize, 1..14),
    ) {
        let (repository, nodes) = with_files(&graph);
        let chosen: BTreeSet<usize> = chosen.into_iter().filter(|number| *number < graph.len()).collect();
        let destinations = chosen.iter().map(|number| (rev(*number), nodes[destination]));
        let order = rebase_order(&view(&repository), &destinations.collect());
        let Some(order) = order else {
            prop_assert!(chosen.contains(&destination));
            return Ok(());
        };
        prop_assert!(!chosen.contains(&destination));
        let order: Vec<usize> = order.into_iter().map(number).collect();
        prop_assert_eq!(order.iter().copied().collect::<BTreeSet<_>>(), chosen.clone());
        prop_assert_eq!(order.len(), chosen.len());
        for (at, number) in order.iter().enumerate() {
            let above = ancestors(&graph, *number);
            prop_assert!(order[at + 1..].iter().all(|later| !above.contains(later)), "{:?}", order);
        }
    }

    /// A changeset whose destination moves too waits for it; a circle has no order.
    #[test]
    fn moving_destinations_are_waited_for(graph in graphs(), to in proptest::collection::vec(0..14_usize, 14)) {
        let (repository, nodes) = with_files(&graph);
        let goes_to: BTreeMap<usize, usize> =
            (0..graph.len()).step_by(2).map(|number| (number, to[number] % graph.len())).collect();
        let destinations = goes_to.iter().map(|(from, to)| (rev(*from), nodes[*to])).collect();
        let is_circle = goes_to.keys().any(|from| {
            let mut at = *from;
            for _ in 0..=graph.len() {
                match goes_to.get(&at) {
                    Some(next) => at = *next,
                    None => return false,
                }
            }
            true
        });
        match rebase_order(&view(&repository), &destinations) {
            None => prop_assert!(is_circle),
            Some(order) => {
                prop_assert!(!is_circle);
                let place = |number: usize| order.iter().position(|found| *found == rev(number)).unwrap();
                for (from, to) in &goes_to {
                    prop_assert!(!goes_to.contains_key(to) || place(*to) < place(*from));
                }
            }
        }
    }

    /// Copies have their own file, those of the destination and those of the rebased changesets below them; the history
    /// is sound afterwards.
    #[test]
    fn a_rebased_history_has_the_files_of_both_places((graph, set, destination) in rebases()) {
        prop_assume!(!set.contains(&destination));
        // No merge is made of a changeset and its own ancestor.
        let is_merge = |parents: &&Vec<usize>| parents.len() == 2;
        let is_known = |parents: &Vec<usize>| (0..2).any(|at| ancestors(&graph, parents[at]).contains(&parents[1 - at]));
        prop_assume!(!graph.iter().filter(is_merge).any(is_known));
        let (repository, nodes) = with_files(&graph);
        let destinations: BTreeMap<Rev, Node> = set.iter().map(|number| (rev(*number), nodes[destination])).collect();
        let order = rebase_order(&view(&repository), &destinations).unwrap();
        let done = set.iter().map(|number| (rev(*number), None)).collect();
        let targets = RebaseTargets { destinations, done, skipped: BTreeSet::new() };
        let mut rebase = Rebase { repository, targets };
        let below = ancestors(&graph, destination);
        let mut copies: BTreeMap<usize, (Node, BTreeSet<usize>)> = BTreeMap::new();
        for rev in order {
            let this = number(rev);
            let parents = &graph[this];
            let place = match rebase.place(rev) {
                Ok(place) => place,
                Err(refusal) => {
                    prop_assert_eq!(parents.len(), 2, "{:?}", refusal);
                    break;
                }
            };
            let node = rebase.step(rev, place);
            let found = names(&view(&rebase.repository), &node);
            let mut new_parents: BTreeSet<Node> = place.parents.into_iter().collect();
            if parents.len() < 2 {
                let above = parents.first().and_then(|parent| copies.get(parent));
                let expected = match above {
                    Some((node, files)) => (*node, files | &BTreeSet::from([this])),
                    None => (nodes[destination], &below | &BTreeSet::from([this])),
                };
                prop_assert_eq!(place.parents, [expected.0, Node::NULL]);
                // Files of merges are those of their first parent and of the changes since the base.
                prop_assert!(graph.iter().any(|parents| parents.len() == 2) || found == expected.1);
            } else {
                new_parents.remove(&Node::NULL);
                let moved = parents.iter().filter_map(|parent| copies.get(parent));
                let mut moved: BTreeSet<Node> = moved.map(|(node, _)| *node).collect();
                moved.insert(nodes[destination]);
                // One parent at least is a place that moves, or follows from one.
                let now = view(&rebase.repository);
                let number = |node: &Node| now.changelog().rev(node).unwrap();
                let follows = |parent: &Node| {
                    moved.iter().any(|above| above == parent || now.is_descendant(number(parent), number(above)))
                };
                prop_assert!(new_parents.iter().any(follows), "{:?}", place);
            }
            prop_assert!(found.contains(&this));
            copies.insert(this, (node, found));
        }
        prop_assert_eq!(errors_of(&rebase.repository), Vec::<String>::new());
    }

    /// Onto one of the changesets that are to move, or above it, nothing goes.
    #[test]
    fn nothing_goes_onto_what_follows_from_it((graph, set, destination) in rebases()) {
        prop_assume!(set.contains(&destination) && graph[set[0]].len() < 2);
        let (repository, nodes) = with_files(&graph);
        let first = rev(set[0]);
        let destinations = BTreeMap::from([(first, nodes[destination])]);
        let done = BTreeMap::from([(first, None)]);
        let rebase = Rebase {
            repository,
            targets: RebaseTargets { destinations, done, skipped: BTreeSet::new() },
        };
        prop_assert_eq!(rebase.place(first), Err(RebaseRefusal::SourceIsAncestor));
    }

    /// A changeset that was skipped hands its new parent on.
    #[test]
    fn skipped_changesets_are_passed_over(len in 3..8_usize, skipped in proptest::collection::btree_set(1..7_usize, 0..4)) {
        let mut graph: Graph = vec![Vec::new()];
        graph.extend((0..len).map(|parent| vec![parent]));
        graph.push(vec![0]);
        let (repository, nodes) = with_files(&graph);
        let destination = nodes[len + 1];
        let set = 1..=len;
        let destinations = set.clone().map(|number| (rev(number), destination)).collect();
        let done = set.clone().map(|number| (rev(number), None)).collect();
        let targets = RebaseTargets { destinations, done, skipped: BTreeSet::new() };
        let mut rebase = Rebase { repository, targets };
        let mut expected = destination;
        for this in set {
            let place = rebase.place(rev(this)).unwrap();
            prop_assert_eq!(place.parents, [expected, Node::NULL]);
            prop_assert_eq!(place.base, Some(rev(this - 1)));
            if skipped.contains(&this) {
                rebase.targets.done.insert(rev(this), Some(expected));
                rebase.targets.skipped.insert(rev(this));
                continue;
            }
            expected = rebase.step(rev(this), place);
        }
    }

    /// The parents that a collapsed set keeps, by definition.
    #[test]
    fn only_parents_from_outside_stay_when_a_set_is_collapsed(
        (graph, _, destination) in rebases(),
        set in proptest::collection::btree_set(0..14_usize, 1..8),
    ) {
        let (repository, _) = with_files(&graph);
        let set: BTreeSet<usize> = set.into_iter().filter(|number| *number < graph.len()).collect();
        let below = ancestors(&graph, destination);
        let later = set.iter().skip(1).flat_map(|number| graph[*number].clone());
        let outside: BTreeSet<usize> = later.filter(|parent| !set.contains(parent) && !below.contains(parent)).collect();
        let outside: Vec<Rev> = outside.into_iter().map(rev).collect();
        let expected = match outside.len() {
            0 => Ok(None),
            1 => Ok(Some(outside[0])),
            _ => Err(outside),
        };
        let set = set.into_iter().map(rev).collect();
        prop_assert_eq!(external_parent(&view(&repository), &set, Some(rev(destination))), expected);
    }

    /// A changeset that is no orphan belongs where it is.
    #[test]
    fn a_changeset_without_obsolete_parents_stays(graph in graphs(), at in any::<prop::sample::Index>()) {
        let (repository, _) = with_files(&graph);
        let this = at.index(graph.len());
        let found = orphan_destinations(&view(&repository), rev(this)).unwrap();
        prop_assert_eq!(found, graph[this].iter().copied().map(rev).collect::<BTreeSet<_>>());
    }
}
