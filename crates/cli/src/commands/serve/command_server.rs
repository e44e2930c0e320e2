//! `serve --cmdserver`: many commands of one client in one process, over the standard streams or a socket.

use super::daemon::{self, Daemon, Started};
use super::{alone, logs, streams};
use std::ffi::OsStr;
use std::io::{self, BufReader, BufWriter, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio, id};
use varve_hgcli::arguments::Matches;
use varve_hgcli::command_server;
use varve_hgcli::context::{Config, Context, Repo, RepoLocation};
use varve_hgcli::ui::streams::wait_for_bytes;
use varve_hgcli::ui::{Abort, FAILED, Ui, system_words};

/// Names the process that started this one to answer one connection. Its children inherit the variable, but not that
/// parent.
const STARTED_BY: &str = "VARVE_CONNECTION_OF";

/// Answers clients in the way that `--cmdserver` says.
pub(super) fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let mode = matches.value("cmdserver").unwrap_or_default();
    if let RepoLocation::Missing(_) = context.repo.location() {
        context.repo.root()?;
    }
    check_messages(&context.config)?;
    match mode {
        b"pipe" => {}
        b"unix" if is_connection() => {}
        b"unix" => {
            let started_in = context.started_in.clone();
            let parts = (&context.repo, &mut context.ui, &context.config);
            return listen(parts, matches, started_in.as_deref());
        }
        b"chgunix" => {
            return Err(Abort::new("serve --cmdserver chgunix is not supported")
                .hint("chg needs hg's own server; use the modes 'pipe' and 'unix'"));
        }
        _ => {
            let mode = String::from_utf8_lossy(mode);
            return Err(Abort::new(format!("unknown mode {mode}")));
        }
    }
    context.ui.out.flush()?;
    if !context
        .config
        .boolean("cmdserver", "shutdown-on-interrupt", true)?
    {
        context.ui.guard.leave_interrupt();
    }
    let signals = context.session.signals.clone();
    let (input, output) = streams::take(move || signals.is_raised())?;
    let (input, output) = (BufReader::new(input), BufWriter::new(output));
    match command_server::serve(context, Box::new(input), Box::new(output)) {
        // The client is gone and cannot read why.
        Err(abort) if abort.is_broken_pipe() => Ok(FAILED),
        done => done.map(|()| 0),
    }
}

/// Refuses settings that ask for messages in a channel of their own.
fn check_messages(config: &Config) -> Result<(), Abort> {
    let encodings = config.list("cmdserver", "message-encodings");
    if encodings.iter().any(|name| name == b"cbor") {
        return Err(Abort::new(
            "cmdserver.message-encodings=cbor is not supported",
        ));
    }
    Ok(())
}

/// Whether [`start`] has started this process.
fn is_connection() -> bool {
    let starter = std::env::var(STARTED_BY).ok();
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().to_string());
    starter.is_some() && starter == parent
}

/// Starts this program again, with the same arguments, for one client.
fn start(client: UnixStream, directory: Option<&Path>) -> io::Result<Child> {
    let mut arguments = std::env::args_os();
    let mut command = Command::new(std::env::current_exe()?);
    command.arg0(arguments.next().unwrap_or_default());
    command.args(arguments).env(STARTED_BY, id().to_string());
    // A group of its own, so that a client can stop it together with its hooks and editors.
    command.process_group(0);
    if let Some(directory) = directory {
        command.current_dir(directory);
    }
    let input: OwnedFd = client.try_clone()?.into();
    let output: OwnedFd = client.into();
    command
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(output));
    command.spawn()
}

/// Answers all who connect to a socket, each in a process of its own, until a signal arrives; then waits until
/// the clients have gone.
fn listen(
    (repo, ui, config): (&Repo, &mut Ui, &Config),
    matches: &Matches,
    started_in: Option<&Path>,
) -> Result<u8, Abort> {
    let typed = matches.value("address").filter(|path| !path.is_empty());
    let typed = typed.ok_or_else(|| Abort::new("no socket path specified with --address"))?;
    let named = Path::new(OsStr::from_bytes(typed));
    let daemon = Daemon::here()?;
    if matches.flag("daemon") && daemon.is_none() {
        ui.out.flush()?;
        return match daemon::start(started_in)? {
            Started::Ready => Ok(0),
            Started::Reported => Ok(FAILED),
            Started::Failed(_) => Err(Abort::new("child process failed to start")),
        };
    }
    let socket = Socket::bind(&repo.cwd, named)?;
    let shown = String::from_utf8_lossy(typed);
    ui.status(format!("listening at {shown}\n"))?;
    ui.out.flush()?;
    if let Some(file) = alone::file(config, matches, "pid-file", None) {
        logs::write_pid(&file).map_err(|error| Abort::file(&error, file))?;
    }
    if let Some(daemon) = daemon {
        daemon.detach(None)?;
    }
    // A signal lets the clients' commands end.
    ui.guard.writes();
    let mut children = Vec::new();
    while wait_for_bytes(&socket.listener, || ui.stop.is_raised())? {
        let (client, _) = socket.listener.accept()?;
        children.push(start(client, started_in)?);
        children.retain_mut(|child: &mut Child| matches!(child.try_wait(), Ok(None)));
    }
    drop(socket);
    for mut child in children {
        child.wait()?;
    }
    Err(Abort::Stopped(ui.guard.words().unwrap_or("killed!")))
}

/// A socket that goes when the server ends.
struct Socket {
    listener: UnixListener,
    path: PathBuf,
}

impl Socket {
    /// Listens at a path that is relative to `cwd`; fails where there is a file already.
    fn bind(cwd: &Path, named: &Path) -> Result<Socket, Abort> {
        let path = cwd.join(named);
        let above = named.parent().unwrap_or(named);
        if let Some(Err(error)) = path.parent().map(std::fs::metadata) {
            return Err(Abort::file(&error, above));
        }
        let refused = |error: io::Error| Abort::new(system_words(&error));
        let listener = UnixListener::bind(&path).map_err(refused)?;
        Ok(Socket { listener, path })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        // Nothing is left to do where the system refuses.
        let _ = std::fs::remove_file(&self.path);
    }
}
