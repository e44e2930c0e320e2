//! Databases that are compacted by themselves, as `[smoosh]` says.
//!
//! A database is noticed when it is opened and when something is committed to it. One thread looks
//! at those that were noticed, chooses by the channels' priorities, and compacts one after the other.

use super::{Compactor, Why, compact, report};
use crate::App;
use crate::couch::open::OpenDatabase;
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use varve_base::Interrupt;
use varve_config::{Channel, Window};
use varve_docdb::DocdbError;

/// Databases outside of a channel's hours are looked at again after this, and so is the stop flag.
const PAUSE: Duration = Duration::from_secs(30);

/// A compaction that failed is tried again after this, or when the file has grown by a quarter.
const AGAIN_AFTER: Duration = Duration::from_secs(600);

/// Databases in which something happened.
#[derive(Debug, Default)]
pub(crate) struct Noticed {
    list: Mutex<List>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct List {
    names: BTreeSet<String>,
    /// Whether the server stops.
    is_over: bool,
}

impl Noticed {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notices a database, once until it is looked at.
    pub(crate) fn tell(&self, name: &str, is_told: &AtomicBool) {
        if !is_told.swap(true, Ordering::AcqRel) {
            self.list().names.insert(name.to_owned());
            self.changed.notify_all();
        }
    }

    /// Nothing is noticed any more.
    pub(crate) fn end(&self) {
        self.list().is_over = true;
        self.changed.notify_all();
    }

    /// Waits until there is something, but not for long.
    fn wait(&self) {
        let list = self.list();
        if list.names.is_empty() && !list.is_over {
            drop(self.changed.wait_timeout(list, PAUSE));
        }
    }

    fn take(&self) -> BTreeSet<String> {
        std::mem::take(&mut self.list().names)
    }
}

/// Counts a request, and begins to watch the databases, unless somebody does.
pub(crate) fn watch(app: &Arc<App>) {
    let compactor = &app.compactor;
    // Every request comes by here.
    compactor.requests.fetch_add(1, Ordering::Relaxed);
    if compactor.watches.load(Ordering::Relaxed) || app.settings().smoosh.channels.is_empty() {
        return;
    }
    let mut work = compactor.work();
    if !compactor.watches.load(Ordering::Relaxed) && !compactor.stop.is_raised() {
        let watches = Compactor::spawn(app, &mut work, "smoosh", run);
        compactor.watches.store(watches, Ordering::Relaxed);
    }
}

fn run(app: &Arc<App>) {
    let noticed = app.databases.noticed();
    let mut past = HashMap::new();
    // Outside of their channel's hours.
    let mut later = BTreeSet::new();
    let stop = &app.compactor.stop;
    while !stop.is_raised() {
        noticed.wait();
        if noticed.list().names.is_empty() && later.is_empty() {
            continue;
        }
        pause(app, app.settings().smoosh.wait);
        let mut names = noticed.take();
        names.append(&mut later);
        let mut chosen: Vec<Chosen<'_>> = Vec::new();
        for name in names {
            match examine(app, &name, past.get(&name)) {
                Found::Chosen(found) => chosen.push(found),
                Found::Later => drop(later.insert(name)),
                Found::Nothing => {}
            }
        }
        // Channels in their order, within each the most urgent first.
        chosen.sort_by(|a, b| {
            let channels = a.channel.cmp(&b.channel);
            channels.then(b.priority.total_cmp(&a.priority))
        });
        for chosen in chosen {
            if stop.is_raised() {
                return;
            }
            past.insert(chosen.database.name.clone(), chosen.run(app));
        }
    }
}

/// Sleeps, unless the server stops.
fn pause(app: &App, time: Duration) {
    let end = Instant::now() + time;
    let mut work = app.compactor.work();
    while !app.compactor.stop.is_raised() {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        let waited = app.compactor.ended.wait_timeout(work, left);
        work = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// A database that is to be compacted.
struct Chosen<'a> {
    database: Arc<OpenDatabase>,
    /// Position among the channels.
    channel: usize,
    window: Option<&'a Window>,
    priority: f64,
}

enum Found<'a> {
    Chosen(Chosen<'a>),
    /// In other hours.
    Later,
    Nothing,
}

/// How the last compaction of a database went.
#[derive(Default)]
struct Past {
    /// When it failed, and the size of the file.
    failed: Option<(Instant, u64)>,
    /// Bytes that it could not get rid of although they are not counted as needed, such as long
    /// local documents.
    uncounted: u64,
}

fn examine<'a>(app: &'a App, name: &str, past: Option<&Past>) -> Found<'a> {
    // One that was closed again is noticed when it is opened the next time.
    let Some(database) = app.databases.if_open(name) else {
        return Found::Nothing;
    };
    database.is_noticed.store(false, Ordering::Release);
    let Ok(sizes) = database.documents.sizes() else {
        return Found::Nothing;
    };
    if let Some((when, size)) = past.and_then(|past| past.failed)
        && sizes.file < size + size / 4
        && when.elapsed() < AGAIN_AFTER
    {
        return Found::Nothing;
    }
    let channels = &app.settings().smoosh.channels;
    let active = sizes.active + past.map_or(0, |past| past.uncounted);
    let take = |channel: &Channel| channel.takes(sizes.file, active);
    let mut is_later = false;
    for (number, channel) in channels.iter().enumerate() {
        let Some(priority) = take(channel) else {
            continue;
        };
        let window = channel.window.as_ref();
        if window.is_none_or(|window| window.contains(minute())) {
            return Found::Chosen(Chosen {
                database,
                channel: number,
                window,
                priority,
            });
        }
        is_later = true;
    }
    match is_later {
        true => Found::Later,
        false => Found::Nothing,
    }
}

/// Minutes after midnight, UTC.
fn minute() -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.map_or(0, |now| now.as_secs()) % (24 * 60 * 60);
    u32::try_from(seconds / 60).unwrap_or(0)
}

impl Chosen<'_> {
    /// Compacts the database.
    fn run(&self, app: &App) -> Past {
        let stop = Interrupt::default();
        let is_strict = self.window.filter(|window| window.is_strict);
        let look = || {
            let is_over = is_strict.is_some_and(|window| !window.contains(minute()));
            if is_over || app.compactor.stop.is_raised() {
                stop.raise();
            }
        };
        let before = self.database.documents.snapshot().update_seq();
        let done = compact(app, &self.database, &stop, Why::ByItself(&look));
        let after = self.database.documents.snapshot().update_seq();
        let mut past = Past::default();
        let Ok(sizes) = self.database.documents.sizes() else {
            return past;
        };
        match done {
            // What was written meanwhile has left bytes that the next compaction gets rid of.
            Ok(()) if before != after => {}
            Ok(()) => past.uncounted = sizes.file.saturating_sub(sizes.active),
            // Its hours are over, or the server stops.
            Err(DocdbError::Interrupted) => {
                let noticed = app.databases.noticed();
                noticed.tell(&self.database.name, &self.database.is_noticed);
            }
            Err(error) => {
                report(app, &self.database, &error.into());
                past.failed = Some((Instant::now(), sizes.file));
            }
        }
        past
    }
}
