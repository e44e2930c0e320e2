//! A part that comes in the middle of another one's payload: words of the other side.

use super::PartHeader;

/// A whole part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interruption {
    /// Its header.
    pub header: PartHeader,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// Longest payload: these are words to be shown.
pub(super) const LONGEST: usize = 1 << 20;

/// Who learns of interruptions.
pub(super) type Listener<'a> = Box<dyn FnMut(Interruption) + Send + 'a>;
