//! A repository on this machine, asked like any other, but without a connection.

use crate::ExchangeError;
use crate::client::peer::{PeerArgs, Transport};
use crate::format::media_types::TYPE_ERROR;
use crate::server::wire::{
    ClientMedia, ReadHooks, WireRequest, WireResponse, WireSettings, respond,
};
use crate::{ChunkSink, SinkClosed, Spool};
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use varve_repo::Repository;

/// Buffers that an answer may be ahead of its reader; each is at most some megabytes.
const QUEUED_BUFFERS: usize = 4;

/// Asks a repository on this machine.
pub struct LocalPeer {
    repository: Repository,
    settings: WireSettings,
    hooks: ReadHooks,
}

impl LocalPeer {
    /// `settings` are those that the repository's own configuration makes.
    pub fn new(repository: Repository, settings: WireSettings) -> LocalPeer {
        LocalPeer {
            repository,
            settings,
            hooks: ReadHooks::default(),
        }
    }

    /// The same with hooks of the repository about what is read of it.
    pub fn with_hooks(self, hooks: ReadHooks) -> LocalPeer {
        LocalPeer { hooks, ..self }
    }

    fn ask(&self, command: &str, args: PeerArgs<'_>) -> Result<WireResponse, ExchangeError> {
        let args = args
            .iter()
            .map(|(name, value)| (name.as_bytes().to_vec(), value.clone()));
        let request = WireRequest {
            command: command.to_owned(),
            args: args.collect(),
            accepts: ClientMedia::bare(),
        };
        match respond(&self.repository, &request, &self.settings, &self.hooks)? {
            WireResponse::Whole {
                content_type: TYPE_ERROR,
                body,
            } => Err(ExchangeError::RemoteAbort {
                message: String::from_utf8_lossy(&body).trim_end().to_owned(),
                hint: None,
            }),
            response => Ok(response),
        }
    }
}

impl Transport for LocalPeer {
    fn is_remote(&self) -> bool {
        false
    }

    fn call(&mut self, command: &str, args: PeerArgs<'_>) -> Result<Vec<u8>, ExchangeError> {
        match self.ask(command, args)? {
            WireResponse::Whole { body, .. } => Ok(body),
            WireResponse::Stream { body, .. } => {
                let mut bytes = Vec::new();
                body.send(&mut bytes)?;
                Ok(bytes)
            }
        }
    }

    fn stream(
        &mut self,
        command: &str,
        args: PeerArgs<'_>,
    ) -> Result<Box<dyn Read + Send>, ExchangeError> {
        let body = match self.ask(command, args)? {
            WireResponse::Whole { body, .. } => return Ok(Box::new(io::Cursor::new(body))),
            WireResponse::Stream { body, .. } => body,
        };
        if self.hooks.has_outgoing() {
            // The output of the hook goes to the same terminal as that of the reader, and comes first.
            let mut sink = SpoolSink::default();
            let sent = body.send(&mut sink);
            if let Some(error) = sink.failed {
                return Err(ExchangeError::Write(error));
            }
            sent?;
            sink.spool.rewind().map_err(ExchangeError::Read)?;
            return Ok(Box::new(sink.spool));
        }
        let (sender, receiver) = sync_channel(QUEUED_BUFFERS);
        thread::spawn(move || {
            let mut sink = Sender(sender);
            if let Err(error) = body.send(&mut sink) {
                // Without a reader there is no one to report to.
                let _ = sink.0.send(Err(io::Error::other(error)));
            }
        });
        Ok(Box::new(Answer {
            receiver,
            buffer: Vec::new(),
            read: 0,
        }))
    }
}

/// Keeps an answer, up to an error of the spool.
#[derive(Default)]
struct SpoolSink {
    spool: Spool,
    failed: Option<io::Error>,
}

impl ChunkSink for SpoolSink {
    fn send(&mut self, bytes: Vec<u8>) -> Result<(), SinkClosed> {
        let written = self.spool.write_all(&bytes);
        written.map_err(|error| {
            self.failed = Some(error);
            SinkClosed
        })
    }
}

struct Sender(SyncSender<io::Result<Vec<u8>>>);

impl ChunkSink for Sender {
    fn send(&mut self, bytes: Vec<u8>) -> Result<(), SinkClosed> {
        self.0.send(Ok(bytes)).map_err(|_| SinkClosed)
    }
}

/// Reads the answer that another thread makes.
struct Answer {
    receiver: Receiver<io::Result<Vec<u8>>>,
    buffer: Vec<u8>,
    read: usize,
}

impl Read for Answer {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        while self.read == self.buffer.len() {
            match self.receiver.recv() {
                Ok(next) => self.buffer = next?,
                Err(_) => return Ok(0),
            }
            self.read = 0;
        }
        let rest = &self.buffer[self.read..];
        let len = rest.len().min(bytes.len());
        bytes[..len].copy_from_slice(&rest[..len]);
        self.read += len;
        Ok(len)
    }
}
