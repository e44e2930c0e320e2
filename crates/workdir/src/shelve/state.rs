//! `.hg/shelvedstate`: an unshelve that left conflicts. A line with the version, then lines `key=value`, which both
//! programs read.
//!
//! | key | content |
//! | --- | --- |
//! | `name` | the shelved change |
//! | `originalwctx`, `pendingctx` | the parent of the working copy before, and the commit of its changes, or the same |
//! | `parents` | `pendingctx` and the shelved changeset |
//! | `nodestoremove` | changesets that are in the store for the time being |
//! | `branchtorestore` | the branch of a shelf that began one |
//! | `keep` | `keep` or `nokeep` |
//! | `activebook` | the bookmark that was active, or `:no-active-bookmark` |

use crate::WorkdirError;
use crate::dirstate::replace;
use std::collections::BTreeMap;
use std::path::PathBuf;
use varve_base::storage::read_if_there;
use varve_repo::{Node, Repository};

const VERSION: &[u8] = b"2";
const KEEP: &[u8] = b"keep";
const NO_KEEP: &[u8] = b"nokeep";
const NO_BOOKMARK: &[u8] = b":no-active-bookmark";

/// An unshelve that waits for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnshelveState {
    /// The shelved change.
    pub name: Vec<u8>,
    /// The parent of the working copy before.
    pub original: Node,
    /// The commit of the changes that the working copy had; [`UnshelveState::original`] without any.
    pub pending: Node,
    /// The shelved changeset.
    pub shelved: Node,
    /// Changesets that must go at the end.
    pub temporary: Vec<Node>,
    /// The branch that the working copy gets at the end.
    pub branch: Option<Vec<u8>>,
    /// Whether the shelved change stays.
    pub keeps: bool,
    /// The bookmark that was active.
    pub active_bookmark: Option<Vec<u8>>,
    /// Whether Mercurial asked the user which changes are meant.
    pub is_interactive: bool,
}

fn path(repository: &Repository) -> PathBuf {
    repository.root().join(".hg/shelvedstate")
}

fn nodes(text: &[u8]) -> Option<Vec<Node>> {
    let words = text.split(|byte| *byte == b' ');
    words
        .filter(|word| !word.is_empty())
        .map(Node::from_hex)
        .collect()
}

impl UnshelveState {
    /// Whether an unshelve is under way.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn is_there(repository: &Repository) -> Result<bool, WorkdirError> {
        Ok(repository.storage().kind(&path(repository))?.is_some())
    }

    /// The unshelve that is under way, if there is one.
    ///
    /// # Errors
    /// [`WorkdirError::DamagedUnshelveState`], [`WorkdirError::UnknownUnshelveVersion`]; a failure of the storage.
    pub fn read(repository: &Repository) -> Result<Option<UnshelveState>, WorkdirError> {
        let bytes = read_if_there(repository.storage().as_ref(), &path(repository))?;
        bytes.map(|bytes| UnshelveState::parse(&bytes)).transpose()
    }

    pub(super) fn parse(bytes: &[u8]) -> Result<UnshelveState, WorkdirError> {
        let (version, rest) = match bytes.iter().position(|byte| *byte == b'\n') {
            Some(end) => (&bytes[..end], &bytes[end + 1..]),
            None => (bytes, &[][..]),
        };
        if version.is_empty() || !version.iter().all(u8::is_ascii_digit) {
            return Err(WorkdirError::DamagedUnshelveState);
        }
        if version != VERSION {
            return Err(WorkdirError::UnknownUnshelveVersion);
        }
        UnshelveState::parse_lines(rest).ok_or(WorkdirError::DamagedUnshelveState)
    }

    fn parse_lines(text: &[u8]) -> Option<UnshelveState> {
        let mut values = BTreeMap::new();
        // Each line has an end, or it was cut.
        for line in text.strip_suffix(b"\n")?.split(|byte| *byte == b'\n') {
            if let Some(at) = line.iter().position(|byte| *byte == b'=') {
                values.insert(&line[..at], &line[at + 1..]);
            }
        }
        let value = |key: &str| values.get(key.as_bytes()).copied();
        let name = value("name")?.to_vec();
        let parents = nodes(value("parents")?)?;
        let [_, shelved] = parents[..] else {
            return None;
        };
        let branch = value("branchtorestore").filter(|branch| !branch.is_empty());
        let bookmark = value("activebook").filter(|name| !name.is_empty() && *name != NO_BOOKMARK);
        Some(UnshelveState {
            name,
            original: Node::from_hex(value("originalwctx")?)?,
            pending: Node::from_hex(value("pendingctx")?)?,
            shelved,
            temporary: nodes(value("nodestoremove")?)?,
            branch: branch.map(<[u8]>::to_vec),
            keeps: value("keep")? == KEEP,
            active_bookmark: bookmark.map(<[u8]>::to_vec),
            is_interactive: value("interactive").is_some_and(|value| value == b"interactive"),
        })
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let joined = |nodes: &[Node]| {
            let nodes: Vec<String> = nodes.iter().map(Node::to_string).collect();
            nodes.join(" ").into_bytes()
        };
        let bookmark = self.active_bookmark.as_deref();
        let mut lines = vec![
            ("name", self.name.clone()),
            ("originalwctx", joined(&[self.original])),
            ("pendingctx", joined(&[self.pending])),
            ("parents", joined(&[self.pending, self.shelved])),
            ("nodestoremove", joined(&self.temporary)),
            ("branchtorestore", self.branch.clone().unwrap_or_default()),
            ("keep", if self.keeps { KEEP } else { NO_KEEP }.to_vec()),
            ("activebook", bookmark.unwrap_or(NO_BOOKMARK).to_vec()),
        ];
        if self.is_interactive {
            lines.push(("interactive", b"interactive".to_vec()));
        }
        let mut out = [VERSION, b"\n"].concat();
        for (key, value) in lines {
            out.extend([key.as_bytes(), b"=", &value, b"\n"].concat());
        }
        out
    }

    /// Saves the state. The caller holds the lock of the working copy.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn write(&self, repository: &Repository) -> Result<(), WorkdirError> {
        let storage = repository.storage().as_ref();
        replace(storage, &path(repository), &self.encode())
    }

    /// Forgets the unshelve, once it is done or given up.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn clear(repository: &Repository) -> Result<(), WorkdirError> {
        match UnshelveState::is_there(repository)? {
            true => Ok(repository.storage().remove(&path(repository))?),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_written_as_mercurial_does() {
        let state = UnshelveState {
            name: b"default".to_vec(),
            original: Node([0x11; 20]),
            pending: Node([0x22; 20]),
            shelved: Node([0x33; 20]),
            temporary: vec![Node([0x22; 20]), Node([0x33; 20])],
            branch: None,
            keeps: false,
            active_bookmark: None,
            is_interactive: false,
        };
        let [one, two, three] = ["11", "22", "33"].map(|digits| digits.repeat(20));
        let expected = format!(
            "2\nname=default\noriginalwctx={one}\npendingctx={two}\nparents={two} {three}\n\
             nodestoremove={two} {three}\nbranchtorestore=\nkeep=nokeep\n\
             activebook=:no-active-bookmark\n"
        );
        assert_eq!(state.encode(), expected.as_bytes());
        assert_eq!(
            UnshelveState::parse(expected.as_bytes()).ok(),
            Some(state.clone())
        );
        let other = UnshelveState {
            keeps: true,
            branch: Some(b"b".to_vec()),
            active_bookmark: Some(b"m".to_vec()),
            ..state
        };
        assert_eq!(UnshelveState::parse(&other.encode()).ok(), Some(other));
    }

    #[test]
    fn damage_and_other_versions_are_told_apart() {
        let parse = UnshelveState::parse;
        assert!(matches!(
            parse(b"foo\n"),
            Err(WorkdirError::DamagedUnshelveState)
        ));
        assert!(matches!(
            parse(b"2\nname=x\n"),
            Err(WorkdirError::DamagedUnshelveState)
        ));
        assert!(matches!(
            parse(b"3\n"),
            Err(WorkdirError::UnknownUnshelveVersion)
        ));
    }
}
