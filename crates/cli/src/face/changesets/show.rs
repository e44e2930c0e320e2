//! What commands share that show changesets as `log` does.

use super::{Printer, Style, json};
use crate::face::{Abort, Matches, Session, template};
use varve_repo::Rev;

/// Prints changesets in this order, in the form that `-T` asks for.
pub(crate) fn show(
    session: &mut Session,
    matches: &Matches,
    revs: &[Option<Rev>],
) -> Result<(), Abort> {
    let template = matches.value("template").filter(|text| !text.is_empty());
    if template == Some(b"json") {
        return json(session, matches, revs);
    }
    let template = template.map(|text| template::of_argument(session, text));
    let style = Style {
        template: template.transpose()?,
        ..Style::default()
    };
    Printer::new(session, style)?.print_all(session, revs)
}
