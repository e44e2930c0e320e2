//! Bundle2, the container of everything that a pull or a push sends.
//!
//! ```text
//! stream: "HG20"  u32 length of stream parameters  parameters   part*   u32 0
//!
//! part:   +------------+--------+------+--------+------------+-----------+-----------------------+
//!         | u32 header | u8     | name | u32 id | u8 number  | u8 number | per parameter: u8 key |
//!         | length     | length |      |        | mandatory  | advisory  | length, u8 value      |
//!         |            |        |      |        |            |           | length; then all keys |
//!         |            |        |      |        |            |           | and values            |
//!         +------------+--------+------+--------+------------+-----------+-----------------------+
//!         then payload chunks: i32 length, bytes; length 0 ends the part, length -1 interrupts
//!         it with another part
//! ```
//!
//! A reader must know every part whose name has a capital letter. Source: Mercurial
//! `helptext/internals/bundle2.txt`.

mod header;
mod interruption;
mod parameters;
mod reader;
mod writer;

pub use header::PartHeader;
pub use interruption::Interruption;
pub use parameters::StreamParameter;
pub use reader::{Part, PartPayload, PartReader};
pub(crate) use writer::{
    BundleWriter, Param, PartParams, Payload, SmallPart, write_small_parts, write_start,
};
