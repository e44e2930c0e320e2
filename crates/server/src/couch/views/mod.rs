//! Views: rows of indexes, information on them, and their removal.

pub(crate) mod auto_index;
mod build_log;
mod builds;
pub(crate) mod filter_indexes;
pub(crate) mod index_copies;
pub mod indexes;
pub(crate) mod known;
mod waiting;

use std::sync::Arc;

use hyper::StatusCode;
use varve_base::ReadMode;
use varve_docdb::{DESIGN_PREFIX, Document, Rev, Snapshot, Stored};
use varve_views::{
    Answer as Found, GroupRows, GroupStep, IndexSnapshot, MapRows, QueryOptions, Row, Signature,
    Update, ViewIndex,
};

use crate::couch::admin::compaction::is_compacting_index;
use crate::couch::call::Call;
use crate::couch::changes::sequence::write_number;
use crate::couch::document::read::row_extras;
use crate::couch::document::render::{Shown, write_error};
use crate::couch::queries::{has_queries, options_of, queries_of};
use crate::couch::rows::{
    Counts, RESULTS_END, RESULTS_HEAD, RESULTS_SEPARATOR, RowSource, Rows, WritingRows,
};
use crate::couch::{Next, etag, failures};
use crate::http::BodyWriter;
use crate::{Answer, Failure, Request};
use indexes::index_of;
pub use waiting::{IndexWait, Ready};

/// The most rows of an answer that is made in [`ReadMode::CachedOnly`].
const FEW_ROWS: usize = 500;

/// Rows that are merged, or left out, before others get the thread.
const TURN: u64 = 512;

/// Answers GET and POST of a view.
///
/// # Errors
/// 404 if there is no such view; 400 for options that cannot be used.
pub fn answer(call: &Call, design: &str, view: &str) -> Result<Next, Failure> {
    if has_queries(call) {
        return answer_queries(call, design, view);
    }
    let source = ViewSource::of(call, design)?;
    let options = options_of(call)?;
    source.check(view, &options)?;
    let waits = options.update == Update::Before;
    let (request, view) = (Arc::clone(&call.request), view.to_owned());
    let streams = call.streams();
    let reads = call.app.server().metrics.couch.view_reads.clone();
    let ready = source.when_ready(waits, move |source| {
        let query = source.query(&view, options)?;
        reads.inc();
        let tag = query.tag(&request).filter(|_| request.is_read());
        if let Some(tag) = &tag
            && etag::matches(&request, tag)
        {
            return Ok(etag::not_modified(tag));
        }
        let answer = streams.stream("application/json", move |mut writer| async move {
            query.write(&mut writer).await?;
            writer.write(b"\n").await?;
            Ok(writer.finish())
        })?;
        Ok(match tag {
            Some(tag) => answer.with_header("etag", &tag),
            None => answer,
        })
    });
    ready.map(Next::from)
}

/// Has `then` make something of a view's rows, which a list function pulls.
///
/// # Errors
/// As [`answer`]; those of `then`.
pub fn for_list<T: Send + 'static>(
    call: &Call,
    (design, view): (&str, &str),
    then: impl FnOnce(RowSource) -> Result<T, Failure> + Send + 'static,
) -> Result<Ready<T>, Failure> {
    let source = ViewSource::of(call, design)?;
    let options = options_of(call)?;
    source.check(view, &options)?;
    let waits = options.update == Update::Before;
    let (request, view) = (Arc::clone(&call.request), view.to_owned());
    source.when_ready(waits, move |source| {
        let tag = source.query(&view, options.clone())?.tag(&request);
        let open = move |mut writer: BodyWriter| {
            let query = source.query(&view, options.clone());
            let write = async move {
                query?.write(&mut writer).await?;
                Ok(writer.finish())
            };
            Box::pin(write) as WritingRows
        };
        let open = Box::new(open);
        then(RowSource { tag, open })
    })
}

/// Answers several queries of one view.
///
/// # Errors
/// As [`answer`], for any of them.
pub fn answer_queries(call: &Call, design: &str, view: &str) -> Result<Next, Failure> {
    let source = ViewSource::of(call, design)?;
    let queries = queries_of(call)?;
    for options in &queries {
        source.check(view, options)?;
    }
    let waits = queries
        .iter()
        .any(|options| options.update == Update::Before);
    let view = view.to_owned();
    let streams = call.streams();
    let reads = call.app.server().metrics.couch.view_reads.clone();
    let ready = source.when_ready(waits, move |source| {
        let queries = queries.into_iter();
        let queries = queries.map(|options| source.query(&view, options));
        let queries = queries.collect::<Result<Vec<_>, _>>()?;
        reads.inc_by(queries.len() as u64);
        streams.stream("application/json", move |mut writer| async move {
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
    });
    ready.map(Next::from)
}

/// Answers `GET /{db}/_design/{ddoc}/_info`.
///
/// # Errors
/// 404 if there is no such design document.
pub fn info(call: &Call, design: &str) -> Result<Answer, Failure> {
    let source = ViewSource::of(call, design)?;
    let sizes = source.index.sizes();
    let view = source.index.current(&source.snapshot)?;
    let current = view.update_seq();
    let pending = source.snapshot.count_changes(current)?;
    let mut body = b"{\"name\":".to_vec();
    varve_json::write_string(design, &mut body);
    body.extend_from_slice(b",\"view_index\":{\"updates_pending\":{\"minimum\":");
    write_number(pending, &mut body);
    let indexes = &call.database.indexes;
    let group = source.index.group();
    let signature = group.signature();
    let updater = format!(
        "}},\"waiting_commit\":{},\"waiting_clients\":{},\"updater_running\":{},\"update_seq\":",
        indexes.is_unsynced(signature),
        indexes.waits.clients(&source.index),
        source.index.is_building(),
    );
    let members = [
        (&b",\"preferred\":"[..], pending),
        (b",\"total\":", pending),
        (updater.as_bytes(), current),
        (b",\"sizes\":{\"file\":", sizes.file),
        (b",\"external\":", source.index.row_bytes()),
        (b",\"active\":", sizes.nodes),
    ];
    for (name, number) in members {
        body.extend_from_slice(name);
        write_number(number, &mut body);
    }
    body.extend_from_slice(format!("}},\"signature\":\"{signature}\"").as_bytes());
    body.extend_from_slice(b",\"purge_seq\":");
    write_number(view.purge_seq(), &mut body);
    body.extend_from_slice(b",\"language\":");
    varve_json::write_string(group.language(), &mut body);
    body.extend_from_slice(b",\"compact_running\":");
    body.extend_from_slice(
        match is_compacting_index(&call.app, &call.database, &source.index) {
            true => b"true",
            false => b"false",
        },
    );
    let collator = varve_json::collate::version();
    let end = format!(",\"collator_versions\":[\"{collator:016x}\"],\"compiled\":[");
    body.extend_from_slice(end.as_bytes());
    // Not a member of CouchDB's.
    for (index, name) in group.compiled(call.app.compilation()).enumerate() {
        if index > 0 {
            body.push(b',');
        }
        varve_json::write_string(name, &mut body);
    }
    body.extend_from_slice(b"]}}\n");
    Ok(Answer::json(StatusCode::OK, body))
}

/// The index of the design document of that name.
///
/// # Errors
/// 404 if there is no such design document.
pub fn index_named(call: &Call, design: &str) -> Result<Arc<ViewIndex>, Failure> {
    Ok(ViewSource::of(call, design)?.index)
}

/// The index of a design document, and the snapshot of the database that a request is about.
struct ViewSource {
    snapshot: Snapshot,
    incarnation: String,
    index: Arc<ViewIndex>,
    /// The index as of the snapshot, once it is known.
    current: Option<IndexSnapshot>,
    refresh: indexes::Refresh,
}

impl ViewSource {
    fn of(call: &Call, design: &str) -> Result<ViewSource, Failure> {
        let snapshot = call.snapshot();
        let document = call
            .designs()
            .document(&format!("{DESIGN_PREFIX}{design}"))?;
        let document = document.ok_or_else(failures::missing)?;
        if document.is_deleted() {
            return Err(failures::deleted());
        }
        let (index, current) = match call.reads {
            ReadMode::CachedOnly => indexes::fresh(call, &snapshot, &document)
                .map(|(index, moment)| (index, Some(moment)))?,
            ReadMode::Blocking => (
                index_of(&call.app, &call.database, &snapshot, &document)?,
                None,
            ),
        };
        Ok(ViewSource {
            index,
            current,
            incarnation: call.database.incarnation.clone(),
            refresh: indexes::Refresh::of(&call.app, &call.database, document.id()),
            snapshot,
        })
    }

    /// # Errors
    /// 404 if there is no such view; 400 for options that it cannot have.
    fn check(&self, view: &str, options: &QueryOptions) -> Result<(), Failure> {
        let group = self.index.group();
        options.check_for_view(group.can_reduce(view)?, group.order(view)?)?;
        options.check_partition(group.is_partitioned())?;
        let reduces = options.reduce != Some(false) && group.can_reduce(view)?;
        let takes_time = options.skip > FEW_ROWS as u64
            || group.reduces_by_script(view)?
            || self
                .current
                .as_ref()
                .is_some_and(IndexSnapshot::reduces_slowly);
        let mode = self.snapshot.mode();
        Ok(mode.refuse_long_work(reduces && takes_time)?)
    }

    /// Makes an answer, after a wait for the index if `waits` and the index is behind the snapshot.
    fn when_ready<T: Send + 'static>(
        mut self,
        waits: bool,
        make_answer: impl FnOnce(ViewSource) -> Result<T, Failure> + Send + 'static,
    ) -> Result<Ready<T>, Failure> {
        if waits && self.current.is_none() {
            self.current = self.index.get_if_current(&self.snapshot);
        }
        if !waits || self.current.is_some() {
            return make_answer(self).map(Ready::Now);
        }
        let (refresh, index) = (self.refresh.clone(), Arc::clone(&self.index));
        let snapshot = self.snapshot.clone();
        let wait = IndexWait::new(refresh, index, snapshot, move |view| {
            self.current = Some(view);
            make_answer(self)
        });
        Ok(Ready::Wait(Box::new(wait)))
    }

    fn query(&self, view: &str, options: QueryOptions) -> Result<ViewQuery, Failure> {
        let moment = match &self.current {
            Some(current) => current.clone(),
            None => {
                if options.update == Update::After {
                    self.refresh.in_background(&self.index, &self.snapshot);
                }
                self.index.current(&self.snapshot)?
            }
        };
        let found = moment.query(view, &options).map_err(Failure::from);
        let found = found.inspect_err(|failure| {
            indexes::discard_if_damaged(&self.index, &moment, failure);
        });
        Ok(ViewQuery {
            found: found?,
            index: Arc::clone(&self.index),
            snapshot: self.snapshot.clone(),
            incarnation: self.incarnation.clone(),
            signature: self.index.group().signature(),
            moment,
            options,
        })
    }
}

/// The rows that one query found, to be written in a pool.
struct ViewQuery {
    snapshot: Snapshot,
    index: Arc<ViewIndex>,
    incarnation: String,
    signature: Signature,
    moment: IndexSnapshot,
    options: QueryOptions,
    found: Found,
}

impl ViewQuery {
    /// Entity tag of all that the answer depends on; none for a user who does not see all of that.
    fn tag(&self, request: &Request) -> Option<String> {
        if self.snapshot.is_restricted() {
            return None;
        }
        let documents = self
            .options
            .include_docs
            .then(|| self.snapshot.update_seq());
        let numbers = [
            self.moment.update_seq(),
            self.moment.purge_seq(),
            documents.unwrap_or(0),
        ];
        Some(etag::opaque(&[
            self.incarnation.as_bytes(),
            &self.signature.0,
            request.path().join("/").as_bytes(),
            request.raw_query.as_bytes(),
            &numbers.map(u64::to_le_bytes).concat(),
        ]))
    }

    /// The last update that the index covers, among those that the user sees.
    fn update_seq(&self) -> Result<Option<u64>, Failure> {
        Ok(match self.options.update_seq {
            false => None,
            true => Some(match self.snapshot.is_restricted() {
                true => self.snapshot.last_seq_until(self.moment.update_seq())?,
                false => self.moment.update_seq(),
            }),
        })
    }

    async fn write(self, writer: &mut BodyWriter) -> Result<(), Failure> {
        let update_seq = self.update_seq()?;
        let update_seq = update_seq.map(|update| (update, self.incarnation.as_str()));
        let show = Show {
            snapshot: &self.snapshot,
            options: &self.options,
        };
        let written = match self.found {
            Found::Rows(rows) => show.rows(*rows, update_seq, writer).await,
            Found::Groups(groups) => show.groups(*groups, update_seq, writer).await,
        };
        written.inspect_err(|failure| {
            indexes::discard_if_damaged(&self.index, &self.moment, failure);
        })
    }
}

/// How rows are shown.
struct Show<'a> {
    snapshot: &'a Snapshot,
    options: &'a QueryOptions,
}

impl Show<'_> {
    async fn rows(
        &self,
        mut found: MapRows,
        update_seq: Option<(u64, &str)>,
        writer: &mut BodyWriter,
    ) -> Result<(), Failure> {
        let counts = Counts {
            total: Some(found.total_rows()),
            offset: Some(found.offset()),
            update_seq,
        };
        let mut rows = Rows::begin(writer, &counts);
        while found.skip_some(TURN)? {
            rows.writer().pause().await?;
        }
        for (number, row) in found.enumerate() {
            let row = row?;
            self.snapshot.mode().refuse_long_work(number >= FEW_ROWS)?;
            let out = rows.next();
            row.write_open(out);
            if self.options.include_docs {
                self.document(&row, rows.writer()).await?;
            }
            rows.writer().buffer().push(b'}');
            rows.flush_if_full().await?;
        }
        rows.end().await
    }

    async fn groups(
        &self,
        mut groups: GroupRows,
        update_seq: Option<(u64, &str)>,
        writer: &mut BodyWriter,
    ) -> Result<(), Failure> {
        let mut rows = Rows::begin_reduced(writer, update_seq);
        let mut number = 0;
        loop {
            match groups.next_within(TURN)? {
                GroupStep::Group(group) => group.write(rows.next()),
                GroupStep::Paused => rows.writer().pause().await?,
                GroupStep::End => return rows.end().await,
            }
            number += 1;
            self.snapshot.mode().refuse_long_work(number > FEW_ROWS)?;
            rows.flush_if_full().await?;
        }
    }

    /// The member `doc`: the document of a row, or the one that its value names; `null` if it is not
    /// there.
    async fn document(&self, row: &Row, out: &mut BodyWriter) -> Result<(), Failure> {
        let (id, rev) = row.linked();
        let document = match self.snapshot.document(&id) {
            Ok(document) => document,
            Err(error) if error.is_would_block() => return Err(error.into()),
            Err(error) => {
                write_error(&error.into(), out.buffer());
                return Ok(());
            }
        };
        let chosen = document
            .as_ref()
            .and_then(|document| chosen(document, rev.as_deref()));
        let Some((rev, stored)) = chosen else {
            out.buffer().extend_from_slice(b",\"doc\":null");
            return Ok(());
        };
        let options = self.options;
        let extras = row_extras(
            options.conflicts.unwrap_or(false),
            options.attachments,
            options.att_encoding_info,
        );
        let shown = Shown {
            snapshot: self.snapshot,
            id: &id,
            rev,
            stored,
            document: document.as_ref(),
            extras,
            whole_after: 0,
        };
        shown.write_doc(out).await
    }
}

fn chosen<'d>(document: &'d Document, rev: Option<&str>) -> Option<(&'d Rev, &'d Stored)> {
    match rev {
        Some(rev) => document.revision(&rev.parse().ok()?),
        None => document.winner().filter(|_| !document.is_deleted()),
    }
}
