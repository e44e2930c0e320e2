//! Revisions that come from another repository: nothing that is said of them is believed.

use crate::model::{Expected, INDEX, check_files, lines, storage};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use varve_base::Storage;
use varve_codec::EngineSetting;
use varve_revlog::{
    Appender, Content, Node, ReceivedRevision, Rev, Revlog, RevlogError, flag, hash,
};

fn appender(storage: &Arc<dyn Storage>) -> Appender {
    Appender::open(
        storage,
        Path::new(INDEX),
        Content::File,
        EngineSetting::ZSTD,
    )
    .unwrap()
}

/// The patch that makes `new` of `old`.
fn patch(old: &[u8], new: &[u8]) -> Vec<u8> {
    let mut patch = Vec::new();
    varve_delta::diff(old, new, varve_delta::Grain::Lines, &mut patch);
    patch
}

/// A revision without parents, against the empty text.
fn root<'a>(text: &[u8], patch: &'a [u8]) -> ReceivedRevision<'a> {
    ReceivedRevision {
        node: hash(&Node::NULL, &Node::NULL, text),
        parents: [Node::NULL; 2],
        base: Node::NULL,
        link: Rev(0),
        flags: 0,
        patch,
    }
}

/// A child of the revision `parent`, whose text is `old`.
fn child<'a>(parent: Node, text: &[u8], patch: &'a [u8]) -> ReceivedRevision<'a> {
    ReceivedRevision {
        node: hash(&parent, &Node::NULL, text),
        parents: [parent, Node::NULL],
        base: parent,
        link: Rev(1),
        ..root(text, patch)
    }
}

#[test]
fn what_comes_is_stored_and_what_is_there_is_not_stored_twice() {
    let storage = storage();
    let mut log = appender(&storage);
    let (one, two) = (lines(0..100), lines(0..101));
    let (whole, delta) = (patch(b"", &one), patch(&one, &two));
    let first = root(&one, &whole);
    let second = child(first.node, &two, &delta);
    let mut text = b"left over".to_vec();
    assert_eq!(log.add_received(&first, &mut text).unwrap(), Some(Rev(0)));
    assert_eq!(text, one);
    assert_eq!(log.add_received(&second, &mut text).unwrap(), Some(Rev(1)));
    assert_eq!(text, two);
    assert_eq!(log.add_received(&first, &mut text).unwrap(), None);
    assert_eq!(log.add_unverified(&second, &mut text).unwrap(), None);
    log.write().unwrap();
    let expected = [(one, None, 0), (two, Some(Rev(0)), 1)];
    let expected = expected.map(|(text, p1, link)| Expected {
        text,
        parents: [p1, None],
        link,
    });
    check_files(&storage, &expected);
}

#[test]
fn a_wrong_name_is_refused_and_leaves_nothing() {
    let storage = storage();
    let mut log = appender(&storage);
    let one = lines(0..100);
    let whole = patch(b"", &one);
    let good = root(&one, &whole);
    let other_name = ReceivedRevision {
        node: Node([9; 20]),
        ..good
    };
    let mut text = Vec::new();
    let refused = log.add_received(&other_name, &mut text);
    assert!(
        matches!(refused, Err(RevlogError::WrongName { rev: Rev(0), .. })),
        "{refused:?}"
    );
    assert!(log.is_empty() && !log.has_new_revisions());
    assert_eq!(log.add_received(&good, &mut text).unwrap(), Some(Rev(0)));
    // The same text under a parent has another name.
    let delta = patch(&one, &one);
    let under_parent = ReceivedRevision {
        node: good.node,
        ..child(good.node, &one, &delta)
    };
    assert_eq!(log.add_received(&under_parent, &mut text).unwrap(), None);
    let claimed = ReceivedRevision {
        node: hash(&Node::NULL, &Node::NULL, &lines(5..9)),
        ..child(good.node, &one, &delta)
    };
    assert!(log.add_received(&claimed, &mut text).is_err());
    assert_eq!(log.len(), 1);
}

#[test]
fn parents_and_bases_that_are_not_there_are_named() {
    let storage = storage();
    let mut log = appender(&storage);
    let one = lines(0..10);
    let whole = patch(b"", &one);
    let missing = Node([3; 20]);
    let good = root(&one, &whole);
    let [first, second] = [[missing, Node::NULL], [Node::NULL, missing]];
    for (new, named) in [
        (
            ReceivedRevision {
                parents: first,
                ..good
            },
            "parent",
        ),
        (
            ReceivedRevision {
                parents: second,
                ..good
            },
            "parent",
        ),
        (
            ReceivedRevision {
                base: missing,
                ..good
            },
            "delta base",
        ),
    ] {
        for verified in [true, false] {
            let mut text = Vec::new();
            let refused = match verified {
                true => log.add_received(&new, &mut text),
                false => log.add_unverified(&new, &mut text),
            };
            match refused {
                Err(RevlogError::UnknownNode { node, what, .. }) => {
                    assert_eq!((node, what), (missing, named));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert!(log.is_empty());
}

#[test]
fn flags_that_no_reader_knows_are_refused() {
    let storage = storage();
    let mut log = appender(&storage);
    let one = lines(0..10);
    let whole = patch(b"", &one);
    for flags in [flag::ELLIPSIS, flag::STORED_OUTSIDE, 1, 0x0020] {
        let flagged = ReceivedRevision {
            flags,
            ..root(&one, &whole)
        };
        let refused = log.add_received(&flagged, &mut Vec::new()).unwrap_err();
        assert!(
            refused.to_string().contains(&format!("{flags:#06x}")),
            "{refused}"
        );
    }
    let hinted = ReceivedRevision {
        flags: flag::HINTS,
        ..root(&one, &whole)
    };
    assert_eq!(
        log.add_received(&hinted, &mut Vec::new()).unwrap(),
        Some(Rev(0))
    );
    log.write().unwrap();
    let revlog = Revlog::open(&storage, Path::new(INDEX)).unwrap();
    assert_eq!(revlog.flags(Rev(0)), 0, "hints speak of the sender's store");
}

/// A censored text cannot have the hash that names it.
#[test]
fn a_censored_revision_keeps_its_name_and_is_not_compared() {
    let storage = storage();
    let mut log = appender(&storage);
    let note = b"\x01\ncensored: \n\x01\n";
    let whole = patch(b"", note);
    let censored = ReceivedRevision {
        node: Node([5; 20]),
        flags: flag::CENSORED,
        ..root(note, &whole)
    };
    assert_eq!(
        log.add_received(&censored, &mut Vec::new()).unwrap(),
        Some(Rev(0))
    );
    let text = lines(0..10);
    let delta = patch(note, &text);
    let next = child(censored.node, &text, &delta);
    assert_eq!(
        log.add_received(&next, &mut Vec::new()).unwrap(),
        Some(Rev(1))
    );
    log.write().unwrap();
    let revlog = Revlog::open(&storage, Path::new(INDEX)).unwrap();
    assert_eq!(revlog.node(Rev(0)), Node([5; 20]));
    assert!(matches!(
        revlog.text(Rev(0)),
        Err(RevlogError::Flagged { .. })
    ));
    assert_eq!(revlog.delta_parent(Rev(1)), None);
    assert_eq!(revlog.text(Rev(1)).unwrap(), text);
}

#[test]
fn patches_that_do_not_fit_are_damage() {
    let storage = storage();
    let mut log = appender(&storage);
    let one = lines(0..100);
    let whole = patch(b"", &one);
    let first = root(&one, &whole);
    log.add_received(&first, &mut Vec::new()).unwrap();
    let two = lines(0..101);
    let good = patch(&one, &two);
    let mut beyond = Vec::new();
    varve_delta::push_hunk(&mut beyond, 0, one.len() as u32 + 1, b"x");
    for bad in [&good[..good.len() - 1], &good[..5], &beyond] {
        let new = child(first.node, &two, bad);
        for refused in [
            log.add_received(&new, &mut Vec::new()),
            log.add_unverified(&new, &mut Vec::new()),
        ] {
            assert!(
                matches!(refused, Err(RevlogError::DamagedChain { .. })),
                "{refused:?}"
            );
        }
    }
    let claim = u32::MAX.to_be_bytes();
    let huge = [&[0, 0, 0, 0], &[0, 0, 0, 0], &claim[..], b"x"].concat();
    assert!(
        log.add_received(&child(first.node, &two, &huge), &mut Vec::new())
            .is_err()
    );
    assert_eq!(log.len(), 1);
    let new = child(first.node, &two, &good);
    assert_eq!(
        log.add_received(&new, &mut Vec::new()).unwrap(),
        Some(Rev(1))
    );
}

/// A delta may be stored as it came, before its text was made; the first reader compares.
#[test]
fn an_unverified_revision_is_found_wrong_when_it_is_checked_or_read() {
    let storage = storage();
    let mut log = appender(&storage);
    let one = lines(0..500);
    let whole = patch(b"", &one);
    let first = root(&one, &whole);
    log.add_received(&first, &mut Vec::new()).unwrap();
    let (two, wrong) = (lines(0..501), lines((0..500).chain(7..8)));
    let (right, other) = (patch(&one, &two), patch(&one, &wrong));
    let honest = child(first.node, &two, &right);
    let liar = ReceivedRevision {
        node: Node([8; 20]),
        ..child(first.node, &wrong, &other)
    };
    let honest = log
        .add_unverified(&honest, &mut Vec::new())
        .unwrap()
        .unwrap();
    let liar = log.add_unverified(&liar, &mut Vec::new()).unwrap().unwrap();
    log.check(honest).unwrap();
    let found = log.check(liar);
    assert!(
        matches!(found, Err(RevlogError::WrongName { rev, .. }) if rev == liar),
        "{found:?}"
    );
    log.write().unwrap();
    let revlog = Revlog::open(&storage, Path::new(INDEX)).unwrap();
    assert_eq!(revlog.text(honest).unwrap(), two);
    let read = revlog.text(liar);
    assert!(
        matches!(read, Err(RevlogError::WrongHash { .. })),
        "{read:?}"
    );
}

/// A history as a sender would cut it into deltas: each against any earlier revision, or the empty text.
type Step = (prop::sample::Index, prop::sample::Index, u8, bool);

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_history_is_received_as_it_was_sent(
        steps in proptest::collection::vec(any::<Step>(), 1..40), cut in any::<prop::sample::Index>(),
    ) {
        let storage = storage();
        let mut log = appender(&storage);
        let mut sent: Vec<(Node, Expected)> = Vec::new();
        let cut = cut.index(steps.len());
        for (number, (parent, base, changed, verified)) in steps.iter().enumerate() {
            let parent = (number > 0).then(|| parent.index(number));
            let base = (number > 0).then(|| base.index(number));
            let mut numbers: Vec<u32> = (0..120).collect();
            numbers[usize::from(*changed) % 120] = 500 + number as u32;
            let text = lines(numbers);
            let old = base.map_or(&b""[..], |base| &sent[base].1.text);
            let delta = patch(old, &text);
            let name = |at: Option<usize>| at.map_or(Node::NULL, |at| sent[at].0);
            let new = ReceivedRevision {
                node: hash(&name(parent), &Node::NULL, &text),
                parents: [name(parent), Node::NULL],
                base: name(base),
                link: Rev(number as u32 * 3),
                flags: 0,
                patch: &delta,
            };
            let mut made = Vec::new();
            let rev = match verified {
                true => log.add_received(&new, &mut made),
                false => log.add_unverified(&new, &mut made),
            };
            prop_assert_eq!(rev.unwrap(), Some(Rev(number as u32)));
            log.check(Rev(number as u32)).unwrap();
            let parents = [parent.map(|parent| Rev(parent as u32)), None];
            sent.push((new.node, Expected { text, parents, link: number as u32 * 3 }));
            if number == cut {
                log.write().unwrap();
                log = appender(&storage);
            }
        }
        log.write().unwrap();
        let expected: Vec<Expected> = sent.into_iter().map(|(_, expected)| expected).collect();
        check_files(&storage, &expected);
    }
}
