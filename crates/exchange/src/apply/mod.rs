//! Applying a bundle to a repository: all of it in one transaction, or nothing.

mod bookmarks;
mod changegroup;
mod checks;
mod download;
mod keys;
mod parts;
mod pull;
mod push_context;
mod push_keys;
mod push_output;
mod remote_changegroup;
mod stream;
mod summary;

pub(crate) use bookmarks::is_exposed;
pub use bookmarks::{
    BookmarkExchange, BookmarkMove, BookmarkRelation, BookmarkedHistory, ComparedBookmark,
    PulledBookmark, Successors, compare_bookmarks, mirrored_bookmarks, pulled_bookmarks,
};
pub use download::BundleDownloader;
pub use pull::PullContext;
pub use push_context::{PushContext, ReplyParts};
pub(crate) use push_keys::{objection_to, set_key};
pub(crate) use push_output::CollectedOutput;
pub use push_output::PushOutput;
pub use stream::{StreamApplier, StreamEvent, StreamSize};
pub use summary::{InstabilityChange, InstabilitySnapshot, changesets_summary};

use crate::ExchangeError;
use crate::format::bundle::Bundle;
use parking_lot::Mutex;
use std::cell::Cell;
use std::fmt;
use std::sync::Arc;
use varve_base::{Interrupt, Progress};
use varve_repo::hooks::ExchangeOrigin;
use varve_repo::{
    Lock, Node, Phase, ReceiveReport, Receiver, RepoError, Repository, ViewFilter, WriteOptions,
};

/// Progress and output of a bundle that is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BundleEvent<'a> {
    /// A step begins, in Mercurial's words.
    Step(&'static str),
    /// A line of Mercurial's `--debug` output.
    Debug(&'a [u8]),
    /// Output of the sender of the bundle.
    RemoteOutput(&'a [u8]),
    /// Files of a store are being received.
    Stream(StreamEvent<'a>),
    /// All files of a store have been received.
    StreamApplied(StreamSize),
    /// A bookmark changes as it did on the other side.
    Bookmark(&'a PulledBookmark),
    /// Everything was received and nothing counts yet; see [`BundleApplier::asks`].
    Question(&'a PendingArrival),
}

/// Changes that may still be declined.
#[derive(Debug, PartialEq, Eq)]
pub struct PendingArrival {
    /// Counts of the received data.
    pub report: ReceiveReport,
    /// The first and the last of the new changesets.
    pub changesets: Option<[Node; 2]>,
    /// To be set to false by who does not want them.
    pub accepted: Cell<bool>,
}

/// Applies a bundle to a repository.
pub struct BundleApplier<'a> {
    /// The repository that is changed.
    pub repository: &'a Repository,
    /// How new revisions are stored.
    pub write: WriteOptions,
    /// `source` of hooks, such as `pull`.
    pub source: &'static str,
    /// `url` of hooks.
    pub url: Vec<u8>,
    /// Whether obsolescence markers are accepted.
    pub takes_markers: bool,
    /// Whether every manifest is compared with its name at once; see [`Receiver::check_all`].
    pub checks_all: bool,
    /// Whether all but changesets and their phases is skipped.
    pub only_history: bool,
    /// Reaches URLs that the bundle names; without it `remote-changegroup` is an unknown part.
    pub downloads: Option<&'a dyn BundleDownloader>,
    /// Number of revisions and files received.
    pub progress: &'a dyn Progress,
    /// Ends the work with an error; the repository is then as it was.
    pub stop: &'a Interrupt,
    /// Whether [`BundleEvent::Debug`] is wanted.
    pub debug: bool,
    /// Sends [`BundleEvent::Question`] at the end.
    pub asks: bool,
    /// Gets events in order.
    pub on_event: &'a mut dyn FnMut(BundleEvent<'_>),
    /// For a bundle that a client pushes.
    pub push: Option<PushContext<'a>>,
    /// For a bundle that this side requested.
    pub pull: Option<PullContext<'a>>,
}

impl fmt::Debug for BundleApplier<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BundleApplier")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

impl BundleApplier<'_> {
    /// Name of the transaction, for the journal and for hooks: where it came from stands in the second line.
    fn description(&self, is_bundle10: bool) -> String {
        let url = String::from_utf8_lossy(&self.url);
        match (&self.pull, url.strip_prefix("file:")) {
            (None, _) if !is_bundle10 => self.source.to_owned(),
            (Some(_), Some(path)) => format!("{}\nfile://{path}", self.source),
            _ => format!("{}\n{url}", self.source),
        }
    }

    /// Applies a bundle under the store's lock, which comes back.
    ///
    /// # Errors
    /// A damaged or refused bundle; [`varve_repo::RepoError::Hook`]; errors of the storage.
    /// The repository is then as it was.
    pub fn apply(
        self,
        lock: Lock,
        bundle: Bundle<'_>,
    ) -> Result<(ReceiveReport, Lock), ExchangeError> {
        let mut application = Application {
            options: self,
            lock: Some(lock),
            receiver: None,
            streamed: None,
            stream_applied: None,
            tagged: Vec::new(),
            interrupting_output: InterruptingOutput::default(),
            description: String::new(),
        };
        match application.apply(bundle) {
            Ok(()) => application.finish(),
            Err(error) => {
                let earlier = application.receiver.and_then(Receiver::abandon);
                // Where the stream ends too early, something before may have been wrong already.
                match earlier.filter(|_| !matches!(error, ExchangeError::Repo(_))) {
                    Some(earlier) => Err(earlier.into()),
                    None => Err(error),
                }
            }
        }
    }
}

/// A bundle that is being applied.
struct Application<'a> {
    options: BundleApplier<'a>,
    /// Until the transaction begins.
    lock: Option<Lock>,
    /// From the first part on that needs it.
    receiver: Option<Receiver>,
    /// The repository with the requirements of the received store.
    streamed: Option<Repository>,
    /// Their number and size, until the event is sent.
    stream_applied: Option<StreamSize>,
    /// Changesets whose `.hgtags` the other side has in its cache.
    tagged: Vec<Node>,
    /// Output that interrupted a part, until the event is sent.
    interrupting_output: InterruptingOutput,
    /// Name of the transaction.
    description: String,
}

type InterruptingOutput = Arc<Mutex<Vec<Vec<u8>>>>;

impl Application<'_> {
    fn apply(&mut self, bundle: Bundle<'_>) -> Result<(), ExchangeError> {
        let is_old = matches!(bundle, Bundle::Bundle10(_));
        self.description = self.options.description(is_old);
        match bundle {
            Bundle::Bundle10(changes) => {
                self.receiver()?;
                self.changegroup(changes, false, Phase::Draft).map(drop)
            }
            Bundle::Bundle20(parts) => {
                if self.options.push.is_some() {
                    // Hooks learn the origin before the first part.
                    let origin = self.origin(true);
                    self.receiver()?.set_origin(&origin);
                }
                self.apply_parts(parts)?;
                self.update_pulled_bookmarks()
            }
            Bundle::Packed(_) => Err(ExchangeError::PackedBundle),
        }
    }

    /// The transaction, which `description` names if it has to begin.
    fn receiver(&mut self) -> Result<&mut Receiver, ExchangeError> {
        if let (None, Some(lock)) = (&self.receiver, self.lock.take()) {
            let repository = self.streamed.as_ref().unwrap_or(self.options.repository);
            let receiver = repository.receive(lock, self.options.write, &self.description)?;
            let receiver = self.receiver.insert(receiver);
            if self.options.checks_all {
                receiver.check_all();
            }
        }
        // The lock is there until the receiver is.
        let gone = || ExchangeError::DamagedBundle("nothing can be received".to_owned());
        self.receiver.as_mut().ok_or_else(gone)
    }

    fn send_interrupting_output(&mut self) {
        for text in self.interrupting_output.lock().drain(..) {
            (self.options.on_event)(BundleEvent::RemoteOutput(&text));
        }
    }

    fn debug(&mut self, line: impl FnOnce() -> Vec<u8>) {
        if self.options.debug {
            (self.options.on_event)(BundleEvent::Debug(&line()));
        }
    }

    fn origin(&self, in_bundle2: bool) -> ExchangeOrigin {
        ExchangeOrigin {
            source: self.options.source,
            url: self.options.url.clone(),
            // As Mercurial's hooks learn it.
            in_bundle2: in_bundle2 && self.options.pull.is_none(),
        }
    }

    /// Fills the cache of tags. A damaged changeset is no error here: everything is stored by now, and readers of
    /// tags get the error.
    fn keep_tag_files(&self) {
        if self.tagged.is_empty() {
            return;
        }
        if let Ok(view) = self.options.repository.view_for(ViewFilter::Visible) {
            let _ = view.keep_tag_files(&self.tagged);
        }
    }

    /// The error of the transaction; a refused key is also reported to the client.
    fn refused(&self, error: RepoError) -> ExchangeError {
        match (error, &self.options.push) {
            (RepoError::KeyRefused { part, key, words }, Some(push)) => {
                let words = format!("pushkey-abort: {words}\n");
                push.output.write("prepushkey", words.as_bytes());
                ExchangeError::KeyRefused { part, key: *key }
            }
            (other, _) => other.into(),
        }
    }

    fn is_accepted(&mut self, receiver: &mut Receiver) -> Result<bool, ExchangeError> {
        let pending = PendingArrival {
            changesets: receiver.new_changesets()?,
            report: receiver.report(),
            accepted: Cell::new(true),
        };
        (self.options.on_event)(BundleEvent::Question(&pending));
        Ok(pending.accepted.get())
    }

    fn finish(mut self) -> Result<(ReceiveReport, Lock), ExchangeError> {
        let (mut report, lock) = match self.receiver.take() {
            Some(mut receiver) => {
                if self.options.asks && !self.is_accepted(&mut receiver)? {
                    receiver.abandon();
                    return Err(ExchangeError::Declined);
                }
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
