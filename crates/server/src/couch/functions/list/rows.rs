//! The rows of a view's answer, one after the other.

use crate::Failure;
use crate::couch::functions::refusal::of_engine;
use crate::couch::rows::RowSource;
use crate::http::LocalBody;
use varve_js::JsError;

/// Text in front of the rows, behind the other members.
const ROWS: &[u8] = b"\"rows\":[";

/// Rows that are made as they are asked for. In the answer of a view each has a line of its own:
///
/// ```text
/// {"total_rows":2,"offset":0,"rows":[
/// {"id":"a","key":1,"value":null},
/// {"id":"b","key":2,"value":null}
/// ]}
/// ```
pub struct PulledRows {
    body: LocalBody,
    unread: Vec<u8>,
    /// Where the unread bytes begin.
    from: usize,
    /// Bytes that a row may have: more do not fit into the engine.
    longest: usize,
}

impl PulledRows {
    pub fn new(source: &RowSource, longest: usize) -> PulledRows {
        PulledRows {
            body: LocalBody::new(|writer| (source.open)(writer)),
            unread: Vec::new(),
            from: 0,
            longest,
        }
    }

    /// JSON text of the members in front of the rows.
    ///
    /// # Errors
    /// Those of the rows.
    pub fn head(&mut self) -> Result<Vec<u8>, Failure> {
        let mut head = Vec::new();
        self.line(&mut head)?;
        let members = head.strip_suffix(ROWS).unwrap_or(b"{");
        let members = members.strip_suffix(b",").unwrap_or(members).len();
        head.truncate(members);
        if head.is_empty() {
            head.push(b'{');
        }
        head.push(b'}');
        Ok(head)
    }

    /// Appends the JSON text of the next row to `row`, which is empty; `false` if there is none.
    ///
    /// # Errors
    /// The rows cannot be read; 500 for one that no function could take.
    pub fn next(&mut self, row: &mut Vec<u8>) -> Result<bool, Failure> {
        // The end has no line end behind it; an empty line stands for the rows of a reduce that finds none.
        if !self.line(row)? || row.is_empty() {
            row.clear();
            return Ok(false);
        }
        if row.ends_with(b",") {
            row.pop();
        }
        Ok(true)
    }

    /// Appends the next line without its end; `false` if there is none.
    fn line(&mut self, line: &mut Vec<u8>) -> Result<bool, Failure> {
        // Bytes that are known to have no line end.
        let mut seen = self.from;
        loop {
            let rest = self.unread.get(seen..).unwrap_or_default();
            if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                let end = seen + at;
                let found = self.unread.get(self.from..end).unwrap_or_default();
                line.extend_from_slice(found.strip_suffix(b"\r").unwrap_or(found));
                self.from = end + 1;
                return Ok(true);
            }
            if self.unread.len() - self.from > self.longest {
                let limit = self.longest;
                return Err(of_engine(JsError::Memory { limit }));
            }
            self.unread.drain(..self.from);
            self.from = 0;
            seen = self.unread.len();
            match self.body.next()? {
                Some(piece) => self.unread.extend_from_slice(&piece),
                None => return Ok(false),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::couch::rows::WritingRows;
    use crate::http::BodyWriter;

    fn source(text: &'static str, piece: usize) -> RowSource {
        let open = move |mut writer: BodyWriter| {
            let write = async move {
                for piece in text.as_bytes().chunks(piece) {
                    writer.write(piece).await?;
                    writer.flush().await?;
                }
                Ok(writer.finish())
            };
            Box::pin(write) as WritingRows
        };
        RowSource {
            tag: None,
            open: Box::new(open),
        }
    }

    fn read(text: &'static str, piece: usize) -> (String, Vec<String>) {
        let mut rows = PulledRows::new(&source(text, piece), 100);
        let head = String::from_utf8(rows.head().unwrap()).unwrap();
        let mut found = Vec::new();
        let mut row = Vec::new();
        while rows.next(&mut row).unwrap() {
            found.push(String::from_utf8(std::mem::take(&mut row)).unwrap());
        }
        assert!(row.is_empty());
        (head, found)
    }

    #[test]
    fn rows_and_head_are_found_wherever_the_pieces_end() {
        for (text, head, rows) in [
            (
                "{\"total_rows\":2,\"offset\":0,\"rows\":[\r\n{\"k\":1},\r\n{\"k\":\"a,\"}\r\n]}",
                "{\"total_rows\":2,\"offset\":0}",
                vec!["{\"k\":1}", "{\"k\":\"a,\"}"],
            ),
            (
                "{\"rows\":[\r\n{\"value\":1}\r\n]}",
                "{}",
                vec!["{\"value\":1}"],
            ),
            (
                "{\"total_rows\":0,\"offset\":0,\"rows\":[\r\n]}",
                "{\"total_rows\":0,\"offset\":0}",
                vec![],
            ),
            ("{\"rows\":[\r\n\r\n]}", "{}", vec![]),
            ("", "{}", vec![]),
        ] {
            for piece in [1, 2, 3, 7, 1000] {
                assert_eq!(
                    read(text, piece),
                    (
                        head.to_owned(),
                        rows.iter().map(|row| (*row).to_owned()).collect()
                    ),
                    "{piece}"
                );
            }
        }
    }

    #[test]
    fn a_row_that_no_engine_could_hold_is_refused() {
        let long = format!("{{\"rows\":[\r\n{}", "x".repeat(300));
        let mut rows = PulledRows::new(&source(long.leak(), 50), 100);
        rows.head().unwrap();
        let refused = rows.next(&mut Vec::new()).unwrap_err();
        assert_eq!(refused.error, "os_process_error");
    }
}
