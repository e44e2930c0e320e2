//! Messages of a client of the command server: requests, and answers to questions for input.
//!
//! ```text
//! request: name '\n' [ arguments, only of runcommand ]
//! arguments, answer:
//! +-------------------+---------+
//! | length, 4 bytes   | content |
//! +-------------------+---------+
//! ```
//! Lengths are big-endian. Arguments have a zero byte between each other.

use std::io::{self, BufRead, Read};

/// Bytes of a request's name, at most; the known ones are much shorter.
const LONGEST_NAME: u64 = 1 << 10;
/// Bytes of a call's arguments or of an answer, at most.
const LONGEST_BLOCK: u32 = 64 << 20;

/// A request that can be answered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// Runs a command with these arguments.
    RunCommand(Vec<Vec<u8>>),
    /// Asks for the encoding of arguments and output.
    GetEncoding,
}

/// Bytes that are no request.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// The client asks for something else.
    #[error("unknown command {0}")]
    Unknown(String),
    /// The input ends within a request.
    #[error("incomplete request from the client")]
    Incomplete,
    /// A block is longer than any that a client needs.
    #[error("a block of {0} bytes from the client is too long")]
    TooLong(u32),
    /// The input cannot be read.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Reads a request; `None` at the end of the input.
pub(crate) fn read(input: &mut dyn BufRead) -> Result<Option<Request>, RequestError> {
    let mut name = Vec::new();
    input.take(LONGEST_NAME).read_until(b'\n', &mut name)?;
    if name.pop_if(|last| *last == b'\n').is_none() && name.is_empty() {
        return Ok(None);
    }
    match &name[..] {
        b"runcommand" => Ok(Some(Request::RunCommand(arguments(&read_block(input)?)))),
        b"getencoding" => Ok(Some(Request::GetEncoding)),
        _ => {
            let name = String::from_utf8_lossy(&name).into_owned();
            Err(RequestError::Unknown(name))
        }
    }
}

/// Reads a length and as many bytes.
pub(crate) fn read_block(input: &mut dyn BufRead) -> Result<Vec<u8>, RequestError> {
    let mut length = [0; 4];
    input.read_exact(&mut length).map_err(ended)?;
    let length = u32::from_be_bytes(length);
    if length > LONGEST_BLOCK {
        return Err(RequestError::TooLong(length));
    }
    let mut block = Vec::new();
    // Memory grows with the bytes that come.
    input.take(u64::from(length)).read_to_end(&mut block)?;
    match u32::try_from(block.len()) {
        Ok(read) if read == length => Ok(block),
        _ => Err(RequestError::Incomplete),
    }
}

fn ended(error: io::Error) -> RequestError {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => RequestError::Incomplete,
        _ => RequestError::Io(error),
    }
}

fn arguments(block: &[u8]) -> Vec<Vec<u8>> {
    match block {
        [] => Vec::new(),
        _ => block.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(words: &[u8]) -> Vec<u8> {
        let length = u32::try_from(words.len()).unwrap().to_be_bytes();
        [b"runcommand\n", &length[..], words].concat()
    }

    #[test]
    fn requests_follow_each_other() {
        let bytes = [&call(b"log\0-l\x001\0")[..], b"getencoding\n", &call(b"")].concat();
        let mut input = &bytes[..];
        let words = [&b"log"[..], b"-l", b"1", b""].map(<[u8]>::to_vec);
        assert_eq!(
            read(&mut input).unwrap(),
            Some(Request::RunCommand(words.to_vec()))
        );
        assert_eq!(read(&mut input).unwrap(), Some(Request::GetEncoding));
        assert_eq!(
            read(&mut input).unwrap(),
            Some(Request::RunCommand(Vec::new()))
        );
        assert_eq!(read(&mut input).unwrap(), None);
    }

    #[test]
    fn what_is_no_request_is_refused_by_name() {
        let words = |mut bytes: &[u8]| read(&mut bytes).unwrap_err().to_string();
        assert_eq!(words(b"attachio\n"), "unknown command attachio");
        assert_eq!(words(b"runcommand"), "incomplete request from the client");
        assert_eq!(
            words(&call(b"whole")[..16]),
            "incomplete request from the client"
        );
        let claims = [&b"runcommand\n"[..], &[0xff; 4]].concat();
        assert_eq!(
            words(&claims),
            "a block of 4294967295 bytes from the client is too long"
        );
        let endless = vec![b'x'; 5000];
        assert_eq!(words(&endless).len(), "unknown command ".len() + 1024);
    }
}
