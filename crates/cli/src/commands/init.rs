//! `init`: a new repository.

use crate::face::{Abort, Category, Command, Matches, Session, disk};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use varve_repo::Repository;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["init"],
    options: &[],
    arguments: 0..=1,
    synopsis: "[DEST]",
    summary: "create a new repository in the given directory",
    help: "Makes the folder if it is not there. Without DEST the current folder is used. \
           Ends with 0.",
    category: Some(Category::Creation),
    run,
};

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    let typed = matches.arguments().first().map_or(&b"."[..], Vec::as_slice);
    let path = session.cwd.join(Path::new(OsStr::from_bytes(typed)));
    if path.join(".hg").exists() {
        let typed = String::from_utf8_lossy(typed);
        return Err(Abort::new(format!("repository {typed} already exists")));
    }
    Repository::create(disk(), &path)?;
    Ok(0)
}
