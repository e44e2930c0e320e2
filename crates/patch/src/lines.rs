//! Lines of a text, each with its end.

/// The lines of a text from a position on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lines<'a> {
    rest: &'a [u8],
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Lines { rest: text }
    }

    /// The next line, which stays.
    pub(crate) fn peek(&self) -> Option<&'a [u8]> {
        let end = memchr::memchr(b'\n', self.rest).map_or(self.rest.len(), |at| at + 1);
        (end > 0).then(|| &self.rest[..end])
    }
}

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.peek()?;
        self.rest = &self.rest[line.len()..];
        Some(line)
    }
}

/// A line without its end.
pub(crate) fn trim_end(line: &[u8]) -> &[u8] {
    let mut line = line;
    while let [rest @ .., b'\r' | b'\n'] = line {
        line = rest;
    }
    line
}

/// The length of the decimal number at the start, and the number; `None` if it has no digit or is too large.
pub(crate) fn number(text: &[u8]) -> Option<(usize, usize)> {
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let digits = std::str::from_utf8(&text[..len]).ok()?;
    Some((len, digits.parse().ok()?))
}
