//! Rows of documents and views, written into large buffers while they are sent.

use std::pin::Pin;

use crate::Failure;
use crate::couch::changes::sequence::{write_number, write_sequence};
use crate::http::{BodyWriter, FinishedBody};

/// Rows that are being written, in the form of a whole answer.
pub type WritingRows = Pin<Box<dyn Future<Output = Result<FinishedBody, Failure>> + Send>>;

/// Rows of documents or of a view that a function pulls; they can be read several times.
pub struct RowSource {
    /// Entity tag of the rows; none where it would tell a user of documents that they may not see.
    pub tag: Option<String>,
    /// Writes the rows from the first one on.
    pub open: Box<dyn Fn(BodyWriter) -> WritingRows + Send>,
}

/// Members in front of the rows.
#[derive(Clone, Copy, Debug)]
pub struct Counts<'a> {
    /// Rows without any range; `null` if they were not counted.
    pub total: Option<u64>,
    /// Rows before the first one; `null` where that means nothing.
    pub offset: Option<u64>,
    /// The state that is shown: update and incarnation.
    pub update_seq: Option<(u64, &'a str)>,
}

/// The rows of one answer.
pub struct Rows<'w> {
    writer: &'w mut BodyWriter,
    any: bool,
}

impl<'w> Rows<'w> {
    /// Writes `{"total_rows":6,"offset":0,"rows":[`.
    pub fn begin(writer: &'w mut BodyWriter, counts: &Counts<'_>) -> Rows<'w> {
        let out = writer.buffer();
        out.extend_from_slice(b"{\"total_rows\":");
        write_or_null(counts.total, out);
        out.extend_from_slice(b",\"offset\":");
        write_or_null(counts.offset, out);
        if let Some((update, incarnation)) = counts.update_seq {
            out.extend_from_slice(b",\"update_seq\":");
            write_sequence(update, incarnation, out);
        }
        out.extend_from_slice(b",\"rows\":[\r\n");
        Rows { writer, any: false }
    }

    /// Writes `{"rows":[`, as reduced views have it.
    pub fn begin_reduced(writer: &'w mut BodyWriter, update_seq: Option<(u64, &str)>) -> Rows<'w> {
        let out = writer.buffer();
        out.push(b'{');
        if let Some((update, incarnation)) = update_seq {
            out.extend_from_slice(b"\"update_seq\":");
            write_sequence(update, incarnation, out);
            out.push(b',');
        }
        out.extend_from_slice(b"\"rows\":[\r\n");
        Rows { writer, any: false }
    }

    /// Where the next row is appended.
    pub fn next(&mut self) -> &mut Vec<u8> {
        let out = self.writer.buffer();
        if self.any {
            out.extend_from_slice(b",\r\n");
        }
        self.any = true;
        out
    }

    /// Where a row goes whose text may be longer than memory.
    pub fn writer(&mut self) -> &mut BodyWriter {
        self.writer
    }

    /// To be called between rows.
    ///
    /// # Errors
    /// The client has gone.
    pub async fn flush_if_full(&mut self) -> Result<(), Failure> {
        Ok(self.writer.flush_if_full().await?)
    }

    /// Writes the end of the rows.
    ///
    /// # Errors
    /// The client has gone.
    pub async fn end(self) -> Result<(), Failure> {
        Ok(self.writer.write(b"\r\n]}").await?)
    }
}

fn write_or_null(number: Option<u64>, out: &mut Vec<u8>) {
    match number {
        Some(number) => write_number(number, out),
        None => out.extend_from_slice(b"null"),
    }
}

/// Text in front of the rows of several queries.
pub const RESULTS_HEAD: &[u8] = b"{\"results\":[\r\n";
/// Text between the rows of two queries.
pub const RESULTS_SEPARATOR: &[u8] = b",\r\n";
/// Text behind the rows of several queries.
pub const RESULTS_END: &[u8] = b"\r\n]}\n";
