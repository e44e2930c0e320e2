//! Compression of a bundle: engine, level, threads.

use std::ops::RangeInclusive;

/// Most worker threads that zstd takes.
const MOST_THREADS: u32 = 256;

/// From this level of zstd on all cores work unless the settings say otherwise.
const LEVEL_FOR_ALL_CORES: i32 = 10;

/// Compression engine of a bundle, by the names that bundlespecs have for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEngine {
    /// No compression.
    None,
    /// A zlib stream.
    Gzip,
    /// A bzip2 stream.
    Bzip2,
    /// A zstd frame.
    Zstd,
}

impl StreamEngine {
    /// All of them.
    pub const ALL: [StreamEngine; 4] = [
        StreamEngine::None,
        StreamEngine::Gzip,
        StreamEngine::Bzip2,
        StreamEngine::Zstd,
    ];

    /// The name in a bundlespec.
    pub fn name(self) -> &'static str {
        match self {
            StreamEngine::None => "none",
            StreamEngine::Gzip => "gzip",
            StreamEngine::Bzip2 => "bzip2",
            StreamEngine::Zstd => "zstd",
        }
    }

    /// The two letters in the header of a bundle.
    pub fn letters(self) -> &'static str {
        match self {
            StreamEngine::None => "UN",
            StreamEngine::Gzip => "GZ",
            StreamEngine::Bzip2 => "BZ",
            StreamEngine::Zstd => "ZS",
        }
    }

    /// The engine of a name.
    pub fn named(name: &str) -> Option<StreamEngine> {
        StreamEngine::ALL
            .into_iter()
            .find(|engine| engine.name() == name)
    }

    /// The levels it has, if it has any.
    pub fn levels(self) -> Option<RangeInclusive<i32>> {
        match self {
            StreamEngine::None => None,
            StreamEngine::Gzip => Some(-1..=9),
            StreamEngine::Bzip2 => Some(1..=9),
            StreamEngine::Zstd => Some(zstd::compression_level_range()),
        }
    }

    /// How many threads may compress one stream.
    pub fn most_threads(self) -> u32 {
        match self {
            StreamEngine::Zstd => MOST_THREADS,
            StreamEngine::None | StreamEngine::Gzip | StreamEngine::Bzip2 => 1,
        }
    }

    /// The level that its library has by default.
    fn usual_level(self) -> i32 {
        match self {
            StreamEngine::None => 0,
            StreamEngine::Gzip => 6,
            StreamEngine::Bzip2 => 9,
            StreamEngine::Zstd => zstd::DEFAULT_COMPRESSION_LEVEL,
        }
    }
}

/// An engine with its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamSetting {
    /// Compression engine.
    pub engine: StreamEngine,
    /// One of [`StreamEngine::levels`]; else its usual one.
    pub level: Option<i32>,
    /// Threads that compress, all cores if negative; else one below level 10, all cores from there
    /// on. How many they are never shows in the bytes.
    pub threads: Option<i32>,
}

impl StreamSetting {
    /// The engine as it comes.
    pub fn usual(engine: StreamEngine) -> StreamSetting {
        StreamSetting {
            engine,
            level: None,
            threads: None,
        }
    }

    /// The level that counts: those that stand for the usual one are replaced by it.
    pub fn effective_level(self) -> i32 {
        let usual = self.engine.usual_level();
        match (self.engine, self.level) {
            (_, None) | (StreamEngine::Gzip, Some(-1)) | (StreamEngine::Zstd, Some(0)) => usual,
            (_, Some(level)) => level,
        }
    }

    /// How many threads compress.
    pub fn effective_threads(self) -> u32 {
        let cores = || std::thread::available_parallelism().map_or(1, |n| n.get() as u32);
        let wanted = match self.threads {
            Some(threads) => u32::try_from(threads).unwrap_or_else(|_| cores()),
            None if self.effective_level() >= LEVEL_FOR_ALL_CORES => cores(),
            None => 1,
        };
        wanted.clamp(1, self.engine.most_threads())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_follow_the_level_unless_they_are_given() {
        let cores = std::thread::available_parallelism().unwrap().get() as u32;
        let threads = |engine, level, threads| {
            let setting = StreamSetting {
                engine,
                level,
                threads,
            };
            setting.effective_threads()
        };
        let zstd = StreamEngine::Zstd;
        assert_eq!(threads(zstd, None, None), 1);
        assert_eq!(threads(zstd, Some(9), None), 1);
        assert_eq!(threads(zstd, Some(10), None), cores.min(256));
        assert_eq!(threads(zstd, Some(3), Some(-1)), cores.min(256));
        assert_eq!(threads(zstd, Some(22), Some(3)), 3);
        assert_eq!(threads(zstd, Some(22), Some(0)), 1);
        assert_eq!(threads(zstd, None, Some(300)), 256);
        assert_eq!(threads(StreamEngine::Gzip, Some(9), Some(-1)), 1);
    }

    #[test]
    fn names_are_found_again() {
        for engine in StreamEngine::ALL {
            assert_eq!(StreamEngine::named(engine.name()), Some(engine));
        }
        assert_eq!(StreamEngine::named("lz4"), None);
    }
}
