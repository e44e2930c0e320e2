//! `serve --stdio`: one repository over the standard streams, as ssh starts it for a client.
//!
//! The standard output belongs to the protocol from here on. Whatever else is said, by this program
//! or by a hook, goes to the standard error, and so to the client's user.

use super::streams;
use std::io::{self, BufReader, BufWriter, Write};
use std::os::unix::ffi::OsStrExt;
use varve_exchange::ExchangeError;
use varve_exchange::apply::{BundleDownloader, PushOutput};
use varve_exchange::server::stdio::StdioServer;
use varve_exchange::server::unbundle::PushHandler;
use varve_exchange::server::wire::{
    Bundle1Operation, ReadHooks, ReaderLocation, WireSettings, WireTransport,
};
use varve_hgcli::context::{Config, Repo, RepoLocation};
use varve_hgcli::ui::{Abort, Ui};

/// Answers a client until it goes.
pub(super) fn run(repo: &mut Repo, ui: &mut Ui, config: &Config) -> Result<u8, Abort> {
    if matches!(repo.location(), RepoLocation::None) {
        return Err(Abort::new(
            "there is no Mercurial repository here (.hg not found)",
        ));
    }
    if repo.is_bundle() {
        return Err(Abort::new("serve --stdio does not serve bundles"));
    }
    let stop = ui.stop.clone();
    let (input, output) = streams::take(move || stop.is_raised())?;
    let repository = repo.repository()?;
    let storage = config.storage_settings()?;
    let evolution = config.evolution()?;
    let publishing = config.is_publishing(repo, ui)?;
    let bundle1 = |operation: Bundle1Operation| {
        let served = operation.is_served(&repository, config);
        served.map_err(Abort::Setting)
    };
    let settings = WireSettings {
        bundle_cache: config.bundle_cache(),
        takes_markers: evolution.exchange,
        publishing,
        transport: WireTransport::Stdio,
        bundle1: bundle1(Bundle1Operation::Pull)?,
        ..WireSettings::default()
    };
    let settings = settings.with_configuration(config);
    let settings = settings.map_err(Abort::Setting)?;
    let takes_bundle1 = bundle1(Bundle1Operation::Push)?;
    let push_output = PushOutput::to_listener(|text| {
        // Nothing is left to do if even standard error is gone.
        let _ = io::stderr().write_all(text);
    });
    ui.out.flush()?;
    // A signal must not leave half a push behind.
    ui.guard.writes();
    let hooks = repo.hooks.clone();
    let read_hooks = ReadHooks::new(hooks.clone(), ReaderLocation::Elsewhere);
    let downloads = varve_hgcli::download_options(config, &repo.cwd)?;
    let stdio_server = StdioServer {
        handler: PushHandler {
            repository: &repository,
            write: storage.write_options(repository.requirements()),
            url: &client(),
            takes_markers: evolution.markers,
            publishing: settings.publishing,
            takes_bundle1,
            takes_variables: config.boolean("push", "pushvars.server", false)?,
            longest: config.bytes("web", "max-push-size")?,
            downloads: downloads
                .as_ref()
                .map(|options| options as &dyn BundleDownloader),
            wait: config.lock_wait(&ui.stop)?,
            output: &push_output,
            hooks: hooks.as_ref(),
            after_locks: &|| hooks.run_queued(),
            on_error: &|_| {},
        },
        settings: &settings,
        read_hooks: &read_hooks,
    };
    match stdio_server.serve(BufReader::new(input), BufWriter::new(output)) {
        Ok(()) => Ok(0),
        // The client is gone and cannot read why.
        Err(ExchangeError::Closed(_)) => Ok(varve_hgcli::ui::FAILED),
        Err(error) => Err(error.into()),
    }
}

/// The client's address, in the form that hooks know.
fn client() -> Vec<u8> {
    let client = std::env::var_os("SSH_CLIENT").unwrap_or_default();
    let address = client.as_bytes().split(|byte| *byte == b' ').next();
    [b"remote:ssh:", address.unwrap_or_default()].concat()
}
