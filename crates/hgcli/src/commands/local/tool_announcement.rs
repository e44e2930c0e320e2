//! Text before a program merges a file: `command-templates.pre-merge-tool-output`.

use crate::context::Config;
use crate::render::changesets::{Printer, PrinterStyle};
use crate::render::formatter::{ItemSource, Value};
use crate::render::templates::{
    Keywords, SUBJECT, SUBJECT_PATH, Template, TemplateData, hidden, unquoted,
};
use crate::ui::{Abort, Ui};
use varve_repo::Rev;
use varve_revset::WORKING_COPY;
use varve_workdir::{ToolRun, ToolSide};

/// Prints the text, if the configuration has a template for it.
///
/// # Errors
/// A wrong template; output that cannot be written.
pub(crate) fn print(ui: &mut Ui, config: &Config, run: &ToolRun<'_>) -> Result<(), Abort> {
    let older = || config.get("ui", "pre-merge-tool-output-template");
    let set = config.get("command-templates", "pre-merge-tool-output");
    let text = set.or_else(older).map(unquoted).unwrap_or_default();
    if text.is_empty() {
        return Ok(());
    }
    let template = Template::configured(config, text)?;
    let printer = Printer::of_repository(run.repository, ui, config, PrinterStyle::default())?;
    let view = run.repository.view()?;
    let rev_of = |side: &ToolSide<'_>| match side.name {
        "local" => Some(WORKING_COPY),
        _ => view.changelog().rev(&side.node),
    };
    let keywords = ToolKeywords {
        run,
        revs: run.sides.each_ref().map(rev_of),
        source: ItemSource::of_repository(ui, config, printer),
    };
    let mut out = Vec::new();
    template.fill(&keywords, &mut out)?;
    ui.status(out)
}

/// The file, the program, and the three sides by name.
struct ToolKeywords<'a> {
    run: &'a ToolRun<'a>,
    /// The sides' changesets.
    revs: [Option<Rev>; 3],
    source: ItemSource,
}

impl Keywords for ToolKeywords<'_> {
    fn value(&self, name: &str) -> Result<Option<Value>, Abort> {
        let run = self.run;
        Ok(Some(match name {
            "path" => Value::from(run.path),
            "toolpath" => Value::from(run.command),
            "toolargs" => Value::from(run.arguments),
            "node" => Value::from(run.sides[0].node),
            "rev" => Value::from(self.revs[0]),
            name => {
                let mut sides = run.sides.iter().zip(self.revs);
                match sides.find(|(side, _)| side.name == name) {
                    Some((side, rev)) => described(side, rev),
                    None => return Ok(self.source.keyword(name)),
                }
            }
        }))
    }

    fn source(&self) -> Option<&dyn TemplateData> {
        Some(&self.source)
    }
}

/// A side as a dictionary, some of whose entries are for templates only.
fn described(side: &ToolSide<'_>, rev: Option<Rev>) -> Value {
    let name = |name: &str| name.as_bytes().to_vec();
    let mut entries = vec![
        (name("islink"), Value::Bool(side.is_link)),
        (name("label"), Value::from(side.label)),
        (name("name"), Value::from(side.name)),
        (SUBJECT_PATH.to_vec(), Value::from(side.path)),
    ];
    if rev == Some(WORKING_COPY) {
        // Ours has no node yet; that of the first parent stands for it.
        entries.push((name("node"), Value::from(side.node)));
        entries.push((hidden("rev"), Value::from(rev)));
    } else {
        entries.push((SUBJECT.to_vec(), Value::Changeset(rev, Vec::new())));
    }
    Value::Dict(entries)
}
