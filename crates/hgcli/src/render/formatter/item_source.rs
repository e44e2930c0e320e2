//! Settings, the terminal and the repository, for templates that ask for more than the values of an item.

use crate::context::Config;
use crate::render::changesets::{Printer, PrinterInputs};
use crate::render::formatter::Value;
use crate::render::templates::{Keywords, TemplateData};
use crate::ui::encoding::LocalEncoding;
use crate::ui::paint::Painter;
use crate::ui::{Abort, Ui, Verbosity, columns};
use std::collections::HashSet;
use std::sync::Arc;
use varve_config::hgrc::Hgrc;
use varve_repo::Rev;

/// Settings of a call, and its repository where items are about changesets.
pub(crate) struct ItemSource {
    /// Digits of a node that is shown.
    node_digits: usize,
    verbosity: Verbosity,
    config: Arc<Hgrc>,
    encoding: LocalEncoding,
    painter: Painter,
    /// Makes `printer`, once a template asks for more than an item has.
    inputs: Option<PrinterInputs>,
    printer: Option<Printer>,
    /// Functions see the repository although the template is about no changeset.
    has_repository: bool,
}

impl ItemSource {
    /// Settings without a repository.
    pub(crate) fn new(ui: &Ui, config: &Config) -> ItemSource {
        ItemSource {
            node_digits: ui.node_digits(),
            verbosity: ui.verbosity,
            config: config.values(),
            encoding: ui.encoding,
            painter: ui.painter.clone(),
            inputs: None,
            printer: None,
            has_repository: false,
        }
    }

    /// Settings and a repository, of which no changeset is meant.
    pub(crate) fn of_repository(ui: &Ui, config: &Config, printer: Printer) -> ItemSource {
        ItemSource {
            printer: Some(printer),
            has_repository: true,
            ..ItemSource::new(ui, config)
        }
    }

    /// Keeps the repository until a template asks for it.
    pub(crate) fn set_repository(&mut self, inputs: PrinterInputs) {
        self.inputs = Some(inputs);
    }

    /// Opens what keywords and functions see of the repository, if there is one.
    ///
    /// # Errors
    /// If the repository cannot be read.
    pub(crate) fn open_repository(&mut self, ui: &mut Ui) -> Result<(), Abort> {
        if let Some(inputs) = self.inputs.take() {
            self.printer = Some(Printer::of_inputs(inputs, ui)?);
        }
        Ok(())
    }

    /// The opened repository.
    pub(crate) fn printer(&self) -> Option<&Printer> {
        self.printer.as_ref()
    }

    /// Keywords that need no repository.
    pub(crate) fn keyword(&self, name: &str) -> Option<Value> {
        Some(match name {
            "termwidth" => Value::Int(columns::of_terminal() as i64),
            "verbosity" => Value::from(self.verbosity.name()),
            _ => return None,
        })
    }

    /// The repository, for functions.
    fn repository(&self) -> Result<&Printer, Abort> {
        let printer = self.printer.as_ref().filter(|_| self.has_repository);
        printer.ok_or_else(|| Abort::new("template resource not available: repo"))
    }

    /// Calls `look` with the repository as the null revision sees it.
    fn in_repository<T>(
        &self,
        look: impl FnOnce(&dyn TemplateData) -> Result<T, Abort>,
    ) -> Result<T, Abort> {
        let (mut look, mut found) = (Some(look), None);
        self.repository()?.at(None, &mut |keywords| {
            if let Some((look, data)) = look.take().zip(keywords.source()) {
                found = Some(look(data)?);
            }
            Ok(())
        })?;
        found.ok_or_else(|| Abort::new("template resource not available: repo"))
    }
}

/// The error of a function that needs a changeset.
fn no_changeset<T>() -> Result<T, Abort> {
    Err(Abort::new("template resource not available: ctx"))
}

impl TemplateData for ItemSource {
    fn of_changeset(&self, rev: Option<Rev>, name: &str) -> Result<Option<Value>, Abort> {
        match &self.printer {
            Some(printer) => printer.keyword(rev, name),
            None => no_changeset(),
        }
    }

    fn at_changeset(
        &self,
        rev: Option<Rev>,
        look: &mut dyn FnMut(&dyn Keywords) -> Result<(), Abort>,
    ) -> Result<(), Abort> {
        match &self.printer {
            Some(printer) => printer.at(rev, look),
            None => no_changeset(),
        }
    }

    fn of_file(&self, _: &[u8], _: &str) -> Result<Option<Value>, Abort> {
        Ok(None)
    }

    fn node_digits(&self) -> usize {
        self.node_digits
    }

    fn revset(&self, query: &[u8]) -> Result<Vec<Option<Rev>>, Abort> {
        self.in_repository(|data| data.revset(query))
    }

    fn subset_parents(
        &self,
        rev: i64,
        subset: &HashSet<Option<Rev>>,
    ) -> Result<Vec<Option<Rev>>, Abort> {
        self.in_repository(|data| data.subset_parents(rev, subset))
    }

    fn shortest(&self, node: &[u8], least: usize) -> Result<Vec<u8>, Abort> {
        self.in_repository(|data| data.shortest(node, least))
    }

    fn relative(&self, path: &[u8]) -> Result<Vec<u8>, Abort> {
        self.in_repository(|data| data.relative(path))
    }

    fn in_utf8(&self, text: &[u8]) -> Vec<u8> {
        let decoded = self.encoding.decode(text);
        decoded.unwrap_or_else(|_| text.to_vec())
    }

    fn label(&self, labels: &str, text: &[u8]) -> Vec<u8> {
        self.painter.paint(labels, text)
    }

    fn setting(&self, section: &[u8], key: &[u8]) -> Option<Vec<u8>> {
        let (section, key) = (std::str::from_utf8(section), std::str::from_utf8(key));
        let value = self.config.get(section.ok()?, key.ok()?);
        value.map(<[u8]>::to_vec)
    }

    fn files(&self, _: &[u8]) -> Result<Vec<Vec<u8>>, Abort> {
        no_changeset()
    }

    fn diff(&self, _: Option<&[u8]>, _: Option<&[u8]>) -> Result<Vec<u8>, Abort> {
        no_changeset()
    }

    fn latest_tag(&self, _: Option<&[u8]>) -> Result<Value, Abort> {
        self.repository()?;
        no_changeset()
    }
}
