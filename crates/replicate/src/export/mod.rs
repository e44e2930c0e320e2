//! Export of a database: one JSON value per line, in an order that is that of its changes.
//!
//! ```text
//! {"type":"database","name":…,"partitioned":…,"revs_limit":…,"purges_limit":…,"update_seq":…,"purge_seq":…,"security":{…}}
//!                                                    with "access":true where documents name their readers
//! {"type":"purge","id":…,"revs":[…]}
//! {"type":"local","doc":{"_id":"_local/…","_rev":"0-1",…}}
//! {"type":"attachment","number":1,"data":"…"}        base64 of a piece; the pieces of a number follow each other
//! {"type":"document","id":…,"seq":…,"leaves":[…]}    behind the attachments that its leaves name by number
//! {"type":"end","name":…,"documents":…}
//! ```
//! A leaf is a document as CouchDB shows it with `revs=true`; the winner comes first. Attachments are in the form in
//! which they are stored.

mod dump;

pub use dump::{dump_document, dump_local};

use crate::{ReplicateError, Watch};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::io::Write;
use std::ops::Bound;
use varve_base::Unit;
use varve_docdb::{
    Attachment, AttachmentForm, Direction, Document, DocumentText, Snapshot, write_digest,
    write_revisions,
};
use varve_json::{Number, write_string};

/// Bytes of an attachment that stand on one line: a line is then about 1 MiB.
const PIECE: usize = 768 << 10;

/// Counts of an export.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exported {
    /// Documents, deleted ones too.
    pub documents: u64,
    /// Revisions of them that are known by their ids at least.
    pub revisions: u64,
    /// Leaves of them.
    pub leaves: u64,
    /// Attachments; one that several leaves of a document share counts once.
    pub attachments: u64,
    /// Local documents.
    pub local_documents: u64,
    /// Bytes that were written.
    pub bytes: u64,
}

impl Exported {
    /// Adds the counts of another database.
    pub fn add(&mut self, other: &Exported) {
        self.documents += other.documents;
        self.revisions += other.revisions;
        self.leaves += other.leaves;
        self.attachments += other.attachments;
        self.local_documents += other.local_documents;
        self.bytes += other.bytes;
    }
}

/// Writes everything that a snapshot shows. The same snapshot gives the same bytes.
///
/// # Errors
/// Damage; errors of the output; [`ReplicateError::Interrupted`].
pub fn export(
    snapshot: &Snapshot,
    name: &str,
    out: &mut dyn Write,
    watch: Watch<'_>,
) -> Result<Exported, ReplicateError> {
    let mut export = Export::new(snapshot, out);
    export.database(name)?;
    export.purges()?;
    export.locals()?;
    let info = snapshot.info()?;
    let total = info.doc_count.saturating_add(info.doc_del_count);
    watch.progress.begin("documents", Unit::Items, Some(total));
    for change in export.snapshot.changes(0, Direction::Forward)? {
        watch.stop.check()?;
        let id = change?.id;
        if let Some(document) = export.snapshot.document(&id)? {
            export.document(&document)?;
        }
        watch.progress.advance(1);
    }
    watch.progress.end();
    export.end(name)?;
    Ok(export.counts)
}

/// Writes the lines of one document with all of its leaves; `false` if nothing is known of it.
///
/// # Errors
/// As [`export`].
pub fn export_document(
    snapshot: &Snapshot,
    id: &str,
    out: &mut dyn Write,
) -> Result<bool, ReplicateError> {
    match snapshot.document(id)? {
        None => Ok(false),
        Some(document) => {
            Export::new(snapshot, out).document(&document)?;
            Ok(true)
        }
    }
}

/// An export under way.
struct Export<'e> {
    snapshot: Snapshot,
    out: &'e mut dyn Write,
    line: Vec<u8>,
    counts: Exported,
}

impl<'e> Export<'e> {
    fn new(snapshot: &Snapshot, out: &'e mut dyn Write) -> Export<'e> {
        Export {
            snapshot: snapshot.in_order(),
            out,
            line: Vec::new(),
            counts: Exported::default(),
        }
    }

    fn begin(&mut self, kind: &str) -> Members<'_> {
        self.line.clear();
        self.line.extend_from_slice(b"{\"type\":");
        write_string(kind, &mut self.line);
        Members(&mut self.line)
    }

    fn write(&mut self) -> Result<(), ReplicateError> {
        self.line.extend_from_slice(b"}\n");
        self.counts.bytes += self.line.len() as u64;
        self.out
            .write_all(&self.line)
            .map_err(ReplicateError::Output)
    }

    fn database(&mut self, name: &str) -> Result<(), ReplicateError> {
        let snapshot = self.snapshot.clone();
        let security = snapshot.security()?;
        let limit = snapshot.purges_limit()?;
        let mut line = self.begin("database");
        line.text("name", name);
        line.raw(
            "partitioned",
            if snapshot.is_partitioned() {
                b"true"
            } else {
                b"false"
            },
        );
        if snapshot.has_access() {
            line.raw("access", b"true");
        }
        line.number("revs_limit", snapshot.revs_limit());
        line.number("purges_limit", limit);
        line.number("update_seq", snapshot.update_seq());
        line.number("purge_seq", snapshot.purge_seq());
        if let Some(security) = security {
            line.raw("security", &security);
        }
        self.write()
    }

    fn purges(&mut self) -> Result<(), ReplicateError> {
        for purge in self.snapshot.purges(0)? {
            let purge = purge?;
            let mut line = self.begin("purge");
            line.text("id", &purge.id);
            let revs = purge.revs.iter().map(ToString::to_string);
            let mut list = Vec::new();
            for rev in revs {
                list.push(if list.is_empty() { b'[' } else { b',' });
                write_string(&rev, &mut list);
            }
            list.extend_from_slice(if list.is_empty() { b"[]" } else { b"]" });
            line.raw("revs", &list);
            self.write()?;
        }
        Ok(())
    }

    fn locals(&mut self) -> Result<(), ReplicateError> {
        let all =
            self.snapshot
                .local_docs(Bound::Unbounded, Bound::Unbounded, Direction::Forward)?;
        for local in all {
            let local = local?;
            let mut text = Vec::new();
            let rev = |out: &mut Vec<u8>| out.extend_from_slice(local.rev.as_bytes());
            DocumentText::local(&local.id, rev, &local.body, &mut text).end();
            self.begin("local").raw("doc", &text);
            self.counts.local_documents += 1;
            self.write()?;
        }
        Ok(())
    }

    fn document(&mut self, document: &Document) -> Result<(), ReplicateError> {
        let snapshot = self.snapshot.clone();
        let (mut leaves, mut written) = (Vec::new(), Vec::<Attachment>::new());
        for node in document.tree().ranked_leaves() {
            let Some(stored) = &node.stored else { continue };
            let mut body = Vec::new();
            snapshot.body(stored, &mut body)?;
            leaves.push(if leaves.is_empty() { b'[' } else { b',' });
            let rev = &node.rev;
            let mut text =
                DocumentText::begin(document.id(), rev, stored.deleted, &body, &mut leaves);
            let history = document.tree().history(rev);
            text.member("_revisions", |out| {
                write_revisions(rev.generation, &history, out)
            });
            let attachments = snapshot.attachments(stored)?;
            if !attachments.is_empty() {
                let mut numbered = Vec::with_capacity(attachments.len());
                for attachment in attachments {
                    let is_same = |known: &Attachment| {
                        known.md5 == attachment.md5
                            && known.is_gzip == attachment.is_gzip
                            && known.stored_length == attachment.stored_length
                    };
                    let known = written.iter().position(is_same);
                    let number = known.unwrap_or(written.len()) + 1;
                    if known.is_none() {
                        self.data(&snapshot, number, &attachment)?;
                        written.push(attachment.clone());
                    }
                    numbered.push((attachment, number));
                }
                text.member("_attachments", |out| stubs(&numbered, out));
            }
            text.end();
            self.counts.leaves += 1;
        }
        leaves.extend_from_slice(if leaves.is_empty() { b"[]" } else { b"]" });
        let mut line = self.begin("document");
        line.text("id", document.id());
        line.number("seq", document.seq());
        line.raw("leaves", &leaves);
        self.counts.documents += 1;
        self.counts.revisions += document.tree().len() as u64;
        self.write()
    }

    /// Writes the data of an attachment; one without bytes has one line, too.
    fn data(
        &mut self,
        snapshot: &Snapshot,
        number: usize,
        attachment: &Attachment,
    ) -> Result<(), ReplicateError> {
        let range = 0..attachment.stored_length;
        let mut reader = snapshot.attachment_reader(attachment, AttachmentForm::Stored, range);
        loop {
            let mut piece = Vec::new();
            let has_more = reader.read(&mut piece, PIECE)?;
            let mut line = self.begin("attachment");
            line.number("number", number as u64);
            line.text("data", &STANDARD.encode(&piece));
            self.write()?;
            if !has_more {
                break;
            }
        }
        self.counts.attachments += 1;
        Ok(())
    }

    fn end(&mut self, name: &str) -> Result<(), ReplicateError> {
        let documents = self.counts.documents;
        let mut line = self.begin("end");
        line.text("name", name);
        line.number("documents", documents);
        self.write()
    }
}

/// Members of an object in the making.
struct Members<'l>(&'l mut Vec<u8>);

impl Members<'_> {
    fn raw(&mut self, name: &str, value: &[u8]) {
        self.0.push(b',');
        write_string(name, self.0);
        self.0.push(b':');
        self.0.extend_from_slice(value);
    }

    fn text(&mut self, name: &str, value: &str) {
        self.raw(name, b"");
        write_string(value, self.0);
    }

    fn number(&mut self, name: &str, value: u64) {
        self.raw(name, b"");
        Number::from(value).write(self.0);
    }
}

/// The value of `_attachments`, with the number of each one's data.
fn stubs(attachments: &[(Attachment, usize)], out: &mut Vec<u8>) {
    for (index, (attachment, number)) in attachments.iter().enumerate() {
        out.push(if index > 0 { b',' } else { b'{' });
        write_string(&attachment.name, out);
        out.extend_from_slice(b":{\"content_type\":");
        write_string(&attachment.content_type, out);
        let mut members = Members(out);
        members.number("revpos", attachment.revpos);
        let mut digest = Vec::new();
        write_digest(&attachment.md5, &mut digest);
        members.text("digest", &String::from_utf8_lossy(&digest));
        members.number("length", attachment.length);
        if attachment.is_gzip {
            members.text("encoding", "gzip");
            members.number("encoded_length", attachment.stored_length);
        }
        members.number("number", *number as u64);
        out.push(b'}');
    }
    out.push(b'}');
}
