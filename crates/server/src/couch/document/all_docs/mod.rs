//! `_all_docs`, `_design_docs` and `_local_docs`: documents as rows.

mod ids;

use std::ops::Bound;

use varve_btree::Direction;
use varve_docdb::{AllDocs, IdRange, LOCAL_PREFIX, LocalDocument, Snapshot};
use varve_json::Value;
use varve_views::QueryOptions;

use crate::couch::call::Call;
use crate::couch::document::read::{row_extras, write_local};
use crate::couch::document::render::{Shown, write_error};
use crate::couch::etag;
use crate::couch::partitions;
use crate::couch::queries::{has_queries, options_of, queries_of};
use crate::couch::rows::{
    Counts, RESULTS_END, RESULTS_HEAD, RESULTS_SEPARATOR, RowSource, Rows, WritingRows,
};
use crate::http::BodyWriter;
use crate::{Answer, Failure};
use ids::Ids;

/// Whose rows are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// All documents.
    All,
    /// Design documents.
    Design,
    /// Local documents.
    Local,
}

/// Answers GET and POST of `/{db}/_all_docs` and its relatives.
///
/// # Errors
/// 400 for options that cannot be used.
pub fn answer(call: Call, which: Which) -> Result<Answer, Failure> {
    if which == Which::All && has_queries(&call) {
        return answer_queries(call, which);
    }
    let options = options_of(&call).map_err(|failure| match has_wrong_keys(&call) {
        true => Failure::bad_request("`keys` body member must be an array."),
        false => failure,
    })?;
    if !call.request.is_read() {
        // In a URL, as CouchDB has it, keys go before ranges.
        options.check_keys()?;
    }
    let query = query_of(&call, &options, which, Absent::AsErrors)?;
    call.stream("application/json", move |mut writer| async move {
        query.write(&mut writer).await?;
        writer.write(b"\n").await?;
        Ok(writer.finish())
    })
}

/// Whether the keys of a body are no array, which CouchDB tells in other words here than for views.
fn has_wrong_keys(call: &Call) -> bool {
    let body = call.json_body().ok();
    let keys = body.as_ref().and_then(|body| body.get("keys"));
    keys.is_some_and(|keys| keys.as_array().is_none())
}

/// The rows of all documents, which a list function pulls.
///
/// # Errors
/// 400 for options that cannot be used.
pub fn for_list(call: &Call) -> Result<RowSource, Failure> {
    let options = options_of(call)?;
    let query = query_of(call, &options, Which::All, Absent::AsErrors)?;
    let numbers = [query.snapshot.update_seq(), query.snapshot.purge_seq()];
    let tag = etag::opaque(&[
        query.incarnation.as_bytes(),
        &numbers.map(u64::to_le_bytes).concat(),
    ]);
    let tag = (!query.snapshot.is_restricted()).then_some(tag);
    let open = move |mut writer: BodyWriter| {
        let query = query.clone();
        let write = async move {
            query.write(&mut writer).await?;
            Ok(writer.finish())
        };
        Box::pin(write) as WritingRows
    };
    let open = Box::new(open);
    Ok(RowSource { tag, open })
}

/// Answers `POST /{db}/_all_docs/queries` and its relatives.
///
/// # Errors
/// 400 for options that cannot be used in any of the queries.
pub fn answer_queries(call: Call, which: Which) -> Result<Answer, Failure> {
    let queries = queries_of(&call)?;
    let queries = queries
        .iter()
        .map(|options| query_of(&call, options, which, Absent::LeftOut));
    let queries = queries.collect::<Result<Vec<_>, _>>()?;
    call.stream("application/json", move |mut writer| async move {
        writer.buffer().extend_from_slice(RESULTS_HEAD);
        for (index, query) in queries.into_iter().enumerate() {
            if index > 0 {
                writer.buffer().extend_from_slice(RESULTS_SEPARATOR);
            }
            query.write(&mut writer).await?;
        }
        writer.write(RESULTS_END).await?;
        Ok(writer.finish())
    })
}

/// How keys are shown that no document has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absent {
    AsErrors,
    /// As CouchDB does where several queries are asked at once.
    LeftOut,
}

/// One query, ready to be written in a pool.
#[derive(Clone)]
struct Query {
    snapshot: Snapshot,
    incarnation: String,
    which: Which,
    options: QueryOptions,
    absent: Absent,
}

fn query_of(
    call: &Call,
    options: &QueryOptions,
    which: Which,
    absent: Absent,
) -> Result<Query, Failure> {
    let snapshot = call.snapshot();
    if which == Which::All {
        partitions::check_all_docs(&snapshot, options)?;
    }
    Ok(Query {
        snapshot: match options.include_docs && options.keys.is_none() {
            true => snapshot.in_order(),
            false => snapshot,
        },
        incarnation: call.database.incarnation.clone(),
        which,
        options: options.clone(),
        absent,
    })
}

impl Query {
    async fn write(self, writer: &mut BodyWriter) -> Result<(), Failure> {
        match (&self.options.keys, self.which) {
            (Some(keys), Which::Local) => self.write_local_keys(keys, writer).await,
            (None, Which::Local) => self.write_local(writer).await,
            (Some(keys), _) => self.write_keys(keys, writer).await,
            (None, _) => self.write_range(writer).await,
        }
    }

    fn limit(&self) -> usize {
        let limit = self.options.limit.unwrap_or(u64::MAX);
        usize::try_from(limit).unwrap_or(usize::MAX)
    }

    fn skip(&self) -> usize {
        usize::try_from(self.options.skip).unwrap_or(usize::MAX)
    }

    fn head(&self, total: Option<u64>, offset: Option<u64>) -> Result<Counts<'_>, Failure> {
        let update_seq = match self.options.update_seq {
            true => Some(self.snapshot.last_seq()?),
            false => None,
        };
        Ok(Counts {
            total,
            offset,
            update_seq: update_seq.map(|update| (update, self.incarnation.as_str())),
        })
    }

    async fn write_range(&self, writer: &mut BodyWriter) -> Result<(), Failure> {
        let direction = direction(&self.options);
        let (base, total) = self.totals()?;
        let ids = Ids::of(&self.options, self.which);
        let mut documents = self.snapshot.all_docs(ids.range(), direction)?;
        let before = match direction {
            Direction::Forward => documents.offset().saturating_sub(base),
            Direction::Backward => {
                let behind = documents.total_rows().saturating_sub(base + total);
                documents.offset().saturating_sub(behind)
            }
        };
        let offset = (before + self.options.skip).min(total);
        let mut rows = Rows::begin(writer, &self.head(Some(total), Some(offset))?);
        skip(&mut documents, self.skip())?;
        for row in documents.take(self.limit()) {
            let row = row?;
            let out = rows.next();
            write_head(row.id(), out);
            out.extend_from_slice(b",\"value\":{\"rev\":\"");
            row.rev.write(out);
            out.extend_from_slice(b"\"}");
            if self.options.include_docs {
                self.shown(row.id(), &row.rev, &row.stored, None, rows.writer())
                    .await?;
            }
            rows.writer().buffer().push(b'}');
            rows.flush_if_full().await?;
        }
        rows.end().await
    }

    /// How many documents stand before those that are asked for, and how many these are.
    fn totals(&self) -> Result<(u64, u64), Failure> {
        let all = self
            .snapshot
            .all_docs(IdRange::DESIGN, Direction::Forward)?;
        if self.which == Which::All {
            return Ok((0, all.total_rows()));
        }
        let behind = IdRange {
            low: match IdRange::DESIGN.high {
                Bound::Excluded(id) | Bound::Included(id) => Bound::Included(id),
                Bound::Unbounded => Bound::Unbounded,
            },
            high: Bound::Unbounded,
        };
        let behind = self.snapshot.all_docs(behind, Direction::Forward)?;
        Ok((all.offset(), behind.offset() - all.offset()))
    }

    async fn write_keys(&self, keys: &[Value], writer: &mut BodyWriter) -> Result<(), Failure> {
        let (_, total) = self.totals()?;
        let offset = match (self.absent, keys.first().and_then(Value::as_str)) {
            (Absent::LeftOut, Some(first)) => {
                let ids = IdRange {
                    low: Bound::Included(first),
                    high: Bound::Unbounded,
                };
                Some(self.snapshot.all_docs(ids, Direction::Forward)?.offset())
            }
            _ => None,
        };
        let mut rows = Rows::begin(writer, &self.head(Some(total), offset)?);
        for key in self.chosen(keys) {
            self.write_key(key, &mut rows).await?;
            rows.flush_if_full().await?;
        }
        rows.end().await
    }

    /// The keys that are to be answered, in their order.
    fn chosen<'k>(&self, keys: &'k [Value]) -> impl Iterator<Item = &'k Value> + Send {
        let keys: Box<dyn Iterator<Item = &Value> + Send> = match self.options.descending {
            true => Box::new(keys.iter().rev()),
            false => Box::new(keys.iter()),
        };
        keys.skip(self.skip()).take(self.limit())
    }

    /// The row of a key that nothing has.
    fn write_absent(&self, key: &Value, rows: &mut Rows<'_>) {
        if self.absent == Absent::AsErrors {
            let out = rows.next();
            out.extend_from_slice(b"{\"key\":");
            varve_json::write(key, out);
            out.extend_from_slice(b",\"error\":\"not_found\"}");
        }
    }

    async fn write_key(&self, key: &Value, rows: &mut Rows<'_>) -> Result<(), Failure> {
        let document = match key.as_str().map(|id| self.snapshot.document(id)) {
            Some(Ok(document)) => document,
            Some(Err(error)) if error.is_would_block() => return Err(error.into()),
            // The other keys can be answered.
            Some(Err(error)) => {
                let out = rows.next();
                out.extend_from_slice(b"{\"key\":");
                varve_json::write(key, out);
                write_error(&error.into(), out);
                out.push(b'}');
                return Ok(());
            }
            None => None,
        };
        let winner = document.as_ref().and_then(|document| document.winner());
        let (Some(id), Some((rev, stored))) = (key.as_str(), winner) else {
            self.write_absent(key, rows);
            return Ok(());
        };
        let out = rows.next();
        write_head(id, out);
        out.extend_from_slice(b",\"value\":{\"rev\":\"");
        rev.write(out);
        out.extend_from_slice(if stored.deleted {
            b"\",\"deleted\":true}"
        } else {
            b"\"}"
        });
        if self.options.include_docs {
            match stored.deleted {
                true => out.extend_from_slice(b",\"doc\":null"),
                false => {
                    self.shown(id, rev, stored, document.as_ref(), rows.writer())
                        .await?;
                }
            }
        }
        rows.writer().buffer().push(b'}');
        Ok(())
    }

    async fn write_local(&self, writer: &mut BodyWriter) -> Result<(), Failure> {
        let ids = Ids::of(&self.options, Which::Local);
        let documents =
            self.snapshot
                .local_docs(ids.low(), ids.high(), direction(&self.options))?;
        let mut rows = Rows::begin(writer, &self.head(None, None)?);
        for document in documents.skip(self.skip()).take(self.limit()) {
            self.write_local_row(&document?, &mut rows).await?;
        }
        rows.end().await
    }

    async fn write_local_keys(
        &self,
        keys: &[Value],
        writer: &mut BodyWriter,
    ) -> Result<(), Failure> {
        let mut rows = Rows::begin(writer, &self.head(None, None)?);
        for key in self.chosen(keys) {
            let id = key.as_str().filter(|id| id.starts_with(LOCAL_PREFIX));
            let document = id.map(|id| self.snapshot.local(id)).transpose()?;
            match document.flatten() {
                Some(document) => self.write_local_row(&document, &mut rows).await?,
                None => self.write_absent(key, &mut rows),
            }
        }
        rows.end().await
    }

    async fn write_local_row(
        &self,
        document: &LocalDocument,
        rows: &mut Rows<'_>,
    ) -> Result<(), Failure> {
        let out = rows.next();
        write_head(&document.id, out);
        out.extend_from_slice(b",\"value\":{\"rev\":\"");
        out.extend_from_slice(document.rev.as_bytes());
        out.extend_from_slice(b"\"}");
        if self.options.include_docs {
            out.extend_from_slice(b",\"doc\":");
            write_local(document, out);
        }
        out.push(b'}');
        rows.flush_if_full().await
    }

    async fn shown(
        &self,
        id: &str,
        rev: &varve_docdb::Rev,
        stored: &varve_docdb::Stored,
        document: Option<&varve_docdb::Document>,
        out: &mut BodyWriter,
    ) -> Result<(), Failure> {
        let options = &self.options;
        let extras = row_extras(
            options.conflicts.unwrap_or(false),
            options.attachments,
            options.att_encoding_info,
        );
        Shown {
            snapshot: &self.snapshot,
            id,
            rev,
            stored,
            document,
            extras,
            whole_after: 0,
        }
        .write_doc(out)
        .await
    }
}

/// `{"id":"a","key":"a"`.
fn write_head(id: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"id\":");
    let from = out.len();
    varve_json::write_string(id, out);
    let to = out.len();
    out.extend_from_slice(b",\"key\":");
    out.extend_from_within(from..to);
}

fn skip(documents: &mut AllDocs, count: usize) -> Result<(), Failure> {
    match count.checked_sub(1).and_then(|last| documents.nth(last)) {
        Some(Err(error)) => Err(error.into()),
        _ => Ok(()),
    }
}

fn direction(options: &QueryOptions) -> Direction {
    match options.descending {
        true => Direction::Backward,
        false => Direction::Forward,
    }
}
