//! Checks of every entry of every revlog: its changeset, and that it is there once.

use super::findings::{Findings, short};
use std::collections::HashMap;
use varve_revlog::{Rev, Revlog};

/// The number of the changeset that introduced revision `rev`, if it is one of `expected`, the
/// changesets that speak of it. `None` once that error was reported.
///
/// Without any changelog there is nothing to compare with.
pub(super) fn check_link(
    log: &Revlog,
    rev: Rev,
    expected: &[u32],
    changesets: usize,
    name: &[u8],
    found: &mut Findings,
) -> Option<i64> {
    let link = log.linkrev(rev);
    let known = u32::try_from(link).is_ok_and(|link| expected.contains(&link));
    if known || (changesets == 0 && link >= 0) {
        return Some(link);
    }
    let is_there = usize::try_from(link).is_ok_and(|link| link < changesets);
    let what = if is_there {
        "unexpected"
    } else {
        "nonexistent"
    };
    let message = format!("rev {rev} points to {what} changeset {link}");
    found.error(None, message.as_bytes(), Some(name));
    // Of several changesets Mercurial names none.
    match expected {
        [] => {}
        [one] => found.warn(format!(" (expected {one})").into_bytes()),
        _ => found.warn(b" (expected )".to_vec()),
    }
    None
}

/// Revisions whose node an earlier one has, with that one. Parents need no such look: an index
/// that names a parent after its child is not read at all.
pub(super) fn duplicates(log: &Revlog) -> HashMap<Rev, Rev> {
    let mut nodes: Vec<_> = log.revs().map(|rev| (log.node(rev), rev)).collect();
    nodes.sort_unstable();
    let same = nodes.windows(2).filter(|pair| pair[0].0 == pair[1].0);
    same.map(|pair| (pair[1].1, pair[0].1)).collect()
}

/// Tells of a node that is there twice.
pub(super) fn report_duplicate(
    rev: Rev,
    duplicates: &HashMap<Rev, Rev>,
    link: Option<i64>,
    name: &[u8],
    found: &mut Findings,
) {
    if let Some(earlier) = duplicates.get(&rev) {
        let message = format!("duplicate revision {rev} ({earlier})");
        found.error(link, message.as_bytes(), Some(name));
    }
}

/// `unpacking …: reason` and the like.
pub(super) fn about(what: &str, log: &Revlog, rev: Rev, reason: &[u8]) -> Vec<u8> {
    [what.as_bytes(), b" ", &short(&log.node(rev)), b": ", reason].concat()
}
