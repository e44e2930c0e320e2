//! Bundle2, the container of everything that a pull or a push sends.
//!
//! ```text
//! stream: "HG20"  u32 length of stream parameters  parameters   part*   u32 0
//!
//! part:   +------------+--------------------+----------------------------------------------
//!         | u32 length | header, see        | payload chunks: i32 length, bytes; length 0
//!         | of header  | crate::format::part| ends the part, -1 interrupts it with another
//!         +------------+--------------------+----------------------------------------------
//! ```
//!
//! Everything behind the stream parameters is compressed as these say. Source: Mercurial
//! `helptext/internals/bundle2.txt`.

mod parameters;
mod reader;
mod writer;

pub use parameters::StreamParameter;
pub use reader::{PartPayload, PartReader};
pub(crate) use writer::{BundleWriter, write_start};

/// First bytes of a bundle2.
pub(crate) const MAGIC: &[u8; 4] = b"HG20";

/// In place of the length of a payload chunk: a whole part follows, then the payload goes on.
const INTERRUPTION: i32 = -1;
