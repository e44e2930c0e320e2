//! `paths`: names of other repositories.

use crate::arguments::{Matches, TEMPLATE};
use crate::context::{Category, Command, Context, RepoLocation};
use crate::remote::paths;
use crate::render::Formatter;
use crate::ui::Abort;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["paths"],
    options: &[TEMPLATE],
    arguments: 0..=1,
    synopsis: "[NAME]",
    summary: "show the places that names stand for",
    help: "Names are set in the section [paths] of the configuration. With NAME, only the place \
           that it stands for is printed; -q prints names alone.\n\nEnds with 0, or with 1 if \
           there is no such name.",
    category: Some(Category::Creation),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let paths = paths::paths(&context.repo, &mut context.ui, &context.config)?;
    if let RepoLocation::Missing(_) = context.repo.location() {
        context.repo.root()?;
    }
    let wanted = matches.arguments().first();
    let quiet = context.ui.verbosity.quiet;
    let mut found = false;
    let mut out = Formatter::new(&mut context.ui, &context.config, matches, "paths")?;
    for path in &paths {
        if wanted.is_some_and(|name| *name != path.name) {
            continue;
        }
        found = true;
        let shown = if out.is_plain() {
            paths::without_password(&path.url)
        } else {
            path.url.clone()
        };
        out.item(&mut context.ui)?;
        match wanted {
            Some(_) => {
                out.data("name", &path.name);
                if !quiet {
                    out.plain(&mut context.ui, [&shown[..], b"\n"].concat())?;
                }
            }
            None => {
                out.field(&mut context.ui, "name", &path.name, &path.name)?;
                if !quiet {
                    out.plain(&mut context.ui, [b" = ", &shown[..]].concat())?;
                }
                out.plain(&mut context.ui, "\n")?;
            }
        }
        out.data("url", shown);
        for (key, value) in &path.options {
            out.data(key, value);
            if !quiet && wanted.is_none() {
                let line = [&path.name[..], b":", key.as_bytes(), b" = ", value, b"\n"].concat();
                out.plain(&mut context.ui, line)?;
            }
        }
    }
    out.end(&mut context.ui)?;
    if wanted.is_some() && !found {
        if !quiet {
            context.ui.warn("not found!\n")?;
        }
        return Ok(1);
    }
    Ok(0)
}
