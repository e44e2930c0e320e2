//! `reply:*` and `output`: results of the parts of a push.
//!
//! ```text
//! reply:changegroup   in-reply-to   return: 0 nothing stored, 1 no new heads, 1+n n more, -1-n n fewer
//! reply:obsmarkers    in-reply-to   new: number of markers
//! reply:pushkey       in-reply-to   return: 0 or 1
//! output              [in-reply-to]           the payload is text for the user
//! ```
//! All parameters are advisory; `in-reply-to` is the number of the part that is answered.

use super::{Part, PartHeader, PartType};

/// Key of the number of the part that is answered.
const IN_REPLY_TO: &str = "in-reply-to";

/// Result of one part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Changesets were stored, and there are so many more heads.
    Changegroup { heads: i64 },
    /// The same for changesets from a URL.
    RemoteChangegroup { heads: i64 },
    /// So many markers are new.
    Obsmarkers { new: usize },
    /// Whether a key was set.
    PushKey { done: bool },
}

/// Mercurial's return code for a changegroup that made so many more heads: never 0.
pub(crate) fn return_code(heads: i64) -> i64 {
    if heads < 0 { heads - 1 } else { heads + 1 }
}

impl Reply {
    /// The part that answers part number `to`.
    pub(crate) fn encode(self, to: u32) -> PartHeader {
        let (header, key, value) = match self {
            Reply::Changegroup { heads } => {
                let header = PartHeader::advisory(PartType::ReplyChangegroup);
                (header, "return", return_code(heads))
            }
            Reply::RemoteChangegroup { heads } => {
                let header = PartHeader::mandatory(PartType::ReplyChangegroup);
                (header, "return", return_code(heads))
            }
            Reply::Obsmarkers { new } => {
                let header = PartHeader::mandatory(PartType::ReplyObsmarkers);
                (header, "new", i64::try_from(new).unwrap_or(i64::MAX))
            }
            Reply::PushKey { done } => {
                let header = PartHeader::mandatory(PartType::ReplyPushKey);
                (header, "return", i64::from(done))
            }
        };
        header
            .with_advisory(IN_REPLY_TO, to.to_string())
            .with_advisory(key, value.to_string())
    }
}

/// The return code of a changegroup's reply; `None` if it is missing or not a number.
pub(crate) fn decode_return_code(header: &PartHeader) -> Option<i64> {
    header.text("return")?.parse().ok()
}

/// Text about part number `to`, or about the whole push.
pub(crate) fn output(to: Option<u32>, text: Vec<u8>) -> Part<Vec<u8>> {
    let header = PartHeader::advisory(PartType::Output);
    Part {
        header: match to {
            Some(part) => header.with_advisory(IN_REPLY_TO, part.to_string()),
            None => header,
        },
        payload: text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `hg serve` 7.2.4 answers a push of one new head.
    #[test]
    fn golden_reply() {
        let header = Reply::Changegroup { heads: 1 }.encode(3);
        let expected: &[u8] =
            b"\x11reply:changegroup\0\0\0\0\0\x02\x0b\x01\x06\x01in-reply-to3return2";
        assert_eq!(header.encode().unwrap(), expected);
    }

    #[test]
    fn return_codes_come_back_and_are_never_zero() {
        for heads in [-3, -1, 0, 1, 7] {
            let header = Reply::RemoteChangegroup { heads }.encode(1);
            assert!(header.is_mandatory());
            let code = decode_return_code(&header);
            assert_eq!(code, Some(return_code(heads)));
            assert_ne!(code, Some(0));
        }
        let codes = [-2, -1, 0, 1].map(return_code);
        assert_eq!(codes, [-3, -2, 1, 2]);
        let bare = PartHeader::advisory(PartType::ReplyChangegroup);
        assert_eq!(decode_return_code(&bare), None);
        assert_eq!(decode_return_code(&bare.with("return", "x")), None);
    }

    #[test]
    fn names_and_keys_of_other_replies() {
        let markers = Reply::Obsmarkers { new: 5 }.encode(2);
        assert_eq!(
            (&markers.name[..], markers.value("new")),
            (&b"REPLY:OBSMARKERS"[..], Some(&b"5"[..]))
        );
        let key = Reply::PushKey { done: true }.encode(2);
        assert_eq!(
            (&key.name[..], key.value("return")),
            (&b"REPLY:PUSHKEY"[..], Some(&b"1"[..]))
        );
        assert_eq!(key.value("in-reply-to"), Some(&b"2"[..]));
        let text = output(None, b"hello\n".to_vec());
        assert_eq!(text.header.counts(), [0, 0]);
        assert_eq!(
            output(Some(9), Vec::new()).header.value("in-reply-to"),
            Some(&b"9"[..])
        );
    }
}
