//! Why bytes are not JSON.

/// Bytes are not JSON; `at` counts bytes from the beginning of the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum JsonError {
    /// A byte that cannot stand here.
    #[error("invalid JSON at byte {at}: expected {expected}, found {found:?}")]
    Unexpected {
        /// Position of the byte.
        at: usize,
        /// The permitted tokens at this place.
        expected: &'static str,
        /// The byte, as a character of Latin-1.
        found: char,
    },
    /// The text ends inside a value.
    #[error("invalid JSON: the text ends at byte {at} where {expected} should stand")]
    Truncated {
        /// Length of the text.
        at: usize,
        /// The permitted tokens at this place.
        expected: &'static str,
    },
    /// Bytes that are not UTF-8.
    #[error("invalid UTF-8 at byte {at}")]
    InvalidUtf8 {
        /// Position of the first wrong byte.
        at: usize,
    },
    /// A `\u` escape that is half of a surrogate pair without its other half.
    #[error("lone surrogate at byte {at}")]
    LoneSurrogate {
        /// Position of the escape.
        at: usize,
    },
    /// A number that no binary64 can hold.
    #[error("number out of range at byte {at}")]
    NumberOutOfRange {
        /// Position of the number.
        at: usize,
    },
    /// An integer of more than [`crate::MAX_DIGITS`] digits.
    #[error("number of {digits} digits at byte {at}; the limit is {limit}", limit = crate::MAX_DIGITS)]
    NumberTooLong {
        /// Position of the number.
        at: usize,
        /// How many digits it has.
        digits: usize,
    },
    /// More than [`crate::MAX_DEPTH`] arrays and objects inside one another.
    #[error("nested deeper than {limit} levels at byte {at}", limit = crate::MAX_DEPTH)]
    TooDeep {
        /// Position of the bracket that went too far.
        at: usize,
    },
    /// Values that would take more memory than the reader of the text allows.
    #[error("the values up to byte {at} take too much memory")]
    TooLarge {
        /// Position behind the last value that was read.
        at: usize,
    },
    /// Something else than an object where one is demanded.
    #[error("expected a JSON object, found {found}")]
    NotAnObject {
        /// Kind of the value.
        found: &'static str,
    },
}
