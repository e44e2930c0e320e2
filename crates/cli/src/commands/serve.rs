//! `serve`: repositories and databases below one folder, on one port.

use crate::context::Context;
use crate::error::CliError;
use std::net::IpAddr;
use std::path::PathBuf;
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
}

/// Runs until it is told to stop.
pub(crate) fn run(args: &ServeArgs, context: &mut Context<'_>) -> Result<(), CliError> {
    let server = Server::bind(&ServeOptions {
        folder: args.folder.clone(),
        address: args.address,
        port: args.port,
    })?;
    let out = &mut *context.out;
    writeln!(out, "listening on http://{}/", server.address())?;
    if let Some(admin) = &server.app().folder.made_admin {
        writeln!(out, "admin name:     {}", admin.name)?;
        writeln!(out, "admin password: {} (shown only now)", admin.password)?;
    }
    out.flush()?;
    server.run()?;
    Ok(())
}
