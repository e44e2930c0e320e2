//! Phases that a client gives to the changesets that it got.

use super::WireSettings;
use crate::format::part::phase_heads;
use std::collections::HashSet;
use varve_repo::{Phase, RepoView};
use varve_revlog::Rev;

/// The payload of `phase-heads` for an answer with these heads.
pub(super) fn encode_phase_heads(
    view: &RepoView,
    heads: &[Rev],
    settings: &WireSettings,
) -> Vec<u8> {
    let heads = phases_of_heads(view, heads, settings.publishing).into_iter();
    phase_heads::encode(heads.map(|(phase, rev)| (phase, view.changelog().node(rev))))
}

/// Everything is public if the repository publishes. If not, each head has its own phase, and the
/// changesets below the drafts that were public already are named, so that they stay so.
fn phases_of_heads(view: &RepoView, heads: &[Rev], publishing: bool) -> Vec<(Phase, Rev)> {
    if publishing {
        return heads.iter().map(|head| (Phase::Public, *head)).collect();
    }
    let phase = |rev: &Rev| view.phases().of(*rev);
    let mut found: Vec<(Phase, Rev)> = heads.iter().map(|head| (phase(head), *head)).collect();
    let mut drafts = heads.to_vec();
    drafts.retain(|head| phase(head) != Phase::Public);
    let mut seen: HashSet<Rev> = heads.iter().copied().collect();
    while let Some(rev) = drafts.pop() {
        for parent in view.changelog().parents(rev).into_iter().flatten() {
            if !seen.insert(parent) {
                continue;
            }
            match phase(&parent) {
                Phase::Public => found.push((Phase::Public, parent)),
                _ => drafts.push(parent),
            }
        }
    }
    found
}
