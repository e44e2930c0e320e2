//! `serve`: repositories and databases below one folder, on one port; and one repository alone.

mod repository;
mod stdio;

pub(crate) use repository::COMMAND;
pub(crate) use stdio::check_form;

use crate::context::Context;
use crate::demo;
use crate::error::CliError;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use varve_server::folder::CONFIG;
use varve_server::{ServeOptions, Server};

/// Serve the repositories and databases of a folder
///
/// A folder that is not there is made, with a repository and a database to look at. The first
/// start makes an admin and prints the password once. Repositories belong below DIR/repos; Varve
/// keeps databases below DIR/databases, and its settings in DIR/varve.ini. Ctrl-C or SIGTERM stops
/// the server.
#[derive(clap::Args, Debug)]
pub(crate) struct ServeArgs {
    /// Folder to serve
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Port to listen on; 0 takes any free one [default: 5984, or that of DIR/varve.ini]
    #[arg(short, long)]
    port: Option<u16>,
    /// IP address to listen on [default: 127.0.0.1, or that of DIR/varve.ini]
    #[arg(short, long)]
    address: Option<IpAddr>,
    /// Certificate and key in PEM: with it all connections are TLS
    #[arg(long, value_name = "FILE")]
    certificate: Option<PathBuf>,
}

/// Runs until it is told to stop.
pub(crate) fn run(args: &ServeArgs, context: &mut Context<'_>) -> Result<(), CliError> {
    if !args.folder.exists() {
        demo::make(&args.folder, context)?;
    }
    let server = Server::bind(&ServeOptions {
        folder: args.folder.clone(),
        address: args.address,
        port: args.port,
        certificate: args.certificate.clone(),
        report: |line| {
            // The server goes on, also when nobody listens to its complaints.
            let _ = writeln!(io::stderr(), "varve: {line}");
        },
    })?;
    let stop = server.stop_signal()?;
    greet(&server, context.out)?;
    server.run_until(stop);
    Ok(())
}

/// The first line is for programs that wait for it, the rest for people.
fn greet(server: &Server, out: &mut dyn Write) -> io::Result<()> {
    let base = format!("{}://{}", server.scheme(), server.address());
    writeln!(out, "listening on {base}/")?;
    let folder = &server.app().folder;
    let login = match (&folder.made_admin, folder.settings.admins.first()) {
        (Some(made), _) => {
            writeln!(out, "\nadmin name:     {}", made.name)?;
            writeln!(out, "admin password: {}", made.password)?;
            let config = folder.path.join(CONFIG);
            writeln!(out, "(shown only now; {} keeps its hash)", config.display())?;
            format!("{}:{}", made.name, made.password)
        }
        (None, Some(admin)) => admin.key.clone(),
        (None, None) => String::new(),
    };
    if demo::is_there(folder.storage.as_ref()) {
        writeln!(out, "\nTry next:")?;
        for command in demo::commands(&base, &login) {
            writeln!(out, "  {command}")?;
        }
    }
    out.flush()
}
