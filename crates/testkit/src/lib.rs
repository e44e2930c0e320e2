//! For tests only: crash images, drivers for real peers, recorded answers of peers.

pub mod recorder;

pub use recorder::{CrashImage, Recorder};
