//! For tests only: crash images, drivers for real peers, recorded answers of peers, and the checks
//! of the source tree itself.
//!
//! Everything here panics where it cannot do its work, because that is how a test fails.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a driver that cannot do its work fails the test that called it"
)]

pub mod http;
pub mod layering;
pub mod peers;
pub mod recorded;
pub mod recorder;
pub mod repos;
pub mod rooms;
pub mod s3;
pub mod third_party;
pub mod tidy;
pub mod varve;
pub mod watched;
pub mod whole_context;

pub use recorder::{CrashImage, Recorder};

use std::path::{Path, PathBuf};

/// Where tests make many small files: in memory if `./test` has found room there, else where all temporary files are.
pub fn scratch() -> PathBuf {
    std::env::var_os("VARVE_SCRATCH").map_or_else(std::env::temp_dir, PathBuf::from)
}

/// Root of the workspace, where `./test` lies.
pub fn workspace_root() -> PathBuf {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let root = crates.and_then(Path::parent);
    root.expect("the crate lies two directories below the root")
        .to_owned()
}
