//! Documents of an export.

use super::lines::{Line, Lines};
use crate::ReplicateError;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::collections::HashMap;
use std::io::{self, Cursor, Read};
use std::sync::Arc;
use varve_base::StorageFile;
use varve_base::storage::scratch_file;
use varve_docdb::{
    Digest, LoadedAttachment, LoadedContent, LoadedDocument, LoadedRevision, Rev, text_with_access,
};
use varve_json::{Document, Object, Value};

/// A longer attachment waits for its document in a file.
const LONGEST_IN_MEMORY: usize = 256 << 10;

/// Data of one attachment, before its document comes.
#[derive(Clone)]
enum Data {
    Memory(Arc<Vec<u8>>),
    Scratch(Arc<dyn StorageFile>),
}

/// Reads a scratch file from its beginning, beside others.
struct ScratchReader {
    file: Arc<dyn StorageFile>,
    at: u64,
}

impl Read for ScratchReader {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let got = self.file.read_at(self.at, out).map_err(io::Error::other)?;
        self.at += got as u64;
        Ok(got)
    }
}

impl AsRef<[u8]> for DataBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Bytes that several attachments may share.
struct DataBytes(Arc<Vec<u8>>);

impl Data {
    fn reader(&self) -> Box<dyn Read + Send> {
        match self {
            Data::Memory(bytes) => Box::new(Cursor::new(DataBytes(Arc::clone(bytes)))),
            Data::Scratch(file) => Box::new(ScratchReader {
                file: Arc::clone(file),
                at: 0,
            }),
        }
    }
}

/// Reads the next document with its attachments, and about how many bytes of memory it takes; `None` if another line
/// comes.
pub(super) fn next(
    lines: &mut Lines<'_>,
    has_access: bool,
) -> Result<Option<(LoadedDocument, u64)>, ReplicateError> {
    let (mut data, mut bytes) = (Vec::new(), 0);
    while let Some(first) = lines.next_of("attachment")? {
        let (one, in_memory) = attachment(lines, first, data.len() as u64 + 1)?;
        data.push(one);
        bytes += in_memory;
    }
    match lines.next_of("document")? {
        Some(line) => {
            let (document, text) = document(line, &data, has_access)?;
            Ok(Some((document, bytes + text)))
        }
        None if data.is_empty() => Ok(None),
        None => Err(lines.wrong("attachments must stand before their document")),
    }
}

/// Reads the data of an attachment, whose next lines may follow.
fn attachment(
    lines: &mut Lines<'_>,
    first: Line,
    number: u64,
) -> Result<(Data, u64), ReplicateError> {
    let mut bytes = Vec::new();
    let mut scratch: Option<Arc<dyn StorageFile>> = None;
    let mut line = first;
    if line.unsigned("number")? != number {
        return Err(line.wrong("attachments must be numbered from 1 for each document"));
    }
    loop {
        let piece = STANDARD.decode(line.text("data")?);
        bytes.extend_from_slice(&piece.map_err(|_| line.wrong("data must be base64"))?);
        if bytes.len() > LONGEST_IN_MEMORY || scratch.is_some() {
            let file = match &mut scratch {
                Some(file) => file,
                none => none.insert(scratch_file(&lines.scratch)?),
            };
            file.append(&bytes)?;
            bytes.clear();
        }
        match lines.next_of("attachment")? {
            Some(next) if next.unsigned("number")? == number => line = next,
            Some(next) => {
                lines.put_back(next);
                break;
            }
            None => break,
        }
    }
    let in_memory = bytes.len() as u64;
    let data = match scratch {
        Some(file) => Data::Scratch(file),
        None => Data::Memory(Arc::new(bytes)),
    };
    Ok((data, in_memory))
}

fn document(
    mut line: Line,
    data: &[Data],
    has_access: bool,
) -> Result<(LoadedDocument, u64), ReplicateError> {
    let (id, seq) = (line.text("id")?.to_owned(), line.unsigned("seq")?);
    let Value::Array(leaves) = line.take("leaves")? else {
        return Err(line.wrong("leaves must be a list"));
    };
    let mut tree = Tree::default();
    let mut bytes = 0;
    for leaf in leaves {
        let Value::Object(leaf) = leaf else {
            return Err(line.wrong("a leaf must be an object"));
        };
        let Document { mut special, body } = Document::new(leaf, is_special);
        let mut member = |name: &str| {
            let at = special.iter().position(|(known, _)| known == name)?;
            Some(special.swap_remove(at).1)
        };
        let history = member("_revisions");
        let path = history.as_ref().and_then(path);
        let path = path.ok_or_else(|| line.wrong("_revisions must be a history"))?;
        let attachments = match member("_attachments") {
            None => Vec::new(),
            Some(Value::Object(all)) => attachments(all, data, &line)?,
            Some(_) => return Err(line.wrong("_attachments must be an object")),
        };
        let body = match member("_access").filter(|_| has_access) {
            None => body.text().to_vec(),
            Some(access) => text_with_access(&access, body.text())
                .map_err(|error| line.wrong(&error.to_string()))?,
        };
        bytes += body.len() as u64;
        let content = LoadedContent {
            deleted: member("_deleted").and_then(|deleted| deleted.as_bool()) == Some(true),
            body,
            attachments,
        };
        tree.add(path, content);
    }
    let revisions = tree.revisions;
    Ok((LoadedDocument { id, seq, revisions }, bytes))
}

/// Whether a member is none of the body's: as in a document that a client sends.
fn is_special(name: &str) -> bool {
    name.starts_with('_') && !name.starts_with("_replication_")
}

/// A leaf and its ancestors, newest first.
fn path(history: &Value) -> Option<Vec<Rev>> {
    let start = history.get("start")?.as_u64()?;
    let ids = history.get("ids")?.as_array()?;
    let revs = (0..).zip(ids).map(|(age, id)| {
        let digest: Digest = id.as_str()?.parse().ok()?;
        let generation = start
            .checked_sub(age)
            .filter(|generation| *generation > 0)?;
        Some(Rev { generation, digest })
    });
    let revs: Vec<Rev> = revs.collect::<Option<_>>()?;
    (!revs.is_empty()).then_some(revs)
}

/// Revisions of a document, of which each is known once.
#[derive(Default)]
struct Tree {
    revisions: Vec<LoadedRevision>,
    known: HashMap<Rev, usize>,
}

impl Tree {
    fn add(&mut self, path: Vec<Rev>, content: LoadedContent) {
        let (mut child, mut content) = (None, Some(content));
        for rev in path {
            let known = self.known.get(&rev).copied();
            let at = known.unwrap_or_else(|| {
                self.known.insert(rev.clone(), self.revisions.len());
                self.revisions.push(LoadedRevision {
                    rev,
                    parent: None,
                    content: None,
                });
                self.revisions.len() - 1
            });
            if let Some(content) = content.take() {
                self.revisions[at].content = Some(content);
            }
            if let Some(child) = child {
                let child: &mut LoadedRevision = &mut self.revisions[child];
                child.parent.get_or_insert(at);
            }
            child = Some(at);
        }
    }
}

fn attachments(
    all: Object,
    data: &[Data],
    line: &Line,
) -> Result<Vec<LoadedAttachment>, ReplicateError> {
    let mut attachments = Vec::with_capacity(all.len());
    for (name, stub) in all {
        let text = |member: &str| stub.get(member).and_then(Value::as_str);
        let number = |member: &str| stub.get(member).and_then(Value::as_u64);
        let place =
            number("number").and_then(|number| usize::try_from(number).ok()?.checked_sub(1));
        let data = place.and_then(|place| data.get(place));
        let data =
            data.ok_or_else(|| line.wrong("an attachment must have the number of its data"))?;
        let digest = text("digest").and_then(|digest| digest.strip_prefix("md5-"));
        let digest = digest.and_then(|digest| STANDARD.decode(digest).ok()?.try_into().ok());
        let md5: [u8; 16] =
            digest.ok_or_else(|| line.wrong("digest must be that of an attachment"))?;
        attachments.push(LoadedAttachment {
            content_type: text("content_type")
                .unwrap_or("application/octet-stream")
                .to_owned(),
            revpos: number("revpos").unwrap_or(1),
            is_gzip: text("encoding") == Some("gzip"),
            md5: Some(md5),
            data: data.reader(),
            name,
        });
    }
    Ok(attachments)
}
