//! The store of objects of shared storage ([`varve_shared::ObjectStore`]) over S3: AWS, Ceph RGW, MinIO and others that speak
//! its protocol.
//!
//! Requests are those of the crate `object_store`, which is async; the protocol of shared storage is threads. The bridge is
//! here, so that neither `shared` has a runtime nor `server` lends its own to commits, and `varve shared` needs no server.
//!
//! An object is created with `If-None-Match: *` and nothing else is conditional. A request that creates is sent once:
//! the protocol decides what an answer that was lost means. All other requests may be repeated.

mod address;
mod error;
mod runtime;
mod settings;
mod store;
mod transport;

pub use address::S3Address;
pub use error::{Refusal, S3Error};
pub use settings::S3Settings;
pub use store::S3Store;
