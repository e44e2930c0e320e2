//! URL quoting as `hg` does it.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};

/// Every byte that is escaped: all but letters, digits and five others.
pub(crate) const QUOTED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'/')
    .remove(b'~');
