//! Pulls from a repository in memory.

use super::history::{History, bundle_of, histories, nodes_of, some_heads};
use crate::apply::{BundleApplier, BundleEvent, PullContext};
use crate::client::discovery::discover;
use crate::client::peer::Remote;
use crate::client::pull::BundleRequest;
use crate::format::bundle::open_bundle;
use crate::format::limits::BundleLimits;
use crate::format::part::{Part, PartHeader, PartType, bookmarks};
use crate::server::wire::WireSettings;
use crate::{ExchangeError, LocalPeer};
use proptest::prelude::*;
use std::collections::BTreeSet;
use varve_base::{Interrupt, Silent};
use varve_codec::EngineSetting;
use varve_repo::{LockKind, Node, Phase, Repository, ViewFilter};

/// Pulls everything, and returns the names of bookmarks that changed.
pub(super) fn pull(
    own: &Repository,
    there: &Repository,
    publishing: bool,
) -> Result<Vec<Vec<u8>>, ExchangeError> {
    let settings = WireSettings {
        publishing,
        ..WireSettings::default()
    };
    let mut remote = Remote::connect(Box::new(LocalPeer::new(there.clone(), settings)))?;
    let view = own.view_for(ViewFilter::Visible)?;
    let found = discover(&view, &mut remote, None)?;
    let request = BundleRequest {
        common: found.common_heads,
        heads: found.remote_heads,
        nothing_new: !found.incoming,
        bookmarks: true,
        ..BundleRequest::default()
    };
    let bundle = open_bundle(remote.bundle(&request)?, BundleLimits::default())?;
    let mut changed = Vec::new();
    let applier = BundleApplier {
        repository: own,
        write: EngineSetting::ZLIB.into(),
        source: "pull",
        url: b"there".to_vec(),
        takes_markers: false,
        checks_all: true,
        only_history: false,
        downloads: None,
        progress: &Silent,
        stop: &Interrupt::default(),
        debug: false,
        asks: false,
        on_event: &mut |event| {
            if let BundleEvent::Bookmark(bookmark) = event {
                changed.push(bookmark.name.clone());
            }
        },
        push: None,
        pull: Some(PullContext::default()),
    };
    let lock = own.try_lock(LockKind::Store)?;
    applier.apply(lock, bundle)?;
    Ok(changed)
}

fn with_bookmark(
    history: &History,
    numbers: &BTreeSet<usize>,
    name: &[u8],
    on: Node,
) -> Repository {
    let repository = history.repository(numbers);
    let part = Part {
        header: PartHeader::mandatory(PartType::Bookmarks),
        payload: bookmarks::encode([(name, Some(on))]).unwrap(),
    };
    super::history::apply(&repository, &bundle_of(&[part])).unwrap();
    repository
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_pull_brings_all_that_the_other_side_has(
        history in histories(30),
        own in some_heads(),
        there in some_heads(),
        publishing: bool,
    ) {
        let (own, there) = (history.closure(&own), history.closure(&there));
        let (local, remote) = (history.repository(&own), history.repository(&there));
        pull(&local, &remote, publishing).unwrap();
        let both: BTreeSet<usize> = own.union(&there).copied().collect();
        prop_assert_eq!(nodes_of(&local), history.sorted(&both));
        let view = local.view_for(ViewFilter::Unfiltered).unwrap();
        for number in &both {
            let rev = view.changelog().rev(&history.node(*number)).unwrap();
            let expected = match publishing && there.contains(number) {
                true => Phase::Public,
                false => Phase::Draft,
            };
            prop_assert_eq!(view.phases().of(rev), expected, "{}", number);
        }
    }
}

#[test]
fn bookmarks_are_added_and_follow_the_other_side() {
    let history = History::line(3);
    let all = history.closure(&[2]);
    let remote = with_bookmark(&history, &all, b"main", history.node(2));
    let local = history.repository(&history.closure(&[0]));
    assert_eq!(pull(&local, &remote, true).unwrap(), [b"main".to_vec()]);
    let here = |local: &Repository| local.view().unwrap().bookmarks().get(&b"main"[..]).copied();
    assert_eq!(here(&local), Some(history.node(2)));
    assert!(pull(&local, &remote, true).unwrap().is_empty());
    let behind = with_bookmark(&history, &all, b"main", history.node(0));
    pull(&behind, &remote, true).unwrap();
    assert_eq!(here(&behind), Some(history.node(2)));
    let ahead = with_bookmark(&history, &all, b"main", history.node(2));
    let older = with_bookmark(&history, &all, b"main", history.node(1));
    assert!(pull(&ahead, &older, true).unwrap().is_empty());
    assert_eq!(here(&ahead), Some(history.node(2)));
}
