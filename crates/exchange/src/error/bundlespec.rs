//! Errors of a bundlespec.

use varve_codec::StreamEngine;

/// A text is no bundlespec, or asks for something unsupported.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BundleSpecError {
    /// Neither a type nor a compression.
    #[error("{0} is not a recognized bundle specification")]
    Unknown(String),
    /// The word before the hyphen.
    #[error("{0} compression is not supported")]
    Compression(String),
    /// The word behind the hyphen.
    #[error("{0} is not a recognized bundle version")]
    Type(String),
    /// Bundle1Operation has no letters for this engine.
    #[error("compression engine {} is not supported on v1 bundles", .0.name())]
    NotInV1(StreamEngine),
    /// A requirement that no version of Varve or Mercurial has.
    #[error("missing support for repository features: {0}")]
    Requirements(String),
    /// A parameter is no pair.
    #[error("invalid bundle specification: missing \"=\" in parameter: {0}")]
    NoValue(String),
    /// A parameter is a switch.
    #[error("parameter {key} should be a boolean ('{value}')")]
    NoBoolean {
        /// Its name.
        key: String,
        /// The value as typed.
        value: String,
    },
    /// A parameter is a number.
    #[error("{key} \"{value}\" is not an integer")]
    NoInteger {
        /// Its name.
        key: &'static str,
        /// The value as typed.
        value: String,
    },
    /// The engine has no levels.
    #[error("{key} \"{value}\" is given, but {} has no levels", engine.name())]
    NoLevels {
        /// The parameter or setting.
        key: String,
        /// The level that was asked for.
        value: i64,
        /// Engine that compresses.
        engine: StreamEngine,
    },
    /// The engine has other levels.
    #[error("{key} \"{value}\" is out of range, {} has levels from {least} to {most}", engine.name())]
    Level {
        /// The parameter or setting.
        key: String,
        /// The level that was asked for.
        value: i64,
        /// Engine that compresses.
        engine: StreamEngine,
        /// Its lowest level.
        least: i32,
        /// Its highest level.
        most: i32,
    },
    /// The engine cannot use so many threads.
    #[error("{key} \"{value}\" is out of range, {} uses at most {most}", engine.name())]
    Threads {
        /// The parameter or setting.
        key: String,
        /// The number of threads that was asked for.
        value: i64,
        /// Engine that compresses.
        engine: StreamEngine,
        /// How many threads it can use.
        most: u32,
    },
}
