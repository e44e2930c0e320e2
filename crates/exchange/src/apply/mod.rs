//! Applying a bundle to a repository: all of it in one transaction, or nothing.

pub(crate) use parts::outline;

mod bookmarks;
mod changegroup;
mod checks;
mod keys;
mod parts;
mod pull;
mod push_keys;
mod remote_changegroup;
mod stream;
mod summary;

use crate::ExchangeError;
use crate::client::peer::HttpOptions;
use crate::format::bundle::Bundle;
use crate::server::unbundle::{PushWords, Replies};
pub use bookmarks::{
    BookmarkMove, BookmarkRelation, Bookmarked, ComparedBookmark, PulledBookmark,
    compare_bookmarks, pulled_bookmarks,
};
use parking_lot::Mutex;
pub use pull::Pulled;
pub(crate) use push_keys::{objection_to, set_key};
use std::fmt;
use std::sync::Arc;
pub use stream::{Load, StreamArrival, StreamNews};
pub use summary::{Changed, Standing, added};
use varve_base::{Interrupt, Progress};
use varve_repo::hooks::{ExchangeOrigin, Hooks};
use varve_repo::{
    Lock, Node, Phase, ReceiveReport, Receiver, RepoError, Repository, ViewFilter, WriteOptions,
};

/// What is heard while a bundle is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News<'a> {
    /// A step begins, in Mercurial's words.
    Step(&'static str),
    /// What only those want to hear who look for mistakes, in Mercurial's words.
    Debug(&'a [u8]),
    /// Words of who made the bundle.
    Remote(&'a [u8]),
    /// The files of a store come.
    Stream(StreamNews<'a>),
    /// They have come.
    Loaded(Load),
    /// A bookmark of the other side is taken over.
    Bookmark(&'a PulledBookmark),
}

/// How a bundle is applied.
pub struct Unbundle<'a> {
    /// To what.
    pub repository: &'a Repository,
    /// How new revisions are stored.
    pub write: WriteOptions,
    /// By which command, as hooks learn it.
    pub source: &'static str,
    /// Where the bundle comes from, as hooks learn it.
    pub url: Vec<u8>,
    /// Whether obsolescence markers may be taken.
    pub takes_markers: bool,
    /// Whether every manifest is compared with its name at once; see [`Receiver::check_all`].
    pub checks_all: bool,
    /// Whether only changesets and their phases are taken, and all else is passed over.
    pub only_history: bool,
    /// How URLs are reached that the bundle names; without it none are.
    pub downloads: Option<HttpOptions>,
    /// How far it is.
    pub progress: &'a dyn Progress,
    /// Whether to stop.
    pub stop: &'a Interrupt,
    /// Whether [`News::Debug`] is wanted.
    pub debug: bool,
    /// Who hears the news.
    pub tell: &'a mut dyn FnMut(News<'_>),
    /// If somebody else pushes it.
    pub pushed: Option<Pushed<'a>>,
    /// If it was asked for.
    pub pulled: Option<Pulled<'a>>,
}

/// What is different about a bundle that somebody pushes.
#[derive(Debug)]
pub struct Pushed<'a> {
    /// Those that learn what the bundle wants to tell hooks; `None` keeps that from them.
    pub hooks: Option<&'a dyn Hooks>,
    /// Whether changesets become public here.
    pub publishing: bool,
    /// What the other side is told in words.
    pub words: &'a PushWords,
    /// What its parts are answered.
    pub replies: &'a mut Replies,
}

impl fmt::Debug for Unbundle<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unbundle")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl Unbundle<'_> {
    /// Applies a bundle under the store's lock, which comes back.
    ///
    /// # Errors
    /// What is wrong with the bundle; [`varve_repo::RepoError::Hook`]; what the storage answers.
    /// The repository is then as it was.
    pub fn apply(
        self,
        lock: Lock,
        bundle: Bundle<'_>,
    ) -> Result<(ReceiveReport, Lock), ExchangeError> {
        let mut applying = Applying {
            how: self,
            lock: Some(lock),
            receiver: None,
            streamed: None,
            loaded: None,
            tagged: Vec::new(),
            heard: Heard::default(),
        };
        match applying.take(bundle) {
            Ok(()) => applying.finish(),
            Err(error) => {
                let earlier = applying.receiver.and_then(Receiver::abandon);
                // Where the stream ends too early, something before may have been wrong already.
                match earlier.filter(|_| !matches!(error, ExchangeError::Repo(_))) {
                    Some(earlier) => Err(earlier.into()),
                    None => Err(error),
                }
            }
        }
    }
}

/// Reads the payload of a part as all that it may be, for fuzzing.
pub(crate) fn parse_payload(payload: &[u8]) {
    let _ = parts::bookmarks(payload);
    let _ = parts::phase_heads(payload);
    let _ = parts::tag_files(payload);
    let _ = checks::nodes(payload, "heads");
}

/// A bundle on its way into the repository.
struct Applying<'a> {
    how: Unbundle<'a>,
    /// Until the transaction begins.
    lock: Option<Lock>,
    /// From the first part on that needs it.
    receiver: Option<Receiver>,
    /// The repository as it is since the files of a store have come.
    streamed: Option<Repository>,
    /// What has come of them, until it is told.
    loaded: Option<Load>,
    /// Changesets of which the other side knows which `.hgtags` they have.
    tagged: Vec<Node>,
    /// Words that came in between and have not been told yet.
    heard: Heard,
}

type Heard = Arc<Mutex<Vec<Vec<u8>>>>;

impl Applying<'_> {
    fn take(&mut self, bundle: Bundle<'_>) -> Result<(), ExchangeError> {
        match bundle {
            Bundle::One(changes) => {
                let url = String::from_utf8_lossy(&self.how.url).into_owned();
                self.receiver(&format!("{}\n{url}", self.how.source))?;
                self.changegroup(changes, false, Phase::Draft).map(drop)
            }
            Bundle::Two(parts) => {
                if self.how.pushed.is_some() {
                    // Its hooks are asked before anything that stands in the bundle.
                    let origin = self.origin(true);
                    self.receiver(self.how.source)?.set_origin(&origin);
                }
                self.parts(parts)?;
                self.take_bookmarks()
            }
            Bundle::Packed(_) => Err(ExchangeError::PackedBundle),
        }
    }

    /// The transaction, which `description` names if it has to begin.
    fn receiver(&mut self, description: &str) -> Result<&mut Receiver, ExchangeError> {
        if let (None, Some(lock)) = (&self.receiver, self.lock.take()) {
            let repository = self.streamed.as_ref().unwrap_or(self.how.repository);
            let receiver = repository.receive(lock, self.how.write, description)?;
            let receiver = self.receiver.insert(receiver);
            if self.how.checks_all {
                receiver.check_all();
            }
        }
        // The lock is there until the receiver is.
        let gone = || ExchangeError::DamagedBundle("nothing can be received".to_owned());
        self.receiver.as_mut().ok_or_else(gone)
    }

    /// Tells the words that came in between.
    fn tell_heard(&mut self) {
        let mut heard = self.heard.lock();
        for words in heard.drain(..) {
            (self.how.tell)(News::Remote(&words));
        }
    }

    /// Tells those who look for mistakes.
    fn debug(&mut self, words: impl FnOnce() -> Vec<u8>) {
        if self.how.debug {
            (self.how.tell)(News::Debug(&words()));
        }
    }

    fn origin(&self, in_bundle2: bool) -> ExchangeOrigin {
        ExchangeOrigin {
            source: self.how.source,
            url: self.how.url.clone(),
            // As Mercurial's hooks learn it.
            in_bundle2: in_bundle2 && self.how.pulled.is_none(),
        }
    }

    /// What is damaged is told to those who read tags; all that came is stored by now.
    fn keep_tag_files(&self) {
        if self.tagged.is_empty() {
            return;
        }
        if let Ok(view) = self.how.repository.view_for(ViewFilter::Visible) {
            let _ = view.keep_tag_files(&self.tagged);
        }
    }

    /// What a client is told in a way of its own.
    fn refused(&self, error: RepoError) -> ExchangeError {
        match (error, &self.how.pushed) {
            (RepoError::KeyRefused { part, key, words }, Some(pushed)) => {
                let words = format!("pushkey-abort: {words}\n");
                pushed.words.say("prepushkey", words.as_bytes());
                ExchangeError::KeyRefused { part, key: *key }
            }
            (other, _) => other.into(),
        }
    }

    fn finish(mut self) -> Result<(ReceiveReport, Lock), ExchangeError> {
        let (mut report, lock) = match self.receiver.take() {
            Some(receiver) => {
                let done = receiver.finish().map_err(|error| self.refused(error))?;
                self.keep_tag_files();
                done
            }
            // A bundle without anything is applied as well.
            None => {
                let gone = || ExchangeError::DamagedBundle("nothing can be received".to_owned());
                (ReceiveReport::default(), self.lock.take().ok_or_else(gone)?)
            }
        };
        if let Some(now) = &self.streamed {
            report.new = 0..now.view_for(ViewFilter::Unfiltered)?.changelog().len() as u32;
        }
        Ok((report, lock))
    }
}
