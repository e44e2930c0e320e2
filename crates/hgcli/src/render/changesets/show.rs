//! What commands share that show changesets as `log` does.

use super::{Form, Printer, Style};
use crate::arguments::Matches;
use crate::context::Session;
use crate::render::templates::Template;
use crate::ui::Abort;
use varve_repo::Rev;

/// Prints changesets in this order, in the form that the arguments or the configuration ask for.
pub(crate) fn show(
    session: &mut Session,
    matches: &Matches,
    revs: &[Option<Rev>],
) -> Result<(), Abort> {
    let style = Style {
        form: Form::new(session, matches)?,
        ..Style::default()
    };
    Printer::new(session, style)?.print_all(session, matches, revs)
}

impl Printer {
    /// Prints changesets in this order.
    pub(crate) fn print_all(
        &self,
        session: &mut Session,
        matches: &Matches,
        revs: &[Option<Rev>],
    ) -> Result<(), Abort> {
        let says_all = match &self.style.form {
            Form::Lines(_) => !session.verbosity.quiet,
            Form::Json => true,
            Form::Filled(_) => false,
        };
        if says_all && !revs.is_empty() {
            session.tell_of_markers()?;
        }
        if matches!(self.style.form, Form::Json) {
            return self.print_json(session, matches, revs);
        }
        self.print_header(session)?;
        self.print_texts(session, revs)?;
        self.print_footer(session)
    }

    /// Prints what stands before all changesets.
    pub(super) fn print_header(&self, session: &mut Session) -> Result<(), Abort> {
        match &self.style.form {
            Form::Filled(filled) => self.print_once(session, filled.header.as_ref()),
            _ => Ok(()),
        }
    }

    /// Prints what stands behind all changesets.
    pub(super) fn print_footer(&self, session: &mut Session) -> Result<(), Abort> {
        match &self.style.form {
            Form::Filled(filled) => self.print_once(session, filled.footer.as_ref()),
            _ => Ok(()),
        }
    }

    fn print_once(&self, session: &mut Session, template: Option<&Template>) -> Result<(), Abort> {
        let Some(template) = template else {
            return Ok(());
        };
        let mut out = Vec::new();
        let mut reader = self.view.changelog().reader();
        self.with_subject(None, &mut reader, |subject| {
            self.fill(template, subject, &mut out)
        })?;
        session.write(out)
    }
}
