//! `serve`: repositories and databases below one directory, on one port; and one repository alone.

mod alone;
mod collection;
mod command_server;
mod daemon;
mod help;
mod listening;
mod logs;
mod repository;
mod stdio;
mod streams;

pub(crate) use repository::COMMAND;

use crate::context::Context;
use crate::demo;
use crate::error::CliError;
use crate::store_address::StoreAddress;
use daemon::{Daemon, Started};
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use varve_server::directory::{CONFIG, REPOSITORIES};
use varve_server::{AccessLogFormat, Ended, LogFile, ServeOptions, Served, Server, SharedOptions};

/// Serve the repositories and databases of a directory
///
/// A directory that is not there is made, with a repository and a database to look at. The first
/// start makes an admin and prints the password once. Repositories belong below DIR/repos; Varve
/// keeps databases below DIR/databases, and its settings in DIR/varve.ini. Ctrl-C or SIGTERM stops
/// the server once its running answers have ended, a second one at once. SIGHUP opens its logs again
/// and reads its certificate.
#[derive(clap::Args, Debug)]
pub(crate) struct ServeArgs {
    /// Directory to serve
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Keep the databases in a store, file:///PATH or s3://BUCKET/PREFIX; DIR has settings and copies, which may be lost
    #[arg(long, value_name = "STORE", value_parser = StoreAddress::parse)]
    shared: Option<StoreAddress>,
    /// Host and port where other servers of the store reach this one [default: where it listens]
    #[arg(long, value_name = "HOST:PORT", requires = "shared")]
    advertise: Option<String>,
    /// A server that is silent for so long counts as dead; the same for all of a store [default: 5]
    #[arg(long, value_name = "SECONDS", requires = "shared", value_parser = clap::value_parser!(u64).range(1..=600))]
    takeover: Option<u64>,
    /// Port to listen on; 0 takes any free one [default: 5984, or that of DIR/varve.ini]
    #[arg(short, long)]
    port: Option<u16>,
    /// IP address to listen on, `localhost` or `any` [default: 127.0.0.1, or that of DIR/varve.ini]
    #[arg(short, long, value_parser = address)]
    address: Option<IpAddr>,
    /// Certificate and key in PEM: with it all connections are TLS
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
    /// Path below which everything is, as behind a proxy [default: the root]
    #[arg(
        long,
        value_name = "PATH",
        default_value = "",
        hide_default_value = true
    )]
    prefix: String,
    /// Title of the list of repositories
    #[arg(short, long)]
    name: Option<String>,
    /// Serve in the background; ends when the server listens
    #[arg(short, long)]
    daemon: bool,
    /// Write the number of the server's process here
    #[arg(long, value_name = "FILE")]
    pid_file: Option<PathBuf>,
    /// Note requests here; - is the standard output
    #[arg(short = 'A', long, value_name = "FILE")]
    accesslog: Option<PathBuf>,
    /// Write faults of the server here instead of on the standard error
    #[arg(short = 'E', long, value_name = "FILE")]
    errorlog: Option<PathBuf>,
}

/// Runs until a signal stops it.
pub(crate) fn run(args: &ServeArgs, context: &mut Context<'_>) -> Result<(), CliError> {
    let daemon = Daemon::here()?;
    if args.daemon && daemon.is_none() {
        return match daemon::start(None)? {
            Started::Ready => Ok(()),
            Started::Reported => Err(CliError::Daemon { code: 1 }),
            Started::Failed(code) => Err(CliError::Daemon { code }),
        };
    }
    let errors = open(args.errorlog.as_deref())?;
    let log = logs::faults(errors.as_ref());
    let access = match &args.accesslog {
        Some(path) => Some(logs::access(open(Some(path))?, AccessLogFormat::Combined)),
        None => None,
    };
    refuse_bare_repositories(&args.directory)?;
    let options = ServeOptions {
        served: Served::Directory {
            path: args.directory.clone(),
            title: args.name.clone(),
            shared: shared_options(args)?,
        },
        address: args.address,
        port: args.port,
        prefix: args.prefix.clone(),
        certificate: args.certificate.clone(),
        access,
        log,
        help: help::index(),
    };
    let socket = options.listen()?;
    // The demonstration has a repository, too.
    if !args.directory.exists() && args.shared.is_none() {
        demo::make(&args.directory, context)?;
    }
    let server = Server::open(options, socket)?;
    let stop = server.stop_signal()?;
    server.reload_at_hangup()?;
    greet(&server, context.out)?;
    if let Some(file) = &args.pid_file {
        let failed = |source| cannot_write(file, source);
        logs::write_pid(file).map_err(failed)?;
    }
    if let Some(daemon) = daemon {
        daemon.detach(errors.as_ref())?;
    }
    match server.run_until(stop.wait()) {
        Ended::Stopped => Ok(()),
        Ended::Superseded => Err(CliError::Superseded),
    }
}

/// A directory whose repositories stand in itself would be served without them: they belong below `repos`.
fn refuse_bare_repositories(directory: &Path) -> Result<(), CliError> {
    let has = |name: &str| directory.join(name).exists();
    if has(CONFIG) || has(REPOSITORIES) {
        return Ok(());
    }
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Ok(());
    };
    let mut names = entries.filter_map(|entry| Some(entry.ok()?.path()));
    match names.find(|path| path.join(".hg").is_dir()) {
        Some(repository) => Err(CliError::BareRepositories {
            directory: directory.to_owned(),
            repository,
        }),
        None => Ok(()),
    }
}

fn open(log: Option<&Path>) -> Result<Option<LogFile>, CliError> {
    logs::open(log).map_err(|source| cannot_write(log.unwrap_or(Path::new("")), source))
}

fn cannot_write(file: &Path, source: io::Error) -> CliError {
    CliError::File {
        file: file.to_owned(),
        source,
    }
}

/// The first line is for programs that wait for it, the rest for people.
fn greet(server: &Server, out: &mut dyn Write) -> io::Result<()> {
    let base = format!(
        "{}://{}{}",
        server.scheme(),
        server.address(),
        server.prefix()
    );
    writeln!(out, "listening on {base}/")?;
    let Some(directory) = server.directory() else {
        return out.flush();
    };
    let login = match (&directory.made_admin, directory.settings.admins.first()) {
        (Some(made), _) => {
            writeln!(out, "\nadmin name:     {}", made.name)?;
            writeln!(out, "admin password: {}", made.password)?;
            let config = directory.path.join(CONFIG);
            writeln!(out, "(shown only now; {} keeps its hash)", config.display())?;
            format!("{}:{}", made.name, made.password)
        }
        (None, Some(admin)) => admin.key.clone(),
        (None, None) => String::new(),
    };
    if demo::is_there(directory.storage.as_ref()) {
        writeln!(out, "\nTry next:")?;
        for command in demo::commands(&base, &login) {
            writeln!(out, "  {command}")?;
        }
    }
    out.flush()
}

/// Without `--takeover`.
const TAKEOVER_SECONDS: u64 = 5;

fn shared_options(args: &ServeArgs) -> Result<Option<SharedOptions>, CliError> {
    let Some(store) = &args.shared else {
        return Ok(None);
    };
    Ok(Some(SharedOptions {
        store: store.open()?,
        advertise: args.advertise.clone(),
        takeover: Duration::from_secs(args.takeover.unwrap_or(TAKEOVER_SECONDS)),
    }))
}

/// Reads what `[chttpd] bind_address` takes as well.
fn address(text: &str) -> Result<IpAddr, String> {
    let expected = "expected an IP address such as 127.0.0.1, localhost or any";
    varve_server::bind_address(text).ok_or_else(|| expected.to_owned())
}
