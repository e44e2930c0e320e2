//! Obsolescence markers and summaries of clones on the same storage.

use super::history::History;
use crate::apply::InstabilityChange;
use crate::client::local_clone::{CloneSummary, copy_markers};
use std::path::Path;
use varve_base::{Interrupt, Silent};
use varve_codec::EngineSetting;
use varve_repo::{LockKind, NewMarker, Node, Phase, Repository, ViewFilter};

/// Clones the changesets that are served, with the source's phases.
fn cloned(source: &Repository) -> Repository {
    let others = source.view().unwrap();
    let work = (&Silent as &dyn varve_base::Progress, &Interrupt::default());
    let write = EngineSetting::ZLIB.into();
    let heads = others.heads();
    let place = (Path::new("clone"), source.requirements());
    let made = source.clone_revisions(&others, place, &heads, write, work);
    let (target, counts) = made.unwrap();
    assert_eq!(counts.changesets, target.view().unwrap().changelog().len());
    target.copy_phases(&others).unwrap();
    target
}

fn mark(repository: &Repository, old: Node, new: Node) {
    let lock = repository.try_lock(LockKind::Store).unwrap();
    let mut transaction = repository.transaction(lock, "mark").unwrap();
    let marker = NewMarker {
        flags: 0,
        old,
        successors: &[new],
        parents: None,
        date: (0, 0),
        metadata: &[(b"user", b"Ada")],
    };
    transaction.add_markers(&[marker]).unwrap();
    transaction.finish().unwrap();
}

/// Turns all changesets into drafts.
fn make_draft(repository: &Repository) {
    let view = repository.view_for(ViewFilter::Unfiltered).unwrap();
    let changelog = view.changelog();
    let revs: Vec<_> = changelog.revs().collect();
    let moved = view.phases().moved(changelog, &revs, Phase::Draft, true);
    let lock = repository.try_lock(LockKind::Store).unwrap();
    let mut transaction = repository.transaction(lock, "phase").unwrap();
    transaction.set_phases(changelog, &moved);
    transaction.finish().unwrap();
}

fn whole(history: &History) -> Repository {
    let repository = history.repository(&(0..history.len()).collect());
    make_draft(&repository);
    repository
}

#[test]
fn markers_of_cloned_changesets_come_along() {
    // 1 was rewritten as 2; 3 still builds on 1.
    let history = History::new(vec![vec![], vec![0], vec![0], vec![1]]);
    let source = whole(&history);
    mark(&source, history.node(1), history.node(2));
    let target = cloned(&source);
    let others = source.view().unwrap();
    let copied = copy_markers(&others, &target, EngineSetting::ZLIB.into()).unwrap();
    let copied = copied.unwrap();
    assert_eq!(copied.markers, 1);
    let orphan = InstabilityChange::Unstable {
        kind: "orphan",
        count: 1,
    };
    assert_eq!(copied.unstable, [orphan]);
    assert_eq!(target.count_markers().unwrap(), 1);
}

#[test]
fn markers_of_other_changesets_stay() {
    let history = History::new(vec![vec![], vec![0], vec![0]]);
    let source = whole(&history);
    let target = cloned(&source);
    // Both sides of the marker are unknown to the clone.
    mark(&source, Node([1; 20]), Node([2; 20]));
    let others = source.view().unwrap();
    let copied = copy_markers(&others, &target, EngineSetting::ZLIB.into()).unwrap();
    assert_eq!(copied, None);
    assert_eq!(target.count_markers().unwrap(), 0);
}

#[test]
fn a_summary_counts_heads_and_drafts() {
    let history = History::new(vec![vec![], vec![0], vec![0]]);
    let target = cloned(&whole(&history));
    let summary = CloneSummary::of(&target).unwrap().unwrap();
    assert_eq!((summary.more_heads, summary.drafts), (1, 3));
    assert_eq!(
        (summary.first, summary.last),
        (history.node(0), history.node(2))
    );
    let empty = History::line(1).repository(&std::collections::BTreeSet::new());
    assert_eq!(CloneSummary::of(&empty).unwrap(), None);
}
