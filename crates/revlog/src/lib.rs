//! Mercurial's revlog: index and data files, delta chains, reading and appending revisions.

mod append;
mod chain;
mod choose;
pub mod chunk;
mod entries;
mod entry;
mod error;
pub mod fuzzing;
mod ids;
mod index;
mod nodes;
mod options;
mod parallel;
mod reader;
mod receive;
mod revlog;
mod window;
mod write;

pub use append::{Appender, AppenderState, Content, LONGEST_INLINE, NewRevision, RevisionHints};
pub use entry::{ENTRY_LEN, Entry, Header, flag};
pub use error::RevlogError;
pub use ids::{Node, Rev};
pub use nodes::PrefixMatch;
pub use options::WriteOptions;
pub use reader::{CHUNK_OUTSIDE, Reader, ReaderState, hash};
pub use receive::ReceivedRevision;
pub use revlog::Revlog;
pub use write::Written;
