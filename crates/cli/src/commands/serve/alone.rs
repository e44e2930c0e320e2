//! `hg serve`: one repository over HTTP, or those of a settings file.

use super::collection;
use super::daemon::{self, Daemon, Started};
use super::listening::{Listening, shown};
use super::{help, logs};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use varve_config::hgrc::Hgrc;
use varve_hgcli::arguments::Matches;
use varve_hgcli::context::{Config, Repo, RepoLocation};
use varve_hgcli::ui::{Abort, FAILED, Ui, system_words};
use varve_server::{
    AccessLogFormat, LogFile, LoneConfig, LoneRepository, ServeOptions, Served, Server, ServerError,
};

/// Options of Mercurial that are known by name only.
const NOT_THERE: &[&str] = &["daemon-postexec", "subrepos", "templates"];

/// Exit code of a server that a signal ends.
const FAILED_BY_SIGNAL: u8 = 255;

/// Serves until a signal arrives. A daemon starts this program again in `started_in`.
pub(super) fn run(
    repo: &mut Repo,
    ui: &mut Ui,
    config: &Config,
    started_in: Option<&Path>,
    matches: &Matches,
) -> Result<u8, Abort> {
    let settings = collection::settings_file(matches);
    check(repo, ui, matches, settings.is_some())?;
    let values = match &settings {
        Some(file) => Arc::new(collection::configuration(config, file)?),
        None => config.values(),
    };
    let listening = Listening::read(&values, matches)?;
    let served = match settings {
        Some(file) => Served::Collection(collection::read(ui, config, matches, &file)?),
        None => Served::Repository(repository(repo, config, matches)?),
    };
    let daemon = Daemon::here()?;
    if matches.flag("daemon") && daemon.is_none() {
        ui.out.flush()?;
        return match daemon::start(started_in)? {
            Started::Ready => Ok(0),
            Started::Reported => Ok(FAILED),
            Started::Failed(_) => Err(Abort::new("child process failed to start")),
        };
    }
    let (server, errors) = bind(served, ui, &values, matches, &listening)?;
    announce(ui, &values, matches, &server, &listening)?;
    if let Some(path) = file(&values, matches, "pid-file", None)
        && let Err(error) = logs::write_pid(&path)
    {
        if let Some(daemon) = daemon {
            daemon.report_failure();
        }
        return Err(Abort::file(&error, path));
    }
    let is_daemon = daemon.is_some();
    if let Some(daemon) = daemon {
        daemon.detach(errors.as_ref())?;
    }
    // A signal lets running requests end.
    ui.guard.writes();
    server.run_until_raised(&ui.stop);
    if is_daemon {
        // The log of errors is for faults; that a signal ended the server is none.
        return Ok(FAILED_BY_SIGNAL);
    }
    Err(Abort::Stopped(ui.guard.words().unwrap_or("killed!")))
}

/// Refuses unsupported options, and those that exclude each other.
fn check(repo: &mut Repo, ui: &mut Ui, matches: &Matches, has_settings: bool) -> Result<(), Abort> {
    if has_settings && matches.flag("subrepos") {
        return Err(Abort::new("--web-conf cannot be used with --subrepos"));
    }
    for name in NOT_THERE {
        if matches.flag(name) || matches.value(name).is_some_and(|value| !value.is_empty()) {
            let message = format!("serve --{name} is not supported");
            return Err(Abort::new(message).hint("see 'hg help serve' for what is"));
        }
    }
    if matches.flag("print-url") && ui.verbosity.verbose {
        return Err(Abort::input("cannot use --print-url with --verbose"));
    }
    if has_settings {
        return match repo.location() {
            RepoLocation::None => Ok(()),
            // A repository that cannot be opened is named, though it is not served.
            _ => repo.root().map(drop),
        };
    }
    if matches!(repo.location(), RepoLocation::None) {
        return Err(Abort::new(
            "there is no Mercurial repository here (.hg not found)",
        ));
    }
    if repo.is_bundle() {
        return Err(Abort::new("serve does not serve bundles"));
    }
    // A repository that cannot be opened is not served.
    repo.repository().map(drop)
}

/// Listens; gives the log of errors, too.
fn bind(
    served: Served,
    ui: &mut Ui,
    config: &Hgrc,
    matches: &Matches,
    listening: &Listening,
) -> Result<(Server, Option<LogFile>), Abort> {
    let certificate = file(config, matches, "certificate", Some("certificate"));
    if let Some(path) = certificate.as_ref().filter(|path| !path.exists()) {
        let path = path.display();
        let message = format!("referenced certificate file ({path}) does not exist");
        return Err(Abort::new(message));
    }
    let refused = |error: io::Error| listening.refused(&system_words(&error));
    let errors = file(config, matches, "errorlog", Some("errorlog"));
    let errors = logs::open(errors.as_deref()).map_err(refused)?;
    let log = logs::faults(errors.as_ref());
    let requests = file(config, matches, "accesslog", Some("accesslog"));
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
    ui.out.flush()?;
    let options = ServeOptions {
        served,
        address: Some(listening.address()?),
        port: Some(listening.port),
        prefix: setting(config, matches, "prefix"),
        certificate,
        access,
        log,
        help: help::index(),
    };
    let server = Server::bind(options).map_err(failed)?;
    // Without a file to open again SIGHUP ends it, as it ends Mercurial's.
    if has_files {
        ui.guard.leave_hangup();
        server.reload_at_hangup().map_err(failed)?;
    }
    Ok((server, errors))
}

/// The repository, with its configuration read anew for each request.
fn repository(
    repo: &mut Repo,
    config: &Config,
    matches: &Matches,
) -> Result<LoneRepository, Abort> {
    let root = repo.root()?.to_owned();
    let mut name = setting(config, matches, "name");
    if name.is_empty() {
        let directory = root.file_name().unwrap_or(root.as_os_str());
        name = directory.to_string_lossy().into_owned();
    }
    let layers = collection::with_options(config, matches, &["style"]).layers;
    let directory = root.clone();
    let configuration = Arc::new(move || {
        let layered = layers.with(Some(&directory))?;
        Ok(LoneConfig {
            values: collection::of_pages(layered.config),
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
    ui: &mut Ui,
    config: &Hgrc,
    matches: &Matches,
    server: &Server,
    listening: &Listening,
) -> Result<(), Abort> {
    let bound = server.address();
    let url = listening.url(bound, &setting(config, matches, "prefix"));
    if matches.flag("print-url") {
        ui.write(format!("{url}\n"))?;
    } else if ui.verbosity.verbose || listening.port == 0 {
        let bound = shown(bound);
        ui.write(format!("listening at {url} (bound to {bound})\n"))?;
    }
    Ok(ui.out.flush()?)
}

/// Value of an option, or else of its namesake in `[web]`.
pub(super) fn setting(config: &Hgrc, matches: &Matches, name: &str) -> String {
    let typed = matches.value(name).filter(|value| !value.is_empty());
    let value = typed.or_else(|| config.get("web", name));
    String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
}

/// The file that an option names, or else a key of `[web]`.
pub(super) fn file(
    config: &Hgrc,
    matches: &Matches,
    option: &str,
    key: Option<&str>,
) -> Option<PathBuf> {
    let typed = matches.value(option).filter(|value| !value.is_empty());
    let value = typed.or_else(|| config.get("web", key?));
    let value = value.filter(|value| !value.is_empty())?;
    Some(Path::new(OsStr::from_bytes(value)).to_owned())
}
