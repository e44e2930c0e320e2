//! Telling the observer how a merge of changesets was decided.

use crate::manifest_merge::{FileAction, ManifestMerge, Reason};
use crate::update::{Plan, PlanReport, Relocation};
use crate::{Comparison, Tree, UpdateEvent, UpdateObserver, WorkdirError};
use std::collections::BTreeMap;

type Reasons = BTreeMap<Vec<u8>, Reason>;

/// Tells what comes before files move because of their directories; the result tells the rest.
pub(super) fn report<'p>(
    plan: &'p Plan,
    (ours, merged): (&Tree<'_>, &ManifestMerge),
    comparison: &Comparison<'_>,
    observer: &mut dyn UpdateObserver,
) -> Result<PlanReport<'p>, WorkdirError> {
    match &merged.auction {
        Some(auction) => observer.on_event(&UpdateEvent::Auction {
            comparison,
            auction,
        }),
        None => observer.on_event(&UpdateEvent::Planned(comparison)),
    }
    let mut reasons = Reasons::new();
    for (path, action) in &merged.actions {
        reasons.insert(path.clone(), action.reason(ours.get(path)?.is_some()));
    }
    let kept = kept(merged, &reasons);
    let report = PlanReport {
        plan,
        reason: Box::new(move |path, _| reasons.get(path).cloned()),
    };
    report.before_files_move(observer);
    for (path, reason) in kept {
        observer.on_event(&UpdateEvent::Decided(path, &reason));
    }
    Ok(report)
}

/// Tells which renames were not looked for.
pub(super) fn report_passed_over(merged: &ManifestMerge, observer: &mut dyn UpdateObserver) {
    for (path, candidates) in &merged.passed_over {
        observer.on_event(&UpdateEvent::CopiesPassedOver {
            path,
            candidates: *candidates,
        });
    }
}

/// Files that stay as they are, in the order in which they are told. Only several ancestors look at all of them.
fn kept<'m>(merged: &'m ManifestMerge, reasons: &Reasons) -> Vec<(&'m [u8], Reason)> {
    const ORDER: [FileAction; 3] = [
        FileAction::KeepNew,
        FileAction::Keep,
        FileAction::KeepAbsent,
    ];
    let mut kept = Vec::new();
    if merged.auction.is_none() {
        return kept;
    }
    for wanted in &ORDER {
        let paths = merged
            .actions
            .iter()
            .filter(|(_, action)| *action == wanted);
        kept.extend(paths.filter_map(|(path, _)| Some((&path[..], reasons.get(path)?.clone()))));
    }
    kept
}

/// Why a file goes to another path.
pub(super) fn relocation(file: &Relocation) -> Reason {
    let (from, kind) = (file.from.clone(), file.kind);
    let action = match file.theirs {
        Some(_) => FileAction::GetMoved { from, kind },
        None => FileAction::MoveOurs { from, kind },
    };
    action.reason(false)
}
