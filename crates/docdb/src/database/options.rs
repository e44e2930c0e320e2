//! How a database is opened or created.

use crate::gzip::Compressible;
use crate::hole_punching::InPlace;
use crate::write::Durability;
use varve_btree::NodeCache;
use varve_codec::EngineSetting;

/// How to open or create a database.
#[derive(Clone, Debug)]
pub struct DatabaseOptions {
    /// How bodies and tree nodes are compressed from now on.
    pub setting: EngineSetting,
    /// Where decoded tree nodes are kept; databases that share a clone share its bytes.
    pub cache: NodeCache,
    /// Largest sizes that are written.
    pub limits: Limits,
    /// Which attachments are stored as gzip.
    pub compressible: Compressible,
    /// How dictionaries for zstd are trained.
    pub trains: TrainsBy,
    /// When a commit is on the disk.
    pub durability: Durability,
    /// When compactions are done in place.
    pub in_place: InPlace,
}

impl DatabaseOptions {
    /// The defaults: CouchDB's limits and types, compactions as they are by default,
    /// durable commits, and dictionaries by request, so that nothing happens by itself.
    pub fn new(setting: EngineSetting, cache: NodeCache) -> Self {
        DatabaseOptions {
            setting,
            cache,
            limits: Limits::default(),
            compressible: Compressible::default(),
            trains: TrainsBy::Request,
            durability: Durability::default(),
            in_place: InPlace::default(),
        }
    }
}

/// Trigger of the training of dictionaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainsBy {
    /// A thread of its own, once there are enough documents; and compactions.
    Itself,
    /// Compactions and [`Database::train`].
    Request,
}

/// Sizes above which an edit is refused; stored documents stay readable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a document's JSON text without its special members.
    pub document: u64,
    /// Bytes of one attachment before any compression, also where it comes as gzip.
    pub attachment: u64,
    /// Attachments of one document.
    pub attachments: u64,
}

impl Default for Limits {
    /// CouchDB's.
    fn default() -> Self {
        Limits {
            document: 8_000_000,
            attachment: 1 << 30,
            attachments: u64::MAX,
        }
    }
}
