//! Commands over ssh: one program at the other end of pipes for all of them, see
//! [`crate::server::stdio`] for the form.

mod address;
mod pipes;

pub use pipes::StderrListener;

use super::{PeerArgs, Transport};
use crate::ExchangeError;
use crate::Spool;
use crate::format::commands::parameters;
use address::SshAction;
use parking_lot::{Mutex, MutexGuard};
use pipes::Pipes;
use std::io::{self, BufRead, Read, Write};
use std::process::Command;
use std::sync::Arc;

/// Bytes of a short answer; the heads, names and keys of large repositories need some megabytes.
const SHORT: u64 = 256 << 20;
/// Bytes of a line, of which the longest has the server's capabilities.
const MAX_LINE: u64 = 1 << 20;
/// Lines that a machine may greet with before the server says its first word.
const GREETING: usize = 500;
/// Bytes of one piece of a bundle.
const PIECE: usize = 32 << 10;

/// The first request of every client: its answer, one empty line, shows that all before has been read.
const HELLO: &[u8] = b"hello\nbetween\npairs 81\n\
    0000000000000000000000000000000000000000-0000000000000000000000000000000000000000";

/// A repository behind ssh.
pub struct SshPeer {
    pipes: Arc<Mutex<Pipes>>,
    capabilities: Vec<u8>,
}

impl SshPeer {
    /// Starts the program `there` of the machine that a URL names, by way of the program `ssh`. Each
    /// step until a repository has answered is passed to `debug`, in Mercurial's words.
    ///
    /// # Errors
    /// The URL cannot be used; no repository answers.
    pub fn connect(
        url: &str,
        (ssh, there): (&str, &str),
        listener: StderrListener,
        debug: &mut dyn FnMut(&[u8]),
    ) -> Result<SshPeer, ExchangeError> {
        let line = address::line(url, (ssh, there), SshAction::Serve)?;
        debug(format!("running {line}\n").as_bytes());
        let mut pipes = Pipes::start(&line, listener).map_err(ExchangeError::Broken)?;
        let Some(capabilities) = greet(&mut pipes, debug) else {
            let said = pipes.failed();
            return Err(ExchangeError::NoSuitableResponse { said });
        };
        pipes.greeted();
        Ok(SshPeer {
            pipes: Arc::new(Mutex::new(pipes)),
            capabilities,
        })
    }

    /// Has the program `there` make a repository at a URL. Its output goes to that of this process.
    ///
    /// # Errors
    /// The URL cannot be used; [`ExchangeError::NotCreated`].
    pub fn create(url: &str, (ssh, there): (&str, &str)) -> Result<(), ExchangeError> {
        let line = address::line(url, (ssh, there), SshAction::Create)?;
        let made = Command::new("/bin/sh").arg("-c").arg(line).status();
        match made.map_err(ExchangeError::Broken)?.success() {
            true => Ok(()),
            false => Err(ExchangeError::NotCreated),
        }
    }

    fn send(&self, command: &str, args: PeerArgs<'_>) -> Result<(), ExchangeError> {
        let sent = lock(&self.pipes).write_all(&encoded(command, args));
        sent.map_err(ExchangeError::Broken)
    }
}

fn lock(pipes: &Mutex<Pipes>) -> MutexGuard<'_, Pipes> {
    pipes.lock()
}

/// The first exchange with the other side; gives its capabilities.
fn greet(pipes: &mut Pipes, debug: &mut dyn FnMut(&[u8])) -> Option<Vec<u8>> {
    debug(b"sending hello command\nsending between command\n");
    // A failed write means that no answer will come either.
    let sent = pipes.write_all(HELLO);
    let mut capabilities = Vec::new();
    let mut was_one = false;
    for _ in 0..GREETING {
        let line = match line(pipes) {
            Ok(Some(line)) if sent.is_ok() => line,
            _ => break,
        };
        if was_one && line.is_empty() {
            return Some(capabilities);
        }
        debug(&[b"remote: ", &line[..], b"\n"].concat());
        was_one = line == b"1";
        if let Some(words) = line.strip_prefix(b"capabilities:") {
            capabilities = words.to_vec();
        }
    }
    None
}

/// A line without its end; none where the stream ends.
fn line(pipes: &mut Pipes) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    pipes.take(MAX_LINE).read_until(b'\n', &mut line)?;
    Ok((line.pop() == Some(b'\n')).then_some(line))
}

/// A short answer, behind its length.
fn framed(pipes: &mut Pipes) -> Result<Vec<u8>, ExchangeError> {
    let length = line(pipes).map_err(ExchangeError::Broken)?;
    let digits = length
        .as_deref()
        .and_then(|line| std::str::from_utf8(line).ok());
    let length = digits.and_then(|digits| digits.parse::<u64>().ok());
    let Some(length) = length.filter(|length| *length <= SHORT) else {
        let answer = digits.unwrap_or_default().get(..100).or(digits);
        return Err(ExchangeError::NoAnswer(
            answer.unwrap_or_default().to_owned(),
        ));
    };
    let mut bytes = Vec::new();
    let read = pipes.take(length).read_to_end(&mut bytes);
    read.map_err(ExchangeError::Broken)?;
    match bytes.len() as u64 == length {
        true => Ok(bytes),
        false => Err(ExchangeError::Broken(io::ErrorKind::UnexpectedEof.into())),
    }
}

/// A command as it is sent.
fn encoded(command: &str, args: PeerArgs<'_>) -> Vec<u8> {
    let mut out = format!("{command}\n").into_bytes();
    let named = parameters(command);
    let pair = |out: &mut Vec<u8>, name: &str, value: &[u8]| {
        out.extend_from_slice(format!("{name} {}\n", value.len()).as_bytes());
        out.extend_from_slice(value);
    };
    for name in named.iter().filter(|name| **name != "*") {
        let value = args.iter().find(|(key, _)| key == name);
        pair(&mut out, name, value.map_or(&[], |(_, value)| value));
    }
    if named.contains(&"*") {
        let others = || args.iter().filter(|(key, _)| !named.contains(key));
        out.extend_from_slice(format!("* {}\n", others().count()).as_bytes());
        for (name, value) in others() {
            pair(&mut out, name, value);
        }
    }
    out
}

impl Transport for SshPeer {
    fn call(&mut self, command: &str, args: PeerArgs<'_>) -> Result<Vec<u8>, ExchangeError> {
        if command == "capabilities" {
            return Ok(self.capabilities.clone());
        }
        self.send(command, args)?;
        framed(&mut lock(&self.pipes))
    }

    fn stream(
        &mut self,
        command: &str,
        args: PeerArgs<'_>,
    ) -> Result<Box<dyn Read + Send>, ExchangeError> {
        self.send(command, args)?;
        Ok(Box::new(Answer(Arc::clone(&self.pipes))))
    }

    fn unbundle(&mut self, bundle: &mut Spool) -> Result<Box<dyn Read + Send>, ExchangeError> {
        // Parts of the bundle check the state of the other side instead.
        self.send("unbundle", &[("heads", b"666f726365".to_vec())])?;
        bundle.rewind().map_err(ExchangeError::Write)?;
        {
            let mut pipes = lock(&self.pipes);
            let objection = framed(&mut pipes)?;
            if !objection.is_empty() {
                let words = String::from_utf8_lossy(&objection).into_owned();
                return Err(ExchangeError::PushRaced(words));
            }
            let mut piece = vec![0; PIECE];
            loop {
                let read = bundle.read(&mut piece).map_err(ExchangeError::Read)?;
                let length = format!("{read}\n");
                let sent = pipes.write_all(length.as_bytes());
                let sent = sent.and_then(|()| pipes.write_all(&piece[..read]));
                sent.map_err(ExchangeError::Broken)?;
                if read == 0 {
                    break;
                }
            }
        }
        Ok(Box::new(Answer(Arc::clone(&self.pipes))))
    }
}

/// An answer that says itself where it ends.
struct Answer(Arc<Mutex<Pipes>>);

impl Read for Answer {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        lock(&self.0).read(bytes)
    }
}
