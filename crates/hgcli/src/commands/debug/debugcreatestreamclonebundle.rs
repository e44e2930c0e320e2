//! `debugcreatestreamclonebundle`: the store's files in one file, in the oldest form.

use crate::arguments::{Command, Matches};
use crate::commands::exchange::bundle::failed;
use crate::context::Session;
use crate::remote::target::Target;
use crate::ui::Abort;
use varve_exchange::generate::{StreamBundle, StreamExtras};

/// See [`Command`].
pub(crate) const COMMAND: Command = Command {
    names: &["debugcreatestreamclonebundle"],
    options: &[],
    arguments: 1..=1,
    synopsis: "FILE",
    summary: "create a stream clone bundle file",
    help: "Writes the store's files as they are to FILE, or to the standard output if that is `-`, in \
           the form packed1, which debugapplystreamclonebundle reads. A newer form with phases and \
           caches is that of 'hg bundle --type streamv2'.\n\nEnds with 0.",
    category: None,
    run,
};

fn run(session: &mut Session, matches: &Matches) -> Result<u8, Abort> {
    let mut target = Target::begin(session, &matches.arguments()[0]);
    let done = create(session, &mut target);
    target.end(session)?;
    done?;
    Ok(0)
}

fn create(session: &mut Session, target: &mut Target) -> Result<(), Abort> {
    let view = session.view()?;
    if view.phases().any_secret() {
        session.warn("(warning: stream clone bundle will contain secret revisions)\n")?;
    }
    let repository = session.repository()?;
    let bundle = StreamBundle::plan(&repository, &view, StreamExtras::default())?;
    let (files, bytes) = (bundle.files().count(), bundle.bytes());
    let debug = session.verbosity.debug;
    if debug {
        session.write(format!(
            "scanning\n{files} files, {bytes} bytes to transfer\n"
        ))?;
    }
    let told = format!("writing {bytes} bytes for {files} files\n");
    target.write(session, &mut |session, out| {
        session.status(&told)?;
        for (name, len) in bundle.files().filter(|_| debug) {
            let line = [b"sending ", name, format!(" ({len} bytes)\n").as_bytes()].concat();
            session.write(line)?;
        }
        bundle.write_packed1(out, &session.stop).map_err(failed)
    })?;
    let requirements = bundle.requirements().join(", ");
    session.write(format!("bundle requirements: {requirements}\n"))
}
