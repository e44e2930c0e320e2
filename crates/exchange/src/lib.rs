//! Bundles, changegroups, stream clones and the wire commands as functions from request to response.

mod arrivals;
mod backup;
pub mod bundle;
mod bundle2;
pub mod bundlespec;
mod bundling;
mod changegroup;
pub mod clonebundles;
mod error;
pub mod fuzzing;
mod marker_keys;
pub mod peer;
pub mod push;
mod pushed;
mod sink;
mod stdio;
mod stream;
mod unbundle;
mod union;
pub mod wire;

pub use arrivals::{Changed, Standing, added};
pub use backup::{Backup, measure, save_backup, write_backup};
pub use bundling::{BundlePlan, PartOutline, Travellers};
pub use changegroup::{
    ChangegroupReader, DeltaHeader, Group, NodeBytes, SectionSizes, Version as ChangegroupVersion,
};
pub use error::ExchangeError;
pub use pushed::{Push, PushWords, Replies};
pub use sink::{ChunkSink, SinkClosed, copy_file};
pub use stdio::Conversation;
pub use stream::{Load, StreamArrival, StreamBundle, StreamExtras, StreamNews};
pub use unbundle::{News, Pulled, Pushed, Unbundle};
pub use union::look_through;
