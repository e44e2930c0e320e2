//! How a database is opened or created.

use crate::gzip::Compressible;
use crate::hole_punching::InPlace;
use crate::write::Durability;
use parking_lot::RwLock;
use std::sync::Arc;
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
    /// Options that may change while databases are open.
    pub tuned: Tuned,
}

/// Takes the place of a compression and of limits that databases were opened with. All clones are one, so that a
/// change reaches open databases and those that are just being opened.
#[derive(Clone, Debug, Default)]
pub struct Tuned(Arc<RwLock<Option<(EngineSetting, Limits)>>>);

impl Tuned {
    /// From now on these count for every commit.
    pub fn set(&self, setting: EngineSetting, limits: Limits) {
        *self.0.write() = Some((setting, limits));
    }
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
            tuned: Tuned::default(),
        }
    }

    /// The compression that counts now.
    pub fn current_setting(&self) -> EngineSetting {
        let tuned = *self.tuned.0.read();
        tuned.map_or(self.setting, |(setting, _)| setting)
    }

    /// The limits that count now.
    pub fn current_limits(&self) -> Limits {
        let tuned = *self.tuned.0.read();
        tuned.map_or(self.limits, |(_, limits)| limits)
    }
}

/// Properties of a database that is to be made.
#[derive(Clone, Copy, Debug, Default)]
pub struct NewDatabase {
    /// How it is compressed, whatever the options say.
    pub compression: Option<EngineSetting>,
    /// Documents belong to partitions; this cannot be changed later.
    pub is_partitioned: bool,
    /// Documents name their readers in `_access`; this cannot be changed later.
    pub has_access: bool,
}

/// Trigger of the training of dictionaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrainsBy {
    /// A thread of its own, once there are enough documents; and compactions.
    Itself,
    /// Compactions and [`Database::train`].
    Request,
    /// No dictionary is trained, and compactions drop those that are there: for measuring the gain of one.
    Nothing,
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
    /// Bytes of a document's id.
    pub id: u64,
}

impl Default for Limits {
    /// CouchDB's.
    fn default() -> Self {
        Limits {
            document: 8_000_000,
            attachment: 1 << 30,
            attachments: u64::MAX,
            id: u64::MAX,
        }
    }
}
