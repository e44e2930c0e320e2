//! Revisions that come as patches from another repository, and are not believed: every text is put
//! together and compared with its name.

use crate::append::{Appender, Content};
use crate::entry::flag;
use crate::{Given, NewRevision, Node, Rev, RevlogError, hash};
use std::sync::PoisonError;
use varve_delta::{HUNK_HEADER_LEN, apply};

/// A buffer longer than this is not kept for the next text.
const LONGEST_KEPT: usize = 32 << 20;

/// A revision as it comes.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Its name.
    pub node: Node,
    /// Its parents, or [`Node::NULL`].
    pub parents: [Node; 2],
    /// What the patch is against; [`Node::NULL`] is the empty text.
    pub base: Node,
    /// The changeset that introduces it.
    pub link: Rev,
    /// Bits of [`flag`].
    pub flags: u16,
    /// What makes the text.
    pub patch: &'a [u8],
}

impl Appender {
    /// Gathers a revision and leaves its text in `text`; `None` if it is there already.
    ///
    /// # Errors
    /// [`RevlogError::UnknownNode`] if a parent or the base is not there;
    /// [`RevlogError::WrongName`]; what is damaged.
    pub fn add_received(
        &mut self,
        new: &Received<'_>,
        text: &mut Vec<u8>,
    ) -> Result<Option<Rev>, RevlogError> {
        text.clear();
        if self.rev(&new.node).is_some() {
            return Ok(None);
        }
        if new.flags & !(flag::CENSORED | flag::HINTS) != 0 {
            let flags = new.flags;
            return Err(self.cannot(&format!("a revision has the unknown flags {flags:#06x}")));
        }
        let find = |node: &Node, what| match node.is_null() {
            true => Ok(None),
            false => self.rev(node).map(Some).ok_or(RevlogError::UnknownNode {
                path: self.path().to_owned(),
                node: *node,
                what,
            }),
        };
        let p1 = find(&new.parents[0], "parent")?;
        let p2 = find(&new.parents[1], "parent")?;
        let base = find(&new.base, "delta base")?;
        self.patch_text(base, new, text)?;
        let is_plain = new.flags & flag::CENSORED == 0;
        if is_plain && hash(&new.parents[0], &new.parents[1], text) != new.node {
            return Err(RevlogError::WrongName {
                path: self.path().to_owned(),
                rev: Rev(self.len() as u32),
            });
        }
        let revision = NewRevision {
            text,
            p1,
            p2,
            link: new.link,
        };
        let given = Given {
            node: Some(new.node),
            flags: new.flags & flag::CENSORED,
            delta: Some((base, new.patch)),
        };
        let (rev, _) = self.add_given(&revision, &given)?;
        if self.content == Content::Changelog && base.is_some() {
            // Where one patch is against the changeset before it, the next one will be too.
            let reader = self.reader.get_mut();
            let reader = reader.unwrap_or_else(PoisonError::into_inner);
            reader.keep(rev, text);
        }
        if text.capacity() > LONGEST_KEPT {
            text.shrink_to(0);
        }
        Ok(Some(rev))
    }

    fn patch_text(
        &mut self,
        base: Option<Rev>,
        new: &Received<'_>,
        text: &mut Vec<u8>,
    ) -> Result<(), RevlogError> {
        let Some(base) = base else {
            return self.patch(&[], new, text);
        };
        // Whatever is wrong with the base shows in the name of what is made of it.
        let mut reader = std::mem::take(&mut self.reader)
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let old = reader.unchecked(&self.revlog, base);
        let patched = old.and_then(|old| self.patch(old, new, text));
        self.reader = reader.into();
        patched
    }

    fn patch(&self, old: &[u8], new: &Received<'_>, text: &mut Vec<u8>) -> Result<(), RevlogError> {
        let longest = old.len().saturating_add(new.patch.len());
        text.reserve(longest.saturating_sub(HUNK_HEADER_LEN));
        apply(new.patch, old, text).map_err(|source| RevlogError::DamagedChain {
            path: self.path().to_owned(),
            rev: Rev(self.len() as u32),
            source,
        })
    }
}
