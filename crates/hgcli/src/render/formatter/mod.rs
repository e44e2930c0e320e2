//! Output of a command, as text for people, as JSON, or through a template.
//!
//! A command writes each thing once, with its name and with the text that people see:
//!
//! ```text
//! let mut out = Formatter::new(&mut context.ui, &context.config, matches, "tags")?;
//! out.item(&mut context.ui)?;                              one tag
//! out.field(context, "tag", name, format!("{name:30}"))?;
//! out.plain(context, "\n")?;                       text that has no name
//! out.end(&mut context.ui)
//! ```

mod cbor;
mod debug;
mod item_source;
mod json;
mod value;

use crate::arguments::Matches;
use crate::context::{Config, Repo};
use crate::render::changesets::PrinterInputs;
use crate::ui::{Abort, Ui};
pub(crate) use cbor::push_cbor;
pub(crate) use item_source::ItemSource;
pub(crate) use json::push_json;
use std::collections::BTreeSet;
pub(crate) use value::{FormatterItem, HIDDEN, ItemSubject, Row, Value};
use varve_repo::Rev;

/// Names of values that are text in the terminal's encoding.
const LOCAL: &[&str] = &["bookmark", "branch", "tag"];

/// Prints items in one of the forms.
pub(crate) struct Formatter {
    form: OutputFormat,
    /// Items begun so far.
    count: usize,
    current: FormatterItem,
}

enum OutputFormat {
    Plain,
    Json,
    Cbor,
    /// Python's literals.
    Debug,
    Template(Box<dyn ItemTemplate>),
}

/// A template that prints items; made by the template language.
pub(crate) trait ItemTemplate {
    /// Prints one item; `index` counts from 0.
    fn item(&mut self, ui: &mut Ui, item: &FormatterItem, index: usize) -> Result<(), Abort>;

    /// Prints the end behind the last item.
    fn end(&mut self, ui: &mut Ui) -> Result<(), Abort>;

    /// Gives keywords and functions a repository to look at.
    fn set_repository(&mut self, repository: PrinterInputs);

    /// Names of the values that it shows.
    fn names(&self) -> BTreeSet<&str>;
}

impl Formatter {
    /// The form that `-T` asks for; `topic` is the command's name, which some templates look at.
    pub(crate) fn new(
        ui: &mut Ui,
        config: &Config,
        matches: &Matches,
        topic: &'static str,
    ) -> Result<Formatter, Abort> {
        let form = match matches.value("template") {
            None | Some(b"") => OutputFormat::Plain,
            Some(b"json") => {
                ui.write("[")?;
                OutputFormat::Json
            }
            Some(b"cbor") => {
                ui.write([cbor::BEGIN])?;
                OutputFormat::Cbor
            }
            Some(b"debug") => {
                ui.write(format!("{topic} = [\n"))?;
                OutputFormat::Debug
            }
            Some(template) => OutputFormat::Template(crate::render::templates::for_items(
                ui, config, template, topic,
            )?),
        };
        Ok(Formatter {
            form,
            count: 0,
            current: FormatterItem::default(),
        })
    }

    /// The same form with keywords and functions of templates that look at the repository.
    pub(crate) fn within(mut self, repo: &mut Repo, config: &Config) -> Result<Self, Abort> {
        if let OutputFormat::Template(template) = &mut self.form {
            template.set_repository(PrinterInputs::of(repo, config)?);
        }
        Ok(self)
    }

    /// The item is about this changeset; `None` is the null revision.
    pub(crate) fn about_changeset(&mut self, rev: Option<Rev>) {
        if self.is_template() {
            self.current.subject = Some(ItemSubject { rev, path: None });
        }
    }

    /// The item is about a file as it is in this changeset.
    pub(crate) fn about_file(&mut self, rev: Option<Rev>, path: &[u8]) {
        if self.is_template() {
            let path = Some(path.to_vec());
            self.current.subject = Some(ItemSubject { rev, path });
        }
    }

    /// Whether people will read the output.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.form, OutputFormat::Plain)
    }

    /// Whether a template picks the output.
    pub(crate) fn is_template(&self) -> bool {
        matches!(self.form, OutputFormat::Template(_))
    }

    /// Names of the values that a template shows; none without a template.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        match &self.form {
            OutputFormat::Template(template) => template.names(),
            _ => BTreeSet::new(),
        }
    }

    /// Begins an item.
    pub(crate) fn item(&mut self, ui: &mut Ui) -> Result<(), Abort> {
        self.finish(ui)?;
        self.count += 1;
        Ok(())
    }

    /// One named value of the item, and its text.
    pub(crate) fn field(
        &mut self,
        ui: &mut Ui,
        name: &'static str,
        value: impl Into<Value>,
        text: impl AsRef<[u8]>,
    ) -> Result<(), Abort> {
        let value = value.into();
        match (&self.form, value) {
            (OutputFormat::Json, value) => self.data(name, value),
            (_, Value::Text(stored)) if LOCAL.contains(&name) => {
                self.data(name, ui.local(&stored));
            }
            (_, value) => self.data(name, value),
        }
        self.plain(ui, text)
    }

    /// The same, with labels for the text.
    pub(crate) fn labelled(
        &mut self,
        ui: &mut Ui,
        labels: &str,
        (name, value): (&'static str, impl Into<Value>),
        text: impl AsRef<[u8]>,
    ) -> Result<(), Abort> {
        let painted = ui.painter.paint(labels, text.as_ref());
        self.field(ui, name, value, painted)
    }

    /// Text for people with labels.
    pub(crate) fn plain_labelled(
        &self,
        ui: &mut Ui,
        labels: &str,
        text: impl AsRef<[u8]>,
    ) -> Result<(), Abort> {
        let painted = ui.painter.paint(labels, text.as_ref());
        self.plain(ui, painted)
    }

    /// One named value that the text does not show.
    pub(crate) fn data(&mut self, name: &'static str, value: impl Into<Value>) {
        if !self.is_plain() {
            self.current.set(name, value.into());
        }
    }

    /// Text for people.
    pub(crate) fn plain(&self, ui: &mut Ui, text: impl AsRef<[u8]>) -> Result<(), Abort> {
        match self.form {
            OutputFormat::Plain => ui.write(text),
            _ => Ok(()),
        }
    }

    /// Behind the last item.
    pub(crate) fn end(mut self, ui: &mut Ui) -> Result<(), Abort> {
        self.finish(ui)?;
        match &mut self.form {
            OutputFormat::Plain => Ok(()),
            OutputFormat::Json => ui.write("\n]\n"),
            OutputFormat::Cbor => ui.write([cbor::END]),
            OutputFormat::Debug => ui.write("]\n"),
            OutputFormat::Template(template) => template.end(ui),
        }
    }

    fn finish(&mut self, ui: &mut Ui) -> Result<(), Abort> {
        let Some(index) = self.count.checked_sub(1) else {
            return Ok(());
        };
        let item = std::mem::take(&mut self.current);
        match &mut self.form {
            OutputFormat::Plain => Ok(()),
            OutputFormat::Json => {
                let mut text = if index == 0 {
                    b"\n ".to_vec()
                } else {
                    b",\n ".to_vec()
                };
                json::push_item(&item, &mut text);
                ui.write(text)
            }
            OutputFormat::Cbor => {
                let mut out = Vec::new();
                cbor::push_item(&item, &mut out);
                ui.write(out)
            }
            OutputFormat::Debug => ui.write(debug::item(&item)),
            OutputFormat::Template(template) => template.item(ui, &item, index),
        }
    }
}
