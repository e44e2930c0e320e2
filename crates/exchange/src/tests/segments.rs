//! The older discovery against a repository that answers as the server does, and against hostile answers.

use super::history::{History, histories, some_heads};
use crate::client::peer::{PeerArgs, Remote, SubsetPeer, Transport};
use crate::client::tree_discovery::{TreeDiscovery, TreeDiscoveryResult};
use crate::server::wire::WireSettings;
use crate::{ExchangeError, LocalPeer};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::io::Read;
use varve_repo::{Node, Rev};

fn found(
    history: &History,
    own: &BTreeSet<usize>,
    remote: &mut Remote,
) -> Result<TreeDiscoveryResult, ExchangeError> {
    let view = history.repository(own).view().unwrap();
    let exists = |node: &Node| view.changelog().rev(node).is_some();
    TreeDiscovery::begin((&exists, own.is_empty()), remote)?.finish(remote)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Ancestors of the common changesets are all that both sides have, and new roots are missing here only.
    #[test]
    fn segments_lead_to_all_that_both_sides_have(
        history in histories(40),
        own in some_heads(),
        there in some_heads(),
    ) {
        let (own, there) = (history.closure(&own), history.closure(&there));
        let repository = history.repository(&there);
        let view = repository.view().unwrap();
        let revs: Vec<Rev> = view.changelog().revs().collect();
        let subset = SubsetPeer::of(&view, &revs);
        let local = LocalPeer::new(history.repository(&there), WireSettings::default());
        let peers: [Box<dyn Transport>; 2] = [Box::new(subset), Box::new(local)];
        let both: BTreeSet<usize> = own.intersection(&there).copied().collect();
        for peer in peers {
            let found = found(&history, &own, &mut Remote::connect(peer).unwrap()).unwrap();
            let common: Vec<usize> = (0..history.len())
                .filter(|number| found.common.contains(&history.node(*number)))
                .collect();
            prop_assert!(common.iter().all(|number| both.contains(number)));
            let is_missing = |number: &usize| there.contains(number) && !own.contains(number);
            let missing: Vec<Node> = (0..history.len())
                .filter(is_missing)
                .map(|number| history.node(number))
                .collect();
            prop_assert!(found.new_roots.iter().all(|root| missing.contains(root)));
            if !own.is_empty() {
                prop_assert_eq!(history.closure(&common), both.clone());
                prop_assert_eq!(found.new_roots.is_empty(), there.is_subset(&own));
            }
        }
    }
}

/// Claims endless history of unknown changesets.
struct Endless;

impl Transport for Endless {
    fn call(&mut self, command: &str, _: PeerArgs<'_>) -> Result<Vec<u8>, ExchangeError> {
        let node = |byte: u8| Node([byte; 20]).to_string();
        Ok(match command {
            "heads" => node(9).into_bytes(),
            "branches" => format!("{} {} {1} {1}\n", node(9), Node::NULL).into_bytes(),
            // The border never gets nearer.
            "between" => format!("{} {}\n", node(8), node(7)).into_bytes(),
            _ => Vec::new(),
        })
    }

    fn stream(&mut self, _: &str, _: PeerArgs<'_>) -> Result<Box<dyn Read + Send>, ExchangeError> {
        unreachable!("no command of discovery has a long answer")
    }
}

#[test]
fn a_border_that_never_gets_nearer_ends_the_search() {
    let history = History::line(3);
    let own = history.closure(&[2]);
    let mut remote = Remote::connect(Box::new(Endless)).unwrap();
    let found = found(&history, &own, &mut remote);
    assert!(matches!(
        found,
        Err(ExchangeError::UnexpectedAnswer {
            command: "between",
            ..
        })
    ));
}
