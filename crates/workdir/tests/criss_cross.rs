//! Merges of lines of history that were merged into each other before, so that there are several bases.

use super::branch_merge::merge_telling;
use super::model::{Content, Files, Recording, WorkingCopy, commit_files, file};
use proptest::prelude::*;
use std::collections::BTreeMap;
use varve_repo::Node;
use varve_workdir::{LocalChanges, MergeTool};

const PATHS: [&str; 4] = ["a", "b", "d/a", "z"];

/// One of few contents for each path.
fn states() -> impl Strategy<Value = Files> {
    let content = prop::sample::select(vec!["1\n", "2\n", "3\n"]);
    proptest::collection::vec(content, PATHS.len()).prop_map(|contents| {
        let files = PATHS.iter().zip(contents);
        files
            .map(|(path, content)| ((*path).to_owned(), file(content)))
            .collect()
    })
}

/// Two bases, both merged into each other twice, and what came of each merge.
struct CrissCross {
    copy: WorkingCopy,
    bases: [Node; 2],
    ends: [Node; 2],
}

fn criss_cross(bases: &[Files; 2], ends: &[Files; 2]) -> CrissCross {
    let copy = WorkingCopy::new();
    let repository = &copy.repository;
    let root_files = Files::from([("root".to_owned(), file("0\n"))]);
    let root = copy.commit(Node::NULL, &Files::new(), &root_files);
    let [one, other] = [&bases[0], &bases[1]].map(|files| copy.commit(root, &root_files, files));
    // A file of its own keeps the changesets of equal states apart.
    let marked = |files: &Files, mark: &str| {
        let mut files = files.clone();
        files.insert(mark.to_owned(), file(mark));
        files
    };
    let ours = marked(&ends[0], "ours");
    let theirs = marked(&ends[1], "theirs");
    let ends = [
        commit_files(repository, [one, other], &bases[0], &ours),
        commit_files(repository, [other, one], &bases[1], &theirs),
    ];
    CrissCross {
        copy,
        bases: [one, other],
        ends,
    }
}

/// Keeping a file wins over taking theirs, and both over a merge, in which ours wins here. Each end has the revisions of
/// the base that is its first parent; the same content as in the other one is a revision of its own.
fn decided<'f>(bases: [&Content; 2], ours: &'f Content, theirs: &'f Content) -> &'f Content {
    let (keeps, takes) = (theirs == bases[1], ours == bases[0]);
    if takes && !keeps { theirs } else { ours }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn each_base_has_its_say_about_each_file(
        one in states(), other in states(), ours in states(), theirs in states(),
    ) {
        prop_assume!(one != other);
        let merges = criss_cross(&[one.clone(), other.clone()], &[ours.clone(), theirs.clone()]);
        let copy = &merges.copy;
        copy.update(merges.ends[0], LocalChanges::Refuse, MergeTool::Fail).unwrap();
        let mut told = Recording::default();
        let stats = merge_telling(copy, merges.ends[1], MergeTool::Local, &mut told).unwrap();
        prop_assert_eq!(stats.unresolved, 0);
        let auctions: Vec<&String> = told.0.iter().filter(|event| event.starts_with("Auction")).collect();
        prop_assert_eq!(auctions.len(), 1);
        for base in merges.bases {
            prop_assert!(auctions[0].contains(&base.to_string()), "{}", auctions[0]);
        }
        let found: BTreeMap<String, Content> = copy.on_disk();
        for path in PATHS {
            let expected = decided([&one[path], &other[path]], &ours[path], &theirs[path]);
            prop_assert_eq!(&found[path], expected, "{}", path);
        }
        prop_assert!(found.contains_key("ours") && found.contains_key("theirs"));
        prop_assert_eq!(copy.dirstate().parents(), merges.ends);
    }
}
