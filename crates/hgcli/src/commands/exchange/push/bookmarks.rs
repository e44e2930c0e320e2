//! Which bookmarks a push moves.

use super::PushSession;
use crate::arguments::Matches;
use crate::context::Repo;
use crate::ui::{Abort, Ui};
use std::collections::{BTreeMap, BTreeSet};
use varve_exchange::apply::{BookmarkRelation, compare_bookmarks};
use varve_exchange::client::peer::Remote;
use varve_exchange::client::push::BookmarkPush;
use varve_repo::{Node, Phase};

/// Bookmarks of a push, on both sides.
#[derive(Debug, Default)]
pub(super) struct BookmarkPlan {
    /// Pushed ones, by name.
    pub(super) pushed: Vec<BookmarkPush>,
    /// Those of the other side.
    pub(super) there: BTreeMap<Vec<u8>, Node>,
    /// Whether one was named that is nowhere.
    pub(super) unknown: bool,
}

/// Bookmarks that the command line names.
pub(super) fn named(repo: &mut Repo, matches: &Matches) -> Result<BTreeSet<Vec<u8>>, Abort> {
    let typed = matches.list("bookmark");
    if matches.flag("all-bookmarks") {
        let both = [
            ("--rev", matches.list("rev").is_empty()),
            ("--bookmark", typed.is_empty()),
        ];
        if let Some((option, _)) = both.into_iter().find(|(_, is_empty)| !is_empty) {
            let words = format!("cannot specify both --all-bookmarks and {option}");
            return Err(Abort::new(words));
        }
        return Ok(repo.view()?.bookmarks().keys().cloned().collect());
    }
    let mut names = BTreeSet::new();
    for name in typed {
        let name = match name {
            b"." => repo
                .active_bookmark()?
                .ok_or_else(|| Abort::new("no active bookmark"))?,
            name => name.to_vec(),
        };
        names.insert(name);
    }
    Ok(names)
}

impl PushSession<'_> {
    /// Compares the bookmarks of both sides: those that are ahead here move, if their changeset is
    /// pushed; those that were named move in any case.
    pub(super) fn compare_bookmarks(
        &self,
        ui: &mut Ui,
        remote: &mut Remote,
    ) -> Result<BookmarkPlan, Abort> {
        ui.debug("checking for updated bookmarks\n")?;
        let mut moved = BookmarkPlan {
            there: remote.bookmarks()?,
            ..BookmarkPlan::default()
        };
        let mut left = self.asked.bookmarks.clone();
        let pushed = self.pushed_history();
        for compared in compare_bookmarks(&*self.all, &moved.there) {
            let is_named = left.remove(&compared.name);
            let rev = compared
                .here
                .and_then(|node| self.view.changelog().rev(&node));
            let is_pushed = match (&pushed, rev) {
                (Some(pushed), Some(rev)) => pushed.contains(&rev),
                _ => true,
            };
            let moves = match compared.relation {
                BookmarkRelation::Same => false,
                BookmarkRelation::Ahead => is_named || is_pushed,
                _ => is_named,
            };
            if moves && !is_pushed {
                let name = String::from_utf8_lossy(&compared.name);
                ui.warn(format!(
                    "cannot push bookmark X without its revision: {name}!\n"
                ))?;
                continue;
            }
            if moves {
                moved.pushed.push(BookmarkPush {
                    name: compared.name,
                    before: compared.there,
                    after: compared.here,
                });
            }
        }
        for name in &left {
            let name = String::from_utf8_lossy(name);
            ui.warn(format!(
                "bookmark {name} does not exist on the local or remote repository!\n"
            ))?;
        }
        moved.unknown = !left.is_empty();
        Ok(moved)
    }

    /// Everything that is pushed, or was before; `None` if that is not limited. If it is limited to
    /// nothing, Mercurial takes it for not limited.
    fn pushed_history(&self) -> Option<BTreeSet<varve_repo::Rev>> {
        let heads = self.heads.as_ref()?;
        let below = self.view.missing_ancestors(heads, &[]);
        (!below.is_empty()).then(|| below.into_iter().collect())
    }

    /// Secret changesets are not sent.
    pub(super) fn refuse_secret_bookmarks(&self, moved: &BookmarkPlan) -> Result<(), Abort> {
        let Some(BookmarkPush { name, .. }) = self.secret_bookmark(moved) else {
            return Ok(());
        };
        let name = String::from_utf8_lossy(name);
        let words = format!("cannot push bookmark {name} as it points to a secret changeset");
        Err(Abort::new(words))
    }

    /// The first bookmark that is on a secret changeset.
    pub(super) fn secret_bookmark<'m>(&self, moved: &'m BookmarkPlan) -> Option<&'m BookmarkPush> {
        moved.pushed.iter().find(|BookmarkPush { after, .. }| {
            let rev = after.and_then(|node| self.all.changelog().rev(&node));
            rev.is_some_and(|rev| self.all.phases().of(rev) == Phase::Secret)
        })
    }
}

/// Says which bookmarks have moved there.
pub(super) fn report(ui: &mut Ui, pushed: &[BookmarkPush]) -> Result<(), Abort> {
    for BookmarkPush {
        name,
        before,
        after,
    } in pushed
    {
        let done: &[u8] = match (before, after) {
            (None, _) => b"exporting bookmark ",
            (Some(_), None) => b"deleting remote bookmark ",
            (Some(_), Some(_)) => b"updating bookmark ",
        };
        ui.status([done, name, b"\n"].concat())?;
    }
    Ok(())
}
