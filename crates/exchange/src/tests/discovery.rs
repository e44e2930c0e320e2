//! Discovery against a repository that answers as the server does.

use super::history::{History, histories, some_heads, sorted};
use crate::LocalPeer;
use crate::client::discovery::{DiscoveryResult, discover};
use crate::client::peer::Remote;
use crate::server::wire::WireSettings;
use proptest::prelude::*;
use std::collections::BTreeSet;
use varve_repo::Node;

fn found(
    history: &History,
    own: &BTreeSet<usize>,
    there: &BTreeSet<usize>,
    heads: Option<&[Node]>,
) -> DiscoveryResult {
    let view = history.repository(own).view().unwrap();
    let peer = LocalPeer::new(history.repository(there), WireSettings::default());
    let mut remote = Remote::connect(Box::new(peer)).unwrap();
    discover(&view, &mut remote, heads).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn common_heads_are_those_of_what_both_sides_have(
        history in histories(40),
        own in some_heads(),
        there in some_heads(),
    ) {
        let (own, there) = (history.closure(&own), history.closure(&there));
        let found = found(&history, &own, &there, None);
        let common: BTreeSet<usize> = own.intersection(&there).copied().collect();
        prop_assert_eq!(sorted(found.common_heads.clone()), history.heads_of(&common));
        prop_assert_eq!(found.incoming, !there.is_subset(&own));
        let heads = match there.is_empty() {
            true => vec![Node::NULL],
            false => history.heads_of(&there),
        };
        prop_assert_eq!(found.is_unrelated(own.len()), common.is_empty() && !own.is_empty() && !there.is_empty());
        prop_assert_eq!(sorted(found.remote_heads), heads);
    }

    #[test]
    fn wanted_heads_limit_what_counts_as_incoming(
        history in histories(30),
        own in some_heads(),
        wanted in some_heads(),
    ) {
        let everything: BTreeSet<usize> = history.closure(&(0..30).collect::<Vec<_>>());
        let (own, wanted) = (history.closure(&own), history.closure(&wanted));
        let heads = history.heads_of(&wanted);
        let found = found(&history, &own, &everything, Some(&heads));
        prop_assert_eq!(found.incoming, !wanted.is_subset(&own));
        // The other side has all changesets of this one; the heads asked about decide how many are found.
        let common = found.common_heads.iter();
        let own_nodes = history.sorted(&own);
        prop_assert!(common.clone().all(|node| own_nodes.binary_search(node).is_ok()));
        if !wanted.is_subset(&own) {
            prop_assert_eq!(sorted(found.common_heads), history.heads_of(&own));
        }
    }
}

/// A line of descent is searched by samples at doubling distances, not changeset by changeset.
#[test]
fn long_lines_take_few_questions() {
    const LEN: usize = 1200;
    // A second line begins in the middle of the first one, so that both sides lack something.
    let mut parents: Vec<Vec<usize>> = (0..LEN).map(|n| Vec::from_iter(n.checked_sub(1))).collect();
    for (at, fork) in [(LEN, 7), (LEN + 1, 600), (LEN + 2, 1190)] {
        parents.push(vec![fork]);
        let history = History::new(parents.clone());
        let own = history.closure(&[LEN - 1]);
        let there = history.closure(&[at]);
        let found = found(&history, &own, &there, None);
        assert_eq!(found.common_heads, [history.node(fork)], "{fork}");
        assert!(found.incoming);
        assert!((2..=4).contains(&found.questions), "{}", found.questions);
    }
}

#[test]
fn equal_and_empty_sides_take_one_question() {
    let history = History::line(5);
    let all = history.closure(&[4]);
    let none = BTreeSet::new();
    for (own, there, incoming) in [
        (&all, &all, false),
        (&none, &none, false),
        (&all, &none, false),
        (&none, &all, true),
    ] {
        let found = found(&history, own, there, None);
        assert_eq!(found.questions, 1);
        assert_eq!(found.incoming, incoming);
    }
}
