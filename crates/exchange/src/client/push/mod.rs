//! The bundle that a push sends, and the answer to it.
//!
//! A push is one bundle2. Checks come first: if the other side is not in the expected state any more, it stores nothing.
//! Then come the changesets, and behind them changes to those that are there: phases, markers, bookmarks.

mod bookmarks;
mod checks;
mod heads;
mod history;
mod phases;
mod reply;
mod settled;

pub use self::bookmarks::{BookmarkForm, BookmarkPlan, BookmarkPush};
pub use checks::PushChecks;
pub use heads::{BranchHeads, branch_heads};
pub use history::{common_after, common_below, count_drafts};
pub use phases::{RemotePhases, is_publishing};
pub(crate) use reply::read_reply_within;
pub use reply::{PushReply, read_reply};
pub use settled::SettledPhases;

use super::peer::PeerCapabilities;
use super::pull::READS;
use crate::ExchangeError;
use crate::format::bundle20::BundleWriter;
use crate::format::changegroup::ChangegroupVersion;
use crate::format::part::{self, Part, PartHeader, PartType, changegroup, node_list, phase_heads};
use crate::generate::{PAYLOAD_CHUNK, PartOutline, SectionSizes, Selection, write_changegroup};
use std::io::Write;
use varve_repo::hooks::PushVars;
use varve_repo::{Phase, RepoView};
use varve_revlog::{Node, Rev};

/// Capabilities of bundle2 that this client has for replies, in the words of Mercurial's clients.
const READS_IN_REPLIES: [&str; 4] = ["bookmarks", "listkeys", "pushkey", "obsmarkers=V0,V1"];

/// State of the other side that the push was prepared for, and that it must still have.
#[derive(Clone, Debug)]
pub struct ExpectedRemote<'a> {
    /// All heads; the null node if there was no changeset.
    pub heads: &'a [Node],
    /// Those of its heads that the push changes.
    pub updated_heads: Vec<Node>,
    /// Phases that the remote listed before the push.
    pub phases: &'a RemotePhases,
}

/// The bundle of one push.
#[derive(Debug)]
pub struct PushPlan<'a> {
    /// The changesets are read from here.
    pub view: &'a RepoView,
    /// Heads of the history that the other side has.
    pub common: &'a [Rev],
    /// Changesets to be sent, oldest first.
    pub changesets: &'a [Rev],
    /// State that the other side checks; `None` for no checks.
    pub expected: Option<ExpectedRemote<'a>>,
    /// Changesets that become public there, with all that they build on.
    pub published: Vec<Node>,
    /// Obsolescence markers as in a file of them; may be empty.
    pub markers: Vec<u8>,
    /// Bookmarks that change.
    pub bookmarks: Vec<BookmarkPush>,
    /// How they are sent.
    pub bookmark_form: BookmarkForm,
    /// Variables for the hooks of the other side.
    pub variables: PushVars,
}

/// Payload of a part; the changegroup is made while it is written.
enum PushPayload {
    Changegroup(ChangegroupVersion),
    Bytes(Vec<u8>),
}

type PushPart = (PartType, Part<PushPayload>);

impl PushPlan<'_> {
    /// Whether there is nothing to be sent.
    pub fn is_empty(&self) -> bool {
        let PushPlan {
            changesets,
            published,
            markers,
            bookmarks,
            ..
        } = self;
        changesets.is_empty() && published.is_empty() && markers.is_empty() && bookmarks.is_empty()
    }

    /// The parts that will be written.
    ///
    /// # Errors
    /// [`ExchangeError::TooLong`] for the name of a bookmark; [`ExchangeError::TooOldToPush`].
    pub fn outline(&self, there: &PeerCapabilities) -> Result<Vec<PartOutline>, ExchangeError> {
        let outline = |(part_type, part): PushPart| {
            let len = match part.payload {
                PushPayload::Changegroup(_) => None,
                PushPayload::Bytes(bytes) => Some(bytes.len()),
            };
            PartOutline::new(part_type, &part.header, len)
        };
        Ok(self.parts(there)?.into_iter().map(outline).collect())
    }

    /// Writes the bundle for a server with the capabilities `there`. Returns the sizes of the changegroup's
    /// sections, if there is one.
    ///
    /// # Errors
    /// As of [`PushPlan::outline`]; damaged data; errors of the writer.
    pub fn write(
        &self,
        there: &PeerCapabilities,
        out: impl Write,
    ) -> Result<Option<SectionSizes>, ExchangeError> {
        let mut bundle = BundleWriter::new(out)?.with_chunk_len(PAYLOAD_CHUNK);
        let mut sizes = None;
        for (_, part) in self.parts(there)? {
            let mut payload = bundle.start_part(part.header)?;
            match part.payload {
                PushPayload::Bytes(bytes) => payload.write_all(&bytes)?,
                PushPayload::Changegroup(version) => {
                    let changelog = self.view.changelog();
                    let selection = Selection::exactly(changelog, self.changesets, self.common);
                    let written = write_changegroup(self.view, &selection, version, &mut payload)?;
                    sizes = Some(written);
                }
            }
            payload.end()?;
        }
        bundle.finish()?.flush()?;
        Ok(sizes)
    }

    fn parts(&self, there: &PeerCapabilities) -> Result<Vec<PushPart>, ExchangeError> {
        let version = changegroup_version(there)?;
        let capabilities = [&READS[..], &READS_IN_REPLIES].concat().join("\n");
        let mut parts = vec![with_bytes(PartType::ReplyCaps, capabilities.into_bytes())];
        if !self.variables.is_empty() {
            let mut part = with_bytes(PartType::PushVars, Vec::new());
            part.1.header.advisory.clone_from(&self.variables);
            parts.push(part);
        }
        if let Some(expected) = &self.expected {
            parts.extend(self.checks(expected, there)?);
        }
        if !self.changesets.is_empty() {
            let part = Part {
                header: changegroup::header(version, None, None),
                payload: PushPayload::Changegroup(version),
            };
            parts.push((PartType::Changegroup, part));
        }
        if !self.published.is_empty() {
            let public = self.published.iter().map(|node| (Phase::Public, *node));
            parts.push(with_bytes(
                PartType::PhaseHeads,
                phase_heads::encode(public),
            ));
        }
        if !self.markers.is_empty() {
            parts.push(with_bytes(PartType::Obsmarkers, self.markers.clone()));
        }
        if self.bookmark_form == BookmarkForm::Keys {
            parts.extend(self.bookmarks.iter().map(|push| {
                let part = Part {
                    header: push.key_part(),
                    payload: PushPayload::Bytes(Vec::new()),
                };
                (PartType::PushKey, part)
            }));
        } else if !self.bookmarks.is_empty() {
            let after = self
                .bookmarks
                .iter()
                .map(|push| (&push.name[..], push.after));
            parts.push(with_bytes(
                PartType::Bookmarks,
                part::bookmarks::encode(after)?,
            ));
        }
        Ok(parts)
    }

    /// The parts that make the other side check that it is as expected.
    fn checks(
        &self,
        expected: &ExpectedRemote<'_>,
        there: &PeerCapabilities,
    ) -> Result<Vec<PushPart>, ExchangeError> {
        let mut parts = Vec::new();
        if !self.bookmarks.is_empty() && self.bookmark_form == BookmarkForm::Together {
            let before = self
                .bookmarks
                .iter()
                .map(|push| (&push.name[..], push.before));
            parts.push(with_bytes(
                PartType::CheckBookmarks,
                part::bookmarks::encode(before)?,
            ));
        }
        let phases = expected.phases.encode(self.view);
        if !phases.is_empty() {
            parts.push(with_bytes(PartType::CheckPhases, phases));
        }
        if self.changesets.is_empty() {
            return Ok(parts);
        }
        let kinds = there.bundle2("checkheads").unwrap_or_default();
        let related = kinds.iter().any(|kind| kind == "related");
        let (part_type, heads) = match related && !expected.heads.iter().all(Node::is_null) {
            true => (PartType::CheckUpdatedHeads, &expected.updated_heads[..]),
            false => (PartType::CheckHeads, expected.heads),
        };
        if !heads.is_empty() {
            parts.push(with_bytes(part_type, node_list::encode(heads)));
        }
        Ok(parts)
    }
}

fn with_bytes(part_type: PartType, bytes: Vec<u8>) -> PushPart {
    let part = Part {
        header: PartHeader::mandatory(part_type),
        payload: PushPayload::Bytes(bytes),
    };
    (part_type, part)
}

fn changegroup_version(there: &PeerCapabilities) -> Result<ChangegroupVersion, ExchangeError> {
    let known = there.bundle2("changegroup").unwrap_or_default();
    let versions = [
        ChangegroupVersion::V3,
        ChangegroupVersion::V2,
        ChangegroupVersion::V1,
    ]
    .into_iter();
    let mut common = versions.filter(|version| known.iter().any(|name| name == version.name()));
    common
        .next()
        .ok_or(ExchangeError::TooOldToPush("changesets"))
}
