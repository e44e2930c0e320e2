//! What else is done where a bundle was asked for: bookmarks move as those of the other side have
//! moved, in the transaction that brings the changesets.

use super::{Applying, News};
use crate::ExchangeError;
use crate::apply::{BookmarkMove, pulled_bookmarks};
use crate::client::peer::parse_bookmarks;
use crate::format::bundle20::PartHeader;
use std::collections::BTreeMap;
use varve_repo::{Node, Phase, ViewFilter};

/// What is different about a bundle that was asked for.
#[derive(Clone, Debug, Default)]
pub struct Pulled<'a> {
    /// Bookmarks of the other side, where they are known; else they come in the bundle.
    pub bookmarks: BTreeMap<Vec<u8>, Node>,
    /// Those that are taken as they are.
    pub wanted: &'a [Vec<u8>],
    /// The name of the other side, if it has one here.
    pub path: Option<&'a [u8]>,
}

impl Applying<'_> {
    /// A list of keys comes; those that are bookmarks count.
    pub(super) fn listed_keys(&mut self, header: &PartHeader, keys: &[u8]) {
        if let (Some(pulled), Some(b"bookmarks")) =
            (&mut self.how.pulled, header.value("namespace"))
        {
            pulled.bookmarks = parse_bookmarks(keys);
        }
    }

    /// Moves bookmarks.
    pub(super) fn take_bookmarks(&mut self) -> Result<(), ExchangeError> {
        let Some(pulled) = self.how.pulled.take() else {
            return Ok(());
        };
        self.debug(|| b"checking for updated bookmarks\n".to_vec());
        if !pulled.bookmarks.is_empty() {
            self.move_bookmarks(&pulled)?;
        }
        let origin = self.origin(false);
        if let Some(receiver) = &mut self.receiver {
            receiver.set_origin(&origin);
        }
        Ok(())
    }

    fn move_bookmarks(&mut self, pulled: &Pulled<'_>) -> Result<(), ExchangeError> {
        let (there, wanted) = (&pulled.bookmarks, pulled.wanted);
        let moved = match &mut self.receiver {
            Some(receiver) => {
                pulled_bookmarks(&receiver.pending_history(), there, wanted, pulled.path)
            }
            None => {
                let repository = self.streamed.as_ref().unwrap_or(self.how.repository);
                let view = repository.view_for(ViewFilter::Visible)?;
                pulled_bookmarks(&*view, there, wanted, pulled.path)
            }
        };
        if moved.is_empty() {
            return Ok(());
        }
        let mut moves = Vec::with_capacity(moved.len());
        for bookmark in moved {
            (self.how.tell)(News::Bookmark(&bookmark));
            let stored = match bookmark.moves {
                BookmarkMove::Diverged(other) => other,
                _ => bookmark.name,
            };
            moves.push((stored, bookmark.node));
        }
        let source = self.how.source;
        self.receiver(source)?.bookmarks(&moves);
        Ok(())
    }

    /// Whether nothing would change about phases, as far as that can be said without a transaction.
    pub(super) fn has_phases(&self, heads: &[(Phase, Vec<Node>)]) -> Result<bool, ExchangeError> {
        if self.receiver.is_some() {
            return Ok(false);
        }
        let view = self.how.repository.view_for(ViewFilter::Unfiltered)?;
        let rev = |node: &Node| view.changelog().rev(node);
        let is_there =
            |phase: Phase, node: &Node| rev(node).is_none_or(|rev| view.phases().of(rev) <= phase);
        let mut all = heads.iter();
        Ok(all.all(|(phase, nodes)| nodes.iter().all(|node| is_there(*phase, node))))
    }
}
