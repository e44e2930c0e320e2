//! `debugcreatestreamclonebundle`: the store's files in one file, in the oldest form.

use crate::arguments::Matches;
use crate::commands::exchange::bundle::failed;
use crate::context::{Command, Context, Repo};
use crate::remote::bundle_output::BundleOutput;
use crate::ui::{Abort, Ui};
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
    let Context { repo, ui, .. } = context;
    let mut target = BundleOutput::begin(ui, &matches.arguments()[0]);
    let done = create(repo, ui, &mut target);
    target.end(ui)?;
    done?;
    Ok(0)
}

fn create(repo: &mut Repo, ui: &mut Ui, target: &mut BundleOutput) -> Result<(), Abort> {
    let view = repo.view()?;
    if view.phases().any_secret() {
        ui.warn("(warning: stream clone bundle will contain secret revisions)\n")?;
    }
    let repository = repo.repository()?;
    let bundle = StreamBundle::plan(&repository, &view, StreamExtras::default())?;
    let (files, bytes) = (bundle.files().count(), bundle.bytes());
    let debug = ui.verbosity.debug;
    if debug {
        ui.write(format!(
            "scanning\n{files} files, {bytes} bytes to transfer\n"
        ))?;
    }
    let told = format!("writing {bytes} bytes for {files} files\n");
    target.write(&repo.cwd, ui, &mut |ui, out| {
        ui.status(&told)?;
        for (name, len) in bundle.files().filter(|_| debug) {
            let line = [b"sending ", name, format!(" ({len} bytes)\n").as_bytes()].concat();
            ui.write(line)?;
        }
        bundle.write_packed1(out, &ui.stop).map_err(failed)
    })?;
    let requirements = bundle.requirements().join(", ");
    ui.write(format!("bundle requirements: {requirements}\n"))
}
