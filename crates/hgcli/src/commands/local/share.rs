//! `share`: a working copy that has the history of another repository.

use crate::arguments::{Flag, Matches};
use crate::commands::local::init::requirements_around_store;
use crate::commands::local::update;
use crate::context::{Command, Config, Context, Repo, disk};
use crate::remote::{paths, peers};
use crate::ui::{Abort, Ui};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use varve_repo::{LockKind, OpenOptions, ShareAccess, ViewFilter};
use varve_workdir::LocalChanges;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["share"],
    options: &[
        Flag::flag('U', "noupdate", "do not fill the working directory"),
        Flag::flag('B', "bookmarks", "have the bookmarks in common, too"),
        Flag::long_flag("relative", "point to the source by a relative path"),
    ],
    arguments: 1..=2,
    synopsis: "[-U] [-B] SOURCE [DEST]",
    summary: "create a new shared repository",
    help: "Makes a working directory whose history is that of SOURCE, a repository of this machine: nothing of it is \
           copied, and what is committed in one is in both. DEST is named like SOURCE if it is not given.\n\n\
           Commands that remove changesets, such as rollback or strip, take away the parent of another working \
           directory that is at one of them. With -B bookmarks are common, too, as long as the extension is on.\n\n\
           Ends with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let arguments = matches.arguments();
    let typed = arguments.first().map_or(&b""[..], Vec::as_slice);
    let sources = peers::sources(repo, ui, config, typed)?;
    let Some(source) = sources.first().filter(|source| !source.is_elsewhere()) else {
        return Err(Abort::new("can only share local repositories"));
    };
    let root = real(&peers::root_of(repo, source)?);
    let target = match arguments.get(1) {
        Some(target) => target.clone(),
        None => {
            let name = root.file_name().unwrap_or_default();
            name.as_bytes().to_vec()
        }
    };
    let directory = repo.cwd.join(Path::new(OsStr::from_bytes(&target)));
    let directory = std::path::absolute(&directory).map_err(|e| Abort::file(&e, &directory))?;
    if directory.join(".hg").exists() {
        let shown = String::from_utf8_lossy(&target);
        return Err(Abort::new(format!("repository {shown} already exists")));
    }
    std::fs::create_dir_all(&directory).map_err(|e| Abort::file(&e, &directory))?;
    let directory = real(&directory);
    let opening = OpenOptions {
        shares: ShareAccess::Bookmarks,
        ..OpenOptions::default()
    };
    let history = varve_repo::Repository::open(disk(), &root)?;
    let how = (matches.flag("relative"), matches.flag("bookmarks"));
    let new = requirements_around_store(&context.config)?;
    let made = history.create_share((&directory, &new), how, opening)?;
    context.switch_to(root.as_os_str().as_bytes())?;
    let known = paths::paths(&context.repo, &mut context.ui, &context.config)?;
    if let Some(default) = known.iter().find(|path| path.name == b"default") {
        made.write_default_path(&default.url)?;
    }
    context.switch_to(directory.as_os_str().as_bytes())?;
    if matches.flag("noupdate") {
        return Ok(0);
    }
    fill(&mut context.repo, &mut context.ui, &context.config, matches)
}

/// Updates the new working copy to the default branch, or else to the newest changeset.
fn fill(repo: &mut Repo, ui: &mut Ui, config: &Config, matches: &Matches) -> Result<u8, Abort> {
    ui.status("updating working directory\n")?;
    let repository = repo.repository()?;
    let lock = repo.lock(ui, LockKind::WorkingCopy)?;
    let view = repository.view_for(ViewFilter::Visible)?;
    let default = view.lookup(b"default").ok();
    let default = default.and_then(|node| view.changelog().rev(&node));
    let target = default.or_else(|| view.tip());
    let keep = LocalChanges::Keep;
    let updated = update::go(repo, ui, config, matches, &repository, target, keep)?;
    drop(lock);
    update::report(ui, &updated)?;
    match update::print_left_out(ui, &view, target)? {
        true => Ok(0),
        false => Ok(update::UNRESOLVED),
    }
}

/// A path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
