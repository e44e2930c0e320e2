//! `tags`: names of changesets that stay where they are.

use crate::arguments::{Matches, TEMPLATE};
use crate::context::{Category, Command, Context};
use crate::render::Formatter;
use crate::ui::{Abort, columns};
use varve_repo::Rev;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["tags"],
    options: &[TEMPLATE],
    arguments: 0..=0,
    synopsis: "",
    summary: "list the tags, newest changeset first",
    help: "With -v, tags that only this repository has are marked as local. With -q, only names \
           are printed.\n\nEnds with 0.",
    category: Some(Category::Organization),
    run,
};

/// Where the number of the changeset ends.
const COLUMNS: usize = 30;

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    context.repo.warn_of_disabled_markers(&mut context.ui)?;
    let view = context.repo.view()?;
    let changelog = view.changelog();
    let local = view.local_tag_names()?;
    let mut tags: Vec<(Option<Rev>, Vec<u8>)> = Vec::new();
    for (name, node) in view.tags()? {
        tags.push((changelog.rev(&node), name));
    }
    tags.push((view.tip(), b"tip".to_vec()));
    tags.sort_unstable();
    let (quiet, verbose) = (context.ui.verbosity.quiet, context.ui.verbosity.verbose);
    let mut out = Formatter::new(&mut context.ui, &context.config, matches, "tags")?;
    out = out.within(&mut context.repo, &context.config)?;
    for (rev, name) in tags.into_iter().rev() {
        let node = changelog.node_or_null(rev);
        let number = rev.map_or(-1, |rev| i64::from(rev.0));
        let kind = if local.contains(&name) { "local" } else { "" };
        out.item(&mut context.ui)?;
        out.about_changeset(rev);
        let shown = context.ui.local(&name);
        let label = match kind {
            "" => "tags.normal",
            _ => "tags.local",
        };
        out.labelled(&mut context.ui, label, ("tag", &name), &shown)?;
        if !quiet || !out.is_plain() {
            out.data("rev", number);
            out.data("node", node);
            let (pad, hex) = (columns::padding(&shown, COLUMNS), context.ui.hex(&node));
            let line = format!("{pad} {number:5}:{hex}");
            out.plain_labelled(&mut context.ui, label, line)?;
        }
        out.data("type", kind);
        if verbose && !kind.is_empty() {
            out.plain_labelled(&mut context.ui, label, format!(" {kind}"))?;
        }
        out.plain(&mut context.ui, "\n")?;
    }
    out.end(&mut context.ui)?;
    Ok(0)
}
