//! Plans of histedits: any order of lines, what they leave out, and the changesets that come of random steps.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use varve_repo::Node;
use varve_workdir::{
    HisteditAction, HisteditPlanError, HisteditRule, HisteditState, PlanCheck, parse_plan,
};

fn node(byte: u8) -> Node {
    Node([byte; Node::LEN])
}

/// Rules for some of the changesets from 1 to 6, each once.
fn rules() -> impl Strategy<Value = Vec<HisteditRule>> {
    let nodes = Just((1..7_u8).collect::<Vec<u8>>()).prop_shuffle();
    let actions =
        proptest::collection::vec(prop::sample::select(HisteditAction::ALL.to_vec()), 0..7);
    (nodes, actions).prop_map(|(nodes, actions)| {
        let pairs = nodes.into_iter().zip(actions);
        pairs
            .map(|(byte, action)| HisteditRule {
                action,
                node: node(byte),
            })
            .collect()
    })
}

/// The plan as users write it: words or letters, blanks, notes and empty lines.
fn text(rules: &[HisteditRule], short: bool) -> String {
    let line = |rule: &HisteditRule| {
        let verb = rule.action.verb();
        match short {
            true => format!(
                "\n {} {} about it\n#note\n",
                &verb[..1],
                &rule.node.to_string()[..12]
            ),
            false => format!("{verb} {}\n", rule.node),
        }
    };
    rules.iter().map(line).collect()
}

fn find(hash: &[u8]) -> Option<Node> {
    let mut all = (1..7).map(node);
    all.find(|node| node.to_hex().starts_with(hash))
}

proptest! {
    #[test]
    fn a_plan_that_is_written_is_read(rules in rules(), short: bool) {
        prop_assert_eq!(parse_plan(text(&rules, short).as_bytes(), find), Ok(rules));
    }

    /// A plan is refused for exactly the first fault that it has.
    #[test]
    fn plans_are_refused_for_their_faults(rules in rules(), candidates in 1..7_u8, drops_missing: bool) {
        let candidates: Vec<Node> = (1..=candidates).map(node).collect();
        let check = PlanCheck { candidates: &candidates, drops_missing };
        let is_base = |rule: &HisteditRule| rule.action == HisteditAction::Base;
        let is_candidate = |rule: &HisteditRule| candidates.contains(&rule.node);
        let fault = rules.iter().enumerate().find_map(|(at, rule)| match (is_base(rule), is_candidate(rule)) {
            (true, true) => Some("was an edited list candidate"),
            (false, false) => Some("was not a candidate"),
            _ if at == 0 && rule.action.is_fold() => Some("first changeset cannot use verb"),
            _ => None,
        });
        let missing: Vec<Node> =
            candidates.iter().copied().filter(|node| rules.iter().all(|rule| rule.node != *node)).collect();
        let fault = fault.or((!missing.is_empty() && !drops_missing).then_some("missing rules for changeset"));
        let fault = fault.or(rules.is_empty().then_some("no rules provided"));
        match (check.complete(rules.clone()), fault) {
            (Ok(complete), None) => {
                // What is missing goes first, in its old order; the rest is as it was written.
                let (dropped, written) = complete.split_at(missing.len());
                prop_assert_eq!(written, &rules[..]);
                prop_assert!(dropped.iter().all(|rule| rule.action == HisteditAction::Drop));
                prop_assert_eq!(dropped.iter().map(|rule| rule.node).collect::<Vec<_>>(), missing);
                // A complete plan stays as it is, unless a fold is left without one above.
                let strict = PlanCheck { candidates: &candidates, drops_missing: false };
                prop_assert_eq!(strict.complete(complete.clone()), Ok(complete));
            }
            (Err(error), Some(fault)) => {
                prop_assert!(error.to_string().contains(fault), "{} is not {}", error, fault);
                let has_advice = !matches!(error, HisteditPlanError::FoldsFirst(_));
                prop_assert_eq!(error.hint().is_some(), has_advice);
            }
            (found, fault) => return Err(TestCaseError::fail(format!("{found:?} and not {fault:?}"))),
        }
    }

    #[test]
    fn no_changeset_may_be_there_twice(rules in rules(), at in any::<prop::sample::Index>()) {
        prop_assume!(!rules.is_empty());
        let candidates: Vec<Node> = rules.iter().map(|rule| rule.node).collect();
        let pick = |node: &Node| HisteditRule { action: HisteditAction::Pick, node: *node };
        let mut twice: Vec<HisteditRule> = candidates.iter().map(pick).collect();
        twice.push(twice[at.index(twice.len())]);
        let check = PlanCheck { candidates: &candidates, drops_missing: true };
        let error = check.complete(twice).unwrap_err();
        prop_assert!(matches!(error, HisteditPlanError::Duplicated(_)), "{:?}", error);
    }

    /// Steps as they happen: each takes a changeset that is there, an old or a new one, and makes one or none of it.
    #[test]
    fn results_are_those_of_following_each_changeset(
        steps in proptest::collection::vec((any::<prop::sample::Index>(), 0..3_u8), 0..12),
        order in any::<prop::sample::Index>(),
    ) {
        const OLD: u8 = 5;
        // The changesets that each old one has become; an empty set was dropped.
        let mut model: BTreeMap<u8, BTreeSet<u8>> = (0..OLD).map(|old| (old, BTreeSet::from([old]))).collect();
        let (mut temporary, mut next) = (BTreeSet::new(), OLD);
        let mut state = HisteditState::new(node(0), node(OLD), false);
        for (at, outcome) in steps {
            let there: BTreeSet<u8> = model.values().flatten().copied().collect();
            let Some(taken) = there.iter().nth(at.index(there.len().max(1))).copied() else {
                break;
            };
            let made: Vec<u8> = (next..next + outcome).collect();
            next += outcome;
            for becomes in model.values_mut().filter(|becomes| becomes.contains(&taken)) {
                becomes.remove(&taken);
                becomes.extend(&made);
            }
            if taken >= OLD {
                temporary.insert(node(taken));
            }
            state.replacements.push((node(taken), made.into_iter().map(node).collect()));
        }
        // The file has them in any order.
        let len = state.replacements.len().max(1);
        state.replacements.rotate_left(order.index(len) % len);
        let result = state.result();
        let there: BTreeSet<u8> = model.values().flatten().copied().collect();
        let made = there.into_iter().filter(|byte| *byte >= OLD).map(node).collect::<BTreeSet<_>>();
        prop_assert_eq!(result.made, made);
        prop_assert_eq!(result.temporary, temporary);
        let replaced = model.into_iter().filter(|(old, becomes)| *becomes != BTreeSet::from([*old]));
        let replaced: BTreeMap<Node, BTreeSet<Node>> =
            replaced.map(|(old, becomes)| (node(old), becomes.into_iter().map(node).collect())).collect();
        prop_assert_eq!(result.replaced, replaced);
    }
}
