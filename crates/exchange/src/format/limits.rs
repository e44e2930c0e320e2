//! How much a bundle may hold.

/// Limits that end the reading of a bundle that expands without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BundleLimits {
    /// So many expanded bytes are read whatever their compressed form was.
    pub free: u64,
    /// Behind those, at most so many for each compressed byte.
    pub ratio: u64,
    /// Expanded bytes of a compressed bundle, however long its compressed form is.
    pub longest: u64,
}

impl Default for BundleLimits {
    /// Two of the longest texts that a revlog holds, and the highest ratio that zlib reaches on one
    /// byte repeated for ever. Every revision in a bundle has a hash of 20 bytes that no engine
    /// makes shorter, so honest ones that are long stay far below.
    fn default() -> Self {
        BundleLimits {
            free: 4 << 30,
            ratio: 1032,
            longest: u64::MAX,
        }
    }
}

impl BundleLimits {
    /// For a bundle that a client pushes: what it makes the server hold must have been sent, up to a factor. Clients
    /// compress few pushes, and texts seldom to less than a tenth. `longest` bounds the whole.
    pub fn for_push(longest: Option<u64>) -> BundleLimits {
        BundleLimits {
            free: 64 << 20,
            ratio: 32,
            longest: longest.unwrap_or(u64::MAX),
        }
    }

    /// How many bytes may have come out of `compressed` ones.
    pub(super) fn allowed(&self, compressed: u64) -> u64 {
        self.free
            .saturating_add(compressed.saturating_mul(self.ratio))
            .min(self.longest)
    }
}
