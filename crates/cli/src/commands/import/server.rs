//! `import` from a running server.

use super::COMMAND;
use crate::commands::moving;
use crate::commands::moving::table::{Row, Table, by_form};
use std::fmt;
use std::path::Path;
use varve_base::Silent;
use varve_hgcli::arguments::Matches;
use varve_hgcli::context::Context;
use varve_hgcli::ui::{Abort, Ui};
use varve_replicate::{Finding, ReplicateError};
use varve_server::couch::import::{
    ServerImport, ServerImportResult, ServerImported, ServerWatch, import_from_server,
};
use varve_server::directory::{OfflineDirectory, read_settings};

/// Databases that are copied side by side, unless `--jobs` says so.
const JOBS: usize = 4;
/// With growing waits between them, ten attempts outlast four minutes without the server.
const RETRIES: u32 = 10;
const MOST_JOBS: usize = 100;
const MOST_RETRIES: u32 = 1000;

/// Words behind an import that did not come to its end.
const GOES_ON: &str = "what was copied stays; the same command goes on where this one stopped";

/// Options that only count for a server.
const VALUES: [&str; 3] = ["jobs", "retries", "ssl-trusted-certificates-file"];
const FLAGS: [&str; 2] = ["keep", "insecure"];

pub(super) fn is_url(typed: &[u8]) -> bool {
    [&b"http://"[..], b"https://"]
        .iter()
        .any(|scheme| typed.starts_with(scheme))
}

/// Refuses the options of an import from a server for one from files.
pub(super) fn refuse_options(matches: &Matches) -> Result<(), Abort> {
    let values = VALUES.iter().filter(|name| matches.value(name).is_some());
    let flags = FLAGS.iter().filter(|name| matches.flag(name));
    match values.chain(flags).next() {
        None => Ok(()),
        Some(name) => Err(Abort::new(format!(
            "--{name} counts only for a running server, and PATH is not a URL"
        ))),
    }
}

/// A line of an import.
enum Line {
    Found(Finding),
    Note(String),
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Found(finding) => finding.fmt(f),
            Line::Note(line) => f.write_str(line),
        }
    }
}

pub(super) fn run(context: &mut Context, matches: &Matches) -> Result<u8, Abort> {
    let [url, directory @ ..] = matches.arguments() else {
        return Err(COMMAND.usage_error("invalid arguments"));
    };
    let directory = directory
        .first()
        .map_or(Path::new("."), |it| moving::as_path(it));
    let directory = context.repo.cwd.join(directory);
    let url = String::from_utf8_lossy(url).into_owned();
    let url = with_password(&mut context.ui, url)?;
    let request = request(&context.repo.cwd, matches, (url, &directory))?;
    let target = OfflineDirectory::open(&directory);
    let target = target.map_err(|error| Abort::new(error.to_string()))?;
    context.ui.guard.writes();
    let done = import(&mut context.ui, &request, &target)?;
    let mut table = Table::of(["", "all chunks after"]);
    table.rows = done.databases.iter().map(row_of).collect();
    table.write(&mut context.ui)?;
    let summary = match (done.left_out, done.differences) {
        (0, 0) => "both sides have the same documents and leaf revisions".to_owned(),
        (left_out, differences) => {
            format!("left out: {left_out}; differences of both sides: {differences}")
        }
    };
    context.ui.status(format!("{summary}\n"))?;
    Ok(u8::from(done.left_out > 0 || done.differences > 0))
}

fn import(
    ui: &mut Ui,
    request: &ServerImport,
    target: &OfflineDirectory,
) -> Result<ServerImportResult, Abort> {
    let progress = std::mem::replace(&mut ui.progress, Box::new(Silent));
    let stop = ui.stop.clone();
    let done = moving::with_lines(ui, |print: &(dyn Fn(Line) + Sync)| {
        let watch = ServerWatch {
            progress: progress.as_ref(),
            stop: &stop,
            report: &|finding| print(Line::Found(finding)),
            note: &|line| print(Line::Note(line)),
        };
        import_from_server(request, target, watch)
    });
    ui.progress = progress;
    let (done, _) = done?;
    if let Err(ReplicateError::Interrupted) = done {
        ui.warn(format!("{GOES_ON}\n"))?;
    }
    done.map_err(|error| match error {
        ReplicateError::Foreign(_) => {
            let advice =
                "--db chooses databases, --skip-existing leaves those alone that are there";
            moving::abort(error, None).hint(advice)
        }
        ReplicateError::Unreachable(_) => moving::abort(error, None).hint(GOES_ON),
        error => moving::abort(error, None),
    })
}

fn request(
    cwd: &Path,
    matches: &Matches,
    (url, directory): (String, &Path),
) -> Result<ServerImport, Abort> {
    let settings = read_settings(directory).map_err(|error| Abort::new(error.to_string()))?;
    let mut replicator = settings.replicator;
    if let Some(file) = matches.value("ssl-trusted-certificates-file") {
        replicator.authorities = Some(cwd.join(moving::as_path(file)));
    }
    if matches.flag("insecure") {
        replicator.verifies_certificates = false;
    }
    Ok(ServerImport {
        url,
        databases: moving::names(matches.list("db")),
        jobs: number(matches, "jobs", 1..=MOST_JOBS)?.unwrap_or(JOBS),
        retries: number(matches, "retries", 0..=MOST_RETRIES)?.unwrap_or(RETRIES),
        follows: matches.flag("keep"),
        skips_existing: matches.flag("skip-existing"),
        replicator,
    })
}

/// The number that an option gives.
fn number<N: std::str::FromStr + PartialOrd + fmt::Display>(
    matches: &Matches,
    name: &str,
    within: std::ops::RangeInclusive<N>,
) -> Result<Option<N>, Abort> {
    let Some(typed) = matches.value(name) else {
        return Ok(None);
    };
    let number = std::str::from_utf8(typed)
        .ok()
        .and_then(|it| it.parse().ok());
    let number = number.filter(|number| within.contains(number));
    number.map(Some).ok_or_else(|| {
        Abort::new(format!(
            "--{name} must be a number from {} to {}",
            within.start(),
            within.end()
        ))
    })
}

/// Asks for the password of a URL that has a name and none.
fn with_password(ui: &mut Ui, url: String) -> Result<String, Abort> {
    let Some((scheme, rest)) = url.split_once("://") else {
        return Ok(url);
    };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((user, _)) if !user.is_empty() && !user.contains(':') => {
            let password = ui.prompt_password()?;
            let escaped: String = password
                .bytes()
                .map(|byte| format!("%{byte:02X}"))
                .collect();
            let behind = rest.get(user.len()..).unwrap_or_default();
            Ok(format!("{scheme}://{user}:{escaped}{behind}"))
        }
        _ => Ok(url),
    }
}

fn row_of(done: &ServerImported) -> Row {
    Row {
        name: done.name.clone(),
        documents: done.documents,
        revisions: done.revisions,
        attachments: done.attachments,
        bytes_before: done.source_bytes,
        bytes_after: done.file_bytes,
        before: Vec::new(),
        after: done.chunks.as_ref().map(by_form).unwrap_or_default(),
    }
}
