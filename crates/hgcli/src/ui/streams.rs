//! The standard streams of one call: those of the process, or the channels of a command server's client.
//!
//! No other module may use the streams of the process, or start a program that inherits them, except where
//! a call cannot come from a client.

use crate::ui::progress::{AboveLine, ProgressLine};
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use varve_base::Interrupt;

/// Bytes of a program's output that are sent in one piece at most.
const PIECE: usize = 4096;

/// Which of the two outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    /// Results.
    Output,
    /// Warnings and failures.
    Error,
}

/// Channels to the client of a command server.
pub trait Channels: Send + Sync {
    /// Sends output.
    ///
    /// # Errors
    /// A client that is gone.
    fn write(&self, stream: OutputStream, bytes: &[u8]) -> io::Result<()>;
    /// Asks for a line; nothing at the end of the input.
    ///
    /// # Errors
    /// A client that is gone, or answers with something else.
    fn read_line(&self) -> io::Result<Vec<u8>>;
    /// Asks for some bytes; none at the end of the input.
    ///
    /// # Errors
    /// A client that is gone, or answers with something else.
    fn read_some(&self) -> io::Result<Vec<u8>>;
}

/// The streams of a call; clones share them.
#[derive(Clone, Default)]
pub struct Streams {
    /// `None` for the streams of the process.
    channels: Option<Arc<dyn Channels>>,
    /// Raised when the call is to end.
    stop: Interrupt,
    /// Progress that is drawn below what is written.
    line: Arc<ProgressLine>,
}

impl std::fmt::Debug for Streams {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = if self.are_channels() {
            "channels"
        } else {
            "process"
        };
        f.debug_tuple("Streams").field(&kind).finish()
    }
}

impl Streams {
    /// Those of a client.
    pub fn of_client(channels: Arc<dyn Channels>) -> Streams {
        Streams {
            channels: Some(channels),
            ..Streams::default()
        }
    }

    /// The same for a call that ends when `stop` is raised.
    pub(crate) fn until(&self, stop: &Interrupt) -> Streams {
        Streams {
            channels: self.channels.clone(),
            stop: stop.clone(),
            line: Arc::clone(&self.line),
        }
    }

    /// Whether they lead to a client.
    pub fn are_channels(&self) -> bool {
        self.channels.is_some()
    }

    /// Whether the input is a terminal, which can answer questions.
    pub fn has_terminal_input(&self) -> bool {
        !self.are_channels() && io::stdin().is_terminal()
    }

    /// Whether a person at a terminal reads the output.
    pub fn has_terminal_output(&self) -> bool {
        !self.are_channels() && io::stdout().is_terminal()
    }

    /// True if a terminal shows warnings and progress.
    pub(crate) fn has_terminal_errors(&self) -> bool {
        !self.are_channels() && io::stderr().is_terminal()
    }

    /// The line that progress is drawn on.
    pub(crate) fn progress_line(&self) -> &Arc<ProgressLine> {
        &self.line
    }

    fn above_line<W>(&self, output: W) -> AboveLine<W> {
        AboveLine {
            line: Arc::clone(&self.line),
            output,
        }
    }

    /// Output for results.
    pub fn out(&self) -> Box<dyn Write + Send> {
        match &self.channels {
            None => Box::new(self.above_line(io::stdout())),
            Some(channels) => Box::new(ChannelWriter(Arc::clone(channels), OutputStream::Output)),
        }
    }

    /// Output for warnings and failures.
    pub fn err(&self) -> Box<dyn Write + Send> {
        match &self.channels {
            None => Box::new(self.above_line(io::stderr())),
            Some(channels) => Box::new(ChannelWriter(Arc::clone(channels), OutputStream::Error)),
        }
    }

    /// The input, to be read to its end.
    pub fn input(&self) -> Box<dyn Read + Send> {
        match &self.channels {
            None => Box::new(io::stdin()),
            Some(channels) => Box::new(ChannelReader {
                channels: Arc::clone(channels),
                rest: Vec::new(),
            }),
        }
    }

    /// A line of the input with its end; nothing at the end of the input.
    ///
    /// # Errors
    /// The system refuses, or the client is gone.
    pub fn read_line(&self) -> io::Result<Vec<u8>> {
        match &self.channels {
            None => {
                let mut line = Vec::new();
                io::stdin().lock().read_until(b'\n', &mut line)?;
                Ok(line)
            }
            Some(channels) => channels.read_line(),
        }
    }

    /// Runs a program to its end. It has the streams of the process; or no input, and all of its output goes to the
    /// client's output, as Mercurial does it.
    ///
    /// # Errors
    /// A program that cannot be started; [`io::ErrorKind::Interrupted`] if the call is to end before the program has.
    pub fn run(&self, command: &mut Command) -> io::Result<ExitStatus> {
        let Some(channels) = &self.channels else {
            self.line.clear();
            return command.status();
        };
        let (mut reader, writer) = io::pipe()?;
        command.stdin(Stdio::null());
        command.stdout(writer.try_clone()?).stderr(writer);
        let mut child = command.spawn()?;
        // The command keeps the ends that are written to.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut piece = [0; PIECE];
        loop {
            if !wait_for_bytes(&reader, || self.stop.is_raised())? {
                return Err(io::ErrorKind::Interrupted.into());
            }
            match reader.read(&mut piece)? {
                0 => return child.wait(),
                len => channels.write(OutputStream::Output, &piece[..len])?,
            }
        }
    }
}

/// Waits until something can be read; `false` if it is to stop first.
///
/// # Errors
/// The system refuses to wait.
pub fn wait_for_bytes(
    input: &impl std::os::fd::AsFd,
    is_stopped: impl Fn() -> bool,
) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    /// How often it is looked whether to stop while nothing comes.
    const LOOK: Timespec = Timespec {
        tv_sec: 0,
        tv_nsec: 100_000_000,
    };
    loop {
        if is_stopped() {
            return Ok(false);
        }
        let mut waiting = [PollFd::new(input, PollFlags::IN)];
        match poll(&mut waiting, Some(&LOOK)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(error) => return Err(error.into()),
        }
    }
}

struct ChannelWriter(Arc<dyn Channels>, OutputStream);

impl Write for ChannelWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(self.1, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct ChannelReader {
    channels: Arc<dyn Channels>,
    /// Bytes that came and have not been read.
    rest: Vec<u8>,
}

impl Read for ChannelReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            self.rest = self.channels.read_some()?;
        }
        let len = bytes.len().min(self.rest.len());
        bytes[..len].copy_from_slice(&self.rest[..len]);
        self.rest.drain(..len);
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use parking_lot::Mutex;

    #[derive(Default)]
    struct Recorded {
        sent: Mutex<Vec<(OutputStream, Vec<u8>)>>,
        input: Mutex<Vec<Vec<u8>>>,
    }

    impl Channels for Recorded {
        fn write(&self, stream: OutputStream, bytes: &[u8]) -> io::Result<()> {
            self.sent.lock().push((stream, bytes.to_vec()));
            Ok(())
        }

        fn read_line(&self) -> io::Result<Vec<u8>> {
            self.read_some()
        }

        fn read_some(&self) -> io::Result<Vec<u8>> {
            Ok(self.input.lock().pop().unwrap_or_default())
        }
    }

    fn shell(line: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        command
    }

    #[test]
    fn a_program_sends_all_of_its_output_to_the_client_and_reads_nothing() {
        let recorded = Arc::new(Recorded::default());
        let streams = Streams::of_client(recorded.clone());
        let ended = streams.run(&mut shell("cat; echo out; echo err >&2; exit 3"));
        assert_eq!(ended.unwrap().code(), Some(3));
        let sent = recorded.sent.lock();
        assert!(
            sent.iter()
                .all(|(stream, _)| *stream == OutputStream::Output)
        );
        let text: Vec<u8> = sent.iter().flat_map(|(_, bytes)| bytes.clone()).collect();
        assert_eq!(text, b"out\nerr\n");
    }

    #[test]
    fn a_call_that_is_to_end_does_not_wait_for_a_program() {
        let stop = Interrupt::default();
        stop.raise();
        let streams = Streams::of_client(Arc::new(Recorded::default())).until(&stop);
        let error = streams.run(&mut shell("sleep 1")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
    }

    #[test]
    fn input_ends_with_an_empty_piece() {
        let recorded = Recorded::default();
        *recorded.input.lock() = vec![
            b"late".to_vec(),
            Vec::new(),
            b"two".to_vec(),
            b"one ".to_vec(),
        ];
        let mut text = String::new();
        let streams = Streams::of_client(Arc::new(recorded));
        streams.input().read_to_string(&mut text).unwrap();
        assert_eq!(text, "one two");
    }
}
