//! Memory of a compressor.

use varve_codec::{CodecId, EngineSetting};
use zstd::zstd_safe::{CCtx, CParameter, InBuffer, OutBuffer};

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

/// Bytes that zstd's context takes for a stream of unknown length; `None` if that cannot be found.
pub fn stream_memory(level: i32, threads: i32) -> Option<u64> {
    let workers = match u32::try_from(threads) {
        // One is the calling thread itself.
        Ok(0 | 1) => 0,
        Ok(workers) => workers,
        Err(_) => std::thread::available_parallelism().map_or(1, usize::from) as u32,
    };
    let mut context = CCtx::try_create()?;
    context
        .set_parameter(CParameter::CompressionLevel(level))
        .ok()?;
    context.set_parameter(CParameter::NbWorkers(workers)).ok()?;
    let mut out = vec![0u8; 1024];
    let mut out = OutBuffer::around(&mut out[..]);
    let mut input = InBuffer::around(b"text");
    context.compress_stream(&mut out, &mut input).ok()?;
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
        assert!(stream_memory(19, 1) > stream_memory(1, 1));
        assert!(stream_memory(3, 2) > stream_memory(3, 1));
    }
}
