//! Messages about changesets that are not grafted.

use crate::context::Repo;
use crate::ui::{Abort, Ui};
use varve_workdir::{GraftSkip, GraftSkipReason};

/// Says why each of them is not grafted.
pub(super) fn print(repo: &mut Repo, ui: &mut Ui, skipped: &[GraftSkip]) -> Result<(), Abort> {
    for GraftSkip { rev, reason } in skipped {
        let shown = repo.rev_and_hex(ui, *rev)?;
        let line = match reason {
            GraftSkipReason::Merge => format!("skipping ungraftable merge revision {}", rev.0),
            GraftSkipReason::Ancestor => format!("skipping ancestor revision {shown}"),
            GraftSkipReason::GraftedTo(to) => {
                let to = repo.rev_and_hex(ui, *to)?;
                format!("skipping revision {shown} (already grafted to {to})")
            }
            GraftSkipReason::GraftedFrom(from) => {
                let from = repo.rev_and_hex(ui, *from)?;
                format!("skipping already grafted revision {shown} (was grafted from {from})")
            }
            GraftSkipReason::SameOrigin(other, origin) => {
                let (other, origin) = (
                    repo.rev_and_hex(ui, *other)?,
                    repo.rev_and_hex(ui, *origin)?,
                );
                format!(
                    "skipping already grafted revision {shown} ({other} also has origin {origin})"
                )
            }
            GraftSkipReason::UnknownOrigin(other, origin) => {
                let other = repo.rev_and_hex(ui, *other)?;
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
