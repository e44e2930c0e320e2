//! Pushes that are refused: which check speaks first, and that the store is unchanged byte for byte.

use super::history::{History, bundle_of, histories, nodes_of, some_heads};
use super::push::{FORCE, mandatory, reply_caps, reply_to, unbundle};
use crate::ExchangeError;
use crate::format::part::{Part, PartHeader, PartType, bookmarks, node_list, phase_heads};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use varve_base::Storage;
use varve_base::storage::{EntryKind, read_if_there};
use varve_repo::{Node, Phase, Repository};

/// Every file of the store that is not a lock, a note about an undo or a journal, with its bytes.
fn store(repository: &Repository) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let root = repository.root().join(".hg/store");
    collect(repository.storage().as_ref(), &root, &mut files);
    files.retain(|path, _| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        !name.starts_with("undo")
    });
    files
}

fn collect(storage: &dyn Storage, directory: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in storage.list(directory).unwrap() {
        let path = directory.join(&entry.name);
        match entry.kind {
            EntryKind::Directory => collect(storage, &path, files),
            _ => {
                let bytes = read_if_there(storage, &path).unwrap().unwrap_or_default();
                files.insert(path, bytes);
            }
        }
    }
}

fn check_heads(nodes: &[Node]) -> Part<Vec<u8>> {
    mandatory(PartType::CheckHeads, node_list::encode(nodes))
}

fn check_phase(phase: Phase, node: Node) -> Part<Vec<u8>> {
    mandatory(PartType::CheckPhases, phase_heads::encode([(phase, node)]))
}

fn bookmark(part_type: PartType, name: &str, node: Option<Node>) -> Part<Vec<u8>> {
    let payload = bookmarks::encode([(name.as_bytes(), node)]).unwrap();
    mandatory(part_type, payload)
}

/// Pushes parts and returns the error of the client, after a look at the store.
fn refusal(repository: &Repository, parts: &[Part<Vec<u8>>]) -> String {
    let before = store(repository);
    let all = [&[reply_caps()], parts].concat();
    let (reply, _) = reply_to(unbundle(repository, FORCE, &bundle_of(&all)));
    assert_eq!(store(repository), before);
    match reply.unwrap_err() {
        ExchangeError::PushRaced(message) | ExchangeError::PushFailed { message, .. } => message,
        other => other.to_string(),
    }
}

/// Checks are made in the order of the parts, so the first one that fails is told, whatever follows.
#[test]
fn the_first_check_that_fails_is_told() {
    let history = History::line(4);
    let repository = history.repository(&history.closure(&[2]));
    let checks = [
        (check_heads(&[history.node(1)]), "please try again"),
        (
            check_phase(Phase::Public, history.node(1)),
            "is draft expected public",
        ),
        (
            bookmark(PartType::CheckBookmarks, "main", Some(history.node(1))),
            "bookmark \"main\" is missing",
        ),
        (check_phase(Phase::Draft, Node([9; 20])), "unknown revision"),
    ];
    for (first, words) in &checks {
        for (second, _) in &checks {
            let changes = history.part(&BTreeSet::from([3]));
            let told = refusal(&repository, &[first.clone(), second.clone(), changes]);
            assert!(told.contains(words), "{told}");
        }
    }
}

/// The bundle's changesets are stored first, and are gone after a part behind them fails.
#[test]
fn a_failure_behind_the_changesets_undoes_them() {
    let history = History::line(4);
    let repository = history.repository(&history.closure(&[2]));
    let changes = history.part(&BTreeSet::from([3]));
    let set = bookmark(PartType::Bookmarks, "main", Some(history.node(3)));
    let public = mandatory(
        PartType::PhaseHeads,
        phase_heads::encode([(Phase::Public, history.node(3))]),
    );
    let unknown = |name: &str| Part {
        header: PartHeader {
            name: name.as_bytes().to_vec(),
            ..PartHeader::default()
        },
        payload: Vec::new(),
    };
    let key = PartHeader::mandatory(PartType::PushKey)
        .with("namespace", "bookmarks")
        .with("key", "other")
        .with("old", "07".repeat(20))
        .with("new", history.node(2).to_string());
    let key = Part {
        header: key,
        payload: Vec::new(),
    };
    let missing = bookmark(PartType::Bookmarks, "main", Some(Node([9; 20])));
    let cut = mandatory(PartType::PhaseHeads, vec![0; 23]);
    let raced = check_heads(&[history.node(2), history.node(3)]);
    for last in [unknown("NEWER"), key, missing, cut, raced] {
        let parts = [changes.clone(), set.clone(), public.clone(), last];
        refusal(&repository, &parts);
        let view = repository.view().unwrap();
        assert!(view.bookmarks().is_empty());
        assert_eq!(view.changelog().len(), 3);
        assert!(
            view.phases()
                .roots()
                .iter()
                .all(|(phase, _)| *phase == Phase::Draft)
        );
    }
    // Without the failing part, all of it is stored.
    let parts = [reply_caps(), changes, set, public];
    let (reply, _) = reply_to(unbundle(&repository, FORCE, &bundle_of(&parts)));
    assert_eq!(reply.unwrap().changegroup, Some(1));
    let view = repository.view().unwrap();
    assert_eq!(view.bookmarks().len(), 1);
    assert!(view.phases().roots().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever bit of a pushed bundle changes on its way, the store has all of it or is as it was.
    #[test]
    fn a_damaged_push_is_stored_whole_or_not_at_all(
        history in histories(12), own in some_heads(), flips in proptest::collection::vec((any::<prop::sample::Index>(), 0..8), 8),
    ) {
        let own = history.closure(&own);
        let all: BTreeSet<usize> = (0..history.len()).collect();
        let missing: BTreeSet<usize> = &all - &own;
        prop_assume!(!missing.is_empty());
        let newest = history.node(*missing.last().unwrap());
        let parts = [reply_caps(), history.part(&missing), bookmark(PartType::Bookmarks, "main", Some(newest))];
        let bundle = bundle_of(&parts);
        let repository = history.repository(&own);
        let before = store(&repository);
        for (at, bit) in flips {
            let mut damaged = bundle.clone();
            damaged[at.index(bundle.len())] ^= 1_u8 << bit;
            let answer = unbundle(&repository, FORCE, &damaged);
            if !answer.starts_with(b"HG20") || reply_to(answer).0.is_err() {
                prop_assert_eq!(&store(&repository), &before);
                continue;
            }
            // Stored revisions have the nodes that their texts have.
            let nodes = nodes_of(&repository);
            let known = history.sorted(&all);
            prop_assert!(nodes.iter().all(|node| known.binary_search(node).is_ok()));
            return Ok(());
        }
    }

    /// A changeset whose parent did not come is refused, however many come with it.
    #[test]
    fn a_gap_in_the_history_is_refused(history in histories(20), gap in any::<prop::sample::Index>()) {
        let gap = gap.index(history.len());
        let rest: BTreeSet<usize> = (0..history.len()).filter(|number| *number != gap).collect();
        let has_child = (0..history.len()).any(|number| history.parents_of(number).contains(&gap));
        let repository = history.repository(&BTreeSet::new());
        let parts = [reply_caps(), history.part(&rest)];
        let (reply, _) = reply_to(unbundle(&repository, FORCE, &bundle_of(&parts)));
        prop_assert_eq!(reply.is_err(), has_child);
        let stored = if has_child { 0 } else { rest.len() };
        prop_assert_eq!(nodes_of(&repository).len(), stored);
    }

    /// The same bundle twice stores nothing new, and says so.
    #[test]
    fn pushing_again_changes_nothing(history in histories(20)) {
        let all: BTreeSet<usize> = (0..history.len()).collect();
        let repository = history.repository(&all);
        let before = store(&repository);
        let parts = [reply_caps(), history.part(&all)];
        let (reply, output) = reply_to(unbundle(&repository, FORCE, &bundle_of(&parts)));
        prop_assert_eq!(reply.unwrap().changegroup, Some(1));
        prop_assert!(output.contains("added 0 changesets"), "{}", output);
        prop_assert_eq!(store(&repository), before);
    }
}

/// The error that a client of bundle10 sees is a number, and nothing is stored.
#[test]
fn old_containers_that_are_damaged_store_nothing() {
    let history = History::line(3);
    let repository = history.repository(&history.closure(&[1]));
    let before = store(&repository);
    for bundle in [
        &b"HG10UN\0\0\0\x05"[..],
        b"HG10XX",
        b"HG30",
        b"",
        b"nothing",
    ] {
        let answer = unbundle(&repository, FORCE, bundle);
        assert!(answer.starts_with(b"0\n"), "{}", answer.escape_ascii());
        assert_eq!(store(&repository), before);
    }
    let empty = [&b"HG10UN"[..], &[0; 12]].concat();
    assert_eq!(unbundle(&repository, FORCE, &empty)[..2], *b"1\n");
    assert!(reply_to(b"nonsense".to_vec()).0.is_err());
}
