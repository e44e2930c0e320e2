//! Described and drawn histories, against the graphs that they were made from.

use super::histories::{Graph, graphs};
use super::model::{begin, files_of};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use varve_base::MemoryStorage;
use varve_repo::{Node, RepoView, Repository, ViewFilter};
use varve_workdir::{
    BuiltFiles, DagStep, Drawing, Remark, ReplayStep, Replayed, Replayer, WorkdirError, build_dag,
    commit_drawing, parse_dag,
};

fn repository() -> Repository {
    let storage = Arc::new(MemoryStorage::default());
    Repository::create(storage, Path::new("")).unwrap()
}

fn view(repository: &Repository) -> Arc<RepoView> {
    repository.view_for(ViewFilter::Unfiltered).unwrap()
}

/// One way to write a graph: a changeset of each number, its parents by tag or by their distance.
fn description(graph: &Graph, by_tag: &[bool]) -> String {
    let mut text = String::new();
    for (number, parents) in graph.iter().enumerate() {
        let name = |parent: usize| match by_tag[parent] {
            true => format!("t{parent}"),
            false => (number - parent).to_string(),
        };
        text += &match parents[..] {
            [] => "$ .".to_owned(),
            [one] => format!("<{} +1", name(one)),
            [one, two] => format!("*{}/{}", name(one), name(two)),
            _ => unreachable!("changesets have two parents at most"),
        };
        text += &format!(" :t{number} # of {number}\n");
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_described_graph_is_built(graph in graphs(), by_tag in proptest::collection::vec(any::<bool>(), 14), new: bool, overwritten: bool) {
        let steps = parse_dag(description(&graph, &by_tag).as_bytes()).unwrap();
        let changesets: Vec<[Option<usize>; 2]> = steps.iter().filter_map(|step| match step {
            DagStep::Changeset(parents) => Some(*parents),
            _ => None,
        }).collect();
        let expected: Vec<[Option<usize>; 2]> =
            graph.iter().map(|parents| [parents.first().copied(), parents.get(1).copied()]).collect();
        prop_assert_eq!(changesets, expected);
        let repository = repository();
        let mut batch = begin(&repository);
        let files = BuiltFiles { mergeable: true, overwritten, new };
        let tags = build_dag(&mut batch, &steps, files).unwrap();
        batch.finish().unwrap();
        let view = view(&repository);
        prop_assert_eq!(tags.len(), graph.len());
        for (number, parents) in graph.iter().enumerate() {
            let (node, tag) = &tags[number];
            prop_assert_eq!(tag, &format!("t{number}").into_bytes());
            let rev = view.changelog().rev(node).unwrap();
            prop_assert_eq!(rev.0 as usize, number);
            let found: Vec<usize> = view.changelog().parents(rev).into_iter().flatten().map(|rev| rev.0 as usize).collect();
            prop_assert_eq!(&found, parents);
            let files = files_of(&view, node);
            let own = format!("r{number}\n").into_bytes();
            prop_assert_eq!(files.get("of").map(|file| &file.0), overwritten.then_some(&own));
            // The new file of each changeset that this one follows from, and its own.
            let mut expected: BTreeSet<String> = BTreeSet::new();
            let mut wanted = vec![number];
            while let Some(at) = wanted.pop() {
                if new && expected.insert(format!("nf{at}")) {
                    wanted.extend(&graph[at]);
                }
            }
            let found: BTreeSet<String> = files.keys().filter(|name| name.starts_with("nf")).cloned().collect();
            prop_assert_eq!(found, expected);
        }
    }

    /// Any two changesets with a common ancestor merge the mergeable file without a conflict.
    #[test]
    fn the_mergeable_file_never_conflicts(graph in graphs(), picks in any::<[prop::sample::Index; 2]>()) {
        let steps = parse_dag(description(&graph, &[true; 14]).as_bytes()).unwrap();
        let repository = repository();
        let mut batch = begin(&repository);
        let files = BuiltFiles { mergeable: true, ..BuiltFiles::default() };
        let tags = build_dag(&mut batch, &steps, files).unwrap();
        batch.finish().unwrap();
        let view = view(&repository);
        let [other, onto] = picks.map(|pick| pick.index(graph.len()));
        let step = ReplayStep {
            rev: view.changelog().rev(&tags[other].0).unwrap(),
            base: view.changelog().parents(view.changelog().rev(&tags[other].0).unwrap())[0],
            parents: [tags[onto].0, Node::NULL],
        };
        prop_assume!(step.base.is_some());
        let batch = begin(&repository);
        let replayed = Replayer::new(&view).plan(&batch, &step).unwrap();
        prop_assert!(matches!(replayed, Replayed::Plan(_)), "{:?}", replayed);
    }

    /// A chain that is drawn from the bottom to the top; one that is drawn sideways has no direction.
    #[test]
    fn drawn_chains_are_committed_in_their_order(names in proptest::collection::btree_set("[a-n][a-z]{0,2}", 1..6), shuffled in any::<u64>()) {
        let mut names: Vec<String> = names.into_iter().collect();
        let len = names.len();
        names.rotate_left(shuffled as usize % len);
        let sideways = Drawing::parse(names.join("-").as_bytes());
        prop_assert_eq!(sideways.order().is_none(), len > 1);
        let rows: Vec<String> = names.iter().rev().map(|name| format!("{name}\n")).collect();
        let text = rows.join("|\n");
        let drawing = Drawing::parse(text.as_bytes());
        let order: Vec<Vec<u8>> = names.iter().map(|name| name.clone().into_bytes()).collect();
        prop_assert_eq!(drawing.order(), Some(order.clone()), "{}", text);
        let repository = repository();
        let mut batch = begin(&repository);
        let made = commit_drawing(&mut batch, &drawing, &BTreeMap::new(), b"Ada").unwrap();
        // What is known is not made again, and the rest builds on it.
        let known = BTreeMap::from([made[0].clone()]);
        let again = commit_drawing(&mut batch, &drawing, &known, b"Ada").unwrap();
        prop_assert_eq!(&again[..], &made[1..]);
        batch.finish().unwrap();
        let view = view(&repository);
        let mut parent = None;
        for ((name, node), expected) in made.iter().zip(&order) {
            prop_assert_eq!(name, expected);
            let rev = view.changelog().rev(node).unwrap();
            prop_assert_eq!(view.changelog().parents(rev), [parent, None]);
            let description = view.with_changeset(rev, |changeset| changeset.description.to_vec()).unwrap();
            prop_assert_eq!(&description, name);
            let path = String::from_utf8(name.clone()).unwrap();
            prop_assert_eq!(&files_of(&view, node)[&path].0, name);
            parent = Some(rev);
        }
    }

    #[test]
    fn any_bytes_are_a_drawing_or_none(text in "[abo|/\\\\+\\- \n#=:>,]{0,80}") {
        let drawing = Drawing::parse(text.as_bytes());
        if let Some(order) = drawing.order() {
            prop_assert_eq!(order.len(), drawing.parents.len());
            for (at, name) in order.iter().enumerate() {
                let mut parents = drawing.parents[name].iter();
                prop_assert!(parents.all(|parent| order[..at].contains(parent)));
            }
        }
        // A description is read, or its fault is named.
        if let Err(error) = parse_dag(text.as_bytes()) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn a_drawn_merge_has_the_files_of_both_sides_and_of_its_remarks() {
    let text = b"  d    # d/more = one\\ntwo\n / \\   # d/a = <deleted>\nb   c  # c/twin = 1\n \\ /   # replace: b -> c -> d\n  a    # split: a -> b, c\n";
    let drawing = Drawing::parse(text);
    let names = |names: &[&str]| -> BTreeSet<Vec<u8>> {
        names.iter().map(|name| name.as_bytes().to_vec()).collect()
    };
    assert_eq!(drawing.parents[&b"d"[..]], names(&["b", "c"]));
    let repository = repository();
    let mut batch = begin(&repository);
    let made = commit_drawing(&mut batch, &drawing, &BTreeMap::new(), b"Ada").unwrap();
    batch.finish().unwrap();
    let (name, merge) = made.last().unwrap();
    assert_eq!(name, b"d");
    let files = files_of(&view(&repository), merge);
    let found: Vec<(&str, &[u8])> = files
        .iter()
        .map(|(path, file)| (&path[..], &file.0[..]))
        .collect();
    let rest: [(&str, &[u8]); 4] = [
        ("b", b"b"),
        ("c", b"c"),
        ("more", b"one\ntwo"),
        ("twin", b"1"),
    ];
    assert_eq!(found, rest);
    let rewrites: Vec<(usize, usize)> = drawing
        .remarks
        .iter()
        .filter_map(|remark| match remark {
            Remark::Rewrite { old, new, .. } => Some((old.len(), new.len())),
            Remark::File { .. } => None,
        })
        .collect();
    assert_eq!(rewrites, [(1, 1), (1, 1), (1, 2)]);
}

#[test]
fn circles_and_third_parents_are_refused() {
    let circle = Drawing {
        parents: BTreeMap::from([
            (b"a".to_vec(), BTreeSet::from([b"b".to_vec()])),
            (b"b".to_vec(), BTreeSet::from([b"a".to_vec()])),
        ]),
        remarks: Vec::new(),
    };
    assert_eq!(circle.order(), None);
    let repository = repository();
    let mut batch = begin(&repository);
    let refused = |batch: &mut _, drawing: &Drawing| {
        commit_drawing(batch, drawing, &BTreeMap::new(), b"Ada").unwrap_err()
    };
    assert!(matches!(
        refused(&mut batch, &circle),
        WorkdirError::DrawnCircle
    ));
    let three = ["a", "b", "c"].map(|name| name.as_bytes().to_vec());
    let mut parents: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>> =
        three.clone().map(|name| (name, BTreeSet::new())).into();
    parents.insert(b"m".to_vec(), three.into());
    let drawing = Drawing {
        parents,
        remarks: Vec::new(),
    };
    assert!(
        matches!(refused(&mut batch, &drawing), WorkdirError::DrawnParents(name) if name == "m")
    );
    assert!(batch.finish().is_ok());
}
