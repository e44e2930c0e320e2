//! Lines of an export, one at a time.

use crate::ReplicateError;
use std::io::BufRead;
use std::path::{Path, PathBuf};
use varve_json::{Object, Value, parse_object};

/// A longer line is not read: a document has 8 MB by default, and an attachment comes in pieces.
const LONGEST: u64 = 256 << 20;

/// Reads lines, and can look at the next one.
pub(super) struct Lines<'r> {
    from: &'r mut (dyn BufRead + Send),
    next: Option<Line>,
    /// Directory for attachments that wait for their documents.
    pub(super) scratch: PathBuf,
    /// Number of the last line that was read, from 1.
    number: u64,
    /// Bytes of all lines that were read.
    pub(super) bytes: u64,
    /// Sequence of the last document.
    pub(super) last_seq: u64,
}

/// One line.
pub(super) struct Line {
    pub(super) kind: String,
    pub(super) object: Object,
    pub(super) number: u64,
}

impl Line {
    pub(super) fn wrong(&self, reason: &str) -> ReplicateError {
        ReplicateError::Line {
            line: self.number,
            reason: reason.to_owned(),
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<&str, ReplicateError> {
        let text = self.object.get(name).and_then(Value::as_str);
        text.ok_or_else(|| self.wrong(&format!("{name} must be a string")))
    }

    pub(super) fn unsigned(&self, name: &str) -> Result<u64, ReplicateError> {
        let number = self.object.get(name).and_then(Value::as_u64);
        number.ok_or_else(|| self.wrong(&format!("{name} must be a number")))
    }

    pub(super) fn take(&mut self, name: &str) -> Result<Value, ReplicateError> {
        let value = self.object.remove(name);
        value.ok_or_else(|| self.wrong(&format!("{name} is missing")))
    }
}

impl<'r> Lines<'r> {
    pub(super) fn new(from: &'r mut (dyn BufRead + Send), scratch: &Path) -> Lines<'r> {
        Lines {
            from,
            next: None,
            scratch: scratch.to_owned(),
            number: 0,
            bytes: 0,
            last_seq: 0,
        }
    }

    /// The next line; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<Line>, ReplicateError> {
        match self.next.take() {
            Some(line) => Ok(Some(line)),
            None => self.read(),
        }
    }

    /// The next line, if it is of this kind.
    pub(super) fn next_of(&mut self, kind: &str) -> Result<Option<Line>, ReplicateError> {
        let line = self.next()?;
        match line {
            Some(line) if line.kind == kind => Ok(Some(line)),
            other => {
                self.next = other;
                Ok(None)
            }
        }
    }

    /// Makes a line the next one again.
    pub(super) fn put_back(&mut self, line: Line) {
        self.next = Some(line);
    }

    /// An error about the line that was read last.
    pub(super) fn wrong(&self, reason: &str) -> ReplicateError {
        ReplicateError::Line {
            line: self.number,
            reason: reason.to_owned(),
        }
    }

    fn read(&mut self) -> Result<Option<Line>, ReplicateError> {
        let mut text = Vec::new();
        let mut limited = std::io::Read::take(&mut *self.from, LONGEST);
        limited
            .read_until(b'\n', &mut text)
            .map_err(ReplicateError::Input)?;
        if text.is_empty() {
            return Ok(None);
        }
        self.number += 1;
        self.bytes += text.len() as u64;
        if text.last() != Some(&b'\n') && text.len() as u64 == LONGEST {
            return Err(self.wrong("the line is longer than any that is read"));
        }
        let object = parse_object(&text).map_err(|error| self.wrong(&error.to_string()))?;
        let kind = object
            .get("type")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let kind = kind.ok_or_else(|| self.wrong("type must be a string"))?;
        Ok(Some(Line {
            kind,
            object,
            number: self.number,
        }))
    }
}
