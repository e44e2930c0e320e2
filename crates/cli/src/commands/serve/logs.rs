//! Logs of a server.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use varve_hgcli::ui::clock::clock;
use varve_server::{AccessLogOutput, LogOutput};

/// The name that stands for a standard stream.
const STANDARD: &str = "-";

/// Opens a log for appending; `None` for the standard stream.
pub(super) fn open(path: Option<&Path>) -> io::Result<Option<File>> {
    let path = path.filter(|path| *path != Path::new(STANDARD));
    let append = |path: &Path| File::options().append(true).create(true).open(path);
    path.map(append).transpose()
}

/// Where faults of the server go: the log of errors, or the standard error.
pub(super) fn faults(errors: Option<&File>) -> io::Result<LogOutput> {
    let errors = errors.map(File::try_clone).transpose()?;
    Ok(errors.map_or(LogOutput::Stderr, LogOutput::File))
}

/// Where requests are written: the access log, or the standard output.
pub(super) fn access(log: Option<File>) -> AccessLogOutput {
    let out: Box<dyn Write + Send> = match log {
        Some(file) => Box::new(file),
        None => Box::new(io::stdout()),
    };
    let zone = clock().zone;
    AccessLogOutput { out, zone }
}

/// Writes the number of this process.
pub(super) fn write_pid(path: &Path) -> io::Result<()> {
    std::fs::write(path, format!("{}\n", std::process::id()))
}
