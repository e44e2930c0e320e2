//! The part of a bundle that says which phase the client gives to what it got.

use super::WireSettings;
use std::collections::HashSet;
use varve_repo::{Phase, RepoView};
use varve_revlog::Rev;

/// Per head: u32 phase, node. Ancestors of a head have its phase at most.
pub(super) fn encode_phase_heads(
    view: &RepoView,
    heads: &[Rev],
    settings: &WireSettings,
) -> Vec<u8> {
    let mut out = Vec::new();
    for (phase, rev) in phase_heads(view, heads, settings.publishing) {
        out.extend_from_slice(&u32::from(phase.number()).to_be_bytes());
        out.extend_from_slice(&view.changelog().node(rev).0);
    }
    out
}

/// Everything is public if the repository publishes. If not, each head has its own phase, and the
/// changesets below the drafts that were public already are named, so that they stay so.
fn phase_heads(view: &RepoView, heads: &[Rev], publishing: bool) -> Vec<(Phase, Rev)> {
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
