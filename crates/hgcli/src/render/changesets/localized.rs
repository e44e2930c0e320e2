//! Texts of changesets in the encoding of the terminal.

use crate::ui::encoding::LocalEncoding;
use std::borrow::Cow;
use varve_repo::Changeset;

/// The stored text of a changeset with user, extras and description as they are shown; names of
/// files have no encoding.
pub(super) fn localized(text: &[u8], encoding: LocalEncoding) -> Cow<'_, [u8]> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let Ok(changeset) = Changeset::parse(text) else {
        return Cow::Borrowed(text);
    };
    let mut head = text.splitn(4, |byte| *byte == b'\n');
    let (manifest, user, date) = (head.next(), head.next(), head.next());
    let lines = [manifest, user, date].map(Option::unwrap_or_default);
    let start = lines.iter().map(|line| line.len() + 1).sum::<usize>();
    let end = text.len() - changeset.description.len();
    let Some(files) = text.get(start..end) else {
        return Cow::Borrowed(text);
    };
    let mut out = Vec::with_capacity(text.len());
    for line in lines {
        out.extend_from_slice(&encoding.show(line));
        out.push(b'\n');
    }
    out.extend_from_slice(files);
    out.extend_from_slice(&encoding.show(changeset.description));
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &[u8], encoding: &[u8]) -> Vec<u8> {
        let mode = crate::ui::encoding::Mode::default();
        let encoding = LocalEncoding::of(Some(encoding), None, mode).unwrap();
        localized(text, encoding).into_owned()
    }

    #[test]
    fn everything_but_the_files_is_converted() {
        let text = "0000000000000000000000000000000000000000\nJos\u{e9}\n0 0 branch:\u{e9}\nb\u{e9}\n\nd\u{e9}";
        let latin = shown(text.as_bytes(), b"latin-1");
        let expected = b"0000000000000000000000000000000000000000\nJos\xe9\n0 0 branch:\xe9\nb\xc3\xa9\n\nd\xe9";
        assert_eq!(latin, expected);
        let ascii = shown(text.as_bytes(), b"ascii");
        assert!(ascii.ends_with(b"branch:?\nb\xc3\xa9\n\nd?"));
        // Old programs stored the encoding of their terminal.
        assert_eq!(shown(&latin, b"utf-8"), text.as_bytes());
    }
}
