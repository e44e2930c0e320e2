//! Bookmarks that another repository has elsewhere.

use crate::context::Repo;
use crate::ui::{Abort, Ui};
use varve_exchange::apply::{BookmarkExchange, BookmarkRelation, compare_bookmarks};
use varve_exchange::client::peer::Remote;
use varve_repo::Node;

/// Shows them as a pull would exchange them; ends with 1 if there are none.
pub(super) fn show(
    repo: &mut Repo,
    ui: &mut Ui,
    remote: &mut Remote,
    exchange: BookmarkExchange,
) -> Result<u8, Abort> {
    if exchange == BookmarkExchange::Ignore {
        ui.status("bookmarks exchange disabled with this path\n")?;
        return Ok(0);
    }
    ui.status("searching for changed bookmarks\n")?;
    let mut found = 1;
    let there = remote.bookmarks()?;
    for bookmark in compare_bookmarks(repo.view()?.as_ref(), &there)? {
        let mirrors = exchange == BookmarkExchange::Mirror;
        let change = match bookmark.relation {
            BookmarkRelation::OnlyThere => "added",
            BookmarkRelation::OnlyHere if mirrors => "removed",
            // A pull would take nothing over.
            BookmarkRelation::Same | BookmarkRelation::OnlyHere => continue,
            _ if mirrors => "changed",
            BookmarkRelation::Behind => "advanced",
            BookmarkRelation::Apart => "diverged",
            BookmarkRelation::Unknown => "changed",
            BookmarkRelation::Ahead => continue,
        };
        found = 0;
        let name = String::from_utf8_lossy(&bookmark.name).into_owned();
        let hex = ui.hex(&bookmark.there.unwrap_or(Node::NULL));
        let mut line = format!("   {name:<25} {hex}");
        if ui.verbosity.verbose {
            line += " ";
            line += change;
        }
        ui.write(line + "\n")?;
    }
    if found == 1 {
        ui.status("no changed bookmarks found\n")?;
    }
    Ok(found)
}
