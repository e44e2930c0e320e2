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
    if typed.starts_with(b"ssh://") {
        return Err(Abort::new("cannot create a repository over ssh")
            .hint("run 'hg init' on the other machine"));
    }
    if [&b"http://"[..], b"https://"]
        .iter()
        .any(|scheme| typed.starts_with(scheme))
    {
        return Err(Abort::new("cannot create new http repository"));
    }
    let path = session.cwd.join(Path::new(OsStr::from_bytes(typed)));
    if path.join(".hg").exists() {
        let typed = String::from_utf8_lossy(typed);
        return Err(Abort::new(format!("repository {typed} already exists")));
    }
    let engine = session.storage_settings()?.engine_of_new()?;
    refuse_other_formats(session)?;
    Repository::create_with(disk(), &path, engine)?;
    Ok(0)
}

/// Settings of formats that new repositories always have or never have here.
const FORMATS: &[(&str, bool)] = &[
    ("dotencode", true),
    ("generaldelta", true),
    ("sparse-revlog", true),
    ("use-dirstate-tracked-hint", false),
    ("use-dirstate-v2", false),
    ("use-persistent-nodemap", false),
    ("use-share-safe", true),
    ("usefncache", true),
    ("usegeneraldelta", true),
    ("usestore", true),
];

/// A format that was asked for and cannot be made is not passed over in silence.
fn refuse_other_formats(session: &Session) -> Result<(), Abort> {
    for (key, usual) in FORMATS {
        if session.config.boolean("format", key, *usual)? != *usual {
            let value = session.config.text("format", key).unwrap_or_default();
            return Err(Abort::new(format!(
                "repositories with format.{key}={value} are not made here"
            )));
        }
    }
    Ok(())
}
