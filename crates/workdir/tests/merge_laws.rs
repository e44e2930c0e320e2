//! Laws of merging three states without the working copy: where it is symmetric, and what it keeps.

use super::histories::{History, graphs};
use super::model::{Files, begin, commit_files, file, files, files_of};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use varve_base::MemoryStorage;
use varve_repo::{FileChange, FileKind, Node, Phase, Repository, ViewFilter};
use varve_workdir::{ChangesetMetadata, CommitMetadata, ReplayStep, Replayed, Replayer};

/// A base and changes of it, in memory.
struct Forks {
    repository: Repository,
    base: Node,
    files: Files,
}

/// The end of a replay: its files and whether it changed nothing, or the reason why it has none.
#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Files(Files, bool),
    Conflict,
    Unclear,
}

impl Forks {
    fn new(files: &Files) -> Forks {
        let storage = Arc::new(MemoryStorage::default());
        let repository = Repository::create(storage, Path::new("")).unwrap();
        let base = commit_files(&repository, [Node::NULL; 2], &Files::new(), files);
        Forks {
            repository,
            base,
            files: files.clone(),
        }
    }

    fn side(&self, files: &Files) -> Node {
        commit_files(
            &self.repository,
            [self.base, Node::NULL],
            &self.files,
            files,
        )
    }

    /// Brings the changes of `other` since the base onto `onto`.
    fn replay(&self, other: Node, onto: Node) -> End {
        let view = self.repository.view_for(ViewFilter::Unfiltered).unwrap();
        let mut batch = begin(&self.repository);
        let step = ReplayStep {
            rev: view.changelog().rev(&other).unwrap(),
            base: view.changelog().rev(&self.base),
            parents: [onto, Node::NULL],
        };
        let metadata = CommitMetadata {
            user: b"Eve",
            date: (1, 0),
            branch: b"default",
            extras: &[],
            description: b"replayed",
            phase: Phase::Draft,
        };
        match Replayer::new(&view).plan(&batch, &step).unwrap() {
            Replayed::Plan(plan) => {
                let node = plan.commit(&mut batch, &metadata).unwrap();
                batch.finish().unwrap();
                let view = self.repository.view_for(ViewFilter::Unfiltered).unwrap();
                End::Files(files_of(&view, &node), plan.is_unchanged())
            }
            Replayed::Conflict { merged } => {
                assert!(!merged.is_empty());
                End::Conflict
            }
            Replayed::NeedsWorkingCopy => End::Unclear,
        }
    }
}

/// A text of which each side may change any line; neighbours are far enough from each other to be merged.
const LINES: usize = 6;

fn text(changed: &[Option<u8>]) -> Files {
    let line = |(number, word): (usize, &Option<u8>)| {
        let word = word.map_or("same".to_owned(), |word| format!("word {word}"));
        format!("{number} {word}\nbetween\nand between\n")
    };
    let lines: String = changed.iter().enumerate().map(line).collect();
    Files::from([("text".to_owned(), file(&lines))])
}

fn words() -> impl Strategy<Value = Vec<Option<u8>>> {
    proptest::collection::vec(prop::option::weighted(0.4, 0..3_u8), LINES)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn a_change_brought_onto_its_base_is_itself(base in files(), other in files()) {
        let forks = Forks::new(&base);
        let other_node = forks.side(&other);
        let expected = End::Files(other.clone(), base == other);
        prop_assert_eq!(forks.replay(other_node, forks.base), expected);
    }

    #[test]
    fn no_change_leaves_the_destination_as_it_is(base in files(), onto in files()) {
        let forks = Forks::new(&base);
        let (nothing, onto_node) = (forks.side(&base), forks.side(&onto));
        prop_assert_eq!(forks.replay(nothing, onto_node), End::Files(onto, true));
    }

    /// The same change on both sides leaves nothing to bring.
    #[test]
    fn a_change_that_is_there_already_is_no_change(base in files(), both in files()) {
        let forks = Forks::new(&base);
        let node = forks.side(&both);
        prop_assert_eq!(forks.replay(node, node), End::Files(both, true));
    }

    #[test]
    fn the_sides_of_a_merge_may_be_swapped(base in files(), one in files(), other in files()) {
        let forks = Forks::new(&base);
        let (one_node, other_node) = (forks.side(&one), forks.side(&other));
        let ends = [forks.replay(one_node, other_node), forks.replay(other_node, one_node)];
        if let [End::Files(first, first_unchanged), End::Files(second, second_unchanged)] = &ends {
            prop_assert_eq!(first, second);
            prop_assert_eq!(*first_unchanged, *first == other);
            prop_assert_eq!(*second_unchanged, *second == one);
        }
        let is_conflict = ends.iter().map(|end| *end == End::Conflict);
        let conflicts = is_conflict.filter(|is| *is).count();
        // Which files a side names depends on the side: a file that only the other has changed is not looked at.
        prop_assert!(conflicts != 1 || ends.contains(&End::Unclear), "{:?}", ends);
    }

    /// Line by line: what one side has changed is taken, and a conflict is a line that both have changed to other words.
    #[test]
    fn lines_are_merged_one_by_one(ours in words(), theirs in words()) {
        let forks = Forks::new(&text(&[None; LINES]));
        let (our_node, their_node) = (forks.side(&text(&ours)), forks.side(&text(&theirs)));
        let pairs = ours.iter().zip(&theirs);
        let is_conflict = pairs.clone().any(|(a, b)| a.is_some() && b.is_some() && a != b);
        let merged: Vec<Option<u8>> = pairs.map(|(a, b)| a.or(*b)).collect();
        let expected = |onto: &Vec<Option<u8>>| match is_conflict {
            true => End::Conflict,
            false => End::Files(text(&merged), merged == *onto),
        };
        prop_assert_eq!(forks.replay(their_node, our_node), expected(&ours));
        prop_assert_eq!(forks.replay(our_node, their_node), expected(&theirs));
    }

    /// As an edit of history does that picks everything: with its own metadata, nothing becomes another changeset.
    #[test]
    fn a_changeset_replayed_in_its_place_is_the_same(graph in graphs(), contents in proptest::collection::vec(files(), 14)) {
        let mut history = History::new();
        let branches = ["default", "other"];
        for (number, parents) in graph.iter().enumerate() {
            let own = contents[number].iter().map(|(path, (content, kind))| FileChange::Write {
                path: path.as_bytes(),
                content,
                kind: *kind,
                copied_from: None,
            });
            // Files of both sides of a merge may be one's directory of another's.
            let changes: Vec<FileChange<'_>> = own.collect();
            history.commit(parents, branches[number % 2], &changes);
        }
        let (repository, nodes) = history.into_repository();
        let view = repository.view_for(ViewFilter::Unfiltered).unwrap();
        let mut batch = begin(&repository);
        let mut replayer = Replayer::new(&view);
        for (number, node) in nodes.iter().enumerate() {
            let rev = view.changelog().rev(node).unwrap();
            let [first, second] = view.changelog().parents(rev);
            if second.is_some() {
                continue;
            }
            let parents = [view.changelog().node_or_null(first), Node::NULL];
            let step = ReplayStep { rev, base: first, parents };
            let Replayed::Plan(plan) = replayer.plan(&batch, &step).unwrap() else {
                return Err(TestCaseError::fail(format!("{number} has conflicts with its own parent")));
            };
            let metadata = ChangesetMetadata::read(&view, rev).unwrap();
            let extras: Vec<(&[u8], &[u8])> =
                metadata.extras.iter().map(|(key, value)| (&key[..], &value[..])).collect();
            let metadata = CommitMetadata {
                user: &metadata.user,
                date: metadata.date,
                branch: &metadata.branch,
                extras: &extras,
                description: &metadata.description,
                phase: Phase::Draft,
            };
            prop_assert!(plan.keeps_diff && plan.merged.is_empty());
            prop_assert_eq!(plan.commit(&mut batch, &metadata).unwrap(), *node);
        }
    }
}

/// A renamed file gets the lines that the other side has changed under the old name, or the step asks for the working
/// copy; they are never lost.
#[test]
fn changes_of_a_renamed_file_are_not_lost() {
    let base = text(&[None; LINES]);
    let forks = Forks::new(&base);
    let mut changed = [None; LINES];
    changed[2] = Some(1);
    let edit = forks.side(&text(&changed));
    let mut batch = begin(&forks.repository);
    let (content, kind) = &base["text"];
    let changes = [
        FileChange::Remove { path: b"text" },
        FileChange::Write {
            path: b"new name",
            content,
            kind: *kind,
            copied_from: Some(b"text"),
        },
    ];
    let mut new = varve_repo::NewChangeset {
        parents: [forks.base, Node::NULL],
        user: b"Ada",
        date: (3, 0),
        branch: b"default",
        extras: &[],
        description: b"rename",
        phase: Phase::Draft,
        changes: &changes,
    };
    let rename = batch.commit(&new).unwrap();
    new.description = b"rename a program";
    let mode = [FileChange::Write {
        path: b"text",
        content,
        kind: FileKind::Executable,
        copied_from: None,
    }];
    new.changes = &mode;
    let mode = batch.commit(&new).unwrap();
    batch.finish().unwrap();
    for (other, onto) in [(edit, rename), (rename, edit), (mode, rename)] {
        assert_eq!(forks.replay(other, onto), End::Unclear);
    }
    // A mode and lines of one file are merged beside each other, or by the working copy.
    for (other, onto) in [(edit, mode), (mode, edit)] {
        match forks.replay(other, onto) {
            End::Files(files, false) => {
                let expected = (text(&changed)["text"].0.clone(), FileKind::Executable);
                assert_eq!(files["text"], expected);
            }
            end => assert_eq!(end, End::Unclear),
        }
    }
}
