//! Work over whole histories: verification, recompression, annotation.

mod annotate;
mod recompress;
mod verify;

pub use annotate::{
    AnnotateOptions, AnnotateStart, AnnotatedLine, Annotation, FileVersion, StoredFile,
};
pub use recompress::{RecompressOptions, RecompressReport};
pub use verify::{VerifyEvent, VerifyReport};
