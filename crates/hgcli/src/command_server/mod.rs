//! The command server: one process runs the commands of one client, one after the other, each as if it had a process of
//! its own.

mod channels;
pub(crate) mod fuzzing;
mod request;

use crate::context::{Context, Session};
use crate::dispatch::run_call;
use crate::ui::{Abort, Streams};
use channels::Client;
use request::{Request, RequestError};
use std::io::{BufRead, Write};
use std::sync::Arc;
use varve_config::hgrc::{Hgrc, SettingSource};

/// The encoding of arguments and output.
const ENCODING: &str = "UTF-8";

/// Answers a client until it goes. The command that this is called for gives the settings of its command line and its
/// repository to the client's commands.
///
/// # Errors
/// A client that sends something else than requests, or that is gone before its answer.
pub fn serve(
    context: &Context,
    input: Box<dyn BufRead + Send>,
    output: Box<dyn Write + Send>,
) -> Result<(), Abort> {
    let directory = std::env::current_dir();
    let directory = directory.map_err(|error| Abort::file(&error, "."))?;
    let client = Arc::new(Client::new(input, output));
    client.greet(&hello())?;
    let channels: Arc<Client> = Arc::clone(&client);
    let session = Arc::new(Session {
        program: context.program.clone(),
        commands: Arc::clone(&context.session.commands),
        streams: Streams::of_client(channels),
        arguments: arguments(context),
        location: Some(context.repo.location().clone()).filter(|place| place.root().is_some()),
        signals: context.session.signals.clone(),
    });
    let idle = session.signals.current();
    loop {
        match client.request() {
            Ok(None) => return Ok(()),
            Ok(Some(Request::GetEncoding)) => client.answer(ENCODING.as_bytes())?,
            Ok(Some(Request::RunCommand(words))) => {
                let code = run_call(&session, &words);
                if let Some(idle) = idle.clone() {
                    session.signals.watch(idle);
                }
                std::env::set_current_dir(&directory)
                    .map_err(|error| Abort::file(&error, &directory))?;
                client.answer(&i32::from(code).to_be_bytes())?;
            }
            Err(RequestError::Io(error)) => return Err(error.into()),
            Err(error) => return Err(Abort::new(error.to_string())),
        }
    }
}

/// The capabilities of the server, and its process.
fn hello() -> String {
    let (pid, group) = (
        rustix::process::getpid().as_raw_nonzero(),
        rustix::process::getpgrp().as_raw_nonzero(),
    );
    format!("capabilities: getencoding runcommand\nencoding: {ENCODING}\npid: {pid}\npgid: {group}")
}

/// The settings of the server's command line as its client's commands see them.
fn arguments(context: &Context) -> Hgrc {
    let mut arguments = context.config.layers.arguments.clone();
    let verbosity = &context.ui.verbosity;
    let mut set = |key: &str, value: &str, source: &str| {
        let source = SettingSource::Named(source.to_owned());
        arguments.set(b"ui", key.as_bytes(), value.as_bytes(), source);
    };
    for (key, is_set) in [
        ("verbose", verbosity.verbose),
        ("debug", verbosity.debug),
        ("quiet", verbosity.quiet),
    ] {
        if is_set {
            set(key, "True", &format!("--{key}"));
        }
    }
    set("nontty", "true", "commandserver");
    arguments
}
