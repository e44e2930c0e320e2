//! The text of a file's revision: the content, behind a header if there is metadata.
//!
//! ```text
//! \x01\n key: value\n … \x01\n content        the header only with a copy, or if the content
//!                                             itself begins with \x01\n
//! ```

use varve_revlog::Node;

const MARK: &[u8] = b"\x01\n";

/// A file's text, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileText<'a> {
    /// Where the file was copied or renamed from: path and revision of that file.
    pub copied_from: Option<(&'a [u8], Node)>,
    /// Content of the file, without metadata.
    pub content: &'a [u8],
}

impl<'a> FileText<'a> {
    /// Takes a text apart. A header that is not ended belongs to the content.
    pub fn parse(text: &'a [u8]) -> FileText<'a> {
        let plain = FileText {
            copied_from: None,
            content: text,
        };
        let Some(rest) = text.strip_prefix(MARK) else {
            return plain;
        };
        let Some(end) = rest.windows(MARK.len()).position(|pair| pair == MARK) else {
            return plain;
        };
        let value = |key: &[u8]| {
            let mut lines = rest[..end].split(|byte| *byte == b'\n');
            lines.find_map(|line| line.strip_prefix(key)?.strip_prefix(b": "))
        };
        let copied_from = value(b"copy").zip(value(b"copyrev").and_then(Node::from_hex));
        FileText {
            copied_from,
            content: &rest[end + MARK.len()..],
        }
    }

    /// Makes the text that [`FileText::parse`] reads.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.content.len() + MARK.len() * 2);
        if let Some((path, node)) = self.copied_from {
            out.extend_from_slice(MARK);
            out.extend_from_slice(
                &[b"copy: ", path, b"\ncopyrev: ", &node.to_hex(), b"\n"].concat(),
            );
            out.extend_from_slice(MARK);
        } else if self.content.starts_with(MARK) {
            out.extend_from_slice(&[MARK, MARK].concat());
        }
        out.extend_from_slice(self.content);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn golden_copy_is_read() {
        let text = b"\x01\ncopy: a\ncopyrev: bd554056ddb9bd554056ddb9bd554056ddb9bd55\n\x01\nhello";
        let parsed = FileText::parse(text);
        assert_eq!(parsed.copied_from.unwrap().0, b"a");
        assert_eq!(parsed.content, b"hello");
        assert_eq!(parsed.encode(), text);
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_read(
            content in proptest::collection::vec(0_u8..12, 0..30), copied in any::<bool>(),
        ) {
            let copied_from = copied.then_some((&b"from/here"[..], Node([7; 20])));
            let text = FileText { copied_from, content: &content };
            let encoded = text.encode();
            prop_assert_eq!(FileText::parse(&encoded), text);
        }
    }
}
