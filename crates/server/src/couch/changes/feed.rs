//! Feeds that wait: an async task per feed, which reads on blocking threads only when there is
//! something to read.

use crate::couch::changes::Feed;
use crate::couch::changes::cursor::{Cursor, Framing, Rows};
use crate::couch::changes::sequence::write_sequence;
use crate::couch::changes::waiter::Waiter;
use crate::couch::database::registry::OpenDatabase;
use crate::couch::document::render::into_memory;
use crate::http::BodyClosed;
use crate::http::blocking;
use crate::{Answer, CouchContext, Failure};
use std::sync::Arc;
use varve_docdb::{Snapshot, Viewer};

/// Format of the changes of an endless feed, and of its heartbeats.
pub trait Style: Framing + Copy + Send + 'static {
    /// The answer's type.
    const CONTENT_TYPE: &'static str;
    /// Bytes that are sent while nothing happens.
    const HEARTBEAT: &'static [u8];
    /// Whether the last line tells where the feed ended.
    const HAS_LAST_LINE: bool;
}

/// One JSON object a line.
#[derive(Clone, Copy)]
pub struct Lines;

/// Server-sent events.
#[derive(Clone, Copy)]
pub struct Events;

impl Framing for Lines {
    fn before(&mut self, _out: &mut Vec<u8>) {}

    fn after(&mut self, _update: u64, _incarnation: &str, out: &mut Vec<u8>) {
        out.push(b'\n');
    }
}

impl Style for Lines {
    const CONTENT_TYPE: &'static str = "application/json";
    const HEARTBEAT: &'static [u8] = b"\n";
    const HAS_LAST_LINE: bool = true;
}

impl Framing for Events {
    fn before(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"data: ");
    }

    fn after(&mut self, update: u64, incarnation: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\nid: ");
        write_sequence(update, incarnation, out);
        out.extend_from_slice(b"\n\n");
    }
}

impl Style for Events {
    const CONTENT_TYPE: &'static str = "text/event-stream";
    const HEARTBEAT: &'static [u8] = b"event: heartbeat\ndata: \n\n";
    const HAS_LAST_LINE: bool = false;
}

/// A feed without end, apart from its limit and its timeout.
pub fn continuous<S: Style>(feed: Feed, style: S) -> Answer {
    let Feed {
        call,
        mut cursor,
        options,
        first,
        ..
    } = feed;
    let mut waiter = Waiter::new(&call.app, call.database.commits(), &options);
    let (app, database) = (call.app, SeenDatabase(call.database, call.viewer));
    Answer::feed(S::CONTENT_TYPE, move |sender| async move {
        if !first.is_empty() {
            sender.send(first).await?;
        }
        loop {
            waiter.mark_seen();
            loop {
                let (back, piece, more) = read(&app, &database, cursor, style).await?;
                cursor = back;
                if !piece.is_empty() {
                    waiter.restart();
                    sender.send(piece).await?;
                }
                waiter.beat(&sender, S::HEARTBEAT).await?;
                if !more {
                    break;
                }
            }
            let is_over = cursor.is_spent() || database.0.is_over();
            if is_over || !waiter.wait(&sender, S::HEARTBEAT).await? {
                break;
            }
        }
        let end = blocking(&app.executor().reads, move || {
            let mut end = Vec::new();
            if S::HAS_LAST_LINE {
                cursor.write_last_line(&database.snapshot(), &mut end)?;
            }
            end.push(b'\n');
            Ok(end)
        });
        sender.send(end.await.map_err(cut)?).await
    })
}

/// A feed that ends with the first changes.
pub fn longpoll(feed: Feed) -> Answer {
    let Feed {
        call,
        mut cursor,
        options,
        first,
        ..
    } = feed;
    let mut waiter = Waiter::new(&call.app, call.database.commits(), &options);
    let (app, database) = (call.app, SeenDatabase(call.database, call.viewer));
    Answer::feed("application/json", move |sender| async move {
        sender
            .send([&b"{\"results\":[\n"[..], &first].concat())
            .await?;
        loop {
            waiter.mark_seen();
            loop {
                let framing = Rows::after(cursor.has_shown());
                let (back, piece, more) = read(&app, &database, cursor, framing).await?;
                cursor = back;
                if !piece.is_empty() {
                    sender.send(piece).await?;
                }
                waiter.beat(&sender, b"\n").await?;
                if !more {
                    break;
                }
            }
            let is_over = cursor.has_shown() || database.0.is_over();
            if is_over || !waiter.wait(&sender, b"\n").await? {
                break;
            }
        }
        let end = blocking(&app.executor().reads, move || {
            let mut end = Vec::new();
            cursor.write_end(&database.snapshot(), &mut end)?;
            Ok(end)
        });
        sender.send(end.await.map_err(cut)?).await
    })
}

/// A database as the feed's user sees it. The roles are those of the request that began the feed.
#[derive(Clone)]
struct SeenDatabase(Arc<OpenDatabase>, Viewer);

impl SeenDatabase {
    fn snapshot(&self) -> Snapshot {
        self.0.documents.snapshot().as_seen_by(&self.1)
    }
}

type Piece = (Cursor, Vec<u8>, bool);

/// Reads the next piece of a feed: the cursor behind it, its bytes, and whether there is more.
async fn read(
    app: &CouchContext,
    database: &SeenDatabase,
    mut cursor: Cursor,
    framing: impl Framing + Send + 'static,
) -> Result<Piece, BodyClosed> {
    let database = database.clone();
    let permit = app.databases.feed_reads().acquire().await;
    let reading = blocking(&app.executor().reads, move || {
        let mut piece = Vec::new();
        cursor.look_up_index();
        let more = into_memory(cursor.read(&database.snapshot(), framing, &mut piece))?;
        Ok((cursor, piece, more))
    });
    let piece = reading.await.map_err(cut);
    drop(permit);
    piece
}

/// A feed that has begun can only be cut to say that something went wrong.
fn cut(_failure: Failure) -> BodyClosed {
    BodyClosed
}
