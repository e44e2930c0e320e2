//! Discovery and bundles where changesets are secret: these are neither known, sent nor found.

use super::history::{
    History, apply, bundle_of, histories, nodes_in, nodes_of, some_heads, sorted,
};
use super::wire::{ask, hex, text};
use crate::LocalPeer;
use crate::client::discovery::{DiscoveryResult, discover};
use crate::client::peer::Remote;
use crate::format::part::changegroup::TARGET_PHASE;
use crate::server::wire::WireSettings;
use proptest::prelude::*;
use std::collections::BTreeSet;
use varve_repo::{Node, Repository, ViewFilter};

type Numbers = BTreeSet<usize>;

/// Those of `set` that descend from one of `roots`, or are one.
fn descendants(history: &History, set: &Numbers, roots: &[usize]) -> Numbers {
    let roots: Numbers = roots.iter().map(|root| root % history.len()).collect();
    let descends = |number: &&usize| !history.closure(&[**number]).is_disjoint(&roots);
    set.iter().filter(descends).copied().collect()
}

/// A repository with `all` of a history, of which `secret` are secret.
fn repository(history: &History, all: &Numbers, secret: &Numbers) -> Repository {
    let repository = history.repository(&(all - secret));
    if !secret.is_empty() {
        let mut part = history.part(secret);
        part.header = part.header.with_advisory(TARGET_PHASE, "2");
        apply(&repository, &bundle_of(&[part])).unwrap();
    }
    repository
}

fn compare(own: &Repository, filter: ViewFilter, there: &Repository) -> DiscoveryResult {
    let view = own.view_for(filter).unwrap();
    let peer = LocalPeer::new(there.clone(), WireSettings::default());
    let mut remote = Remote::connect(Box::new(peer)).unwrap();
    discover(&view, &mut remote, None).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_secret_there_is_not_there(
        history in histories(40), own in some_heads(), there in some_heads(),
        roots in proptest::collection::vec(0_usize..1000, 0..3),
    ) {
        let (own, there) = (history.closure(&own), history.closure(&there));
        let secret = descendants(&history, &there, &roots);
        let shown = &there - &secret;
        let local = history.repository(&own);
        let remote = repository(&history, &there, &secret);
        let found = compare(&local, ViewFilter::Visible, &remote);
        prop_assert_eq!(sorted(found.common_heads), history.heads_of(&(&own & &shown)));
        prop_assert_eq!(found.incoming, !shown.is_subset(&own));
        let heads = match shown.is_empty() {
            true => vec![Node::NULL],
            false => history.heads_of(&shown),
        };
        prop_assert_eq!(sorted(found.remote_heads), heads);
    }

    /// A client that compares without its own secret changesets never names one of them.
    #[test]
    fn what_is_secret_here_is_not_asked_about(
        history in histories(40), own in some_heads(), there in some_heads(),
        roots in proptest::collection::vec(0_usize..1000, 0..3),
    ) {
        let (own, there) = (history.closure(&own), history.closure(&there));
        let secret = descendants(&history, &own, &roots);
        let shown = &own - &secret;
        let local = repository(&history, &own, &secret);
        let remote = history.repository(&there);
        let found = compare(&local, ViewFilter::Served, &remote);
        let common = history.sorted(&(&shown & &there));
        prop_assert!(found.common_heads.iter().all(|node| common.binary_search(node).is_ok()));
        prop_assert_eq!(found.incoming, !there.is_subset(&shown));
        prop_assert_eq!(sorted(found.common_heads), history.heads_of(&(&shown & &there)));
    }

    #[test]
    fn nothing_secret_is_answered_or_sent(
        history in histories(40), heads in some_heads(), common in some_heads(),
        roots in proptest::collection::vec(0_usize..1000, 1..3),
    ) {
        let all: Numbers = (0..history.len()).collect();
        let secret = descendants(&history, &all, &roots);
        let shown = &all - &secret;
        let repository = repository(&history, &all, &secret);
        let nodes: Vec<Node> = all.iter().map(|number| history.node(*number)).collect();
        let digits: String = all.iter().map(|number| if shown.contains(number) { '1' } else { '0' }).collect();
        prop_assert_eq!(text(&repository, "known", &[("nodes", &hex(&nodes))]), digits);
        // A secret changeset that a client claims to have tells nothing about its other changesets.
        let asked = &history.closure(&heads) & &shown;
        let claimed = history.closure(&common);
        let (heads, common) = (hex(&history.heads_of(&asked)), hex(&history.heads_of(&claimed)));
        let args = [("heads", heads.as_str()), ("common", &common), ("bundlecaps", "HG20")];
        let (_, bundle) = ask(&repository, "getbundle", &args);
        let sent = nodes_in(&bundle);
        let believed: Numbers = claimed.iter().copied().filter(|number| shown.contains(number)).collect();
        let named: Numbers = (0..history.len())
            .filter(|number| history.heads_of(&claimed).contains(&history.node(*number)))
            .filter(|number| believed.contains(number))
            .collect();
        let known = history.closure(&named.iter().copied().collect::<Vec<_>>());
        let known = if named.is_empty() { Numbers::new() } else { known };
        prop_assert_eq!(sent, history.sorted(&(&asked - &known)));
        for number in &secret {
            let node = history.node(*number).to_string();
            let refused = text(&repository, "lookup", &[("key", &node)]);
            prop_assert!(refused.starts_with("0 "), "{}", refused);
            let (_, refused) = ask(&repository, "getbundle", &[("heads", &node)]);
            prop_assert_eq!(refused, format!("unknown revision '{node}'\n").into_bytes());
        }
        let (_, everything) = ask(&repository, "getbundle", &[("bundlecaps", "HG20")]);
        prop_assert_eq!(nodes_in(&everything), history.sorted(&shown));
        prop_assert_eq!(nodes_of(&repository).len(), all.len());
    }
}

/// A graph with more undecided changesets than fit into one question.
fn wide() -> impl Strategy<Value = History> {
    let changeset = (0_usize..12, 1_usize..12, 1_usize..40);
    proptest::collection::vec(changeset, 400..900).prop_map(|rows| {
        let rows = rows.into_iter().enumerate();
        let parents = rows.map(|(number, (kind, near, far))| {
            let first = number.checked_sub(near);
            let second = first.and_then(|first| first.checked_sub(far));
            match (kind, first, second) {
                (1 | 2, Some(first), Some(second)) => vec![first, second],
                _ => Vec::from_iter(first.or(number.checked_sub(1))),
            }
        });
        History::new(parents.collect())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Samples decide large graphs exactly, in few questions.
    #[test]
    fn large_graphs_are_decided_by_samples(
        history in wide(), own in proptest::collection::vec(0_usize..1000, 1..6),
        there in proptest::collection::vec(0_usize..1000, 1..6),
    ) {
        let (own, there) = (history.closure(&own), history.closure(&there));
        let (local, remote) = (history.repository(&own), history.repository(&there));
        let found = compare(&local, ViewFilter::Visible, &remote);
        prop_assert_eq!(sorted(found.common_heads), history.heads_of(&(&own & &there)));
        prop_assert!(found.questions <= 8, "{} questions", found.questions);
    }
}
