//! An answer as it arrives: head, framing, body.

use std::io::{self, BufRead, BufReader, Read};
use std::net::TcpStream;

#[derive(Clone, Copy, Debug)]
pub(super) enum Framing {
    /// So many bytes are still to come.
    Length(u64),
    /// So many bytes of the current chunk are still to come; `last` once the empty chunk was read.
    Chunked {
        left: u64,
        first: bool,
        last: bool,
    },
    ToEnd,
}

impl Framing {
    pub(super) fn of(status: u16, headers: &[(String, String)]) -> io::Result<Framing> {
        let find = |name| headers.iter().find(|(n, _)| n == name).map(|(_, v)| v);
        if status == 204 || status == 304 || status < 200 {
            return Ok(Framing::Length(0));
        }
        if find("transfer-encoding").is_some_and(|v| v.eq_ignore_ascii_case("chunked")) {
            return Ok(Framing::Chunked {
                left: 0,
                first: true,
                last: false,
            });
        }
        match find("content-length") {
            Some(text) => text.parse().map(Framing::Length).map_err(|_| bad(text)),
            None => Ok(Framing::ToEnd),
        }
    }
}

/// An answer whose head was read and whose body is still to come; reads as the body's bytes.
#[derive(Debug)]
pub struct Stream {
    /// Status code of the answer's first line.
    pub status: u16,
    /// Headers in order; names in lower case.
    pub headers: Vec<(String, String)>,
    pub(super) connection: BufReader<TcpStream>,
    pub(super) framing: Framing,
}

impl Stream {
    /// Next line of the body without its end; `None` at the end of the body.
    ///
    /// # Errors
    /// When the connection breaks.
    pub fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = Vec::new();
        let mut byte = [0];
        while self.read(&mut byte)? == 1 {
            if byte[0] == b'\n' {
                return Ok(Some(String::from_utf8_lossy(&line).into_owned()));
            }
            line.push(byte[0]);
        }
        let text = String::from_utf8_lossy(&line).into_owned();
        Ok(Some(text).filter(|text| !text.is_empty()))
    }
}

impl Read for Stream {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let left = match &mut self.framing {
            Framing::ToEnd => return self.connection.read(buf),
            Framing::Length(left) => left,
            Framing::Chunked { left, first, last } => {
                if *left == 0 && !*last {
                    if !*first {
                        read_line(&mut self.connection)?;
                    }
                    let size = read_line(&mut self.connection)?;
                    *left = u64::from_str_radix(&size, 16).map_err(|_| bad(&size))?;
                    (*first, *last) = (false, *left == 0);
                    if *last {
                        read_line(&mut self.connection)?;
                    }
                }
                left
            }
        };
        if *left == 0 {
            return Ok(0);
        }
        let most = buf.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
        let got = self.connection.read(&mut buf[..most])?;
        if got == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        *left -= got as u64;
        Ok(got)
    }
}

fn bad(line: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not HTTP: {line:?}"))
}

pub(super) fn read_line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}

pub(super) type Headers = Vec<(String, String)>;

pub(super) fn read_head(from: &mut impl BufRead) -> io::Result<(u16, Headers)> {
    let first = read_line(from)?;
    let status = first
        .strip_prefix("HTTP/1.1 ")
        .and_then(|rest| rest.get(..3));
    let status: u16 = status
        .and_then(|code| code.parse().ok())
        .ok_or_else(|| bad(&first))?;
    let mut headers = Vec::new();
    loop {
        let line = read_line(from)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').ok_or_else(|| bad(&line))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    // "100 Continue" and its kind precede the real head.
    if status < 200 {
        return read_head(from);
    }
    Ok((status, headers))
}
