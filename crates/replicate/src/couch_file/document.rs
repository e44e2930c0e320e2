//! Documents in the trees: sequences and revision trees.
//!
//! ```text
//! by id:  {id, {seq, deleted, sizes, [{start, tree}]}}
//! by seq: {seq, {id, deleted, sizes, [{start, tree}]}}
//! tree:   {rev, value, [tree]}
//! value:  [] for an id alone, or {deleted, body, seq, sizes, attachments}; older files leave the last ones out
//! ```

use super::damage::Malformed;
use super::term::{TermReader, tag};
use varve_docdb::{Digest, Rev};

/// Assumed bytes of a body whose size the file does not say.
const UNKNOWN_SIZE: u64 = 16 << 10;

/// One document with its revision tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentInfo {
    /// `_id` of the document.
    pub id: String,
    /// Its last update.
    pub seq: u64,
    /// Its revisions; parents stand before their children.
    pub revisions: Vec<RevisionInfo>,
}

/// One revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionInfo {
    /// Its id.
    pub rev: Rev,
    /// Index of its parent.
    pub parent: Option<usize>,
    /// Place of its content, if that is in the file.
    pub content: Option<ContentInfo>,
}

/// Content of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContentInfo {
    /// Whether the revision deletes the document.
    pub deleted: bool,
    /// Offset of the body.
    pub body: u64,
    /// Bytes that its sizes speak of; only good for sharing out work.
    pub size: u64,
}

impl DocumentInfo {
    /// Reads an item of the tree by id.
    pub(crate) fn by_id(reader: &mut TermReader<'_>) -> Result<DocumentInfo, Malformed> {
        reader.tuple_of(2)?;
        let id = reader.text()?.to_owned();
        let arity = enter(reader)?;
        let seq = reader.unsigned()?;
        let revisions = rest(reader, arity)?;
        Ok(DocumentInfo { id, seq, revisions })
    }

    /// Reads an item of the tree by sequence.
    pub(crate) fn by_seq(reader: &mut TermReader<'_>) -> Result<DocumentInfo, Malformed> {
        reader.tuple_of(2)?;
        let seq = reader.unsigned()?;
        let arity = enter(reader)?;
        let id = reader.text()?.to_owned();
        let revisions = rest(reader, arity)?;
        Ok(DocumentInfo { id, seq, revisions })
    }

    /// The leaf that stands for the document, by CouchDB's rule: not deleted before deleted, then the greater revision.
    pub(crate) fn winner(&self) -> Option<&RevisionInfo> {
        let mut is_leaf = vec![true; self.revisions.len()];
        for parent in self.revisions.iter().filter_map(|revision| revision.parent) {
            is_leaf[parent] = false;
        }
        let leaves = self.revisions.iter().zip(is_leaf);
        let leaves = leaves.filter(|(_, is_leaf)| *is_leaf).map(|(leaf, _)| leaf);
        leaves.max_by_key(|leaf| (leaf.content.is_some_and(|it| !it.deleted), &leaf.rev))
    }

    /// Bytes that its leaves may have.
    pub(crate) fn size(&self) -> u64 {
        let contents = self
            .revisions
            .iter()
            .filter_map(|revision| revision.content);
        contents.fold(0, |sum, content| sum.saturating_add(content.size))
    }
}

fn enter(reader: &mut TermReader<'_>) -> Result<u32, Malformed> {
    match reader.tuple()? {
        arity @ 3.. => Ok(arity),
        _ => Err(Malformed("a document has too few members")),
    }
}

/// Everything behind the first member; the revision tree is the last one.
fn rest(reader: &mut TermReader<'_>, arity: u32) -> Result<Vec<RevisionInfo>, Malformed> {
    for _ in 2..arity {
        reader.skip()?;
    }
    let revisions = revision_tree(reader)?;
    match revisions.is_empty() {
        true => Err(Malformed("a document has no revisions")),
        false => Ok(revisions),
    }
}

/// Trees whose reading goes on when the one that is read now ends.
struct Siblings {
    left: u32,
    generation: u64,
    parent: Option<usize>,
    /// Whether they stand in a list that ends behind them.
    in_list: bool,
}

/// Reads a revision tree, however deep it is.
fn revision_tree(reader: &mut TermReader<'_>) -> Result<Vec<RevisionInfo>, Malformed> {
    let roots = reader.items()?;
    let mut revisions = Vec::new();
    for _ in 0..roots {
        reader.tuple_of(2)?;
        let mut open = vec![Siblings {
            left: 1,
            generation: reader.unsigned()?,
            parent: None,
            in_list: false,
        }];
        while let Some(siblings) = open.last_mut() {
            if siblings.left == 0 {
                if siblings.in_list {
                    reader.end_list()?;
                }
                open.pop();
                continue;
            }
            siblings.left -= 1;
            let (generation, parent) = (siblings.generation, siblings.parent);
            reader.tuple_of(3)?;
            let digest = Digest::from_bytes(reader.binary()?);
            let content = content(reader)?;
            let children = reader.items()?;
            let child = generation.checked_add(1);
            open.push(Siblings {
                left: children,
                generation: child.ok_or(Malformed("a revision is out of range"))?,
                parent: Some(revisions.len()),
                in_list: children > 0,
            });
            revisions.push(RevisionInfo {
                rev: Rev { generation, digest },
                parent,
                content,
            });
        }
    }
    if roots > 0 {
        reader.end_list()?;
    }
    Ok(revisions)
}

fn content(reader: &mut TermReader<'_>) -> Result<Option<ContentInfo>, Malformed> {
    if matches!(reader.peek()?, tag::NIL) {
        return reader.skip().map(|()| None);
    }
    let arity = reader.tuple()?;
    if arity < 2 {
        return Err(Malformed("a revision has too few members"));
    }
    let deleted = match reader.is_atom() {
        true => reader.atom()? == b"true",
        false => reader.unsigned()? != 0,
    };
    let body = match reader.is_atom() {
        true => reader.skip().map(|()| None)?,
        false => Some(reader.unsigned()?),
    };
    let mut size = UNKNOWN_SIZE;
    for position in 2..arity {
        match position {
            3 => size = sizes(reader)?,
            _ => reader.skip()?,
        }
    }
    Ok(body.map(|body| ContentInfo {
        deleted,
        body,
        size,
    }))
}

/// `{active, external}`, or one of them.
fn sizes(reader: &mut TermReader<'_>) -> Result<u64, Malformed> {
    match reader.peek()? {
        tag::SMALL_TUPLE => {
            let mut largest = 0;
            for _ in 0..reader.tuple()? {
                largest = largest.max(reader.unsigned()?);
            }
            Ok(largest)
        }
        _ if reader.is_atom() => reader.skip().map(|()| UNKNOWN_SIZE),
        _ => reader.unsigned(),
    }
}
