//! `_all_docs`, `_design_docs` and `_local_docs`: documents as rows.

use std::ops::Bound;

use varve_btree::Direction;
use varve_docdb::{AllDocs, IdRange, LOCAL_PREFIX, Snapshot};
use varve_json::Value;
use varve_views::QueryOptions;

use super::call::Call;
use super::document::read::{row_extras, write_local};
use super::document::render::Shown;
use super::rows::{Counts, Rows};
use crate::http::BodyWriter;
use crate::{Answer, Failure};

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
    let query = query_of(&call, &options_of(&call)?, which, Absent::AsErrors)?;
    Ok(Answer::stream("application/json", move |writer| {
        query.write(writer)?;
        writer.write(b"\n").map_err(Failure::internal)
    }))
}

/// Answers `POST /{db}/_all_docs/queries`.
///
/// # Errors
/// 400 for options that cannot be used in any of the queries.
pub fn answer_queries(call: Call) -> Result<Answer, Failure> {
    let queries = queries_of(&call)?;
    let queries = queries
        .iter()
        .map(|options| query_of(&call, options, Which::All, Absent::LeftOut));
    let queries = queries.collect::<Result<Vec<_>, _>>()?;
    Ok(Answer::stream("application/json", move |writer| {
        super::rows::write_results(writer, queries, |query, writer| query.write(writer))
    }))
}

/// The options of a request's query and body.
///
/// # Errors
/// 400 for the first that cannot be used.
pub fn options_of(call: &Call) -> Result<QueryOptions, Failure> {
    let mut options = options_of_query(call)?;
    if !call.request.is_read() && !call.request.body.is_empty() {
        match call.json_body()? {
            Value::Object(body) => options.set_body(&body)?,
            _ => return Err(Failure::bad_request("Request body must be a JSON object")),
        }
    }
    Ok(options)
}

fn options_of_query(call: &Call) -> Result<QueryOptions, Failure> {
    let pairs = call.request.query.iter();
    let pairs = pairs.map(|(name, value)| (name.as_str(), value.as_str()));
    Ok(QueryOptions::from_query(pairs)?)
}

/// The options of each member of `queries`; those of the URL hold for all.
///
/// # Errors
/// 400 if there is no such list, or for the first option that cannot be used.
pub fn queries_of(call: &Call) -> Result<Vec<QueryOptions>, Failure> {
    let body = call.json_body()?;
    let queries = body.get("queries").and_then(Value::as_array);
    let queries = queries
        .ok_or_else(|| Failure::bad_request("`queries` member must exist and be an array."))?;
    let common = options_of_query(call)?;
    let each = queries.iter().map(|query| {
        let mut options = common.clone();
        match query.as_object() {
            Some(query) => options.set_body(query)?,
            None => return Err(Failure::bad_request("`queries` must hold objects.")),
        }
        Ok(options)
    });
    each.collect()
}

/// What becomes of keys that no document has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Absent {
    AsErrors,
    /// As CouchDB does where several queries are asked at once.
    LeftOut,
}

/// One query, ready to be written on another thread.
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
    Ok(Query {
        snapshot: call.database.documents.snapshot(),
        incarnation: call.database.incarnation.clone(),
        which,
        options: options.clone(),
        absent,
    })
}

impl Query {
    fn write(self, writer: &mut BodyWriter) -> Result<(), Failure> {
        match (&self.options.keys, self.which) {
            (_, Which::Local) => self.write_local(writer),
            (Some(keys), _) => self.write_keys(keys, writer),
            (None, _) => self.write_range(writer),
        }
    }

    fn limit(&self) -> usize {
        let limit = self.options.limit.unwrap_or(u64::MAX);
        usize::try_from(limit).unwrap_or(usize::MAX)
    }

    fn skip(&self) -> usize {
        usize::try_from(self.options.skip).unwrap_or(usize::MAX)
    }

    fn head(&self, total: Option<u64>, offset: Option<u64>) -> Counts<'_> {
        let update_seq = self.options.update_seq.then(|| self.snapshot.update_seq());
        Counts {
            total,
            offset,
            update_seq: update_seq.map(|update| (update, self.incarnation.as_str())),
        }
    }

    fn write_range(&self, writer: &mut BodyWriter) -> Result<(), Failure> {
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
        let mut rows = Rows::begin(writer, &self.head(Some(total), Some(offset)))?;
        skip(&mut documents, self.skip())?;
        for row in documents.take(self.limit()) {
            let row = row?;
            let out = rows.next();
            write_head(row.id(), out);
            out.extend_from_slice(b",\"value\":{\"rev\":\"");
            row.rev.write(out);
            out.extend_from_slice(b"\"}");
            if self.options.include_docs {
                out.extend_from_slice(b",\"doc\":");
                self.shown(row.id(), &row.rev, &row.stored, None, out)?;
            }
            out.push(b'}');
            rows.flush_if_full()?;
        }
        rows.end()
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

    fn write_keys(&self, keys: &[Value], writer: &mut BodyWriter) -> Result<(), Failure> {
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
        let mut rows = Rows::begin(writer, &self.head(Some(total), offset))?;
        let keys: Box<dyn Iterator<Item = &Value>> = match self.options.descending {
            true => Box::new(keys.iter().rev()),
            false => Box::new(keys.iter()),
        };
        for key in keys.skip(self.skip()).take(self.limit()) {
            self.write_key(key, &mut rows)?;
            rows.flush_if_full()?;
        }
        rows.end()
    }

    fn write_key(&self, key: &Value, rows: &mut Rows<'_>) -> Result<(), Failure> {
        let document = match key.as_str() {
            Some(id) => self.snapshot.document(id)?,
            None => None,
        };
        let winner = document.as_ref().and_then(|document| document.winner());
        let (Some(id), Some((rev, stored))) = (key.as_str(), winner) else {
            if self.absent == Absent::AsErrors {
                let out = rows.next();
                out.extend_from_slice(b"{\"key\":");
                varve_json::write(key, out);
                out.extend_from_slice(b",\"error\":\"not_found\"}");
            }
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
            out.extend_from_slice(b",\"doc\":");
            match stored.deleted {
                true => out.extend_from_slice(b"null"),
                false => self.shown(id, rev, stored, document.as_ref(), out)?,
            }
        }
        out.push(b'}');
        Ok(())
    }

    fn write_local(&self, writer: &mut BodyWriter) -> Result<(), Failure> {
        let ids = Ids::of(&self.options, Which::Local);
        let documents =
            self.snapshot
                .local_docs(ids.low(), ids.high(), direction(&self.options))?;
        let mut rows = Rows::begin(writer, &self.head(None, None))?;
        for document in documents.skip(self.skip()).take(self.limit()) {
            let document = document?;
            let wanted = self.options.keys.as_ref().is_none_or(|keys| {
                keys.iter()
                    .any(|key| key.as_str() == Some(document.id.as_str()))
            });
            if !wanted {
                continue;
            }
            let out = rows.next();
            write_head(&document.id, out);
            out.extend_from_slice(b",\"value\":{\"rev\":\"");
            out.extend_from_slice(document.rev.as_bytes());
            out.extend_from_slice(b"\"}");
            if self.options.include_docs {
                out.extend_from_slice(b",\"doc\":");
                write_local(&document, out);
            }
            out.push(b'}');
            rows.flush_if_full()?;
        }
        rows.end()
    }

    fn shown(
        &self,
        id: &str,
        rev: &varve_docdb::Rev,
        stored: &varve_docdb::Stored,
        document: Option<&varve_docdb::Document>,
        out: &mut Vec<u8>,
    ) -> Result<(), Failure> {
        let options = &self.options;
        let extras = row_extras(
            options.conflicts,
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
        .write_in_row(out)
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

/// The range of ids that the options ask for, low before high.
#[derive(Debug, PartialEq, Eq)]
struct Ids {
    low: Bound<String>,
    high: Bound<String>,
}

impl Ids {
    fn of(options: &QueryOptions, which: Which) -> Ids {
        let end = |id: String| match options.inclusive_end {
            true => Bound::Included(id),
            false => Bound::Excluded(id),
        };
        let start = bound(
            options.start_key.as_ref(),
            options.descending,
            Bound::Included,
        );
        let end = bound(options.end_key.as_ref(), !options.descending, end);
        let (low, high) = match options.descending {
            true => (end, start),
            false => (start, end),
        };
        let ids = Ids { low, high };
        match which {
            Which::All => ids,
            Which::Design => ids.within("_design/", "_design0"),
            Which::Local => ids.without_prefix(LOCAL_PREFIX),
        }
    }

    fn within(mut self, low: &str, high: &str) -> Ids {
        let below = |bound: &Bound<String>, limit: &str| match bound {
            Bound::Included(id) | Bound::Excluded(id) => id.as_str() < limit,
            Bound::Unbounded => true,
        };
        if below(&self.low, low) {
            self.low = Bound::Included(low.to_owned());
        }
        if matches!(self.high, Bound::Unbounded) || !below(&self.high, high) {
            self.high = Bound::Excluded(high.to_owned());
        }
        self
    }

    fn without_prefix(self, prefix: &str) -> Ids {
        let cut = |bound: Bound<String>| {
            bound.map(|id| id.strip_prefix(prefix).map_or(id.clone(), str::to_owned))
        };
        Ids {
            low: cut(self.low),
            high: cut(self.high),
        }
    }

    fn low(&self) -> Bound<&str> {
        self.low.as_ref().map(String::as_str)
    }

    fn high(&self) -> Bound<&str> {
        self.high.as_ref().map(String::as_str)
    }

    fn range(&self) -> IdRange<'_> {
        IdRange {
            low: self.low(),
            high: self.high(),
        }
    }
}

/// Ids are texts, which sort between what is lower (numbers and the like) and what is higher
/// (arrays, objects). `is_high` says which end of the range this is.
fn bound(
    key: Option<&Value>,
    is_high: bool,
    of: impl FnOnce(String) -> Bound<String>,
) -> Bound<String> {
    // No id is lower than the empty text, nor as high as this.
    let nothing_above = || Bound::Excluded(char::MAX.to_string().repeat(2));
    match (key, is_high) {
        (None, _) => Bound::Unbounded,
        (Some(Value::String(id)), _) => of(id.clone()),
        (Some(Value::Array(_) | Value::Object(_)), true) => Bound::Unbounded,
        (Some(Value::Array(_) | Value::Object(_)), false) => nothing_above(),
        (Some(_), true) => Bound::Excluded(String::new()),
        (Some(_), false) => Bound::Unbounded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(query: &[(&str, &str)], which: Which) -> (Bound<String>, Bound<String>) {
        let options = QueryOptions::from_query(query.iter().copied()).unwrap();
        let ids = Ids::of(&options, which);
        (ids.low, ids.high)
    }

    fn text(id: &str) -> String {
        id.to_owned()
    }

    #[test]
    fn descending_ranges_are_turned_round() {
        let query = [
            ("startkey", "\"m\""),
            ("endkey", "\"b\""),
            ("descending", "true"),
        ];
        let (low, high) = ids(&query, Which::All);
        assert_eq!(
            (low, high),
            (Bound::Included(text("b")), Bound::Included(text("m")))
        );
        let query = [
            ("startkey", "\"b\""),
            ("endkey", "\"m\""),
            ("inclusive_end", "false"),
        ];
        let (low, high) = ids(&query, Which::All);
        assert_eq!(
            (low, high),
            (Bound::Included(text("b")), Bound::Excluded(text("m")))
        );
    }

    #[test]
    fn keys_that_are_no_text_lie_outside() {
        assert_eq!(ids(&[("startkey", "1")], Which::All).0, Bound::Unbounded);
        assert_eq!(
            ids(&[("endkey", "1")], Which::All).1,
            Bound::Excluded(text(""))
        );
        assert_eq!(ids(&[("endkey", "{}")], Which::All).1, Bound::Unbounded);
        assert!(matches!(
            ids(&[("startkey", "[]")], Which::All).0,
            Bound::Excluded(_)
        ));
    }

    #[test]
    fn design_documents_stay_among_themselves() {
        let all = (
            Bound::Included(text("_design/")),
            Bound::Excluded(text("_design0")),
        );
        assert_eq!(ids(&[], Which::Design), all);
        assert_eq!(
            ids(&[("startkey", "\"a\"")], Which::Design).0,
            Bound::Included(text("a"))
        );
        assert_eq!(
            ids(&[("endkey", "\"z\"")], Which::Design).1,
            Bound::Excluded(text("_design0"))
        );
        let query = [("startkey", "\"_design/m\"")];
        assert_eq!(
            ids(&query, Which::Design).0,
            Bound::Included(text("_design/m"))
        );
    }
}
