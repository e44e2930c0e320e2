//! Common parts of commands that show changesets as `log` does.

use super::{ChangesetFormat, Printer, PrinterStyle};
use crate::arguments::Matches;
use crate::context::{Config, Repo};
use crate::render::templates::Template;
use crate::ui::{Abort, Ui};
use varve_repo::Rev;

/// Prints changesets in this order, in the form that the arguments or the configuration ask for.
pub(crate) fn show(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    matches: &Matches,
    revs: &[Option<Rev>],
) -> Result<(), Abort> {
    let style = PrinterStyle {
        form: ChangesetFormat::new(repo, ui, config, matches)?,
        ..PrinterStyle::default()
    };
    Printer::new(repo, ui, config, style)?.print_all(repo, ui, config, matches, revs)
}

impl Printer {
    /// Prints changesets in this order.
    pub(crate) fn print_all(
        &self,
        repo: &mut Repo,
        ui: &mut Ui,
        config: &Config,
        matches: &Matches,
        revs: &[Option<Rev>],
    ) -> Result<(), Abort> {
        let says_all = match &self.style.form {
            ChangesetFormat::Lines(_) => !ui.verbosity.quiet,
            ChangesetFormat::Json => true,
            ChangesetFormat::Filled(_) => false,
        };
        if says_all && !revs.is_empty() {
            repo.warn_of_disabled_markers(ui)?;
        }
        if matches!(self.style.form, ChangesetFormat::Json) {
            return self.print_json(ui, config, matches, revs);
        }
        self.print_header(ui)?;
        self.print_texts(ui, revs)?;
        self.print_footer(ui)
    }

    /// Prints the header before all changesets.
    pub(super) fn print_header(&self, ui: &mut Ui) -> Result<(), Abort> {
        match &self.style.form {
            ChangesetFormat::Filled(filled) => self.print_once(ui, filled.header.as_ref()),
            _ => Ok(()),
        }
    }

    /// Prints the footer behind all changesets.
    pub(super) fn print_footer(&self, ui: &mut Ui) -> Result<(), Abort> {
        match &self.style.form {
            ChangesetFormat::Filled(filled) => self.print_once(ui, filled.footer.as_ref()),
            _ => Ok(()),
        }
    }

    fn print_once(&self, ui: &mut Ui, template: Option<&Template>) -> Result<(), Abort> {
        let Some(template) = template else {
            return Ok(());
        };
        let mut out = Vec::new();
        let mut reader = self.view.changelog().reader();
        self.with_subject(None, &mut reader, |subject| {
            self.fill(template, subject, &mut out)
        })?;
        ui.write(out)
    }
}
