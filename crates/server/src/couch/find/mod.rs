//! Queries by selector, and their indexes.

mod definitions;
mod manage;

use std::sync::Arc;
use std::time::Instant;

use hyper::StatusCode;
use varve_base::ReadMode;
use varve_docdb::Snapshot;
use varve_json::{Object, Value};
use varve_views::find::{
    Bookmark, Cursor, FindError, FindOptions, FindStats, Hit, JsonIndex, Plan, Step, explain,
    explain_unusable,
};
use varve_views::{IndexSnapshot, ViewIndex};

use crate::couch::Next;
use crate::couch::call::Call;
use crate::couch::document::read::row_extras;
use crate::couch::document::render::{Shown, log_left_out};
use crate::couch::failures;
use crate::couch::views::IndexWait;
use crate::couch::views::indexes::{Refresh, discard_if_damaged, fresh, index_of};
use crate::http::{BodyWriter, FailureKind};
use crate::{Answer, Failure};
pub use definitions::Definitions;
pub use manage::{delete, delete_many, index};

/// Content type of all answers.
const JSON: &str = "application/json";

/// Answers `POST /{db}/_find`.
///
/// # Errors
/// 400 for an invalid query, or if no index can answer.
pub fn answer(call: &Call) -> Result<Next, Failure> {
    let body = body_of(call)?;
    let mut query = FindQuery::of(call, &body)?;
    if has_no_alternative(&body) {
        let body = b"{\"docs\":[\r\n]}\r\n\n".to_vec();
        return Ok(Next::Answered(Answer::json(StatusCode::OK, body)));
    }
    let streams = call.streams();
    let answer = move |query: FindQuery| {
        streams.stream(JSON, move |mut writer| async move {
            let written = query.write(&mut writer).await;
            if let (Err(failure), Some(index), Some(view)) = (&written, &query.index, &query.view) {
                discard_if_damaged(index, view, failure);
            }
            written?;
            Ok(writer.finish())
        })
    };
    Ok(match query.index(call)? {
        PlanIndex::None => Next::Answered(answer(query)?),
        PlanIndex::Ready(view) => {
            query.view = Some(view);
            Next::Answered(answer(query)?)
        }
        PlanIndex::Behind(refresh, index) => {
            let snapshot = query.snapshot.clone();
            let wait = IndexWait::new(refresh, index, snapshot, move |view| {
                query.view = Some(view);
                answer(query)
            });
            Next::Index(Box::new(wait))
        }
    })
}

/// Answers `POST /{db}/_explain`.
///
/// # Errors
/// 400 for an invalid query.
pub fn explain_query(call: &Call) -> Result<Answer, Failure> {
    let snapshot = call.snapshot();
    let options = options_of(call, &snapshot, &body_of(call)?)?;
    let indexes = call.database.definitions.of(&call.designs())?;
    let name = &call.database.name;
    let told = match Plan::new(&indexes, &options) {
        Err(FindError::NoSort | FindError::NoSortInPartition | FindError::NoGlobalSort) => {
            explain_unusable(name, &indexes, &options)
        }
        plan => explain(name, &plan?, &options),
    };
    Ok(json(told))
}

/// The query that a request sends, about the partition that its URL names, if it names one.
fn options_of(call: &Call, snapshot: &Snapshot, body: &Object) -> Result<FindOptions, Failure> {
    let options = FindOptions::read(body, call.app.settings().requests.find_limit)?;
    Ok(options.within(snapshot.is_partitioned(), call.partition.as_ref())?)
}

/// The object that a request sends.
fn body_of(call: &Call) -> Result<Object, Failure> {
    match call.json_body()? {
        Value::Object(body) => Ok(body),
        _ => Err(Failure::bad_request("Request body must be a JSON object")),
    }
}

/// Whether a selector is an empty `$or` or `$and` and nothing else: CouchDB takes either for a range without documents,
/// and answers without looking at any.
fn has_no_alternative(body: &Object) -> bool {
    let selector = body.get("selector").and_then(Value::as_object);
    let mut members = selector.into_iter().flat_map(Object::iter);
    let only = members.next().filter(|_| members.next().is_none());
    only.is_some_and(|(name, items)| {
        matches!(name, "$or" | "$and") && items.as_array().is_some_and(<[Value]>::is_empty)
    })
}

fn json(object: Object) -> Answer {
    let mut body = Vec::new();
    varve_json::write_object(&object, &mut body);
    body.push(b'\n');
    Answer::json(StatusCode::OK, body)
}

/// Rows that a search looks at before others get its thread, and before it sees that its client has gone.
const TURN: u64 = 512;

/// Documents that a search could not read: it goes on without them, and says so.
#[derive(Default)]
struct Unreadable {
    first: Option<Failure>,
    count: u64,
}

impl Unreadable {
    /// Whether a document was read; a damaged one is logged and counts as one that does not pass.
    fn passed_over(&mut self, read: Result<bool, Failure>) -> Result<bool, Failure> {
        match read {
            Err(failure) if failure.kind == FailureKind::Internal => {
                log_left_out(&failure);
                self.count += 1;
                self.first.get_or_insert(failure);
                Ok(false)
            }
            other => other,
        }
    }

    fn warning(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        Some(format!(
            "{} documents cannot be read and are left out. The first: {}",
            self.count, first.reason
        ))
    }
}

/// One query, whose documents are found and written in a pool.
struct FindQuery {
    begun: Instant,
    snapshot: Snapshot,
    options: FindOptions,
    indexes: Arc<Vec<JsonIndex>>,
    /// The index of the plan, and its ranges that are read.
    index: Option<Arc<ViewIndex>>,
    view: Option<IndexSnapshot>,
    /// So many documents may be read for each that is found before the client gets a warning.
    scan_warning: u64,
}

/// The index of a plan, as a request finds it.
enum PlanIndex {
    /// The plan reads all documents.
    None,
    Ready(IndexSnapshot),
    /// The index has to be brought up to date first.
    Behind(Refresh, Arc<ViewIndex>),
}

impl FindQuery {
    fn of(call: &Call, body: &Object) -> Result<FindQuery, Failure> {
        let begun = Instant::now();
        let snapshot = call.snapshot();
        let options = options_of(call, &snapshot, body)?;
        let indexes = call.database.definitions.of(&call.designs())?;
        let plan = Plan::new(&indexes, &options)?;
        // A bookmark of another index is refused while there is a status to say so.
        plan.ranges_left(&options)?;
        Ok(FindQuery {
            begun,
            snapshot,
            options,
            indexes,
            index: None,
            view: None,
            scan_warning: call.app.settings().requests.scan_warning,
        })
    }

    fn index(&mut self, call: &Call) -> Result<PlanIndex, Failure> {
        let Some(index) = Plan::new(&self.indexes, &self.options)?.index else {
            return Ok(PlanIndex::None);
        };
        let snapshot = &self.snapshot;
        let design = call.designs().document(index.design())?;
        let design = design.ok_or_else(failures::missing)?;
        if call.reads == ReadMode::CachedOnly {
            let (index, view) = fresh(call, snapshot, &design)?;
            self.index = Some(index);
            return Ok(PlanIndex::Ready(view));
        }
        let index = index_of(&call.app, &call.database, snapshot, &design)?;
        self.index = Some(Arc::clone(&index));
        if !self.options.updates() {
            return Ok(PlanIndex::Ready(index.current(snapshot)?));
        }
        Ok(match index.get_if_current(snapshot) {
            Some(view) => PlanIndex::Ready(view),
            None => {
                let refresh = Refresh::of(&call.app, &call.database, design.id());
                PlanIndex::Behind(refresh, index)
            }
        })
    }

    async fn write(&self, writer: &mut BodyWriter) -> Result<(), Failure> {
        let options = &self.options;
        let plan = Plan::new(&self.indexes, options)?;
        let mut cursor = Cursor::new(&plan, options, &self.snapshot, self.view.as_ref())?;
        writer.buffer().extend_from_slice(b"{\"docs\":[");
        let mut document = Vec::new();
        let mut any = false;
        let mut unreadable = Unreadable::default();
        loop {
            let read = |hit: &Hit, out: &mut Vec<u8>| unreadable.passed_over(self.read(hit, out));
            match cursor.next(TURN, &mut document, read)? {
                Step::Found => {}
                Step::Paused => {
                    writer.pause().await?;
                    continue;
                }
                Step::End => break,
            }
            let out = writer.buffer();
            out.extend_from_slice(if any { b",\r\n" } else { b"\r\n" });
            out.append(&mut document);
            any = true;
            writer.flush_if_full().await?;
        }
        let stats = cursor.stats();
        let out = writer.buffer();
        out.extend_from_slice(b"\r\n],\r\n\"bookmark\": ");
        varve_json::write_string(&Bookmark::write(cursor.bookmark()), out);
        if options.execution_stats {
            self.write_stats(stats, out);
        }
        let mut warnings = plan.warnings.clone();
        warnings.extend(stats.warning(self.scan_warning).map(str::to_owned));
        warnings.extend(unreadable.warning());
        if !warnings.is_empty() {
            out.extend_from_slice(b",\r\n\"warning\": ");
            varve_json::write_string(&warnings.join("\n"), out);
        }
        Ok(writer.write(b"}\r\n\n").await?)
    }

    /// Appends a document that may pass; the index may be older than the documents.
    fn read(&self, hit: &Hit, out: &mut Vec<u8>) -> Result<bool, Failure> {
        let conflicts = self.options.conflicts;
        let id = hit.id();
        let document = match hit {
            Hit::Document(_) if !conflicts => None,
            Hit::Document(_) | Hit::Row(_) => self.snapshot.document(&id)?,
        };
        let found = match (&document, hit) {
            (Some(document), _) if document.is_deleted() => None,
            (Some(document), _) => document.winner(),
            (None, Hit::Document(row)) => Some((&row.rev, &row.stored)),
            (None, Hit::Row(_)) => None,
        };
        let Some((rev, stored)) = found else {
            return Ok(false);
        };
        let shown = Shown {
            snapshot: &self.snapshot,
            id: &id,
            rev,
            stored,
            document: document.as_ref(),
            extras: row_extras(conflicts, false, false),
            whole_after: 0,
        };
        shown.write_whole(out)?;
        Ok(true)
    }

    fn write_stats(&self, stats: FindStats, out: &mut Vec<u8>) {
        let elapsed = self.begun.elapsed().as_micros();
        let (by_one, by_quorum) = match self.options.reads_quorum() {
            true => (0, stats.documents),
            false => (stats.documents, 0),
        };
        let text = format!(
            ",\r\n\"execution_stats\": {{\"total_keys_examined\":{},\"total_docs_examined\":{},\
             \"total_quorum_docs_examined\":{},\"results_returned\":{},\
             \"execution_time_ms\":{}.{:03}}}",
            stats.keys,
            by_one,
            by_quorum,
            stats.results,
            elapsed / 1000,
            elapsed % 1000
        );
        out.extend_from_slice(text.as_bytes());
    }
}
