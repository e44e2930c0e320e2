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
    let root = repository.root();
    let path = |name: &str| root.join(name).into_os_string().into_vec();
    let mut out = Formatter::new(&mut context.ui, &context.config, matches, "root")?;
    out.item(&mut context.ui)?;
    let text = root.as_os_str().as_bytes();
    out.field(&mut context.ui, "reporoot", text, [text, b"\n"].concat())?;
    out.data("hgpath", path(".hg"));
    let store = match repository.share_source() {
        Some(source) => source.join("store").into_os_string().into_vec(),
        None => path(".hg/store"),
    };
    out.data("storepath", store);
    out.end(&mut context.ui)?;
    Ok(0)
}
