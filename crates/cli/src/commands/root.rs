//! `root`: where the repository lies.

use crate::face::{Abort, Category, Command, Flag, Matches, Session, TEMPLATE};
use std::os::unix::ffi::OsStrExt;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["root"],
    options: &[
        Flag::long_flag("share-source", "of a share, print the root of its source"),
        TEMPLATE,
    ],
    arguments: 0..=0,
    synopsis: "",
    summary: "print the folder that holds the repository",
    help: "Ends with 0.",
    category: Some(Category::WorkingDirectory),
    run,
};

fn run(session: &mut Session, _: &Matches) -> Result<u8, Abort> {
    let repository = session.repository()?;
    session.write(repository.root().as_os_str().as_bytes())?;
    session.write("\n")?;
    Ok(0)
}
