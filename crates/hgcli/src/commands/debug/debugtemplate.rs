//! `debugtemplate`: fills a template, and shows how it was read.

use crate::arguments::{Flag, Matches};
use crate::context::{Command, Context, RepoLocation};
use crate::render::changesets::Printer;
use crate::render::changesets::PrinterStyle;
use crate::render::formatter::{ItemSource, Value};
use crate::render::templates::{Keywords, Template, TemplateAliases, TemplateData};
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugtemplate"],
    options: &[
        Flag::list('r', "rev", "REV", "fill it for each of these changesets"),
        Flag::list('D', "define", "KEY=VALUE", "the value of a keyword"),
    ],
    arguments: 1..=1,
    synopsis: "[-r REV]... [-D KEY=VALUE]... TEMPLATE",
    summary: "fill a template",
    help: "Without -r, keywords have the values of -D alone. With -v, prints the tree of the template \
           first.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let mut defined = Vec::new();
    for pair in matches.list("define") {
        let split = pair.iter().position(|byte| *byte == b'=');
        let Some(at) = split.filter(|at| *at > 0 && &pair[..*at] != b"ui") else {
            let shown = String::from_utf8_lossy(pair);
            return Err(Abort::new(format!("malformed keyword definition: {shown}")));
        };
        let name = String::from_utf8_lossy(pair[..at].trim_ascii()).into_owned();
        defined.push((name, pair[at + 1..].trim_ascii().to_vec()));
    }
    let written = Template::parse(&matches.arguments()[0])?;
    ui.note(format!("{}\n", written.tree()))?;
    let template = written.expanded(&TemplateAliases::of(config))?;
    if template != written {
        ui.note(format!("* expanded:\n{}\n", template.tree()))?;
    }
    ui.note(format!("{}\n", template.used_names()))?;
    let specs = matches.list("rev");
    if specs.is_empty() {
        let mut out = Vec::new();
        let printer = Printer::new(repo, ui, config, PrinterStyle::default());
        let source = match repo.location() {
            RepoLocation::None => ItemSource::new(ui, config),
            _ => ItemSource::of_repository(ui, config, printer?),
        };
        let keywords = Defined(&defined, Some(&source));
        template.fill(&keywords, &mut out)?;
        ui.write(out)?;
        return Ok(0);
    }
    let revs = repo.revisions_and_null(ui, &specs)?;
    let printer = Printer::new(repo, ui, config, PrinterStyle::default())?;
    for rev in revs {
        let mut out = Vec::new();
        printer.fill_for(rev, &template, &Defined(&defined, None), &mut out)?;
        ui.write(out)?;
    }
    Ok(0)
}

/// Keywords of the options.
struct Defined<'a>(&'a [(String, Vec<u8>)], Option<&'a ItemSource>);

impl Keywords for Defined<'_> {
    fn value(&self, name: &str) -> Result<Option<Value>, Abort> {
        let mut defined = self.0.iter().rev();
        let found = defined.find(|(known, _)| known == name);
        Ok(found.map(|(_, value)| Value::from(value)))
    }

    fn source(&self) -> Option<&dyn TemplateData> {
        self.1.map(|source| source as &dyn TemplateData)
    }
}
