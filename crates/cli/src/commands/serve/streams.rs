//! The standard streams as a protocol's.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use varve_hgcli::ui::Abort;
use varve_hgcli::ui::streams::wait_for_bytes;

/// The streams of the protocol. In their places come an empty one and the standard error, so that nothing that
/// a program prints gets between the protocol's bytes.
pub(super) fn take(
    is_stopped: impl Fn() -> bool + Send + 'static,
) -> Result<(StoppableInput, File), Abort> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let nothing = File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing).map_err(io::Error::from)?;
    rustix::stdio::dup2_stdout(io::stderr()).map_err(io::Error::from)?;
    let input = StoppableInput {
        input: input.into(),
        is_stopped: Box::new(is_stopped),
    };
    Ok((input, output.into()))
}

/// Reads from a stream, and ends in an error when the program is to stop.
pub(super) struct StoppableInput {
    input: File,
    is_stopped: Box<dyn Fn() -> bool + Send>,
}

impl Read for StoppableInput {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match wait_for_bytes(&self.input, &self.is_stopped)? {
            true => self.input.read(bytes),
            false => Err(io::Error::other("the server stops")),
        }
    }
}
