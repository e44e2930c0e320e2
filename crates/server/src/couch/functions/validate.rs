//! Edits pass the database's validation functions and the checks of design documents before they
//! are written.

use std::sync::Arc;

use varve_btree::Direction;
use varve_docdb::{Accepted, DESIGN_PREFIX, Edit, IdRange, Mode, Rev, Snapshot};
use varve_js::{Limits, Refusal, Verdict};
use varve_views::check_design;

use crate::Failure;
use crate::couch::access;
use crate::couch::call::Call;
use crate::couch::document::text::{text_of as text_of_revision, text_with_history};
use crate::couch::functions::scripts;
use crate::couch::functions::scripts::Script;
use crate::couch::history;
use crate::couch::partitions::{self, FullPartitions};
use crate::couch::replication::rules;
use crate::couch::users;
use crate::http::FailureKind;

/// A database's validation functions, as of the design documents that are listed.
#[derive(Debug, Default)]
pub struct Validators {
    /// Design documents that were looked at.
    seen: Vec<(String, Rev)>,
    /// The functions, by design document.
    scripts: Vec<(String, Script)>,
    /// Within which the functions run.
    limits: Option<Limits>,
    /// Why the functions of a design document are not known: nothing that they could refuse may be
    /// written.
    unknown: Option<Failure>,
}

impl Validators {
    /// The functions of this snapshot; `known` again if no design document has changed.
    ///
    /// # Errors
    /// 500 if the file cannot be read.
    pub fn of(
        snapshot: &Snapshot,
        known: &Arc<Validators>,
        limits: Limits,
    ) -> Result<Arc<Validators>, Failure> {
        let rows = snapshot.all_docs(IdRange::DESIGN, Direction::Forward)?;
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        let same = |(row, (id, rev)): (&varve_docdb::AllDocsRow, &(String, Rev))| {
            row.id() == id && row.rev == *rev
        };
        if known.limits == Some(limits)
            && rows.len() == known.seen.len()
            && rows.iter().zip(&known.seen).all(same)
        {
            return Ok(Arc::clone(known));
        }
        let mut validators = Validators {
            limits: Some(limits),
            ..Validators::default()
        };
        for row in rows {
            let id = row.id().to_owned();
            match script_of(snapshot, &row, limits)? {
                Ok(None) => {}
                Ok(Some(script)) => validators.scripts.push((id.clone(), script)),
                Err(damage) => validators.unknown = Some(unknown(&row, &damage)),
            }
            validators.seen.push((id, row.rev));
        }
        Ok(Arc::new(validators))
    }

    /// Whether there is nothing to check an edit against.
    fn leave(&self, edit: &Edit) -> bool {
        let has_none = self.scripts.is_empty() && self.unknown.is_none();
        has_none && !edit.id().starts_with(DESIGN_PREFIX)
    }
}

/// The validation function of a design document, or the damage to it.
fn script_of(
    snapshot: &Snapshot,
    row: &varve_docdb::AllDocsRow,
    limits: Limits,
) -> Result<Result<Option<Script>, String>, Failure> {
    let mut text = Vec::new();
    match snapshot.body(&row.stored, &mut text) {
        Err(error) if error.is_damage() => return Ok(Err(error.to_string())),
        read => read?,
    }
    let document = match varve_json::parse(&text) {
        Ok(document) => document,
        Err(error) => return Ok(Err(error.to_string())),
    };
    let source = document.get("validate_doc_update");
    let Some(source) = source.and_then(varve_json::Value::as_str) else {
        return Ok(Ok(None));
    };
    let whole = text_of_revision(snapshot, row.id(), &row.rev, &row.stored)?;
    Ok(Ok(Some(Script::new(source, &whole, limits))))
}

/// The answer to a write where a design document cannot be read.
fn unknown(row: &varve_docdb::AllDocsRow, damage: &str) -> Failure {
    let what = "it may have a validation function, so documents are not written until an admin \
                deletes or replaces it";
    Failure::internal(format!("{damage}; {what}")).about(row.id(), &row.rev)
}

/// Whether nothing looks at the texts of documents before they are written, but for those of design documents.
///
/// # Errors
/// 500 if the file cannot be read.
pub fn takes_unseen(call: &Call) -> Result<bool, Failure> {
    let documents = call.snapshot();
    if has_rules(call) || documents.has_access() || documents.is_partitioned() {
        return Ok(false);
    }
    let validators = call
        .database
        .validators(&call.designs(), call.app.limits())?;
    Ok(validators.scripts.is_empty() && validators.unknown.is_none())
}

/// Whether the server itself looks at each document of the database.
fn has_rules(call: &Call) -> bool {
    users::is_about(call) || rules::is_about(call) || history::is_about(call)
}

/// Whether an edit may be written without being looked at.
///
/// # Errors
/// 500 if the file cannot be read.
pub fn is_free(call: &Call, edit: &Edit, mode: Mode) -> Result<bool, Failure> {
    if has_rules(call) {
        return Ok(false);
    }
    let snapshot = call.snapshot();
    let validators = call
        .database
        .validators(&call.designs(), call.app.limits())?;
    let edits = std::slice::from_ref(edit);
    partitions::check_edits(&snapshot, edits)?;
    let full = FullPartitions::among(call, &snapshot, edits, mode)?;
    Ok(full.is_none() && edits.iter().all(|edit| validators.leave(edit)))
}

/// Writes those of the edits that may be written; outcomes have the order of the edits.
///
/// # Errors
/// 500 if nothing could be written; 400 for an id that no document of this database has.
pub fn update(
    call: &Call,
    edits: Vec<Edit>,
    mode: Mode,
) -> Result<Vec<Result<Accepted, Failure>>, Failure> {
    let snapshot = call.snapshot();
    let validators = call
        .database
        .validators(&call.designs(), call.app.limits())?;
    partitions::check_edits(&snapshot, &edits)?;
    let full = FullPartitions::among(call, &snapshot, &edits, mode)?;
    let is_left = |edit: &Edit| full.is_none() && validators.leave(edit);
    if !has_rules(call) && edits.iter().all(is_left) {
        return write(call, edits, mode);
    }
    let check = Check::new(call, &snapshot, &validators)?;
    let mut refusals = Vec::with_capacity(edits.len());
    let mut allowed = Vec::with_capacity(edits.len());
    for edit in edits {
        let admitted = full.admit(&snapshot, &edit);
        match admitted.and_then(|()| check.admit(edit)) {
            Ok(edit) => {
                refusals.push(None);
                allowed.push(edit);
            }
            Err(failure) if failure.kind == FailureKind::NeedsTime => return Err(failure),
            Err(failure) => refusals.push(Some(failure)),
        }
    }
    let mut outcomes = write(call, allowed, mode)?.into_iter();
    let in_order = refusals.into_iter().map(|refusal| match refusal {
        Some(failure) => Err(failure),
        None => outcomes
            .next()
            .unwrap_or_else(|| Err(Failure::internal("the edit has no outcome"))),
    });
    Ok(in_order.collect())
}

fn write(
    call: &Call,
    edits: Vec<Edit>,
    mode: Mode,
) -> Result<Vec<Result<Accepted, Failure>>, Failure> {
    let is_design = |edit: &&Edit| edit.id().starts_with(DESIGN_PREFIX);
    let designs: Vec<String> = edits
        .iter()
        .filter(is_design)
        .map(|edit| edit.id().to_owned())
        .collect();
    let edits = edits.into_iter().map(|edit| edit.written_by(&call.viewer));
    let outcomes = call.database.documents.update(edits.collect(), mode)?;
    let stored = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    call.app.server().metrics.couch.writes.inc_by(stored as u64);
    if !designs.is_empty() {
        let snapshot = call.designs();
        let indexes = &call.database.indexes;
        designs
            .iter()
            .for_each(|id| indexes.follow(&call.app, &snapshot, id));
    }
    let outcomes = outcomes.into_iter();
    Ok(outcomes
        .map(|outcome| outcome.map_err(Failure::from))
        .collect())
}

/// Everything that the edits of one request are checked against.
struct Check<'a> {
    call: &'a Call,
    snapshot: &'a Snapshot,
    validators: &'a Validators,
    user: Vec<u8>,
    security: Vec<u8>,
}

impl<'a> Check<'a> {
    fn new(
        call: &'a Call,
        snapshot: &'a Snapshot,
        validators: &'a Validators,
    ) -> Result<Check<'a>, Failure> {
        let mut user = Vec::new();
        scripts::write_user(call, &mut user);
        Ok(Check {
            call,
            snapshot,
            validators,
            user,
            security: snapshot.security()?.unwrap_or_else(|| b"{}".to_vec()),
        })
    }

    /// The edit as it is to be written.
    fn admit(&self, mut edit: Edit) -> Result<Edit, Failure> {
        if users::is_about(self.call) {
            users::admit(self.call, self.snapshot, &mut edit)?;
        }
        if rules::is_about(self.call) {
            rules::admit(self.call, self.snapshot, &mut edit)?;
        }
        if history::is_about(self.call) {
            history::check_id(edit.id())?;
        }
        self.edit(&edit)?;
        Ok(edit)
    }

    fn edit(&self, edit: &Edit) -> Result<(), Failure> {
        if edit.is_local() {
            return Ok(());
        }
        if edit.id().starts_with(DESIGN_PREFIX) {
            if access::is_data(self.call, edit) {
                return Ok(());
            }
            self.call.check_admin()?;
            if !edit.is_deletion() {
                let is_partitioned = self.snapshot.is_partitioned();
                check_design(
                    &edit.body().to_object()?,
                    self.call.app.limits(),
                    is_partitioned,
                )?;
            }
            return Ok(());
        }
        if let Some(unknown) = &self.validators.unknown {
            return Err(unknown.clone());
        }
        if self.validators.scripts.is_empty() {
            return Ok(());
        }
        let document = text_of(edit);
        let previous = self.previous(edit)?;
        for (design, script) in &self.validators.scripts {
            let verdict = scripts::validate(
                (script, self.call.budget),
                &document,
                previous.as_deref(),
                &self.user,
                &self.security,
            );
            let verdict = verdict.map_err(|failure| Failure {
                reason: format!("validate_doc_update of {design}: {}", failure.reason),
                ..failure
            })?;
            match verdict {
                Verdict::Allowed => {}
                Verdict::Refused(Refusal::Forbidden(reason)) => {
                    return Err(Failure::forbidden(reason));
                }
                Verdict::Refused(Refusal::Unauthorized(reason)) => {
                    return Err(Failure::unauthorized(reason));
                }
            }
        }
        Ok(())
    }

    /// The revision that an edit continues, as a document.
    fn previous(&self, edit: &Edit) -> Result<Option<Vec<u8>>, Failure> {
        let Some(document) = self.snapshot.document(edit.id())? else {
            return Ok(None);
        };
        let Some((rev, stored)) = edit.rev().and_then(|rev| document.revision(rev)) else {
            return Ok(None);
        };
        text_with_history(self.snapshot, &document, rev, stored).map(Some)
    }
}

/// The document as it is to be, with the revision that it names.
fn text_of(edit: &Edit) -> Vec<u8> {
    let mut text = b"{\"_id\":".to_vec();
    varve_json::write_string(edit.id(), &mut text);
    if let Some(rev) = edit.rev() {
        text.extend_from_slice(b",\"_rev\":\"");
        rev.write(&mut text);
        text.push(b'"');
    }
    if edit.is_deletion() {
        text.extend_from_slice(b",\"_deleted\":true");
    }
    if let Some(access) = edit.access() {
        text.extend_from_slice(b",\"_access\":");
        varve_json::write(access, &mut text);
    }
    // The rest of it stands behind the body's bracket.
    let body = edit.body().text();
    match body {
        b"{}" => text.push(b'}'),
        _ => {
            text.push(b',');
            text.extend_from_slice(body.get(1..).unwrap_or_default());
        }
    }
    text
}
