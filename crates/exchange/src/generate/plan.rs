//! What goes into a bundle, settled before its first byte.

use super::parts::{encode_phases, encode_tag_files};
use crate::ExchangeError;
use crate::format::bundlespec::BundleContents;
use crate::format::changegroup::Version;
use crate::generate::Selection;
use varve_repo::{Phase, RepoView};
use varve_revlog::{Node, Rev};

/// Which changesets go into a bundle, and what its reader has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Travellers {
    /// What goes into the bundle, oldest first: whatever lies between two of these is one too.
    pub revs: Vec<Rev>,
    /// What was asked for; all of it, or something that builds on it, is sent or common.
    pub heads: Vec<Rev>,
    /// What the reader has, with all that it builds on.
    pub common: Vec<Rev>,
}

/// A bundle that is ready to be written.
pub struct BundlePlan<'a> {
    pub(super) view: &'a RepoView,
    pub(super) selection: Selection,
    pub(super) revs: Vec<Rev>,
    pub(super) form: Form,
}

pub(super) enum Form {
    Bundle1,
    Bundle2(Vec<Part>),
}

/// A part of a bundle2.
pub(super) struct Part {
    pub(super) name: &'static str,
    /// Whether a reader must know parts of this name.
    pub(super) is_mandatory: bool,
    pub(super) mandatory: Vec<(&'static str, String)>,
    pub(super) advisory: Vec<(&'static str, String)>,
    pub(super) payload: Payload,
}

pub(super) enum Payload {
    Changegroup(Version),
    /// The branches of the changesets; all of these have to be read for it.
    Branches,
    Bytes(Vec<u8>),
}

/// What may be told about a part before it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartOutline {
    /// Its name in small letters.
    pub name: &'static str,
    /// Whether a reader must know it.
    pub is_mandatory: bool,
    /// Number of mandatory and of advisory parameters, as it is told.
    pub params: [usize; 2],
    /// Bytes of the payload, where they are all known beforehand.
    pub len: Option<usize>,
}

impl Part {
    /// The name as it is written: capital letters for what must be known.
    pub(super) fn wire_name(&self) -> String {
        match self.is_mandatory {
            true => self.name.to_ascii_uppercase(),
            false => self.name.to_owned(),
        }
    }

    fn plain(name: &'static str, is_mandatory: bool, payload: Payload) -> Part {
        Part {
            name,
            is_mandatory,
            mandatory: Vec::new(),
            advisory: Vec::new(),
            payload,
        }
    }
}

impl<'a> BundlePlan<'a> {
    /// Plans a bundle of the changesets, for which `contents` names no stream.
    ///
    /// # Errors
    /// [`ExchangeError::ChangegroupVersion`] for a changegroup that cannot be written; what is
    /// damaged.
    pub fn new(
        view: &'a RepoView,
        travellers: &Travellers,
        contents: &BundleContents,
    ) -> Result<BundlePlan<'a>, ExchangeError> {
        let version = Version::named(&contents.changegroup_version)?;
        let form = match version {
            Version::V1 => Form::Bundle1,
            _ => Form::Bundle2(parts(view, travellers, contents, version)?),
        };
        let Travellers { revs, common, .. } = travellers;
        Ok(BundlePlan {
            view,
            selection: Selection::exactly(view.changelog(), revs, common),
            revs: revs.clone(),
            form,
        })
    }

    /// The parts of a bundle2, in order; `None` for a bundle1.
    pub fn parts(&self) -> Option<Vec<PartOutline>> {
        let Form::Bundle2(parts) = &self.form else {
            return None;
        };
        // Mercurial counts before it adds the phase.
        let advisory = |part: &Part| {
            let keys = part.advisory.iter().map(|(key, _)| *key);
            keys.filter(|key| *key != TARGET_PHASE).count()
        };
        let outline = |part: &Part| PartOutline {
            name: part.name,
            is_mandatory: part.is_mandatory,
            params: [part.mandatory.len(), advisory(part)],
            len: match &part.payload {
                Payload::Bytes(bytes) if part.name != MARKERS => Some(bytes.len()),
                _ => None,
            },
        };
        Some(parts.iter().map(outline).collect())
    }
}

/// Mercurial makes these while it writes them, and so says nothing of their length.
const MARKERS: &str = "obsmarkers";

/// Says that the changesets are not to get a lower phase before theirs are known.
const TARGET_PHASE: &str = "targetphase";

fn parts(
    view: &RepoView,
    travellers: &Travellers,
    contents: &BundleContents,
    version: Version,
) -> Result<Vec<Part>, ExchangeError> {
    let revs = &travellers.revs;
    let mut parts = Vec::new();
    if contents.changegroup {
        parts.push(changegroup(view, revs, contents, version));
    }
    if contents.tags_fnodes {
        let mut heads = travellers.heads.clone();
        if contents.changegroup {
            // Mercurial has sorted them by then.
            heads.sort_unstable_by_key(|rev| view.changelog().node(*rev));
        }
        let bytes = encode_tag_files(view, &heads)?;
        if !bytes.is_empty() {
            parts.push(Part::plain("hgtagsfnodes", false, Payload::Bytes(bytes)));
        }
    }
    if contents.rev_branches {
        parts.push(Part::plain(
            "cache:rev-branch-cache",
            false,
            Payload::Branches,
        ));
    }
    if contents.obsolescence {
        let nodes: Vec<Node> = revs.iter().map(|rev| view.changelog().node(*rev)).collect();
        let bytes = view.relevant_markers(&nodes)?;
        if !bytes.is_empty() {
            let mandatory = contents.obsolescence_mandatory;
            parts.push(Part::plain(MARKERS, mandatory, Payload::Bytes(bytes)));
        }
    }
    if contents.phases {
        let bytes = Payload::Bytes(encode_phases(view, revs));
        parts.push(Part::plain("phase-heads", true, bytes));
    }
    Ok(parts)
}

fn changegroup(view: &RepoView, revs: &[Rev], contents: &BundleContents, version: Version) -> Part {
    let mut part = Part::plain("changegroup", true, Payload::Changegroup(version));
    part.mandatory.push(("version", version.name().to_owned()));
    part.advisory.push(("nbchanges", revs.len().to_string()));
    let mut phases = revs.iter().map(|rev| view.phases().of(*rev));
    if contents.phases && phases.any(|phase| phase == Phase::Secret) {
        let secret = Phase::Secret.number().to_string();
        part.advisory.push((TARGET_PHASE, secret));
    }
    part
}
