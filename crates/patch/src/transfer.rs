//! Encodings of bodies for the transfer: quoted-printable, base64 and uuencode.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use std::borrow::Cow;

/// The bytes of a body in the encoding of this name, in lower case; as they are if it is none or damaged.
pub(crate) fn decode<'a>(encoding: &[u8], body: &'a [u8]) -> Cow<'a, [u8]> {
    match encoding {
        b"quoted-printable" => Cow::Owned(quoted_printable(body, false)),
        b"base64" => base64(body).map_or(Cow::Borrowed(body), Cow::Owned),
        b"x-uuencode" | b"uuencode" | b"uue" | b"x-uue" => {
            uuencode(body).map_or(Cow::Borrowed(body), Cow::Owned)
        }
        _ => Cow::Borrowed(body),
    }
}

/// Quoted-printable text; in headers `_` is a space.
pub(crate) fn quoted_printable(text: &[u8], is_header: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((first, behind)) = rest.split_first() {
        rest = behind;
        match (first, behind) {
            (b'_', _) if is_header => out.push(b' '),
            (b'=', [b'\n', behind @ ..] | [b'\r', b'\n', behind @ ..]) => rest = behind,
            (b'=', [high, low, behind @ ..])
                if let (Some(high), Some(low)) = (digit(*high), digit(*low)) =>
            {
                out.push(16 * high + low);
                rest = behind;
            }
            (b' ' | b'\t', _) if !is_header && is_before_line_end(behind) => {}
            _ => out.push(*first),
        }
    }
    out
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}

/// Whether only blanks are left of a line.
fn is_before_line_end(rest: &[u8]) -> bool {
    let next = rest.iter().find(|byte| !matches!(byte, b' ' | b'\t'));
    matches!(next, None | Some(b'\n' | b'\r'))
}

/// Base 64; bytes that are no digits are skipped, and it ends where it is padded.
pub(crate) fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let before_padding = text.split(|byte| *byte == b'=').next().unwrap_or_default();
    let is_digit = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    let mut digits: Vec<u8> = before_padding.iter().filter(is_digit).copied().collect();
    let spare = digits.len() % 4;
    if spare == 1 {
        return None;
    }
    // A last group is filled up, so that its spare bits do not count.
    let len = digits.len() / 4 * 3 + spare.saturating_sub(1);
    digits.resize(digits.len().next_multiple_of(4), b'A');
    let mut out = STANDARD_NO_PAD.decode(&digits).ok()?;
    out.truncate(len);
    Some(out)
}

/// Lines between `begin MODE NAME` and `end`, each with its length and six bits in each character.
fn uuencode(text: &[u8]) -> Option<Vec<u8>> {
    let mut lines = text.split(|byte| *byte == b'\n');
    lines.find(|line| line.starts_with(b"begin "))?;
    let mut out = Vec::new();
    for line in lines {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let Some((first, characters)) = line.split_first() else {
            break;
        };
        if line == b"end" {
            break;
        }
        let len = usize::from(first.wrapping_sub(b' ') & 0x3f);
        let begin = out.len();
        for group in characters.chunks(4) {
            let six =
                |at: usize| u32::from(group.get(at).map_or(0, |c| c.wrapping_sub(b' ') & 0x3f));
            let bits = six(0) << 18 | six(1) << 12 | six(2) << 6 | six(3);
            out.extend_from_slice(&bits.to_be_bytes()[1..]);
        }
        out.truncate(begin + len);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_undone() {
        let qp = b"a=3Db \nsoft=\n line=\r\n=C3=A9=zz \t";
        assert_eq!(
            &*decode(b"quoted-printable", qp),
            b"a=b\nsoft line\xc3\xa9=zz"
        );
        assert_eq!(&*decode(b"base64", b"aGVs\nbG8K\n"), b"hello\n");
        assert_eq!(&*decode(b"base64", b"aGVsbG8=\n"), b"hello");
        assert_eq!(&*decode(b"base64", b"aGVsbA==garbage"), b"hell");
        assert_eq!(&*decode(b"base64", b"a"), b"a");
        let uu = b"begin 644 f\n#0V%T\n`\nend\n";
        assert_eq!(&*decode(b"x-uuencode", uu), b"Cat");
        assert_eq!(&*decode(b"8bit", b"=3D"), b"=3D");
    }
}
