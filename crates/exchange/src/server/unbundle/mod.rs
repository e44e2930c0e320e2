//! Taking a push in: `unbundle` and `pushkey`, as the side that is pushed to.
//!
//! The bundle is applied when all of it is here, under the store's lock and in one transaction. What
//! is said meanwhile, by steps and by hooks, goes back with the part that it is about:
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
//! A bundle1 is answered by a number, which is 0 if nothing was stored, a newline, and all words.

mod heads;
mod output;
mod reply;

pub(crate) use heads::parse_heads;
pub use output::PushWords;
pub use reply::Replies;
pub(crate) use reply::failure;

use crate::ExchangeError;
use crate::apply::{Changed, News, Pushed, Standing, Unbundle, objection_to, set_key};
use crate::client::peer::HttpOptions;
use crate::format::bundle::open_bundle;
use crate::format::limits::BundleLimits;
use crate::format::media_types::TYPE_01;
use crate::server::wire::{WireRequest, WireResponse};
use crate::spool::Spool;
use heads::ExpectedHeads;
use std::fmt;
use std::io::{self, Cursor, Read};
use varve_base::Silent;
use varve_repo::hooks::{Hooks, PushKey, PushVars};
use varve_repo::{Lock, LockKind, LockWait, ReceiveReport, RepoError, Repository, WriteOptions};

/// As hooks learn it, and the name of the transaction.
const SOURCE: &str = "serve";
/// What a bundle2 begins with.
const BUNDLE2: &[u8] = b"HG20";
/// What a bundle1 begins with.
const BUNDLE1: &[u8] = b"HG10";
/// To a client whose push is based on heads that are no longer the heads.
const CHANGED: &str = "repository changed while preparing changes - please try again\n";

/// How pushes are taken in.
#[derive(Clone, Copy)]
pub struct Push<'a> {
    /// To what. Its hooks are asked and told.
    pub repository: &'a Repository,
    /// How new revisions are stored.
    pub write: WriteOptions,
    /// Who pushes, as hooks learn it.
    pub url: &'a [u8],
    /// Whether obsolescence markers may be made here, and so taken.
    pub takes_markers: bool,
    /// Whether changesets become public here.
    pub publishing: bool,
    /// Whether a bundle1 may come.
    pub takes_bundle1: bool,
    /// Whether its user may tell hooks something.
    pub takes_variables: bool,
    /// How URLs are reached that a bundle names; without it none are.
    pub downloads: Option<&'a HttpOptions>,
    /// How the store's lock is waited for; also what stops the work.
    pub wait: LockWait<'a>,
    /// What is said meanwhile.
    pub words: &'a PushWords,
    /// The repository's hooks.
    pub hooks: &'a dyn Hooks,
    /// Calls those hooks that wait until all locks are gone.
    pub after_locks: &'a dyn Fn(),
}

impl fmt::Debug for Push<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Push")
            .field("repository", &self.repository)
            .finish_non_exhaustive()
    }
}

impl Push<'_> {
    /// What is said, before a bundle is sent, to a client that has seen other heads.
    ///
    /// # Errors
    /// What is wrong with the arguments; what is damaged.
    pub fn objection(&self, request: &WireRequest) -> Result<Option<&'static str>, ExchangeError> {
        let expected = ExpectedHeads::parse(request)?;
        let fits = expected.are_those_of(&*self.repository.view()?);
        Ok((!fits).then_some(CHANGED))
    }

    /// Answers `unbundle`; `body` is the bundle. What is wrong with that is in the answer.
    ///
    /// # Errors
    /// What is wrong with the arguments, and locks that do not get free.
    pub fn unbundle(
        &self,
        request: &WireRequest,
        mut body: impl Read,
    ) -> Result<WireResponse, ExchangeError> {
        let expected = ExpectedHeads::parse(request)?;
        self.hooks.set_push_vars(PushVars::new());
        // A client that sends slowly must not keep others from writing.
        let mut bundle = Spool::default();
        io::copy(&mut body, &mut bundle).map_err(ExchangeError::Read)?;
        bundle.rewind().map_err(ExchangeError::Read)?;
        let lock = self.repository.lock(LockKind::Store, &self.wait)?;
        if !expected.are_those_of(&*self.repository.view()?) {
            if self.words.are_heard() {
                self.words.say("", format!("abort: {CHANGED}").as_bytes());
            }
            return Ok(numbered(0, CHANGED.as_bytes()));
        }
        let mut magic = Vec::new();
        let mut beginning = bundle.by_ref().take(BUNDLE2.len() as u64);
        let read = beginning.read_to_end(&mut magic);
        read.map_err(ExchangeError::Read)?;
        // Old clients over ssh send a bare changegroup, whose first length is below 16 MiB.
        if magic.first() == Some(&0) {
            magic = [BUNDLE1, b"UN", &magic].concat();
        }
        if magic.starts_with(BUNDLE1) && !self.takes_bundle1 {
            let refused = ExchangeError::Bundle2Required;
            if !self.words.are_heard() {
                return Err(refused);
            }
            let line = format!("abort: {refused}\n");
            self.words.say("", line.as_bytes());
            return Ok(numbered(0, b""));
        }
        let is_bundle2 = magic == BUNDLE2;
        self.words.of_bundle2(is_bundle2);
        let mut replies = Replies::default();
        let before = Standing::of(self.repository)?;
        let applied = self.apply(lock, Cursor::new(magic).chain(bundle), &mut replies);
        if let Ok(report) = &applied {
            let changes = before.changes_since(self.repository)?;
            let changes = changes.iter().map(Changed::to_string);
            let lines = summary(report) + &changes.collect::<String>();
            self.words.say("", lines.as_bytes());
        }
        // Those that were to hear of a failure have waited too.
        (self.after_locks)();
        let is_heard = self.words.are_heard();
        if let (Err(error), true) = (&applied, is_heard && !is_bundle2) {
            let line = format!("abort: {}\n", error.with_causes());
            self.words.say("", line.as_bytes());
        }
        let words = self.words.take();
        if !is_bundle2 {
            let stored = applied.iter().flat_map(|report| &report.changegroups);
            let number = stored.map(|arrived| reply::code(arrived.heads)).sum();
            return Ok(numbered(number, &words.joined()));
        }
        let body = replies.bundle((!is_heard).then_some(&words), applied.as_ref().err())?;
        Ok(WireResponse::Whole {
            content_type: TYPE_01,
            body,
        })
    }

    /// Answers `pushkey`.
    ///
    /// # Errors
    /// What is wrong with the arguments; locks that do not get free; what is damaged.
    pub fn pushkey(&self, request: &WireRequest) -> Result<WireResponse, ExchangeError> {
        let value = |name| request.need(name).map(<[u8]>::to_vec);
        let key = PushKey {
            namespace: value("namespace")?,
            key: value("key")?,
            old: value("old")?,
            new: value("new")?,
        };
        let mut facts = key.facts();
        self.hooks.set_push_vars(PushVars::new());
        if let Err(refused) = self.hooks.run_now("prepushkey", &facts, false) {
            let words = format!("pushkey-abort: {refused}\n");
            self.words.say("", words.as_bytes());
            return Ok(numbered(0, &self.words.take().joined()));
        }
        let done = self.set_key(&key);
        let number = i64::from(*done.as_ref().unwrap_or(&false));
        facts.insert("ret", number.to_string().into_bytes());
        self.hooks.run_later("pushkey", facts);
        (self.after_locks)();
        match done {
            Err(ExchangeError::Repo(RepoError::Hook(words))) => {
                let words = format!("pushkey-abort: {words}\n");
                self.words.say("", words.as_bytes());
            }
            other => drop(other?),
        }
        Ok(numbered(number, &self.words.take().joined()))
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
            self.words.say("", words.as_bytes());
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
                self.words.say("", summary(&report).as_bytes());
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
        replies: &mut Replies,
    ) -> Result<ReceiveReport, ExchangeError> {
        let bundle = open_bundle(body, BundleLimits::default())?;
        let words = self.words;
        let mut tell = |news: News<'_>| words.hear(news);
        let unbundle = Unbundle {
            repository: self.repository,
            write: self.write,
            source: SOURCE,
            url: self.url.to_vec(),
            takes_markers: self.takes_markers,
            checks_all: true,
            progress: &Silent,
            stop: self.wait.stop,
            debug: false,
            tell: &mut tell,
            only_history: false,
            downloads: self.downloads.cloned(),
            pushed: Some(Pushed {
                publishing: self.publishing,
                hooks: self.takes_variables.then_some(self.hooks),
                words,
                replies,
            }),
            pulled: None,
        };
        let (report, lock) = unbundle.apply(lock, bundle)?;
        drop(lock);
        Ok(report)
    }
}

/// A number and words, as old clients are answered.
fn numbered(number: i64, words: &[u8]) -> WireResponse {
    WireResponse::Whole {
        content_type: TYPE_01,
        body: [format!("{number}\n").as_bytes(), words].concat(),
    }
}

/// What has come, line by line, in the words of Mercurial.
fn summary(report: &ReceiveReport) -> String {
    let mut lines = crate::apply::added(report).unwrap_or_default();
    if report.markers > 0 {
        lines += &format!("{} new obsolescence markers\n", report.markers);
    }
    lines
}
