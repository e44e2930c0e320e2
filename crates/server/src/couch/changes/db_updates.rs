//! `_db_updates`: which databases were made, changed and deleted, as far as this process has seen. Other servers of a shared store
//! tell the leader what they have written, by a POST with `[{"db_name":NAME,"type":EVENT},…]`.

use crate::couch::changes::sequence::{Since, write_sequence};
use crate::couch::changes::waiter::Waiter;
use crate::couch::changes::{ChangesOptions, Events, Framing, Kind, Lines, Rows, Style};
use crate::http::blocking;
use crate::http::{BodyClosed, BodySender};
use crate::{Answer, CouchContext, Failure, Request, UserContext};
use hyper::{Method, StatusCode};
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tokio::sync::watch;
use varve_json::{Object, Value};

/// Updates that are written at once.
const PIECE: usize = 1000;

/// Kind of the last update of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The database was made.
    Created,
    /// The database was written to, or existed before the server started.
    Updated,
    /// The database was removed.
    Deleted,
}

/// The last update of every database.
#[derive(Debug)]
pub struct Updates {
    log: Mutex<Log>,
    told: watch::Sender<u64>,
    /// Tells the sequences of this process from those of another.
    incarnation: String,
}

#[derive(Debug, Default)]
struct Log {
    last: u64,
    by_name: HashMap<Arc<str>, u64>,
    in_order: BTreeMap<u64, (Arc<str>, Event)>,
    /// Whether it has the databases that nothing has happened to.
    has_all: bool,
}

impl Log {
    fn note(&mut self, name: &str, event: Event) {
        self.last += 1;
        let name: Arc<str> = match self.by_name.get_key_value(name) {
            Some((name, _)) => Arc::clone(name),
            None => name.into(),
        };
        if let Some(before) = self.by_name.insert(Arc::clone(&name), self.last) {
            self.in_order.remove(&before);
        }
        self.in_order.insert(self.last, (name, event));
    }
}

/// Where a reader of the updates stands, and which way it goes.
#[derive(Clone, Copy, Debug)]
enum Position {
    /// Upwards from this number.
    After(u64),
    /// Downwards from this number.
    Before(u64),
}

impl Position {
    /// The position behind an update that was read.
    fn moved_to(self, seq: u64) -> Position {
        match self {
            Position::After(_) => Position::After(seq),
            Position::Before(_) => Position::Before(seq),
        }
    }
}

impl Event {
    const ALL: [Event; 3] = [Event::Created, Event::Updated, Event::Deleted];

    /// CouchDB's word.
    fn word(self) -> &'static str {
        match self {
            Event::Created => "created",
            Event::Updated => "updated",
            Event::Deleted => "deleted",
        }
    }
}

impl Updates {
    /// Nothing has happened yet.
    ///
    /// # Errors
    /// 500 if the system has no random numbers.
    pub fn new() -> Result<Updates, getrandom::Error> {
        let mut bytes = [0; 8];
        getrandom::fill(&mut bytes)?;
        Ok(Updates {
            log: Mutex::default(),
            told: watch::Sender::new(0),
            incarnation: format!("{:016x}", u64::from_le_bytes(bytes)),
        })
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock()
    }

    /// Something happened to a database.
    pub fn note(&self, name: &str, event: Event) {
        let last = {
            let mut log = self.log();
            log.note(name, event);
            log.last
        };
        self.told.send_replace(last);
    }

    /// Changes with each update of a database.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.told.subscribe()
    }

    /// The number of the last update of a database; `None` if nothing has happened to it.
    pub(crate) fn last_of(&self, name: &str) -> Option<u64> {
        self.log().by_name.get(name).copied()
    }

    /// The databases whose last update comes behind a number, as far as `is_wanted`, and the number of the last update.
    pub(crate) fn names_since(
        &self,
        since: u64,
        is_wanted: impl Fn(&str) -> bool,
    ) -> (Vec<String>, u64) {
        let log = self.log();
        let later = log.in_order.range(since.saturating_add(1)..);
        let names = later
            .map(|(_, (name, _))| &**name)
            .filter(|name| is_wanted(name));
        (names.map(str::to_owned).collect(), log.last)
    }

    /// The last updates of databases behind a number, as far as `is_wanted`, and the number of the last update of all.
    pub(crate) fn events_since(
        &self,
        since: u64,
        is_wanted: impl Fn(&str) -> bool,
    ) -> (Vec<(String, Event)>, u64) {
        let log = self.log();
        let later = log.in_order.range(since.saturating_add(1)..);
        let wanted = later.filter(|(_, (name, _))| is_wanted(name));
        let events = wanted.map(|(_, (name, event))| (name.to_string(), *event));
        (events.collect(), log.last)
    }

    /// Updates as another server reads them.
    pub(crate) fn encode(events: &[(String, Event)]) -> Vec<u8> {
        let rows = events.iter().map(|(name, event)| {
            let mut row = Object::new();
            row.insert("db_name", name.as_str());
            row.insert("type", event.word());
            Value::from(row)
        });
        let mut text = Vec::new();
        varve_json::write(&rows.collect(), &mut text);
        text
    }

    /// Notes updates that another server has told of.
    ///
    /// # Errors
    /// 400 for a body that is not of the form.
    fn note_all(&self, body: &[u8]) -> Result<(), Failure> {
        let rows = varve_json::parse(body)?;
        let malformed = || Failure::bad_request("rows need db_name and type");
        for row in rows.as_array().ok_or_else(malformed)? {
            let text = |name: &str| row.get(name).and_then(Value::as_str);
            let (name, word) = text("db_name").zip(text("type")).ok_or_else(malformed)?;
            let event = Event::ALL.into_iter().find(|event| event.word() == word);
            self.note(name, event.ok_or_else(malformed)?);
        }
        Ok(())
    }

    /// Adds databases that nothing has happened to, once.
    fn add_all(&self, names: Vec<String>) {
        let mut log = self.log();
        if !std::mem::replace(&mut log.has_all, true) {
            for name in names {
                if !log.by_name.contains_key(&*name) {
                    log.note(&name, Event::Updated);
                }
            }
        }
    }

    /// The first updates behind `position`, with their numbers.
    fn behind(&self, position: Position, most: usize) -> Vec<(u64, Arc<str>, Event)> {
        let log = self.log();
        let told =
            |(seq, (name, event)): (&u64, &(Arc<str>, Event))| (*seq, Arc::clone(name), *event);
        match position {
            Position::After(since) => {
                let later = log.in_order.range(since.saturating_add(1)..);
                later.map(told).take(most).collect()
            }
            Position::Before(until) => {
                let earlier = log.in_order.range(..until).rev();
                earlier.map(told).take(most).collect()
            }
        }
    }
}

/// Answers `GET /_db_updates`.
///
/// # Errors
/// 401 or 403 for all but admins, 405 for other methods, 400 for options that cannot be used.
pub(crate) async fn route(
    app: Arc<CouchContext>,
    request: Request,
    user: UserContext,
) -> Result<Answer, Failure> {
    let updates = Arc::clone(app.databases.updates());
    if request.method == Method::POST && request.forwards > 0 {
        // Servers forward no such request of a client, so this one is of a server.
        updates.note_all(&request.body)?;
        return Ok(Answer::ok(StatusCode::OK));
    }
    if !request.is_read() {
        return Err(Failure::method_not_allowed("GET,HEAD"));
    }
    user.require_admin()?;
    let options = ChangesOptions::parse(
        &request,
        &updates.incarnation,
        app.settings().requests.changes_timeout,
    )?;
    let listed = Arc::clone(&app);
    let names = blocking(&app.executor().reads, move || listed.database_names()).await?;
    updates.add_all(names);
    let since = match options.since {
        Since::Update(update) | Since::Number(update) => update,
        Since::Now => updates.log().last,
    };
    let waiter = Waiter::new(&app, updates.told.subscribe(), &options);
    let cursor = Cursor {
        updates,
        // As with changes, all of them; feeds that go on cannot go backwards.
        position: match (options.descending, options.feed) {
            (true, Kind::Normal) => Position::Before(u64::MAX),
            _ => Position::After(since),
        },
        last: since,
        remaining: options.limit,
    };
    Ok(match options.feed {
        Kind::Normal => cursor.normal(),
        Kind::Longpoll => {
            Answer::feed("application/json", |sender| cursor.longpoll(waiter, sender))
        }
        Kind::Continuous => Answer::feed(Lines::CONTENT_TYPE, |sender| {
            cursor.continuous(waiter, sender, Lines)
        }),
        Kind::EventSource => Answer::feed(Events::CONTENT_TYPE, |sender| {
            cursor.continuous(waiter, sender, Events)
        })
        .with_header("cache-control", "no-cache"),
    })
}

/// A position among the updates.
struct Cursor {
    updates: Arc<Updates>,
    position: Position,
    /// The update that was shown last.
    last: u64,
    /// Updates that may still be shown.
    remaining: u64,
}

impl Cursor {
    /// Appends some updates; returns whether there may be more.
    fn read(&mut self, framing: &mut impl Framing, out: &mut Vec<u8>) -> bool {
        let most = usize::try_from(self.remaining).map_or(PIECE, |left| left.min(PIECE));
        let found = self.updates.behind(self.position, most);
        for (seq, name, event) in &found {
            framing.before(out);
            out.extend_from_slice(b"{\"db_name\":");
            varve_json::write_string(name, out);
            out.extend_from_slice(b",\"type\":\"");
            out.extend_from_slice(event.word().as_bytes());
            out.extend_from_slice(b"\",\"seq\":");
            write_sequence(*seq, &self.updates.incarnation, out);
            out.push(b'}');
            framing.after(*seq, &self.updates.incarnation, out);
            self.last = *seq;
            self.position = self.position.moved_to(*seq);
            self.remaining -= 1;
        }
        self.remaining > 0 && found.len() == PIECE
    }

    fn write_last(&self, before: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(before);
        write_sequence(self.last, &self.updates.incarnation, out);
        out.extend_from_slice(b"}\n");
    }

    fn normal(mut self) -> Answer {
        let mut body = b"{\"results\":[\n".to_vec();
        let mut framing = Rows::after(false);
        while self.read(&mut framing, &mut body) {}
        self.write_last(b"\n],\n\"last_seq\":", &mut body);
        Answer::json(StatusCode::OK, body)
    }

    async fn longpoll(mut self, mut waiter: Waiter, sender: BodySender) -> Result<(), BodyClosed> {
        sender.send(b"{\"results\":[\n".to_vec()).await?;
        let mut framing = Rows::after(false);
        let mut piece = Vec::new();
        loop {
            waiter.mark_seen();
            while self.read(&mut framing, &mut piece) {}
            if !piece.is_empty() || !waiter.wait(&sender, b"\n").await? {
                break;
            }
        }
        self.write_last(b"\n],\n\"last_seq\":", &mut piece);
        sender.send(piece).await
    }

    async fn continuous<S: Style>(
        mut self,
        mut waiter: Waiter,
        sender: BodySender,
        mut style: S,
    ) -> Result<(), BodyClosed> {
        loop {
            waiter.mark_seen();
            let mut piece = Vec::new();
            let more = self.read(&mut style, &mut piece);
            if !piece.is_empty() {
                waiter.restart();
                sender.send(piece).await?;
            }
            let is_over = self.remaining == 0;
            if !more && (is_over || !waiter.wait(&sender, S::HEARTBEAT).await?) {
                break;
            }
        }
        let mut end = Vec::new();
        if S::HAS_LAST_LINE {
            self.write_last(b"{\"last_seq\":", &mut end);
        }
        end.push(b'\n');
        sender.send(end).await
    }
}
