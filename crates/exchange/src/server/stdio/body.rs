//! A bundle in pieces, each behind its length; a length of 0 ends it.

use super::frames::Frames;
use crate::ExchangeError;
use std::io::{self, BufRead, Read};

/// Reads the pieces as one stream. After an error nothing more comes.
pub(super) struct ChunkedBody<'a, R> {
    frames: &'a mut Frames<R>,
    /// Bytes of this piece that are still to come.
    left: u64,
    ended: bool,
    broken: bool,
}

impl<'a, R: BufRead> ChunkedBody<'a, R> {
    pub(super) fn new(frames: &'a mut Frames<R>) -> Self {
        ChunkedBody {
            frames,
            left: 0,
            ended: false,
            broken: false,
        }
    }

    fn next_chunk(&mut self) -> io::Result<()> {
        if self.broken {
            return Err(io::ErrorKind::InvalidData.into());
        }
        // The bytes behind a malformed length cannot be told from one.
        self.broken = true;
        self.left = self.frames.chunk().map_err(|error| match error {
            ExchangeError::Read(error) => error,
            other => io::Error::new(io::ErrorKind::InvalidData, other),
        })?;
        self.broken = false;
        self.ended = self.left == 0;
        Ok(())
    }
}

impl<R: BufRead> Read for ChunkedBody<'_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        if bytes.is_empty() || self.ended {
            return Ok(0);
        }
        if self.left == 0 {
            self.next_chunk()?;
            if self.ended {
                return Ok(0);
            }
        }
        let room = usize::try_from(self.left).map_or(bytes.len(), |left| left.min(bytes.len()));
        let read = self.frames.input().read(&mut bytes[..room])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read as u64;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> (Vec<u8>, bool, usize) {
        let mut rest = bytes;
        let mut frames = Frames::new(&mut rest);
        let mut all = Vec::new();
        let done = ChunkedBody::new(&mut frames).read_to_end(&mut all);
        (all, done.is_ok(), rest.len())
    }

    #[test]
    fn pieces_become_one_stream() {
        let (all, is_whole, rest) = read(b"3\nabc1\nd0\nheads\n");
        assert_eq!((&all[..], is_whole, rest), (&b"abcd"[..], true, 6));
        assert_eq!(read(b"0\n"), (Vec::new(), true, 0));
    }

    #[test]
    fn a_cut_is_no_end() {
        for bad in [
            &b""[..],
            b"3\nab",
            b"3\nabc",
            b"x\nabc",
            b"3",
            b"-1\nabc0\n",
        ] {
            assert!(!read(bad).1, "{:?}", String::from_utf8_lossy(bad));
        }
        assert!(!read(b"18446744073709551615\nabc").1);
    }
}
