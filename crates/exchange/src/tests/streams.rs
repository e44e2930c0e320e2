//! The files of a store as a bundle: into an empty repository and back, cut, miscounted, and of unknown form.

use super::history::{History, apply, histories, nodes_of, some_heads};
use crate::ExchangeError;
use crate::apply::{StreamApplier, StreamEvent, StreamSize};
use crate::format::bundle::{Bundle, open_bundle};
use crate::format::limits::BundleLimits;
use crate::format::part::{Part, PartHeader, PartType, stream2};
use crate::generate::{StreamBundle, StreamExtras};
use proptest::prelude::*;
use std::path::Path;
use std::sync::Arc;
use varve_base::{Interrupt, MemoryStorage};
use varve_repo::{LockKind, Repository, ViewFilter};

fn empty() -> Repository {
    Repository::create(Arc::new(MemoryStorage::default()), Path::new("r")).unwrap()
}

fn planned(repository: &Repository) -> StreamBundle {
    let view = repository.view_for(ViewFilter::Unfiltered).unwrap();
    let extras = StreamExtras {
        phases: true,
        ..StreamExtras::default()
    };
    StreamBundle::plan(repository, &view, extras).unwrap()
}

fn bundle2(repository: &Repository) -> Vec<u8> {
    let mut out = Vec::new();
    planned(repository)
        .write_bundle2(&mut out, &Interrupt::default())
        .unwrap();
    out
}

fn packed1(repository: &Repository) -> Vec<u8> {
    let mut out = Vec::new();
    planned(repository)
        .write_packed1(&mut out, &Interrupt::default())
        .unwrap();
    out
}

/// Applies a packed bundle; returns the announced counts and the names of the files in order.
fn apply_packed(
    repository: &Repository,
    bytes: &[u8],
    stop: &Interrupt,
) -> Result<(StreamSize, Vec<Vec<u8>>), ExchangeError> {
    let Bundle::Packed(packed) = open_bundle(bytes, BundleLimits::default())? else {
        panic!("another container");
    };
    let mut names = Vec::new();
    let applier = StreamApplier {
        repository,
        stop,
        on_event: &mut |event| {
            if let StreamEvent::File { name, .. } = event {
                names.push(name.to_vec());
            }
        },
    };
    let lock = repository.try_lock(LockKind::Store)?;
    let (size, _lock) = applier.apply_packed(lock, packed)?;
    Ok((size, names))
}

fn phases(repository: &Repository) -> Vec<(varve_repo::Phase, varve_repo::Rev)> {
    let view = repository.view_for(ViewFilter::Unfiltered).unwrap();
    view.phases().roots().to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_store_arrives_as_it_was_in_both_forms(history in histories(25), heads in some_heads()) {
        let mut all = history.closure(&heads);
        all.insert(0);
        let source = history.repository(&all);
        let clone = empty();
        apply(&clone, &bundle2(&source)).unwrap();
        let clone = clone.reopen().unwrap();
        prop_assert_eq!(nodes_of(&clone), history.sorted(&all));
        prop_assert_eq!(phases(&clone), phases(&source));
        let packed = empty();
        let (size, names) = apply_packed(&packed, &packed1(&source), &Interrupt::default()).unwrap();
        prop_assert_eq!(nodes_of(&packed.reopen().unwrap()), history.sorted(&all));
        let plan = planned(&source);
        prop_assert_eq!((size.files, size.bytes), (names.len() as u64, plan.bytes()));
        prop_assert!(plan.files().map(|(name, _)| name.to_vec()).eq(names));
    }

    /// A cut anywhere is refused. The store is there as a whole, if the cut is behind it, or not at all; then
    /// the repository can be cloned into again.
    #[test]
    fn a_stream_that_is_cut_leaves_no_part_of_a_store(cut in any::<prop::sample::Index>()) {
        let history = History::line(4);
        let source = history.repository(&history.closure(&[3]));
        let (first, second) = (packed1(&source), bundle2(&source));
        let target = empty();
        let packed = &first[..cut.index(first.len())];
        prop_assert!(apply_packed(&target, packed, &Interrupt::default()).is_err(), "{}", packed.len());
        prop_assert!(nodes_of(&target.reopen().unwrap()).is_empty());
        let bundle = &second[..cut.index(second.len())];
        prop_assert!(apply(&target, bundle).is_err(), "{}", bundle.len());
        let target = target.reopen().unwrap();
        if nodes_of(&target).is_empty() {
            apply(&target, &second).unwrap();
        } else {
            // The end of the part and that of the bundle.
            prop_assert!(second.len() - bundle.len() <= 8, "{}", bundle.len());
        }
        prop_assert_eq!(nodes_of(&target.reopen().unwrap()).len(), 4);
    }
}

/// The payload of a bundle of files behind another header.
fn with_header(source: &Repository, change: impl FnOnce(&mut (u64, usize, String))) -> Vec<u8> {
    let plan = planned(source);
    let bytes = bundle2(source);
    let Ok(Bundle::Bundle20(mut parts)) = open_bundle(&bytes[..], BundleLimits::default()) else {
        panic!("another container");
    };
    let mut part = parts.next_part().unwrap().unwrap();
    let payload = crate::format::part::read_whole(&mut part.payload).unwrap();
    let mut counts = (
        plan.bytes(),
        plan.files().count(),
        plan.requirements().join(","),
    );
    change(&mut counts);
    let header = stream2::header(counts.0, counts.1, &counts.2);
    super::history::bundle_of(&[Part { header, payload }])
}

#[test]
fn counts_and_requirements_must_be_right() {
    let history = History::line(3);
    let source = history.repository(&history.closure(&[2]));
    let refused = |change: fn(&mut (u64, usize, String))| {
        let target = empty();
        let error = apply(&target, &with_header(&source, change)).unwrap_err();
        assert!(nodes_of(&target.reopen().unwrap()).is_empty());
        error.to_string()
    };
    let damaged = "the bundle is damaged: ";
    assert_eq!(
        refused(|counts| counts.0 += 7),
        format!("{damaged}7 announced bytes did not come")
    );
    assert_eq!(
        refused(|counts| counts.0 -= 1),
        format!("{damaged}the files are longer than announced")
    );
    refused(|counts| counts.1 += 1);
    refused(|counts| counts.1 -= 1);
    refused(|counts| counts.1 = usize::MAX);
    let words = refused(|counts| counts.2 += ",from-the-future");
    assert!(words.contains("from-the-future"), "{words}");
    apply(&empty(), &with_header(&source, |_| {})).unwrap();
}

#[test]
fn a_stream_goes_only_into_an_empty_repository() {
    let history = History::line(3);
    let source = history.repository(&history.closure(&[2]));
    let target = history.repository(&history.closure(&[0]));
    let refused = apply(&target, &bundle2(&source)).unwrap_err();
    assert!(
        matches!(refused, ExchangeError::StreamIntoHistory),
        "{refused}"
    );
    let refused = apply_packed(&target, &packed1(&source), &Interrupt::default()).unwrap_err();
    assert!(
        matches!(refused, ExchangeError::PackedIntoHistory),
        "{refused}"
    );
    assert_eq!(nodes_of(&target).len(), 1);
    // Behind changesets of the same bundle it is too late as well.
    let late = [
        history.part(&[0].into()),
        Part {
            header: PartHeader::mandatory(PartType::Stream2)
                .with("filecount", "0")
                .with("bytecount", "0"),
            payload: Vec::new(),
        },
    ];
    let target = empty();
    let refused = apply(&target, &super::history::bundle_of(&late)).unwrap_err();
    assert!(
        matches!(refused, ExchangeError::StreamIntoHistory),
        "{refused}"
    );
    assert!(nodes_of(&target).is_empty());
}

#[test]
fn an_interrupted_stream_is_neither_written_nor_kept() {
    let history = History::line(3);
    let source = history.repository(&history.closure(&[2]));
    let bytes = packed1(&source);
    let stop = Interrupt::default();
    stop.raise();
    let plan = planned(&source);
    assert!(plan.write_bundle2(Vec::new(), &stop).is_err());
    assert!(plan.write_packed1(Vec::new(), &stop).is_err());
    let target = empty();
    assert!(apply_packed(&target, &bytes, &stop).is_err());
    assert!(nodes_of(&target.reopen().unwrap()).is_empty());
    apply_packed(&target, &bytes, &Interrupt::default()).unwrap();
}
