//! The contents of a bundle, decided before its first byte is written.

use super::part_payloads::{own_phase_heads, tags_fnodes};
use super::selection::Selection;
use crate::ExchangeError;
use crate::format::bundlespec::BundleContents;
use crate::format::changegroup::ChangegroupVersion;
use crate::format::part::{Part, PartHeader, PartType, changegroup};
use varve_repo::{Phase, RepoView};
use varve_revlog::{Node, Rev};

/// Changesets of a bundle, and those that its reader has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutgoingChangesets {
    /// The changesets, oldest first; every changeset between two of these must be one too.
    pub revs: Vec<Rev>,
    /// Requested changesets; each is sent, or an ancestor of one that is sent or common.
    pub heads: Vec<Rev>,
    /// The reader has these and their ancestors.
    pub common: Vec<Rev>,
}

/// A bundle that is ready to be written.
pub struct BundlePlan<'a> {
    pub(super) view: &'a RepoView,
    pub(super) selection: Selection,
    pub(super) revs: Vec<Rev>,
    pub(super) form: BundleForm,
}

pub(super) enum BundleForm {
    Bundle10,
    Bundle20(Vec<Part<PlannedPayload>>),
}

/// Payload of a part that is still to be written.
pub(super) enum PlannedPayload {
    Changegroup(ChangegroupVersion),
    /// The branches of the changesets, all of which have to be read for it.
    Branches,
    Bytes(Vec<u8>),
}

/// Outline of a written part, for Mercurial's debug output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartOutline {
    /// Name of the type in lower case.
    pub name: &'static str,
    /// Whether a reader must know it.
    pub is_mandatory: bool,
    /// Number of mandatory and of advisory parameters.
    pub params: [usize; 2],
    /// Bytes of the payload; `None` if Mercurial generates it while it writes.
    pub len: Option<usize>,
}

impl PartOutline {
    /// The outline of a part of this type whose payload has `len` bytes, if that is known.
    pub(crate) fn new(part_type: PartType, header: &PartHeader, len: Option<usize>) -> PartOutline {
        let streamed = matches!(
            part_type,
            PartType::Obsmarkers | PartType::CheckHeads | PartType::CheckUpdatedHeads
        );
        PartOutline {
            name: part_type.name(),
            is_mandatory: header.is_mandatory(),
            params: header.counts(),
            len: len.filter(|_| !streamed),
        }
    }
}

impl<'a> BundlePlan<'a> {
    /// Plans a bundle of the changesets, for which `contents` names no stream.
    ///
    /// # Errors
    /// [`ExchangeError::ChangegroupVersion`] for a changegroup that cannot be written; damaged
    /// revisions.
    pub fn new(
        view: &'a RepoView,
        outgoing: &OutgoingChangesets,
        contents: &BundleContents,
    ) -> Result<BundlePlan<'a>, ExchangeError> {
        let version = ChangegroupVersion::named(&contents.changegroup_version)?;
        let form = match version {
            ChangegroupVersion::V1 => BundleForm::Bundle10,
            _ => BundleForm::Bundle20(parts(view, outgoing, contents, version)?),
        };
        let OutgoingChangesets { revs, common, .. } = outgoing;
        Ok(BundlePlan {
            view,
            selection: Selection::exactly(view.changelog(), revs, common),
            revs: revs.clone(),
            form,
        })
    }

    /// The parts of a bundle2, in order; `None` for a bundle10.
    pub fn parts(&self) -> Option<Vec<PartOutline>> {
        let BundleForm::Bundle20(parts) = &self.form else {
            return None;
        };
        let outlines = parts.iter().filter_map(|part| {
            let len = match &part.payload {
                PlannedPayload::Bytes(bytes) => Some(bytes.len()),
                _ => None,
            };
            let part_type = part.header.part_type()?;
            let mut outline = PartOutline::new(part_type, &part.header, len);
            // Mercurial counts before it adds the phase.
            if part.header.value(changegroup::TARGET_PHASE).is_some() {
                outline.params[1] -= 1;
            }
            Some(outline)
        });
        Some(outlines.collect())
    }
}

fn parts(
    view: &RepoView,
    outgoing: &OutgoingChangesets,
    contents: &BundleContents,
    version: ChangegroupVersion,
) -> Result<Vec<Part<PlannedPayload>>, ExchangeError> {
    let revs = &outgoing.revs;
    let mut parts = Vec::new();
    let mut add = |header, payload| parts.push(Part { header, payload });
    if contents.changegroup {
        let header = changegroup_header(view, revs, contents, version);
        add(header, PlannedPayload::Changegroup(version));
    }
    if contents.tags_fnodes {
        let mut heads = outgoing.heads.clone();
        if contents.changegroup {
            // Mercurial has sorted them by then.
            heads.sort_unstable_by_key(|rev| view.changelog().node(*rev));
        }
        let bytes = tags_fnodes(view, &heads)?;
        if !bytes.is_empty() {
            let header = PartHeader::advisory(PartType::TagsFnodes);
            add(header, PlannedPayload::Bytes(bytes));
        }
    }
    if contents.rev_branches {
        let header = PartHeader::advisory(PartType::BranchCache);
        add(header, PlannedPayload::Branches);
    }
    if contents.obsolescence {
        let nodes: Vec<Node> = revs.iter().map(|rev| view.changelog().node(*rev)).collect();
        let bytes = view.relevant_markers(&nodes)?;
        if !bytes.is_empty() {
            let header = match contents.obsolescence_mandatory {
                true => PartHeader::mandatory(PartType::Obsmarkers),
                false => PartHeader::advisory(PartType::Obsmarkers),
            };
            add(header, PlannedPayload::Bytes(bytes));
        }
    }
    if contents.phases {
        let bytes = own_phase_heads(view, revs);
        let header = PartHeader::mandatory(PartType::PhaseHeads);
        add(header, PlannedPayload::Bytes(bytes));
    }
    Ok(parts)
}

/// A bundle with secret changesets has their phase in the header, so that they never have a lower one.
fn changegroup_header(
    view: &RepoView,
    revs: &[Rev],
    contents: &BundleContents,
    version: ChangegroupVersion,
) -> PartHeader {
    let mut phases = revs.iter().map(|rev| view.phases().of(*rev));
    let has_secret = contents.phases && phases.any(|phase| phase == Phase::Secret);
    changegroup::header(
        version,
        Some(revs.len()),
        has_secret.then_some(Phase::Secret),
    )
}
