//! Deflate streams byte for byte as zlib writes them. Where a stream is hashed or compared by others,
//! any other encoder, however good, would be wrong.

mod blocks;
mod huffman;
mod matching;

use blocks::Blocks;
use matching::Matcher;

/// A level of zlib's that compresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(u8);

impl Level {
    /// The usual one.
    pub const SIX: Level = Level(6);
    /// The one of CouchDB's attachments, unless they are configured otherwise.
    pub const EIGHT: Level = Level(8);

    /// 1 to 9.
    pub fn new(level: u8) -> Option<Level> {
        (1..=9).contains(&level).then_some(Level(level))
    }
}

/// A deflate stream in the making, as zlib makes it with its default memory.
pub struct Deflater {
    matcher: Matcher,
    blocks: Blocks,
}

impl std::fmt::Debug for Deflater {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Deflater")
    }
}

impl Deflater {
    /// A stream behind `head`.
    pub fn new(level: Level, head: Vec<u8>) -> Self {
        Deflater {
            matcher: Matcher::new(level),
            blocks: Blocks::new(head),
        }
    }

    /// Compresses more; returns bytes of the stream that are done, if any. In which pieces data
    /// comes makes no difference to the stream.
    pub fn write(&mut self, data: &[u8]) -> Vec<u8> {
        self.matcher.write(data, &mut self.blocks);
        self.blocks.take()
    }

    /// Ends the stream; returns the rest of it.
    pub fn finish(mut self) -> Vec<u8> {
        self.matcher.finish(&mut self.blocks);
        self.blocks.finish()
    }
}

/// Appends to `head` the deflate stream that zlib makes of `data` with its default memory.
pub fn deflate(data: &[u8], level: Level, head: Vec<u8>) -> Vec<u8> {
    let mut deflater = Deflater::new(level, head);
    let mut out = deflater.write(data);
    out.append(&mut deflater.finish());
    out
}

/// The zlib stream of `data`, as zlib itself makes it at its usual level.
pub fn zlib(data: &[u8]) -> Vec<u8> {
    let mut out = deflate(data, Level::SIX, ZLIB_HEAD.to_vec());
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

    /// Lengths and checksums of the output of `zlib.compress` of zlib 1.2.13.
    #[test]
    fn streams_are_those_of_zlib() {
        let words = words(70_000);
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

    fn words(count: usize) -> Vec<u8> {
        let word = |pick: &u8| format!("word{pick}{} ", "x".repeat(usize::from(*pick % 5)));
        let words = random(count, 13).iter().map(word).collect::<String>();
        words.into_bytes()
    }

    /// By level, from 1 on: lengths and checksums of the output of zlib 1.2.13.
    #[test]
    fn every_level_is_that_of_zlib() {
        let of_words = [
            (89513, 0x8c45_d225),
            (82449, 0xef1c_f77f),
            (70734, 0x47ab_ce1a),
            (71572, 0x53a0_e2aa),
            (65522, 0x3b76_b2cc),
            (60313, 0xdca5_5f9b),
            (57696, 0x24b4_844b),
            (54706, 0x9f02_3fa9),
            (53952, 0x2185_3aba),
        ];
        let of_letters = [
            (22337, 0xd077_9641),
            (20755, 0x65c3_c959),
            (20190, 0xc05d_39de),
            (17191, 0xf13f_5aae),
            (16732, 0xf305_2fe3),
            (15947, 0x8804_1af6),
            (15735, 0xe89b_dfc3),
            (15475, 0x5011_cc70),
            (15536, 0xf66c_b032),
        ];
        for (data, known) in [(words(70_000), of_words), (random(100_000, 2), of_letters)] {
            for (level, expected) in (1..).zip(known) {
                let stream = deflate(&data, Level::new(level).unwrap(), Vec::new());
                assert_eq!((stream.len(), adler32(&stream)), expected, "level {level}");
            }
        }
        assert_eq!((Level::new(0), Level::new(10)), (None, None));
    }

    #[test]
    fn pieces_make_the_same_stream() {
        let mut data = words(20_000);
        data.extend(random(300_000, 256));
        data.extend(vec![0; 9_000_000]);
        data.extend(words(5000));
        for level in [1, 8] {
            let level = Level::new(level).unwrap();
            let whole = deflate(&data, level, b"head".to_vec());
            for len in [1000, 262_147] {
                let mut deflater = Deflater::new(level, b"head".to_vec());
                let mut out = Vec::new();
                for piece in data.chunks(len) {
                    out.append(&mut deflater.write(piece));
                }
                out.append(&mut deflater.finish());
                assert!(out == whole, "pieces of {len} bytes");
            }
            let mut back = Vec::new();
            let mut inflate = flate2::read::DeflateDecoder::new(&whole[4..]);
            std::io::Read::read_to_end(&mut inflate, &mut back).unwrap();
            assert!(back == data);
        }
    }
}
