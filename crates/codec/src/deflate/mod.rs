//! Deflate streams byte for byte as zlib writes them. Where a stream is hashed or compared by others,
//! any other encoder, however good, would be wrong.

mod blocks;
mod huffman;
mod matching;

use blocks::Blocks;

/// The levels of zlib that somebody depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The usual one.
    Six,
    /// The one of CouchDB's attachments.
    Eight,
}

/// Appends to `head` the deflate stream that zlib makes of `data` with its default memory.
pub fn deflate(data: &[u8], level: Level, head: Vec<u8>) -> Vec<u8> {
    let mut blocks = Blocks::new(data, head);
    matching::deflate(data, level, &mut blocks);
    blocks.finish()
}

/// The zlib stream of `data`, as zlib itself makes it at its usual level.
pub fn zlib(data: &[u8]) -> Vec<u8> {
    let mut out = deflate(data, Level::Six, ZLIB_HEAD.to_vec());
    out.extend_from_slice(&adler32(data).to_be_bytes());
    out
}

/// Deflate with a window of 32 KiB, the usual level, no dictionary.
const ZLIB_HEAD: [u8; 2] = [0x78, 0x9c];

/// The checksum of zlib streams.
fn adler32(data: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    /// So many bytes cannot overflow the sums.
    const STRETCH: usize = 5552;
    let (mut low, mut high) = (1_u32, 0_u32);
    for stretch in data.chunks(STRETCH) {
        for byte in stretch {
            low += u32::from(*byte);
            high += low;
        }
        (low, high) = (low % MODULUS, high % MODULUS);
    }
    high << 16 | low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn random(len: usize, below: u64) -> Vec<u8> {
        let mut state = 1_u64;
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        (0..len).map(|_| next() as u8).collect()
    }

    /// Lengths and checksums of what `zlib.compress` of zlib 1.2.13 makes of these.
    #[test]
    fn streams_are_those_of_zlib() {
        let words: Vec<u8> = random(70_000, 13)
            .iter()
            .flat_map(|pick| {
                format!("word{pick}{} ", "x".repeat(usize::from(*pick % 5))).into_bytes()
            })
            .collect();
        for (name, data, len, sum) in [
            ("words", words.clone(), 60_319, 0x77a0_6316),
            ("few words", words[..600].to_vec(), 129, 0xb13f_412b),
            ("noise", random(70_000, 256), 70_031, 0x9613_39a6),
            ("two letters", random(100_000, 2), 15_953, 0x2e1c_1ebf),
            ("letters", random(200_000, 26), 127_031, 0xbae8_8f3d),
            ("zeros", vec![0; 100_000], 120, 0x03dd_08d4),
            ("nothing", Vec::new(), 8, 0x081f_0119),
        ] {
            let stream = zlib(&data);
            assert_eq!((stream.len(), adler32(&stream)), (len, sum), "{name}");
        }
    }
}
