//! Channels to the client: each block of output has a letter and a length, each question for input a letter and the
//! number of bytes that are wanted.

use super::request::{self, RequestError};
use crate::ui::streams::{Channels, OutputStream};
use parking_lot::Mutex;
use std::io::{self, BufRead, Write};

/// Bytes that a question for input asks for.
const WANTED: u32 = 4096;

const OUTPUT: u8 = b'o';
const ERROR: u8 = b'e';
/// The exit code of a command, or the answer to another request.
pub(super) const RESULT: u8 = b'r';
const LINE_WANTED: u8 = b'L';
const INPUT_WANTED: u8 = b'I';

/// The client's end of the protocol.
pub(super) struct Client {
    input: Mutex<Box<dyn BufRead + Send>>,
    output: Mutex<Box<dyn Write + Send>>,
}

impl Client {
    pub(super) fn new(input: Box<dyn BufRead + Send>, output: Box<dyn Write + Send>) -> Client {
        Client {
            input: Mutex::new(input),
            output: Mutex::new(output),
        }
    }

    /// Reads the next request; `None` if the client has gone.
    pub(super) fn request(&self) -> Result<Option<request::Request>, RequestError> {
        request::read(&mut **self.input.lock())
    }

    /// Sends the answer to a request.
    pub(super) fn answer(&self, content: &[u8]) -> io::Result<()> {
        self.send(RESULT, content)
    }

    /// Sends the first block, which says what the server can do.
    pub(super) fn greet(&self, hello: &str) -> io::Result<()> {
        self.send(OUTPUT, hello.as_bytes())
    }

    fn send(&self, channel: u8, content: &[u8]) -> io::Result<()> {
        let mut output = self.output.lock();
        // A length has four bytes.
        let most = usize::try_from(u32::MAX).unwrap_or(usize::MAX);
        let mut rest = content;
        loop {
            let (block, behind) = rest.split_at(rest.len().min(most));
            output.write_all(&[channel])?;
            output.write_all(&u32::try_from(block.len()).unwrap_or(u32::MAX).to_be_bytes())?;
            output.write_all(block)?;
            rest = behind;
            if rest.is_empty() {
                return output.flush();
            }
        }
    }

    fn ask(&self, channel: u8) -> io::Result<Vec<u8>> {
        {
            let mut output = self.output.lock();
            output.write_all(&[channel])?;
            output.write_all(&WANTED.to_be_bytes())?;
            output.flush()?;
        }
        let answer = request::read_block(&mut **self.input.lock());
        answer.map_err(|error| match error {
            RequestError::Io(error) => error,
            other => io::Error::new(io::ErrorKind::InvalidData, other),
        })
    }
}

impl Channels for Client {
    fn write(&self, stream: OutputStream, bytes: &[u8]) -> io::Result<()> {
        match stream {
            _ if bytes.is_empty() => Ok(()),
            OutputStream::Output => self.send(OUTPUT, bytes),
            OutputStream::Error => self.send(ERROR, bytes),
        }
    }

    fn read_line(&self) -> io::Result<Vec<u8>> {
        self.ask(LINE_WANTED)
    }

    fn read_some(&self) -> io::Result<Vec<u8>> {
        self.ask(INPUT_WANTED)
    }
}
