//! `bookmarks` and `check:bookmarks`: names with changesets.
//!
//! ```text
//! +---------+------------+------+----
//! | node 20 | u16 length | name | …
//! +---------+------------+------+----
//! ```
//! A node of 20 bytes 0xff stands for no bookmark: it is removed, or must be absent.

use super::{PartType, damaged};
use crate::ExchangeError;
use varve_repo::Node;

/// In place of a node where there is no bookmark.
const ABSENT: Node = Node([0xff; 20]);

/// A name, and the changeset that the bookmark is on; `None` if there is none of this name.
pub type BookmarkRecord = (Vec<u8>, Option<Node>);

/// # Errors
/// [`ExchangeError::TooLong`] for a name of more than 65,535 bytes.
pub(crate) fn encode<'n>(
    bookmarks: impl IntoIterator<Item = (&'n [u8], Option<Node>)>,
) -> Result<Vec<u8>, ExchangeError> {
    let mut bytes = Vec::new();
    for (name, node) in bookmarks {
        let len = u16::try_from(name.len()).map_err(|_| ExchangeError::TooLong {
            what: "the name of a bookmark",
            found: name.len(),
            limit: u16::MAX.into(),
        })?;
        bytes.extend_from_slice(&node.unwrap_or(ABSENT).0);
        bytes.extend_from_slice(&len.to_be_bytes());
        bytes.extend_from_slice(name);
    }
    Ok(bytes)
}

/// The bookmarks of an empty repository are at the null changeset.
///
/// # Errors
/// [`ExchangeError::DamagedBundle`] for a cut record, or a name with a line end.
pub fn decode(bytes: &[u8]) -> Result<Vec<BookmarkRecord>, ExchangeError> {
    let mut bookmarks = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let (record, behind) = record(rest).ok_or_else(|| damaged(PartType::Bookmarks))?;
        bookmarks.push(record);
        rest = behind;
    }
    Ok(bookmarks)
}

fn record(bytes: &[u8]) -> Option<(BookmarkRecord, &[u8])> {
    let (node, rest) = bytes.split_first_chunk::<{ Node::LEN }>()?;
    let (len, rest) = rest.split_first_chunk::<2>()?;
    let (name, rest) = rest.split_at_checked(u16::from_be_bytes(*len).into())?;
    if name.contains(&b'\n') {
        return None;
    }
    let node = Some(Node(*node)).filter(|node| *node != ABSENT);
    Some(((name.to_vec(), node), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden_records() {
        let bytes = encode([(&b"main"[..], Some(Node([7; 20]))), (b"gone", None)]).unwrap();
        let mut expected = vec![7; 20];
        expected.extend(b"\0\x04main");
        expected.extend([0xff; 20]);
        expected.extend(b"\0\x04gone");
        assert_eq!(bytes, expected);
        let decoded = [
            (b"main".to_vec(), Some(Node([7; 20]))),
            (b"gone".to_vec(), None),
        ];
        assert_eq!(decode(&bytes).unwrap(), decoded);
    }

    #[test]
    fn a_bookmark_may_be_at_the_null_changeset() {
        let bytes = encode([(&b"a"[..], Some(Node::NULL))]).unwrap();
        assert_eq!(decode(&bytes).unwrap(), [(b"a".to_vec(), Some(Node::NULL))]);
    }

    #[test]
    fn cut_records_line_ends_and_long_names_are_refused() {
        let bytes = encode([(&b"main"[..], Some(Node([7; 20])))]).unwrap();
        for len in 1..bytes.len() {
            assert!(decode(&bytes[..len]).is_err(), "{len}");
        }
        let line_end = encode([(&b"a\nb"[..], None)]).unwrap();
        assert!(decode(&line_end).is_err());
        let longest = vec![b'x'; u16::MAX.into()];
        assert!(encode([(&longest[..], None)]).is_ok());
        let too_long = vec![b'x'; usize::from(u16::MAX) + 1];
        assert!(encode([(&too_long[..], None)]).is_err());
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes(
            bookmarks in proptest::collection::vec(("[^\n]{0,30}", 1_u8..255, any::<bool>()), 0..10),
        ) {
            let given: Vec<BookmarkRecord> = bookmarks
                .into_iter()
                .map(|(name, byte, is_set)| (name.into_bytes(), is_set.then_some(Node([byte; 20]))))
                .collect();
            let pairs = given.iter().map(|(name, node)| (&name[..], *node));
            prop_assert_eq!(decode(&encode(pairs).unwrap()).unwrap(), given);
        }

        #[test]
        fn hostile_bytes_never_make_more_than_there_is(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(bookmarks) = decode(&bytes) {
                let len: usize = bookmarks.iter().map(|(name, _)| 22 + name.len()).sum();
                prop_assert_eq!(len, bytes.len());
            }
        }
    }
}
