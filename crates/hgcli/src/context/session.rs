//! Parts in common of all calls of one process: one call of a shell's user, or all of a command server's client.

use crate::context::{CommandTable, RepoLocation};
use crate::ui::Streams;
use crate::ui::signals::SignalWatcher;
use std::sync::Arc;
use varve_config::hgrc::Hgrc;

/// The circumstances that calls begin in. A call changes none of them.
#[derive(Debug)]
pub struct Session {
    /// Name of this program as called, `hg` or `varve`.
    pub(crate) program: String,
    /// The commands of the program, without those that the configuration switches on.
    pub(crate) commands: Arc<CommandTable>,
    /// The streams of each call.
    pub(crate) streams: Streams,
    /// Settings of the command line that began the session; those of a call stand above them.
    pub(crate) arguments: Hgrc,
    /// The repository of calls that name none and stay in the directory.
    pub(crate) location: Option<RepoLocation>,
    /// Leads signals to the call that runs.
    pub signals: SignalWatcher,
}

impl Session {
    /// The session of a process that answers one call with the streams of the process.
    pub(crate) fn of_process(program: &str, commands: CommandTable) -> Session {
        Session {
            program: program.to_owned(),
            commands: Arc::new(commands),
            streams: Streams::default(),
            arguments: Hgrc::default(),
            location: None,
            signals: SignalWatcher::default(),
        }
    }

    /// Whether calls come from the client of a command server.
    pub fn is_of_client(&self) -> bool {
        self.streams.are_channels()
    }
}
