//! Base of every crate of Varve: the storage seam, progress, and interruption.
//!
//! Nothing here knows of terminals, environment variables or home directories.

pub mod base85;
mod priority;
pub mod progress;
pub mod storage;
pub mod varint;

pub use priority::{IdleTime, lower_priority};
pub use progress::{Interrupt, Interrupted, Progress, Silent, Unit};
pub use storage::{
    DiskStorage, Hole, MemoryStorage, OpenMode, ReadMode, Storage, StorageError, StorageFile,
};
