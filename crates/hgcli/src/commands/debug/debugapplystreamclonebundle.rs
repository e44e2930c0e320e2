//! `debugapplystreamclonebundle`: the files of a store into an empty repository.

use crate::arguments::{Command, Matches};
use crate::context::Session;
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

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    let name = &matches.arguments()[0];
    session.repository()?;
    let file = crate::commands::exchange::unbundle::local_file(session, name)?;
    let failed = |error: ExchangeError| Abort::of_bundle(error, name);
    let bundle = open_bundle(file, BundleLimits::default()).map_err(failed)?;
    let Bundle::Packed(packed) = bundle else {
        return Err(
            Abort::new("the bundle has no store's files of the form packed1")
                .hint("use 'hg unbundle'"),
        );
    };
    let lock = session.lock(LockKind::Store)?;
    drop(session.apply_packed(lock, packed, failed)?);
    session.after_locks()?;
    Ok(0)
}
