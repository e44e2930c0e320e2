//! `.hg/graftstate`: a line with the version, then a map in [CBOR](super::cbor). Both programs read what the other
//! wrote.
//!
//! | key | content |
//! | --- | --- |
//! | `nodes` | the changesets that are left, in hexadecimal, the interrupted one first |
//! | `newnodes` | the changesets that were made, 20 bytes each |
//! | `user`, `date`, `base` | values of the options, the base in hexadecimal |
//! | `log`, `no_commit` | true if the option was given |

use super::cbor::{self, Value};
use crate::WorkdirError;
use crate::dirstate::replace;
use std::collections::BTreeMap;
use std::path::PathBuf;
use varve_base::storage::read_if_there;
use varve_repo::{Node, Repository};

const VERSION: &[u8] = b"1\n";

/// A graft that waits for the user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraftState {
    /// The changesets that are left; the first one is in the working copy, with conflicts.
    pub nodes: Vec<Node>,
    /// The changesets that were made.
    pub new_nodes: Vec<Node>,
    /// The committer, if it is not that of each changeset.
    pub user: Option<Vec<u8>>,
    /// The date as it was typed, if it is not that of each changeset.
    pub date: Option<Vec<u8>>,
    /// The chosen base.
    pub base: Option<Node>,
    /// Whether descriptions name the source.
    pub log: bool,
    /// Whether nothing is committed.
    pub no_commit: bool,
}

fn path(repository: &Repository) -> PathBuf {
    repository.root().join(".hg/graftstate")
}

impl GraftState {
    /// Whether a graft is under way.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn is_there(repository: &Repository) -> Result<bool, WorkdirError> {
        let kind = repository.storage().kind(&path(repository))?;
        Ok(kind.is_some())
    }

    /// The graft that is under way, if there is one.
    ///
    /// # Errors
    /// [`WorkdirError::DamagedGraftState`]; a failure of the storage.
    pub fn read(repository: &Repository) -> Result<Option<GraftState>, WorkdirError> {
        let bytes = read_if_there(repository.storage().as_ref(), &path(repository))?;
        let state =
            bytes.map(|bytes| GraftState::parse(&bytes).ok_or(WorkdirError::DamagedGraftState));
        state.transpose()
    }

    pub(super) fn parse(bytes: &[u8]) -> Option<GraftState> {
        let Some(content) = bytes.strip_prefix(VERSION) else {
            return parse_old(bytes);
        };
        let Value::Map(mut map) = cbor::parse(content)? else {
            return None;
        };
        let bytes = |value: Option<Value>| match value {
            Some(Value::Bytes(bytes)) => Some(Some(bytes)),
            None | Some(Value::Null) => Some(None),
            Some(_) => None,
        };
        let flag = |value: Option<Value>| value == Some(Value::Bool(true));
        let base = bytes(map.remove(&b"base"[..]))?;
        Some(GraftState {
            nodes: nodes(map.remove(&b"nodes"[..])?, Node::from_hex)?,
            new_nodes: match map.remove(&b"newnodes"[..]) {
                Some(list) => nodes(list, |bytes| Some(Node(bytes.try_into().ok()?)))?,
                None => Vec::new(),
            },
            user: bytes(map.remove(&b"user"[..]))?,
            date: bytes(map.remove(&b"date"[..]))?,
            base: match base {
                Some(hex) => Some(Node::from_hex(&hex)?),
                None => None,
            },
            log: flag(map.remove(&b"log"[..])),
            no_commit: flag(map.remove(&b"no_commit"[..])),
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
        let hex = |node: &Node| Value::Bytes(node.to_hex().to_vec());
        let list = |nodes: &[Node], value: fn(&Node) -> Value| {
            Value::List(nodes.iter().map(value).collect())
        };
        let mut map = BTreeMap::from([
            (&b"nodes"[..], list(&self.nodes, hex)),
            (
                b"newnodes",
                list(&self.new_nodes, |node| Value::Bytes(node.0.to_vec())),
            ),
        ]);
        let text = |text: &Option<Vec<u8>>| text.clone().map(Value::Bytes);
        let flag = |is: bool| is.then_some(Value::Bool(true));
        let options = [
            (&b"user"[..], text(&self.user)),
            (b"date", text(&self.date)),
            (b"base", self.base.as_ref().map(hex)),
            (b"log", flag(self.log)),
            (b"no_commit", flag(self.no_commit)),
        ];
        map.extend(
            options
                .into_iter()
                .filter_map(|(key, value)| Some((key, value?))),
        );
        let map = map.into_iter().map(|(key, value)| (key.to_vec(), value));
        let mut out = VERSION.to_vec();
        cbor::encode(&Value::Map(map.collect()), &mut out);
        out
    }

    /// Forgets the graft, once it is done or given up.
    ///
    /// # Errors
    /// A failure of the storage.
    pub fn clear(repository: &Repository) -> Result<(), WorkdirError> {
        match GraftState::is_there(repository)? {
            true => Ok(repository.storage().remove(&path(repository))?),
            false => Ok(()),
        }
    }
}

/// The state as programs of before 2018 wrote it: lines with the changesets that are left.
fn parse_old(bytes: &[u8]) -> Option<GraftState> {
    let lines = bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty());
    let nodes = lines.map(Node::from_hex).collect::<Option<Vec<Node>>>()?;
    // There is no graft of nothing: an empty file was cut.
    (!nodes.is_empty()).then(|| GraftState {
        nodes,
        ..GraftState::default()
    })
}

fn nodes(list: Value, node: fn(&[u8]) -> Option<Node>) -> Option<Vec<Node>> {
    let Value::List(list) = list else {
        return None;
    };
    let mut nodes = Vec::new();
    for value in list {
        let Value::Bytes(bytes) = value else {
            return None;
        };
        nodes.push(node(&bytes)?);
    }
    Some(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_written_as_mercurial_does() {
        let state = GraftState {
            nodes: vec![Node([0xab; Node::LEN])],
            new_nodes: vec![Node([b'n'; Node::LEN])],
            user: Some(b"foo".to_vec()),
            log: true,
            ..GraftState::default()
        };
        let bytes = state.encode();
        let expected = [
            &b"1\n\xa4Clog\xf5Hnewnodes\x81T"[..],
            &[b'n'; 20],
            b"Enodes\x81X\x28",
            &b"ab".repeat(20),
            b"DuserCfoo",
        ];
        assert_eq!(bytes, expected.concat());
        assert_eq!(GraftState::parse(&bytes), Some(state));
    }

    #[test]
    fn the_state_of_old_programs_is_read() {
        let line = [&b"ab".repeat(20)[..], b"\n"].concat();
        let state = GraftState::parse(&line.repeat(2));
        assert_eq!(state.map(|state| state.nodes.len()), Some(2));
        assert_eq!(GraftState::parse(b"1\n\xa0"), None);
        assert_eq!(GraftState::parse(b"what\n"), None);
    }
}
