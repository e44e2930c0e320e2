//! The terminal side of one command: its output, prompts and progress.

use crate::ui::encoding::LocalEncoding;
use crate::ui::paint::Painter;
use crate::ui::progress::{ProgressSettings, TerminalProgress};
use crate::ui::signals::Guard;
use crate::ui::{Abort, Streams, environment};
use parking_lot::Mutex;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::time::Instant;
use varve_base::{Interrupt, Progress, Silent};
use varve_config::hgrc::Hgrc;
use varve_exchange::client::peer::{Remote, Traffic};
use varve_repo::Node;

/// Bytes of output that are collected before the system is called.
const OUTPUT_BUFFER: usize = 64 << 10;
/// Digits of a node that are shown.
const SHORT: usize = 12;

/// How much a command prints.
#[derive(Clone, Copy, Debug, Default)]
pub struct Verbosity {
    /// `-q`, unless `-v` or `--debug` is given too.
    pub quiet: bool,
    /// `-v` or `--debug`.
    pub verbose: bool,
    /// `--debug`.
    pub debug: bool,
}

impl Verbosity {
    /// The word for it in templates; empty for the usual one.
    pub(crate) fn name(self) -> &'static str {
        match (self.debug, self.quiet, self.verbose) {
            (true, _, _) => "debug",
            (_, true, _) => "quiet",
            (_, _, true) => "verbose",
            _ => "",
        }
    }
}

/// Output, prompts, progress and interruption of one command.
pub struct Ui {
    /// Results; everything else goes to standard error through [`Ui::warn`].
    pub out: BufWriter<Box<dyn Write>>,
    /// The streams of the call.
    pub streams: Streams,
    /// How much is printed.
    pub verbosity: Verbosity,
    /// Set by `--noninteractive`: every question gets its default answer.
    pub unattended: bool,
    /// Receives how far long steps are.
    pub progress: Box<dyn Progress>,
    /// Raised when the user wants the command to stop.
    pub stop: Interrupt,
    /// Decides how a signal may end the command.
    pub guard: Guard,
    /// The encoding of the terminal.
    pub encoding: LocalEncoding,
    /// Shows labels of output.
    pub painter: Painter,
    /// Set while hooks or programs may print too, so that their lines and these keep their order.
    pub unbuffered: bool,
    /// When the first file of a stream clone arrived.
    pub transfer_began: Option<Instant>,
    /// Counters of the HTTP connections of which nothing has been printed yet.
    pub traffic: Vec<Traffic>,
    /// The debugging trace of connections that is not printed yet.
    peer_trace: Arc<Mutex<Vec<u8>>>,
    /// Holds `[ui]`.
    pub(crate) config: Arc<Hgrc>,
}

impl Ui {
    /// Writes to `streams`.
    pub(crate) fn new(streams: &Streams) -> Ui {
        let stop = Interrupt::default();
        let streams = streams.until(&stop);
        Ui {
            out: BufWriter::with_capacity(OUTPUT_BUFFER, streams.out()),
            streams,
            verbosity: Verbosity::default(),
            unattended: false,
            progress: Box::new(Silent),
            stop,
            guard: Guard::default(),
            encoding: LocalEncoding::default(),
            painter: Painter::default(),
            unbuffered: false,
            transfer_began: None,
            traffic: Vec::new(),
            peer_trace: Arc::default(),
            config: Arc::default(),
        }
    }

    /// Shows progress as `[progress]` says it, which depends on the verbosity.
    pub(crate) fn show_progress(&mut self, config: &Hgrc) -> Result<(), Abort> {
        let has_terminal = self.streams.has_terminal_errors();
        let settings = ProgressSettings::of(config, self.verbosity, has_terminal)?;
        let is_traced = self.verbosity.debug && config.boolean("progress", "debug", false)?;
        let trace = is_traced.then(|| Arc::clone(&self.peer_trace));
        if !self.streams.are_channels() || is_traced {
            let line = Arc::clone(self.streams.progress_line());
            let drawn = settings.filter(|_| !self.streams.are_channels());
            self.progress = Box::new(TerminalProgress::new(drawn, trace, line));
        }
        Ok(())
    }

    /// Output for another repository of the same call: as verbose, stopped by the same interrupt and signals,
    /// and written line by line.
    pub(crate) fn beside(&self) -> Ui {
        Ui {
            verbosity: self.verbosity,
            unattended: self.unattended,
            encoding: self.encoding,
            painter: self.painter.clone(),
            stop: self.stop.clone(),
            guard: self.guard.clone(),
            unbuffered: true,
            out: BufWriter::with_capacity(OUTPUT_BUFFER, self.streams.out()),
            streams: self.streams.clone(),
            ..Ui::new(&self.streams)
        }
    }

    /// Keeps the trace of a connection with `--verbose`, and that of its requests with `--debug`; it is printed before
    /// the next output.
    pub fn trace(&self, remote: &mut Remote) {
        if !self.verbosity.verbose {
            return;
        }
        let trace = Arc::clone(&self.peer_trace);
        remote.set_listener(Box::new(move |words| {
            let mut trace = trace.lock();
            trace.extend_from_slice(words.as_bytes());
        }));
        if self.verbosity.debug {
            remote.trace_requests();
            // A value that is no boolean was refused when the command began.
            if matches!(self.config.boolean("progress", "debug", false), Ok(true)) {
                remote.trace_progress();
            }
        }
    }

    /// Takes the traces of connections since the last output, which are not printed then.
    pub(crate) fn take_peer_trace(&mut self) -> Vec<u8> {
        std::mem::take(&mut *self.peer_trace.lock())
    }

    /// Prints the traces of connections since the last output.
    pub fn print_peer_trace(&mut self) -> io::Result<()> {
        let mut trace = self.peer_trace.lock();
        self.out.write_all(&std::mem::take(&mut *trace))
    }

    /// Prints with `--verbose` how much went over HTTP since the last time.
    pub fn print_traffic(&mut self) -> Result<(), Abort> {
        let all = std::mem::take(&mut self.traffic);
        if all.is_empty() {
            return Ok(());
        }
        let sum = |count: fn(&Traffic) -> u64| all.iter().map(count).sum::<u64>();
        let (requests, sent) = (sum(Traffic::requests), sum(Traffic::sent));
        let received = sum(Traffic::received);
        self.note(format!(
            "(sent {requests} HTTP requests and {sent} bytes; received {received} bytes in responses)\n"
        ))
    }

    /// Prints a result.
    pub fn write(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Abort> {
        self.print_peer_trace()?;
        self.stop_reading()?;
        // What stands above the line of progress has to be there before the line is drawn again.
        let has_progress = self.streams.progress_line().is_shown();
        self.out.write_all(bytes.as_ref())?;
        if self.unbuffered || has_progress {
            self.out.flush()?;
        }
        Ok(())
    }

    /// Prints unless `--quiet`.
    pub fn status(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Abort> {
        match self.verbosity.quiet {
            true => Ok(()),
            false => self.write_labelled(" ui.status", bytes),
        }
    }

    /// Prints with `--verbose`.
    pub fn note(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Abort> {
        match self.verbosity.verbose {
            true => self.write_labelled(" ui.note", bytes),
            false => Ok(()),
        }
    }

    /// Prints with `--debug`.
    pub fn debug(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Abort> {
        match self.verbosity.debug {
            true => self.write_labelled(" ui.debug", bytes),
            false => Ok(()),
        }
    }

    /// Mercurial's words for a transaction that a failure has undone.
    pub fn warn_of_rollback(&mut self) -> Result<(), Abort> {
        self.warn("transaction abort!\n")?;
        self.warn("rollback completed\n")
    }

    /// Prints to standard error, behind all output so far.
    pub fn warn(&mut self, bytes: impl AsRef<[u8]>) -> Result<(), Abort> {
        self.print_peer_trace()?;
        self.out.flush()?;
        // Nothing is left to do if even standard error is gone.
        let warning = self.painter.paint(" ui.warning", bytes.as_ref());
        let _ = self.streams.err().write_all(&warning);
        Ok(())
    }

    /// Ends a call of a command server's client that only reads, once a signal has come. The signal ends no process that
    /// answers further calls.
    fn stop_reading(&self) -> Result<(), Abort> {
        match self.guard.words() {
            Some(words) if self.streams.are_channels() && !self.guard.may_have_written() => {
                Err(Abort::Stopped(words))
            }
            _ => Ok(()),
        }
    }

    /// A node as it is shown: twelve digits, or all forty with `--debug`.
    pub fn hex(&self, node: &Node) -> String {
        let digits = node.to_hex();
        String::from_utf8_lossy(&digits[..self.node_digits()]).into_owned()
    }

    /// Digits of a node that is shown.
    pub fn node_digits(&self) -> usize {
        match self.verbosity.debug {
            true => 2 * Node::LEN,
            false => SHORT,
        }
    }

    /// The program that edits messages.
    pub fn editor(&self) -> Vec<u8> {
        let configured = || self.config.get("ui", "editor").map(<[u8]>::to_vec);
        let editor = environment::variable("HGEDITOR").or_else(configured);
        editor.unwrap_or_else(|| b"vi".to_vec())
    }
}

/// Twelve digits of a node.
pub fn short_hex(node: &Node) -> String {
    String::from_utf8_lossy(&node.to_hex()[..SHORT]).into_owned()
}
