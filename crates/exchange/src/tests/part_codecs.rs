//! Codecs of parts under damage: a payload with one bit changed is refused, or is read with that change.

use crate::ExchangeError;
use crate::format::changegroup::ChangegroupVersion;
use crate::format::part::reply::{Reply, decode_return_code, return_code};
use crate::format::part::{
    PartHeader, PartType, bookmarks, branch_cache, changegroup, error, list_keys, node_list,
    phase_heads, pushkey, remote_changegroup, stream2, tags_fnodes,
};
use proptest::prelude::*;
use varve_repo::hooks::PushKey;
use varve_repo::{Node, Phase};

/// All that differ from `bytes` in one bit.
fn with_one_bit_changed(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> + '_ {
    (0..bytes.len() * 8).map(|bit| {
        let mut changed = bytes.to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        changed
    })
}

/// Counts the changed forms of `bytes` that `decode` reads; of these, `encode` gives back the same bytes.
fn count_read<T>(
    bytes: &[u8],
    decode: impl Fn(&[u8]) -> Result<T, ExchangeError>,
    encode: impl Fn(&T) -> Vec<u8>,
) -> usize {
    let mut read = 0;
    for changed in with_one_bit_changed(bytes) {
        if let Ok(value) = decode(&changed) {
            assert_eq!(encode(&value), changed);
            read += 1;
        }
    }
    read
}

#[test]
fn bookmarks_keep_every_bit() {
    let pairs = [(&b"main"[..], Some(Node([7; 20]))), (b"gone", None)];
    let bytes = bookmarks::encode(pairs).unwrap();
    let encode = |records: &Vec<bookmarks::BookmarkRecord>| {
        bookmarks::encode(records.iter().map(|(name, node)| (&name[..], *node))).unwrap()
    };
    let read = count_read(&bytes, bookmarks::decode, encode);
    // Each bit of a node or a name means something; each of a length moves the rest out of the payload.
    assert_eq!(read, 8 * (2 * 20 + 2 * 4));
}

#[test]
fn phase_heads_keep_every_bit() {
    let heads = [
        (Phase::Public, Node([1; 20])),
        (Phase::Public, Node([2; 20])),
    ];
    let bytes = phase_heads::encode(heads);
    let records = |bytes: &[u8]| {
        let mut records: Vec<Vec<u8>> = bytes.chunks(24).map(<[u8]>::to_vec).collect();
        records.sort_unstable();
        records
    };
    let mut read = 0;
    for changed in with_one_bit_changed(&bytes) {
        let Ok(decoded) = phase_heads::decode(&changed) else {
            continue;
        };
        let flat = decoded
            .into_iter()
            .flat_map(|(phase, nodes)| nodes.into_iter().map(move |node| (phase, node)));
        assert_eq!(records(&phase_heads::encode(flat)), records(&changed));
        read += 1;
    }
    // Of the bits of a public phase two make another one, draft and secret.
    assert_eq!(read, 2 * (8 * 20 + 2));
}

#[test]
fn lists_of_nodes_keep_every_bit() {
    let nodes = [Node([1; 20]), Node([2; 20]), Node::NULL];
    let bytes = node_list::encode(&nodes);
    let decode = |bytes: &[u8]| node_list::decode(bytes, PartType::CheckHeads);
    let read = count_read(&bytes, decode, |nodes| node_list::encode(nodes));
    assert_eq!(read, 8 * bytes.len());
}

#[test]
fn headers_keep_every_bit_that_is_not_a_length() {
    let header = changegroup::header(ChangegroupVersion::V3, Some(12), Some(Phase::Secret));
    let bytes = header.encode().unwrap();
    for changed in with_one_bit_changed(&bytes) {
        if let Ok(found) = PartHeader::decode(&changed) {
            let again = found.encode().unwrap();
            assert!(changed.starts_with(&again), "{}", changed.escape_ascii());
        }
    }
    for len in 0..bytes.len() {
        assert!(PartHeader::decode(&bytes[..len]).is_err(), "{len}");
    }
}

/// A reader that checks mandatory parameters understands the output of an encoder.
#[test]
fn encoders_write_only_parameters_that_readers_know() {
    let aborted = ExchangeError::RemoteAbort {
        message: "no".to_owned(),
        hint: Some("try again".to_owned()),
    };
    let unsupported = ExchangeError::UnknownBundleFeature("foo - a, b".to_owned());
    let raced = ExchangeError::RepositoryChanged(String::new());
    let key = PushKey {
        namespace: b"phases".to_vec(),
        key: b"k".to_vec(),
        old: b"1".to_vec(),
        new: b"0".to_vec(),
    };
    let refused = ExchangeError::KeyRefused { part: 3, key };
    let mut headers = vec![
        changegroup::header(ChangegroupVersion::V2, Some(1), Some(Phase::Draft)),
        stream2::header(1, 2, "revlogv1"),
        list_keys::part(b"phases", &list_keys::Keys::new()).header,
        error::encode(&aborted),
        error::encode(&unsupported),
        error::encode(&raced),
        error::encode_interruption(&aborted),
    ];
    headers.extend([
        Reply::Changegroup { heads: 1 }.encode(3),
        Reply::RemoteChangegroup { heads: -1 }.encode(3),
        Reply::Obsmarkers { new: 1 }.encode(3),
        Reply::PushKey { done: false }.encode(3),
    ]);
    for header in headers {
        let part_type = header.part_type().unwrap();
        let checked = header.check_mandatory(part_type.parameters());
        assert!(checked.is_ok(), "{part_type:?}");
    }
    // Only a client that pushed a key reads this one, by its own list.
    let refused = error::encode(&refused);
    assert!(refused.check_mandatory(&["in-reply-to"]).is_ok());
}

#[test]
fn names_are_unique_and_only_their_case_says_whether_a_part_is_mandatory() {
    for one in PartType::ALL {
        for other in PartType::ALL {
            assert_eq!(one == other, one.name().eq_ignore_ascii_case(other.name()));
        }
        assert!(PartHeader::mandatory(one).is_mandatory(), "{one:?}");
        assert!(!PartHeader::advisory(one).is_mandatory(), "{one:?}");
        assert_eq!(PartHeader::mandatory(one).part_type(), Some(one));
        let mut mixed = PartHeader::advisory(one);
        let letter = mixed.name.first_mut().unwrap();
        letter.make_ascii_uppercase();
        assert_eq!(mixed.part_type(), Some(one));
        assert!(mixed.is_mandatory());
    }
}

proptest! {
    #[test]
    fn numbers_in_replies_come_back(heads in -1000_i64..1000, part: u32) {
        for reply in [Reply::Changegroup { heads }, Reply::RemoteChangegroup { heads }] {
            let header = PartHeader::decode(&reply.encode(part).encode().unwrap()).unwrap();
            let code = decode_return_code(&header).unwrap();
            prop_assert_eq!(code, return_code(heads));
            // The inverse that clients use: 1 is no change, and zero never occurs.
            prop_assert_eq!(if code > 0 { code - 1 } else { code + 1 }, heads);
            prop_assert_eq!(header.text("in-reply-to"), Some(part.to_string()));
        }
    }

    #[test]
    fn stream_parameters_come_back(bytes: u64, files: u32, requirements in "[a-z0-9,.%= -]{0,60}") {
        let header = stream2::header(bytes, files as usize, &requirements);
        let header = PartHeader::decode(&header.encode().unwrap()).unwrap();
        let found = stream2::decode(&header).unwrap();
        prop_assert_eq!((found.bytes, found.files), (bytes, u64::from(files)));
        prop_assert_eq!(found.requirements, requirements.into_bytes());
    }

    #[test]
    fn keys_to_push_come_back(
        namespace in "[a-z]{1,9}", key in "\\PC{0,20}", old in "[0-9a-f]{0,40}", new in "[0-9a-f]{0,40}",
    ) {
        let header = PartHeader::mandatory(PartType::PushKey)
            .with("new", new.clone())
            .with("old", old.clone())
            .with("key", key.clone())
            .with("namespace", namespace.clone());
        let header = PartHeader::decode(&header.encode().unwrap()).unwrap();
        let found = pushkey::decode(&header).unwrap();
        prop_assert_eq!(found.namespace, namespace.into_bytes());
        prop_assert_eq!(found.key, key.into_bytes());
        prop_assert_eq!((found.old, found.new), (old.into_bytes(), new.into_bytes()));
    }

    #[test]
    fn digests_of_a_distant_changegroup_come_in_their_order(
        names in proptest::sample::subsequence(vec!["md5", "sha1", "sha512", "blake9"], 0..4), size: i64,
    ) {
        let mut header = PartHeader::mandatory(PartType::RemoteChangegroup)
            .with("digests", names.join("  "))
            .with("size", size.to_string())
            .with("url", "http://h/x");
        for name in &names {
            header = header.with(&format!("digest:{name}"), format!("of {name}"));
        }
        let found = remote_changegroup::decode(&header).unwrap();
        prop_assert_eq!(found.size, size);
        let expected: Vec<(String, String)> =
            names.iter().map(|name| ((*name).to_owned(), format!("of {name}"))).collect();
        prop_assert_eq!(found.digests, expected);
        // A digest that readers do not know is a mandatory parameter that they refuse.
        let known = header.check_mandatory(PartType::RemoteChangegroup.parameters()).is_ok();
        prop_assert_eq!(known, !names.contains(&"blake9"));
    }

    /// Records of branches by a reader of this test, since the product passes them over.
    #[test]
    fn branches_can_be_taken_apart(
        branches in proptest::collection::btree_map("[a-z]{1,6}", (0_usize..4, 0_usize..4), 0..5),
    ) {
        let nodes = |count: usize, byte: u8| vec![Node([byte; 20]); count];
        let given = branches.iter().map(|(name, (open, closed))| {
            (name.clone().into_bytes(), [nodes(*open, 1), nodes(*closed, 2)])
        });
        let bytes = branch_cache::encode(given.collect());
        let mut rest = &bytes[..];
        for (name, (open, closed)) in &branches {
            let (head, behind) = rest.split_at(12);
            let number = |at: usize| u32::from_be_bytes(*head[at..].first_chunk().unwrap()) as usize;
            prop_assert_eq!((number(0), number(4), number(8)), (name.len(), *open, *closed));
            let (found, behind) = behind.split_at(name.len());
            prop_assert_eq!(found, name.as_bytes());
            let (found, behind) = behind.split_at(20 * (open + closed));
            prop_assert_eq!(found.iter().filter(|byte| **byte == 1).count(), 20 * open);
            rest = behind;
        }
        prop_assert!(rest.is_empty());
    }

    #[test]
    fn tags_are_paired_with_their_changesets(pairs in proptest::collection::vec(any::<[[u8; 20]; 2]>(), 0..6)) {
        let pairs: Vec<[Node; 2]> = pairs.into_iter().map(|pair| pair.map(Node)).collect();
        let changesets: Vec<Node> = pairs.iter().map(|[changeset, _]| *changeset).collect();
        prop_assert_eq!(tags_fnodes::decode(&tags_fnodes::encode(&pairs)), changesets);
    }
}
