//! Revisions that another repository sends as patches. They are not trusted: every text is assembled and
//! compared with its node, at once or when it is first read.

use crate::append::{Appender, Content};
use crate::choose::TextShape;
use crate::entry::flag;
use crate::{NewRevision, Node, Rev, RevisionHints, RevlogError, hash};
use varve_delta::{HUNK_HEADER_LEN, PatchError, apply, patched_len};

/// A buffer longer than this is not kept for the next text.
const LONGEST_KEPT: usize = 32 << 20;

/// A revision as it comes.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedRevision<'a> {
    /// Its name.
    pub node: Node,
    /// Its parents, or [`Node::NULL`].
    pub parents: [Node; 2],
    /// Base of the patch; [`Node::NULL`] is the empty text.
    pub base: Node,
    /// The changeset that introduces it.
    pub link: Rev,
    /// Bits of [`flag`].
    pub flags: u16,
    /// Patch from the base to the text.
    pub patch: &'a [u8],
}

/// The revisions that a received one names, by number.
struct ResolvedRevs {
    p1: Option<Rev>,
    p2: Option<Rev>,
    base: Option<Rev>,
}

impl Appender {
    /// Gathers a revision and leaves its text in `text`; `None` if it is there already.
    ///
    /// # Errors
    /// [`RevlogError::UnknownNode`] if a parent or the base is not there;
    /// [`RevlogError::WrongName`]; damage in the revlog.
    pub fn add_received(
        &mut self,
        new: &ReceivedRevision<'_>,
        text: &mut Vec<u8>,
    ) -> Result<Option<Rev>, RevlogError> {
        text.clear();
        let Some(ResolvedRevs { p1, p2, base }) = self.resolve(new)? else {
            return Ok(None);
        };
        self.patch_text(base, new, text)?;
        if new.flags & flag::CENSORED == 0 {
            self.compare(new.node, new.parents, text, Rev(self.len() as u32))?;
        }
        let revision = NewRevision {
            text,
            p1,
            p2,
            link: new.link,
        };
        let given = RevisionHints {
            node: Some(new.node),
            flags: new.flags & flag::CENSORED,
            delta: Some((base, new.patch)),
        };
        let (rev, _) = self.add_with_hints(&revision, &given)?;
        if self.content == Content::Changelog && base.is_some() {
            // Where one patch is against the changeset before it, the next one will be too.
            let reader = self.reader.get_mut();
            reader.cache_text(rev, text);
        }
        if text.capacity() > LONGEST_KEPT {
            text.shrink_to(0);
        }
        Ok(Some(rev))
    }

    /// As [`Appender::add_received`], but a delta that can be stored as it came is: its text is
    /// compared with its node when it is first read.
    ///
    /// # Errors
    /// As of [`Appender::add_received`].
    pub fn add_unverified(
        &mut self,
        new: &ReceivedRevision<'_>,
        text: &mut Vec<u8>,
    ) -> Result<Option<Rev>, RevlogError> {
        let Some(resolve) = self.resolve(new)? else {
            return Ok(None);
        };
        let ResolvedRevs { p1, p2, base } = resolve;
        let Some(base) = base.filter(|_| new.flags & !flag::HINTS == 0) else {
            return self.add_received(new, text);
        };
        // A text that is not an ordinary one is no base; see `choose`.
        let old_len = self.revlog.entry(base).raw_len.unwrap_or(0);
        let len =
            patched_len(new.patch, old_len as usize).map_err(|source| self.damaged(source))?;
        let shape = TextShape {
            len,
            parents: [p1, p2],
        };
        let Some(stored) = self.choose_received_delta(base, shape, new.patch)? else {
            return self.add_received(new, text);
        };
        let revision = NewRevision {
            text: &[],
            p1,
            p2,
            link: new.link,
        };
        self.buffer(&revision, (new.node, 0), len, stored).map(Some)
    }

    /// Compares the text of a revision with its node, which [`Appender::add_unverified`] does not.
    ///
    /// # Errors
    /// [`RevlogError::WrongName`]; damage in the revlog.
    pub fn check(&self, rev: Rev) -> Result<(), RevlogError> {
        let text = self.text(rev)?;
        let parents = self.parents(rev).map(|parent| self.node_or_null(parent));
        self.compare(self.node_or_null(Some(rev)), parents, &text, rev)
    }

    fn compare(
        &self,
        node: Node,
        parents: [Node; 2],
        text: &[u8],
        rev: Rev,
    ) -> Result<(), RevlogError> {
        if hash(&parents[0], &parents[1], text) == node {
            return Ok(());
        }
        Err(RevlogError::WrongName {
            path: self.path().to_owned(),
            rev,
        })
    }

    /// Looks up the named revisions; `None` if the received one is stored already.
    fn resolve(&self, new: &ReceivedRevision<'_>) -> Result<Option<ResolvedRevs>, RevlogError> {
        if self.rev(&new.node).is_some() {
            return Ok(None);
        }
        if new.flags & !(flag::CENSORED | flag::HINTS) != 0 {
            let flags = new.flags;
            return Err(
                self.append_error(&format!("a revision has the unknown flags {flags:#06x}"))
            );
        }
        let find = |node: &Node, what| match node.is_null() {
            true => Ok(None),
            false => self.rev(node).map(Some).ok_or(RevlogError::UnknownNode {
                path: self.path().to_owned(),
                node: *node,
                what,
            }),
        };
        Ok(Some(ResolvedRevs {
            p1: find(&new.parents[0], "parent")?,
            p2: find(&new.parents[1], "parent")?,
            base: find(&new.base, "delta base")?,
        }))
    }

    fn patch_text(
        &mut self,
        base: Option<Rev>,
        new: &ReceivedRevision<'_>,
        text: &mut Vec<u8>,
    ) -> Result<(), RevlogError> {
        let Some(base) = base else {
            return self.patch(&[], new, text);
        };
        // A damaged base shows in the node of the patched text.
        let mut reader = std::mem::take(&mut self.reader).into_inner();
        let old = reader.unchecked(&self.revlog, base);
        let patched = old.and_then(|old| self.patch(old, new, text));
        self.reader = reader.into();
        patched
    }

    fn patch(
        &self,
        old: &[u8],
        new: &ReceivedRevision<'_>,
        text: &mut Vec<u8>,
    ) -> Result<(), RevlogError> {
        let longest = old.len().saturating_add(new.patch.len());
        text.reserve(longest.saturating_sub(HUNK_HEADER_LEN));
        apply(new.patch, old, text).map_err(|source| self.damaged(source))
    }

    fn damaged(&self, source: PatchError) -> RevlogError {
        RevlogError::DamagedChain {
            path: self.path().to_owned(),
            rev: Rev(self.len() as u32),
            source,
        }
    }
}
