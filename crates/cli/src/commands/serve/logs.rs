//! Where a server writes what happens.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use varve_hgcli::ui::clock::clock;
use varve_server::{AccessLog, Report, ServerError};

/// The name that stands for a standard stream.
const STANDARD: &str = "-";

/// Opens a log to write behind what is in it; `None` for the standard stream.
pub(super) fn open(path: Option<&Path>) -> io::Result<Option<File>> {
    let path = path.filter(|path| *path != Path::new(STANDARD));
    let append = |path: &Path| File::options().append(true).create(true).open(path);
    path.map(append).transpose()
}

/// Tells faults of the server to the log, or to the standard error.
pub(super) fn report(errors: Option<&File>) -> io::Result<Report> {
    let errors = errors.map(File::try_clone).transpose()?;
    Ok(Report::new(move |line| {
        let line = format!("varve: {line}\n");
        // The server goes on, also when nobody listens to its complaints.
        let _ = match &errors {
            Some(file) => (&mut &*file).write_all(line.as_bytes()),
            None => io::stderr().write_all(line.as_bytes()),
        };
    }))
}

/// Notes requests in the log, or on the standard output.
pub(super) fn access(log: Option<File>, report: &Report) -> Result<AccessLog, ServerError> {
    let zone = clock().zone;
    match log {
        Some(file) => AccessLog::start(file, zone, report.clone()),
        None => AccessLog::start(io::stdout(), zone, report.clone()),
    }
}

/// Writes the number of this process.
pub(super) fn write_pid(path: &Path) -> io::Result<()> {
    std::fs::write(path, format!("{}\n", std::process::id()))
}
