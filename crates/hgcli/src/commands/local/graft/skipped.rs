//! Messages about changesets that are not grafted.

use crate::context::Repo;
use crate::ui::{Abort, Ui};
use varve_workdir::{GraftChoice, GraftSkip, GraftSkipReason};

/// True if anything is left among which duplicates are looked for.
pub(super) fn needs_scan(choice: &GraftChoice) -> bool {
    !choice.revs.is_empty() || !choice.skipped.iter().all(is_by_place)
}

/// A changeset that is skipped for its place in the history.
fn is_by_place(skip: &GraftSkip) -> bool {
    matches!(
        skip.reason,
        GraftSkipReason::Merge | GraftSkipReason::Ancestor
    )
}

/// Says why each of them is not grafted. `scans` tells that duplicates were looked for.
pub(super) fn print(
    repo: &mut Repo,
    ui: &mut Ui,
    skipped: &[GraftSkip],
    scans: bool,
) -> Result<(), Abort> {
    let (first, duplicates): (Vec<_>, Vec<_>) = skipped.iter().partition(|skip| is_by_place(skip));
    print_all(repo, ui, &first)?;
    if scans {
        ui.debug("scanning for duplicate grafts\n")?;
    }
    print_all(repo, ui, &duplicates)
}

fn print_all(repo: &mut Repo, ui: &mut Ui, skipped: &[&GraftSkip]) -> Result<(), Abort> {
    for GraftSkip { rev, reason } in skipped {
        let shown = repo.rev_and_hex(*rev)?;
        let line = match reason {
            GraftSkipReason::Merge => format!("skipping ungraftable merge revision {}", rev.0),
            GraftSkipReason::Ancestor => format!("skipping ancestor revision {shown}"),
            GraftSkipReason::GraftedTo(to) => {
                let to = repo.rev_and_hex(*to)?;
                format!("skipping revision {shown} (already grafted to {to})")
            }
            GraftSkipReason::GraftedFrom(from) => {
                let from = repo.rev_and_hex(*from)?;
                format!("skipping already grafted revision {shown} (was grafted from {from})")
            }
            GraftSkipReason::SameOrigin(other, origin) => {
                let (other, origin) = (repo.rev_and_hex(*other)?, repo.rev_and_hex(*origin)?);
                format!(
                    "skipping already grafted revision {shown} ({other} also has origin {origin})"
                )
            }
            GraftSkipReason::UnknownOrigin(other, origin) => {
                let other = repo.rev_and_hex(*other)?;
                let origin = String::from_utf8_lossy(&origin[..origin.len().min(12)]).into_owned();
                format!(
                    "skipping already grafted revision {shown} ({other} also has unknown origin \
                     {origin})"
                )
            }
        };
        ui.warn(line + "\n")?;
    }
    Ok(())
}
