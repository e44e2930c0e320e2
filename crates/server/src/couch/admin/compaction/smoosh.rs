//! Databases and view indexes that are compacted by themselves, as `[smoosh]` says.
//!
//! A database is dirty when it is opened, when something is committed to it, and when one of its
//! indexes was brought up to date. One task looks at dirty databases, chooses by the channels' priorities,
//! and has one file after the other compacted.

use crate::CouchContext;
use crate::couch::admin::compaction::{CompactionTarget, Why, report};
use crate::runtime::scheduler::JobKind;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::time::{sleep, timeout};
use varve_base::Interrupt;
use varve_config::{Settings, Window};

/// A compaction that failed is tried again after this, or when the file has grown by a quarter.
const RETRY_AFTER: Duration = Duration::from_secs(600);
/// Databases that are to be compacted at other hours are looked at again after this.
const LOOK_AGAIN: Duration = Duration::from_secs(30);

/// Compacts databases and indexes by the settings.
pub(crate) struct AutoCompactor {
    app: Arc<CouchContext>,
    history: History,
    /// Databases that are to be compacted at other hours.
    later: BTreeSet<String>,
}

impl AutoCompactor {
    pub(crate) fn new(app: Arc<CouchContext>) -> AutoCompactor {
        AutoCompactor {
            app,
            history: History::new(),
            later: BTreeSet::new(),
        }
    }

    /// Looks after databases for ever, while the settings have channels.
    pub(crate) async fn run(mut self) {
        let app = Arc::clone(&self.app);
        let mut settings = app.watch_settings();
        let dirty = app.databases.dirty();
        let has_channels = |now: &Arc<Settings>| {
            !(now.smoosh.channels.is_empty() && now.smoosh.view_channels.is_empty())
        };
        loop {
            match self.later.is_empty() {
                true => dirty.wait().await,
                false => drop(timeout(LOOK_AGAIN, dirty.wait()).await),
            }
            // The settings last as long as the server.
            drop(settings.wait_for(has_channels).await);
            sleep(app.settings().smoosh.wait).await;
            let mut names = dirty.take();
            names.append(&mut self.later);
            let chosen = self.choose(names).await.into_iter().map(|chosen| {
                let queued = app.smoosh.add(&chosen.channel_name, chosen.priority);
                (chosen, queued)
            });
            for (chosen, queued) in chosen.collect::<Vec<_>>() {
                app.smoosh.resumed().await;
                queued.begin();
                let (key, file) = (chosen.target.key(), chosen.target.key());
                let app = Arc::clone(&self.app);
                let compact = move |stop: &Interrupt| chosen.compact(&app, stop);
                let scheduler = &self.app.server().scheduler;
                let past = scheduler.run(JobKind::AutoCompaction, key, compact).await;
                // A compaction that panicked is tried again when the file is dirty again.
                self.history.insert(file, past.unwrap_or_default());
            }
        }
    }

    /// The files to compact, most urgent first.
    async fn choose(&mut self, names: BTreeSet<String>) -> Vec<CompactionCandidate> {
        let app = Arc::clone(&self.app);
        let history = std::mem::take(&mut self.history);
        let examine = move |_: &Interrupt| {
            let (mut chosen, mut later) = (Vec::new(), BTreeSet::new());
            for name in names {
                if examine(&app, &name, &history, &mut chosen) {
                    later.insert(name);
                }
            }
            (chosen, later, history)
        };
        let scheduler = &self.app.server().scheduler;
        let examined = scheduler.run(JobKind::AutoCompaction, "examine", examine);
        let Some((mut chosen, later, history)) = examined.await else {
            return Vec::new();
        };
        (self.later, self.history) = (later, history);
        // Channels in their order, within each the most urgent first.
        chosen.sort_by(|a, b| {
            let channels = a.channel.cmp(&b.channel);
            channels.then(b.priority.total_cmp(&a.priority))
        });
        chosen
    }
}

/// A file that a channel has chosen.
struct CompactionCandidate {
    target: CompactionTarget,
    /// Position among the channels, those of views behind those of databases.
    channel: usize,
    channel_name: String,
    window: Option<Window>,
    priority: f64,
}

/// How the last compactions went, by the key of their jobs.
type History = HashMap<String, Past>;

/// How the last compaction of a file went.
#[derive(Default)]
struct Past {
    /// When it failed, and the size of the file.
    failed: Option<(Instant, u64)>,
    /// Bytes that it could not get rid of although they are not counted as needed, such as long
    /// local documents.
    uncounted: u64,
}

/// Chooses those files of a database and its indexes that need compaction. Returns whether one of them has to wait for
/// other hours.
fn examine(
    app: &CouchContext,
    name: &str,
    history: &History,
    chosen: &mut Vec<CompactionCandidate>,
) -> bool {
    // One that was closed again is dirty when it is opened the next time.
    let Some(database) = app.databases.if_open(name) else {
        return false;
    };
    database.to_compact.clear();
    let filters = database.filter_indexes.all().into_iter();
    let filters = filters.map(|index| ("_changes".to_owned(), index));
    let indexes = database.indexes.all().into_iter().chain(filters).map(Some);
    // Another server compacts the file of a database that it writes.
    let own_file = (!database.documents.is_following()).then_some(None);
    let targets = own_file.into_iter().chain(indexes);
    let targets = targets.map(|index| CompactionTarget {
        database: Arc::clone(&database),
        index,
    });
    let settings = app.settings();
    let smoosh = &settings.smoosh;
    let mut is_later = false;
    for target in targets {
        let (channels, first) = match target.index {
            None => (&smoosh.channels, 0),
            Some(_) => (&smoosh.view_channels, smoosh.channels.len()),
        };
        let Some((file, active)) = sizes_to_weigh(&target, history.get(&target.key())) else {
            continue;
        };
        let channels = (first..).zip(channels);
        let takes = channels.filter_map(|(number, channel)| {
            let priority = channel.takes(file, active)?;
            Some((number, channel, priority))
        });
        let (now, others): (Vec<_>, Vec<_>) = takes.partition(|(_, channel, _)| {
            let window = channel.window.as_ref();
            window.is_none_or(|it| it.contains(minute()))
        });
        match now.first() {
            Some(&(number, channel, priority)) => chosen.push(CompactionCandidate {
                target,
                channel: number,
                channel_name: channel.name.clone(),
                window: channel.window,
                priority,
            }),
            None => is_later |= !others.is_empty(),
        }
    }
    is_later
}

/// The bytes of a file and those that a compaction would leave; `None` if it need not be tried.
fn sizes_to_weigh(target: &CompactionTarget, past: Option<&Past>) -> Option<(u64, u64)> {
    let (file, active) = target.sizes()?;
    if let Some((when, size)) = past.and_then(|past| past.failed)
        && file < size + size / 4
        && when.elapsed() < RETRY_AFTER
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

impl CompactionCandidate {
    /// Compacts the file, until its strict hours are over or compactions are suspended.
    fn compact(&self, app: &CouchContext, stop: &Interrupt) -> Past {
        let strict = self.window.as_ref().filter(|window| window.is_strict);
        let look = || {
            let is_over = strict.is_some_and(|window| !window.contains(minute()));
            if is_over || app.smoosh.is_suspended() {
                stop.raise();
            }
        };
        let database = &self.target.database;
        let before = database.documents.snapshot().update_seq();
        let done = self.target.compact(app, stop, Why::ByItself(&look));
        let after = database.documents.snapshot().update_seq();
        let mut past = Past::default();
        let Some((file, active)) = self.target.sizes() else {
            return past;
        };
        match done {
            // Concurrent writes have left bytes that the next compaction reclaims.
            Ok(()) if before != after => {}
            Ok(()) => past.uncounted = file.saturating_sub(active),
            // Its hours are over, compactions are suspended, or the server stops.
            Err(failed) if failed.is_interruption() => {
                database.to_compact.mark();
            }
            Err(failed) => {
                report(app, database, &failed);
                past.failed = Some((Instant::now(), file));
            }
        }
        past
    }
}
