//! Bookmarks of a push: those that the command line names, and messages about those that move.

use super::PushSession;
use crate::arguments::Matches;
use crate::context::{Config, Repo};
use crate::remote::peers;
use crate::ui::{Abort, Ui};
use std::collections::BTreeSet;
use varve_exchange::ExchangeError;
use varve_exchange::client::peer::Remote;
use varve_exchange::client::push::{BookmarkForm, BookmarkPlan, BookmarkPush};

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
            return Err(Abort::input(words));
        }
        return Ok(repo.view()?.bookmarks().keys().cloned().collect());
    }
    let mut names = BTreeSet::new();
    for name in typed {
        let name = match name {
            b"." => repo
                .active_bookmark()?
                .ok_or_else(|| Abort::input("no active bookmark"))?,
            name => name.to_vec(),
        };
        names.insert(name);
    }
    Ok(names)
}

/// Compares the bookmarks of both sides, and warns of those that cannot be pushed.
pub(super) fn plan(
    session: &PushSession<'_>,
    ui: &mut Ui,
    remote: &mut Remote,
) -> Result<BookmarkPlan, Abort> {
    ui.debug("checking for updated bookmarks\n")?;
    let there = remote.bookmarks()?;
    let views = (&*session.view, &*session.all);
    let named = &session.options.bookmarks;
    let plan = BookmarkPlan::new(views, session.heads.as_deref(), named, &there)?;
    for name in &plan.unsent {
        let name = String::from_utf8_lossy(name);
        ui.warn(format!(
            "cannot push bookmark X without its revision: {name}!\n"
        ))?;
    }
    for name in &plan.divergent {
        let name = String::from_utf8_lossy(name);
        ui.warn(format!("cannot push divergent bookmark {name}!\n"))?;
    }
    for name in &plan.unknown {
        let name = String::from_utf8_lossy(name);
        ui.warn(format!(
            "bookmark {name} does not exist on the local or remote repository!\n"
        ))?;
    }
    Ok(plan)
}

/// The form of the bookmarks that the configuration wants.
pub(super) fn form(config: &Config) -> BookmarkForm {
    match peers::sends_bookmarks_as_keys(config) {
        true => BookmarkForm::Keys,
        false => BookmarkForm::Together,
    }
}

/// The change of a bookmark on the other side, in the words for the user.
fn change(push: &BookmarkPush) -> &'static str {
    match (&push.before, &push.after) {
        (None, _) => "exporting bookmark ",
        (Some(_), None) => "deleting remote bookmark ",
        (Some(_), Some(_)) => "updating bookmark ",
    }
}

/// The failure of a push; of a refused bookmark the other side has said why.
pub(super) fn refused(error: ExchangeError, pushed: &[BookmarkPush]) -> Abort {
    let bookmark = match &error {
        ExchangeError::KeyRefused { key, .. } if key.namespace == b"bookmarks" => {
            pushed.iter().find(|push| push.name == key.key)
        }
        _ => None,
    };
    match bookmark {
        Some(push) => {
            let name = String::from_utf8_lossy(&push.name);
            Abort::new(format!("{}{name} failed", change(push)))
        }
        None => error.into(),
    }
}

/// Prints the bookmarks that have moved on the other side.
pub(super) fn report(ui: &mut Ui, pushed: &[BookmarkPush]) -> Result<(), Abort> {
    for push in pushed {
        ui.status([change(push).as_bytes(), &push.name, b"\n"].concat())?;
    }
    Ok(())
}
