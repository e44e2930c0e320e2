//! Which changesets may be rewritten, and which follow from others.

use crate::histories::MemoryRepo;
use proptest::prelude::*;
use std::collections::BTreeSet;
use varve_repo::{Evolution, LockKind, Phase, Rev, RewriteRefusal, ViewFilter};

const WITHOUT: Evolution = Evolution {
    markers: false,
    unstable: false,
    exchange: false,
    divergence: false,
};
const WITH_UNSTABLE: Evolution = Evolution {
    markers: true,
    unstable: true,
    exchange: false,
    divergence: false,
};

#[test]
fn a_draft_head_may_be_rewritten() {
    let (repo, nodes) = MemoryRepo::new(&[&[], &[0]]);
    let view = repo.view(ViewFilter::Visible);
    let refusal = view.rewrite_refusal(repo.rev(&nodes[1]), WITHOUT);
    assert_eq!(refusal.unwrap(), None);
}

#[test]
fn public_changesets_are_immutable_whatever_is_allowed() {
    let (repo, nodes) = MemoryRepo::new(&[&[]]);
    repo.set_phase(&nodes[0], Phase::Public);
    let view = repo.view(ViewFilter::Visible);
    for evolution in [WITHOUT, WITH_UNSTABLE] {
        let refusal = view.rewrite_refusal(repo.rev(&nodes[0]), evolution);
        assert_eq!(refusal.unwrap(), Some(RewriteRefusal::Public));
    }
}

#[test]
fn descendants_refuse_a_rewrite_unless_orphans_are_allowed() {
    // 0 has the descendants 1, 2 and 4; 3 is apart.
    let (repo, nodes) = MemoryRepo::new(&[&[], &[0], &[1], &[], &[3, 1]]);
    let view = repo.view(ViewFilter::Visible);
    let refusal = |evolution| {
        view.rewrite_refusal(repo.rev(&nodes[0]), evolution)
            .unwrap()
    };
    assert_eq!(
        refusal(WITHOUT),
        Some(RewriteRefusal::Orphans { descendants: 3 })
    );
    assert_eq!(refusal(WITH_UNSTABLE), None);
}

#[test]
fn hidden_descendants_do_not_count() {
    let (repo, nodes) = MemoryRepo::new(&[&[], &[0], &[0]]);
    repo.add_marker(nodes[1], nodes[2]);
    let count = |filter| repo.view(filter).count_descendants(repo.rev(&nodes[0]));
    assert_eq!(count(ViewFilter::Visible), 1);
    assert_eq!(count(ViewFilter::Unfiltered), 2);
}

#[test]
fn a_second_successor_would_diverge() {
    // 1 was rewritten as 2, and 2 as 3; a bookmark keeps 1 visible.
    let (repo, nodes) = MemoryRepo::new(&[&[], &[0], &[0], &[0]]);
    repo.set_bookmark("keep", nodes[1]);
    repo.add_marker(nodes[1], nodes[2]);
    repo.add_marker(nodes[2], nodes[3]);
    let view = repo.view(ViewFilter::Visible);
    let refusal = view.rewrite_refusal(repo.rev(&nodes[1]), WITH_UNSTABLE);
    let expected = RewriteRefusal::Divergence {
        successor: nodes[3],
        predecessor: nodes[1],
    };
    assert_eq!(refusal.unwrap(), Some(expected));
    let allowed = Evolution {
        divergence: true,
        ..WITH_UNSTABLE
    };
    let refusal = view.rewrite_refusal(repo.rev(&nodes[1]), allowed);
    assert_eq!(refusal.unwrap(), None);
    let newest = view.rewrite_refusal(repo.rev(&nodes[3]), WITH_UNSTABLE);
    assert_eq!(newest.unwrap(), None);
}

#[test]
fn phases_move_in_one_transaction_or_not_at_all() {
    let (repo, nodes) = MemoryRepo::new(&[&[], &[0], &[1]]);
    let moved = |rev: usize, target, raise| {
        let lock = repo.repository.try_lock(LockKind::Store).unwrap();
        let rev = repo.rev(&nodes[rev]);
        repo.repository.move_phases(lock, &[rev], target, raise)
    };
    let phases = || {
        let view = repo.view(ViewFilter::Unfiltered);
        [0, 1, 2].map(|rev| view.phases().of(Rev(rev)))
    };
    assert_eq!(moved(1, Phase::Public, false).unwrap().changed, 2);
    assert_eq!(phases(), [Phase::Public, Phase::Public, Phase::Draft]);
    let refused = moved(1, Phase::Secret, false).unwrap();
    assert_eq!((refused.changed, refused.rejected), (0, 1));
    assert_eq!(phases(), [Phase::Public, Phase::Public, Phase::Draft]);
    assert_eq!(moved(1, Phase::Secret, true).unwrap().changed, 2);
    assert_eq!(phases(), [Phase::Public, Phase::Secret, Phase::Secret]);
}

/// Up to twelve changesets, each with up to two earlier parents.
fn graphs() -> impl Strategy<Value = Vec<Vec<usize>>> {
    let parents = proptest::collection::vec(any::<usize>(), 0..3);
    proptest::collection::vec(parents, 1..12).prop_map(|all| {
        let rows = all.into_iter().enumerate().map(|(number, parents)| {
            let earlier = parents.into_iter().filter(|_| number > 0);
            let earlier: BTreeSet<usize> = earlier.map(|parent| parent % number).collect();
            earlier.into_iter().collect()
        });
        rows.collect()
    })
}

/// Changesets with all that they build on.
fn closure(parents: &[Vec<usize>], of: &[usize]) -> BTreeSet<usize> {
    let (mut wanted, mut found) = (of.to_vec(), BTreeSet::new());
    while let Some(number) = wanted.pop() {
        if found.insert(number) {
            wanted.extend(&parents[number]);
        }
    }
    found
}

fn some(of: &[usize], len: usize) -> Vec<usize> {
    of.iter().map(|number| number % len).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn ancestors_and_descendants_are_those_of_the_graph(
        parents in graphs(),
        heads in proptest::collection::vec(any::<usize>(), 0..4),
        common in proptest::collection::vec(any::<usize>(), 0..4),
    ) {
        let slices: Vec<&[usize]> = parents.iter().map(Vec::as_slice).collect();
        let (repo, _) = MemoryRepo::new(&slices);
        let view = repo.view(ViewFilter::Unfiltered);
        let (heads, common) = (some(&heads, parents.len()), some(&common, parents.len()));
        let revs = |of: &[usize]| -> Vec<Rev> { of.iter().map(|number| Rev(*number as u32)).collect() };
        let missing: Vec<usize> = closure(&parents, &heads)
            .difference(&closure(&parents, &common))
            .copied()
            .collect();
        prop_assert_eq!(view.missing_ancestors(&revs(&heads), &revs(&common)), revs(&missing));
        for rev in 0..parents.len() {
            for other in 0..parents.len() {
                let expected = rev != other && closure(&parents, &[rev]).contains(&other);
                let found = view.is_descendant(Rev(rev as u32), Rev(other as u32));
                prop_assert_eq!(found, expected);
                let (one, two) = (closure(&parents, &[rev]), closure(&parents, &[other]));
                let shared: BTreeSet<usize> = one.intersection(&two).copied().collect();
                let is_head = |number: &usize| {
                    let mut newer = shared.iter().filter(|newer| *newer != number);
                    !newer.any(|newer| closure(&parents, &[*newer]).contains(number))
                };
                let expected: Vec<usize> = shared.iter().copied().filter(|number| is_head(number)).collect();
                let found = view.common_ancestor_heads(Rev(rev as u32), Rev(other as u32));
                prop_assert_eq!(found, revs(&expected));
            }
        }
        let all: Vec<usize> = (0..parents.len()).collect();
        let builds_on = |root: usize| {
            let all = all.iter().copied();
            let descendants = all.filter(|number| closure(&parents, &[*number]).contains(&root));
            descendants.collect::<BTreeSet<usize>>()
        };
        let expected: BTreeSet<usize> = common.iter().flat_map(|root| builds_on(*root)).collect();
        let expected: Vec<usize> = expected.into_iter().collect();
        prop_assert_eq!(view.descendants_among(&revs(&all), &revs(&common)), revs(&expected));
        for root in &heads {
            let count = view.count_descendants(Rev(*root as u32));
            prop_assert_eq!(count, builds_on(*root).len() - 1);
        }
    }
}
