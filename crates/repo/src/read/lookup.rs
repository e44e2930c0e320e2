//! From a user's word to a changeset.

use crate::format::{LookupError, RepoError};
use crate::read::{BranchHeads, RepoView};
use varve_lang::date::{Date, DateRange};
use varve_revlog::{Node, PrefixMatch, Rev};

/// Begins the digits of a node that could be taken for a number: `x24`.
const PREFIX_MARK: u8 = b'x';

/// The digits of the beginning of a node, without the mark in front of them.
pub fn prefix_digits(name: &[u8]) -> &[u8] {
    name.strip_prefix(&[PREFIX_MARK]).unwrap_or(name)
}

impl RepoView {
    /// The changeset that `key` names, in Mercurial's order: `null`, `tip`, `.`, a revision
    /// number, a full node, a bookmark, a tag, a branch, the beginning of a node, with an `x` before it or not.
    ///
    /// # Errors
    /// [`LookupError`], with the words that Mercurial uses.
    pub fn lookup(&self, key: &[u8]) -> Result<Node, LookupError> {
        let text = || String::from_utf8_lossy(key).into_owned();
        let newest = || self.changelog().node_or_null(self.tip());
        match key {
            b"null" => return Ok(Node::NULL),
            b"tip" => return Ok(newest()),
            b"." => {
                let parents = self.working_parents()?;
                return parents
                    .first()
                    .map_or(Ok(Node::NULL), |node| self.shown(node, key));
            }
            _ => {}
        }
        if let Some(number) = revision_number(key)
            && let Some(rev) = self.numbered(number)
        {
            return self.shown_rev(rev, key);
        }
        if let Some(node) = Node::from_hex(key)
            && (node.is_null() || self.changelog().rev(&node).is_some())
        {
            return self.shown(&node, key);
        }
        if let Some(node) = self.named(key)? {
            return Ok(node);
        }
        if key == [PREFIX_MARK] {
            return Err(LookupError::Ambiguous(text()));
        }
        let digits = prefix_digits(key);
        match (
            self.changelog().rev_by_prefix(digits),
            Node::null_begins_with(digits),
        ) {
            (PrefixMatch::None, true) => Ok(Node::NULL),
            (PrefixMatch::One(rev), false) => self.shown_rev(rev, key),
            (PrefixMatch::One(_), true) => Err(LookupError::Ambiguous(text())),
            (PrefixMatch::Ambiguous, _) if !key.is_empty() => Err(LookupError::Ambiguous(text())),
            (PrefixMatch::Ambiguous | PrefixMatch::None, _) => Err(LookupError::Unknown(text())),
        }
    }

    /// Checks that the filter shows all of `revs`.
    ///
    /// # Errors
    /// [`LookupError::Hidden`] with the first 12 digits of a changeset that is not shown.
    pub fn check_visible(&self, revs: &[Rev]) -> Result<(), LookupError> {
        for rev in revs {
            let hex = self.changelog().node(*rev).to_hex();
            self.shown_rev(*rev, &hex[..12])?;
        }
        Ok(())
    }

    /// The newest visible changeset whose date is in `range`, and that date. Changesets are not sorted by date; of
    /// several the one with the highest revision number is taken.
    ///
    /// # Errors
    /// If a changeset is damaged.
    pub fn newest_dated(&self, range: &DateRange) -> Result<Option<(Rev, Date)>, RepoError> {
        let revs = self.changelog().revs().rev();
        for rev in revs.filter(|rev| self.is_visible(*rev)) {
            let date = self.with_changeset(rev, |changeset| Date {
                time: changeset.time,
                zone: changeset.zone,
            })?;
            if range.contains(date.time) {
                return Ok(Some((rev, date)));
            }
        }
        Ok(None)
    }

    /// Negative numbers count from the end; none of them is the null revision.
    fn numbered(&self, number: i64) -> Option<Rev> {
        let len = self.changelog().len() as i64;
        let from_end = if number < 0 { number + len } else { number };
        self.changelog().rev_at(from_end)
    }

    fn named(&self, key: &[u8]) -> Result<Option<Node>, LookupError> {
        if let Some(node) = self.bookmarks().get(key) {
            return Ok(Some(*node));
        }
        if let Some(node) = self.tags()?.get(key) {
            return Ok(Some(*node));
        }
        let branch = self.branchmap()?.get(key);
        let tip = branch.and_then(BranchHeads::tip);
        Ok(tip.map(|rev| self.changelog().node(rev)))
    }

    fn shown(&self, node: &Node, key: &[u8]) -> Result<Node, LookupError> {
        match self.changelog().rev(node) {
            Some(rev) => self.shown_rev(rev, key),
            None if node.is_null() => Ok(*node),
            None => Err(LookupError::Unknown(
                String::from_utf8_lossy(key).into_owned(),
            )),
        }
    }

    fn shown_rev(&self, rev: Rev, key: &[u8]) -> Result<Node, LookupError> {
        if self.is_visible(rev) {
            Ok(self.changelog().node(rev))
        } else {
            Err(LookupError::Hidden {
                name: String::from_utf8_lossy(key).into_owned(),
                fate: self.obsfate_text(rev)?,
            })
        }
    }
}

/// Only the usual spelling is a number: `007` may be the beginning of a node.
fn revision_number(key: &[u8]) -> Option<i64> {
    let number: i64 = std::str::from_utf8(key).ok()?.parse().ok()?;
    (number.to_string().as_bytes() == key).then_some(number)
}
