//! `root`: where the repository lies.

use crate::arguments::{Flag, Matches, TEMPLATE};
use crate::context::{Category, Command, Context};
use crate::render::Formatter;
use crate::ui::Abort;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["root"],
    options: &[
        Flag::long_flag("share-source", "of a share, print the root of its source"),
        TEMPLATE,
    ],
    arguments: 0..=0,
    synopsis: "",
    summary: "print the directory that holds the repository",
    help: "Ends with 0.",
    category: Some(Category::WorkingDirectory),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let repository = context.repo.repository()?;
    let store = match repository.share_source() {
        Some(source) => source.join("store"),
        None => repository.root().join(".hg/store"),
    };
    let (root, control) = match (matches.flag("share-source"), repository.share_source()) {
        (true, Some(source)) => (source.parent().unwrap_or(source), source.join("")),
        (true, None) => (repository.root(), repository.root().join(".hg/")),
        (false, _) => (repository.root(), repository.root().join(".hg")),
    };
    let mut out = Formatter::new(&mut context.ui, &context.config, matches, "root")?;
    out.item(&mut context.ui)?;
    let text = root.as_os_str().as_bytes();
    out.field(&mut context.ui, "reporoot", text, [text, b"\n"].concat())?;
    out.data("hgpath", control.into_os_string().into_vec());
    out.data("storepath", store.into_os_string().into_vec());
    out.end(&mut context.ui)?;
    Ok(0)
}
