//! Contents of files that are no texts, written in git's form.
//!
//! ```text
//! GIT binary patch
//! literal 9              how long the content is
//! Tc$@<...               a letter for how many bytes, and the bytes as digits of base 85
//!                        an empty line
//! ```
//! The bytes are a zlib stream of the content; each line has at most 52 of them.

use sha1::{Digest, Sha1};
use std::io::Write;
use varve_base::base85;
use varve_codec::deflate::zlib;

/// Most bytes of one line.
const LINE: usize = 52;

/// Letters for 1 to 52 bytes.
const LENGTHS: &[u8; LINE] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// The name that git has for a content.
pub fn blob_id(content: &[u8]) -> String {
    let mut hash = Sha1::new();
    hash.update(format!("blob {}\0", content.len()));
    hash.update(content);
    let digits = hash.finalize();
    digits.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Appends a patch after which the content is this.
pub fn push_literal(content: &[u8], out: &mut Vec<u8>) {
    // Writing to memory does not fail.
    let _ = write!(out, "GIT binary patch\nliteral {}\n", content.len());
    for line in zlib(content).chunks(LINE) {
        out.push(LENGTHS[line.len() - 1]);
        push_digits(line, out);
        out.push(b'\n');
    }
    out.push(b'\n');
}

/// Zeros fill up the last four bytes.
fn push_digits(bytes: &[u8], out: &mut Vec<u8>) {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(4), 0);
    out.append(&mut base85::encode(&padded));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_are_written_as_mercurial_writes_them() {
        for (content, expected) in [
            (&b""[..], "literal 0\nHc$@<O00001\n\n"),
            (b"\0", "literal 1\nIc${MZ000310RR91\n\n"),
            (b"bin\0\0", "literal 5\nMc$`bh%wu2x00i9uIsgCw\n\n"),
        ] {
            let mut out = Vec::new();
            push_literal(content, &mut out);
            let out = String::from_utf8(out).unwrap();
            assert_eq!(out, format!("GIT binary patch\n{expected}"));
        }
        assert_eq!(
            blob_id(b"bin\0\0"),
            "6d349fde2a3af8631b2f3ef411be1c63c9d88c43"
        );
    }
}
