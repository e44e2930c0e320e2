//! Outgoing changesets of random histories, against sets.

use super::history::{History, histories, some_heads};
use crate::client::discovery::{DiscoveryResult, discover};
use crate::client::outgoing::{Outgoing, PeerComparison};
use crate::client::peer::Remote;
use crate::server::wire::WireSettings;
use crate::{ExchangeError, LocalPeer};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use varve_repo::{LockKind, Node, Phase, RepoView, Repository, Rev, ViewFilter};

fn discovered(own: &RepoView, there: Repository) -> DiscoveryResult {
    let peer = LocalPeer::new(there, WireSettings::default());
    let mut remote = Remote::connect(Box::new(peer)).unwrap();
    discover(own, &mut remote, None).unwrap()
}

/// The view of the owner, who sees secret changesets.
fn visible(repository: &Repository) -> Arc<RepoView> {
    repository.view_for(ViewFilter::Visible).unwrap()
}

/// Makes changesets secret, and so all their descendants.
fn make_secret(repository: &Repository, nodes: &[Node]) {
    let view = visible(repository);
    let changelog = view.changelog();
    let revs: Vec<Rev> = nodes
        .iter()
        .map(|node| changelog.rev(node).unwrap())
        .collect();
    let moved = view.phases().moved(changelog, &revs, Phase::Secret, true);
    let lock = repository.try_lock(LockKind::Store).unwrap();
    let mut transaction = repository.transaction(lock, "phase").unwrap();
    transaction.set_phases(changelog, &moved);
    transaction.finish().unwrap();
}

fn nodes_of(view: &RepoView, revs: &[Rev]) -> BTreeSet<Node> {
    revs.iter().map(|rev| view.changelog().node(*rev)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn outgoing_are_the_wanted_changesets_that_the_peer_lacks(
        history in histories(30),
        own in some_heads(),
        there in some_heads(),
        secret in some_heads(),
    ) {
        let (own, there) = (history.closure(&own), history.closure(&there));
        let repository = history.repository(&own);
        let roots: Vec<Node> = secret
            .iter()
            .map(|number| history.node(number % history.len()))
            .filter(|node| history.sorted(&own).contains(node))
            .collect();
        make_secret(&repository, &roots);
        let view = visible(&repository);
        let found = discovered(&view, history.repository(&there));
        let outgoing = Outgoing::select(&view, found, &view.heads());
        prop_assert!(outgoing.missing.is_sorted());
        let is_secret = |rev: &Rev| view.phases().of(*rev) == Phase::Secret;
        let all: Vec<Rev> = view.changelog().revs().collect();
        prop_assert_eq!(outgoing.secret, all.iter().filter(|rev| is_secret(rev)).count());
        let public: Vec<Rev> = all.into_iter().filter(|rev| !is_secret(rev)).collect();
        let lacked = nodes_of(&view, &public);
        let has: BTreeSet<Node> = history.sorted(&there).into_iter().collect();
        let lacked: BTreeSet<Node> = lacked.difference(&has).copied().collect();
        prop_assert_eq!(nodes_of(&view, &outgoing.missing), lacked);
        let common: BTreeSet<usize> = own.intersection(&there).copied().collect();
        let heads = history.heads_of(&common).into_iter().collect();
        prop_assert_eq!(nodes_of(&view, &outgoing.common), heads);
    }

    #[test]
    fn only_ancestors_of_the_wanted_heads_are_outgoing(
        history in histories(30), own in some_heads(), wanted in some_heads(),
    ) {
        let own = history.closure(&own);
        let wanted: BTreeSet<usize> = history.closure(&wanted).intersection(&own).copied().collect();
        let repository = history.repository(&own);
        let view = visible(&repository);
        let heads = history.heads_of(&wanted);
        let heads: Vec<Rev> = heads.iter().filter_map(|node| view.changelog().rev(node)).collect();
        let outgoing = Outgoing::select(&view, DiscoveryResult::default(), &heads);
        let expected = history.sorted(&wanted).into_iter().collect();
        prop_assert_eq!(nodes_of(&view, &outgoing.missing), expected);
    }
}

#[test]
fn a_peer_is_behind_ahead_diverged_or_empty() {
    // A line of three changesets, and one more on its first.
    let history = History::new(vec![vec![], vec![0], vec![1], vec![0]]);
    for (own, there, expected) in [
        (&[2][..], &[1][..], Some(PeerComparison::RemoteHeadsKnown)),
        (&[2], &[2], Some(PeerComparison::RemoteHeadsKnown)),
        (&[1], &[2], Some(PeerComparison::LocalHeadsKnown)),
        (&[2], &[3], Some(PeerComparison::Diverged)),
        (&[2], &[], None),
    ] {
        let view = visible(&history.repository(&history.closure(own)));
        let there = history.repository(&history.closure(there));
        let found = discovered(&view, there);
        assert_eq!(found.comparison(&view), expected, "{own:?}");
    }
}

#[test]
fn histories_without_a_common_changeset_are_unrelated() {
    let history = History::new(vec![vec![], vec![]]);
    for (own, there, is_related) in [
        (&[0][..], &[1][..], false),
        (&[0, 1], &[1], true),
        (&[], &[1], true),
        (&[0], &[], true),
    ] {
        let view = visible(&history.repository(&history.closure(own)));
        let there = history.repository(&history.closure(there));
        match discovered(&view, there).check_related(&view) {
            Ok(()) => assert!(is_related, "{own:?}"),
            Err(error) => {
                assert!(matches!(error, ExchangeError::Unrelated), "{error}");
                assert!(!is_related, "{own:?}");
            }
        }
    }
}
