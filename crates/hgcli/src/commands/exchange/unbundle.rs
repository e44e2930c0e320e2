//! `unbundle`: takes changesets out of bundles.

use crate::arguments::{Flag, Matches};
use crate::commands::local::update;
use crate::context::{Category, Command, Config, Context, Repo};
use crate::remote::incoming;
use crate::remote::incoming::AppliedBundle;
use crate::ui::{Abort, Ui};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use varve_exchange::ExchangeError;
use varve_exchange::format::bundle::open_bundle;
use varve_exchange::format::limits::BundleLimits;
use varve_repo::{Lock, LockKind};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["unbundle"],
    options: &[Flag::flag(
        'u',
        "update",
        "update the working directory afterwards, if anything came",
    )],
    arguments: 1..=usize::MAX,
    synopsis: "[-u] FILE...",
    summary: "take changesets out of bundle files",
    help: "Adds the changesets of each FILE that are not here yet, each file in one transaction: \
           all of it comes in, or nothing. Bundles of all versions and engines are read; one that \
           needs what is not known here is refused.\n\n\
           A FILE is a file of this machine.\n\n\
           Ends with 0; with 1 if --update leaves files with conflicts.",
    category: Some(Category::Exchange),
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let Context {
        repo, ui, config, ..
    } = context;
    let mut lock = repo.lock(ui, LockKind::Store)?;
    let mut more = 0;
    for name in matches.arguments() {
        let arrival;
        (arrival, lock) = apply(repo, ui, config, lock, name)?;
        incoming::print_arrival(repo, ui, &arrival)?;
        more = arrival
            .report
            .changegroups
            .iter()
            .map(|arrived| arrived.heads)
            .sum();
    }
    drop(lock);
    repo.run_queued_hooks(ui)?;
    if matches.flag("update") {
        return update::to_newest(repo, ui, config, matches);
    }
    incoming::advise_after_arrival(repo, ui, more)?;
    Ok(0)
}

/// The file that is meant; those on other machines are refused.
pub(crate) fn local_file(repo: &Repo, typed: &[u8]) -> Result<File, Abort> {
    let shown = String::from_utf8_lossy(typed);
    let scheme = shown.split_once("://").map(|(scheme, _)| scheme);
    if scheme.is_some_and(|scheme| scheme != "file") {
        return Err(Abort::input(format!("cannot read a bundle from {shown}"))
            .hint("only bundles that are files of this machine can be read"));
    }
    let path = typed.strip_prefix(b"file://").unwrap_or(typed);
    let path = Path::new(OsStr::from_bytes(path));
    File::open(repo.cwd.join(path)).map_err(|error| Abort::file(&error, path))
}

fn apply(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    lock: Lock,
    name: &[u8],
) -> Result<(AppliedBundle, Lock), Abort> {
    let file = local_file(repo, name)?;
    let failed = |error: ExchangeError| Abort::of_bundle(error, name);
    let bundle = open_bundle(file, BundleLimits::default()).map_err(failed)?;
    let origin = ("unbundle", [b"bundle:", name].concat());
    incoming::apply_bundle(repo, ui, config, lock, bundle, origin, failed)
}
