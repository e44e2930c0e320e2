//! A program with pipes to its three streams, all of which are looked after by one thread: lines of
//! the standard error are printed before later output of the standard output.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use std::io::{self, BufRead, Read, Write};
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};

/// Bytes that a pipe takes without waiting, if it takes any.
const PIECE: usize = 4096;
/// Bytes that are read at once.
const BUFFER: usize = 64 << 10;
/// Bytes of a line of the standard error.
const MAX_LINE: usize = 64 << 10;
/// Lines of it that are kept.
const MOST_EARLY: usize = 500;

/// Gets the lines of the other side's standard error.
pub type StderrListener = Box<dyn Fn(&[u8]) + Send>;

/// The program and the pipes.
pub(super) struct Pipes {
    child: Child,
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    words: Option<ChildStderr>,
    /// The beginning of a line.
    line: Vec<u8>,
    listener: StderrListener,
    /// Lines that the program wrote before it was clear that a repository answers.
    early: Option<Vec<Vec<u8>>>,
    buffer: Vec<u8>,
    read: usize,
}

impl Pipes {
    pub(super) fn start(line: &str, listener: StderrListener) -> io::Result<Pipes> {
        let mut command = Command::new("/bin/sh");
        command.arg("-c").arg(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        Ok(Pipes {
            input: child.stdin.take(),
            output: child.stdout.take(),
            words: child.stderr.take(),
            child,
            line: Vec::new(),
            listener,
            early: Some(Vec::new()),
            buffer: Vec::new(),
            read: 0,
        })
    }

    /// Waits until the output can be read, or the input written to, and passes on error lines.
    fn wait(&mut self, writing: bool) -> io::Result<()> {
        loop {
            let mut fds = Vec::with_capacity(2);
            match (writing, &self.input, &self.output) {
                (true, Some(input), _) => fds.push(PollFd::new(input, PollFlags::OUT)),
                (false, _, Some(output)) => fds.push(PollFd::new(output, PollFlags::IN)),
                _ => return Err(io::ErrorKind::BrokenPipe.into()),
            }
            if let Some(words) = &self.words {
                fds.push(PollFd::new(words, PollFlags::IN));
            }
            match poll(&mut fds, None) {
                Err(Errno::INTR) => continue,
                other => other?,
            };
            let is_ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
            let (ready, said) = (is_ready(0), is_ready(1));
            match said {
                true => self.hear()?,
                false if ready => return Ok(()),
                false => {}
            }
        }
    }

    /// Passes on error lines.
    fn hear(&mut self) -> io::Result<()> {
        let mut bytes = [0; PIECE];
        let read = match &mut self.words {
            Some(words) => words.read(&mut bytes)?,
            None => 0,
        };
        if read == 0 {
            self.words = None;
        }
        for piece in bytes[..read].split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(piece);
            if piece.ends_with(b"\n") || self.line.len() > MAX_LINE {
                self.report();
            }
        }
        if read == 0 && !self.line.is_empty() {
            self.report();
        }
        Ok(())
    }

    fn report(&mut self) {
        let mut line = std::mem::take(&mut self.line);
        line.truncate(line.strip_suffix(b"\n").map_or(line.len(), <[u8]>::len));
        match &mut self.early {
            Some(early) if early.len() < MOST_EARLY => early.push(line),
            _ => (self.listener)(&line),
        }
    }

    /// A repository answers: passes on the early lines, and later ones at once.
    pub(super) fn greeted(&mut self) {
        for line in self.early.take().into_iter().flatten() {
            (self.listener)(&line);
        }
    }

    /// No repository answers: lets the program end, and gives its early lines.
    pub(super) fn failed(&mut self) -> Vec<Vec<u8>> {
        self.input = None;
        self.output = None;
        self.hear_all();
        self.early.take().unwrap_or_default()
    }

    /// Passes on all that is still said.
    pub(super) fn hear_all(&mut self) {
        while self.words.is_some() {
            if self.hear().is_err() {
                self.words = None;
            }
        }
    }
}

impl Write for Pipes {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait(true)?;
        match &mut self.input {
            Some(input) => input.write(&bytes[..bytes.len().min(PIECE)]),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl BufRead for Pipes {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.read == self.buffer.len() {
            self.wait(false)?;
            self.read = 0;
            self.buffer.resize(BUFFER, 0);
            let read = match &mut self.output {
                Some(output) => output.read(&mut self.buffer),
                None => Ok(0),
            };
            self.buffer.truncate(*read.as_ref().unwrap_or(&0));
            read?;
        }
        Ok(&self.buffer[self.read..])
    }

    fn consume(&mut self, bytes: usize) {
        self.read = (self.read + bytes).min(self.buffer.len());
    }
}

impl Read for Pipes {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(bytes)?;
        self.consume(read);
        Ok(read)
    }
}

impl Drop for Pipes {
    /// Lets the program end, and waits until it has.
    fn drop(&mut self) {
        self.input = None;
        self.output = None;
        self.hear_all();
        // Nothing is left to do if it is gone already.
        let _ = self.child.wait();
    }
}
