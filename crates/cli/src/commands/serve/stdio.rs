//! `serve --stdio`: one repository over the standard streams, as ssh starts it for a client.
//!
//! The standard output belongs to the protocol from here on. Whatever else is said, by this program
//! or by a hook, goes to the standard error, and so to the client's user.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use varve_base::Interrupt;
use varve_exchange::ExchangeError;
use varve_exchange::apply::{BundleDownloader, PushOutput};
use varve_exchange::server::stdio::StdioServer;
use varve_exchange::server::unbundle::PushHandler;
use varve_exchange::server::wire::{Bundle1Operation, WireSettings, WireTransport};
use varve_hgcli::context::{Config, Repo, RepoLocation};
use varve_hgcli::ui::{Abort, Ui};

/// How often it is looked whether to stop while nothing comes.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000_000,
};

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
    let (input, output) = take_streams(&ui.stop)?;
    let repository = repo.repository()?;
    let storage = config.storage_settings()?;
    let evolution = config.evolution()?;
    let publishing = config.is_publishing(repo, ui)?;
    let bundle1 = |operation: Bundle1Operation| {
        let served = operation.is_served(&repository, config);
        served.map_err(Abort::Setting)
    };
    let settings = WireSettings {
        stream_clones: config.boolean("server", "uncompressed", true)?,
        streams_secret: config.boolean("server", "uncompressedallowsecret", false)?,
        takes_markers: evolution.exchange,
        publishing,
        transport: WireTransport::Stdio,
        bundle1: bundle1(Bundle1Operation::Pull)?,
        ..WireSettings::default()
    };
    let takes_bundle1 = bundle1(Bundle1Operation::Push)?;
    let push_output = PushOutput::to_listener(|text| {
        // Nothing is left to do if even standard error is gone.
        let _ = io::stderr().write_all(text);
    });
    ui.out.flush()?;
    // A signal must not leave half a push behind.
    ui.guard.writes();
    let hooks = repo.hooks.clone();
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

/// The streams of the protocol. In their places come an empty one and the standard error.
fn take_streams(stop: &Interrupt) -> Result<(StoppableInput, File), Abort> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    let nothing = File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing).map_err(io::Error::from)?;
    rustix::stdio::dup2_stdout(io::stderr()).map_err(io::Error::from)?;
    let input = StoppableInput {
        input: input.into(),
        stop: stop.clone(),
    };
    Ok((input, output.into()))
}

/// Reads from a stream, and ends in an error when the program is to stop.
struct StoppableInput {
    input: File,
    stop: Interrupt,
}

impl Read for StoppableInput {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.stop.is_raised() {
                return Err(io::Error::other("the server stops"));
            }
            let mut waiting = [PollFd::new(&self.input, PollFlags::IN)];
            match poll(&mut waiting, Some(&LOOK)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return self.input.read(bytes),
                Err(error) => return Err(error.into()),
            }
        }
    }
}
