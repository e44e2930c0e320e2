//! Logs of a server.

use std::io;
use std::path::Path;
use varve_hgcli::ui::clock::clock;
use varve_server::{AccessLogFormat, AccessLogOutput, AccessLogTarget, LogFile, LogOutput};

/// The name that stands for a standard stream.
const STANDARD: &str = "-";

/// Opens a log for appending; `None` for the standard stream.
pub(super) fn open(path: Option<&Path>) -> io::Result<Option<LogFile>> {
    let path = path.filter(|path| *path != Path::new(STANDARD));
    path.map(LogFile::open).transpose()
}

/// Where faults of the server go: the log of errors, or the standard error.
pub(super) fn faults(errors: Option<&LogFile>) -> LogOutput {
    errors.cloned().map_or(LogOutput::Stderr, LogOutput::File)
}

/// Where requests are written: the access log, or the standard output.
pub(super) fn access(log: Option<LogFile>, format: AccessLogFormat) -> AccessLogOutput {
    let standard = || AccessLogTarget::Writer(Box::new(io::stdout()));
    AccessLogOutput {
        out: log.map_or_else(standard, AccessLogTarget::File),
        zone: clock().zone,
        format,
    }
}

/// Writes the number of this process.
pub(super) fn write_pid(path: &Path) -> io::Result<()> {
    std::fs::write(path, format!("{}\n", std::process::id()))
}
