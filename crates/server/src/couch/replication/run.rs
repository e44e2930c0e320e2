//! One run of a job.
//!
//! The changes of the source come in pages; each page is cut into batches, some of which are under way at the same time.
//! A checkpoint says up to where all batches are done, whatever is done behind that.

use super::batch::Sides;
use super::database::{ChangesPage, ChangesQuery};
use super::error::ReplicationError;
use super::job::{Job, RunInfo, http_date};
use super::local::{LocalCopy, LocalSide};
use super::peer::Peer;
use crate::CouchContext;
use crate::runtime::clock::now;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use varve_config::Replicator;
use varve_json::{Object, Value};
use varve_replicate::replicator::ReplicationOptions;
use varve_replicate::replicator::checkpoint::{self, Counts, Session};

/// Changes of a page, unless a batch is larger.
const PAGE: usize = 1000;

/// Batches of a page between databases of this server.
const LOCAL_BATCHES: usize = 2;

/// Time between two requests for changes of which the first had none.
const LEAST_WAIT: Duration = Duration::from_secs(1);

/// How a run ended without a failure.
#[derive(Debug)]
pub(super) enum RunEnd {
    /// Everything is replicated; what `_replicate` answers.
    Completed(Object),
    /// The job was stopped.
    Stopped,
}

/// Runs a job until it is done, fails, or is told to stop.
///
/// # Errors
/// Any [`ReplicationError`]: the job crashes.
pub(super) async fn run(
    app: &Arc<CouchContext>,
    job: &Job,
    settings: &Arc<Replicator>,
) -> Result<RunEnd, ReplicationError> {
    let options = &job.request.options;
    let mut run = Run::open(job, sides_of(app, job, settings).await?).await?;
    let mut stopping = job.stopping();
    loop {
        let step = tokio::select! {
            biased;
            _ = stopping.wait_for(|is_stopping| *is_stopping) => None,
            step = run.step() => match step {
                Err(ReplicationError::Stopping) => None,
                step => Some(step?),
            },
        };
        match step {
            Some(Step::More) => {}
            Some(Step::CaughtUp) if options.continuous => run.waits = true,
            Some(Step::CaughtUp) => {
                run.finish().await?;
                return Ok(RunEnd::Completed(run.result()));
            }
            None => {
                run.finish().await?;
                return Ok(RunEnd::Stopped);
            }
        }
    }
}

/// Both sides of a job; databases of this server need no network.
async fn sides_of(
    app: &Arc<CouchContext>,
    job: &Job,
    settings: &Arc<Replicator>,
) -> Result<Arc<Sides>, ReplicationError> {
    let request = &job.request;
    let (options, clients) = (&request.options, app.replications.clients());
    let limits = (options.timeout, options.retries, options.connections);
    let source = Peer::new(&request.source, clients, settings, limits)?;
    let target = Peer::new(&request.target, clients, settings, limits)?;
    let ends = (
        LocalSide::find(app, &request.source).await,
        LocalSide::find(app, &request.target).await,
    );
    let log = app.log();
    let (Some(from), Some(to)) = ends else {
        return Ok(Sides::new(
            (source, target),
            None,
            options.use_bulk_get,
            log,
        ));
    };
    let peers = (source.at(from.clone()), target.at(to.clone()));
    let copy = LocalCopy::new((from, to), &job.id.to_string(), app.replications.batches());
    Ok(Sides::new(peers, Some(copy), options.use_bulk_get, log))
}

enum Step {
    More,
    /// There are no changes behind the last page at this moment.
    CaughtUp,
}

/// A batch that is under way, or done and behind one that is not.
struct Batch {
    /// Up to where the source was read with it.
    end_seq: Value,
    done: bool,
}

struct Run<'a> {
    job: &'a Job,
    options: &'a ReplicationOptions,
    sides: Arc<Sides>,
    session: Session,
    /// Checkpoints of both sides as they are now: content and revision.
    logs: [Object; 2],
    /// Identity of the target, by which another one of the same name is noticed.
    target_identity: Option<Value>,
    info: RunInfo,
    /// Sequence behind which the next page begins.
    next_seq: Value,
    waits: bool,
    batches: BTreeMap<u64, Batch>,
    last_batch: u64,
    working: JoinSet<(u64, Result<Counts, ReplicationError>)>,
    checkpoint_at: Instant,
}

impl<'a> Run<'a> {
    async fn open(job: &'a Job, sides: Arc<Sides>) -> Result<Run<'a>, ReplicationError> {
        let options = &job.request.options;
        let source_info = sides.source.info().await?;
        let target_info = match sides.target.info().await {
            Err(ReplicationError::NoDatabase(_)) if options.create_target => {
                sides.target.create(&options.create_target_params).await?;
                sides.target.info().await?
            }
            info => info?,
        };
        let mut logs = [Object::new(), Object::new()];
        if options.use_checkpoints {
            for (peer, log) in [&sides.source, &sides.target].iter().zip(&mut logs) {
                let found = peer.document(&["_local", &job.id.base]).await?;
                *log = found.unwrap_or_default();
            }
        }
        let common = checkpoint::common_sequence(&logs[0], &logs[1]);
        let start = options.since_seq.clone().or(common).unwrap_or(0u64.into());
        let mut info = RunInfo {
            through_seq: start.clone(),
            checkpointed_seq: start.clone(),
            source_seq: start.clone(),
            ..RunInfo::default()
        };
        if let Some(seq) = source_info.get("update_seq") {
            info.source_seq = seq.clone();
        }
        job.publish(info.clone(), now());
        Ok(Run {
            job,
            options,
            sides,
            session: Session {
                id: session_id(),
                start_time: http_date(now()),
                end_time: String::new(),
                start_seq: start.clone(),
                end_seq: start.clone(),
                counts: Counts::default(),
            },
            logs,
            target_identity: identity_of(&target_info),
            info,
            next_seq: start,
            waits: false,
            batches: BTreeMap::new(),
            last_batch: 0,
            working: JoinSet::new(),
            checkpoint_at: Instant::now() + options.checkpoint_interval,
        })
    }

    /// Takes the next page of changes; while it comes, batches are finished and checkpoints written.
    async fn step(&mut self) -> Result<Step, ReplicationError> {
        let sides = Arc::clone(&self.sides);
        let since = self.next_seq.clone();
        let query = ChangesQuery {
            since: &since,
            limit: self.page_len(),
            selection: &self.options.selection,
            winning_revs_only: self.options.winning_revs_only,
            waits: self.waits,
            timeout: self.options.timeout,
        };
        let asked = Instant::now();
        let page = {
            let mut next = std::pin::pin!(sides.changes(&query));
            loop {
                tokio::select! {
                    page = &mut next => break page?,
                    Some(done) = self.working.join_next() => self.take(done)?,
                    () = sleep_until(self.checkpoint_at) => self.checkpoint().await?,
                }
            }
        };
        if !page.rows.is_empty() && page.last_seq == since {
            return Err(ReplicationError::BadAnswer {
                url: sides.source.name().to_owned(),
                reason: "there are changes, and last_seq stands still".to_owned(),
            });
        }
        if self.waits && page.rows.is_empty() && asked.elapsed() < LEAST_WAIT {
            // The source did not wait for a change, so this side does.
            tokio::time::sleep(LEAST_WAIT).await;
        }
        let is_last = page.rows.len() < query.limit && page.pending.is_none_or(|left| left == 0);
        self.begin(page).await?;
        if !is_last {
            return Ok(Step::More);
        }
        self.drain().await?;
        self.info.through_seq = self.next_seq.clone();
        self.publish();
        self.job.recover();
        Ok(Step::CaughtUp)
    }

    /// Changes of a batch. One between databases of this server has as many as all workers would have.
    fn batch_len(&self) -> usize {
        let batch = self.options.batch_size;
        match self.sides.is_local() {
            true => batch.saturating_mul(self.options.workers),
            false => batch,
        }
    }

    fn page_len(&self) -> usize {
        match self.sides.is_local() {
            true => self.batch_len().saturating_mul(LOCAL_BATCHES),
            false => PAGE.max(self.batch_len()),
        }
    }

    /// Cuts a page into batches and begins them.
    async fn begin(&mut self, page: ChangesPage) -> Result<(), ReplicationError> {
        self.info.pending = page.pending;
        self.next_seq = page.last_seq.clone();
        let mut rows = page.rows;
        while !rows.is_empty() {
            while self.working.len() >= self.options.workers {
                match self.working.join_next().await {
                    Some(done) => self.take(done)?,
                    None => break,
                }
            }
            let rest = rows.split_off(self.batch_len());
            self.last_batch += 1;
            let number = self.last_batch;
            // Only the end of a page has a sequence that stands for all of it.
            let end_seq = match rest.is_empty() {
                true => page.last_seq.clone(),
                false => Value::Null,
            };
            self.batches.insert(
                number,
                Batch {
                    end_seq,
                    done: false,
                },
            );
            let sides = Arc::clone(&self.sides);
            self.working
                .spawn(async move { (number, sides.replicate(rows).await) });
            rows = rest;
        }
        Ok(())
    }

    /// Counts a batch that is done.
    fn take(
        &mut self,
        done: Result<(u64, Result<Counts, ReplicationError>), tokio::task::JoinError>,
    ) -> Result<(), ReplicationError> {
        let (number, counts) = match done {
            Ok(done) => done,
            Err(error) => {
                return Err(ReplicationError::Broken(error.to_string()));
            }
        };
        self.info.counts.add(&counts?);
        if let Some(batch) = self.batches.get_mut(&number) {
            batch.done = true;
        }
        while let Some(first) = self.batches.first_entry()
            && first.get().done
        {
            let batch = first.remove();
            if batch.end_seq != Value::Null {
                self.info.through_seq = batch.end_seq;
            }
        }
        self.publish();
        Ok(())
    }

    fn publish(&self) {
        self.job.publish(self.info.clone(), now());
    }

    /// Waits until all batches are done.
    async fn drain(&mut self) -> Result<(), ReplicationError> {
        while let Some(done) = self.working.join_next().await {
            self.take(done)?;
        }
        Ok(())
    }

    /// Ends the batches that are under way, and writes the last checkpoint.
    async fn finish(&mut self) -> Result<(), ReplicationError> {
        match self.drain().await {
            // What is under way is done again by the next run.
            Err(ReplicationError::Stopping) => self.working.abort_all(),
            drained => drained?,
        }
        self.checkpoint().await
    }

    /// Writes down in both databases how far the run is, unless they know it.
    async fn checkpoint(&mut self) -> Result<(), ReplicationError> {
        self.checkpoint_at = Instant::now() + self.options.checkpoint_interval;
        let through = self.info.through_seq.clone();
        if !self.options.use_checkpoints || through == self.info.checkpointed_seq {
            return Ok(());
        }
        self.sides.target.ensure_full_commit().await?;
        let found = identity_of(&self.sides.target.info().await?);
        if found != self.target_identity {
            let name = self.sides.target.name().to_owned();
            return Err(ReplicationError::TargetChanged(name));
        }
        self.session.end_time = http_date(now());
        self.session.end_seq = through.clone();
        self.session.counts = self.info.counts;
        let peers = [&self.sides.source, &self.sides.target];
        for (peer, log) in peers.into_iter().zip(&mut self.logs) {
            write_log(peer, &self.job.id.base, log, &self.session).await?;
        }
        self.info.checkpointed_seq = through;
        self.publish();
        self.job.recover();
        Ok(())
    }

    /// Answer of `_replicate`.
    fn result(&self) -> Object {
        let mut result = Object::new();
        result.insert("ok", true);
        if !self.options.use_checkpoints {
            result.insert("use_checkpoints", false);
            return result;
        }
        if self.info.checkpointed_seq == self.session.start_seq {
            result.insert("no_changes", true);
        }
        for name in [
            "session_id",
            "source_last_seq",
            "replication_id_version",
            "history",
        ] {
            if let Some(value) = self.logs[0].get(name) {
                result.insert(name, value.clone());
            }
        }
        result
    }
}

/// Writes a checkpoint. One that another run has written meanwhile counts as the one before.
async fn write_log(
    peer: &Peer,
    id: &str,
    log: &mut Object,
    session: &Session,
) -> Result<(), ReplicationError> {
    if log.get("_rev").is_none() {
        // A write without a revision replaces what is there, and with it the memory of another run of the same ends.
        *log = peer.document(&["_local", id]).await?.unwrap_or_default();
    }
    for attempt in 0.. {
        let rev = log.get("_rev").and_then(Value::as_str).map(str::to_owned);
        let mut next = checkpoint::next(log, session);
        match peer.put_local(id, &next, rev.as_deref()).await {
            Ok(rev) => {
                next.insert("_rev", rev);
                *log = next;
                return Ok(());
            }
            Err(error) => {
                let is_conflict = error.status() == Some(hyper::StatusCode::CONFLICT);
                if !is_conflict || attempt > 0 {
                    return Err(error);
                }
                let found = peer.document(&["_local", id]).await?;
                *log = found.unwrap_or_default();
            }
        }
    }
    Ok(())
}

/// Time of creation or id, which another database of the same name does not share.
fn identity_of(info: &Object) -> Option<Value> {
    let started = info.get("instance_start_time");
    started.or_else(|| info.get("uuid")).cloned()
}

/// 32 hexadecimal digits by chance.
fn session_id() -> String {
    use std::fmt::Write;
    let mut random = [0u8; 16];
    // Without random numbers, the time tells sessions apart.
    if getrandom::fill(&mut random).is_err() {
        random[..8].copy_from_slice(&now().to_be_bytes());
    }
    random.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
