//! Databases and view indexes that are compacted by themselves, as `[smoosh]` says.
//!
//! A database is dirty when it is opened, when something is committed to it, and when one of its
//! indexes was brought up to date. One thread looks
//! at those that were dirty, chooses by the channels' priorities, and compacts one after the other.

use crate::CouchContext;
use crate::couch::admin::compaction::{Compactor, Job, Why, report};
use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use varve_base::Interrupt;
use varve_config::Window;

/// A compaction that failed is tried again after this, or when the file has grown by a quarter.
const AGAIN_AFTER: Duration = Duration::from_secs(600);

/// Counts a request, and begins to watch the databases, unless somebody does.
pub(crate) fn watch(app: &Arc<CouchContext>) {
    let compactor = &app.compactor;
    // Every request comes by here.
    compactor.requests.fetch_add(1, Ordering::Relaxed);
    let smoosh = &app.settings().smoosh;
    let has_channels = !smoosh.channels.is_empty() || !smoosh.view_channels.is_empty();
    if compactor.watches.load(Ordering::Relaxed) || !has_channels {
        return;
    }
    let mut work = compactor.work();
    if !compactor.watches.load(Ordering::Relaxed) && !compactor.stop.is_raised() {
        let watches = Compactor::spawn(app, &mut work, "smoosh", run);
        compactor.watches.store(watches, Ordering::Relaxed);
    }
}

fn run(app: &Arc<CouchContext>) {
    let dirty = app.databases.dirty();
    let mut history = History::new();
    // Outside of their channel's hours.
    let mut later = BTreeSet::new();
    let stop = &app.compactor.stop;
    while !stop.is_raised() {
        dirty.wait();
        if dirty.is_empty() && later.is_empty() {
            continue;
        }
        pause(app, app.settings().smoosh.wait);
        let mut names = dirty.take();
        names.append(&mut later);
        let mut chosen: Vec<Chosen<'_>> = Vec::new();
        for name in names {
            if examine(app, &name, &history, &mut chosen) {
                later.insert(name);
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
            history.insert(key_of(&chosen.job), chosen.run(app));
        }
    }
}

/// Sleeps, unless the server stops.
pub(crate) fn pause(app: &CouchContext, time: Duration) {
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

/// What is to be compacted.
struct Chosen<'a> {
    job: Job,
    /// Position among the channels, those of views behind those of databases.
    channel: usize,
    window: Option<&'a Window>,
    priority: f64,
}

/// How the last compactions went, by database and design document.
type History = HashMap<(String, Option<String>), Past>;

fn key_of(job: &Job) -> (String, Option<String>) {
    let design = job.index.as_ref().map(|(design, _)| design.clone());
    (job.database.name.clone(), design)
}

/// How the last compaction of a file went.
#[derive(Default)]
struct Past {
    /// When it failed, and the size of the file.
    failed: Option<(Instant, u64)>,
    /// Bytes that it could not get rid of although they are not counted as needed, such as long
    /// local documents.
    uncounted: u64,
}

/// Chooses what is to be compacted of a database and its indexes. Returns whether something of it is
/// to be, but in other hours.
fn examine<'a>(
    app: &'a CouchContext,
    name: &str,
    history: &History,
    chosen: &mut Vec<Chosen<'a>>,
) -> bool {
    // One that was closed again is dirty when it is opened the next time.
    let Some(database) = app.databases.if_open(name) else {
        return false;
    };
    database.to_compact.taken();
    let indexes = database.indexes.all().into_iter().map(Some);
    let jobs = std::iter::once(None).chain(indexes).map(|index| Job {
        database: Arc::clone(&database),
        index,
    });
    let smoosh = &app.settings().smoosh;
    let mut is_later = false;
    for job in jobs {
        let (channels, first) = match job.index {
            None => (&smoosh.channels, 0),
            Some(_) => (&smoosh.view_channels, smoosh.channels.len()),
        };
        let Some((file, active)) = needed(&job, history.get(&key_of(&job))) else {
            continue;
        };
        let channels = (first..).zip(channels);
        let takes = channels.filter_map(|(number, channel)| {
            let priority = channel.takes(file, active)?;
            Some((number, channel.window.as_ref(), priority))
        });
        let (now, others): (Vec<_>, Vec<_>) =
            takes.partition(|(_, window, _)| window.is_none_or(|it| it.contains(minute())));
        match now.first() {
            Some(&(channel, window, priority)) => chosen.push(Chosen {
                job,
                channel,
                window,
                priority,
            }),
            None => is_later |= !others.is_empty(),
        }
    }
    is_later
}

/// The bytes of a file and those that a compaction would leave; `None` if it need not be tried.
fn needed(job: &Job, past: Option<&Past>) -> Option<(u64, u64)> {
    let (file, active) = job.sizes()?;
    if let Some((when, size)) = past.and_then(|past| past.failed)
        && file < size + size / 4
        && when.elapsed() < AGAIN_AFTER
    {
        return None;
    }
    Some((file, active + past.map_or(0, |past| past.uncounted)))
}

/// Minutes after midnight, UTC.
fn minute() -> u32 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let seconds = now.map_or(0, |now| now.as_secs()) % (24 * 60 * 60);
    u32::try_from(seconds / 60).unwrap_or(0)
}

impl Chosen<'_> {
    /// Compacts the file.
    fn run(&self, app: &CouchContext) -> Past {
        let stop = Interrupt::default();
        let is_strict = self.window.filter(|window| window.is_strict);
        let look = || {
            let is_over = is_strict.is_some_and(|window| !window.contains(minute()));
            if is_over || app.compactor.stop.is_raised() {
                stop.raise();
            }
        };
        let database = &self.job.database;
        let before = database.documents.snapshot().update_seq();
        let done = self.job.run(app, &stop, Why::ByItself(&look));
        let after = database.documents.snapshot().update_seq();
        let mut past = Past::default();
        let Some((file, active)) = self.job.sizes() else {
            return past;
        };
        match done {
            // What was written meanwhile has left bytes that the next compaction gets rid of.
            Ok(()) if before != after => {}
            Ok(()) => past.uncounted = file.saturating_sub(active),
            // Its hours are over, or the server stops.
            Err(failed) if failed.is_interruption() => {
                database.to_compact.tell();
            }
            Err(failed) => {
                report(app, database, &failed);
                past.failed = Some((Instant::now(), file));
            }
        }
        past
    }
}
