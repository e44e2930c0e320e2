//! Writes files as CouchDB does, larger ones than were recorded, and of versions that were not.
//!
//! The reader is tested against the recorded files; the encoder against the reader, so that neither is right by itself.

use std::io::Write;
use xxhash_rust::xxh3::xxh3_128;

const BLOCK: u64 = 4096;
/// Items of a node.
const FAN_OUT: usize = 40;

/// How terms are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    Plain,
    Snappy,
}

pub fn atom(name: &str, out: &mut Vec<u8>) {
    out.push(100);
    out.extend_from_slice(&(name.len() as u16).to_be_bytes());
    out.extend_from_slice(name.as_bytes());
}

pub fn binary(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(109);
    out.extend_from_slice(&(bytes.len() as u32).to_be_bytes());
    out.extend_from_slice(bytes);
}

pub fn integer(value: u64, out: &mut Vec<u8>) {
    match u8::try_from(value) {
        Ok(small) => out.extend_from_slice(&[97, small]),
        Err(_) => {
            out.extend_from_slice(&[110, 8, 0]);
            out.extend_from_slice(&value.to_le_bytes());
        }
    }
}

pub fn tuple(arity: u8, out: &mut Vec<u8>) {
    out.extend_from_slice(&[104, arity]);
}

/// A list of items that are encoded already.
pub fn list(items: &[Vec<u8>], out: &mut Vec<u8>) {
    if !items.is_empty() {
        out.push(108);
        out.extend_from_slice(&(items.len() as u32).to_be_bytes());
        out.extend_from_slice(&items.concat());
    }
    out.push(106);
}

/// The term of a JSON object, with its version.
pub fn object(text: &str) -> Vec<u8> {
    let document = varve_json::Document::parse(text.as_bytes(), |_| false).unwrap();
    [&[131][..], &document.body.term().unwrap()].concat()
}

pub fn snappy(term: &[u8]) -> Vec<u8> {
    let block = snap::raw::Encoder::new().compress_vec(term).unwrap();
    [&[1][..], &block].concat()
}

/// A file in the making.
pub struct CouchWriter {
    pub bytes: Vec<u8>,
    stored: Stored,
}

impl CouchWriter {
    pub fn new(stored: Stored) -> CouchWriter {
        CouchWriter {
            bytes: Vec::new(),
            stored,
        }
    }

    fn data(&mut self, mut data: &[u8]) {
        while !data.is_empty() {
            let in_block = self.bytes.len() as u64 % BLOCK;
            if in_block == 0 {
                self.bytes.push(0);
                continue;
            }
            let here = ((BLOCK - in_block) as usize).min(data.len());
            self.bytes.extend_from_slice(&data[..here]);
            data = &data[here..];
        }
    }

    /// Appends a chunk with its checksum; returns its offset.
    pub fn chunk(&mut self, payload: &[u8]) -> u64 {
        let at = self.bytes.len() as u64;
        self.data(&(payload.len() as u32 | 1 << 31).to_be_bytes());
        self.data(&xxh3_128(payload).to_be_bytes());
        self.data(payload);
        at
    }

    /// Appends a chunk without a checksum, as attachments have them.
    pub fn piece(&mut self, payload: &[u8]) -> u64 {
        let at = self.bytes.len() as u64;
        self.data(&(payload.len() as u32).to_be_bytes());
        self.data(payload);
        at
    }

    /// Appends a term as it is stored.
    pub fn term(&mut self, term: &[u8]) -> u64 {
        match self.stored {
            Stored::Plain => self.chunk(term),
            Stored::Snappy => {
                let stored = snappy(term);
                self.chunk(&stored)
            }
        }
    }

    /// Appends a body with a list of attachments, both terms with their versions.
    pub fn body(&mut self, body: &[u8], attachments: &[u8]) -> u64 {
        let mut term = vec![131];
        tuple(2, &mut term);
        for part in [body, attachments] {
            match self.stored {
                Stored::Plain => binary(part, &mut term),
                Stored::Snappy => binary(&snappy(part), &mut term),
            }
        }
        self.chunk(&term)
    }

    /// Appends a tree of items that are in order, `{key, value}` each with its key; returns its root.
    pub fn tree(&mut self, items: &[(Vec<u8>, Vec<u8>)], reduction: &[u8]) -> Option<Vec<u8>> {
        let mut level: Vec<(Vec<u8>, Vec<u8>)> = items.to_vec();
        let mut kind = "kv_node";
        if items.is_empty() {
            return None;
        }
        loop {
            let mut above = Vec::new();
            for node in level.chunks(FAN_OUT) {
                let mut term = vec![131];
                tuple(2, &mut term);
                atom(kind, &mut term);
                let members: Vec<Vec<u8>> = node.iter().map(|(_, item)| item.clone()).collect();
                list(&members, &mut term);
                let at = self.term(&term);
                let key = node.last().unwrap().0.clone();
                let mut root = Vec::new();
                tuple(3, &mut root);
                integer(at, &mut root);
                root.extend_from_slice(reduction);
                integer(1000, &mut root);
                let mut item = Vec::new();
                tuple(2, &mut item);
                item.extend_from_slice(&key);
                item.extend_from_slice(&root);
                above.push((key, item, root));
            }
            if let [(_, _, root)] = &above[..] {
                return Some(root.clone());
            }
            kind = "kp_node";
            level = above
                .into_iter()
                .map(|(key, item, _)| (key, item))
                .collect();
        }
    }

    /// Appends a header of these members.
    pub fn header(&mut self, members: &[Vec<u8>]) {
        let mut term = vec![131];
        tuple(members.len() as u8 + 1, &mut term);
        atom("db_header", &mut term);
        term.extend_from_slice(&members.concat());
        while !(self.bytes.len() as u64).is_multiple_of(BLOCK) {
            self.bytes.push(0);
        }
        self.bytes.push(1);
        let len = term.len() as u32 + 16;
        self.data(&len.to_be_bytes());
        self.data(&xxh3_128(&term).to_be_bytes());
        self.data(&term);
    }
}

/// One member of a header.
pub fn member(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

/// A root, or `nil`.
pub fn root(root: Option<Vec<u8>>) -> Vec<u8> {
    root.unwrap_or_else(|| member(|out| atom("nil", out)))
}

/// Text of a document of about 1 KB, of which no two are alike.
pub fn text(number: u64) -> String {
    const WORDS: [&str; 12] = [
        "silt", "clay", "varve", "lake", "core", "delta", "sand", "layer", "spring", "ice", "melt",
        "pollen",
    ];
    let mut state = number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut next = |below: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % below
    };
    let mut words = |count: usize| -> String {
        let words: Vec<_> = (0..count).map(|_| WORDS[next(12) as usize]).collect();
        words.join(" ")
    };
    let (name, note) = (words(3), words(12));
    let strings: Vec<String> = (0..5).map(|_| format!("\"{}\"", words(7))).collect();
    let data: Vec<String> = (0..30)
        .map(|_| (next(1 << 33) as f64 / 1e7).to_string())
        .collect();
    format!(
        "{{\"name\":\"{name} {number}\",\"level\":{},\"note\":\"{note}\",\"data\":[{}],\"strings\":[{}],\"hash\":\"{:016x}\"}}",
        next(100),
        data.join(","),
        strings.join(","),
        next(u64::MAX)
    )
}

/// `{key, value}`.
fn pair(key: &[u8], value: &[u8]) -> Vec<u8> {
    member(|out| {
        tuple(2, out);
        out.extend_from_slice(key);
        out.extend_from_slice(value);
    })
}

/// The revision tree of a document with one revision.
fn one_revision(digest: &[u8], body: u64, seq: u64) -> Vec<u8> {
    let value = member(|out| {
        tuple(5, out);
        integer(0, out);
        integer(body, out);
        integer(seq, out);
        sizes(out);
        list(&[], out);
    });
    let node = member(|out| {
        tuple(2, out);
        integer(1, out);
        tuple(3, out);
        binary(digest, out);
        out.extend_from_slice(&value);
        list(&[], out);
    });
    member(|out| list(&[node], out))
}

fn sizes(out: &mut Vec<u8>) {
    tuple(2, out);
    integer(900, out);
    integer(1000, out);
}

/// What stands in a tree for a document that is not deleted.
fn info(first: &[u8], tree: &[u8]) -> Vec<u8> {
    member(|out| {
        tuple(4, out);
        out.extend_from_slice(first);
        integer(0, out);
        sizes(out);
        out.extend_from_slice(tree);
    })
}

/// A file with so many documents of one revision each; ids are scattered over the sequences.
pub fn file_of(count: u64, stored: Stored) -> Vec<u8> {
    let mut writer = CouchWriter::new(stored);
    let (mut by_seq, mut by_id) = (Vec::new(), Vec::new());
    for number in 0..count {
        let id = format!("{:016x}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let body = writer.body(&object(&text(number)), b"\x83j");
        let tree = one_revision(&u128::from(number).to_be_bytes(), body, number + 1);
        let seq = member(|out| integer(number + 1, out));
        let id = member(|out| binary(id.as_bytes(), out));
        by_seq.push((seq.clone(), pair(&seq, &info(&id, &tree))));
        by_id.push((id.clone(), pair(&id, &info(&seq, &tree))));
    }
    by_id.sort();
    let live = member(|out| integer(count, out));
    let counts = member(|out| {
        tuple(3, out);
        integer(count, out);
        integer(0, out);
        atom("nil", out);
    });
    let by_seq = writer.tree(&by_seq, &live);
    let by_id = writer.tree(&by_id, &counts);
    let nil = || member(|out| atom("nil", out));
    let number = |value| member(|out| integer(value, out));
    let uuid = member(|out| binary(b"0123456789abcdef0123456789abcdef", out));
    writer.header(&[
        number(8),
        number(count),
        number(0),
        root(by_id),
        root(by_seq),
        nil(),
        nil(),
        nil(),
        nil(),
        number(1000),
        uuid,
        member(|out| list(&[], out)),
        number(0),
        number(1000),
        nil(),
    ]);
    writer.bytes
}

/// Writes such a file to a path.
pub fn write_file(path: &std::path::Path, count: u64, stored: Stored) {
    let mut file = std::fs::File::create(path).unwrap();
    file.write_all(&file_of(count, stored)).unwrap();
}
