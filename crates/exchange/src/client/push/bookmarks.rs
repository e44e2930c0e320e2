//! Bookmarks that a push moves on the other side.

use crate::ExchangeError;
use crate::apply::{BookmarkRelation, ComparedBookmark, compare_bookmarks, is_exposed};
use crate::error::PushRefusal;
use crate::format::part::{PartHeader, PartType};
use std::collections::{BTreeMap, BTreeSet};
use varve_repo::{Phase, RepoError, RepoView};
use varve_revlog::{Node, Rev};

/// How the bookmarks of a push are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BookmarkForm {
    /// All in one part, behind one that checks what they were.
    #[default]
    Together,
    /// Each as a key of the namespace `bookmarks`, as before Mercurial 4.5. The other side takes one only if it is where
    /// it was.
    Keys,
}

/// A bookmark that a push changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BookmarkPush {
    /// Name of the bookmark, as the repository stores it.
    pub name: Vec<u8>,
    /// Its changeset there, when the push was prepared.
    pub before: Option<Node>,
    /// Its changeset afterwards; `None` removes it.
    pub after: Option<Node>,
}

impl BookmarkPush {
    /// The part that sets it as a key.
    pub(super) fn key_part(&self) -> PartHeader {
        let hex = |node: Option<Node>| node.map(|node| node.to_hex().to_vec()).unwrap_or_default();
        PartHeader::mandatory(PartType::PushKey)
            .with("namespace", "bookmarks")
            .with("key", &self.name[..])
            .with("old", hex(self.before))
            .with("new", hex(self.after))
    }
}

/// Bookmarks of both sides, and the changes that a push makes to those of the other one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BookmarkPlan {
    /// Bookmarks that change, by name.
    pub pushed: Vec<BookmarkPush>,
    /// Bookmarks that were named, or are ahead here, and stay because their changeset is not pushed.
    pub unsent: Vec<Vec<u8>>,
    /// Names with an @ that were named: a pull has kept those beside others, and they are never sent.
    pub divergent: Vec<Vec<u8>>,
    /// Names that neither side has.
    pub unknown: Vec<Vec<u8>>,
    /// Changesets that may become heads because a bookmark is on them that is ahead here, or was named and is new there.
    pub accepted_heads: BTreeSet<Node>,
}

impl BookmarkPlan {
    /// Compares the bookmarks of both sides. A bookmark that is ahead here moves if its changeset is among the
    /// pushed `heads` and their ancestors; one that is `named` moves in any case. `heads` is `None` if all
    /// changesets are pushed. `all` shows hidden changesets, `view` does not.
    ///
    /// # Errors
    /// As of [`compare_bookmarks`].
    pub fn new(
        (view, all): (&RepoView, &RepoView),
        heads: Option<&[Rev]>,
        named: &BTreeSet<Vec<u8>>,
        there: &BTreeMap<Vec<u8>, Node>,
    ) -> Result<BookmarkPlan, RepoError> {
        let mut plan = BookmarkPlan::default();
        let mut left = named.clone();
        let history = pushed_history(view, heads);
        for compared in compare_bookmarks(all, there)? {
            let is_named = left.remove(&compared.name);
            let may_be_head = match compared.relation {
                BookmarkRelation::Ahead | BookmarkRelation::Same => true,
                BookmarkRelation::OnlyHere => is_named,
                _ => false,
            };
            if may_be_head {
                plan.accepted_heads.extend(compared.here);
            }
            let rev = compared.here.and_then(|node| view.changelog().rev(&node));
            let is_pushed = match (&history, rev) {
                (Some(history), Some(rev)) => history.contains(&rev),
                _ => true,
            };
            plan.add(compared, is_named, is_pushed);
        }
        plan.unknown = left.into_iter().collect();
        Ok(plan)
    }

    fn add(&mut self, compared: ComparedBookmark, is_named: bool, is_pushed: bool) {
        let moves = match compared.relation {
            BookmarkRelation::Same => false,
            BookmarkRelation::Ahead => is_named || is_pushed,
            _ => is_named,
        };
        match (moves, is_pushed) {
            (false, _) => {}
            _ if compared.relation == BookmarkRelation::OnlyHere && !is_exposed(&compared.name) => {
                self.divergent.push(compared.name);
            }
            (true, false) => self.unsent.push(compared.name),
            (true, true) => self.pushed.push(BookmarkPush {
                name: compared.name,
                before: compared.there,
                after: compared.here,
            }),
        }
    }

    /// The first pushed bookmark that is on a secret changeset, which is never sent.
    pub fn secret(&self, all: &RepoView) -> Option<&BookmarkPush> {
        self.pushed.iter().find(|push| {
            let rev = push.after.and_then(|node| all.changelog().rev(&node));
            rev.is_some_and(|rev| all.phases().of(rev) == Phase::Secret)
        })
    }

    /// # Errors
    /// [`PushRefusal::SecretBookmark`].
    pub fn refuse_secret(&self, all: &RepoView) -> Result<(), ExchangeError> {
        match self.secret(all) {
            Some(push) => {
                let name = String::from_utf8_lossy(&push.name).into_owned();
                Err(PushRefusal::SecretBookmark(name).into())
            }
            None => Ok(()),
        }
    }
}

/// The pushed heads and their ancestors; `None` if those are all changesets. Heads that amount to nothing are taken
/// for all changesets, as in Mercurial.
fn pushed_history(view: &RepoView, heads: Option<&[Rev]>) -> Option<BTreeSet<Rev>> {
    let history = view.missing_ancestors(heads?, &[]);
    (!history.is_empty()).then(|| history.into_iter().collect())
}
