//! Which changesets a bundle has.

use super::history::{apply, histories, nodes_in, nodes_of, some_heads, sorted};
use crate::format::bundlespec::{BundleSpec, SpecDefaults};
use crate::generate::{BundlePlan, OutgoingChangesets, Selection};
use proptest::prelude::*;
use std::collections::BTreeSet;
use varve_base::Interrupt;
use varve_repo::{Node, Rev};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_selection_is_the_ancestors_of_heads_without_those_of_common(
        history in histories(40),
        heads in some_heads(),
        common in some_heads(),
    ) {
        let everything: BTreeSet<usize> = history.closure(&(0..40).collect::<Vec<_>>());
        let view = history.repository(&everything).view().unwrap();
        let changelog = view.changelog();
        let rev = |number: &usize| changelog.rev(&history.node(*number)).unwrap();
        let revs = |numbers: &BTreeSet<usize>| numbers.iter().map(rev).collect::<Vec<Rev>>();
        let (heads, common) = (history.closure(&heads), history.closure(&common));
        let selection = Selection::new(changelog, &revs(&heads), &revs(&common));
        let sent: Vec<Node> = selection.sent().map(|rev| changelog.node(rev)).collect();
        let expected: BTreeSet<usize> = heads.difference(&common).copied().collect();
        prop_assert_eq!(selection.sent_len(), expected.len());
        prop_assert_eq!(sorted(sent), history.sorted(&expected));
        if !expected.is_empty() {
            let both: BTreeSet<usize> = heads.union(&common).copied().collect();
            let excluded: BTreeSet<usize> = everything.difference(&both).copied().collect();
            let found = selection.excluded().map(|rev| changelog.node(rev)).collect();
            prop_assert_eq!(sorted(found), history.sorted(&excluded));
            prop_assert_eq!(selection.is_everything(), expected == everything);
        }
    }

    #[test]
    fn a_bundle_of_any_type_brings_what_the_reader_lacks(
        history in histories(20),
        common in some_heads(),
        spec in prop::sample::select(vec!["none-v1", "gzip-v1", "bzip2-v1", "none-v2", "zstd-v2", "gzip-v2", "bzip2-v2", "none-v3"]),
    ) {
        let everything: BTreeSet<usize> = history.closure(&(0..20).collect::<Vec<_>>());
        let common = history.closure(&common);
        let missing: BTreeSet<usize> = everything.difference(&common).copied().collect();
        prop_assume!(!missing.is_empty());
        let repository = history.repository(&everything);
        let view = repository.view().unwrap();
        let rev = |number: &usize| view.changelog().rev(&history.node(*number)).unwrap();
        let outgoing = OutgoingChangesets {
            revs: missing.iter().map(rev).collect(),
            heads: missing.iter().map(rev).collect(),
            common: common.iter().map(rev).collect(),
        };
        let parsed = BundleSpec::parse(spec, SpecDefaults { general_delta: true }).unwrap();
        let plan = BundlePlan::new(&view, &outgoing, parsed.contents()).unwrap();
        let mut bytes = Vec::new();
        let sizes = plan.write(parsed.setting(), &mut bytes, &Interrupt::default()).unwrap();
        prop_assert!(sizes.changesets > 0 && sizes.files.is_empty());
        prop_assert_eq!(nodes_in(&bytes), history.sorted(&missing), "{}", spec);
        let reader = history.repository(&common);
        apply(&reader, &bytes).unwrap();
        prop_assert_eq!(nodes_of(&reader), history.sorted(&everything));
    }
}
