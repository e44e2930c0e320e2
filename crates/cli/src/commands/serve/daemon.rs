//! A server in the background: the program starts itself once more and ends when that one listens.
//!
//! The second process has the end of a pipe as its standard input, through which it says with one
//! byte how the start went. Until then it prints where the first one prints.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, id};
use varve_server::LogFile;

/// Names the process that started this one as its daemon. Children of the daemon inherit the
/// variable, but not that parent.
const STARTED_BY: &str = "VARVE_DAEMON_OF";

/// The server listens, and all is written that was to be.
const READY: u8 = b'+';
/// The server does not listen, and has printed the reason.
const REPORTED: u8 = b'-';

/// The code of a process that a signal ended.
const KILLED: u8 = 255;

/// Result of a start.
pub(super) enum Started {
    /// The server runs.
    Ready,
    /// The server does not run, and has printed the reason.
    Reported,
    /// The process has ended with this code.
    Failed(u8),
}

/// Starts this program again with the same arguments, in the directory where it was started, and waits
/// until it has left for the background, or has ended.
pub(super) fn start(directory: Option<&Path>) -> io::Result<Started> {
    let (reader, writer) = io::pipe()?;
    let mut arguments = std::env::args_os();
    let mut command = Command::new(std::env::current_exe()?);
    command.arg0(arguments.next().unwrap_or_default());
    command.args(arguments).env(STARTED_BY, id().to_string());
    command.stdin(writer);
    if let Some(directory) = directory {
        command.current_dir(directory);
    }
    let mut child = command.spawn()?;
    // It holds the end that is written to.
    drop(command);
    let mut said = Vec::new();
    reader.take(1).read_to_end(&mut said)?;
    match said[..] {
        [READY] => Ok(Started::Ready),
        [REPORTED] => Ok(Started::Reported),
        _ => {
            let code = child.wait()?.code();
            let code = code.and_then(|code| u8::try_from(code).ok());
            Ok(Started::Failed(code.unwrap_or(KILLED)))
        }
    }
}

/// This process, if it was started by [`start`] and has not left for the background.
pub(super) struct Daemon {
    starter: File,
}

impl Daemon {
    /// Whether this is such a process.
    pub(super) fn here() -> io::Result<Option<Daemon>> {
        let starter = std::env::var(STARTED_BY).ok();
        let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().to_string());
        if starter.is_none() || starter != parent {
            return Ok(None);
        }
        let starter = io::stdin().as_fd().try_clone_to_owned()?.into();
        Ok(Some(Daemon { starter }))
    }

    /// Leaves the terminal: later output goes to `errors`, or nowhere.
    pub(super) fn detach(mut self, errors: Option<&LogFile>) -> io::Result<()> {
        // A process that leads a group already has left the terminal.
        let _ = rustix::process::setsid();
        let nothing = File::options().read(true).write(true).open("/dev/null")?;
        rustix::stdio::dup2_stdin(&nothing)?;
        rustix::stdio::dup2_stdout(&nothing)?;
        match errors {
            Some(errors) => errors.redirect_stderr()?,
            None => rustix::stdio::dup2_stderr(&nothing)?,
        }
        self.starter.write_all(&[READY])
    }

    /// Ends the start; the failure has been told here.
    pub(super) fn report_failure(mut self) {
        // A starter that is gone need not know.
        let _ = self.starter.write_all(&[REPORTED]);
    }
}
