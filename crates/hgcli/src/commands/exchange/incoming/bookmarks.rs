//! Bookmarks that another repository has elsewhere.

use crate::context::Repo;
use crate::ui::{Abort, Ui};
use varve_exchange::apply::{BookmarkRelation, compare_bookmarks};
use varve_exchange::client::peer::Remote;

/// Shows them; ends with 1 if there are none.
pub(super) fn show(repo: &mut Repo, ui: &mut Ui, remote: &mut Remote) -> Result<u8, Abort> {
    ui.status("searching for changed bookmarks\n")?;
    let mut found = 1;
    let there = remote.bookmarks()?;
    for bookmark in compare_bookmarks(repo.view()?.as_ref(), &there) {
        let change = match bookmark.relation {
            BookmarkRelation::OnlyThere => "added",
            BookmarkRelation::Behind => "advanced",
            BookmarkRelation::Apart => "diverged",
            BookmarkRelation::Unknown => "changed",
            // A pull would take nothing over.
            BookmarkRelation::Same | BookmarkRelation::OnlyHere | BookmarkRelation::Ahead => {
                continue;
            }
        };
        found = 0;
        let name = String::from_utf8_lossy(&bookmark.name).into_owned();
        let hex = bookmark.there.map(|node| ui.hex(&node));
        let mut line = format!("   {name:<25} {}", hex.unwrap_or_default());
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
