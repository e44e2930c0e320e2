//! Terms as they are compressed, each on its own.
//!
//! ```text
//! +-----+--------------------------+   a block of Snappy, of a term with its version
//! |  1  | Snappy                   |
//! +-----+----+------------+--------+   a zlib stream, of a term without its version
//! | 131 | 80 | length u32 | zlib   |
//! +-----+----+------------+--------+   a term as it is
//! | 131 | …                        |
//! +-----+--------------------------+
//! ```

use super::damage::Malformed;
use super::term::VERSION;
use flate2::read::ZlibDecoder;
use std::io::Read;

const SNAPPY: u8 = 1;
const COMPRESSED: u8 = 80;
/// Bytes before the zlib stream: version, tag, length.
const ZLIB_HEAD: usize = 6;
/// A byte of Snappy expands to less than this many: three bytes copy 64.
const SNAPPY_RATIO: usize = 22;
/// Longest expanded term.
const LONGEST: usize = 256 << 20;

/// Form of a stored term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TermForm {
    /// Not compressed.
    Plain,
    /// By Snappy.
    Snappy,
    /// By deflate, at any level.
    Deflate,
}

impl TermForm {
    /// All of them.
    pub const ALL: [TermForm; 3] = [TermForm::Plain, TermForm::Snappy, TermForm::Deflate];

    /// Name of the codec in CouchDB's settings, without a level.
    pub fn name(self) -> &'static str {
        match self {
            TermForm::Plain => "none",
            TermForm::Snappy => "snappy",
            TermForm::Deflate => "deflate",
        }
    }
}

/// The term with its version, which may be put into `room`, and its form.
pub(crate) fn expand<'b>(
    stored: &'b [u8],
    room: &'b mut Vec<u8>,
) -> Result<(&'b [u8], TermForm), Malformed> {
    match stored {
        [SNAPPY, block @ ..] => {
            snappy(block, room)?;
            Ok((room, TermForm::Snappy))
        }
        [VERSION, COMPRESSED, ..] => {
            let stream = stored.get(ZLIB_HEAD..).unwrap_or_default();
            zlib(stream, room)?;
            Ok((room, TermForm::Deflate))
        }
        _ => Ok((stored, TermForm::Plain)),
    }
}

fn snappy(block: &[u8], room: &mut Vec<u8>) -> Result<(), Malformed> {
    const WRONG: Malformed = Malformed("a term is no block of Snappy");
    let len = snap::raw::decompress_len(block).map_err(|_| WRONG)?;
    if len > block.len().saturating_mul(SNAPPY_RATIO) || len > LONGEST {
        return Err(WRONG);
    }
    room.clear();
    room.resize(len, 0);
    let done = snap::raw::Decoder::new().decompress(block, room);
    done.map(drop).map_err(|_| WRONG)
}

fn zlib(stream: &[u8], room: &mut Vec<u8>) -> Result<(), Malformed> {
    const WRONG: Malformed = Malformed("a term is no zlib stream");
    room.clear();
    room.push(VERSION);
    // The room grows with what comes, whatever the length says.
    let mut expanded = ZlibDecoder::new(stream).take(LONGEST as u64 + 1);
    expanded.read_to_end(room).map_err(|_| WRONG)?;
    match room.len() > LONGEST {
        true => Err(Malformed("a term is longer than any that are read")),
        false => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use std::io::Write;

    #[test]
    fn each_form_expands_to_the_term() {
        let term = [&[VERSION][..], b"m\0\0\x03\xe8", &[b'x'; 1000]].concat();
        let mut block = vec![SNAPPY];
        block.extend(snap::raw::Encoder::new().compress_vec(&term).unwrap());
        let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), Compression::new(6));
        zlib.write_all(&term[1..]).unwrap();
        let stream = zlib.finish().unwrap();
        let deflated = [&[VERSION, COMPRESSED][..], &1005_u32.to_be_bytes(), &stream].concat();
        for (stored, form) in [
            (&term, TermForm::Plain),
            (&block, TermForm::Snappy),
            (&deflated, TermForm::Deflate),
        ] {
            assert_eq!(expand(stored, &mut Vec::new()), Ok((&term[..], form)));
        }
        assert!(expand(&deflated[..20], &mut Vec::new()).is_err());
        assert!(expand(&block[..20], &mut Vec::new()).is_err());
    }

    #[test]
    fn a_claimed_length_reserves_nothing() {
        let mut room = Vec::new();
        assert!(expand(b"\x01\xff\xff\xff\xff\x0fabc", &mut room).is_err());
        assert!(room.capacity() < 1000, "{}", room.capacity());
    }
}
