//! Changesets as messages about rewriting name them.

use crate::context::{Config, Repo};
use crate::render::changesets::{ChangesetFormat, ChangesetNames, Printer, PrinterStyle};
use crate::ui::{Abort, Ui};
use varve_repo::{RepoView, Rev};

/// The section of templates for output that is not asked for by `-T`.
const TEMPLATES: &str = "command-templates";

/// The first line of the template `oneline-summary` of the command, or of all; number, hash, bookmarks, tags and the
/// first line of the description where there is none.
pub(crate) fn described(
    (repo, ui, config): (&mut Repo, &mut Ui, &Config),
    command: &str,
    names: &mut ChangesetNames,
    (view, rev): (&RepoView, Rev),
) -> Result<Vec<u8>, Abort> {
    let own = config.get(TEMPLATES, &format!("oneline-summary.{command}"));
    if let Some(template) = own.or_else(|| config.get(TEMPLATES, "oneline-summary")) {
        let style = PrinterStyle {
            form: ChangesetFormat::of_template(template)?,
            ..PrinterStyle::default()
        };
        let text = Printer::new(repo, ui, config, style)?.text_of(rev)?;
        return Ok(first_line(&text));
    }
    let mut out = repo.rev_and_hex(rev)?.into_bytes();
    for name in [names.bookmarks(rev), names.tags(rev)].concat() {
        out.push(b' ');
        out.extend_from_slice(&name);
    }
    let first = view.with_changeset(rev, |changeset| first_line(changeset.description))?;
    out.extend([b" \"", &first[..], b"\""].concat());
    Ok(out)
}

fn first_line(text: &[u8]) -> Vec<u8> {
    let line = text.split(|byte| *byte == b'\n').next();
    line.unwrap_or_default().to_vec()
}
