//! `.hg/rebasestate`, in lines. Both programs read what the other wrote.
//!
//! | line | content |
//! | --- | --- |
//! | 1 | the parent of the working copy before, in hexadecimal |
//! | 2 | empty; programs of before 2017 have the destination here |
//! | 3 | the parent outside of a collapsed set, or the null changeset |
//! | 4 to 6 | `1` or `0`: changesets are collapsed, originals kept, branches kept |
//! | 7 | the bookmark that was active |
//! | others | `OLD:NEW:DESTINATION`, where a NEW of `-1` is still to come |

use crate::WorkdirError;
use crate::dirstate::replace;
use std::path::PathBuf;
use varve_base::storage::read_if_there;
use varve_repo::{Node, Repository};

/// NEW of a changeset that is still to be rebased.
const TO_COME: &[u8] = b"-1";
/// NEW of changesets that old programs left alone, for one reason or another.
const LEFT_ALONE: [&[u8]; 4] = [b"-2", b"-3", b"-4", b"-5"];

/// One changeset of a rebase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RebaseStep {
    /// The changeset.
    pub old: Node,
    /// Changeset that stands for it: its copy, or for one that was skipped its new parent. `None` if it is still to come.
    pub new: Option<Node>,
    /// Where it goes.
    pub destination: Node,
}

/// A rebase that waits for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RebaseState {
    /// The parent of the working copy before.
    pub original: Node,
    /// The parent outside of a collapsed set.
    pub external: Node,
    /// Whether all become one changeset.
    pub collapses: bool,
    /// Whether the originals are kept.
    pub keeps: bool,
    /// Whether the new changesets stay on the branches of the originals.
    pub keeps_branches: bool,
    /// The bookmark that was active.
    pub active_bookmark: Option<Vec<u8>>,
    /// By the number of the old changeset.
    pub steps: Vec<RebaseStep>,
}

fn path(repository: &Repository) -> PathBuf {
    repository.root().join(".hg/rebasestate")
}

impl RebaseState {
    /// Whether a rebase is under way.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn is_there(repository: &Repository) -> Result<bool, WorkdirError> {
        Ok(repository.storage().kind(&path(repository))?.is_some())
    }

    /// The rebase that is under way, if there is one.
    ///
    /// # Errors
    /// [`WorkdirError::DamagedRebaseState`]; a failure of the storage.
    pub fn read(repository: &Repository) -> Result<Option<RebaseState>, WorkdirError> {
        let bytes = read_if_there(repository.storage().as_ref(), &path(repository))?;
        let state =
            bytes.map(|bytes| RebaseState::parse(&bytes).ok_or(WorkdirError::DamagedRebaseState));
        state.transpose()
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<RebaseState> {
        // Each line has an end, or it was cut.
        let mut lines = bytes.strip_suffix(b"\n")?.split(|byte| *byte == b'\n');
        let mut line = || lines.next();
        let flag = |line: &[u8]| match line {
            b"1" => Some(true),
            b"0" => Some(false),
            _ => None,
        };
        let original = Node::from_hex(line()?)?;
        let single = line()?;
        let external = Node::from_hex(line()?)?;
        let (collapses, keeps) = (flag(line()?)?, flag(line()?)?);
        let keeps_branches = flag(line()?)?;
        let active = line()?;
        let mut steps = Vec::new();
        for line in lines.filter(|line| !line.is_empty()) {
            let mut words = line.split(|byte| *byte == b':');
            let old = Node::from_hex(words.next()?)?;
            let new = words.next()?;
            let destination = words.next().unwrap_or(single);
            let new = match new {
                TO_COME => None,
                new if LEFT_ALONE.contains(&new) => continue,
                new => Some(Node::from_hex(new)?),
            };
            steps.push(RebaseStep {
                old,
                new,
                destination: Node::from_hex(destination)?,
            });
        }
        Some(RebaseState {
            original,
            external,
            collapses,
            keeps,
            keeps_branches,
            active_bookmark: Some(active.to_vec()).filter(|name| !name.is_empty()),
            steps,
        })
    }

    /// Saves the state. The caller holds the lock of the working copy.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn write(&self, repository: &Repository) -> Result<(), WorkdirError> {
        replace(
            repository.storage().as_ref(),
            &path(repository),
            &self.encode(),
        )
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let flag = |is: bool| u8::from(is).to_string();
        let mut out = [
            self.original.to_string(),
            String::new(),
            self.external.to_string(),
            flag(self.collapses),
            flag(self.keeps),
            flag(self.keeps_branches),
        ]
        .join("\n")
        .into_bytes();
        out.push(b'\n');
        out.extend_from_slice(self.active_bookmark.as_deref().unwrap_or_default());
        out.push(b'\n');
        for step in &self.steps {
            out.extend_from_slice(&step.old.to_hex());
            out.push(b':');
            match step.new {
                Some(new) => out.extend_from_slice(&new.to_hex()),
                None => out.extend_from_slice(TO_COME),
            }
            out.push(b':');
            out.extend_from_slice(&step.destination.to_hex());
            out.push(b'\n');
        }
        out
    }

    /// Forgets the rebase, once it is done or given up.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn clear(repository: &Repository) -> Result<(), WorkdirError> {
        match RebaseState::is_there(repository)? {
            true => Ok(repository.storage().remove(&path(repository))?),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> RebaseState {
        let node = |byte| Node([byte; Node::LEN]);
        let step = |old, new| RebaseStep {
            old: node(old),
            new,
            destination: node(0x44),
        };
        RebaseState {
            original: node(0x11),
            external: Node::NULL,
            collapses: false,
            keeps: true,
            keeps_branches: false,
            active_bookmark: Some(b"act".to_vec()),
            steps: vec![step(0x22, Some(node(0x33))), step(0x23, None)],
        }
    }

    #[test]
    fn the_state_is_written_as_mercurial_does() {
        let text = [
            "1".repeat(40),
            String::new(),
            "0".repeat(40),
            "0\n1\n0\nact".to_owned(),
            ["22", "33", "44"].map(|byte| byte.repeat(20)).join(":"),
            ["23".repeat(20), "-1".to_owned(), "44".repeat(20)].join(":"),
            String::new(),
        ];
        let text = text.join("\n");
        assert_eq!(String::from_utf8(state().encode()).unwrap(), text);
        assert_eq!(RebaseState::parse(text.as_bytes()), Some(state()));
    }

    #[test]
    fn a_state_with_one_destination_is_read() {
        let with_three = String::from_utf8(state().encode()).unwrap();
        let with_two = with_three
            .replace(&format!(":{}\n", "44".repeat(20)), "\n")
            .replacen("\n\n", &format!("\n{}\n", "44".repeat(20)), 1);
        assert_eq!(RebaseState::parse(with_two.as_bytes()), Some(state()));
    }

    #[test]
    fn a_damaged_state_is_none() {
        let whole = state().encode();
        for at in [0, 50, 120, whole.len() - 3] {
            assert_eq!(RebaseState::parse(&whole[..at]), None, "{at}");
        }
    }
}
