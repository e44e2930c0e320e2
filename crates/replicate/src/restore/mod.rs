//! Loading databases from an export.

mod document;
mod lines;

use crate::{Finding, ReplicateError, Watch};
use lines::{Line, Lines};
use std::io::BufRead;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use varve_base::{Storage, Unit};
use varve_docdb::{
    DatabaseOptions, LeftOut, Load, Loaded, LoadedDocument, NewDatabase, Purge, load,
};
use varve_json::{Value, write_object};

/// Documents that are handed on together: so many at most, or so many bytes.
const DOCUMENTS: usize = 64;
const BYTES: u64 = 1 << 20;

/// An export that is read database by database.
pub struct Restore<'r> {
    lines: Lines<'r>,
}

impl std::fmt::Debug for Restore<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Restore")
    }
}

/// The head of a database in an export.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Name that it had.
    pub name: String,
    is_partitioned: bool,
    has_access: bool,
    revs_limit: u64,
    purges_limit: u64,
    update_seq: u64,
    purge_seq: u64,
    security: Option<Vec<u8>>,
}

impl<'r> Restore<'r> {
    /// Reads an export; large attachments wait for their documents in nameless files in the directory `scratch`.
    pub fn new(from: &'r mut (dyn BufRead + Send), scratch: &Path) -> Restore<'r> {
        Restore {
            lines: Lines::new(from, scratch),
        }
    }

    /// The head of the next database; `None` at the end.
    ///
    /// # Errors
    /// [`ReplicateError::Line`] for a line that does not belong there; errors of the input.
    pub fn next_head(&mut self) -> Result<Option<Head>, ReplicateError> {
        match self.lines.next()? {
            None => Ok(None),
            Some(line) if line.kind == "database" => {
                self.lines.last_seq = 0;
                head(line).map(Some)
            }
            Some(line) => Err(line.wrong("a database must begin here")),
        }
    }

    /// Bytes of the lines that were read so far.
    pub fn bytes_read(&self) -> u64 {
        self.lines.bytes
    }

    /// Passes over the database whose head was read.
    ///
    /// # Errors
    /// As [`Restore::next_head`].
    pub fn skip(&mut self) -> Result<(), ReplicateError> {
        while let Some(line) = self.lines.next()? {
            if line.kind == "end" {
                return Ok(());
            }
        }
        Err(self
            .lines
            .wrong("the export ends in the middle of a database"))
    }

    /// Makes a new database at `to` of the one whose head was read; it is there, whole and durable, when this returns.
    ///
    /// # Errors
    /// As [`Restore::next_head`]; [`varve_docdb::DocdbError::is_already_there`]; [`ReplicateError::Interrupted`].
    pub fn database(
        &mut self,
        head: &Head,
        (storage, to): (&dyn Storage, &Path),
        options: &DatabaseOptions,
        watch: Watch<'_>,
    ) -> Result<Loaded, ReplicateError> {
        let new = NewDatabase {
            compression: None,
            is_partitioned: head.is_partitioned,
            has_access: head.has_access,
        };
        let name = &head.name;
        let mut left_out = |part: LeftOut| (watch.report)(Finding::left_out(name, part));
        load(
            storage,
            to,
            (options, new),
            (&mut left_out, watch.stop),
            |load| self.fill(load, head, watch),
        )
    }

    fn fill(
        &mut self,
        load: &mut Load<'_>,
        head: &Head,
        watch: Watch<'_>,
    ) -> Result<(), ReplicateError> {
        load.set_revs_limit(head.revs_limit);
        load.set_update_seq(head.update_seq);
        if let Some(security) = &head.security {
            load.set_security(security)?;
        }
        let lines = &mut self.lines;
        let mut purges = Vec::new();
        while let Some(line) = lines.next_of("purge")? {
            purges.push(purge(&line)?);
        }
        load.purges(purges, head.purge_seq, head.purges_limit)?;
        let locals = std::iter::from_fn(|| match lines.next_of("local") {
            Ok(line) => line.map(local),
            Err(error) => Some(Err(error)),
        });
        load.local_documents(locals)?;
        watch.progress.begin("documents", Unit::Items, None);
        let count = AtomicU64::new(0);
        load.documents(
            || {
                let batch = batch(lines, head.has_access)?;
                let len = batch.as_ref().map_or(0, Vec::len) as u64;
                count.fetch_add(len, Ordering::Relaxed);
                watch.progress.advance(len);
                Ok(batch)
            },
            || |batch: Vec<LoadedDocument>| -> Result<_, ReplicateError> { Ok(batch) },
        )?;
        watch.progress.end();
        let end = self.lines.next()?.filter(|line| line.kind == "end");
        let end = end.ok_or_else(|| self.lines.wrong("the database must end here"))?;
        match end.unsigned("documents")? == count.into_inner() {
            true => Ok(()),
            false => Err(end.wrong("the database has another number of documents")),
        }
    }
}

/// The next documents, in ascending order of their sequences; `None` behind the last one.
fn batch(
    lines: &mut Lines<'_>,
    has_access: bool,
) -> Result<Option<Vec<LoadedDocument>>, ReplicateError> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < DOCUMENTS && bytes < BYTES {
        let Some((document, size)) = document::next(lines, has_access)? else {
            break;
        };
        if document.seq <= lines.last_seq {
            return Err(lines.wrong("seq must be above that of the document before"));
        }
        lines.last_seq = document.seq;
        bytes += size;
        batch.push(document);
    }
    Ok((!batch.is_empty()).then_some(batch))
}

fn head(mut line: Line) -> Result<Head, ReplicateError> {
    let security = match line.object.remove("security") {
        None => None,
        Some(Value::Object(security)) => {
            let mut text = Vec::new();
            write_object(&security, &mut text);
            Some(text)
        }
        Some(_) => return Err(line.wrong("security must be an object")),
    };
    let is_partitioned = line.object.get("partitioned").and_then(Value::as_bool);
    // Exports of databases without access do not have this member.
    let has_access = match line.object.get("access") {
        None => Some(false),
        Some(access) => access.as_bool(),
    };
    Ok(Head {
        name: line.text("name")?.to_owned(),
        is_partitioned: is_partitioned
            .ok_or_else(|| line.wrong("partitioned must be true or false"))?,
        has_access: has_access.ok_or_else(|| line.wrong("access must be true or false"))?,
        revs_limit: line.unsigned("revs_limit")?,
        purges_limit: line.unsigned("purges_limit")?,
        update_seq: line.unsigned("update_seq")?,
        purge_seq: line.unsigned("purge_seq")?,
        security,
    })
}

fn purge(line: &Line) -> Result<Purge, ReplicateError> {
    let revs = line.object.get("revs").and_then(Value::as_array);
    let revs = revs.and_then(|revs| revs.iter().map(|rev| rev.as_str()?.parse().ok()).collect());
    Ok(Purge {
        // It is given another one.
        seq: 0,
        id: line.text("id")?.to_owned(),
        revs: revs.ok_or_else(|| line.wrong("revs must be revisions"))?,
    })
}

/// Id, number and text of a local document.
fn local(mut line: Line) -> Result<(String, u64, Vec<u8>), ReplicateError> {
    let Value::Object(mut doc) = line.take("doc")? else {
        return Err(line.wrong("doc must be an object"));
    };
    let id = doc
        .remove("_id")
        .and_then(|id| id.as_str().map(str::to_owned));
    let id = id.filter(|id| id.starts_with(varve_docdb::LOCAL_PREFIX));
    let rev = doc
        .remove("_rev")
        .and_then(|rev| rev.as_str()?.strip_prefix("0-")?.parse().ok());
    let (Some(id), Some(rev)) = (id, rev) else {
        return Err(line.wrong("a local document must have its id and its revision"));
    };
    let mut text = Vec::new();
    write_object(&doc, &mut text);
    Ok((id, rev, text))
}
