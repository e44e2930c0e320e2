//! Laws over random contents: renames that are detected, descriptions that are tidied, links among files.

use super::model::{Files, WorkingCopy, letters};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::symlink;
use varve_repo::{FileKind, Node};
use varve_workdir::{
    LocalChanges, MergeTool, RenameCandidate, WorkingFiles, detect_renames, message,
};

fn candidates() -> impl Strategy<Value = Vec<RenameCandidate>> {
    let line = prop::sample::select(vec!["a\n", "b\n", "c\n", "d\n", "e\n"]);
    let content = proptest::collection::vec(line, 0..6);
    proptest::collection::vec(content, 0..6).prop_map(|contents| {
        let numbered = contents.into_iter().enumerate();
        let candidate = |(number, lines): (usize, Vec<&str>)| RenameCandidate {
            path: number.to_string().into_bytes(),
            content: lines.concat().into_bytes(),
        };
        numbered.map(candidate).collect()
    })
}

proptest! {
    #[test]
    fn each_added_file_has_one_source_that_is_alike(
        removed in candidates(), added in candidates(), least in 0.1_f64..1.0,
    ) {
        let found = detect_renames(&removed, &added, least);
        let targets: BTreeSet<&Vec<u8>> = found.iter().map(|rename| &rename.to).collect();
        prop_assert_eq!(targets.len(), found.len());
        let content = |files: &[RenameCandidate], path: &[u8]| {
            files.iter().find(|file| file.path == path).map(|file| file.content.clone())
        };
        for rename in &found {
            let (from, to) = (content(&removed, &rename.from), content(&added, &rename.to));
            prop_assert!(from.is_some() && to.is_some());
            prop_assert!(rename.score >= least && rename.score <= 1.0);
            prop_assert_eq!(rename.score == 1.0, from == to, "{:?}", rename);
        }
        // Those of the same content come first, and every one of them is found.
        let same = found.iter().take_while(|rename| rename.score == 1.0).count();
        prop_assert!(found[same..].iter().all(|rename| rename.score < 1.0));
        let exact = added.iter().filter(|to| {
            !to.content.is_empty() && removed.iter().any(|from| from.content == to.content)
        });
        prop_assert_eq!(exact.count(), same);
    }

    /// Asking for more likeness finds some of the same renames, and none that are new.
    #[test]
    fn a_stricter_search_finds_no_more(removed in candidates(), added in candidates(), least in 0.1_f64..0.9) {
        let all = detect_renames(&removed, &added, least);
        let strict = detect_renames(&removed, &added, least + 0.1);
        let pairs: BTreeMap<&Vec<u8>, f64> = all.iter().map(|rename| (&rename.to, rename.score)).collect();
        for rename in &strict {
            prop_assert_eq!(pairs.get(&rename.to), Some(&rename.score), "{:?}", rename);
        }
        let kept = all.iter().filter(|rename| rename.score >= least + 0.1).count();
        prop_assert_eq!(strict.len(), kept);
    }

    #[test]
    fn tidying_is_idempotent_and_keeps_the_words(text in "[ab \t\r\n]{0,40}") {
        let tidy = message::tidy(text.as_bytes());
        prop_assert_eq!(message::tidy(&tidy), tidy.clone());
        let letters = |text: &[u8]| text.iter().copied().filter(|byte| b"ab".contains(byte)).collect::<Vec<u8>>();
        prop_assert_eq!(letters(&tidy), letters(text.as_bytes()));
        let lines: Vec<&[u8]> = tidy.split(|byte| *byte == b'\n').collect();
        prop_assert!(lines.iter().all(|line| line.trim_ascii_end() == *line));
        let is_bare = tidy.is_empty() || (!lines[0].is_empty() && !lines[lines.len() - 1].is_empty());
        prop_assert!(is_bare);
    }

    #[test]
    fn notes_go_and_all_other_lines_stay(lines in proptest::collection::vec("(HG:)?[a-zH: ]{0,6}", 0..9)) {
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        let kept: String = lines.iter().filter(|line| !line.starts_with("HG:")).map(|line| format!("{line}\n")).collect();
        prop_assert_eq!(message::without_notes(text.as_bytes()), kept.into_bytes());
    }
}

/// Files, programs and links by path.
fn mixed() -> impl Strategy<Value = Files> {
    let path = prop::sample::select(&["a", "b", "d/a", "d/e/b", "z"][..]);
    let content = prop::sample::select(&["a", "b", "nowhere", "d/e/b"][..]);
    let kinds = [FileKind::Plain, FileKind::Executable, FileKind::Symlink];
    let file = (content, prop::sample::select(kinds.to_vec()));
    let file = file.prop_map(|(content, kind)| (content.as_bytes().to_vec(), kind));
    proptest::collection::btree_map(path.prop_map(str::to_owned), file, 0..6)
}

fn read(copy: &WorkingCopy, paths: impl Iterator<Item = String>) -> Files {
    let files = WorkingFiles::new(copy.directory.path());
    let there = paths.filter(|path| {
        copy.path(path)
            .symlink_metadata()
            .is_ok_and(|found| !found.is_dir())
    });
    there
        .map(|path| (path.clone(), files.read(path.as_bytes()).unwrap()))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Files, programs and links take each other's places without being followed.
    #[test]
    fn kinds_take_each_others_places(states in proptest::collection::vec(mixed(), 2..4)) {
        let copy = WorkingCopy::new();
        let (mut parent, mut before) = (Node::NULL, Files::new());
        let mut nodes = Vec::new();
        for files in &states {
            if *files != before {
                parent = copy.commit(parent, &before, files);
            }
            before = files.clone();
            nodes.push(parent);
        }
        let all: BTreeSet<String> = states.iter().flat_map(|files| files.keys().cloned()).collect();
        let order = nodes.iter().zip(&states).chain(nodes.iter().zip(&states).rev());
        for (node, files) in order {
            copy.update(*node, LocalChanges::Refuse, MergeTool::Fail).unwrap();
            prop_assert_eq!(&read(&copy, all.iter().cloned()), files);
            prop_assert!(copy.status().is_unchanged());
        }
    }

    /// A file that is replaced by another kind with the same content is modified, and comes back by an update.
    #[test]
    fn a_changed_kind_is_a_change(files in mixed(), at in any::<prop::sample::Index>(), to in 1..3_usize) {
        prop_assume!(!files.is_empty());
        let copy = WorkingCopy::new();
        let node = copy.commit(Node::NULL, &Files::new(), &files);
        copy.update(node, LocalChanges::Refuse, MergeTool::Fail).unwrap();
        let (path, (content, kind)) = files.iter().nth(at.index(files.len())).unwrap();
        let kinds = [FileKind::Plain, FileKind::Executable, FileKind::Symlink];
        let now = kinds.iter().position(|other| other == kind).unwrap();
        let other = kinds[(now + to) % 3];
        copy.remove(path);
        match other {
            FileKind::Symlink => symlink(std::str::from_utf8(content).unwrap(), copy.path(path)).unwrap(),
            kind => copy.write(path, &(content.clone(), kind)),
        }
        prop_assert_eq!(letters(&copy.status())[path], 'M');
        copy.update(node, LocalChanges::Discard, MergeTool::Fail).unwrap();
        prop_assert_eq!(&read(&copy, files.keys().cloned()), &files);
        prop_assert!(copy.status().is_unchanged());
    }
}
