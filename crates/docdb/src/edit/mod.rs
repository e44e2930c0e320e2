//! Edits as clients send them: a document with its special members taken apart.

mod access;
mod copied;
mod deltas;
mod incoming;
mod many;
mod prepare;

pub(crate) use access::EditAccess;
pub(crate) use incoming::{Coding, Content, IncomingAttachment};
pub use many::Edits;
pub(crate) use prepare::{Prepared, PreparedAttachment, Preparer, Text};

use crate::access::MEMBER;
use crate::record::LOCAL_PREFIX;
use crate::{Announced, EditError, Partition, Rev, RevError, Uploaded, Viewer, split_id};
use varve_json::{Body, Document, JsonError, Object, Value};

/// How edits are merged into a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The database gives the next revision; an edit that does not continue a leaf is refused.
    Interactive,
    /// The edit brings its revision (`new_edits: false`); branches become conflicts.
    Replicated,
}

/// Result of an accepted edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// The document.
    pub id: String,
    /// Its revision; `0-N` for a local document.
    pub rev: Rev,
    /// Whether the revision was not there before.
    pub is_new: bool,
}

/// Result of one edit.
pub type EditOutcome = Result<Accepted, EditError>;

/// Prefix of the ids of design documents.
pub const DESIGN_PREFIX: &str = "_design/";

/// One edit of one document.
#[derive(Clone, Debug)]
pub struct Edit {
    pub(crate) id: String,
    /// The revision that is edited (interactive) or made (replicated), then its ancestors.
    pub(crate) revs: Vec<Rev>,
    /// For a local document, the number behind `0-`.
    pub(crate) local_rev: u64,
    pub(crate) deleted: bool,
    pub(crate) body: Body,
    pub(crate) attachments: Vec<IncomingAttachment>,
    /// `_access`, which counts in a database with access.
    pub(crate) access: Option<Value>,
    /// The writer, whose names count there, too.
    pub(crate) author: Viewer,
}

impl Edit {
    /// Takes a document apart. `id` is the id from elsewhere, such as a URL; without it `_id`
    /// counts, and without both the id is empty until [`Edit::set_id`].
    ///
    /// # Errors
    /// The first special member that is wrong.
    pub fn new(id: Option<&str>, document: Object) -> Result<Edit, EditError> {
        Edit::of(id, Document::new(document, is_special))
    }

    /// The same with a document that was taken apart while it was read, as [`Edits`] are.
    fn of(id: Option<&str>, document: Document) -> Result<Edit, EditError> {
        let Document { special, body } = document;
        let mut edit = Edit {
            id: String::new(),
            revs: Vec::new(),
            local_rev: 0,
            deleted: false,
            body,
            attachments: Vec::new(),
            access: None,
            author: Viewer::none(),
        };
        match (id, special.iter().find(|(name, _)| name == "_id")) {
            (Some(id), _) => edit.set_id(id.to_owned())?,
            (None, Some((_, Value::String(id)))) => edit.set_id(id.clone())?,
            (None, Some(_)) => return Err(EditError::IdNotAString),
            (None, None) => {}
        }
        let (mut rev, mut has_history) = (None, false);
        for (name, value) in special {
            check_member(&name)?;
            match (name.as_str(), value) {
                (MEMBER, value) => edit.access = Some(value),
                ("_rev", Value::String(text)) => rev = Some(text),
                ("_rev", _) => return Err(RevError.into()),
                ("_revisions", value) => has_history = edit.set_history(&value)?,
                ("_deleted", Value::Bool(deleted)) => edit.deleted = deleted,
                ("_attachments", Value::Object(list)) => edit.attachments = incoming::all(list)?,
                ("_deleted" | "_attachments", _) => return Err(EditError::BadMember(name)),
                _ => {}
            }
        }
        match rev {
            // Of the two `_revisions` counts, as in CouchDB.
            Some(rev) if has_history && !edit.is_local() => drop(rev.parse::<Rev>()?),
            Some(rev) if !has_history => edit.set_rev(&rev)?,
            _ => {}
        }
        Ok(edit)
    }

    /// Takes `_revisions`; returns whether it names any.
    fn set_history(&mut self, value: &Value) -> Result<bool, EditError> {
        if !self.is_local() {
            self.revs = revisions(value)?;
            return Ok(!self.revs.is_empty());
        }
        let bad = || EditError::BadMember("_revisions".to_owned());
        let start = value.get("start").and_then(Value::as_u64);
        let ids = value.get("ids").and_then(Value::as_array);
        let last = ids.and_then(<[Value]>::first).and_then(Value::as_str);
        let last = last.filter(|_| start == Some(0)).ok_or_else(bad)?;
        self.set_rev(&format!("0-{last}"))?;
        Ok(true)
    }

    /// Reads and takes apart a document's JSON text.
    ///
    /// # Errors
    /// [`EditError::Json`], [`EditError::NotAnObject`], or as [`Edit::new`].
    pub fn parse(id: Option<&str>, text: &[u8]) -> Result<Edit, EditError> {
        match Document::parse(text, is_special) {
            Ok(document) => Edit::of(id, document),
            Err(JsonError::NotAnObject { .. }) => Err(EditError::NotAnObject),
            Err(error) => Err(EditError::Json(error)),
        }
    }

    /// An edit that deletes a revision.
    ///
    /// # Errors
    /// As [`Edit::set_id`] and [`Edit::set_rev`].
    pub fn deletion(id: &str, rev: &str) -> Result<Edit, EditError> {
        let mut edit = Edit::new(Some(id), Object::new())?;
        edit.deleted = true;
        edit.set_rev(rev)?;
        Ok(edit)
    }

    /// The document's id; empty if none was given yet.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Gives the document its id.
    ///
    /// # Errors
    /// [`EditError::IdEmpty`], [`EditError::IdReserved`].
    pub fn set_id(&mut self, id: String) -> Result<(), EditError> {
        check_id(&id)?;
        self.id = id;
        Ok(())
    }

    /// Refuses an id that no document of a partitioned database has.
    ///
    /// # Errors
    /// [`EditError::NoPartition`], [`EditError::Partition`], or as [`Edit::set_id`] for what stands behind the partition.
    pub fn check_partition(&self) -> Result<(), EditError> {
        if is_reserved(&self.id) {
            return Ok(());
        }
        let (partition, rest) = split_id(&self.id).ok_or(EditError::NoPartition)?;
        Partition::new(partition)?;
        check_id(rest)
    }

    /// Whether this is a local document, which has no history.
    pub fn is_local(&self) -> bool {
        self.id.starts_with(LOCAL_PREFIX)
    }

    /// Whether the edit deletes.
    pub fn is_deletion(&self) -> bool {
        self.deleted
    }

    /// The revision that the edit names first.
    pub fn rev(&self) -> Option<&Rev> {
        self.revs.first()
    }

    /// Names the revision that is edited, as `rev` in a query does. Known ancestors stay if they
    /// begin with it.
    ///
    /// # Errors
    /// [`EditError::InvalidRev`].
    pub fn set_rev(&mut self, text: &str) -> Result<(), EditError> {
        if self.is_local() {
            let number = text
                .strip_prefix("0-")
                .and_then(|number| number.parse().ok());
            // Half the range is left, so that no chain of edits overflows.
            let number = number.filter(|number| *number < u64::MAX / 2);
            self.local_rev = number.ok_or(RevError)?;
            return Ok(());
        }
        let rev: Rev = text.parse()?;
        if self.revs.first() != Some(&rev) {
            self.revs = vec![rev];
        }
        Ok(())
    }

    /// Says who writes the document. In a database with access, an edit of an unknown author is refused.
    #[must_use]
    pub fn written_by(self, author: &Viewer) -> Edit {
        let author = author.clone();
        Edit { author, ..self }
    }

    /// The member `_access` of the document.
    pub fn access(&self) -> Option<&Value> {
        self.access.as_ref()
    }

    /// The document without its special members.
    pub fn body(&self) -> &Body {
        &self.body
    }

    /// Puts another body in its place; names that begin with `_` do not belong there.
    pub fn set_body(&mut self, body: &Object) {
        self.body = Body::from(body);
    }

    /// Sets an attachment whose data [`Edit::bring`] brings; it becomes the first of the list.
    ///
    /// # Errors
    /// [`EditError::AttachmentName`].
    pub fn attach(&mut self, announced: Announced) -> Result<(), EditError> {
        incoming::check_name(&announced.name)?;
        self.detach(&announced.name);
        self.attachments
            .insert(0, IncomingAttachment::awaited(announced));
        Ok(())
    }

    /// Removes an attachment; returns whether it was there.
    pub fn detach(&mut self, name: &str) -> bool {
        let before = self.attachments.len();
        self.attachments.retain(|known| known.name != name);
        self.attachments.len() < before
    }

    /// Makes the edit delete the revision it continues.
    pub fn delete(&mut self) {
        self.deleted = true;
    }

    /// Makes an edit of this document one of another, whose revision `rev` it edits, if any.
    ///
    /// # Errors
    /// As [`Edit::set_id`] and [`Edit::set_rev`].
    pub fn copy_to(&mut self, id: &str, rev: Option<&str>) -> Result<(), EditError> {
        self.set_id(id.to_owned())?;
        self.revs.clear();
        self.attachments
            .iter_mut()
            .for_each(IncomingAttachment::anew);
        rev.map_or(Ok(()), |rev| self.set_rev(rev))
    }

    /// The attachments whose data has still to come, in order.
    pub fn awaited(&self) -> impl Iterator<Item = Announced> {
        self.attachments
            .iter()
            .filter_map(IncomingAttachment::announced)
    }

    /// Brings the data of an attachment that was awaited; data for another name is dropped.
    pub fn bring(&mut self, name: &str, data: Uploaded) {
        let mut awaited = self.attachments.iter_mut();
        let awaited = awaited.find(|each| each.name == name && each.announced().is_some());
        if let Some(attachment) = awaited {
            attachment.content = Content::Uploaded(Box::new(data));
        }
    }
}

/// Returns whether a design document or a local one has this id.
fn is_reserved(id: &str) -> bool {
    id.starts_with(LOCAL_PREFIX) || id.starts_with(DESIGN_PREFIX)
}

fn check_id(id: &str) -> Result<(), EditError> {
    match id {
        "" => Err(EditError::IdEmpty),
        _ if id.starts_with('_') && !is_reserved(id) => Err(EditError::IdReserved),
        _ => Ok(()),
    }
}

/// Whether a member is taken out of the body. Replicators' own members in their documents stay.
fn is_special(name: &str) -> bool {
    name.starts_with('_') && !name.starts_with("_replication_")
}

/// Reads `{"start": 3, "ids": ["c…", "b…", "a…"]}`.
fn revisions(value: &Value) -> Result<Vec<Rev>, EditError> {
    let bad = || EditError::BadMember("_revisions".to_owned());
    let start = value.get("start").and_then(Value::as_u64).ok_or_else(bad)?;
    let ids = value.get("ids").and_then(Value::as_array).ok_or_else(bad)?;
    let mut revs = Vec::with_capacity(ids.len());
    for (age, id) in (0u64..).zip(ids) {
        let generation = start.checked_sub(age).filter(|generation| *generation > 0);
        revs.push(Rev {
            generation: generation.ok_or_else(bad)?,
            digest: id.as_str().ok_or_else(bad)?.parse()?,
        });
    }
    Ok(revs)
}

/// Refuses members that begin with `_` and mean nothing.
fn check_member(name: &str) -> Result<(), EditError> {
    const KNOWN: [&str; 11] = [
        "_id",
        "_rev",
        "_revisions",
        "_deleted",
        "_attachments",
        "_revs_info",
        "_conflicts",
        "_deleted_conflicts",
        "_local_seq",
        "_removed",
        "_access",
    ];
    match KNOWN.contains(&name) {
        true => Ok(()),
        false => Err(EditError::BadMember(name.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_documents_are_refused_in_the_peers_words() {
        for (text, reason) in [
            ("[]", "Document must be a JSON object"),
            (r#"{"_foo":1}"#, "Bad special document member: _foo"),
            (r#"{"_rev":"x"}"#, "Invalid rev format"),
            (
                r#"{"_attachments":1}"#,
                "Bad special document member: _attachments",
            ),
            (
                r#"{"_deleted":"yes"}"#,
                "Bad special document member: _deleted",
            ),
            (r#"{"_id":1}"#, "Document id must be a string"),
            (r#"{"_id":""}"#, "Document id must not be empty"),
            (
                r#"{"_id":"_bad"}"#,
                "Only reserved document ids may start with underscore.",
            ),
            (
                r#"{"_attachments":{"_x":{"data":""}}}"#,
                "Attachment name '_x' starts with prohibited character '_'",
            ),
            (
                r#"{"_attachments":{"x":{"data":"%%%"}}}"#,
                "Invalid attachment data for x",
            ),
            (
                r#"{"_revisions":{"start":1,"ids":["a","b"]}}"#,
                "Bad special document member: _revisions",
            ),
        ] {
            assert_eq!(
                Edit::parse(None, text.as_bytes()).unwrap_err().to_string(),
                reason,
                "{text}"
            );
        }
    }

    #[test]
    fn a_history_counts_more_than_a_revision_beside_it() {
        let revs = |text: &str| {
            let edit = Edit::parse(None, text.as_bytes()).unwrap();
            edit.revs.iter().map(Rev::to_string).collect::<Vec<_>>()
        };
        let history = r#"{"_rev":"2-y","_revisions":{"start":1,"ids":["y"]}}"#;
        assert_eq!(revs(history), ["1-y"]);
        let history = r#"{"_revisions":{"start":2,"ids":["x","y"]},"_rev":"2-z"}"#;
        assert_eq!(revs(history), ["2-x", "1-y"]);
        let empty = r#"{"_rev":"2-y","_revisions":{"start":1,"ids":[]}}"#;
        assert_eq!(revs(empty), ["2-y"]);
        let local = br#"{"_id":"_local/x","_revisions":{"start":0,"ids":["7"]}}"#;
        assert_eq!(Edit::parse(None, local).unwrap().local_rev, 7);
    }

    #[test]
    fn ids_of_a_partitioned_database_have_a_partition_and_a_rest() {
        let check = |id: &str| Edit::deletion(id, "0-0").or_else(|_| Edit::deletion(id, "1-0"));
        let check = |id: &str| check(id).unwrap().check_partition();
        for id in ["a:b", "a::", "a:_design/x", "_design/x", "_local/x"] {
            assert_eq!(check(id), Ok(()), "{id}");
        }
        let said = |id: &str| check(id).unwrap_err().to_string();
        assert_eq!(said("a"), "Doc id must be of form partition:id");
        assert_eq!(said(":a"), "Partition must not be empty");
        assert_eq!(said("a:"), "Document id must not be empty");
        let reserved = "Only reserved document ids may start with underscore.";
        assert_eq!(said("a:_b"), reserved);
    }

    #[test]
    fn special_members_leave_the_body() {
        let text =
            br#"{"_id":"_local/x","a":1,"_rev":"0-3","_replication_id":"r","b":2,"_deleted":true}"#;
        let edit = Edit::parse(None, text).unwrap();
        assert!(edit.is_local() && edit.is_deletion());
        assert_eq!(edit.local_rev, 3);
        let body = br#"{"a":1,"_replication_id":"r","b":2}"#;
        assert_eq!(edit.body().text(), body);
    }
}
