//! Removal of what a shared store keeps of databases and repositories for longer than restores reach back, by the server that
//! writes them.

use crate::CouchContext;
use crate::auth::password::fill_random;
use crate::couch::views::index_copies;
use crate::runtime::scheduler::JobKind;
use crate::runtime::{RunningTask, SharedLogs};
use std::sync::Arc;
use tokio::time::{Instant, sleep_until};
use varve_base::{Interrupt, Progress, Unit};
use varve_shared::Collected;

/// Name of the task, and key of its job.
const TASK: &str = "shared_garbage";

/// Looks after these logs of the shared store for ever, as often as the settings say.
pub(crate) async fn collect_regularly(app: Arc<CouchContext>, logs: Vec<Arc<SharedLogs>>) {
    let mut settings = app.watch_settings();
    let start = Instant::now();
    let mut last = None;
    while !logs.is_empty() {
        let every = settings.borrow_and_update().collect_every;
        let due = every.map(|every| match last {
            Some(last) => last + every,
            // Servers that were started together come one after the other.
            None => start + every.mul_f64(random_share()),
        });
        let wait = async {
            match due {
                Some(due) => sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = wait => {
                last = Some(Instant::now());
                collect(&app, &logs).await;
            }
            // The settings last as long as the server.
            _ = settings.changed() => {}
        }
    }
}

/// A share of an interval; half of it on a system that gives no random bytes.
fn random_share() -> f64 {
    let mut bytes = [0x80, 0, 0, 0];
    let _ = fill_random(&mut bytes);
    f64::from(u32::from_be_bytes(bytes)) / 2_f64.powi(32)
}

async fn collect(app: &Arc<CouchContext>, logs: &[Arc<SharedLogs>]) {
    let (of, logs) = (Arc::clone(app), logs.to_vec());
    let work = move |stop: &Interrupt| collect_all(&of, &logs, stop);
    let scheduler = &app.server().scheduler;
    // What is not done, because the server stops, is done after its next start.
    let _ = scheduler.run(JobKind::Garbage, TASK, work).await;
}

/// Looks at all logs of this server. One that fails leaves the others as they are to be.
fn collect_all(app: &CouchContext, logs: &[Arc<SharedLogs>], stop: &Interrupt) {
    let log = &app.server().log;
    let mut own = Vec::new();
    for logs in logs {
        match logs.own_names() {
            Ok(names) => own.extend(names.into_iter().map(|name| (logs, name))),
            Err(error) => {
                log.scope(|| tracing::warn!("the shared store is not looked after: {error}"));
            }
        }
    }
    let task: RunningTask = app.tasks().start(TASK, &[]);
    task.begin(TASK, Unit::Items, Some(own.len() as u64));
    let mut sum = Collected::default();
    for (logs, name) in &own {
        if stop.is_raised() {
            break;
        }
        match logs.collect_garbage(name) {
            Ok(collected) => sum += collected,
            Err(error) => {
                log.scope(|| tracing::warn!("nothing old is removed of {name}: {error}"));
            }
        }
        task.advance(1);
    }
    match index_copies::collect_garbage(app, stop) {
        Ok(bytes) => sum.bytes += bytes,
        Err(error) => {
            log.scope(|| tracing::warn!("copies of indexes are not looked after: {error}"));
        }
    }
    app.server().metrics.collected_bytes.inc_by(sum.bytes);
    if sum.bytes > 0 {
        let Collected {
            records,
            segments,
            bytes,
            ..
        } = sum;
        log.scope(|| {
            tracing::info!(
                "removed {records} records and {segments} segments of the shared store, {bytes} bytes in all"
            );
        });
    }
}
