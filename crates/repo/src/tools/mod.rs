//! Work over whole histories: verification, recompression, annotation.

mod annotate;
mod recompress;
mod verify;

pub use annotate::{Annotate, AnnotatedLine, Annotation, FileVersion, Start, StoredFile};
pub use recompress::{Recompress, Recompressed};
pub use verify::{VerifyNews, VerifyReport};
