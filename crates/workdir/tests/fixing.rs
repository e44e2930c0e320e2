//! Fixed files of changesets: what is compared with what, and the changesets in the place of the old ones.

use super::model::{Files, WorkingCopy, begin, commit_files, files, files_of, plain_files};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use varve_base::Interrupt;
use varve_lang::patterns::Matcher;
use varve_repo::{Node, Rev};
use varve_workdir::{
    FixPlace, FixPlan, FixRequest, FixScope, FixedFiles, IgnoreFiles, Tree, WorkingFiles,
    fix_changesets, fix_items,
};

/// Bases of the changesets and of a working copy at the last one, by number.
fn bases(copy: &WorkingCopy, revs: &[u32], given: Option<&[u32]>) -> Vec<Vec<Option<u32>>> {
    let view = copy.view();
    let last = Rev(view.changelog().len() as u32 - 1);
    let revs: BTreeSet<Rev> = revs.iter().copied().map(Rev).collect();
    let given = given.map(|revs| revs.iter().map(|rev| Some(Rev(*rev))).collect());
    let plan = FixPlan::new(&view, &revs, Some([Some(last), None]), given.as_ref());
    assert!(plan.has_working_copy());
    assert_eq!(plan.revs().collect::<BTreeSet<_>>(), revs);
    let places = plan.places();
    places
        .map(|(_, bases)| bases.iter().map(|base| base.map(|rev| rev.0)).collect())
        .collect()
}

#[test]
fn places_are_compared_with_the_nearest_that_are_not_fixed() {
    let copy = WorkingCopy::new();
    let states: Vec<Files> = ["0", "1", "2", "3", "4"]
        .iter()
        .map(|text| plain_files(&[("a", text)]))
        .collect();
    // 0 - 1 - 2, 0 - 3, and 4 merges 2 and 3.
    let first = copy.commit(Node::NULL, &Files::new(), &states[0]);
    let second = copy.commit(first, &states[0], &states[1]);
    let third = copy.commit(second, &states[1], &states[2]);
    let side = copy.commit(first, &states[0], &states[3]);
    commit_files(&copy.repository, [third, side], &states[2], &states[4]);
    let of = |revs: &[u32]| bases(&copy, revs, None);
    assert_eq!(of(&[]), [[Some(4)]]);
    assert_eq!(of(&[0]), [vec![None], vec![Some(4)]]);
    assert_eq!(of(&[1, 2]), [vec![Some(0)], vec![Some(0)], vec![Some(4)]]);
    assert_eq!(of(&[0, 2]), [vec![None], vec![Some(1)], vec![Some(4)]]);
    assert_eq!(
        of(&[2, 4]),
        [
            vec![Some(1)],
            vec![Some(1), Some(3)],
            vec![Some(1), Some(3)]
        ]
    );
    assert_eq!(of(&[0, 1, 2, 3, 4]), vec![vec![None]; 6]);
    assert_eq!(bases(&copy, &[1, 4], Some(&[2])), vec![vec![Some(2)]; 3]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn files_that_differ_from_the_base_are_fixed_and_the_others_stay(states in prop::collection::vec(files(), 2..5)) {
        let copy = WorkingCopy::new();
        let mut nodes = vec![copy.commit(Node::NULL, &Files::new(), &states[0])];
        for two in states.windows(2) {
            nodes.push(copy.commit(nodes[nodes.len() - 1], &two[0], &two[1]));
        }
        let view = copy.view();
        let revs: Vec<Rev> = nodes[1..].iter().filter_map(|node| view.changelog().rev(node)).collect();
        let plan = FixPlan::new(&view, &revs.iter().copied().collect(), None, None);
        let scope = FixScope {
            repository: &copy.repository,
            view: &view,
            dirstate: &copy.dirstate(),
            ignore: &IgnoreFiles::read(copy.repository.root(), &[]).unwrap().ignore,
            matcher: &Matcher::everything(),
            is_named: false,
            stop: &Interrupt::default(),
        };
        let mut fixed = FixedFiles::new();
        for item in fix_items(&scope, &plan).unwrap() {
            let content = item.content(&scope).unwrap().to_ascii_uppercase();
            for place in &item.places {
                let FixPlace::Rev(rev) = place else { panic!("no working copy is planned") };
                fixed.entry(*rev).or_default().insert(item.path.clone(), content.clone());
            }
        }
        let mut batch = begin(&copy.repository);
        let request = FixRequest {
            view: &view,
            revs: &revs,
            files: &fixed,
            stop: &Interrupt::default(),
        };
        let made = fix_changesets(&mut batch, &request).unwrap();
        batch.finish().unwrap();
        let after = copy.view();
        for (number, node) in nodes.iter().enumerate().skip(1) {
            let done = made.iter().find(|fixed| fixed.done.old == *node);
            let now = done.map_or(*node, |fixed| fixed.done.node);
            let mut expected = states[number].clone();
            // As in `status` between changesets, another revision of a file is a change, whatever its content.
            let trees = [&nodes[0], node].map(|node| Tree::of(&view, view.changelog().rev(node)).unwrap());
            for (path, file) in &mut expected {
                let [base, own] = [0, 1].map(|at: usize| trees[at].get(path.as_bytes()).unwrap());
                if base != own {
                    file.0.make_ascii_uppercase();
                }
            }
            prop_assert_eq!(files_of(&after, &now), expected);
            let parent = after.changelog().parents(after.changelog().rev(&now).unwrap())[0];
            let below = made.iter().find(|fixed| fixed.done.old == nodes[number - 1]);
            let below = below.map_or(nodes[number - 1], |fixed| fixed.done.node);
            prop_assert_eq!(after.changelog().node_or_null(parent), below);
        }
    }
}

#[test]
fn a_replaced_file_keeps_its_mode_or_its_content() {
    let copy = WorkingCopy::new();
    let files = WorkingFiles::new(copy.directory.path());
    std::fs::write(copy.path("a"), "old").unwrap();
    std::fs::hard_link(copy.path("a"), copy.path("other name")).unwrap();
    std::fs::set_permissions(copy.path("a"), PermissionsExt::from_mode(0o640)).unwrap();
    files.replace(b"a", b"new").unwrap();
    let read = |name: &str| std::fs::read_to_string(copy.path(name)).unwrap();
    assert_eq!(
        (read("a"), read("other name")),
        ("new".into(), "old".into())
    );
    let mode = std::fs::metadata(copy.path("a")).unwrap().permissions();
    assert_eq!(mode.mode() & 0o777, 0o640);
    files.replace(b"gone", b"new").unwrap_err();
    assert!(!copy.path("gone").exists());
    // As with a full disk, the new content cannot be written at all.
    std::fs::create_dir(copy.path(".hg/replacement~")).unwrap();
    files.replace(b"a", b"newer").unwrap_err();
    assert_eq!(read("a"), "new");
}
