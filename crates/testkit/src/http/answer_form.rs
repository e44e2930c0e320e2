//! Forms in which peers of other makes answer.

use super::stream::{Framing, Stream, read_head};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use std::io::{self, BufReader, Read, Write};
use std::net::TcpStream;

/// Bytes of a chunk.
const CHUNK: usize = 100;
/// Precedes opaque sequences.
const OPAQUE: &str = "opaque~";

/// How a proxy changes the answers of the server behind it, and what refers to them in requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerForm {
    /// Compressed by gzip, in chunks.
    Gzip,
    /// Compressed by gzip, cut in the middle of the second chunk.
    CutGzip,
    /// In chunks, cut in the middle of the chunk with this number, from 0 on.
    CutChunk(usize),
    /// In chunks, cut behind so many whole ones: the empty chunk at the end is missing.
    MissingEnd(usize),
    /// Sequences are texts that begin with no number.
    OpaqueText,
    /// Sequences are lists, as those of old Cloudants.
    OpaqueList,
}

impl AnswerForm {
    /// The head of a request as the server behind is to get it: it compresses nothing itself.
    pub(super) fn request(self, head: &str) -> String {
        let lines = head.split_inclusive("\r\n");
        let others =
            lines.filter(|line| !line.to_ascii_lowercase().starts_with("accept-encoding:"));
        let head: String = others.collect();
        match self {
            AnswerForm::OpaqueText => head.replace("opaque%7E", "").replace(OPAQUE, ""),
            AnswerForm::OpaqueList => head.replace("%5B7%2C%22", "").replace("%22%5D", ""),
            _ => head,
        }
    }

    /// Passes the server's answer on.
    pub(super) fn answer(
        self,
        path: &str,
        server: TcpStream,
        client: &mut TcpStream,
    ) -> io::Result<()> {
        let (mut connection, mut body) = (BufReader::new(server), Vec::new());
        let (status, mut headers) = read_head(&mut connection)?;
        let framing = Framing::of(status, &headers)?;
        let framed = ["content-length", "transfer-encoding", "connection"];
        headers.retain(|(name, _)| !framed.contains(&name.as_str()));
        let mut stream = Stream {
            status,
            headers: Vec::new(),
            connection,
            framing,
        };
        stream.read_to_end(&mut body)?;
        let is_whole = match self {
            AnswerForm::OpaqueText | AnswerForm::OpaqueList => {
                body = self.with_opaque_sequences(path, body);
                true
            }
            AnswerForm::Gzip | AnswerForm::CutGzip => {
                headers.push(("content-encoding".to_owned(), "gzip".to_owned()));
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                encoder.write_all(&body)?;
                body = encoder.finish()?;
                self == AnswerForm::Gzip
            }
            AnswerForm::CutChunk(_) | AnswerForm::MissingEnd(_) => false,
        };
        write_head(client, status, &headers)?;
        let mut chunks = chunked(&body);
        if !is_whole {
            chunks.truncate(self.cut_at(&chunks));
        }
        client.write_all(&chunks)
    }

    /// How many bytes of a chunked body come.
    fn cut_at(self, chunks: &[u8]) -> usize {
        let whole = format!("{CHUNK:x}\r\n").len() + CHUNK + 2;
        let end = match self {
            AnswerForm::CutChunk(number) => number * whole + whole / 2,
            AnswerForm::MissingEnd(count) => count * whole,
            _ => whole + whole / 2,
        };
        end.min(chunks.len().saturating_sub(1))
    }

    fn with_opaque_sequences(self, path: &str, body: Vec<u8>) -> Vec<u8> {
        let is_about_sequences =
            path.contains("/_changes") || path.trim_matches('/').split('/').count() == 1;
        let Ok(mut value) = serde_json::from_slice::<Value>(&body) else {
            return body;
        };
        if !is_about_sequences || !value.is_object() {
            return body;
        }
        for name in ["update_seq", "last_seq"] {
            if let Some(seq) = value.get_mut(name) {
                *seq = self.opaque(seq);
            }
        }
        let rows = value.get_mut("results").and_then(Value::as_array_mut);
        for row in rows.into_iter().flatten() {
            row["seq"] = self.opaque(&row["seq"]);
        }
        value.to_string().into_bytes()
    }

    fn opaque(self, seq: &Value) -> Value {
        let text = seq.as_str().unwrap_or_default();
        match self {
            AnswerForm::OpaqueList => json!([7, text]),
            _ => json!(format!("{OPAQUE}{text}")),
        }
    }
}

fn write_head(to: &mut TcpStream, status: u16, headers: &[(String, String)]) -> io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} Passed\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("transfer-encoding: chunked\r\nconnection: close\r\n\r\n");
    to.write_all(head.as_bytes())
}

fn chunked(body: &[u8]) -> Vec<u8> {
    let mut chunks = Vec::new();
    for chunk in body.chunks(CHUNK) {
        chunks.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        chunks.extend_from_slice(chunk);
        chunks.extend_from_slice(b"\r\n");
    }
    chunks.extend_from_slice(b"0\r\n\r\n");
    chunks
}
