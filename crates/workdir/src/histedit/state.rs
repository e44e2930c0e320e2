//! `.hg/histedit-state`, in lines. Both programs read what the other wrote.
//!
//! | line | content |
//! | --- | --- |
//! | 1 | `v1` |
//! | 2, 3 | the changeset that the next one goes on, and the newest one before, in hexadecimal |
//! | 4 | `True` if the old changesets stay |
//! | 5 | number of rules; each is a line with its word and one with its changeset |
//! | then | number of replacements; each is a line of hashes, first that of the old one |
//! | last | a bundle of what was there before, below `.hg`; or nothing |

use super::{HisteditAction, HisteditRule};
use crate::WorkdirError;
use crate::dirstate::replace;
use std::path::PathBuf;
use varve_base::storage::read_if_there;
use varve_repo::{Node, Repository};

const VERSION: &[u8] = b"v1";
/// Digits of a hash.
const HEX: usize = 2 * Node::LEN;

/// An edit of history between two calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HisteditState {
    /// The changeset that the next one goes on.
    pub parent: Node,
    /// The newest changeset before.
    pub topmost: Node,
    /// Whether the old changesets stay.
    pub keeps: bool,
    /// Rules still to be carried out; the first one waits for the user.
    pub rules: Vec<HisteditRule>,
    /// Steps so far: a changeset, and those that took its place.
    pub replacements: Vec<(Node, Vec<Node>)>,
    /// A bundle of what was there before, relative to `.hg`.
    pub backup: Vec<u8>,
}

fn path(repository: &Repository) -> PathBuf {
    repository.root().join(".hg/histedit-state")
}

impl HisteditState {
    /// The state before the first rule.
    pub fn new(parent: Node, topmost: Node, keeps: bool) -> HisteditState {
        HisteditState {
            parent,
            topmost,
            keeps,
            rules: Vec::new(),
            replacements: Vec::new(),
            backup: Vec::new(),
        }
    }

    /// Whether an edit of history is under way.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn is_there(repository: &Repository) -> Result<bool, WorkdirError> {
        Ok(repository.storage().kind(&path(repository))?.is_some())
    }

    /// The edit that is under way, if there is one.
    ///
    /// # Errors
    /// [`WorkdirError::DamagedHisteditState`]; a failure of the storage.
    pub fn read(repository: &Repository) -> Result<Option<HisteditState>, WorkdirError> {
        let bytes = read_if_there(repository.storage().as_ref(), &path(repository))?;
        let state = bytes
            .map(|bytes| HisteditState::parse(&bytes).ok_or(WorkdirError::DamagedHisteditState));
        state.transpose()
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<HisteditState> {
        let mut lines = bytes.split(|byte| *byte == b'\n');
        if lines.next()? != VERSION {
            return None;
        }
        let parent = Node::from_hex(lines.next()?)?;
        let topmost = Node::from_hex(lines.next()?)?;
        let keeps = lines.next()? == b"True";
        let mut state = HisteditState::new(parent, topmost, keeps);
        for _ in 0..count(lines.next()?)? {
            let action = HisteditAction::of_verb(lines.next()?)?;
            let node = Node::from_hex(lines.next()?.get(..HEX)?)?;
            state.rules.push(HisteditRule { action, node });
        }
        for _ in 0..count(lines.next()?)? {
            let line = lines.next()?;
            let nodes = line.chunks(HEX).map(Node::from_hex);
            let mut nodes = nodes.collect::<Option<Vec<Node>>>()?.into_iter();
            state.replacements.push((nodes.next()?, nodes.collect()));
        }
        state.backup = lines.next()?.to_vec();
        // The last line has an end too, or it was cut.
        lines.next()?;
        Some(state)
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let keeps = if self.keeps { "True" } else { "False" };
        let mut text = format!("v1\n{}\n{}\n{keeps}\n", self.parent, self.topmost);
        text += &format!("{}\n", self.rules.len());
        for rule in &self.rules {
            text += &format!("{}\n{}\n", rule.action.verb(), rule.node);
        }
        text += &format!("{}\n", self.replacements.len());
        for (old, new) in &self.replacements {
            text += &old.to_string();
            text.extend(new.iter().map(Node::to_string));
            text.push('\n');
        }
        [text.as_bytes(), &self.backup, b"\n"].concat()
    }

    /// Saves the state. The caller holds the lock of the working copy.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn write(&self, repository: &Repository) -> Result<(), WorkdirError> {
        let storage = repository.storage().as_ref();
        replace(storage, &path(repository), &self.encode())
    }

    /// Forgets the edit, once it is done or given up.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn clear(repository: &Repository) -> Result<(), WorkdirError> {
        match HisteditState::is_there(repository)? {
            true => Ok(repository.storage().remove(&path(repository))?),
            false => Ok(()),
        }
    }
}

fn count(line: &[u8]) -> Option<usize> {
    std::str::from_utf8(line).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_written_as_mercurial_does() {
        let node = |byte| Node([byte; 20]);
        let state = HisteditState {
            parent: node(0x11),
            topmost: node(0x22),
            keeps: false,
            rules: vec![HisteditRule {
                action: HisteditAction::Edit,
                node: node(0x33),
            }],
            replacements: vec![(node(0x44), vec![node(0x55)]), (node(0x66), Vec::new())],
            backup: b"strip-backup/x-histedit.hg".to_vec(),
        };
        let [a, b, c, d, e, f] = ["11", "22", "33", "44", "55", "66"].map(|hex| hex.repeat(20));
        let expected = format!(
            "v1\n{a}\n{b}\nFalse\n1\nedit\n{c}\n2\n{d}{e}\n{f}\nstrip-backup/x-histedit.hg\n"
        );
        assert_eq!(state.encode(), expected.as_bytes());
        assert_eq!(HisteditState::parse(expected.as_bytes()), Some(state));
        assert_eq!(HisteditState::parse(b"v2\n"), None);
    }
}
