//! The first line of a cache: the state of the history that it belongs to.
//!
//! ```text
//! branch2-…    node number [hash]      the newest changeset that counts, 40 digits and decimal;
//! tags2-…      number node [hash]      of those before it that do not count, 40 digits
//! ```

use super::filter::{counts, hash_of};
use crate::read::RepoView;
use varve_revlog::{Node, Rev};

/// Where a cache ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub last: Rev,
    pub node: Node,
    /// See [`hash_of`].
    pub hidden: Option<[u8; 20]>,
}

/// The same in the order of the tags' cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TagsKey(pub Key);

/// No key is longer: two nodes, a number, spaces, a newline.
pub(crate) const LONGEST: usize = 2 * 40 + 10 + 3;

impl Key {
    /// Of the changesets that count up to `last`.
    pub fn of(view: &RepoView, hidden: &[bool], last: Rev) -> Key {
        Key {
            last,
            node: view.changelog().node(last),
            hidden: hash_of(hidden, last),
        }
    }

    /// Whether a cache with this key is valid for the repository, up to the changeset of the key.
    pub fn holds(&self, view: &RepoView, hidden: &[bool]) -> bool {
        self.last.index() < view.changelog().len()
            && counts(hidden, self.last)
            && *self == Key::of(view, hidden, self.last)
    }

    /// Reads the first line, which must be ended, of a file.
    pub fn parse(bytes: &[u8]) -> Option<Key> {
        let end = bytes.iter().position(|byte| *byte == b'\n')?;
        let mut words = bytes[..end].split(|byte| *byte == b' ');
        let (node, number) = (words.next()?, words.next()?);
        let hidden = match words.next() {
            Some(hash) => Some(Node::from_hex(hash)?.0),
            None => None,
        };
        let number = std::str::from_utf8(number).ok()?;
        let key = Key {
            last: Rev(number.parse().ok()?),
            node: Node::from_hex(node)?,
            hidden,
        };
        words.next().is_none().then_some(key)
    }

    /// The line, with its end.
    pub fn encode(&self) -> Vec<u8> {
        format!("{} {}{}\n", self.node, self.last, self.hash()).into_bytes()
    }

    fn hash(&self) -> String {
        let hash = self.hidden.map(|hash| format!(" {}", Node(hash)));
        hash.unwrap_or_default()
    }
}

impl TagsKey {
    /// The line, with its end.
    pub fn encode(&self) -> Vec<u8> {
        format!("{} {}{}\n", self.0.last, self.0.node, self.0.hash()).into_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `hg` 7.2 wrote it.
    const GOLDEN: &[u8] =
        b"1f9a2efc3678585c47d52d234d0411abaf9e2e6c 9 28bde25f327eb5088d0a4af0fcaaecd47588f9cd\n";

    #[test]
    fn keys_of_hg_decode_and_encode_back() {
        let key = Key::parse(GOLDEN).unwrap();
        assert_eq!(key.last, Rev(9));
        assert_eq!(key.encode(), GOLDEN);
        let hidden = [0, 0, 0, 0, 0, 0, 0, 1, 1, 0].map(|bit| bit == 1);
        assert_eq!(hash_of(&hidden, Rev(9)), key.hidden);
        assert_ne!(hash_of(&hidden, Rev(7)), key.hidden);
        assert_eq!(hash_of(&hidden, Rev(6)), None);
        let plain = Key {
            hidden: None,
            ..key
        };
        assert_eq!(Key::parse(&plain.encode()), Some(plain));
        assert!(GOLDEN.len() < LONGEST);
    }

    #[test]
    fn other_lines_are_no_keys() {
        let whole = GOLDEN.len();
        for cut in 0..whole {
            assert_eq!(Key::parse(&GOLDEN[..cut]), None);
        }
        for line in [
            &b"x 1\n"[..],
            b"\n",
            b" \n",
            b"tip-node=1f9a tip-rev=1 topo-mode=pure\n",
        ] {
            assert_eq!(Key::parse(line), None);
        }
    }
}
