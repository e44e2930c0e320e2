//! What is sent to a repository elsewhere, and what it answers.
//!
//! A push is one bundle2. Parts that check come first: if what this side has seen of the other one
//! is not true any more, nothing of the bundle is stored. Then come the changesets, and behind them
//! what changes about those that are there: phases, markers, bookmarks.

mod heads;
mod phases;
mod reply;

pub use heads::{BranchHeads, branch_heads};
pub use phases::RemotePhases;
pub(crate) use reply::read_within;
pub use reply::{PushReply, read_reply};

use crate::ExchangeError;
use crate::client::peer::PeerCapabilities;
use crate::format::bundle20::{BundleWriter, Param, PartParams};
use crate::format::changegroup::Version;
use crate::generate::PAYLOAD_CHUNK;
use crate::generate::{SectionSizes, Selection, write_changegroup};
use std::io::Write;
use varve_repo::hooks::PushVars;
use varve_repo::{Phase, RepoView};
use varve_revlog::{Node, Rev};

/// In place of a node: there is no bookmark, or shall be none.
const NOWHERE: Node = Node([0xff; 20]);

/// The part whose parameters are variables of hooks.
const VARIABLES: &str = "pushvars";

/// A bookmark that is pushed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushedBookmark {
    /// Its name.
    pub name: Vec<u8>,
    /// Where it was seen there.
    pub before: Option<Node>,
    /// Where it shall be; `None` removes it.
    pub after: Option<Node>,
}

/// What was seen of the other side.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    /// All heads; the null node if there was no changeset.
    pub heads: &'a [Node],
    /// Those heads that the push changes.
    pub touched: Vec<Node>,
    /// Phases.
    pub phases: &'a RemotePhases,
}

/// Everything that one push sends.
#[derive(Debug)]
pub struct PushPlan<'a> {
    /// The changesets are read from here.
    pub view: &'a RepoView,
    /// What the other side has of the history.
    pub common: &'a [Rev],
    /// Changesets to be sent, oldest first.
    pub changesets: &'a [Rev],
    /// What must still be so there; `None` lets everything go unchecked.
    pub seen: Option<Seen<'a>>,
    /// Changesets that become public there, with all that they build on.
    pub published: Vec<Node>,
    /// Obsolescence markers as in a file of them; may be empty.
    pub markers: Vec<u8>,
    /// Bookmarks that change.
    pub bookmarks: Vec<PushedBookmark>,
    /// What the hooks of the other side are told.
    pub variables: PushVars,
}

/// What may be told about a part that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PushedPart {
    /// Its name in small letters.
    pub name: &'static str,
    /// Number of parameters that must be understood, and of others.
    pub params: [usize; 2],
    /// Bytes of the payload, where they are all known beforehand.
    pub len: Option<usize>,
}

/// A part with its payload; `None` is the changegroup.
struct Part {
    name: &'static str,
    payload: Option<Vec<u8>>,
}

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

    /// What will be written.
    ///
    /// # Errors
    /// The name of a bookmark is too long.
    pub fn outline(&self, there: &PeerCapabilities) -> Result<Vec<PushedPart>, ExchangeError> {
        let outline = |part: Part| PushedPart {
            name: part.name,
            params: [
                usize::from(part.payload.is_none()),
                self.variables_of(&part).len(),
            ],
            // Mercurial makes these while it writes them.
            len: match part.name {
                "check:updated-heads" | "check:heads" | "obsmarkers" => None,
                _ => part.payload.map(|payload| payload.len()),
            },
        };
        Ok(self.parts(there)?.into_iter().map(outline).collect())
    }

    /// Writes the bundle for who has the capabilities `there`; says how large the sections of the
    /// changegroup are, if there is one.
    ///
    /// # Errors
    /// What is damaged; [`ExchangeError::TooOldToPush`]; what the writer answers.
    pub fn write(
        &self,
        there: &PeerCapabilities,
        out: impl Write,
    ) -> Result<Option<SectionSizes>, ExchangeError> {
        let version = changegroup_version(there)?;
        let mut bundle = BundleWriter::new(out)?.cutting(PAYLOAD_CHUNK);
        let mut sizes = None;
        for part in self.parts(there)? {
            let name = part.name.to_ascii_uppercase();
            let variables = self.variables_of(&part).iter();
            let variables: Vec<Param<'_>> = variables.map(|(k, v)| (&k[..], &v[..])).collect();
            let params = PartParams {
                mandatory: match part.payload {
                    None => &[(b"version", version.name().as_bytes())],
                    Some(_) => &[],
                },
                advisory: &variables,
            };
            let mut payload = bundle.part(&name, &params)?;
            match part.payload {
                Some(bytes) => payload.whole(&bytes)?,
                None => {
                    let changelog = self.view.changelog();
                    let selection = Selection::exactly(changelog, self.changesets, self.common);
                    let written = write_changegroup(self.view, &selection, version, &mut payload)?;
                    sizes = Some(written);
                    payload.end()?;
                }
            }
        }
        bundle.finish()?.flush()?;
        Ok(sizes)
    }

    fn variables_of(&self, part: &Part) -> &[(Vec<u8>, Vec<u8>)] {
        match part.name == VARIABLES {
            true => &self.variables,
            false => &[],
        }
    }

    fn parts(&self, there: &PeerCapabilities) -> Result<Vec<Part>, ExchangeError> {
        let words = crate::client::peer::readable().join("\n");
        let mut parts = vec![("replycaps", Some(words.into_bytes()))];
        let mut add = |name, payload: Vec<u8>| parts.push((name, Some(payload)));
        if !self.variables.is_empty() {
            add(VARIABLES, Vec::new());
        }
        if let Some(seen) = &self.seen {
            self.check(seen, there, &mut add)?;
        }
        if !self.changesets.is_empty() {
            parts.push(("changegroup", None));
        }
        let mut add = |name, payload: Vec<u8>| parts.push((name, Some(payload)));
        if !self.published.is_empty() {
            add("phase-heads", encode_published(&self.published));
        }
        if !self.markers.is_empty() {
            add("obsmarkers", self.markers.clone());
        }
        if !self.bookmarks.is_empty() {
            let wanted = self
                .bookmarks
                .iter()
                .map(|moved| (&moved.name, moved.after));
            add("bookmarks", encode_bookmarks(wanted)?);
        }
        let part = |(name, payload)| Part { name, payload };
        Ok(parts.into_iter().map(part).collect())
    }
}

impl PushPlan<'_> {
    /// Adds the parts that make the other side look first.
    fn check(
        &self,
        seen: &Seen<'_>,
        there: &PeerCapabilities,
        add: &mut impl FnMut(&'static str, Vec<u8>),
    ) -> Result<(), ExchangeError> {
        if !self.bookmarks.is_empty() {
            let before = self
                .bookmarks
                .iter()
                .map(|moved| (&moved.name, moved.before));
            add("check:bookmarks", encode_bookmarks(before)?);
        }
        let phases = seen.phases.encode(self.view);
        if !phases.is_empty() {
            add("check:phases", phases);
        }
        if self.changesets.is_empty() {
            return Ok(());
        }
        let kinds = there.bundle2("checkheads").unwrap_or_default();
        let related = kinds.iter().any(|kind| kind == "related");
        let (name, heads) = match related && !seen.heads.iter().all(Node::is_null) {
            true => ("check:updated-heads", &seen.touched[..]),
            false => ("check:heads", seen.heads),
        };
        if !heads.is_empty() {
            add(name, heads.iter().flat_map(|node| node.0).collect());
        }
        Ok(())
    }
}

fn changegroup_version(there: &PeerCapabilities) -> Result<Version, ExchangeError> {
    let known = there.bundle2("changegroup").unwrap_or_default();
    let versions = [Version::V3, Version::V2, Version::V1].into_iter();
    let mut common = versions.filter(|version| known.iter().any(|name| name == version.name()));
    common
        .next()
        .ok_or(ExchangeError::TooOldToPush("changesets"))
}

fn encode_published(nodes: &[Node]) -> Vec<u8> {
    let public = u32::from(Phase::Public.number()).to_be_bytes();
    let records = nodes.iter().map(|node| [&public[..], &node.0].concat());
    records.flatten().collect()
}

/// Records of node, u16 length, and name.
fn encode_bookmarks<'n>(
    bookmarks: impl Iterator<Item = (&'n Vec<u8>, Option<Node>)>,
) -> Result<Vec<u8>, ExchangeError> {
    let mut out = Vec::new();
    for (name, node) in bookmarks {
        let len = u16::try_from(name.len()).map_err(|_| ExchangeError::TooLong {
            what: "the name of a bookmark",
            found: name.len(),
            limit: u16::MAX.into(),
        })?;
        out.extend_from_slice(&node.unwrap_or(NOWHERE).0);
        out.extend_from_slice(&len.to_be_bytes());
        out.extend_from_slice(name);
    }
    Ok(out)
}
