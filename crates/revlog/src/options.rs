//! How revisions are written.

use varve_codec::EngineSetting;

/// How an [`crate::Appender`] stores revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// Codec and level of new chunks: none, zlib or zstd. Chunks of other codecs may stand in the
    /// same file.
    pub engine: EngineSetting,
    /// Whether deltas of new files may be against any revision, instead of the one before.
    pub general_delta: bool,
    /// Whether a snapshot may be a delta against another snapshot.
    pub sparse: bool,
    /// Whether a delta that came with a revision is stored as it is if it keeps the limits.
    pub reuse_delta: bool,
    /// Whether, when it is not, the revision that it is against is tried before all others.
    pub reuse_delta_parent: bool,
}

impl From<EngineSetting> for WriteOptions {
    /// Mercurial's defaults, with this engine.
    fn from(engine: EngineSetting) -> Self {
        WriteOptions {
            engine,
            general_delta: true,
            sparse: true,
            reuse_delta: true,
            reuse_delta_parent: true,
        }
    }
}
