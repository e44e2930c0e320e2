//! Background machinery of the server: threads, jobs, tasks, and their shared state.

pub(crate) mod clock;
mod cluster_view;
mod context;
mod copies;
mod couch_counters;
#[cfg(test)]
pub(crate) mod counting_store;
pub(crate) mod dirty;
#[allow(dead_code, reason = "pools are watched by tests only, so far")]
mod executor;
mod help;
mod limits;
mod listening;
pub(crate) mod log;
mod log_file;
pub(crate) mod log_names;
pub(crate) mod metrics;
pub(crate) mod recent_durations;
mod registry;
pub(crate) mod repeats;
mod running;
pub(crate) mod scheduler;
mod shared_logs;
pub(crate) mod single_flight;
mod tasks;
pub(crate) mod throttle;

pub use cluster_view::is_of_leader;
pub(crate) use cluster_view::{
    ClusterCounts, ClusterState, ClusterView, KnownLeader, ResponsibleServer, ServerPlace,
    node_name,
};
pub(crate) use context::{NODE_NAME, ServerContext};
pub(crate) use copies::CopyUse;
pub(crate) use executor::{Executor, NotDone, Pool, STACK};
pub use help::{HelpEntry, HelpIndex};
pub(crate) use limits::{BodyReservation, ConnectionPermit, Limits, RequestClass, network_of};
pub(crate) use listening::{ListeningAddress, is_of_this_machine};
pub use log::LogOutput;
pub use log_file::LogFile;
pub use registry::{Registry, Resource};
pub(crate) use running::{RunningAnswers, RunningSlot};
pub(crate) use shared_logs::{CopyDirectory, LogKind, OpenLog, SharedLogs};
pub use tasks::{RunningTask, Tasks};
