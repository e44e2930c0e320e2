//! Commands of the wire protocol one after another over a pair of streams, as ssh connects them.
//!
//! ```text
//! client                              server
//! hello \n                        →   length \n bytes
//! lookup \n key 3 \n tip          →   length \n bytes
//! getbundle \n * 2 \n …           →   bytes: a bundle says itself where it ends
//! unbundle \n heads 40 \n …       →   0 \n, or an error about the heads
//! 4096 \n bytes … 0 \n            →   a bundle2, or 0 \n length \n number
//! anything else \n                →   0 \n
//! \n                              the end
//! ```
//! Output of a command goes to the standard error, and so does the error of a bad request, which
//! ends the connection.
//!
//! Source: Mercurial `helptext/internals/wireprotocol.txt`, and the answers of its server.

mod body;
mod frames;

use crate::format::commands::{AnswerForm, known};
use crate::format::media_types::TYPE_ERROR;
use crate::server::unbundle::PushHandler;
use crate::server::wire::{
    ClientMedia, ReadHooks, WireRequest, WireResponse, WireSettings, respond,
};
use crate::{ChunkSink, ExchangeError, SinkClosed};
use body::ChunkedBody;
use frames::Frames;
use std::fmt;
use std::io::{self, BufRead, Write};

/// Answers the commands of one client, until it sends none.
#[derive(Clone, Copy)]
pub struct StdioServer<'a> {
    /// Receives pushes; reads are answered from the same repository.
    pub handler: PushHandler<'a>,
    /// Configuration of the answers.
    pub settings: &'a WireSettings,
    /// Called before and after reads.
    pub read_hooks: &'a ReadHooks,
}

impl fmt::Debug for StdioServer<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioServer")
            .field("handler", &self.handler)
            .finish_non_exhaustive()
    }
}

impl StdioServer<'_> {
    /// Answers all that comes.
    ///
    /// # Errors
    /// Errors of the client, of this side, a connection that breaks in the middle of a
    /// request. The last answer may be cut then.
    pub fn serve(
        &self,
        input: impl BufRead + Send,
        mut output: impl Write,
    ) -> Result<(), ExchangeError> {
        let mut frames = Frames::new(input);
        let mut media = ClientMedia::bare();
        while let Some(name) = frames.command()? {
            match known(&name) {
                Some((name, parameters, form)) => {
                    let request = WireRequest {
                        command: (*name).to_owned(),
                        args: frames.arguments(parameters)?,
                        accepts: media.clone(),
                    };
                    if request.command == "protocaps" {
                        media = ClientMedia::bare_with(request.get("caps").unwrap_or_default());
                    }
                    self.answer(&request, *form, &mut frames, &mut output)?;
                }
                // Newer clients ask for more than there is, and expect this.
                None => framed(b"", &mut output)?,
            }
            output.flush().map_err(ExchangeError::Write)?;
        }
        Ok(())
    }

    fn answer(
        &self,
        request: &WireRequest,
        form: AnswerForm,
        frames: &mut Frames<impl BufRead + Send>,
        output: &mut impl Write,
    ) -> Result<(), ExchangeError> {
        let response = match request.command.as_str() {
            "protocaps" => return framed(b"OK", output),
            "unbundle" => return self.receive_push(request, frames, output),
            "pushkey" => self.handler.pushkey(request)?,
            _ => {
                let repository = self.handler.repository;
                respond(repository, request, self.settings, self.read_hooks)?
            }
        };
        match response {
            WireResponse::Whole {
                content_type: TYPE_ERROR,
                body,
            } => Err(ExchangeError::RemoteAbort {
                message: String::from_utf8_lossy(&body).trim_end().to_owned(),
                hint: None,
            }),
            WireResponse::Whole { body, .. } if form == AnswerForm::Framed => framed(&body, output),
            WireResponse::Whole { body, .. } => output.write_all(&body).map_err(gone),
            WireResponse::Stream { body, .. } => body.send(&mut Out(output)),
        }
    }

    /// Receives a bundle.
    fn receive_push(
        &self,
        request: &WireRequest,
        frames: &mut Frames<impl BufRead + Send>,
        output: &mut impl Write,
    ) -> Result<(), ExchangeError> {
        if let Some(words) = self.handler.objection(request)? {
            return framed(words.trim_end().as_bytes(), output);
        }
        framed(b"", output)?;
        output.flush().map_err(gone)?;
        let response = self.handler.unbundle(request, ChunkedBody::new(frames))?;
        let body = match response {
            WireResponse::Whole { body, .. } => body,
            WireResponse::Stream { body, .. } => return body.send(&mut Out(output)),
        };
        if body.starts_with(b"HG20") {
            return output.write_all(&body).map_err(gone);
        }
        // Behind the number are words, which have been said already.
        let number = body.split(|byte| *byte == b'\n').next().unwrap_or_default();
        framed(b"", output)?;
        framed(number, output)
    }
}

fn framed(bytes: &[u8], output: &mut impl Write) -> Result<(), ExchangeError> {
    let length = format!("{}\n", bytes.len());
    let written = output.write_all(length.as_bytes());
    written.and_then(|()| output.write_all(bytes)).map_err(gone)
}

fn gone(_error: io::Error) -> ExchangeError {
    ExchangeError::Closed(SinkClosed)
}

/// Hands the buffers of a long answer on.
struct Out<'a, W>(&'a mut W);

impl<W: Write> ChunkSink for Out<'_, W> {
    fn send(&mut self, bytes: Vec<u8>) -> Result<(), SinkClosed> {
        self.0.write_all(&bytes).map_err(|_| SinkClosed)
    }
}

/// Reads bytes as a client's side of a conversation, for fuzzing: never more than there are bytes.
pub(crate) fn read_all(bytes: &[u8]) -> Result<usize, ExchangeError> {
    let mut frames = Frames::new(bytes);
    let mut read = 0;
    while let Some(name) = frames.command()? {
        let Some((_, parameters, form)) = known(&name) else {
            continue;
        };
        let arguments = frames.arguments(parameters)?;
        read += arguments
            .iter()
            .map(|(key, value)| key.len() + value.len())
            .sum::<usize>();
        if *form == AnswerForm::Push {
            let mut body = ChunkedBody::new(&mut frames);
            let copied = io::copy(&mut body, &mut io::sink());
            read += copied.map_err(ExchangeError::Read)? as usize;
        }
    }
    Ok(read)
}
