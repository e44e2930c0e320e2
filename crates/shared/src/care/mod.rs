//! Care of a store: its catalog, listing, import, verification, restores, and removal of what is no longer needed.

mod catalog;
mod garbage;
mod import;
mod listing;
mod peek;
mod restore;
mod verify;

pub use catalog::{Catalog, CatalogEntry, read_or_create};
pub use garbage::{Collected, collect_garbage};
pub use import::{Imported, import};
pub use listing::{LogSummary, list_logs};
pub use peek::{Peeked, peek};
pub use restore::{RestorePoint, Restored, restore};
pub use verify::{VerifyReport, verify};

use crate::clock::{Clock, SystemClock};
use crate::log::{Log, LogId, LogOptions};
use crate::store::ObjectStore;
use std::sync::Arc;

fn log(
    store: &Arc<dyn ObjectStore>,
    clock: Option<Arc<dyn Clock>>,
    id: &LogId,
    options: &LogOptions,
) -> Log {
    let clock = clock.unwrap_or_else(|| Arc::new(SystemClock::default()));
    Log::new(Arc::clone(store), clock, id.clone(), options.clone())
}
