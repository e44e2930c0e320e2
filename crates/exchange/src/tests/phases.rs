//! Phases on their way: a pull gives each changeset the phase that it has there, and never raises one.

use super::history::{History, apply, bundle_of, histories, some_heads};
use super::pull::pull;
use super::push::{mandatory, request, whole, with_handler};
use crate::format::part::{PartType, phase_heads};
use proptest::prelude::*;
use std::collections::BTreeSet;
use varve_repo::{Node, Phase, Repository, ViewFilter};

type Numbers = BTreeSet<usize>;

/// A repository with `all` of a history, of which `public` are public and the others draft.
fn repository(history: &History, all: &Numbers, public: &Numbers) -> Repository {
    let repository = history.repository(all);
    publish(&repository, &history.heads_of(public));
    repository
}

fn publish(repository: &Repository, heads: &[Node]) {
    let heads = heads.iter().map(|node| (Phase::Public, *node));
    let part = mandatory(PartType::PhaseHeads, phase_heads::encode(heads));
    apply(repository, &bundle_of(&[part])).unwrap();
}

fn phase(repository: &Repository, node: Node) -> Phase {
    let view = repository.view_for(ViewFilter::Unfiltered).unwrap();
    view.phases().of(view.changelog().rev(&node).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_pull_gives_the_lower_phase_of_both_sides(
        history in histories(25), own in some_heads(), own_public in some_heads(),
        there in some_heads(), there_public in some_heads(),
    ) {
        let (own, there) = (history.closure(&own), history.closure(&there));
        let own_public = &history.closure(&own_public) & &own;
        let there_public = &history.closure(&there_public) & &there;
        let local = repository(&history, &own, &own_public);
        let remote = repository(&history, &there, &there_public);
        pull(&local, &remote, false).unwrap();
        for number in &own | &there {
            let expected = match own_public.contains(&number) || there_public.contains(&number) {
                true => Phase::Public,
                false => Phase::Draft,
            };
            prop_assert_eq!(phase(&local, history.node(number)), expected, "{}", number);
            if there.contains(&number) {
                let unchanged = there_public.contains(&number);
                prop_assert_eq!(phase(&remote, history.node(number)) == Phase::Public, unchanged);
            }
        }
    }

    /// Ancestors of a public changeset are public, whatever order the heads come in.
    #[test]
    fn publishing_reaches_all_ancestors(history in histories(25), heads in some_heads(), again in some_heads()) {
        let all: Numbers = (0..history.len()).collect();
        let repository = history.repository(&all);
        let nodes = |heads: &[usize]| heads.iter().map(|head| history.node(head % history.len())).collect::<Vec<_>>();
        publish(&repository, &nodes(&heads));
        publish(&repository, &nodes(&again));
        let public = &history.closure(&heads) | &history.closure(&again);
        for number in all {
            let is_public = phase(&repository, history.node(number)) == Phase::Public;
            prop_assert_eq!(is_public, public.contains(&number), "{}", number);
        }
    }

    /// A key of a phase is set only from the value that it has, and only to a lower one.
    #[test]
    fn keys_of_phases_are_compared_before_they_are_set(
        history in histories(15), public in some_heads(), at in any::<prop::sample::Index>(), old in 0_u8..4, new in 0_u8..4,
    ) {
        let all: Numbers = (0..history.len()).collect();
        let public = history.closure(&public);
        let repository = repository(&history, &all, &public);
        let number = at.index(history.len());
        let before = u8::from(!public.contains(&number));
        let node = history.node(number);
        let (key, olds, news) = (node.to_string(), old.to_string(), new.to_string());
        let args = [("namespace", "phases"), ("key", &key), ("old", &olds), ("new", &news)];
        let args = args.map(|(name, value)| (name, value.as_bytes()));
        let request = request("pushkey", &args);
        let answer = with_handler(&repository, |handler| whole(handler.pushkey(&request)));
        let are_phases = old <= 2 && new <= 2;
        let moves = are_phases && old == before && new < old;
        let done = moves || (are_phases && new == before);
        prop_assert_eq!(answer, if done { b"1\n" } else { b"0\n" });
        let after = if moves { new } else { before };
        prop_assert_eq!(phase(&repository, node).number() as u8, after);
    }
}
