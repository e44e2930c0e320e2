//! `debugapplystreamclonebundle`: the files of a store into an empty repository.

use crate::arguments::Matches;
use crate::context::{Command, Context};
use crate::remote::incoming;
use crate::ui::Abort;
use varve_exchange::ExchangeError;
use varve_exchange::format::bundle::{Bundle, open_bundle};
use varve_exchange::format::limits::BundleLimits;
use varve_repo::LockKind;

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugapplystreamclonebundle"],
    options: &[],
    arguments: 1..=1,
    synopsis: "FILE",
    summary: "apply a stream clone bundle file",
    help: "Takes the store's files out of FILE, which debugcreatestreamclonebundle or Mercurial made \
           in the form packed1, into a repository without changesets: all of them, or none. The newer \
           form is taken in by 'hg unbundle'.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let name = &matches.arguments()[0];
    context.repo.repository()?;
    let file = crate::commands::exchange::unbundle::local_file(&context.repo, name)?;
    let failed = |error: ExchangeError| Abort::of_bundle(error, name);
    let bundle = open_bundle(file, BundleLimits::default()).map_err(failed)?;
    let Bundle::Packed(packed) = bundle else {
        return Err(
            Abort::input("the bundle has no store's files of the form packed1")
                .hint("use 'hg unbundle'"),
        );
    };
    let lock = context.repo.lock(&mut context.ui, LockKind::Store)?;
    drop(incoming::apply_packed(
        &mut context.repo,
        &mut context.ui,
        lock,
        packed,
        failed,
    )?);
    context.repo.run_queued_hooks(&mut context.ui)?;
    Ok(0)
}
