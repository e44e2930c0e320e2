//! `hg serve`: one repository over HTTP.

use super::daemon::{self, Daemon, Started};
use super::listening::{Listening, shown};
use super::logs;
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_hgcli::arguments::Matches;
use varve_hgcli::context::{Context, RepoLocation};
use varve_hgcli::ui::{Abort, FAILED, system_words};
use varve_server::{
    AccessLogFormat, LogFile, LoneConfig, LoneRepository, ServeOptions, Served, Server, ServerError,
};

/// Options of Mercurial that are known by name only.
const NOT_THERE: &[&str] = &[
    "cmdserver",
    "daemon-postexec",
    "style",
    "subrepos",
    "templates",
    "web-conf",
    "webdir-conf",
];

/// Serves until it is told to stop.
pub(super) fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    check(context, matches)?;
    let listening = Listening::read(context, matches)?;
    let daemon = Daemon::here()?;
    if matches.flag("daemon") && daemon.is_none() {
        context.ui.out.flush()?;
        return match daemon::start(context.started_in.as_deref())? {
            Started::Ready => Ok(0),
            Started::Told => Ok(FAILED),
            Started::Failed(_) => Err(Abort::new("child process failed to start")),
        };
    }
    let (server, errors) = bind(context, matches, &listening)?;
    announce(context, matches, &server, &listening)?;
    if let Some(path) = file(context, matches, "pid-file", None)
        && let Err(error) = logs::write_pid(&path)
    {
        if let Some(daemon) = daemon {
            daemon.report_failure();
        }
        return Err(Abort::file(&error, path));
    }
    if let Some(daemon) = daemon {
        daemon.detach(errors.as_ref())?;
    }
    // A signal lets running requests end.
    context.ui.guard.writes();
    server.run_until_raised(&context.ui.stop);
    Err(Abort::Stopped(
        context.ui.guard.words().unwrap_or("killed!"),
    ))
}

/// Refuses unsupported options, and those that exclude each other.
fn check(context: &mut Context, matches: &Matches) -> Result<(), Abort> {
    for name in NOT_THERE {
        if matches.flag(name) || matches.value(name).is_some_and(|value| !value.is_empty()) {
            let hint = match *name {
                "web-conf" | "webdir-conf" => "use 'varve serve DIR' for many repositories",
                _ => "see 'hg help serve' for what is",
            };
            let message = format!("serve --{name} is not supported");
            return Err(Abort::new(message).hint(hint));
        }
    }
    if matches.flag("print-url") && context.ui.verbosity.verbose {
        return Err(Abort::new("cannot use --print-url with --verbose"));
    }
    if matches!(context.repo.location(), RepoLocation::None) {
        return Err(Abort::new(
            "there is no Mercurial repository here (.hg not found)",
        ));
    }
    if context.repo.is_bundle() {
        return Err(Abort::new("serve does not serve bundles"));
    }
    // A repository that cannot be opened is not served.
    context.repo.repository().map(drop)
}

/// Listens; gives the log of errors, too.
fn bind(
    context: &mut Context,
    matches: &Matches,
    listening: &Listening,
) -> Result<(Server, Option<LogFile>), Abort> {
    let certificate = file(context, matches, "certificate", Some("certificate"));
    if let Some(path) = certificate.as_ref().filter(|path| !path.exists()) {
        let path = path.display();
        let message = format!("referenced certificate file ({path}) does not exist");
        return Err(Abort::new(message));
    }
    let refused = |error: io::Error| listening.refused(&system_words(&error));
    let errors = file(context, matches, "errorlog", Some("errorlog"));
    let errors = logs::open(errors.as_deref()).map_err(refused)?;
    let log = logs::faults(errors.as_ref());
    let requests = file(context, matches, "accesslog", Some("accesslog"));
    let requests = logs::open(requests.as_deref()).map_err(refused)?;
    let has_files = errors.is_some() || requests.is_some() || certificate.is_some();
    let failed = |error: ServerError| match error {
        ServerError::Listen { source, .. } => refused(source),
        ServerError::Certificate { reason, .. } => listening.refused(&reason),
        other => Abort::new(other.to_string()),
    };
    let access = match matches.flag("daemon") && requests.is_none() {
        // Its standard output is nowhere.
        true => None,
        false => Some(logs::access(requests, AccessLogFormat::Mercurial)),
    };
    context.ui.out.flush()?;
    let options = ServeOptions {
        served: Served::Repository(repository(context, matches)?),
        address: Some(listening.address()?),
        port: Some(listening.port),
        prefix: setting(context, matches, "prefix"),
        certificate,
        access,
        log,
    };
    let server = Server::bind(options).map_err(failed)?;
    // Without a file to open again SIGHUP ends it, as it ends Mercurial's.
    if has_files {
        context.ui.guard.leave_hangup();
        server.reload_at_hangup().map_err(failed)?;
    }
    Ok((server, errors))
}

/// The repository, with its configuration read anew for each request.
fn repository(context: &Context, matches: &Matches) -> Result<LoneRepository, Abort> {
    let root = context.repo.root()?.to_owned();
    let mut name = setting(context, matches, "name");
    if name.is_empty() {
        let directory = root.file_name().unwrap_or(root.as_os_str());
        name = directory.to_string_lossy().into_owned();
    }
    let (layers, directory) = (context.config.layers.clone(), root.clone());
    let configuration = Arc::new(move || {
        let layered = layers.with(Some(&directory))?;
        Ok(LoneConfig {
            values: layered.config,
            with_untrusted: layered.with_untrusted,
        })
    });
    Ok(LoneRepository {
        root,
        name,
        configuration,
    })
}

/// Says where it listens, if that is asked for or cannot be known.
fn announce(
    context: &mut Context,
    matches: &Matches,
    server: &Server,
    listening: &Listening,
) -> Result<(), Abort> {
    let bound = server.address();
    let url = listening.url(bound, &setting(context, matches, "prefix"));
    if matches.flag("print-url") {
        context.ui.write(format!("{url}\n"))?;
    } else if context.ui.verbosity.verbose || listening.port == 0 {
        let bound = shown(bound);
        context
            .ui
            .write(format!("listening at {url} (bound to {bound})\n"))?;
    }
    Ok(context.ui.out.flush()?)
}

/// Value of an option, or else of its namesake in `[web]`.
pub(super) fn setting(context: &Context, matches: &Matches, name: &str) -> String {
    let typed = matches.value(name).filter(|value| !value.is_empty());
    let value = typed.or_else(|| context.config.get("web", name));
    String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
}

/// The file that an option names, or else a key of `[web]`.
fn file(context: &Context, matches: &Matches, option: &str, key: Option<&str>) -> Option<PathBuf> {
    let typed = matches.value(option).filter(|value| !value.is_empty());
    let value = typed.or_else(|| context.config.get("web", key?));
    let value = value.filter(|value| !value.is_empty())?;
    Some(Path::new(OsStr::from_bytes(value)).to_owned())
}
