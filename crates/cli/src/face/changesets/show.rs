//! What commands share that show changesets as `log` does.

use super::{Printer, Style};
use crate::face::{Abort, Matches, Session, template};
use varve_repo::Rev;

/// Prints changesets in this order, in the form that `-T` asks for.
pub(crate) fn show(
    session: &mut Session,
    matches: &Matches,
    revs: &[Option<Rev>],
) -> Result<(), Abort> {
    if let Some(template) = matches.value("template").filter(|text| !text.is_empty()) {
        template::for_items(session, template, "log")?;
    }
    Printer::new(session, Style::default())?.print_all(session, revs)
}
