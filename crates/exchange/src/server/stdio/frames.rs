//! Names of commands and their arguments, out of a stream.
//!
//! ```text
//! name \n                          a command
//! key LENGTH \n bytes              an argument
//! * COUNT \n (key LENGTH \n bytes) …    those that a command takes besides
//! ```

use crate::ExchangeError;
use crate::format::commands::Parameters;
use crate::server::wire::{Args, MAX_ARGUMENT_BYTES, MAX_ARGUMENTS};
use std::io::{BufRead, Read};

/// Bytes of a line: a name, or a key with a number.
const MAX_LINE: u64 = 4096;

/// A stream of commands.
pub(super) struct Frames<R> {
    input: R,
}

impl<R: BufRead> Frames<R> {
    pub(super) fn new(input: R) -> Self {
        Frames { input }
    }

    /// The next command's name; none if the client says no more.
    pub(super) fn command(&mut self) -> Result<Option<Vec<u8>>, ExchangeError> {
        let name = self.line("command")?;
        Ok(name.filter(|name| !name.is_empty()))
    }

    /// The arguments of a command that takes these parameters.
    pub(super) fn arguments(&mut self, parameters: Parameters) -> Result<Args, ExchangeError> {
        let mut room = MAX_ARGUMENT_BYTES;
        let mut args = Args::new();
        for _ in parameters {
            let (key, number) = self.key_and_number()?;
            if !parameters.iter().any(|known| known.as_bytes() == key) {
                let key = String::from_utf8_lossy(&key);
                return Err(damaged(format!("unexpected parameter {key:?}")));
            }
            if key != b"*" {
                let value = self.value(number, &mut room)?;
                args.push((key, value));
                continue;
            }
            for _ in 0..number {
                if args.len() >= MAX_ARGUMENTS {
                    return Err(damaged(format!(
                        "it has more than {MAX_ARGUMENTS} arguments"
                    )));
                }
                let (key, len) = self.key_and_number()?;
                let value = self.value(len, &mut room)?;
                args.push((key, value));
            }
        }
        Ok(args)
    }

    /// The length of the next piece of a bundle.
    pub(super) fn chunk(&mut self) -> Result<u64, ExchangeError> {
        let line = self.line("length of a chunk")?;
        number(&line.ok_or_else(cut)?)
    }

    /// The input behind the lines.
    pub(super) fn input(&mut self) -> &mut R {
        &mut self.input
    }

    fn key_and_number(&mut self) -> Result<(Vec<u8>, u64), ExchangeError> {
        let line = self.line("argument")?.ok_or_else(cut)?;
        let blank = line.iter().position(|byte| *byte == b' ');
        let blank = blank.ok_or_else(|| {
            let line = String::from_utf8_lossy(&line);
            damaged(format!("argument {line:?} has no length"))
        })?;
        Ok((line[..blank].to_vec(), number(&line[blank + 1..])?))
    }

    /// Bytes of a value; memory grows as they arrive.
    fn value(&mut self, len: u64, room: &mut usize) -> Result<Vec<u8>, ExchangeError> {
        let fits = usize::try_from(len).ok().filter(|len| len <= room);
        let len = fits.ok_or(ExchangeError::TooLong {
            what: "arguments",
            found: usize::try_from(len).unwrap_or(usize::MAX),
            limit: MAX_ARGUMENT_BYTES,
        })?;
        *room -= len;
        let mut value = Vec::new();
        let mut input = self.input.by_ref().take(len as u64);
        input.read_to_end(&mut value).map_err(ExchangeError::Read)?;
        match value.len() == len {
            true => Ok(value),
            false => Err(cut()),
        }
    }

    /// A line without its end; none where the stream ends.
    fn line(&mut self, what: &'static str) -> Result<Option<Vec<u8>>, ExchangeError> {
        let mut line = Vec::new();
        let mut input = self.input.by_ref().take(MAX_LINE);
        input
            .read_until(b'\n', &mut line)
            .map_err(ExchangeError::Read)?;
        match line.pop() {
            Some(b'\n') => Ok(Some(line)),
            None => Ok(None),
            Some(_) if line.len() as u64 + 1 < MAX_LINE => Err(cut()),
            Some(_) => Err(ExchangeError::TooLong {
                what,
                found: line.len() + 1,
                limit: MAX_LINE as usize - 1,
            }),
        }
    }
}

/// A number in decimal digits, nothing else.
fn number(text: &[u8]) -> Result<u64, ExchangeError> {
    let digits = std::str::from_utf8(text)
        .ok()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
    digits.and_then(|text| text.parse().ok()).ok_or_else(|| {
        let text = String::from_utf8_lossy(text);
        damaged(format!("{text:?} is not a length"))
    })
}

fn damaged(reason: String) -> ExchangeError {
    ExchangeError::BadRequest {
        what: "stream",
        reason,
    }
}

fn cut() -> ExchangeError {
    damaged("it ends in the middle".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], parameters: Parameters) -> Result<Args, ExchangeError> {
        Frames::new(bytes).arguments(parameters)
    }

    fn pair(key: &str, value: &str) -> (Vec<u8>, Vec<u8>) {
        (key.into(), value.into())
    }

    #[test]
    fn arguments_as_clients_send_them() {
        let args = read(b"* 1\na 2\n\n\ncmds 6\nheads rest", &["cmds", "*"]).unwrap();
        assert_eq!(args, [pair("a", "\n\n"), pair("cmds", "heads ")]);
        assert_eq!(read(b"key 0\n", &["key"]).unwrap(), [pair("key", "")]);
        assert!(read(b"rest", &[]).unwrap().is_empty());
    }

    #[test]
    fn what_is_wrong_is_refused() {
        for bad in [
            &b""[..],
            b"key",
            b"key\n",
            b"key x\n",
            b"key -1\n",
            b"key +1\na",
            b"key 3\nab",
            b"kex 3\nabc",
            b"key 99999999999999999999999\n",
            b"key 4194305\n",
            &[b'k'; 5000],
        ] {
            let bad = read(bad, &["key"]);
            assert!(bad.is_err(), "{bad:?}");
        }
        let many = [b"* 1001\n".to_vec(), b"a 1\nb".repeat(1001)].concat();
        assert!(read(&many, &["*"]).is_err());
        assert!(read(b"* 18446744073709551615\na 1\nb", &["*"]).is_err());
    }

    #[test]
    fn commands_end_with_the_stream_or_an_empty_line() {
        let mut frames = Frames::new(&b"heads\n\nheads\n"[..]);
        assert_eq!(frames.command().unwrap(), Some(b"heads".to_vec()));
        assert_eq!(frames.command().unwrap(), None);
        let mut frames = Frames::new(&b""[..]);
        assert_eq!(frames.command().unwrap(), None);
        assert!(Frames::new(&b"hea"[..]).command().is_err());
    }
}
