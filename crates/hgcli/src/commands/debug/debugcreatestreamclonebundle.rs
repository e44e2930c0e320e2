//! `debugcreatestreamclonebundle`: the store's files in one file, in the oldest form.

use crate::arguments::Matches;
use crate::commands::exchange::bundle::failed;
use crate::context::{Command, Context};
use crate::remote::bundle_output::BundleOutput;
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

fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let mut target = BundleOutput::begin(&mut context.ui, &matches.arguments()[0]);
    let done = create(context, &mut target);
    target.end(&mut context.ui)?;
    done?;
    Ok(0)
}

fn create(context: &mut Context, target: &mut BundleOutput) -> Result<(), Abort> {
    let view = context.repo.view()?;
    if view.phases().any_secret() {
        context
            .ui
            .warn("(warning: stream clone bundle will contain secret revisions)\n")?;
    }
    let repository = context.repo.repository()?;
    let bundle = StreamBundle::plan(&repository, &view, StreamExtras::default())?;
    let (files, bytes) = (bundle.files().count(), bundle.bytes());
    let debug = context.ui.verbosity.debug;
    if debug {
        context.ui.write(format!(
            "scanning\n{files} files, {bytes} bytes to transfer\n"
        ))?;
    }
    let told = format!("writing {bytes} bytes for {files} files\n");
    target.write(context, &mut |context, out| {
        context.ui.status(&told)?;
        for (name, len) in bundle.files().filter(|_| debug) {
            let line = [b"sending ", name, format!(" ({len} bytes)\n").as_bytes()].concat();
            context.ui.write(line)?;
        }
        bundle.write_packed1(out, &context.ui.stop).map_err(failed)
    })?;
    let requirements = bundle.requirements().join(", ");
    context
        .ui
        .write(format!("bundle requirements: {requirements}\n"))
}
