//! The changes feed.
//!
//! [`begin`] checks a request on a blocking thread; the [`Feed`] that it gives is answered by a stream (present
//! changes) or by a task that waits without holding a thread.

mod candidates;
mod cursor;
pub(crate) mod db_updates;
mod feed;
mod filter;
mod filter_index;
mod options;
pub(crate) mod page;
pub(crate) mod sequence;
mod waiter;

use varve_docdb::Snapshot;

use crate::couch::call::Call;
use crate::couch::document::render::into_memory;
use crate::couch::etag;
use crate::{Answer, Failure};
use cursor::Cursor;
pub(crate) use cursor::{Framing, Rows};
pub(crate) use feed::{Events, Lines, Style};
use filter::Filter;
use filter_index::FilterIndex;
pub(crate) use options::{ChangesOptions, Feed as Kind};
use sequence::Since;

/// A checked request for changes.
pub struct Feed {
    call: Call,
    snapshot: Snapshot,
    cursor: Cursor,
    options: ChangesOptions,
    /// Rows that were read during the check.
    first: Vec<u8>,
}

/// Checks a request for changes.
///
/// # Errors
/// 400 for options that cannot be used and for a filter function that fails at once, 404 for a filter
/// that is not there.
pub fn begin(call: Call) -> Result<Feed, Failure> {
    if !call.request.is_read() && !call.request.body.is_empty() {
        // Also where no filter reads it.
        let body = call.json_body()?;
        let is_object = body.as_object().is_some();
        let reason = "Request body must be a JSON object";
        is_object
            .then_some(())
            .ok_or_else(|| Failure::bad_request(reason))?;
    }
    let options = ChangesOptions::parse(
        &call.request,
        &call.database.incarnation,
        call.app.settings().requests.changes_timeout,
    )?;
    let filter = Filter::load(&call, &options.filter)?;
    let mut index = FilterIndex::of(&call, &filter);
    if let Some(index) = &mut index {
        index.look_up();
    }
    let snapshot = call.snapshot();
    let since = match options.since {
        // It was not given here: a feed that waits for it would miss all changes until then.
        Since::Number(update) if update > snapshot.update_seq() => {
            return Err(sequence::malformed());
        }
        Since::Update(update) | Since::Number(update) => update,
        Since::Now => snapshot.last_seq()?,
    };
    let incarnation = &call.database.incarnation;
    let looked_at = call.app.server().metrics.feed_changes.clone();
    let mut cursor = Cursor::new(since, (filter, index), &options, incarnation, looked_at);
    let first = match cursor.runs_script() {
        true => read_first(&mut cursor, &snapshot, options.feed)?,
        false => Vec::new(),
    };
    let snapshot = match options.include_docs {
        true => snapshot.in_order(),
        false => snapshot,
    };
    Ok(Feed {
        call,
        snapshot,
        cursor,
        options,
        first,
    })
}

/// The first piece, read before the answer begins: an answer that has begun can only be cut.
fn read_first(cursor: &mut Cursor, snapshot: &Snapshot, kind: Kind) -> Result<Vec<u8>, Failure> {
    let mut piece = Vec::new();
    match kind {
        Kind::Normal | Kind::Longpoll => {
            into_memory(cursor.read(snapshot, Rows::after(false), &mut piece))?
        }
        Kind::Continuous => into_memory(cursor.read(snapshot, feed::Lines, &mut piece))?,
        Kind::EventSource => into_memory(cursor.read(snapshot, feed::Events, &mut piece))?,
    };
    Ok(piece)
}

impl Feed {
    /// Answers it.
    ///
    /// # Errors
    /// 500 if the file cannot be read.
    pub async fn answer(self) -> Result<Answer, Failure> {
        match self.options.feed {
            Kind::Normal => Ok(self.normal()),
            Kind::Longpoll => Ok(feed::longpoll(self)),
            Kind::Continuous => Ok(feed::continuous(self, feed::Lines)),
            Kind::EventSource => {
                let answer = feed::continuous(self, feed::Events);
                Ok(answer.with_header("cache-control", "no-cache"))
            }
        }
    }

    fn normal(self) -> Answer {
        let Feed {
            call,
            snapshot,
            mut cursor,
            first,
            ..
        } = self;
        let tag = etag::opaque(&[
            call.database.incarnation.as_bytes(),
            &snapshot.update_seq().to_le_bytes(),
            call.request.raw_query.as_bytes(),
            &call.request.body,
        ]);
        // The documents that a user may see change without an update that the user sees.
        let has_tag = !snapshot.is_restricted();
        if has_tag && etag::matches(&call.request, &tag) {
            return etag::not_modified(&tag);
        }
        let reads = call.app.executor().reads.clone();
        let answer = Answer::stream("application/json", &reads, move |mut writer| async move {
            writer.buffer().extend_from_slice(b"{\"results\":[\n");
            writer.buffer().extend_from_slice(&first);
            loop {
                let framing = cursor::Rows::after(cursor.has_shown());
                let passed = writer.passed();
                if !cursor.read(&snapshot, framing, &mut writer).await? {
                    break;
                }
                writer.flush_if_full().await?;
                if writer.passed() == passed {
                    // A filter that no change passes writes nothing for long.
                    writer.pause().await?;
                }
            }
            cursor.write_end(&snapshot, writer.buffer())?;
            Ok::<_, Failure>(writer.finish())
        });
        match has_tag {
            true => answer.with_header("etag", &tag),
            false => answer,
        }
    }
}
