//! Which changesets are grafted, over random histories of grafts, against the definitions of the reasons.

use super::histories::{Graph, History, graphs};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use varve_repo::{Node, RepoView, Rev};
use varve_workdir::{GraftOptions, GraftSkipReason, choose_grafts, graft_extras};

/// The changeset that one is said to be a graft of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GraftSource {
    None,
    Earlier(usize),
    /// One of two changesets that the repository lacks.
    Elsewhere(u8),
}

/// A history with sources, some of its changesets in any order, and the place where they go.
#[derive(Clone, Debug)]
struct Grafts {
    graph: Graph,
    sources: Vec<GraftSource>,
    named: Vec<usize>,
    onto: usize,
}

fn grafts() -> impl Strategy<Value = Grafts> {
    let source = (0..5_u8, any::<prop::sample::Index>());
    let sources = proptest::collection::vec(source, 14);
    let order = Just((0..14_usize).collect::<Vec<_>>()).prop_shuffle();
    let parts = (graphs(), sources, order, 1..7_usize, 0..14_usize);
    parts.prop_map(|(graph, sources, order, count, onto)| {
        let len = graph.len();
        let mut made: Vec<GraftSource> = Vec::new();
        for (rev, (kind, at)) in sources.into_iter().take(len).enumerate() {
            made.push(match kind {
                // A graft of a graft names the first of them.
                0 | 1 if rev > 0 => match made[at.index(rev)] {
                    GraftSource::None => GraftSource::Earlier(at.index(rev)),
                    origin => origin,
                },
                2 => GraftSource::Elsewhere(at.index(2) as u8),
                _ => GraftSource::None,
            });
        }
        let named = order.into_iter().filter(|rev| *rev < len).take(count);
        Grafts {
            sources: made,
            named: named.collect(),
            onto: onto % len,
            graph,
        }
    })
}

fn elsewhere(which: u8) -> Node {
    Node([which + 1; Node::LEN])
}

impl Grafts {
    fn view(&self) -> (Arc<RepoView>, Vec<Node>) {
        let mut history = History::new();
        for (parents, source) in self.graph.iter().zip(&self.sources) {
            let node = match source {
                GraftSource::None => None,
                GraftSource::Earlier(rev) => Some(history.nodes[*rev]),
                GraftSource::Elsewhere(which) => Some(elsewhere(*which)),
            };
            let hex = node.map(|node| node.to_hex());
            let extra = hex.as_ref().map(|hex| [(&b"source"[..], &hex[..])]);
            history.commit_with(parents, |new| {
                new.extras = extra.as_ref().map_or(&[], |extra| &extra[..]);
            });
        }
        history.finish()
    }

    fn ancestors(&self, of: usize) -> BTreeSet<usize> {
        let mut found = BTreeSet::from([of]);
        for rev in (0..=of).rev().filter(|rev| *rev < self.graph.len()) {
            if found.contains(&rev) {
                found.extend(&self.graph[rev]);
            }
        }
        found
    }

    /// True if `rev` is a graft of `other` or the other way, or both are grafts of the same changeset.
    fn are_related(&self, rev: usize, other: usize) -> bool {
        let (one, two) = (self.sources[rev], self.sources[other]);
        two == GraftSource::Earlier(rev)
            || one == GraftSource::Earlier(other)
            || (one == two && one != GraftSource::None)
    }

    /// True if no two of these changesets are known by the same node: their own, or that of their origin.
    fn are_distinct(&self, revs: &BTreeSet<usize>) -> bool {
        let mut all = revs
            .iter()
            .flat_map(|rev| revs.range(..rev).map(move |other| (*rev, *other)));
        !all.any(|(rev, other)| self.are_related(rev, other))
    }
}

fn number(rev: Rev) -> usize {
    rev.0 as usize
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn each_changeset_is_grafted_or_left_out_for_a_reason_that_holds(grafts in grafts(), merges: bool) {
        let (view, _) = grafts.view();
        let named: Vec<Rev> = grafts.named.iter().map(|rev| Rev(*rev as u32)).collect();
        let options = GraftOptions { merges, force: false };
        let choice = choose_grafts(&view, Some(Rev(grafts.onto as u32)), &named, options).unwrap();
        let mut all: Vec<Rev> = choice.revs.iter().copied().chain(choice.skipped.iter().map(|skip| skip.rev)).collect();
        let order = choice.revs.iter().map(|rev| named.iter().position(|other| other == rev));
        prop_assert!(order.is_sorted(), "{:?}", choice);
        all.sort_unstable();
        prop_assert_eq!(all, BTreeSet::from_iter(named.iter().copied()).into_iter().collect::<Vec<_>>());
        let below = grafts.ancestors(grafts.onto);
        let is_merge = |rev: usize| grafts.graph[rev].len() == 2;
        for skip in &choice.skipped {
            let rev = number(skip.rev);
            let source = grafts.sources[rev];
            let of = |other: Rev| grafts.sources[number(other)];
            let holds = match &skip.reason {
                GraftSkipReason::Merge => !merges && is_merge(rev),
                GraftSkipReason::Ancestor => below.contains(&rev) && (merges || !is_merge(rev)),
                GraftSkipReason::GraftedTo(to) => below.contains(&number(*to)) && of(*to) == GraftSource::Earlier(rev),
                GraftSkipReason::GraftedFrom(from) => {
                    below.contains(&number(*from)) && source == GraftSource::Earlier(number(*from))
                }
                GraftSkipReason::SameOrigin(other, origin) => {
                    below.contains(&number(*other)) && of(*other) == source && source == GraftSource::Earlier(number(*origin))
                }
                GraftSkipReason::UnknownOrigin(other, hex) => {
                    let GraftSource::Elsewhere(which) = source else {
                        return Err(TestCaseError::fail(format!("{skip:?}")));
                    };
                    below.contains(&number(*other)) && of(*other) == source && *hex == elsewhere(which).to_hex()
                }
            };
            prop_assert!(holds, "{:?}", skip);
        }
    }

    /// Nothing is left out but for its relation to what lies below the place and not below all that is grafted.
    #[test]
    fn related_changesets_are_left_out_and_no_others(grafts in grafts(), merges: bool) {
        let (view, _) = grafts.view();
        let below = grafts.ancestors(grafts.onto);
        let candidates: BTreeSet<usize> = grafts.named.iter().copied()
            .filter(|rev| (merges || grafts.graph[*rev].len() < 2) && !below.contains(rev)).collect();
        prop_assume!(grafts.are_distinct(&candidates));
        let common = candidates.iter().map(|rev| grafts.ancestors(*rev)).reduce(|a, b| &a & &b).unwrap_or_default();
        let new = &below - &common;
        let is_grafted = |rev: &usize| !new.iter().any(|other| grafts.are_related(*rev, *other));
        let named: Vec<Rev> = grafts.named.iter().map(|rev| Rev(*rev as u32)).collect();
        let onto = Some(Rev(grafts.onto as u32));
        let choose = |onto, force| choose_grafts(&view, onto, &named, GraftOptions { merges, force }).unwrap();
        let expected: BTreeSet<usize> = candidates.into_iter().filter(is_grafted).collect();
        let chosen = choose(onto, false);
        prop_assert_eq!(chosen.revs.iter().copied().map(number).collect::<BTreeSet<_>>(), expected, "{:?}", chosen);
        // With `--force`, and onto the null revision, merges alone are left out.
        for choice in [choose(onto, true), choose(None, false)] {
            let kept = named.iter().copied().filter(|rev| merges || grafts.graph[number(*rev)].len() < 2);
            prop_assert_eq!(&choice.revs, &kept.collect::<Vec<_>>());
            prop_assert!(choice.skipped.iter().all(|skip| skip.reason == GraftSkipReason::Merge));
        }
    }

    /// A graft names the first changeset of its chain, and the one that it was taken from if that is another.
    #[test]
    fn extras_name_the_origin(grafts in grafts()) {
        let (view, nodes) = grafts.view();
        for (rev, source) in grafts.sources.iter().enumerate() {
            let own = nodes[rev].to_hex().to_vec();
            let origin = match source {
                GraftSource::None => None,
                GraftSource::Earlier(rev) => Some(nodes[*rev]),
                GraftSource::Elsewhere(which) => Some(elsewhere(*which)),
            };
            let expected = match origin {
                None => vec![(b"source".to_vec(), own)],
                Some(origin) => vec![
                    (b"source".to_vec(), origin.to_hex().to_vec()),
                    (b"intermediate-source".to_vec(), own),
                ],
            };
            prop_assert_eq!(graft_extras(&view, Rev(rev as u32)).unwrap(), expected);
        }
    }
}
