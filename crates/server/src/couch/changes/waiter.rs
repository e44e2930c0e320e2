//! Waiting for something to happen, with heartbeats or an end.

use crate::CouchContext;
use crate::couch::changes::ChangesOptions;
use crate::http::{BodyClosed, BodySender};
use crate::runtime::metrics::Occupancy;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Wakes a `_changes` feed when its database gets a new sequence.
pub struct Waiter {
    /// Changes whenever there may be something to send.
    news: watch::Receiver<u64>,
    stopping: watch::Receiver<bool>,
    timeout: Duration,
    /// Among the feeds that wait, as long as it lives.
    _counted: Occupancy,
    heartbeat: Option<Duration>,
    /// When the last change was sent.
    quiet_since: Instant,
    /// When anything was.
    silent_since: Instant,
}

impl Waiter {
    /// Waits as the options say.
    pub fn new(app: &CouchContext, news: watch::Receiver<u64>, options: &ChangesOptions) -> Waiter {
        let now = Instant::now();
        Waiter {
            news,
            stopping: app.stopping(),
            timeout: options.timeout,
            heartbeat: options.heartbeat,
            _counted: app.server().metrics.couch.count_feed(),
            quiet_since: now,
            silent_since: now,
        }
    }

    /// Marks all changes so far as seen: only later ones end the next wait.
    pub fn mark_seen(&mut self) {
        self.news.borrow_and_update();
    }

    /// Something was sent: the timeout begins anew.
    pub fn restart(&mut self) {
        self.quiet_since = Instant::now();
        self.silent_since = self.quiet_since;
    }

    /// Sends a heartbeat if one is due, for work that takes long without rows.
    ///
    /// # Errors
    /// The client has gone.
    pub async fn beat(
        &mut self,
        sender: &BodySender,
        heartbeat: &'static [u8],
    ) -> Result<(), BodyClosed> {
        let now = Instant::now();
        if let Some(every) = self.heartbeat
            && now >= self.silent_since + every
        {
            self.silent_since = now;
            sender.send(heartbeat.to_vec()).await?;
        }
        Ok(())
    }

    /// Waits for news. `false` if the feed is to end: the time is over, the server stops, or there
    /// will be none.
    ///
    /// # Errors
    /// The client has gone.
    pub async fn wait(
        &mut self,
        sender: &BodySender,
        heartbeat: &'static [u8],
    ) -> Result<bool, BodyClosed> {
        if *self.stopping.borrow() {
            return Ok(false);
        }
        loop {
            let now = Instant::now();
            let next = match self.heartbeat {
                Some(every) => now + every,
                None => self.quiet_since + self.timeout,
            };
            tokio::select! {
                changed = self.news.changed() => return Ok(changed.is_ok()),
                _ = self.stopping.changed() => return Ok(false),
                () = sender.closed() => return Err(BodyClosed),
                () = sleep_until(next) => match self.heartbeat {
                    Some(_) => {
                        self.silent_since = Instant::now();
                        sender.send(heartbeat.to_vec()).await?;
                    }
                    None => return Ok(false),
                },
            }
        }
    }
}
