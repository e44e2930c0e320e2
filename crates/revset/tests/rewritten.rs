//! Obsolete and hidden changesets over random histories and random markers, against their definitions.

use super::laws::{Graph, ancestors, descendants, graphs, queries, view};
use super::memory::{History, answer, engine};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use varve_repo::{LockKind, LookupError, NewMarker, Node, Phase, RepoView, Repository};
use varve_revset::RevsetError;

/// Which changesets were rewritten, each with its successors, by number.
type Markers = Vec<(usize, Vec<usize>)>;

/// A history with markers, of which the oldest changesets are public.
#[derive(Clone, Debug)]
struct Rewritten {
    graph: Graph,
    markers: Markers,
    published: usize,
    bookmark: Option<usize>,
}

fn histories() -> impl Strategy<Value = Rewritten> {
    let marker = (0..12_usize, proptest::collection::vec(0..12_usize, 0..3));
    let markers = proptest::collection::vec(marker, 0..6);
    let bookmark = prop::option::of(0..12_usize);
    let parts = (graphs(), markers, 0..4_usize, bookmark);
    parts.prop_map(|(graph, markers, published, bookmark)| {
        let len = graph.len();
        let marker = |(old, new): (usize, Vec<usize>)| {
            let old = old % len;
            let new: BTreeSet<usize> = new.into_iter().map(|rev| rev % len).collect();
            (old, new.into_iter().filter(|rev| *rev != old).collect())
        };
        Rewritten {
            markers: markers.into_iter().map(marker).collect(),
            published: published.min(len),
            bookmark: bookmark.map(|rev| rev % len),
            graph,
        }
    })
}

impl Rewritten {
    fn view(&self) -> Arc<RepoView> {
        let mut history = History::new();
        for (rev, parents) in self.graph.iter().enumerate() {
            let phase = if rev < self.published {
                Phase::Public
            } else {
                Phase::Draft
            };
            history.commit_files(parents, &[], |new| new.phase = phase);
        }
        history.finish_with(|repository, nodes| {
            self.mark(repository, nodes);
            if let Some(rev) = self.bookmark {
                let lock = repository.try_lock(LockKind::Store).unwrap();
                repository.set_bookmark(lock, b"here", nodes[rev]).unwrap();
            }
        })
    }

    fn mark(&self, repository: &Repository, nodes: &[Node]) {
        for (old, new) in &self.markers {
            let successors: Vec<Node> = new.iter().map(|rev| nodes[*rev]).collect();
            let lock = repository.try_lock(LockKind::Store).unwrap();
            let mut transaction = repository.transaction(lock, "mark").unwrap();
            let marker = NewMarker {
                flags: 0,
                old: nodes[*old],
                successors: &successors,
                parents: None,
                date: (0, 0),
                metadata: &[],
            };
            transaction.add_markers(&[marker]).unwrap();
            transaction.finish().unwrap();
        }
    }

    fn obsolete(&self) -> BTreeSet<usize> {
        let old = self.markers.iter().map(|(old, _)| *old);
        old.filter(|rev| *rev >= self.published).collect()
    }

    /// Obsolete ones from which nothing else descends.
    fn extinct(&self) -> BTreeSet<usize> {
        let obsolete = self.obsolete();
        let below = |rev: usize| descendants(&self.graph, BTreeSet::from([rev]));
        let is_extinct = |rev: &usize| below(*rev).is_subset(&obsolete);
        obsolete.iter().copied().filter(is_extinct).collect()
    }

    /// Those that no name keeps in sight.
    fn hidden(&self) -> BTreeSet<usize> {
        let pinned = ancestors(&self.graph, self.bookmark.into_iter().collect());
        &self.extinct() - &pinned
    }

    /// Everything that the markers lead to, in one direction.
    fn reached(
        &self,
        from: usize,
        step: impl Fn(&(usize, Vec<usize>), usize) -> Vec<usize>,
    ) -> BTreeSet<usize> {
        let mut found = BTreeSet::from([from]);
        let mut work = vec![from];
        while let Some(rev) = work.pop() {
            let next = self.markers.iter().flat_map(|marker| step(marker, rev));
            work.extend(next.filter(|rev| found.insert(*rev)).collect::<Vec<_>>());
        }
        found
    }

    fn successors(&self, of: usize) -> BTreeSet<usize> {
        self.reached(
            of,
            |(old, new), rev| if *old == rev { new.clone() } else { Vec::new() },
        )
    }

    fn predecessors(&self, of: usize) -> BTreeSet<usize> {
        self.reached(of, |(old, new), rev| {
            new.contains(&rev).then_some(*old).into_iter().collect()
        })
    }

    fn visible(&self) -> Vec<usize> {
        let hidden = self.hidden();
        (0..self.graph.len())
            .filter(|rev| !hidden.contains(rev))
            .collect()
    }
}

fn numbers(of: impl IntoIterator<Item = usize>) -> Vec<i64> {
    of.into_iter().map(|rev| rev as i64).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn instabilities_are_those_of_their_definitions(history in histories()) {
        let view = history.view();
        let engine = engine(&view, &[]);
        let (obsolete, visible) = (history.obsolete(), history.visible());
        let shown = |revs: BTreeSet<usize>| numbers(revs.into_iter().filter(|rev| visible.contains(rev)));
        let is_live = |rev: &usize| *rev >= history.published && !obsolete.contains(rev);
        let live = || (0..history.graph.len()).filter(is_live);
        let orphans = live().filter(|rev| {
            !ancestors(&history.graph, BTreeSet::from([*rev])).is_disjoint(&obsolete)
        });
        let divergent = live().filter(|rev| {
            history.predecessors(*rev).iter().any(|old| *old < history.published)
        });
        prop_assert_eq!(answer(&engine, "orphan()"), numbers(orphans));
        prop_assert_eq!(answer(&engine, "phasedivergent()"), numbers(divergent));
        prop_assert_eq!(answer(&engine, "obsolete()"), shown(obsolete.clone()));
        prop_assert_eq!(answer(&engine, "extinct()"), shown(history.extinct()));
        prop_assert_eq!(answer(&engine, "hidden()"), Vec::<i64>::new());
        let together = answer(&engine, "sort(orphan() + phasedivergent() + contentdivergent())");
        prop_assert_eq!(answer(&engine, "unstable()"), together);
        for rev in &visible {
            let expected = shown(history.successors(*rev));
            prop_assert_eq!(answer(&engine, &format!("successors({rev})")), expected, "{}", rev);
        }
    }

    /// A query is answered as if hidden changesets had never been made.
    #[test]
    fn hidden_changesets_are_as_if_they_were_not_there(
        history in histories(), asked in proptest::collection::vec(queries(), 6), depth in 0..3_usize,
    ) {
        let visible = history.visible();
        prop_assume!(!visible.is_empty());
        let place = |rev: usize| visible.iter().position(|other| *other == rev).unwrap();
        let kept: Graph = visible.iter().map(|rev| {
            history.graph[*rev].iter().map(|parent| place(*parent)).collect()
        }).collect();
        let (full, small) = (history.view(), view(&kept));
        let (full, small) = (engine(&full, &[]), engine(&small, &[]));
        let both = |form: &str, query: &super::laws::Query| {
            let found = answer(&full, &form.replace('@', &query.text_over(&visible)));
            let found = numbers(found.into_iter().map(|rev| place(rev as usize)));
            (found, answer(&small, &form.replace('@', &query.text(visible.len()))))
        };
        let descendants = format!("descendants(@, depth={depth})");
        for query in &asked {
            for form in ["@", "sort(@, topo)", "@ & branchpoint()", "heads(all() - (@))", "only(@)", &descendants] {
                let (found, expected) = both(form, query);
                prop_assert_eq!(found, expected, "{} of {:?}", form, query);
            }
        }
    }

    #[test]
    fn a_hidden_changeset_has_no_name(history in histories()) {
        let view = history.view();
        let engine = engine(&view, &[]);
        for rev in history.hidden() {
            let node = view.changelog().node(view.changelog().rev_at(rev as i64).unwrap());
            let node = String::from_utf8(node.to_hex().to_vec()).unwrap();
            prop_assert_eq!(answer(&engine, &format!("id({node}) or rev({rev})")), Vec::<i64>::new());
            for name in [rev.to_string(), node.clone(), node[..12].to_owned()] {
                let error = engine.query(name.as_bytes()).map(drop).unwrap_err();
                let is_hidden = |error: &RevsetError| match error {
                    RevsetError::Lookup(LookupError::Hidden { name: found, .. }) => *found == name,
                    _ => false,
                };
                prop_assert!(is_hidden(&error), "{}: {}", name, error);
            }
        }
    }
}
