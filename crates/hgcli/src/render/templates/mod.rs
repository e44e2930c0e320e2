//! Templates: the language of `-T`.

mod aliases;
mod eval;
mod fill;
mod filters;
mod fragments;
mod functions;
mod grammar;
mod member;
mod of_repository;
mod search;
mod source;
mod tree;

use crate::context::Config;
use crate::render::changesets::PrinterInputs;
use crate::render::formatter::{FormatterItem, ItemSource, ItemTemplate, Value};
use crate::ui::{Abort, Ui};
pub(crate) use aliases::TemplateAliases;
pub(crate) use eval::Keywords;
pub(crate) use filters::{brief_age, user as short_user};
pub(crate) use fragments::Fragments;
use fragments::{FragmentScope, WithFragments};
pub(crate) use member::{SUBJECT, SUBJECT_PATH, hidden};
pub(crate) use source::TemplateData;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A template that has been read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template {
    expr: grammar::Expr,
    /// Templates that it leads to by name.
    fragments: Option<Arc<Fragments>>,
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    /// Where it does not follow the grammar.
    pub(crate) fn parse(text: &[u8]) -> Result<Template, Abort> {
        grammar::parse(text).map(Template::of)
    }

    fn of(expr: grammar::Expr) -> Template {
        Template {
            expr,
            fragments: None,
        }
    }

    /// This template, in which words that are no keywords stand for those of `all`.
    pub(crate) fn with_fragments(mut self, all: &Fragments) -> Template {
        self.fragments = all.reachable_from(&self.expr).map(Arc::new);
        self
    }

    /// Reads a template of an argument or of the configuration, in which aliases are replaced and templates of the section
    /// `templates` may be named.
    ///
    /// # Errors
    /// Where it does not follow the grammar, or uses a wrong alias.
    pub(crate) fn configured(config: &Config, text: &[u8]) -> Result<Template, Abort> {
        let aliases = TemplateAliases::of(config);
        let items = config.section("templates").iter();
        let texts = items.map(|item| {
            let name = String::from_utf8_lossy(&item.key).into_owned();
            (name, unquoted(&item.value))
        });
        let template = Template::parse(text)?.expanded(&aliases)?;
        Ok(template.with_fragments(&Fragments::read(texts, &aliases)?))
    }

    /// Reads a line for the shell, as [`Template::configured`] otherwise; backslashes outside of braces are the shell's.
    ///
    /// # Errors
    /// As of [`Template::configured`].
    pub(crate) fn of_line(config: &Config, text: &[u8]) -> Result<Template, Abort> {
        Template::of(grammar::parse_line(text)?).expanded(&TemplateAliases::of(config))
    }

    /// The template with all aliases replaced.
    ///
    /// # Errors
    /// An alias that is used is wrong.
    pub(crate) fn expanded(&self, aliases: &TemplateAliases) -> Result<Template, Abort> {
        aliases.expand(&self.expr).map(Template::of)
    }

    /// Names of the keywords in it.
    pub(crate) fn names(&self) -> BTreeSet<&str> {
        let mut names = BTreeSet::new();
        for tree in self.trees() {
            tree.push_names(&mut names);
        }
        names
    }

    /// True if it may ask a repository for something that an item does not have.
    fn asks_beyond(&self, item: &FormatterItem) -> bool {
        let is_known = |name: &&str| *name == "index" || item.get(name).is_some();
        let mut functions = self.trees().flat_map(tree::functions);
        !self.names().iter().all(is_known) || functions.any(of_repository::is_function)
    }

    /// Its own tree, then those of its fragments.
    fn trees(&self) -> impl Iterator<Item = &grammar::Expr> {
        let fragments = self.fragments.iter().flat_map(|all| all.trees());
        std::iter::once(&self.expr).chain(fragments)
    }

    /// Its tree, for debugging.
    pub(crate) fn tree(&self) -> String {
        tree::described(&self.expr)
    }

    /// Lines about its keywords and its functions, for debugging.
    pub(crate) fn used_names(&self) -> String {
        tree::used_names(&self.expr)
    }

    /// Appends it, filled.
    ///
    /// # Errors
    /// A function or filter is unknown or has wrong arguments.
    pub(crate) fn fill(&self, keywords: &dyn Keywords, out: &mut Vec<u8>) -> Result<(), Abort> {
        let value = match self.fragments.as_deref() {
            None => eval::evaluate(&self.expr, keywords)?,
            Some(fragments) => {
                let keywords = WithFragments {
                    keywords,
                    scope: FragmentScope::new(fragments),
                };
                eval::evaluate(&self.expr, &keywords)?
            }
        };
        eval::push(&value, out);
        Ok(())
    }
}

/// Names of styles that Mercurial has; those that are not here are refused.
const STYLES: &[&str] = &[
    "default",
    "compact",
    "changelog",
    "phases",
    "show",
    "status",
    "bisect",
    "xml",
    "pickle",
    "list",
    "help",
];

/// Reads the argument of `-T`: a template, or the name of a template in the section `templates`.
///
/// # Errors
/// If it is wrong, or a style that is not there.
pub(crate) fn of_argument(config: &Config, argument: &[u8]) -> Result<Template, Abort> {
    let shown = String::from_utf8_lossy(argument).into_owned();
    if let Some(text) = config.get("templates", &shown) {
        return Template::configured(config, unquoted(text));
    }
    if STYLES.contains(&shown.as_str()) {
        return Err(Abort::new(format!("style '{shown}' is not supported")));
    }
    Template::configured(config, argument)
}

/// A configured template, without the quotation marks that it may stand in.
pub(crate) fn unquoted(text: &[u8]) -> &[u8] {
    let quoted = [&b"\""[..], b"'"]
        .iter()
        .find_map(|mark| text.strip_prefix(*mark)?.strip_suffix(*mark));
    quoted.unwrap_or(text)
}

/// The template that prints the items of a command.
///
/// # Errors
/// If the template is wrong, or of a kind that is not there.
pub(crate) fn for_items(
    ui: &Ui,
    config: &Config,
    template: &[u8],
    _: &str,
) -> Result<Box<dyn ItemTemplate>, Abort> {
    let json = json_fields(template);
    Ok(Box::new(TemplateOfItems {
        template: of_argument(config, json.as_deref().unwrap_or(template))?,
        source: ItemSource::new(ui, config),
        is_json: json.is_some(),
        is_begun: false,
    }))
}

/// Text before, between and behind the items of `-T 'json(FIELD, ...)'`.
pub(crate) const JSON_FRAME: [&[u8]; 3] = [b"[\n ", b",\n ", b"\n]\n"];

/// The template of one item of `-T 'json(FIELD, ...)'`; `None` for any other template.
pub(crate) fn json_fields(template: &[u8]) -> Option<Vec<u8>> {
    let fields = template.strip_prefix(b"json(")?.strip_suffix(b")")?;
    Some([b"{dict(", fields, b")|json}"].concat())
}

/// A template for the items of a command.
struct TemplateOfItems {
    template: Template,
    source: ItemSource,
    /// The items are a list of JSON.
    is_json: bool,
    /// The beginning of that list is printed.
    is_begun: bool,
}

impl TemplateOfItems {
    /// Prints the beginning of a list of JSON, or else the text between two of its items.
    fn begin_item(&mut self, ui: &mut Ui) -> Result<(), Abort> {
        let [before, between, _] = JSON_FRAME;
        match (self.is_json, std::mem::replace(&mut self.is_begun, true)) {
            (true, false) => ui.write(before),
            (true, true) => ui.write(between),
            (false, _) => Ok(()),
        }
    }
}

impl ItemTemplate for TemplateOfItems {
    fn item(&mut self, ui: &mut Ui, item: &FormatterItem, index: usize) -> Result<(), Abort> {
        self.begin_item(ui)?;
        if self.template.asks_beyond(item) {
            self.source.open_repository(ui)?;
        }
        let mut out = Vec::new();
        let (template, source) = (&self.template, &self.source);
        let mut fill = |about: Option<&dyn Keywords>| {
            let keywords = OfItem {
                item,
                index,
                source,
                about,
            };
            template.fill(&keywords, &mut out)
        };
        match item.subject.as_ref().zip(source.printer()) {
            Some((subject, printer)) => printer.at(subject.rev, &mut |about| fill(Some(about)))?,
            None => fill(None)?,
        }
        ui.write(out)
    }

    fn set_repository(&mut self, repository: PrinterInputs) {
        self.source.set_repository(repository);
    }

    fn end(&mut self, ui: &mut Ui) -> Result<(), Abort> {
        if !self.is_json {
            return Ok(());
        }
        if !self.is_begun {
            self.begin_item(ui)?;
        }
        ui.write(JSON_FRAME[2])
    }

    fn names(&self) -> BTreeSet<&str> {
        self.template.names()
    }
}

/// The keywords of one item.
struct OfItem<'a> {
    item: &'a FormatterItem,
    index: usize,
    source: &'a ItemSource,
    /// The changeset that the item is about.
    about: Option<&'a dyn Keywords>,
}

impl Keywords for OfItem<'_> {
    fn value(&self, name: &str) -> Result<Option<Value>, Abort> {
        if name == "index" {
            return Ok(Some(Value::Int(self.index as i64)));
        }
        if let Some(value) = self.item.get(name) {
            return Ok(Some(value.clone()));
        }
        let Some(about) = self.about else {
            return Ok(self.source.keyword(name));
        };
        let subject = self.item.subject.as_ref();
        if let Some(path) = subject.and_then(|subject| subject.path.as_deref()) {
            let found = member::of_file(about.source(), path, name)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        about.value(name)
    }

    fn source(&self) -> Option<&dyn TemplateData> {
        match self.about {
            Some(about) => about.source(),
            None => Some(self.source),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::Streams;

    fn filled(template: &str) -> String {
        let mut item = FormatterItem::default();
        item.set("rev", Value::Int(3));
        item.set("desc", Value::from("One\nTwo"));
        item.set("author", Value::from("Ada Lovelace <ada.l@example.org>"));
        item.set("files", Value::from(vec!["a", "b/c"]));
        item.set("date", Value::Date(1_165_432_709, 3600));
        let mut out = Vec::new();
        let template = Template::parse(template.as_bytes());
        match template.and_then(|template| {
            template.fill(
                &OfItem {
                    item: &item,
                    index: 0,
                    source: &ItemSource::new(&Ui::new(&Streams::default()), &Config::default()),
                    about: None,
                },
                &mut out,
            )
        }) {
            Ok(()) => String::from_utf8(out).unwrap(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn templates_are_filled_as_mercurial_fills_them() {
        for (template, expected) in [
            ("{rev}\\n", "3\n"),
            ("{nosuch}|", "|"),
            ("{desc|firstline|upper}", "ONE"),
            (
                "{author|person}/{author|email}/{author|user}",
                "Ada Lovelace/ada.l@example.org/ada",
            ),
            ("{files % '{file}:'}{files}", "a:b/c:a b/c"),
            ("{join(files, ', ')}", "a, b/c"),
            (
                "{if(files, \"F{rev}\", 'none')}{ifeq(rev, 4, 'x', 'y')}",
                "F3y",
            ),
            ("{pad(rev, 3)}|{pad(rev, 3, '-', True)}", "3  |--3"),
            (
                "{date|isodate} {date|shortdate} {date|hgdate}",
                "2006-12-06 18:18 -0100 2006-12-06 1165432709 3600",
            ),
            ("{rev + 2 * 3 - 1}", "8"),
            ("{desc|json}{files|json}", "\"One\\nTwo\"[\"a\", \"b/c\"]"),
            ("{separate('-', rev, nosuch, 'x')}", "3-x"),
            ("{word(1, 'a b c')}{files|count}", "b2"),
            ("{rev|foo}", "hg: parse error: unknown function 'foo'"),
            (
                "{rev",
                "hg: parse error at 1: unterminated template expansion",
            ),
            ("\\{rev}", "{rev}"),
        ] {
            assert_eq!(filled(template), expected, "{template}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        for part in ["{(", "{f(", "{-", "{'{", "{a|b|"] {
            let deep = part.repeat(100_000);
            assert!(Template::parse(deep.as_bytes()).is_err());
        }
    }
}
