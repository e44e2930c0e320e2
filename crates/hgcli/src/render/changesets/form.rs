//! In which form changesets are printed: as text, by a style, by a template, or as JSON.

use super::styles;
use crate::arguments::Matches;
use crate::context::{Config, Repo};
use crate::render::templates::{
    Fragments, JSON_FRAME, Template, TemplateAliases, json_fields, unquoted,
};
use crate::ui::{Abort, Ui};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use varve_config::hgrc::Hgrc;

pub(crate) enum ChangesetFormat {
    /// Lines for people.
    Lines(Lines),
    /// Output of templates.
    Filled(Box<Filled>),
    /// As JSON.
    Json,
}

impl Default for ChangesetFormat {
    fn default() -> ChangesetFormat {
        ChangesetFormat::Lines(Lines::default())
    }
}

/// Optional lines of the text form.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lines {
    pub(crate) phase: bool,
    /// The state in a bisection.
    pub(crate) bisect: bool,
    /// Status of each file.
    pub(crate) status: bool,
}

/// Templates of one form.
pub(crate) struct Filled {
    /// Of each changeset.
    pub(super) body: Template,
    /// Before the first one.
    pub(super) header: Option<Template>,
    /// Behind the last one.
    pub(super) footer: Option<Template>,
    /// Between two.
    pub(super) separator: Option<Template>,
}

impl Filled {
    /// The form of a template in an argument or in the configuration, which may use aliases.
    fn configured(config: &Config, body: &[u8]) -> Result<ChangesetFormat, Abort> {
        Ok(ChangesetFormat::Filled(Box::new(Filled {
            body: Template::configured(config, body)?,
            header: None,
            footer: None,
            separator: None,
        })))
    }

    fn of(body: &[u8]) -> Result<Filled, Abort> {
        Ok(Filled {
            body: Template::parse(body)?,
            header: None,
            footer: None,
            separator: None,
        })
    }
}

impl ChangesetFormat {
    /// A template for each changeset.
    ///
    /// # Errors
    /// An error in the template.
    pub(crate) fn of_template(text: &[u8]) -> Result<ChangesetFormat, Abort> {
        Ok(ChangesetFormat::Filled(Box::new(Filled::of(text)?)))
    }

    /// Form of the arguments, or else of the configuration.
    pub(crate) fn new(
        repo: &Repo,
        ui: &mut Ui,
        config: &Config,
        matches: &Matches,
    ) -> Result<ChangesetFormat, Abort> {
        let given = |option: &str| {
            let value = matches.value(option).filter(|value| !value.is_empty());
            value.map(<[u8]>::to_vec)
        };
        if let Some(template) = given("template") {
            return of_template(repo, ui, config, &template);
        }
        if let Some(style) = given("style") {
            return of_style(repo, ui, &style);
        }
        let template = config.get("command-templates", "log");
        let template = template.or_else(|| config.get("ui", "logtemplate"));
        if let Some(template) = template.filter(|template| !template.is_empty()) {
            return Filled::configured(config, unquoted(template));
        }
        match config.get("ui", "style").filter(|style| !style.is_empty()) {
            Some(style) => of_style(repo, ui, style),
            None => Ok(ChangesetFormat::default()),
        }
    }
}

fn of_template(
    repo: &Repo,
    ui: &mut Ui,
    config: &Config,
    template: &[u8],
) -> Result<ChangesetFormat, Abort> {
    if matches!(template, b"json" | b"cbor") {
        return Ok(ChangesetFormat::Json);
    }
    if let Some(body) = json_fields(template) {
        let [header, separator, footer] = JSON_FRAME.map(|text| Template::parse(text).map(Some));
        return Ok(ChangesetFormat::Filled(Box::new(Filled {
            body: Template::configured(config, &body)?,
            header: header?,
            footer: footer?,
            separator: separator?,
        })));
    }
    if template == b"list" {
        ui.write(format!("available styles: {}\n", styles::NAMES.join(", ")))?;
        return Err(Abort::new("specify a template"));
    }
    let name = String::from_utf8_lossy(template).into_owned();
    if let Some(body) = config.get("templates", &name) {
        let part = |kind: &str| {
            let part = config.get("templates", &format!("{name}:{kind}"));
            part.map(|part| Template::configured(config, unquoted(part)))
                .transpose()
        };
        return Ok(ChangesetFormat::Filled(Box::new(Filled {
            body: Template::configured(config, unquoted(body))?,
            header: part("docheader")?,
            footer: part("docfooter")?,
            separator: part("separator")?,
        })));
    }
    if let Some(form) = built_in(ui, template)? {
        return Ok(form);
    }
    if matches!(template, b"pickle" | b"debug") {
        return Err(Abort::new(format!("\"{name}\" not in template map")));
    }
    let path = repo.cwd.join(std::ffi::OsStr::from_bytes(template));
    if template.contains(&b'/') && path.is_file() {
        let file = path.file_name().unwrap_or_default();
        if file.as_bytes().starts_with(b"map-") {
            return of_map(ui, &path);
        }
        let text = std::fs::read(&path).map_err(|error| Abort::file(&error, path))?;
        return Filled::configured(config, &text);
    }
    Filled::configured(config, template)
}

/// A style that comes with the program.
fn built_in(ui: &Ui, name: &[u8]) -> Result<Option<ChangesetFormat>, Abort> {
    let lines = Lines::default();
    Ok(Some(match name {
        b"default" | b"show" => ChangesetFormat::Lines(lines),
        b"phases" => ChangesetFormat::Lines(Lines {
            phase: true,
            ..lines
        }),
        b"bisect" => ChangesetFormat::Lines(Lines {
            bisect: true,
            ..lines
        }),
        b"status" => ChangesetFormat::Lines(Lines {
            status: true,
            ..lines
        }),
        _ => match styles::texts(name, ui.verbosity) {
            None => return Ok(None),
            Some(texts) => {
                let part = |text: &str| match text {
                    "" => Ok(None),
                    text => Template::parse(text.as_bytes()).map(Some),
                };
                ChangesetFormat::Filled(Box::new(Filled {
                    body: Template::parse(texts.body.concat().as_bytes())?,
                    header: part(texts.header)?,
                    footer: part(texts.footer)?,
                    separator: None,
                }))
            }
        },
    }))
}

fn of_style(repo: &Repo, ui: &Ui, style: &[u8]) -> Result<ChangesetFormat, Abort> {
    let path: PathBuf = repo.cwd.join(std::ffi::OsStr::from_bytes(style));
    if style.contains(&b'/') && path.is_file() {
        return of_map(ui, &path);
    }
    if let Some(form) = built_in(ui, style)? {
        return Ok(form);
    }
    let shown = String::from_utf8_lossy(style);
    let names = styles::NAMES.join(", ");
    Err(Abort::new(format!("style '{shown}' not found")).hint(format!("available styles: {names}")))
}

/// Entry of a map file that names a style to begin with.
const BASE: &str = "__base__";

/// The templates of a map file that others may name. A file that cannot be read matters only to those that name it.
fn fragments_of(map: &Hgrc, path: &Path) -> Result<Fragments, Abort> {
    let mut texts = Vec::new();
    for item in map.section("map") {
        let text = match unquoted(&item.value) {
            text if text != &item.value[..] => text.to_vec(),
            name => {
                let file = path.with_file_name(std::ffi::OsStr::from_bytes(name));
                match std::fs::read(file) {
                    Ok(text) => text,
                    Err(_) => continue,
                }
            }
        };
        texts.push((String::from_utf8_lossy(&item.key).into_owned(), text));
    }
    let texts = texts.iter().map(|(name, text)| (name.clone(), &text[..]));
    Fragments::read(texts, &TemplateAliases::default())
}

/// Reads a map file: a file of configuration whose values are templates.
fn of_map(ui: &Ui, path: &Path) -> Result<ChangesetFormat, Abort> {
    let mut map = Hgrc::default();
    let text = std::fs::read(path).map_err(|error| Abort::file(&error, path))?;
    let sectioned = [b"[map]\n", &text[..]].concat();
    map.add_text(&crate::ui::environment::Environment, path, &sectioned)?;
    if map.get("map", BASE).is_some() {
        let path = path.display();
        let words = format!("{path}: map entry '{BASE}' is not supported");
        return Err(Abort::input(words));
    }
    let fragments = fragments_of(&map, path)?;
    let template = |name: &str| -> Result<Option<Template>, Abort> {
        let Some(value) = map.get("map", name) else {
            return Ok(None);
        };
        let template = match unquoted(value) {
            text if text != value => Template::parse(text)?,
            // Without quotation marks it is the name of a file.
            name => {
                let file = path.with_file_name(std::ffi::OsStr::from_bytes(name));
                let text = std::fs::read(&file).map_err(|error| Abort::file(&error, file))?;
                Template::parse(&text)?
            }
        };
        Ok(Some(template.with_fragments(&fragments)))
    };
    let verbosity = ui.verbosity;
    let wanted: &[(bool, &str)] = &[
        (verbosity.debug, "changeset_debug"),
        (verbosity.verbose, "changeset_verbose"),
        (verbosity.quiet, "changeset_quiet"),
        (true, "changeset"),
    ];
    let mut body = None;
    for (_, name) in wanted.iter().filter(|(wanted, _)| *wanted) {
        body = match body {
            None => template(name)?,
            found => found,
        };
    }
    let body = body.ok_or_else(|| Abort::input("\"changeset\" not in template map"))?;
    Ok(ChangesetFormat::Filled(Box::new(Filled {
        body,
        header: template("docheader")?,
        footer: template("docfooter")?,
        separator: template("separator")?,
    })))
}
