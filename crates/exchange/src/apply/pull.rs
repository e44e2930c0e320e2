//! Bundles that this side requested: bookmarks follow those of the other side, in the transaction that brings the
//! changesets.

use super::{Application, BundleEvent};
use super::{BookmarkExchange, BookmarkMove, BookmarkedHistory, PulledBookmark};
use super::{mirrored_bookmarks, pulled_bookmarks};
use crate::ExchangeError;
use crate::format::part::{PartHeader, list_keys};
use std::collections::BTreeMap;
use varve_repo::{Node, Phase, RepoError, ViewFilter};

/// Context of a bundle that this side requested.
#[derive(Clone, Debug, Default)]
pub struct PullContext<'a> {
    /// Bookmarks of the other side, if they are known already; those in the bundle replace them.
    pub bookmarks: BTreeMap<Vec<u8>, Node>,
    /// Names of bookmarks that are set as they are there, even if that is no move forward.
    pub wanted: &'a [Vec<u8>],
    /// Name of the path of the other side, for divergent bookmarks.
    pub path: Option<&'a [u8]>,
    /// Treatment of bookmarks on this path.
    pub exchange: BookmarkExchange,
}

impl PullContext<'_> {
    fn moves(&self, view: &impl BookmarkedHistory) -> Result<Vec<PulledBookmark>, RepoError> {
        match self.exchange {
            BookmarkExchange::Merge if self.bookmarks.is_empty() => Ok(Vec::new()),
            BookmarkExchange::Merge => {
                pulled_bookmarks(view, &self.bookmarks, self.wanted, self.path)
            }
            BookmarkExchange::Mirror => mirrored_bookmarks(view, &self.bookmarks),
            BookmarkExchange::Ignore => Ok(Vec::new()),
        }
    }
}

impl Application<'_> {
    pub(super) fn listed_keys(&mut self, header: &PartHeader, keys: &[u8]) {
        if let (Some(pull), Some(b"bookmarks")) =
            (&mut self.options.pull, header.value("namespace"))
        {
            pull.bookmarks = list_keys::bookmarks(list_keys::decode(keys));
        }
    }

    pub(super) fn update_pulled_bookmarks(&mut self) -> Result<(), ExchangeError> {
        let Some(pull) = self.options.pull.take() else {
            return Ok(());
        };
        if pull.exchange != BookmarkExchange::Ignore {
            self.debug(|| b"checking for updated bookmarks\n".to_vec());
            self.move_bookmarks(&pull)?;
        }
        let origin = self.origin(false);
        if let Some(receiver) = &mut self.receiver {
            receiver.set_origin(&origin);
        }
        Ok(())
    }

    fn move_bookmarks(&mut self, pull: &PullContext<'_>) -> Result<(), ExchangeError> {
        let moved = match &mut self.receiver {
            Some(receiver) => pull.moves(&receiver.pending_history()?)?,
            None => {
                let repository = self.streamed.as_ref().unwrap_or(self.options.repository);
                let view = repository.view_for(ViewFilter::Visible)?;
                pull.moves(&*view)?
            }
        };
        let mut moves = Vec::with_capacity(moved.len());
        for bookmark in moved {
            (self.options.on_event)(BundleEvent::Bookmark(&bookmark));
            let stored = match bookmark.moves {
                BookmarkMove::Diverged(other) => other,
                BookmarkMove::Unnameable => continue,
                _ => bookmark.name,
            };
            moves.push((stored, bookmark.node));
        }
        if !moves.is_empty() {
            self.receiver()?.bookmarks(&moves);
        }
        Ok(())
    }

    /// Whether no changeset would get a lower phase; `false` once the transaction has begun.
    pub(super) fn has_phases(&self, heads: &[(Phase, Vec<Node>)]) -> Result<bool, ExchangeError> {
        if self.receiver.is_some() {
            return Ok(false);
        }
        let view = self.options.repository.view_for(ViewFilter::Unfiltered)?;
        let rev = |node: &Node| view.changelog().rev(node);
        let is_there =
            |phase: Phase, node: &Node| rev(node).is_none_or(|rev| view.phases().of(rev) <= phase);
        let mut all = heads.iter();
        Ok(all.all(|(phase, nodes)| nodes.iter().all(|node| is_there(*phase, node))))
    }
}
