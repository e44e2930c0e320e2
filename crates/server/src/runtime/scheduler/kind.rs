//! Kinds of background work, and how each of them is treated.

/// Niceness of work that gets the processor when no request wants it.
pub(crate) const LOW_PRIORITY: i32 = 10;
/// Niceness of work that may take as long as it likes.
const LOWEST_PRIORITY: i32 = 19;

/// Index builds that run at the same time. Each uses as many further threads as there are cores.
const INDEX_BUILDERS: usize = 8;
/// Batches of replications between databases of this server that are read at the same time.
const COPIERS: usize = 2;
/// Databases of repositories that are filled at the same time: a push is not to wait for the first fill of another
/// repository.
const FILLERS: usize = 2;

/// A kind of background work: it has workers, a queue and a priority of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JobKind {
    /// Builds of indexes for which requests wait.
    IndexBuild,
    /// Compactions that clients asked for.
    Compaction,
    /// Compactions by the settings of `[smoosh]`.
    AutoCompaction,
    /// Builds of indexes behind writes, by the settings of `[ken]`.
    AutoIndex,
    /// Clone bundles of repositories.
    CloneBundle,
    /// Batches of replications between databases of this server.
    Replication,
    /// Databases of repositories that are brought in step with them.
    History,
    /// Removals of what a shared store need not keep.
    Garbage,
    /// Copies of indexes that are stored in a shared store.
    IndexCopy,
}

impl JobKind {
    pub(crate) const ALL: [JobKind; 9] = [
        JobKind::IndexBuild,
        JobKind::Compaction,
        JobKind::AutoCompaction,
        JobKind::AutoIndex,
        JobKind::CloneBundle,
        JobKind::Replication,
        JobKind::History,
        JobKind::Garbage,
        JobKind::IndexCopy,
    ];

    /// The name of its threads.
    pub(super) fn name(self) -> &'static str {
        match self {
            JobKind::IndexBuild => "index",
            JobKind::Compaction => "compaction",
            JobKind::AutoCompaction => "smoosh",
            JobKind::AutoIndex => "ken",
            JobKind::CloneBundle => "bundles",
            JobKind::Replication => "replication",
            JobKind::History => "history",
            JobKind::Garbage => "garbage",
            JobKind::IndexCopy => "copies",
        }
    }

    /// The most jobs of the kind that run at the same time, unless a setting says otherwise.
    pub(super) fn default_workers(self) -> usize {
        match self {
            JobKind::IndexBuild => INDEX_BUILDERS,
            JobKind::Replication => COPIERS,
            JobKind::History => FILLERS,
            JobKind::Compaction
            | JobKind::AutoCompaction
            | JobKind::AutoIndex
            | JobKind::CloneBundle
            | JobKind::Garbage
            | JobKind::IndexCopy => 1,
        }
    }

    /// Niceness of its threads. A writer waits for the end of a compaction, which therefore lowers the
    /// priority of its copying only, by [`with_low_priority`](super::with_low_priority).
    pub(super) fn niceness(self) -> i32 {
        match self {
            JobKind::IndexBuild
            | JobKind::Compaction
            | JobKind::AutoCompaction
            | JobKind::AutoIndex => 0,
            JobKind::CloneBundle => LOWEST_PRIORITY,
            JobKind::Replication | JobKind::History | JobKind::Garbage | JobKind::IndexCopy => {
                LOW_PRIORITY
            }
        }
    }

    /// Whether requests wait for its jobs, which then run until the requests have finished.
    pub(super) fn serves_requests(self) -> bool {
        self == JobKind::IndexBuild
    }

    /// Whether a key that is submitted while its job runs is queued once more: the running job may have
    /// passed the change that led to it.
    pub(super) fn runs_again(self) -> bool {
        match self {
            JobKind::IndexBuild
            | JobKind::CloneBundle
            | JobKind::Replication
            | JobKind::History => true,
            JobKind::Compaction
            | JobKind::AutoCompaction
            | JobKind::AutoIndex
            | JobKind::Garbage
            | JobKind::IndexCopy => false,
        }
    }
}
