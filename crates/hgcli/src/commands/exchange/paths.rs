//! `paths`: names of other repositories.

use crate::arguments::{Category, Command, Matches, TEMPLATE};
use crate::context::Session;
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

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    let paths = paths::paths(session)?;
    let wanted = matches.arguments().first();
    let quiet = session.verbosity.quiet;
    let mut found = false;
    let mut out = Formatter::new(session, matches, "paths")?;
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
        out.item(session)?;
        match wanted {
            Some(_) => {
                out.data("name", &path.name);
                if !quiet {
                    out.plain(session, [&shown[..], b"\n"].concat())?;
                }
            }
            None => {
                out.field(session, "name", &path.name, &path.name)?;
                if !quiet {
                    out.plain(session, [b" = ", &shown[..]].concat())?;
                }
                out.plain(session, "\n")?;
            }
        }
        out.data("url", shown);
        for (key, value) in &path.options {
            out.data(key, value);
            if !quiet && wanted.is_none() {
                let line = [&path.name[..], b":", key.as_bytes(), b" = ", value, b"\n"].concat();
                out.plain(session, line)?;
            }
        }
    }
    out.end(session)?;
    if wanted.is_some() && !found {
        if !quiet {
            session.warn("not found!\n")?;
        }
        return Ok(1);
    }
    Ok(0)
}
