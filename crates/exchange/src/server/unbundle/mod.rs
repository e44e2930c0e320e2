//! `unbundle` and `pushkey`: receiving pushes of a client.
//!
//! The bundle is applied when all of it is here, under the store's lock and in one transaction. Output of steps and
//! hooks goes back with the part that it is about:
//!
//! ```text
//! bundle2 in                         bundle2 out
//! replycaps   0
//! check:…     1 2
//! changegroup 3                 →    reply:changegroup, output, both in-reply-to 3
//! bookmarks   4                 →    output, in-reply-to 4
//! (end)                         →    output
//! (or a failure)                →    error:abort, error:pushraced, …; no replies
//! ```
//! The answer to a bundle10 is a number, which is 0 if nothing was stored, a newline, and all output.

mod heads;
mod reply;

pub(crate) use heads::parse_heads;

use super::wire::{WireRequest, WireResponse};
use crate::ExchangeError;
use crate::Spool;
use crate::apply::{
    BundleApplier, BundleDownloader, BundleEvent, InstabilityChange, InstabilitySnapshot,
    PushContext, PushOutput, ReplyParts, changesets_summary, objection_to, set_key,
};
use crate::format::bundle::{BUNDLE10, BUNDLE20, open_bundle};
use crate::format::limits::BundleLimits;
use crate::format::media_types::TYPE_01;
use crate::format::part::reply::return_code;
use heads::ExpectedHeads;
use std::fmt;
use std::io::{self, Cursor, Read};
use varve_base::Silent;
use varve_repo::hooks::{Hooks, PushKey, PushVars};
use varve_repo::{Lock, LockKind, LockWait, ReceiveReport, RepoError, Repository, WriteOptions};

/// `source` of hooks, and the name of the transaction.
const SOURCE: &str = "serve";
/// To a client whose push is based on heads that are no longer the heads.
const CHANGED: &str = "repository changed while preparing changes - please try again\n";

/// Receives pushes to one repository.
#[derive(Clone, Copy)]
pub struct PushHandler<'a> {
    /// The repository that is pushed to.
    pub repository: &'a Repository,
    /// How new revisions are stored.
    pub write: WriteOptions,
    /// `url` of hooks, which names the client.
    pub url: &'a [u8],
    /// Whether obsolescence markers are accepted.
    pub takes_markers: bool,
    /// Whether changesets become public here.
    pub publishing: bool,
    /// Whether a bundle10 is accepted.
    pub takes_bundle1: bool,
    /// Whether variables for hooks are accepted.
    pub takes_variables: bool,
    /// Bytes that a bundle may have, as sent and expanded.
    pub longest: Option<u64>,
    /// Reaches URLs that a bundle names; without it none are.
    pub downloads: Option<&'a dyn BundleDownloader>,
    /// Waiting time for the store's lock; also stops the work.
    pub wait: LockWait<'a>,
    /// Output for the client.
    pub output: &'a PushOutput,
    /// The repository's hooks.
    pub hooks: &'a dyn Hooks,
    /// Runs the hooks that wait until all locks are released.
    pub after_locks: &'a dyn Fn(),
    /// Gets the errors that end a bundle, whose words are a part of the answer.
    pub on_error: &'a dyn Fn(&ExchangeError),
}

impl fmt::Debug for PushHandler<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PushHandler")
            .field("repository", &self.repository)
            .finish_non_exhaustive()
    }
}

impl PushHandler<'_> {
    /// The refusal, before a bundle is sent, for a client that has seen other heads.
    ///
    /// # Errors
    /// Malformed arguments; a damaged repository.
    pub fn objection(&self, request: &WireRequest) -> Result<Option<&'static str>, ExchangeError> {
        let expected = ExpectedHeads::parse(request)?;
        let fits = expected.are_those_of(&*self.repository.view()?);
        Ok((!fits).then_some(CHANGED))
    }

    /// Answers `unbundle`; `body` is the bundle. Errors of the bundle are in the answer.
    ///
    /// # Errors
    /// Malformed arguments, and locks that do not get free.
    pub fn unbundle(
        &self,
        request: &WireRequest,
        mut body: impl Read,
    ) -> Result<WireResponse, ExchangeError> {
        let expected = ExpectedHeads::parse(request)?;
        self.hooks.set_push_vars(PushVars::new());
        // A client that sends slowly must not keep the lock.
        let mut bundle = Spool::default();
        let longest = self.longest.unwrap_or(u64::MAX);
        let mut within = body.by_ref().take(longest.saturating_add(1));
        let sent = io::copy(&mut within, &mut bundle).map_err(ExchangeError::Read)?;
        if sent > longest {
            // The client reads no answer before it has sent everything.
            io::copy(&mut body, &mut io::sink()).map_err(ExchangeError::Read)?;
            return Err(ExchangeError::PushTooLong { longest });
        }
        bundle.rewind().map_err(ExchangeError::Read)?;
        let lock = self.repository.lock(LockKind::Store, &self.wait)?;
        if !expected.are_those_of(&*self.repository.view()?) {
            if self.output.has_listener() {
                self.output
                    .write("", format!("abort: {CHANGED}").as_bytes());
            }
            return Ok(numbered(0, CHANGED.as_bytes()));
        }
        let mut magic = Vec::new();
        let mut beginning = bundle.by_ref().take(BUNDLE20.len() as u64);
        let read = beginning.read_to_end(&mut magic);
        read.map_err(ExchangeError::Read)?;
        // Old clients over ssh send a bare changegroup, whose first length is below 16 MiB.
        if magic.first() == Some(&0) {
            magic = [&BUNDLE10[..], b"UN", &magic].concat();
        }
        if magic.starts_with(BUNDLE10) && !self.takes_bundle1 {
            let refused = ExchangeError::Bundle2Required;
            if !self.output.has_listener() {
                return Err(refused);
            }
            let line = format!("abort: {refused}\n");
            self.output.write("", line.as_bytes());
            return Ok(numbered(0, b""));
        }
        let is_bundle2 = magic == BUNDLE20;
        self.output.set_in_bundle2(is_bundle2);
        let mut replies = ReplyParts::default();
        let before = InstabilitySnapshot::of(self.repository)?;
        let applied = self.apply(lock, Cursor::new(magic).chain(bundle), &mut replies);
        if let Err(error) = &applied {
            (self.on_error)(error);
        }
        if let Ok(report) = &applied {
            let changes = before.changes_since(self.repository)?;
            let changes = changes.iter().map(InstabilityChange::to_string);
            let lines = summary(report) + &changes.collect::<String>();
            self.output.write("", lines.as_bytes());
        }
        // Hooks of a failure have waited too.
        (self.after_locks)();
        let has_listener = self.output.has_listener();
        if let (Err(error), true) = (&applied, has_listener && !is_bundle2) {
            let line = format!("abort: {}\n", error.with_causes());
            self.output.write("", line.as_bytes());
        }
        let output = self.output.collect();
        if !is_bundle2 {
            let stored = applied.iter().flat_map(|report| &report.changegroups);
            let number = stored.map(|arrived| return_code(arrived.heads)).sum();
            return Ok(numbered(number, &output.joined()));
        }
        let body = reply::encode_reply_bundle(
            &replies,
            (!has_listener).then_some(&output),
            applied.as_ref().err(),
        )?;
        Ok(WireResponse::Whole {
            content_type: TYPE_01,
            body,
        })
    }

    /// Answers `pushkey`.
    ///
    /// # Errors
    /// Malformed arguments; locks that do not get free; a damaged repository.
    pub fn pushkey(&self, request: &WireRequest) -> Result<WireResponse, ExchangeError> {
        let value = |name| request.need(name).map(<[u8]>::to_vec);
        let key = PushKey {
            namespace: value("namespace")?,
            key: value("key")?,
            old: value("old")?,
            new: value("new")?,
        };
        let mut args = key.hook_args();
        self.hooks.set_push_vars(PushVars::new());
        if let Err(refused) = self.hooks.run_now("prepushkey", &args, false) {
            let words = format!("pushkey-abort: {refused}\n");
            self.output.write("", words.as_bytes());
            return Ok(numbered(0, &self.output.collect().joined()));
        }
        let done = self.set_key(&key);
        let number = i64::from(*done.as_ref().unwrap_or(&false));
        args.insert("ret", number.to_string().into_bytes());
        self.hooks.run_later("pushkey", args);
        (self.after_locks)();
        match done {
            Err(ExchangeError::Repo(RepoError::Hook(refusal))) => {
                let words = format!("pushkey-abort: {refusal}\n");
                self.output.write("", words.as_bytes());
            }
            other => drop(other?),
        }
        Ok(numbered(number, &self.output.collect().joined()))
    }

    /// Sets a key in a transaction of its own.
    fn set_key(&self, key: &PushKey) -> Result<bool, ExchangeError> {
        let description = match &key.namespace[..] {
            b"bookmarks" => "bookmarks",
            b"phases" => "pushkey-phase",
            b"obsolete" => "pushkey: obsolete markers",
            _ => return Ok(false),
        };
        if let Some(words) = objection_to(key) {
            self.output.write("", words.as_bytes());
            return Ok(false);
        }
        if key.namespace == b"obsolete" && !self.takes_markers {
            return Err(ExchangeError::MarkersNotEnabled);
        }
        let lock = self.repository.lock(LockKind::Store, &self.wait)?;
        let receiver = self.repository.receive(lock, self.write, description);
        let mut receiver = receiver?;
        match set_key(&mut receiver, key, self.takes_markers) {
            Ok(true) => {
                let (report, lock) = receiver.finish()?;
                drop(lock);
                self.output.write("", summary(&report).as_bytes());
                Ok(true)
            }
            other => {
                receiver.abandon();
                other
            }
        }
    }

    fn apply(
        &self,
        lock: Lock,
        body: impl Read + Send,
        replies: &mut ReplyParts,
    ) -> Result<ReceiveReport, ExchangeError> {
        let bundle = open_bundle(body, BundleLimits::for_push(self.longest))?;
        let output = self.output;
        let mut on_event = |event: BundleEvent<'_>| output.on_event(event);
        let unbundle = BundleApplier {
            repository: self.repository,
            write: self.write,
            source: SOURCE,
            url: self.url.to_vec(),
            takes_markers: self.takes_markers,
            checks_all: true,
            progress: &Silent,
            stop: self.wait.stop,
            debug: false,
            asks: false,
            on_event: &mut on_event,
            only_history: false,
            downloads: self.downloads,
            push: Some(PushContext {
                publishing: self.publishing,
                hooks: self.takes_variables.then_some(self.hooks),
                output,
                replies,
            }),
            pull: None,
        };
        let (report, lock) = unbundle.apply(lock, bundle)?;
        drop(lock);
        Ok(report)
    }
}

/// A number and output, the answer for old clients.
fn numbered(number: i64, output: &[u8]) -> WireResponse {
    WireResponse::Whole {
        content_type: TYPE_01,
        body: [format!("{number}\n").as_bytes(), output].concat(),
    }
}

/// Lines about received data, in Mercurial's wording.
fn summary(report: &ReceiveReport) -> String {
    let mut lines = changesets_summary("added", report).unwrap_or_default();
    if report.markers > 0 {
        lines += &format!("{} new obsolescence markers\n", report.markers);
    }
    lines
}
