//! Memory of a compressor.

use varve_codec::{CodecId, EngineSetting};
use zstd::zstd_safe::{CCtx, CParameter};

/// Bytes that zstd's context takes in one compressing thread, once it has compressed a chunk of `longest` bytes;
/// `None` for other codecs, which do not tell.
pub fn context_memory(setting: EngineSetting, longest: usize) -> Option<u64> {
    /// A longer chunk makes no greater context than the window of the highest level.
    const MOST: usize = 128 << 20;
    if setting.codec() != CodecId::Zstd {
        return None;
    }
    let mut context = CCtx::try_create()?;
    let level = CParameter::CompressionLevel(setting.level());
    context.set_parameter(level).ok()?;
    let chunk = vec![0u8; longest.clamp(1, MOST)];
    let mut out = Vec::with_capacity(zstd::zstd_safe::compress_bound(chunk.len()));
    context.compress2(&mut out, &chunk).ok()?;
    Some(context.sizeof() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn higher_levels_and_longer_chunks_take_more() {
        let memory = |text: &str, longest| context_memory(text.parse().unwrap(), longest);
        assert_eq!(memory("deflate_9", 1000), None);
        assert!(memory("zstd_19", 1 << 20) > memory("zstd_1", 1 << 20));
        assert!(memory("zstd_3", 1 << 20) > memory("zstd_3", 1000));
    }
}
