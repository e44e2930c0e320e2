//! Copies between changesets against a model that follows each file from one changeset to the one below.

use super::histories::History;
use proptest::prelude::*;
use std::collections::BTreeMap;
use varve_repo::{FileChange, FileKind, RepoView, Rev};
use varve_workdir::path_copies;

/// Names that files may have.
const NAMES: [&str; 6] = ["a", "b", "c", "d/a", "d/b", "e"];

/// One change of a file, by places in [`NAMES`]; what cannot be done is left out.
#[derive(Clone, Copy, Debug)]
enum Step {
    Write(usize),
    Remove(usize),
    Copy(usize, usize),
    Rename(usize, usize),
}

fn steps() -> impl Strategy<Value = Vec<Vec<Step>>> {
    let name = 0..NAMES.len();
    let step = prop_oneof![
        name.clone().prop_map(Step::Write),
        name.clone().prop_map(Step::Remove),
        (name.clone(), name.clone()).prop_map(|(from, to)| Step::Copy(from, to)),
        (name.clone(), name).prop_map(|(from, to)| Step::Rename(from, to)),
    ];
    proptest::collection::vec(proptest::collection::vec(step, 1..4), 1..8)
}

/// Sources of the files of one changeset: themselves, another file of the changeset below, or none.
type Sources = BTreeMap<usize, Option<usize>>;

/// The changes of one changeset: each file is changed once, and a file that another comes from is not written.
fn apply(steps: &[Step], before: &Sources) -> Sources {
    let mut after: Sources = before.keys().map(|name| (*name, Some(*name))).collect();
    let mut changed = Vec::new();
    for step in steps {
        let (from, to) = match *step {
            Step::Write(name) | Step::Remove(name) => (name, name),
            Step::Copy(from, to) | Step::Rename(from, to) => (from, to),
        };
        if changed.contains(&from) || changed.contains(&to) {
            continue;
        }
        match *step {
            Step::Write(name) if !before.contains_key(&name) => {
                after.insert(name, None);
            }
            Step::Remove(name) => {
                after.remove(&name);
            }
            Step::Copy(..) | Step::Rename(..)
                if before.contains_key(&from) && !before.contains_key(&to) =>
            {
                after.insert(to, Some(from));
                if matches!(step, Step::Rename(..)) {
                    after.remove(&from);
                }
            }
            _ => continue,
        }
        changed.extend([from, to]);
    }
    after
}

/// Commits all states in a line; no two files ever have the same content.
fn history(states: &[Sources]) -> std::sync::Arc<RepoView> {
    let mut history = History::new();
    let mut before = Sources::new();
    for (number, state) in states.iter().enumerate() {
        let name = |at: &usize| NAMES[*at].as_bytes();
        let texts: BTreeMap<usize, String> = state
            .keys()
            .map(|at| (*at, format!("{} in {number}\n", NAMES[*at])))
            .collect();
        let removed = before.keys().filter(|at| !state.contains_key(at));
        let mut changes: Vec<FileChange<'_>> = removed
            .map(|at| FileChange::Remove { path: name(at) })
            .collect();
        for (at, source) in state.iter().filter(|(at, source)| Some(**at) != **source) {
            changes.push(FileChange::Write {
                path: name(at),
                content: texts[at].as_bytes(),
                kind: FileKind::Plain,
                copied_from: source.as_ref().map(name),
            });
        }
        let parent = number.checked_sub(1);
        history.commit(parent.as_slice(), "default", &changes);
        before = state.clone();
    }
    history.finish().0
}

/// The file of `old` that a file of `new` comes from.
fn origin(states: &[Sources], old: usize, new: usize, mut name: usize) -> Option<usize> {
    for state in states[old + 1..=new].iter().rev() {
        name = state[&name]?;
    }
    Some(name)
}

fn named(copies: &BTreeMap<usize, usize>) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let bytes = |at: &usize| NAMES[*at].as_bytes().to_vec();
    let copies = copies.iter();
    copies.map(|(to, from)| (bytes(to), bytes(from))).collect()
}

fn rev(number: usize) -> Option<Rev> {
    Some(Rev(u32::try_from(number).unwrap()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn copies_are_followed_through_a_line_of_changesets(all in steps()) {
        let mut states = vec![Sources::from([(0, None), (1, None), (3, None)])];
        for steps in &all {
            let state = apply(steps, &states[states.len() - 1]);
            states.push(state);
        }
        let view = history(&states);
        for (old, new) in (0..states.len()).flat_map(|new| (0..new).map(move |old| (old, new))) {
            let is_new = |name: &&usize| !states[old].contains_key(name);
            let forward: BTreeMap<usize, usize> = states[new]
                .keys()
                .filter(is_new)
                .filter_map(|name| Some((*name, origin(&states, old, new, *name)?)))
                .collect();
            let found = path_copies(&view, rev(old), rev(new)).unwrap();
            prop_assert_eq!(found, named(&forward), "from {} to {}", old, new);
            // On the way back a rename leads from the last of the new names to the old one.
            let mut back = BTreeMap::new();
            for (name, source) in forward {
                if !states[new].contains_key(&source) {
                    back.insert(source, name);
                }
            }
            let found = path_copies(&view, rev(new), rev(old)).unwrap();
            prop_assert_eq!(found, named(&back), "from {} back to {}", new, old);
        }
    }
}

/// Two lines of descent: the way goes back by renames and forward by copies.
#[test]
fn copies_between_two_heads_go_through_their_ancestor() {
    let write = |path: &'static str, copied_from: Option<&'static str>| FileChange::Write {
        path: path.as_bytes(),
        content: b"content\n",
        kind: FileKind::Plain,
        copied_from: copied_from.map(str::as_bytes),
    };
    let remove = FileChange::Remove { path: b"a" };
    let mut history = History::new();
    history.commit(&[], "default", &[write("a", None)]);
    history.commit(&[0], "default", &[write("left", Some("a")), remove]);
    history.commit(&[0], "default", &[write("right", Some("a"))]);
    let (view, _) = history.finish();
    let pair = |to: &str, from: &str| (to.as_bytes().to_vec(), from.as_bytes().to_vec());
    let found = path_copies(&view, rev(1), rev(2)).unwrap();
    assert_eq!(
        found,
        BTreeMap::from([pair("a", "left"), pair("right", "left")])
    );
    let found = path_copies(&view, rev(2), rev(1)).unwrap();
    assert_eq!(found, BTreeMap::from([pair("left", "a")]));
    assert!(path_copies(&view, rev(2), rev(2)).unwrap().is_empty());
    assert!(path_copies(&view, rev(2), None).unwrap().is_empty());
}
