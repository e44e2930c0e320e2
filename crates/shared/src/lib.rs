//! Storage over object storage: any number of processes share one directory tree whose changes are a log of records, each
//! an object that is created only if it is absent.
//!
//! A *log* keeps one database. Its owner turns everything that was appended or replaced since the last sync into one
//! record in the next free slot; a process that wants to write instead puts a fence there, after which the records of the
//! owner before are refused. Nothing here decides by clocks which process may write. `docs/shared.md` has the protocol and
//! its promises.

mod care;
mod clock;
mod derived;
mod error;
mod file_table;
mod format;
pub mod fuzzing;
mod leadership;
mod log;
mod membership;
mod node;
mod placement;
mod storage;
mod store;

pub use care::{
    Catalog, CatalogEntry, Collected, Imported, LogSummary, Peeked, RestorePoint, Restored,
    VerifyReport, collect_garbage, import, list_logs, peek, read_or_create, restore, verify,
};
pub use clock::{Clock, SystemClock};
pub use derived::{DerivedFile, DerivedVersion, StoredVersion, list_derived};
pub use error::{SharedError, StoreError, StoreFailure};
pub use leadership::{Leadership, Role, Standby, newest_leader};
pub use log::{LogId, LogOptions};
pub use membership::{Member, Membership, shown_members};
pub use node::Node;
pub use placement::Placement;
pub use storage::SharedStorage;
pub use store::{CreateOutcome, DirectoryStore, ObjectInfo, ObjectStore, probe};
